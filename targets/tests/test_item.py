"""Tests what the aiohttp targets do with single items, against item.openapi.yaml."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import psycopg
import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from targets.tests.contract import CONTRACT
from targets.tests.test_contract import BAD_BODIES as BAD_ITEMS
from targets.tests.test_contract import Item, Row, item

OPERATIONS = yaml.safe_load((Path(__file__).parents[1] / "item.openapi.yaml").read_text())
CONTRACTS = Registry().with_resource("openapi.yaml", DRAFT202012.create_resource(CONTRACT))

METHODS = ["GET", "PUT", "DELETE"]
LARGEST_ID = 2**63 - 1


@pytest.fixture(scope="session", params=["aiohttp", "aiohttp-gunicorn"])
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def check(response: httpx.Response, status: int) -> Any:
    """Assert that the response has the status, and its schema of item.openapi.yaml. Return the body."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"].split(";")[0] == "application/json"
    described = OPERATIONS["paths"]["/items/{id}"][response.request.method.lower()]["responses"][str(status)]
    schema = described["content"]["application/json"]["schema"]
    body = response.json()
    Draft202012Validator({**schema, "components": OPERATIONS["components"]}, registry=CONTRACTS).validate(body)
    return body


def insert(database: psycopg.Connection, values: Item) -> int:
    query = "INSERT INTO items (sku, name, quantity, price_cents) VALUES (%s, %s, %s, %s) RETURNING id"
    (number,) = database.execute(query, list(values.values())).fetchone() or (0,)
    return int(number)


def row(database: psycopg.Connection, number: int) -> Row | None:
    query = "SELECT sku, name, quantity, price_cents, created_at FROM items WHERE id = %s"
    return database.execute(query, [number]).fetchone()


def count(database: psycopg.Connection) -> int:
    (rows,) = database.execute("SELECT count(*) FROM items").fetchone() or (0,)
    return int(rows)


def send(client: httpx.Client, method: str, path: str) -> httpx.Response:
    return client.request(method, path, json=item() if method == "PUT" else None)


def test_reads_an_item(client: httpx.Client, database: psycopg.Connection) -> None:
    values = item(price_cents=2**31 - 1)
    number = insert(database, values)
    insert(database, item())
    response = client.get(f"/items/{number}")
    body = check(response, 200)
    assert body == {"id": number, **values}
    assert response.content == json.dumps(body, separators=(",", ":")).encode()


def test_replaces_one_item(client: httpx.Client, database: psycopg.Connection) -> None:
    number, other = insert(database, item()), insert(database, item())
    before, untouched = row(database, number), row(database, other)
    assert before
    values = item(name="another name", quantity=7, price_cents=0)
    assert check(client.put(f"/items/{number}", json=values), 200) == {"updated": 1}
    assert row(database, number) == (UUID(values["sku"]), "another name", 7, 0, before[-1])
    assert row(database, other) == untouched


def test_deletes_one_item_once(client: httpx.Client, database: psycopg.Connection) -> None:
    number, other = insert(database, item()), insert(database, item())
    before = count(database)
    assert check(client.delete(f"/items/{number}"), 200) == {"deleted": 1}
    assert row(database, number) is None
    assert check(client.delete(f"/items/{number}"), 200) == {"deleted": 0}
    assert row(database, other)
    assert count(database) == before - 1


@pytest.mark.parametrize("number", [1, LARGEST_ID])
def test_finds_no_item_that_is_not_there(client: httpx.Client, database: psycopg.Connection, number: int) -> None:
    database.execute("DELETE FROM items WHERE id = %s", [number])
    before = count(database)
    check(client.get(f"/items/{number}"), 404)
    check(client.put(f"/items/{number}", json=item()), 404)
    assert check(client.delete(f"/items/{number}"), 200) == {"deleted": 0}
    assert count(database) == before


BAD_IDS = ["0", "-1", "+1", "01", "1.0", "1e3", "1_0", " 1", "1 ", "1\n", "٣", "a", "\0", "'", str(2**63), "1" * 5000]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("number", BAD_IDS)
def test_finds_no_item_with_a_bad_id(client: httpx.Client, method: str, number: str) -> None:
    check(send(client, method, f"/items/{quote(number)}"), 404)


# The bodies of the contract's tests, without the array around the item.
BAD_BODIES = {name: body.removeprefix("[").removesuffix("]") for name, body in BAD_ITEMS.items()} | {
    "not Unicode": b'{"sku": "\xff"}',
    "an array": json.dumps([item()]),
}
del BAD_BODIES["not an array"], BAD_BODIES["one invalid item among valid items"]


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_refuses_a_bad_body(client: httpx.Client, database: psycopg.Connection, body: str | bytes) -> None:
    number = insert(database, item())
    before = row(database, number)
    response = client.put(f"/items/{number}", content=body, headers={"content-type": "application/json"})
    check(response, 400)
    assert row(database, number) == before


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_refuses_other_methods(client: httpx.Client, method: str) -> None:
    assert client.request(method, "/items/1").status_code == 405
