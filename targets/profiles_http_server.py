"""Implements profiles.openapi.yaml with Python's own http.server, without a framework."""

import json
import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest
from socketserver import TCPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote

from targets.profiles_store import StoreError, id_of
from targets.profiles_sync_stores import Store, open_store
from targets.settings import Settings

GRACEFUL_SHUTDOWN_S = 0.7
STOPS_AFTER_S = 0.1


class Server(ThreadingHTTPServer):
    """Serves each connection in a thread of its own."""

    request_queue_size = 2048
    daemon_threads = True

    def __init__(self, address: tuple[str, int], store: Store | None) -> None:
        self.store = store
        self.handlers: set[Handler] = set()
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        # HTTPServer asks the name server for the name of this host, which can take seconds.
        TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client may close its connection at any time.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def drain(self) -> None:
        """Give open requests some time."""
        deadline = time.monotonic() + GRACEFUL_SHUTDOWN_S
        while any(handler.busy for handler in self.handlers.copy()) and time.monotonic() < deadline:
            time.sleep(0.01)


class Handler(BaseHTTPRequestHandler):
    """Serves one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # A buffer, so that the head and the body of a response are sent at once.
    wbufsize = -1
    busy = False

    def setup(self) -> None:
        super().setup()
        self.server.handlers.add(self)

    def finish(self) -> None:
        self.server.handlers.discard(self)
        super().finish()

    def do_GET(self) -> None:
        self.busy = True
        # The next request would begin with the body of this request.
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True
        try:
            self.respond()
        except Exception as error:
            self.log_error("%s: %r", self.path, error)
            self.refuse(500, "the store does not respond")
        self.wfile.flush()
        self.busy = False

    def respond(self) -> None:
        store = self.server.store
        parts = self.path.partition("?")[0].split("/")
        if parts == ["", "health"]:
            if store is None or store.healthy():
                self.answer(200, b'{"status": "ok"}')
            else:
                self.answer(503, b'{"status": "unavailable"}')
        elif store is None:
            self.refuse(503, "no store is configured")
        elif not allows(store.token, self.headers.get("Authorization", "")):
            self.refuse(401, "the token is missing or wrong")
        elif parts[:2] != ["", "profiles"]:
            self.refuse(404, "unknown path")
        elif len(parts) == 3:
            profile_id = id_of(parts[2])
            self.show(store.by_id(profile_id) if profile_id else None)
        elif len(parts) == 4 and parts[2] == "nickname":
            self.show(store.by_name("nickname", unquote(parts[3])))
        elif len(parts) == 4 and parts[2] == "username":
            self.show(store.by_name("username", unquote(parts[3])))
        else:
            self.refuse(404, "unknown path")

    def show(self, profile: bytes | None) -> None:
        if profile is None:
            self.refuse(404, "no such profile")
        else:
            self.answer(200, profile)

    def refuse(self, status: int, reason: str) -> None:
        self.answer(status, json.dumps({"error": reason}).encode())

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log no requests."""


def allows(token: bytes, authorization: str) -> bool:
    scheme, _, sent = authorization.partition(" ")
    return scheme.lower() == "bearer" and compare_digest(sent.strip().encode(), token)


def arguments() -> Namespace:
    parser = ArgumentParser(prog="python -m targets.profiles_http_server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    return parser.parse_args()


def main() -> None:
    wanted = arguments()
    try:
        store = open_store(Settings.from_environment())
    except StoreError as error:
        sys.exit(str(error))
    server = Server((wanted.host, wanted.port), store)
    # shutdown() waits until serve_forever() has ended, which runs in this thread.
    signal.signal(signal.SIGTERM, lambda *_: Thread(target=server.shutdown).start())
    server.serve_forever(STOPS_AFTER_S)
    server.server_close()
    server.drain()


if __name__ == "__main__":
    main()
