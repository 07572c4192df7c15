"""Tests the backlog of servers that have once been asked: some shorten it when they start to serve."""

import subprocess
from pathlib import Path
from shutil import which

import httpx
import pytest

from targets.tests.process import started

BACKLOG = 2_048
LIMIT = Path("/proc/sys/net/core/somaxconn")


@pytest.mark.skipif(which("ss") is None, reason="ss is not on the PATH")
@pytest.mark.parametrize("name", ["falcon", "aiohttp", "aiohttp-gunicorn"])
def test_has_the_described_backlog(name: str) -> None:
    with started(name) as server:
        httpx.get(f"http://{server.host}:{server.port}/health", timeout=10)
        listeners = ["ss", "--no-header", "--numeric", "--listening", "--tcp", f"sport = :{server.port}"]
        _, _, backlog, *_ = subprocess.run(listeners, capture_output=True, text=True, check=True).stdout.split()
    assert int(backlog) == min(BACKLOG, int(LIMIT.read_text()))
