// A reverse proxy that asks an authentication server about each request before it forwards the request.

import cluster from 'node:cluster';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { newGate } from './gate.js';

const BACKLOG = 2048;
const KEEP_ALIVE_MS = 75_000;
const GRACEFUL_SHUTDOWN_MS = 1_000;

const { values: options } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8000' },
    workers: { type: 'string', default: '1' },
    'pool-size': { type: 'string', default: '10' }, // Unused: as many connections as requests.
  },
});
const addresses = [addressIn('AUTH_URL'), addressIn('UPSTREAM_URL')];

const workers = Number(options.workers);
if (workers === 1) {
  serve(newGate(...addresses));
} else if (cluster.isPrimary) {
  startWorkers();
} else {
  const gate = newGate(...addresses);
  process.once('message', () => serve(gate));
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

function serve(gate) {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, gate);
  server.listen({ host: options.host, port: Number(options.port), backlog: BACKLOG });
  process.on('SIGTERM', () => {
    server.close(() => process.exit());
    setTimeout(() => process.exit(), GRACEFUL_SHUTDOWN_MS);
  });
}

function addressIn(variable) {
  const address = process.env[variable];
  if (URL.canParse(address)) return new URL(address);
  console.error(`${variable} is not set to a URL such as http://127.0.0.1:8001`);
  process.exit(1);
}
