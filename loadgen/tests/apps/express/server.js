// A small shop with Express. Logs in by a form, and then expects a token.

import { createHash, randomBytes } from 'node:crypto';
import express from 'express';
import multer from 'multer';

const PRODUCTS = Array.from({ length: 120 }, (_, id) => ({ id, name: `${['tea', 'coffee', 'cocoa'][id % 3]} ${id}` }));
const tokens = new Map();
let orders = 0;

const app = express();
app.use(express.json(), express.urlencoded());

app.get('/healthz', (request, response) => response.send());

app.get('/products', (request, response) => {
  const words = request.query.q ?? '';
  response.json({ products: PRODUCTS.filter((product) => product.name.includes(words)) });
});

app.get('/products/:number', (request, response) => {
  const product = PRODUCTS[request.params.number];
  // Every eleventh product is sold out.
  if (!product || product.id % 11 === 0) return response.status(404).json({ error: 'no such product' });
  response.json(product);
});

app.post('/login', (request, response) => {
  const { name, password } = request.body;
  if (password !== `secret-of-${name}`) return response.status(401).json({ error: 'wrong name or password' });
  const token = randomBytes(16).toString('hex');
  tokens.set(token, name);
  response.json({ token });
});

function customer(request, response, next) {
  if (tokens.has(request.get('authorization')?.replace('Bearer ', ''))) return next();
  response.status(401).json({ error: 'log in first' });
}

app.post('/orders', customer, (request, response) => {
  response.status(201).json({ order: ++orders, quantity: request.body.quantity });
});

app.post('/photos', customer, multer().single('photo'), ({ body, file }, response) => {
  const sha256 = createHash('sha256').update(file.buffer).digest('hex');
  response.status(201).json({ title: body.title, file: file.originalname, type: file.mimetype, sha256 });
});

app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
