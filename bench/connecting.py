"""Measures the time until all users are connected and sending, from nginx's counts during a run."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection

from bench.server import Server, Status, parse_status

LOOKS_EACH_S = 0.05
# Number of requests before the load: loadgen sends each step once, and the scenario has one step.
VERIFICATION = 1


@dataclass(frozen=True)
class Look:
    """Figures of nginx at some time between two moments, without the connection and requests of this script."""

    asked_s: float
    told_s: float
    active: int
    requests: int


def all_connected_s(looks: Sequence[Look], users: int) -> float | None:
    """Return an upper bound of the seconds from the start of the load until all users are connected and sending.

    The time runs from the last look without any request of the load to the first look with at least as many requests
    as users, and with all connections. Connections may open earlier: the load starts with its first request.
    """
    began = max((look.asked_s for look in looks if look.requests <= VERIFICATION), default=None)
    at_work = (look for look in looks if look.active >= users and look.requests >= VERIFICATION + users)
    ended = min((look.told_s for look in at_work), default=None)
    return None if began is None or ended is None else ended - began


@contextmanager
def watched(server: Server) -> Iterator[list[Look]]:
    """Look at nginx again and again, over one connection that does not queue behind new connections."""
    looks: list[Look] = []
    over = threading.Event()
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    before = _ask(connection)
    thread = threading.Thread(target=_look, args=(connection, before, looks, over))
    thread.start()
    try:
        yield looks
    finally:
        over.set()
        thread.join()
        connection.close()


def _look(connection: HTTPConnection, before: Status, looks: list[Look], over: threading.Event) -> None:
    while not over.is_set():
        asked = time.monotonic()
        status = _ask(connection)
        requests = status.requests - before.requests - len(looks) - 1
        looks.append(Look(asked, time.monotonic(), status.active - 1, requests))
        over.wait(LOOKS_EACH_S)


def _ask(connection: HTTPConnection) -> Status:
    connection.request("GET", "/status")
    return parse_status(connection.getresponse().read().decode())
