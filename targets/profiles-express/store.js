// The stores of profiles: a pool of connections to PostgreSQL or to Redis. Both pools serve callers in the order of
// their calls. A store has the methods healthy(), byId(id) and byName(kind, name), and the clients' token; profiles are
// JSON text in a Buffer, or null.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createClientPool, RESP_TYPES } from 'redis';

// A store may be starting at the same time.
const STARTS_WITHIN_MS = 5_000;
const RETRIES_AFTER_MS = 100;
const HEALTH_TIMEOUT_MS = 2_000;
// The time after which asyncpg, which some of the other targets use, closes an unused connection.
const IDLE_MS = 300_000;

// The name of a statement lets pg prepare it once for each connection.
const BY_ID = { name: 'id', text: 'SELECT profile::text FROM profiles WHERE id = $1' };
const BY_NAME = {
  nickname: { name: 'nickname', text: "SELECT profile::text FROM profiles WHERE profile ->> 'nickname' = $1" },
  username: { name: 'username', text: "SELECT profile::text FROM profiles WHERE profile ->> 'username' = $1" },
};

// Opens the configured store and reads its token. Returns null if no store is configured.
export async function openStore(poolSize) {
  const { DATABASE_URL, REDIS_URL } = process.env;
  if (DATABASE_URL) {
    return withToken(new PostgresStore(DATABASE_URL, poolSize), 'table tokens of PostgreSQL', DATABASE_URL);
  }
  if (REDIS_URL) return withToken(new RedisStore(REDIS_URL, poolSize), 'key profiles:token of Redis', REDIS_URL);
  return null;
}

async function withToken(store, place, url) {
  const deadline = performance.now() + STARTS_WITHIN_MS;
  for (;;) {
    let reason = 'there is no token';
    try {
      const token = await within(HEALTH_TIMEOUT_MS, store.readToken());
      if (token) return Object.assign(store, { token: Buffer.from(token) });
    } catch (error) {
      reason = error.message || error.code;
    }
    if (performance.now() > deadline) {
      // Without the password.
      throw new Error(`cannot read the clients' token from the ${place} at ${new URL(url).host}: ${reason}`);
    }
    await sleep(RETRIES_AFTER_MS);
  }
}

class PostgresStore {
  #pool;

  constructor(connectionString, poolSize) {
    this.#pool = new pg.Pool({ connectionString, max: poolSize, idleTimeoutMillis: IDLE_MS });
    ignoreErrors(this.#pool);
  }

  async readToken() {
    const { rows } = await this.#pool.query('SELECT min(token) AS token FROM tokens');
    return rows[0].token;
  }

  healthy() {
    return responds(this.#pool.query('SELECT 1'));
  }

  byId(id) {
    return this.#find(BY_ID, id);
  }

  async byName(kind, name) {
    // PostgreSQL's text holds no NUL character.
    return name.includes('\0') ? null : this.#find(BY_NAME[kind], name);
  }

  async #find(statement, value) {
    const { rows } = await this.#pool.query({ ...statement, values: [value] });
    return rows.length ? Buffer.from(rows[0].profile) : null;
  }
}

class RedisStore {
  #pool;

  constructor(url, poolSize) {
    this.#pool = createClientPool(
      {
        url,
        // By default, node-redis tries again until Redis is up, and requests wait as long.
        socket: { reconnectStrategy: false },
        commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
      },
      { minimum: 0, maximum: poolSize, acquireTimeout: 0, cleanupDelay: IDLE_MS },
    );
    ignoreErrors(this.#pool);
    this.#pool.connect(); // Opens the pool, but no connection.
  }

  readToken() {
    return this.#withConnection((client) => client.get('profiles:token'));
  }

  healthy() {
    return responds(this.#withConnection((client) => client.ping()));
  }

  byId(id) {
    return this.#withConnection((client) => client.get(idKey(id)));
  }

  // Reads the ID and then the profile, in two round trips on one connection.
  byName(kind, name) {
    return this.#withConnection(async (client) => {
      const id = await client.get(`profile:${kind}:${name}`);
      return id && client.get(idKey(id));
    });
  }

  // Calls a function with a pooled connection. The pool keeps lost connections, so their next caller connects again.
  #withConnection(call) {
    return this.#pool.execute(async (client) => {
      if (!client.isOpen) await client.connect();
      return call(client);
    });
  }
}

// Twelve digits, as redis-benchmark asks for. The ID may be a Buffer.
function idKey(id) {
  return `profile:${String(id).padStart(12, '0')}`;
}

// An error event without a listener ends the process. The request that meets the error reports it.
function ignoreErrors(pool) {
  pool.on('error', () => {});
}

function within(limit, promise) {
  const late = async () => {
    await sleep(limit, undefined, { ref: false });
    throw new Error(`no response within ${limit} ms`);
  };
  return Promise.race([promise, late()]);
}

// Returns whether a store responds to a query in time.
async function responds(query) {
  try {
    await within(HEALTH_TIMEOUT_MS, query);
    return true;
  } catch {
    return false;
  }
}
