"""Implements the contract and stream.openapi.yaml with Sanic, and echoes the messages of a WebSocket."""

import json
import logging
from functools import partial
from types import SimpleNamespace

from pydantic import ValidationError
from sanic import Config, HTTPResponse, Request, Sanic, Websocket
from sanic import json as json_response
from sanic.exceptions import BadRequest

from targets.async_backends import Backends
from targets.items import ITEMS
from targets.settings import Settings
from targets.stream import CONTENT_TYPE, HEADERS, Plan, made_async

App = Sanic[Config, SimpleNamespace]

# By default, Sanic uses ujson. The separators are those of the other frameworks.
app = Sanic("loadgen", dumps=partial(json.dumps, separators=(",", ":")), loads=json.loads)
app.config.GRACEFUL_SHUTDOWN_TIMEOUT = 1.0
# Otherwise, Sanic logs the end of each WebSocket.
logging.getLogger("sanic.websockets").setLevel(logging.WARNING)
backends = Backends(Settings.from_environment())


# Sanic's command line has no option for the backlog. Its default of 100 connections is soon full when many users
# connect at once.
@app.main_process_start
async def lengthen_backlog(app: App) -> None:
    for server in app.state.server_info:
        server.settings["backlog"] = 2048


@app.before_server_start
async def open_backends(_: App) -> None:
    await backends.open()


@app.after_server_stop
async def close_backends(_: App) -> None:
    await backends.close()


@app.get("/")
async def hello(_: Request) -> HTTPResponse:
    return json_response({"message": "Hello world"})


@app.get("/health")
async def health(_: Request) -> HTTPResponse:
    if await backends.healthy():
        return json_response({"status": "ok"})
    return json_response({"status": "unavailable"}, status=503)


@app.get("/redis3")
async def redis3(_: Request) -> HTTPResponse:
    return json_response({"values": await backends.read_values()})


@app.post("/items")
async def insert_items(request: Request) -> HTTPResponse:
    items = ITEMS.validate_python(request.json)
    return json_response({"inserted": await backends.insert(items)}, status=201)


@app.get("/stream")
async def stream(request: Request) -> None:
    plan = Plan.model_validate({name: request.args.get(name) for name in request.args})
    response = await request.respond(headers=HEADERS, content_type=CONTENT_TYPE)
    async for event in made_async(plan):
        await response.send(event)


@app.websocket("/ws")  # type: ignore[untyped-decorator]
async def echo(_: Request, socket: Websocket) -> None:
    async for message in socket:
        await socket.send(message)


@app.exception(ValidationError)
async def invalid(_: Request, error: ValidationError) -> HTTPResponse:
    raise BadRequest(str(error))
