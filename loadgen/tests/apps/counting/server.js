// Counts its requests: `node server.js MODE PORT CERT KEY`, where MODE is https, h2 or h2c.
const fs = require("node:fs");
const http2 = require("node:http2");
const https = require("node:https");

const [mode, port, cert, key] = process.argv.slice(2);
let seen = 0;
const answer = (request, response) => {
  if (request.url === "/") seen += 1;
  response.writeHead(200, { "content-type": "text/plain" });
  response.end(String(seen));
};
const tls = () => ({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) });
const start = {
  https: () => https.createServer(tls(), answer),
  h2: () => http2.createSecureServer(tls(), answer),
  h2c: () => http2.createServer(answer),
};
start[mode]().listen(Number(port), "127.0.0.1");
