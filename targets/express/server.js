// Implements the contract with Express.

import cluster from 'node:cluster';
import { parseArgs } from 'node:util';
import express from 'express';
import { Backends } from './backends.js';
import { ITEMS, refuseInvalidUtf8 } from './items.js';

const BACKLOG = 2048;
const KEEP_ALIVE_MS = 75_000;
const GRACEFUL_SHUTDOWN_MS = 1_000;

const { values: options } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8000' },
    workers: { type: 'string', default: '1' },
    'pool-size': { type: 'string', default: '10' },
  },
});

const workers = Number(options.workers);
if (workers === 1) {
  serve(newApp());
} else if (cluster.isPrimary) {
  startWorkers();
} else {
  const app = newApp();
  process.once('message', () => serve(app));
  process.send('ready');
}

// With round robin, the primary process accepts all connections and hands each worker about as many. With SCHED_NONE,
// the kernel prefers few of the workers, and connections that are kept for a whole measurement never move.
function startWorkers() {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  let ready = 0;
  cluster.on('message', () => {
    // The port opens when all workers are ready, as otherwise the first worker would get all early connections.
    if (++ready === workers) for (const worker of Object.values(cluster.workers)) worker.send('listen');
  });
  let stopping = false;
  process.on('SIGTERM', () => {
    stopping = true;
    for (const worker of Object.values(cluster.workers)) worker.kill('SIGTERM');
  });
  cluster.on('exit', () => {
    // A lost worker ends the server: a measurement with fewer workers would mislead.
    if (!stopping) process.exit(1);
  });
  for (let number = 0; number < workers; number++) cluster.fork();
}

function serve(app) {
  const server = app.listen({ host: options.host, port: Number(options.port), backlog: BACKLOG }, (error) => {
    if (error) throw error;
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  process.on('SIGTERM', () => {
    server.close(() => process.exit());
    setTimeout(() => process.exit(), GRACEFUL_SHUTDOWN_MS);
  });
}

function newApp() {
  const backends = new Backends(Number(options['pool-size']));
  const app = express();
  // Express' limit of 100 kB is less than 1,000 items have. The limit here is that of Sanic.
  const json = express.json({ limit: '100mb', verify: refuseInvalidUtf8 });

  app.get('/', (request, response) => {
    answer(response, 200, { message: 'Hello world' });
  });

  app.get('/health', async (request, response) => {
    if (await backends.healthy()) answer(response, 200, { status: 'ok' });
    else answer(response, 503, { status: 'unavailable' });
  });

  app.get('/redis3', async (request, response) => {
    answer(response, 200, { values: await backends.readValues() });
  });

  app.route('/items')
    .post(json, async (request, response) => {
      const { data: items, error } = ITEMS.safeParse(request.body);
      if (error) answer(response, 400, { error: error.message });
      else answer(response, 201, { inserted: await backends.insert(items) });
    })
    .all((request, response) => response.set('Allow', 'POST').sendStatus(405));

  // Express' own handler writes each error to the log.
  app.use((error, request, response, next) => {
    answer(response, error.status ?? 500, { error: error.message });
  });
  return app;
}

// response.json() and response.set() would append a charset to the type.
function answer(response, status, value) {
  response.setHeader('Content-Type', 'application/json');
  response.status(status).send(Buffer.from(JSON.stringify(value)));
}
