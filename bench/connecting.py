"""How long it takes until all users are connected and at work, from what nginx says meanwhile."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection

from bench.server import Server, Status, parse_status

LOOKS_EACH_S = 0.05
# loadgen sends each step once before it begins; the scenario that is used here has one step.
VERIFICATION = 1


@dataclass(frozen=True)
class Look:
    """What nginx said, between two moments. Connections and requests are those of others than who asks."""

    asked_s: float
    told_s: float
    active: int
    requests: int


def all_connected_s(looks: Sequence[Look], users: int) -> float | None:
    """Return the seconds from the beginning of the load until all users are connected and at work, at most.

    That is from the last look without any request of the load to the first with as many as there are users,
    and with all of their connections. Some may have been opened before: the load begins with its first request.
    """
    began = max((look.asked_s for look in looks if look.requests <= VERIFICATION), default=None)
    at_work = (look for look in looks if look.active >= users and look.requests >= VERIFICATION + users)
    ended = min((look.told_s for look in at_work), default=None)
    return None if began is None or ended is None else ended - began


@contextmanager
def watched(server: Server) -> Iterator[list[Look]]:
    """Look at nginx all the time. It is asked over one connection, which does not queue behind new ones."""
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
