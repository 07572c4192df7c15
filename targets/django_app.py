"""Implements openapi.yaml, stream.openapi.yaml and files.openapi.yaml with Django, and echoes WebSocket messages.

The WebSocket needs Channels, because Django has none. Here Django has neither middleware nor its ORM, like the other
frameworks.
"""

import json
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path
from django.views.decorators.http import require_GET, require_POST

from targets.async_backends import Backends
from targets.items import ITEMS
from targets.settings import STATIC, Settings
from targets.stream import CONTENT_TYPE, HEADERS, Plan, made_async

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# Sanic's limit. Django's default is 2.5 MB.
MOST_BYTES = 100_000_000
PIECE = 65_536

settings.configure(
    ALLOWED_HOSTS=["*"],
    DATA_UPLOAD_MAX_MEMORY_SIZE=MOST_BYTES,
    LOGGING_CONFIG=None,
    ROOT_URLCONF=__name__,
    SECRET_KEY="signs nothing",
)
# Otherwise, Django logs each response with a status of 400 or more.
logging.getLogger("django.request").setLevel(logging.ERROR)
backends = Backends(Settings.from_environment())


def answer(value: object, status: int = 200) -> HttpResponse:
    # By default, Django writes spaces after separators, unlike the other frameworks.
    response = JsonResponse(value, status=status, json_dumps_params={"separators": (",", ":")})
    # Django leaves this header to a middleware. Without it, servers send the body in chunks.
    response.headers["Content-Length"] = str(len(response.content))
    return response


async def hello(_: HttpRequest) -> HttpResponse:
    return answer({"message": "Hello world"})


async def health(_: HttpRequest) -> HttpResponse:
    if await backends.healthy():
        return answer({"status": "ok"})
    return answer({"status": "unavailable"}, status=503)


async def redis3(_: HttpRequest) -> HttpResponse:
    return answer({"values": await backends.read_values()})


async def insert_items(request: HttpRequest) -> HttpResponse:
    try:
        items = ITEMS.validate_python(json.loads(request.body))
    # The body is not Unicode, not JSON or no array of items.
    except ValueError as error:
        return answer({"error": str(error)}, status=400)
    return answer({"inserted": await backends.insert(items)}, status=201)


async def stream(request: HttpRequest) -> HttpResponse:
    try:
        plan = Plan.model_validate(request.GET.dict())
    except ValueError as error:
        return answer({"error": str(error)}, status=400)
    return StreamingHttpResponse(made_async(plan), headers=HEADERS, content_type=CONTENT_TYPE)


async def upload(request: HttpRequest) -> HttpResponse:
    # Django has already read the body, into a file if it is larger than 2.5 MB.
    return answer({"bytes": sum(len(piece) for piece in iter(partial(request.read, PIECE), b""))})


async def static(_: HttpRequest, name: str) -> HttpResponse:
    """Send a file. An event loop has no pieces of a file to send one by one, so Django reads the file as a whole."""
    try:
        return FileResponse((STATIC / name).open("rb"))
    except OSError as error:
        raise Http404 from error


class Echo(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Sends each message back as the same type."""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.send(text_data, bytes_data)


async def lifespan(_: Message, receive: Receive, send: Send) -> None:
    """Open the backends before the first request, as the other frameworks do. Django itself has no lifespan."""
    await receive()
    async with backends:
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})


urlpatterns = [
    path("", require_GET(hello)),
    path("health", require_GET(health)),
    path("redis3", require_GET(redis3)),
    path("items", require_POST(insert_items)),
    path("stream", require_GET(stream)),
    path("upload", require_POST(upload)),
    path("static/<name>", require_GET(static)),
]
app = ProtocolTypeRouter(
    {
        "http": get_asgi_application(),
        "websocket": URLRouter([path("ws", Echo.as_asgi())]),
        "lifespan": lifespan,
    }
)
