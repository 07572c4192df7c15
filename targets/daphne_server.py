"""Runs an application on daphne, with what daphne has no options for: uvloop, ASGI's lifespan, worker processes.

The documentation of Channels starts several processes of daphne on one socket, with supervisor. So does this program,
which listens on the socket and starts the processes, each of which gets the socket as a file descriptor.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from argparse import ArgumentParser
from typing import Any

import uvloop
from twisted.internet import asyncioreactor

BACKLOG = 2048


class Lifespan:
    """The application's lifespan, whose events daphne does not send."""

    def __init__(self, application: Any) -> None:
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._application = application
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        self._task = asyncio.create_task(self._application(scope, self._events.get, self._answers.put))
        await self._exchange("startup")

    async def stop(self) -> None:
        await self._exchange("shutdown")

    async def _exchange(self, event: str) -> None:
        await self._events.put({"type": f"lifespan.{event}"})
        answer = await self._answers.get()
        if answer["type"] != f"lifespan.{event}.complete":
            raise RuntimeError(answer.get("message") or answer["type"])


def serve(application: str, descriptor: int) -> None:
    """Serve on a listening socket until SIGTERM."""
    loop = uvloop.new_event_loop()
    # daphne uses the reactor that is installed when it is imported, if that runs on asyncio.
    asyncioreactor.install(loop)  # type: ignore[no-untyped-call]
    from daphne.cli import CommandLineInterface
    from daphne.utils import import_by_path

    lifespan = Lifespan(import_by_path(application))
    loop.run_until_complete(lifespan.start())
    CommandLineInterface().run([f"--fd={descriptor}", "--verbosity=0", application])
    loop.run_until_complete(lifespan.stop())


def supervise(application: str, descriptor: int, workers: int) -> int:
    """Run worker processes until SIGTERM, or until one of them ends. Return the exit code of the first that ended.

    A process that SIGTERM ends before it handles the signal has ended as it should.
    """
    processes: list[subprocess.Popen[bytes]] = []
    told = False

    def end(*_: object) -> None:
        nonlocal told
        told = True
        for process in processes:
            process.terminate()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    words = [sys.executable, "-m", "targets.daphne_server", application, f"--descriptor={descriptor}"]
    processes += [subprocess.Popen(words, pass_fds=[descriptor]) for _ in range(workers)]
    _, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    if told and code == -signal.SIGTERM:
        code = 0
    end()
    for process in processes:
        process.wait()
    return code


def listen(host: str, port: int) -> socket.socket:
    listener = socket.create_server((host, port), backlog=BACKLOG)
    listener.set_inheritable(True)
    return listener


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("application")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--descriptor", type=int)
    wanted = parser.parse_args()
    if wanted.descriptor is not None:
        return serve(wanted.application, wanted.descriptor)
    with listen(wanted.host, wanted.port) as listener:
        if wanted.workers == 1:
            return serve(wanted.application, listener.fileno())
        sys.exit(supervise(wanted.application, listener.fileno(), wanted.workers))


if __name__ == "__main__":
    main()
