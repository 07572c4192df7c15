"""Tests the responses of every target, and the requests that every target refuses."""

import json
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from targets.tests.contract import check

Item = dict[str, Any]
Row = tuple[Any, ...]


def item(**changes: object) -> Item:
    return {"sku": str(uuid4()), "name": "Löwe 🦁 'x'", "quantity": 3, "price_cents": 1999} | changes


def rows_of(items: list[Item]) -> set[Row]:
    return {(UUID(item["sku"]), item["name"], item["quantity"], item["price_cents"]) for item in items}


def stored(database: psycopg.Connection, items: list[Item]) -> list[Row]:
    skus = [item["sku"] for item in items]
    query = "SELECT sku, name, quantity, price_cents FROM items WHERE sku = ANY(%s::uuid[])"
    return database.execute(query, [skus]).fetchall()


def count(database: psycopg.Connection) -> int:
    (rows,) = database.execute("SELECT count(*) FROM items").fetchone() or (0,)
    return int(rows)


def test_greets_on_the_root_path(client: httpx.Client) -> None:
    assert check(client.get("/"), 200) == {"message": "Hello world"}


def test_reports_its_health(client: httpx.Client) -> None:
    assert check(client.get("/health"), 200) == {"status": "ok"}


def test_reads_three_keys(client: httpx.Client) -> None:
    assert check(client.get("/redis3"), 200) == {"values": ["value-1", "value-2", "value-3"]}


@pytest.mark.parametrize("number", [0, 1, 1000])
def test_stores_every_item(client: httpx.Client, database: psycopg.Connection, number: int) -> None:
    items = [item(quantity=index, price_cents=2**31 - 1) for index in range(number)]
    before = count(database)
    assert check(client.post("/items", json=items), 201) == {"inserted": number}
    assert set(stored(database, items)) == rows_of(items)
    assert count(database) == before + number


BAD_BODIES = {
    "empty": "",
    "not JSON": "[{",
    "not an array": json.dumps(item()),
    "not an object": json.dumps([1]),
    "a missing key": '[{"name": "a", "quantity": 1, "price_cents": 1}]',
    "an extra key": json.dumps([item(colour="red")]),
    "not a UUID": json.dumps([item(sku="1234")]),
    "a name of null": json.dumps([item(name=None)]),
    "a name that PostgreSQL cannot store": json.dumps([item(name="\0")]),
    "a name that is not Unicode": json.dumps([item(name="\ud800")]),
    "a number as a string": json.dumps([item(quantity="1")]),
    "a number as a boolean": json.dumps([item(quantity=True)]),
    "a fraction": json.dumps([item(quantity=1.5)]),
    "a negative number": json.dumps([item(price_cents=-1)]),
    "a number larger than an int": json.dumps([item(price_cents=2**31)]),
    "one invalid item among valid items": json.dumps([item(), item(quantity=None), item()]),
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_refuses_a_bad_body(client: httpx.Client, database: psycopg.Connection, body: str) -> None:
    before = count(database)
    response = client.post("/items", content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert count(database) == before


def test_refuses_unknown_paths(client: httpx.Client) -> None:
    assert client.get("/nothing").status_code == 404


def test_refuses_other_methods(client: httpx.Client) -> None:
    assert client.get("/items").status_code == 405
