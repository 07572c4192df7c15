"""Implements openapi.yaml, stream.openapi.yaml and files.openapi.yaml with FastAPI, and echoes WebSocket messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles

from targets.async_backends import Backends
from targets.items import Items
from targets.settings import STATIC, Settings
from targets.stream import CONTENT_TYPE, HEADERS, Plan, made_async

backends = Backends(Settings.from_environment())


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with backends:
        yield


# By default, FastAPI writes JSON with pydantic.
app = FastAPI(lifespan=lifespan, default_response_class=JSONResponse)


@app.get("/")
async def hello() -> dict[str, str]:
    return {"message": "Hello world"}


@app.get("/health")
async def health(response: Response) -> dict[str, str]:
    if await backends.healthy():
        return {"status": "ok"}
    response.status_code = 503
    return {"status": "unavailable"}


@app.get("/redis3")
async def redis3() -> dict[str, list[str | None]]:
    return {"values": await backends.read_values()}


@app.post("/items", status_code=201)
async def insert_items(items: Items) -> dict[str, int]:
    return {"inserted": await backends.insert(items)}


@app.get("/stream")
async def stream(plan: Annotated[Plan, Query()]) -> StreamingResponse:
    # As a media type, it would get a charset.
    return StreamingResponse(made_async(plan), headers=HEADERS | {"content-type": CONTENT_TYPE})


@app.post("/upload")
async def upload(request: Request) -> dict[str, int]:
    return {"bytes": sum([len(piece) async for piece in request.stream()])}


app.mount("/static", StaticFiles(directory=STATIC))


@app.websocket("/ws")
async def echo(socket: WebSocket) -> None:
    await socket.accept()
    while (message := await socket.receive())["type"] == "websocket.receive":
        if (text := message.get("text")) is not None:
            await socket.send_text(text)
        else:
            await socket.send_bytes(message["bytes"])


# FastAPI's default response repeats the input, and fails with 500 if the input is not valid Unicode.
@app.exception_handler(RequestValidationError)
async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
    return JSONResponse({"error": str(error)}, status_code=422)
