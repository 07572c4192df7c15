// Forwards a request if the authentication server answers 2xx, and otherwise sends its answer.

import { pipeline } from 'node:stream/promises';
import { Pool } from 'undici';

// Less than the 75 seconds after which some targets close an idle connection, so that no request meets the close.
// undici's default is 4 seconds.
const IDLE_MS = 60_000;

// Headers that concern one connection, not a request. undici refuses Expect, which Node has answered.
const HOP_BY_HOP = [
  'connection', 'expect', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te',
  'trailer', 'transfer-encoding', 'upgrade',
];

export function newGate(authUrl, upstreamUrl) {
  // A pool opens as many connections as there are requests at a time.
  const auth = new Pool(authUrl.origin, { keepAliveTimeout: IDLE_MS });
  const upstream = new Pool(upstreamUrl.origin, { keepAliveTimeout: IDLE_MS });
  const question = { method: 'GET', path: authUrl.pathname + authUrl.search };
  const prefix = upstreamUrl.pathname.replace(/\/$/, '');

  return async function gate(request, response) {
    try {
      const headers = forwarded(request);
      const answer = await auth.request({ ...question, headers: asked(request, headers) });
      if (answer.statusCode >= 200 && answer.statusCode < 300) {
        await answer.body.dump(); // Only a connection whose response is read is used again.
        const { method, url } = request;
        const body = hasBody(request) ? request : null;
        await upstream.stream({ method, path: prefix + url, headers, body }, start(response));
      } else {
        start(response)(answer);
        await pipeline(answer.body, response);
      }
    } catch {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { connection: 'close' }).end(); // The rest of the request may be unread.
    }
  };
}

// Returns the headers that the upstream server gets.
function forwarded(request) {
  const headers = endToEnd(request.headers);
  headers['x-forwarded-for'] = request.socket.remoteAddress;
  headers['x-forwarded-proto'] = 'http';
  if (headers.host) headers['x-forwarded-host'] = headers.host;
  delete headers.host;
  return headers;
}

// Returns the headers that the authentication server gets, of a request without a body.
function asked(request, headers) {
  const { 'content-length': _, ...rest } = headers;
  return { ...rest, 'x-forwarded-method': request.method, 'x-forwarded-uri': request.url };
}

function endToEnd(headers) {
  const rest = { ...headers };
  for (const named of rest.connection?.split(',') ?? []) delete rest[named.trim().toLowerCase()];
  for (const name of HOP_BY_HOP) delete rest[name];
  return rest;
}

function hasBody({ headers }) {
  return 'content-length' in headers || 'transfer-encoding' in headers;
}

// Returns a function that starts the response to the client, to which undici then writes the body.
function start(response) {
  return ({ statusCode, headers }) => response.writeHead(statusCode, endToEnd(headers));
}
