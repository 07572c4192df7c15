"""Tests the nginx that every tool loads."""

import json
import shutil
import socket
import ssl
from http.client import HTTPConnection
from pathlib import Path

import pytest

from bench.server import Protocol, Status, nginx, nginx_program, parse_status
from bench.test_peers import CORE, needs_pinning

needs_nginx = pytest.mark.skipif(
    not (nginx_program() and shutil.which("openssl")), reason="nginx or openssl is missing: run `make peer-wrk`"
)


def test_the_status_of_nginx_is_read() -> None:
    text = "Active connections: 3 \nserver accepts handled requests\n 16 16 310 \nReading: 0 Writing: 1 Waiting: 2 \n"
    assert parse_status(text) == Status(active=3, accepted=16, requests=310)


@needs_pinning
@needs_nginx
def test_nginx_answers_counts_and_ends(tmp_path: Path) -> None:
    with nginx(CORE, tmp_path) as server:
        before = server.settled()
        connection = HTTPConnection("127.0.0.1", server.port, timeout=5)
        answers = []
        for path in ["/", "/many?id=1", "/"]:
            connection.request("GET", path)
            answers.append(json.loads(connection.getresponse().read()))
        connection.close()
        after = server.settled()
    assert answers[0] == answers[2] == {"message": "Hello world"}
    assert answers[1] == {"message": "Hello world", "id": 7, "values": ["a", "b"], "ok": True}
    assert (after.accepted - before.accepted, after.requests - before.requests) == (1, 3)
    assert len(set(server.ports.values())) == len(Protocol)
    with pytest.raises(ConnectionRefusedError):
        server.status()


@needs_pinning
@needs_nginx
def test_nginx_speaks_tls_with_the_same_cipher_to_all(tmp_path: Path) -> None:
    with nginx(CORE, tmp_path) as server:
        tls = ("TLSv1.3", "TLS_AES_128_GCM_SHA256")
        assert handshake(server.ports[Protocol.HTTPS], "http/1.1") == (*tls, "http/1.1")
        assert handshake(server.ports[Protocol.H2], "h2") == (*tls, "h2")


def handshake(port: int, offered: str) -> tuple[str | None, str, str | None]:
    """Return the version of TLS, the cipher and the version of HTTP that nginx chooses."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([offered])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        cipher = secured.cipher()
        assert cipher is not None
        return secured.version(), cipher[0], secured.selected_alpn_protocol()


# An empty SETTINGS frame after the preface, then GET / on stream 1 with the static table of HPACK (RFC 7541):
# :method GET, :path /, :scheme http, and :authority as a literal.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04\x00" + bytes(4)
HEADERS = b"\x82\x84\x86\x41\x01a"


@needs_pinning
@needs_nginx
def test_nginx_counts_each_request_of_http2_but_one_connection(tmp_path: Path) -> None:
    with nginx(CORE, tmp_path) as server:
        before = server.settled()
        with socket.create_connection(("127.0.0.1", server.ports[Protocol.H2C]), timeout=5) as connection:
            connection.sendall(PREFACE)
            for stream in (1, 3, 5):
                frame = len(HEADERS).to_bytes(3) + b"\x01\x05" + stream.to_bytes(4) + HEADERS
                connection.sendall(frame)
            answers = b""
            while answers.count(b"Hello world") < 3:
                answers += connection.recv(65_536) or pytest.fail("nginx closed the connection")
        after = server.settled()
    assert (after.accepted - before.accepted, after.requests - before.requests) == (1, 3)
