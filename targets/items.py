"""Defines the items that clients send, and the statements that store, read, change and delete items."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

# The placeholders are PostgreSQL's own. Both asyncpg and psycopg's RawCursor pass these placeholders unchanged.
INSERT = """
INSERT INTO items (sku, name, quantity, price_cents)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::int[])
"""
SELECT_ONE = "SELECT id, sku::text, name, quantity, price_cents FROM items WHERE id = $1"
UPDATE_ONE = "UPDATE items SET sku = $2, name = $3, quantity = $4, price_cents = $5 WHERE id = $1"
DELETE_ONE = "DELETE FROM items WHERE id = $1"

# PostgreSQL's int has 32 bits, and PostgreSQL's text holds no NUL character.
Count = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
Text = Annotated[str, Field(strict=True, pattern=r"^[^\x00]*$")]


class Item(BaseModel):
    """One row of the table `items`, as a client sends the row."""

    model_config = ConfigDict(extra="forbid")

    sku: UUID
    name: Text
    quantity: Count
    price_cents: Count


Items = list[Item]
ITEMS = TypeAdapter(Items)
ITEM = TypeAdapter(Item)

Columns = tuple[list[UUID], list[str], list[int], list[int]]


def columns(items: Items) -> Columns:
    """Turn rows into the four arrays that INSERT unnests."""
    return (
        [item.sku for item in items],
        [item.name for item in items],
        [item.quantity for item in items],
        [item.price_cents for item in items],
    )
