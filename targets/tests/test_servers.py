"""How the servers behave that targets.toml starts: connections, start, stop, and what it says of them."""

import time
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx

from targets.manifest import MANIFEST, PROGRAMS
from targets.tests.conftest import Lab
from targets.tests.contract import check
from targets.tests.process import started

NOBODY_LISTENS = {"REDIS_URL": "redis://127.0.0.1:1/0", "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"}
STOPS_WITHIN_S = 3
# Sanic never ends when SIGTERM reaches it before its manager, which looks ten times a second, saw its workers ready.
SETTLES_WITHIN_S = 0.5


def ask(connection: HTTPConnection, method: str) -> HTTPResponse:
    connection.request(method, "/")
    response = connection.getresponse()
    response.read()
    return response


def test_keeps_connections_unless_the_manifest_denies_it(lab: Lab, target: str) -> None:
    keeps = not any(difference.startswith("no keep-alive") for difference in MANIFEST[target]["differs"])
    with closing(HTTPConnection(urlsplit(lab.targets[target]).netloc)) as connection:
        ask(connection, "GET")
        assert (connection.sock is not None) == keeps


def test_answers_head_without_a_body(lab: Lab, target: str) -> None:
    with closing(HTTPConnection(urlsplit(lab.targets[target]).netloc)) as connection:
        assert ask(connection, "HEAD").status in (200, 405)
        assert ask(connection, "GET").status == 200


def test_is_not_healthy_without_its_backends(target: str) -> None:
    for variable, url in NOBODY_LISTENS.items():
        with started(target, **{variable: url}) as server:
            response = httpx.get(f"http://{server.host}:{server.port}/health")
            assert check(response, 503) == {"status": "unavailable"}


def test_needs_no_backend_that_nobody_configured(target: str) -> None:
    with started(target) as server:
        check(httpx.get(f"http://{server.host}:{server.port}/health"), 200)


def test_stops_at_once_with_an_open_connection(target: str) -> None:
    with started(target) as server, closing(HTTPConnection(server.host, server.port)) as connection:
        assert ask(connection, "GET").status == 200
        time.sleep(SETTLES_WITHIN_S)
        server.process.terminate()
        server.process.wait(STOPS_WITHIN_S)


def test_manifest_names_what_is_installed(target: str) -> None:
    assert all(version(package) for package in MANIFEST[target]["packages"])
    assert (PROGRAMS / MANIFEST[target]["command"][0]).exists()
