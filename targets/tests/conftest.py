"""Starts the lab with every target, once for all tests."""

import json
import os
import resource
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import psycopg
import pytest

from targets.manifest import MANIFEST, missing
from targets.tests.process import ROOT

# Targets that implement the contract.
CONTRACT = [name for name, entry in MANIFEST.items() if entry.get("contract", True)]
# Other targets that the lab starts for tests.
SERVICES = ["falcon", "grpc"]

LOADGEN = os.environ.get("LOADGEN", str(ROOT / "target" / "release" / "loadgen"))


@dataclass(frozen=True)
class Lab:
    """Targets and backends that `loadgen lab up` reports as running."""

    targets: dict[str, str]
    backends: dict[str, str]


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    there = [name for name in CONTRACT + SERVICES if missing(name) is None]
    options = ["--target", ",".join(there), "--backend", "redis,postgres", "--format", "json"]
    pipe = subprocess.PIPE
    with subprocess.Popen([LOADGEN, "lab", "up", *options], cwd=ROOT, stdin=pipe, stdout=pipe) as process:
        assert process.stdout
        ready = process.stdout.readline()
        try:
            assert ready, f"{LOADGEN} lab up ended before it was ready"
            yield Lab(**json.loads(ready))
        finally:
            process.terminate()


def available(name: str) -> str:
    """Return the name of a target, or skip the test if this machine cannot run the target."""
    if (tool := missing(name)) is not None:
        pytest.skip(f"{tool}, which {name} requires, is not on the PATH")
    return name


@pytest.fixture(scope="session", params=CONTRACT)
def target(request: pytest.FixtureRequest) -> str:
    return available(str(request.param))


@pytest.fixture(params=[name for name in CONTRACT if "upstreams" not in MANIFEST[name]])
def alone(lab: Lab, request: pytest.FixtureRequest) -> str:
    """Name a target that a test starts without the lab, once the lab has built all targets."""
    assert lab.targets
    return available(str(request.param))


@pytest.fixture(scope="session")
def client(lab: Lab, target: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=lab.targets[target], timeout=10) as client:
        yield client


@pytest.fixture(scope="session")
def database(lab: Lab) -> Iterator[psycopg.Connection]:
    with psycopg.connect(lab.backends["postgres"], autocommit=True) as connection:
        yield connection


@pytest.fixture
def many_open_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
