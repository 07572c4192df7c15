"""Reads profiles with synchronous drivers: psycopg 3 and redis-py."""

import os
from collections import deque
from threading import Lock
from types import TracebackType
from typing import Protocol, cast

import psycopg
from psycopg_pool import ConnectionPool
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from targets.profiles_store import BY_ID, BY_NAME, TOKEN, TOKEN_KEY, Name, id_key, name_key, read_token
from targets.settings import HEALTH_TIMEOUT_S, Settings

UNREACHABLE = (OSError, RedisError, psycopg.Error)


class Store(Protocol):
    """Holds profiles as JSON text, and the token that their clients send."""

    @property
    def token(self) -> bytes:
        """Return the token that was read when the store was opened."""

    def healthy(self) -> bool:
        """Return whether the store responds."""

    def by_id(self, profile_id: int) -> bytes | None: ...

    def by_name(self, kind: Name, name: str) -> bytes | None: ...


def open_store(settings: Settings) -> Store | None:
    """Open the configured store and read its token. Return None if no store is configured."""
    if url := settings.database_url:
        return PostgresStore(url, settings.pool_size)
    if url := settings.redis_url:
        return RedisStore(url, settings.pool_size)
    if url := os.environ.get("COUCHBASE_URL"):
        # The package that this module imports is optional.
        from targets.profiles_couchbase import CouchbaseStore

        return CouchbaseStore(url)
    return None


class PostgresStore:
    """Reads the tables `profiles` and `tokens` of PostgreSQL. Threads get connections in the order of their calls."""

    def __init__(self, url: str, pool_size: int) -> None:
        self._url = url
        self.token = read_token(lambda: cast("str | None", self._ask(TOKEN)), UNREACHABLE, "PostgreSQL", url)
        options = {"autocommit": True, "cursor_factory": psycopg.RawCursor}
        self._pool = ConnectionPool(url, min_size=0, max_size=pool_size, kwargs=options, open=True)

    def _ask(self, query: str) -> object:
        """Run a query on a new connection: only the time to connect has a limit."""
        with psycopg.connect(self._url, connect_timeout=int(HEALTH_TIMEOUT_S)) as connection:
            row = connection.execute(query).fetchone()
        return row and row[0]

    def healthy(self) -> bool:
        try:
            self._ask("SELECT 1")
        except UNREACHABLE:
            return False
        return True

    def by_id(self, profile_id: int) -> bytes | None:
        return self._find(BY_ID, profile_id)

    def by_name(self, kind: Name, name: str) -> bytes | None:
        # PostgreSQL's text holds no NUL character.
        return None if "\0" in name else self._find(BY_NAME[kind], name)

    def _find(self, query: str, value: int | str) -> bytes | None:
        with self._pool.connection() as connection:
            row = connection.execute(query, [value]).fetchone()
        return row[0].encode() if row else None


class RedisStore:
    """Reads the keys `profile:…` of Redis. Threads get connections in the order of their calls."""

    def __init__(self, url: str, pool_size: int) -> None:
        # Has connections of its own, so that a check of the health does not wait for a turn.
        self._probe = Redis.from_url(url, socket_timeout=HEALTH_TIMEOUT_S, retry=Retry(NoBackoff(), 0))
        self.token = read_token(lambda: get(self._probe, TOKEN_KEY), UNREACHABLE, "Redis", url)
        self._redis = Redis.from_url(url, max_connections=pool_size)
        self._turns = Turns(pool_size)

    def healthy(self) -> bool:
        try:
            return bool(self._probe.ping())
        except UNREACHABLE:
            return False

    def by_id(self, profile_id: int) -> bytes | None:
        with self._turns:
            return get(self._redis, id_key(profile_id))

    def by_name(self, kind: Name, name: str) -> bytes | None:
        """Read the ID and then the profile, in two round trips."""
        with self._turns:
            found = get(self._redis, name_key(kind, name))
            return get(self._redis, id_key(int(found))) if found else None


def get(redis: Redis, key: str) -> bytes | None:
    return cast("bytes | None", redis.get(key))


class Turns:
    """A semaphore that threads pass in the order of their calls.

    In `threading.Semaphore` and redis-py's BlockingConnectionPool, a new caller may overtake the callers that wait.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: deque[Lock] = deque()
        self._lock = Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1
