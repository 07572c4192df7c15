"""Implements the contract, and item.openapi.yaml, with aiohttp."""

import json
import re
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from functools import partial
from typing import TypeVar

import uvloop
from aiohttp import web
from pydantic import TypeAdapter

from targets.async_backends import Backends
from targets.items import ITEM, ITEMS
from targets.settings import Settings

Body = TypeVar("Body")

# Sanic's limit. aiohttp's default is 1 MiB.
MOST_BYTES = 100_000_000
# More digits than a bigint has would be slow to convert.
ID = re.compile("[1-9][0-9]{0,18}")
LARGEST_ID = 2**63 - 1

routes = web.RouteTableDef()
backends = Backends(Settings.from_environment())
# The separators are those of the other frameworks.
dumps = partial(json.dumps, separators=(",", ":"))


def answer(value: object, status: int = 200) -> web.Response:
    # aiohttp's json_response adds a charset to the media type.
    return web.Response(body=dumps(value).encode(), status=status, content_type="application/json")


async def body(request: web.Request, kind: TypeAdapter[Body]) -> Body:
    try:
        return kind.validate_python(json.loads(await request.read()))
    # The body is not Unicode, not JSON or not of this kind.
    except ValueError as error:
        raise web.HTTPBadRequest(text=dumps({"error": str(error)}), content_type="application/json") from error


def not_found(text: str) -> web.HTTPNotFound:
    return web.HTTPNotFound(text=dumps({"error": f"no item {text}"}), content_type="application/json")


def item_id(request: web.Request) -> int:
    text = request.match_info["id"]
    if ID.fullmatch(text) and (number := int(text)) <= LARGEST_ID:
        return number
    raise not_found(text)


@routes.get("/")
async def hello(_: web.Request) -> web.Response:
    return answer({"message": "Hello world"})


@routes.get("/health")
async def health(_: web.Request) -> web.Response:
    if await backends.healthy():
        return answer({"status": "ok"})
    return answer({"status": "unavailable"}, status=503)


@routes.get("/redis3")
async def redis3(_: web.Request) -> web.Response:
    return answer({"values": await backends.read_values()})


@routes.post("/items")
async def insert_items(request: web.Request) -> web.Response:
    items = await body(request, ITEMS)
    return answer({"inserted": await backends.insert(items)}, status=201)


@routes.get("/items/{id}")
async def read_item(request: web.Request) -> web.Response:
    number = item_id(request)
    if item := await backends.read_item(number):
        return answer(item)
    raise not_found(str(number))


@routes.put("/items/{id}")
async def update_item(request: web.Request) -> web.Response:
    number = item_id(request)
    item = await body(request, ITEM)
    if updated := await backends.update_item(number, item):
        return answer({"updated": updated})
    raise not_found(str(number))


@routes.delete("/items/{id}")
async def delete_item(request: web.Request) -> web.Response:
    return answer({"deleted": await backends.delete_item(item_id(request))})


async def use_backends(_: web.Application) -> AsyncIterator[None]:
    async with backends:
        yield


app = web.Application(client_max_size=MOST_BYTES)
app.add_routes(routes)
app.cleanup_ctx.append(use_backends)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    wanted = parser.parse_args()
    web.run_app(
        app,
        host=wanted.host,
        port=wanted.port,
        loop=uvloop.new_event_loop(),
        backlog=2048,
        keepalive_timeout=75,
        shutdown_timeout=1,
        access_log=None,
        print=None,
    )


if __name__ == "__main__":
    main()
