// Implements ../profiles.openapi.yaml with Express.

import cluster from 'node:cluster';
import { timingSafeEqual } from 'node:crypto';
import { parseArgs } from 'node:util';
import express from 'express';
import { openStore } from './store.js';

const BACKLOG = 2048;
const KEEP_ALIVE_MS = 75_000;
const GRACEFUL_SHUTDOWN_MS = 1_000;
const LARGEST_ID = 2n ** 63n - 1n;

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
  serve(await newApp());
} else if (cluster.isPrimary) {
  startWorkers();
} else {
  const app = await newApp();
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

async function newApp() {
  const store = await openStore(Number(options['pool-size'])).catch((error) => {
    console.error(error.message);
    process.exit(1);
  });
  const app = express();
  app.enable('case sensitive routing');
  app.enable('strict routing');

  app.get('/health', async (request, response) => {
    if (!store || (await store.healthy())) answer(response, 200, { status: 'ok' });
    else answer(response, 503, { status: 'unavailable' });
  });

  app.use((request, response, next) => {
    if (!store) refuse(response, 503, 'no store is configured');
    else if (allows(store.token, request.get('Authorization') ?? '')) next();
    else refuse(response.set('WWW-Authenticate', 'Bearer'), 401, 'the token is missing or wrong');
  });

  app.route('/profiles/:id')
    .get(async ({ params: { id } }, response) => {
      show(response, isId(id) ? await store.byId(id) : null);
    })
    .all(refuseMethod);

  app.route('/profiles/nickname/:nickname')
    .get(async ({ params: { nickname } }, response) => {
      show(response, await store.byName('nickname', nickname));
    })
    .all(refuseMethod);

  app.route('/profiles/username/:username')
    .get(async ({ params: { username } }, response) => {
      show(response, await store.byName('username', username));
    })
    .all(refuseMethod);

  app.use((request, response) => refuse(response, 404, 'unknown path'));

  // Express' own handler writes each error to the log.
  app.use((error, request, response, next) => {
    refuse(response, error.status ?? 500, error.message);
  });
  return app;
}

function allows(token, authorization) {
  const [scheme, ...sent] = authorization.split(' ');
  const bytes = Buffer.from(sent.join(' ').trim());
  return scheme.toLowerCase() === 'bearer' && bytes.length === token.length && timingSafeEqual(bytes, token);
}

function isId(text) {
  return /^[1-9][0-9]{0,18}$/.test(text) && BigInt(text) <= LARGEST_ID;
}

function refuseMethod(request, response) {
  refuse(response.set('Allow', 'GET'), 405, 'only GET is allowed');
}

function show(response, profile) {
  if (profile) send(response, 200, profile);
  else refuse(response, 404, 'no such profile');
}

function refuse(response, status, reason) {
  answer(response, status, { error: reason });
}

function answer(response, status, value) {
  send(response, status, Buffer.from(JSON.stringify(value)));
}

// response.json() and response.set() would append a charset to the type.
function send(response, status, body) {
  response.setHeader('Content-Type', 'application/json');
  response.status(status).send(body);
}
