"""Tests the target falcon, which has only /users/ and /health of its own."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx
import pytest

from targets.manifest import MANIFEST
from targets.settings import HEALTH_TIMEOUT_S
from targets.tests.conftest import Lab
from targets.tests.process import STOPS_WITHIN_S, Started, started
from targets.tests.test_servers import NOBODY_LISTENS, keeps_connections

NAME = "falcon"
USERS = {"users": [{"id": number, "username": f"user{number}"} for number in range(1, 21)]}
UNAVAILABLE = {"status": "unavailable"}


@pytest.fixture
def falcon(lab: Lab) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=lab.targets[NAME], timeout=10) as client:
        yield client


@pytest.fixture
def silent_database() -> Iterator[str]:
    """Accept connections to a database that never responds."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"postgresql://nobody@127.0.0.1:{listener.getsockname()[1]}/nothing"


def get(server: Started, path: str) -> httpx.Response:
    return httpx.get(f"http://{server.host}:{server.port}{path}", timeout=10)


def test_lists_the_users_in_order(falcon: httpx.Client) -> None:
    for _ in range(3):  # From the second request on, from a connection of the pool.
        response = falcon.get("/users/")
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/json"
        assert response.text == json.dumps(USERS, separators=(",", ":"))


def test_reports_its_health(falcon: httpx.Client) -> None:
    response = falcon.get("/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_refuses_other_requests(falcon: httpx.Client) -> None:
    assert falcon.get("/users/1").status_code == 404
    assert falcon.post("/users/").status_code == 405


def test_is_not_healthy_without_its_database() -> None:
    with started(NAME, DATABASE_URL=NOBODY_LISTENS["DATABASE_URL"]) as server:
        for path in ("/health", "/users/"):
            response = get(server, path)
            assert (response.status_code, response.json()) == (503, UNAVAILABLE)


def test_is_not_healthy_if_its_database_is_silent(silent_database: str) -> None:
    with started(NAME, DATABASE_URL=silent_database) as server:
        began = time.monotonic()
        response = get(server, "/health")
        assert (response.status_code, response.json()) == (503, UNAVAILABLE)
        assert time.monotonic() - began < HEALTH_TIMEOUT_S + 1.5  # The worker may still be starting.


def test_needs_the_database_only_for_users() -> None:
    # An empty variable counts as unset.
    for environment in ({}, {"DATABASE_URL": ""}):
        with started(NAME, **environment) as server:
            assert get(server, "/health").status_code == 200
            assert get(server, "/users/").status_code == 500


def test_keeps_connections_unless_the_manifest_says_otherwise(lab: Lab) -> None:
    with closing(HTTPConnection(urlsplit(lab.targets[NAME]).netloc)) as connection:
        connection.request("GET", "/users/")
        connection.getresponse().read()
        assert (connection.sock is not None) == keeps_connections(NAME)


def test_stops_at_once_with_an_open_connection() -> None:
    with started(NAME) as server, socket.create_connection((server.host, server.port)):
        server.settle()  # The worker waits for a request of the connection.
        server.process.terminate()
        server.process.wait(STOPS_WITHIN_S)


def test_the_manifest_names_installed_packages() -> None:
    assert all(version(package) for package in MANIFEST[NAME]["packages"])
