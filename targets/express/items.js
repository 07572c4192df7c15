// Defines the items that POST /items accepts.

import { isUtf8 } from 'node:buffer';
import { z } from 'zod';

// PostgreSQL's int has 32 bits, and PostgreSQL's text holds no NUL character.
const Count = z.int().min(0).max(2 ** 31 - 1);
const Text = z.string().refine((text) => !text.includes('\0') && text.isWellFormed());

const Item = z.strictObject({
  sku: z.guid(), // z.uuid() refuses UUIDs of unknown versions.
  name: Text,
  quantity: Count,
  price_cents: Count,
});

export const ITEMS = z.array(Item);

// express.json() replaces invalid UTF-8.
export function refuseInvalidUtf8(request, response, body) {
  if (!isUtf8(body)) throw new Error('the body is not UTF-8');
}
