"""Implements the contract and stream.openapi.yaml with Quart."""

from collections.abc import AsyncGenerator

from pydantic import ValidationError
from quart import Quart, Response, request

from targets.async_backends import Backends
from targets.items import ITEMS
from targets.settings import Settings
from targets.stream import CONTENT_TYPE, HEADERS, Plan, made_async

app = Quart(__name__)
backends = Backends(Settings.from_environment())


@app.while_serving
async def lifespan() -> AsyncGenerator[None]:
    async with backends:
        yield


@app.get("/")
async def hello() -> dict[str, str]:
    return {"message": "Hello world"}


@app.get("/health")
async def health() -> tuple[dict[str, str], int]:
    if await backends.healthy():
        return {"status": "ok"}, 200
    return {"status": "unavailable"}, 503


@app.get("/redis3")
async def redis3() -> dict[str, list[str | None]]:
    return {"values": await backends.read_values()}


@app.post("/items")
async def insert_items() -> tuple[dict[str, int], int]:
    items = ITEMS.validate_python(await request.get_json())
    return {"inserted": await backends.insert(items)}, 201


@app.get("/stream")
async def stream() -> Response:
    plan = Plan.model_validate(request.args.to_dict())
    response = Response(made_async(plan), headers=HEADERS, content_type=CONTENT_TYPE)
    response.timeout = None  # By default, Quart ends a response after a minute.
    return response


@app.errorhandler(ValidationError)
async def invalid(error: ValidationError) -> tuple[dict[str, str], int]:
    return {"error": str(error)}, 400
