"""Starts the lab with every target, once for all tests."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import psycopg
import pytest

from targets.manifest import MANIFEST
from targets.tests.process import ROOT

LOADGEN = os.environ.get("LOADGEN", str(ROOT / "target" / "release" / "loadgen"))


@dataclass(frozen=True)
class Lab:
    """Targets and backends that `loadgen lab up` reports as running."""

    targets: dict[str, str]
    backends: dict[str, str]


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    options = ["--target", ",".join(MANIFEST), "--backend", "redis,postgres", "--format", "json"]
    pipe = subprocess.PIPE
    with subprocess.Popen([LOADGEN, "lab", "up", *options], cwd=ROOT, stdin=pipe, stdout=pipe) as process:
        assert process.stdout
        ready = process.stdout.readline()
        try:
            assert ready, f"{LOADGEN} lab up ended before it was ready"
            yield Lab(**json.loads(ready))
        finally:
            process.terminate()


@pytest.fixture(scope="session", params=MANIFEST)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def client(lab: Lab, target: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=lab.targets[target], timeout=10) as client:
        yield client


@pytest.fixture(scope="session")
def database(lab: Lab) -> Iterator[psycopg.Connection]:
    with psycopg.connect(lab.backends["postgres"], autocommit=True) as connection:
        yield connection
