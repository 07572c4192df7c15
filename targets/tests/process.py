"""Starts a target without the lab, for tests that choose its backends or stop the target."""

import os
import random
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
STARTS_WITHIN_S = 60
# The lab gives a server as long, before it kills it.
STOPS_WITHIN_S = 5
_IS_QUIET_AFTER_S = 0.5
_LEAST_TICKS = 2  # of CPU time, of 10 ms: a process that looks around now and then uses fewer.


@dataclass(frozen=True)
class Started:
    """A running target, and the address at which the target listens."""

    process: subprocess.Popen[bytes]
    host: str
    port: int

    def settle(self) -> None:
        """Wait until no process of the target is at work any more, or for the time of a start.

        Sanic never ends if SIGTERM arrives before its manager has seen that its workers are ready.
        """
        deadline = time.monotonic() + STARTS_WITHIN_S
        ticks = -_LEAST_TICKS
        while time.monotonic() < deadline:
            before, (is_at_work, ticks) = ticks, self._used()
            if not is_at_work and ticks - before < _LEAST_TICKS:
                return
            time.sleep(_IS_QUIET_AFTER_S)

    def _used(self) -> tuple[bool, int]:
        """Return whether a process runs or waits for a CPU, and the CPU time of all processes."""
        states, ticks = set(), 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                # "pid (name) state parent group session …": the name may contain anything.
                fields = stat.read_text().rsplit(") ", 1)[1].split()
                if int(fields[3]) == self.process.pid:
                    states.add(fields[0])
                    ticks += int(fields[11]) + int(fields[12])
        return "R" in states, ticks


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
    """Return a port that no connection of another test gets by chance before a slow server listens.

    The system gives those above 32767 to connections.
    """
    while True:
        port = random.randrange(16_384, 32_768)
        with suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port


def _wait_for(host: str, port: int) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            return socket.create_connection((host, port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
