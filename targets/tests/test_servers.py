"""Tests the servers of targets.toml: connections, start, stop, and the description in targets.toml."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx
import pytest

from targets.manifest import MANIFEST, PROGRAMS
from targets.tests.conftest import Lab
from targets.tests.contract import check
from targets.tests.process import STARTS_WITHIN_S, STOPS_WITHIN_S, Started, started

NOBODY_LISTENS = {"REDIS_URL": "redis://127.0.0.1:1/0", "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"}
# More than the 1,000 or 1,024 connections that some servers serve at a time by default.
MANY_USERS = 1_100
GREETING = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def ask(connection: HTTPConnection, method: str) -> HTTPResponse:
    connection.request(method, "/")
    response = connection.getresponse()
    response.read()
    return response


def keeps_connections(target: str) -> bool:
    return not any(difference.startswith("no keep-alive") for difference in MANIFEST[target].get("differs", []))


def test_keeps_connections_unless_the_manifest_says_otherwise(lab: Lab, target: str) -> None:
    with closing(HTTPConnection(urlsplit(lab.targets[target]).netloc)) as connection:
        ask(connection, "GET")
        assert (connection.sock is not None) == keeps_connections(target)


def test_closes_a_busy_connection_only_where_the_manifest_says_so(lab: Lab, target: str) -> None:
    if not keeps_connections(target):
        return
    closes = "closes a connection after 1,000 requests" in MANIFEST[target].get("differs", [])
    with closing(HTTPConnection(urlsplit(lab.targets[target]).netloc)) as connection:
        for _ in range(1_000):
            ask(connection, "GET")
        assert (connection.sock is None) == closes


@contextmanager
def paused(server: Started) -> Iterator[None]:
    """Stop all processes of a target, so that only the kernel accepts connections."""
    os.killpg(server.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(server.process.pid, signal.SIGCONT)


@pytest.mark.usefixtures("many_open_files")
def test_serves_a_thousand_users_at_once(alone: str) -> None:
    with started(alone) as server, ExitStack() as users:
        address = (server.host, server.port)
        # A worker of gunicorn may set a backlog of its own when it starts to serve.
        httpx.get(f"http://{server.host}:{server.port}/", timeout=10)
        with paused(server):
            # If the backlog is too short, the kernel drops further connections, and their clients retry after a second.
            sockets = [users.enter_context(socket.create_connection(address, timeout=0.9)) for _ in range(MANY_USERS)]
        for user in sockets:
            user.settimeout(30)
            user.sendall(GREETING)
        for user in sockets:
            answer = user.recv(4096).lower()
            assert answer.startswith(b"http/1.1 200 ")
            assert (b"connection: close" not in answer) == keeps_connections(alone)
            if not keeps_connections(alone):
                user.close()  # The server waits for the close before it serves the next user.


def test_answers_head_without_a_body(lab: Lab, target: str) -> None:
    with closing(HTTPConnection(urlsplit(lab.targets[target]).netloc)) as connection:
        assert ask(connection, "HEAD").status in (200, 405)
        assert ask(connection, "GET").status == 200


def test_is_not_healthy_without_its_backends(alone: str) -> None:
    for variable, url in NOBODY_LISTENS.items():
        with started(alone, **{variable: url}) as server:
            response = httpx.get(f"http://{server.host}:{server.port}/health", timeout=STARTS_WITHIN_S)
            assert check(response, 503) == {"status": "unavailable"}


def test_needs_no_unconfigured_backend(alone: str) -> None:
    # An empty variable counts as unset.
    for environment in ({}, dict.fromkeys(NOBODY_LISTENS, "")):
        with started(alone, **environment) as server:
            check(httpx.get(f"http://{server.host}:{server.port}/health", timeout=STARTS_WITHIN_S), 200)


def test_stops_at_once_with_an_open_connection(alone: str) -> None:
    with started(alone) as server, closing(HTTPConnection(server.host, server.port)) as connection:
        assert ask(connection, "GET").status == 200
        server.settle()
        server.process.terminate()
        server.process.wait(STOPS_WITHIN_S)


def test_the_manifest_names_installed_packages(target: str) -> None:
    entry = MANIFEST[target]
    assert all(version(package) for package in entry.get("packages", []))
    required = [tool["tool"] for tool in entry.get("requires", [])]
    assert "build" in entry or entry["command"][0] in required or (PROGRAMS / entry["command"][0]).exists()
