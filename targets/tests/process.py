"""Starts a target without the lab, for tests that choose its backends or stop the target."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
STARTS_WITHIN_S = 20


@dataclass(frozen=True)
class Started:
    """A running target, and the address at which the target listens."""

    process: subprocess.Popen[bytes]
    host: str
    port: int


@contextmanager
def started(name: str, workers: int = 1, /, **environment: str) -> Iterator[Started]:
    """Start a target, and wait until the target listens. At the end, kill all of its processes."""
    host, port = "127.0.0.1", _free_port()
    command = [sys.executable, "-m", "targets", name, f"--host={host}", f"--port={port}", f"--workers={workers}"]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, start_new_session=True) as process:
        try:
            _wait_for(host, port)
            yield Started(process, host, port)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_for(host: str, port: int) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            return socket.create_connection((host, port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
