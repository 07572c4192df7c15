"""Tests that callers get a connection in the order in which they began to wait."""

import asyncio
from bisect import bisect, insort
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from targets.async_backends import Backends
from targets.items import ITEMS
from targets.manifest import MANIFEST, command
from targets.settings import Settings
from targets.tests.conftest import Lab

USERS = 40
CONNECTIONS = 3
CALLS = 1_000
ONE_ITEM = ITEMS.validate_python([{"sku": uuid4(), "name": "a", "quantity": 1, "price_cents": 1}])


class Queue:
    """Records for each call how many later calls were served earlier, and which user made the call."""

    def __init__(self) -> None:
        self.overtaken: list[int] = []
        self.calls_of: Counter[int] = Counter()
        self._served: list[int] = []
        self._came = 0

    @contextmanager
    def call(self, user: int) -> Iterator[None]:
        came = self._came
        self._came += 1
        yield
        self.overtaken.append(len(self._served) - bisect(self._served, came))
        insort(self._served, came)
        self.calls_of[user] += 1

    @property
    def is_over(self) -> bool:
        return self._came >= CALLS

    def assert_fair(self) -> None:
        # Only the users of the other connections can be faster, some of them a few times. They are faster many times
        # if a call has its connection but is delayed, for example by a commit that waits for the disk.
        long = [times for times in self.overtaken if times > 5 * CONNECTIONS]
        assert len(long) <= CALLS / 100, f"{len(long)} calls were overtaken up to {max(long)} times"
        assert min(self.calls_of[user] for user in range(USERS)) >= CALLS / USERS / 2


def settings(lab: Lab) -> Settings:
    return Settings(lab.backends["redis"], lab.backends["postgres"], pool_size=CONNECTIONS)


async def reads(backends: Backends) -> None:
    await backends.read_values()


async def inserts(backends: Backends) -> None:
    await backends.insert(ONE_ITEM)


@pytest.mark.parametrize("call", [reads, inserts])
def test_asynchronous_callers_are_served_in_turn(lab: Lab, call: Callable[[Backends], Awaitable[None]]) -> None:
    queue = Queue()

    async def users() -> None:
        async with Backends(settings(lab)) as backends, asyncio.TaskGroup() as group:

            async def user(number: int) -> None:
                while not queue.is_over:
                    with queue.call(number):
                        await call(backends)

            for number in range(USERS):
                group.create_task(user(number))

    asyncio.run(users())
    queue.assert_fair()


def test_threads_never_wait_for_a_connection() -> None:
    """In redis-py's synchronous pool, one thread could overtake another without limit."""
    for target, entry in MANIFEST.items():
        if "synchronous redis-py" in entry.get("differs", []):
            threads = [word for word in command(target, "127.0.0.1", 80, pool_size=3) if "--threads" in word]
            assert threads == ["--threads=3"] or "--worker-class=sync" in entry["command"]
