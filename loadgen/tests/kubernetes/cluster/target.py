"""An HTTP server for the image localhost/target:test, which `up` makes. Each answer names the pod that gave it.

GET /healthz             200, or 503 until --slow-start has passed
GET /exit?code=N         ends the container with this exit status, without an answer
GET /PATH?busy_ms=N      answers after N ms of CPU time
"""

import argparse
import json
import os
import signal
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


class Server(ThreadingHTTPServer):
    # The default of 5 refuses bursts of connections.
    request_queue_size = 1024
    ready_at = 0.0


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # Head and body leave in one packet: a delayed ACK would hold back the second one for 40 ms.
    wbufsize = -1

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        if url.path == "/exit":
            os._exit(int(query.get("code", "0")))
        end = time.thread_time() + int(query.get("busy_ms", "0")) / 1000
        while time.thread_time() < end:
            pass
        is_ready = url.path != "/healthz" or time.monotonic() >= self.server.ready_at
        body = json.dumps({"pod": socket.gethostname(), "worker": os.getpid(), "path": url.path}).encode()
        self.send_response(200 if is_ready else 503)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--workers", type=int, default=0, help="processes to fork, which share the socket")
    parser.add_argument("--slow-start", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    # The kernel ignores a signal without a handler for the first process of a container.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    with Server(("", options.port), Handler) as server:
        server.ready_at = time.monotonic() + options.slow_start
        if options.workers == 0:
            server.serve_forever()
        for _ in range(options.workers):
            if os.fork() == 0:
                server.serve_forever()
        return os.waitstatus_to_exitcode(os.wait()[1])


if __name__ == "__main__":
    sys.exit(main())
