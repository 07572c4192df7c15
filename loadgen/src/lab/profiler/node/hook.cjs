// Profiles this thread of Node.js whenever loadgen's launcher asks. It runs before the program itself.
'use strict';

const { Session } = require('node:inspector');
const { connect } = require('node:net');
const { fileURLToPath } = require('node:url');

// Microseconds between two samples.
const INTERVAL = 1000;

const session = new Session();
session.connect();
const call = (method, params) =>
  new Promise((resolve, reject) => {
    session.post(method, params, (error, result) => (error ? reject(error) : resolve(result)));
  });

const launcher = connect(process.env.LOADGEN_NODE_PROFILER);
// Without the launcher there is nothing to do, and the program may end whenever it wants to.
launcher.on('error', () => {});
launcher.unref();
launcher.setEncoding('utf8');

const path = (url) => (url.startsWith('file://') ? fileURLToPath(url) : url);

async function answer(word) {
  try {
    if (word === 'begin') {
      await call('Profiler.enable');
      await call('Profiler.setSamplingInterval', { interval: INTERVAL });
      await call('Profiler.start');
      return;
    }
    const { profile } = await call('Profiler.stop');
    const nodes = profile.nodes.map(({ id, callFrame, hitCount, children }) => ({
      id,
      name: callFrame.functionName,
      path: path(callFrame.url),
      hits: hitCount,
      children,
    }));
    launcher.write(`${JSON.stringify({ folder: process.cwd(), nodes })}\n`);
  } catch (error) {
    launcher.write(`${JSON.stringify({ error: String(error) })}\n`);
  }
}

// A busy program may read both words at once.
let last = Promise.resolve();
launcher.on('data', (words) => {
  for (const word of words.trim().split('\n')) {
    last = last.then(() => answer(word));
  }
});
