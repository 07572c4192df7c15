// Redis and PostgreSQL: a pool of connections to each configured backend. Both pools serve callers in the order of
// their calls.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createClientPool } from 'redis';

const HEALTH_TIMEOUT_MS = 2_000;
// The time after which asyncpg, which some of the other targets use, closes an unused connection.
const IDLE_MS = 300_000;
const REDIS_KEYS = ['loadgen:1', 'loadgen:2', 'loadgen:3'];

// The name lets pg prepare the statement once for each connection.
const INSERT = {
  name: 'insert',
  text: `
INSERT INTO items (sku, name, quantity, price_cents)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::int[])
`,
};

export class Backends {
  #redis;
  #postgres;

  constructor(poolSize) {
    const { REDIS_URL, DATABASE_URL } = process.env;
    if (REDIS_URL) this.#redis = openRedis(REDIS_URL, poolSize);
    if (DATABASE_URL) this.#postgres = openPostgres(DATABASE_URL, poolSize);
  }

  // Returns whether each configured backend responds.
  async healthy() {
    try {
      return await Promise.race([this.#respond(), sleep(HEALTH_TIMEOUT_MS, false, { ref: false })]);
    } catch {
      return false;
    }
  }

  async #respond() {
    if (this.#redis) await withConnection(this.#redis, (client) => client.ping());
    await this.#postgres?.query('SELECT 1');
    return true;
  }

  // Reads the three keys one after another, in three round trips on one connection.
  async readValues() {
    return withConnection(configured(this.#redis, 'REDIS_URL'), async (client) => {
      const values = [];
      for (const key of REDIS_KEYS) values.push(await client.get(key));
      return values;
    });
  }

  // Stores the items in one statement, which is a separate transaction, and returns the number of stored items.
  async insert(items) {
    const columns = ['sku', 'name', 'quantity', 'price_cents'].map((column) => items.map((item) => item[column]));
    const result = await configured(this.#postgres, 'DATABASE_URL').query({ ...INSERT, values: columns });
    return result.rowCount;
  }
}

function openRedis(url, poolSize) {
  const pool = createClientPool(
    // By default, node-redis tries again until Redis is up, and requests wait as long.
    { url, socket: { reconnectStrategy: false } },
    { minimum: 0, maximum: poolSize, acquireTimeout: 0, cleanupDelay: IDLE_MS },
  );
  ignoreErrors(pool);
  pool.connect(); // Opens the pool, but no connection.
  return pool;
}

// Calls a function with a pooled connection. The pool keeps lost connections, so their next caller connects again.
function withConnection(pool, call) {
  return pool.execute(async (client) => {
    if (!client.isOpen) await client.connect();
    return call(client);
  });
}

function openPostgres(connectionString, poolSize) {
  const pool = new pg.Pool({ connectionString, max: poolSize, idleTimeoutMillis: IDLE_MS });
  ignoreErrors(pool);
  return pool;
}

// An error event without a listener ends the process. The request that meets the error reports it.
function ignoreErrors(pool) {
  pool.on('error', () => {});
}

function configured(backend, variable) {
  if (!backend) throw new Error(`${variable} is not set`);
  return backend;
}
