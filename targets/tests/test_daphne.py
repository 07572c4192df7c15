"""Tests the worker processes of daphne, which the lab starts itself."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from targets.tests.process import STARTS_WITHIN_S, STOPS_WITHIN_S, Started, started

WORKERS = 3


@pytest.fixture
def server() -> Iterator[Started]:
    with started("fastapi-daphne", WORKERS) as server:
        # The program listens before its worker processes do, and each of them imports the application first.
        assert httpx.get(f"http://{server.host}:{server.port}/", timeout=STARTS_WITHIN_S).status_code == 200
        server.settle()
        yield server


def children(server: Started) -> list[int]:
    pid = server.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_has_as_many_processes_as_workers(server: Started) -> None:
    assert len(children(server)) == WORKERS


def test_stops_all_processes(server: Started) -> None:
    workers = children(server)
    server.process.terminate()
    assert server.process.wait(STOPS_WITHIN_S) == 0
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_ends_with_the_first_process_that_ends(server: Started) -> None:
    workers = children(server)
    os.kill(workers[0], signal.SIGKILL)
    assert server.process.wait(STOPS_WITHIN_S) != 0
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
