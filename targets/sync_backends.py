"""Redis and PostgreSQL for the synchronous targets: redis-py and psycopg 3."""

from typing import cast

import psycopg
from psycopg_pool import ConnectionPool
from redis import BlockingConnectionPool, Redis
from redis.exceptions import RedisError

from targets.items import INSERT, Items, columns
from targets.settings import HEALTH_TIMEOUT_S, REDIS_KEYS, Settings, configured

UNREACHABLE = (OSError, RedisError, psycopg.Error)


class Backends:
    """A pool of connections to each configured backend. Callers wait for a free connection."""

    def __init__(self, settings: Settings) -> None:
        """Create the pools. The pools connect when they are first used."""
        self._redis: Redis | None = None
        self._postgres: ConnectionPool | None = None
        size = settings.pool_size
        if url := settings.redis_url:
            pool = BlockingConnectionPool.from_url(url, max_connections=size, timeout=None, decode_responses=True)
            self._redis = Redis.from_pool(pool)
        if url := settings.database_url:
            options = {"autocommit": True, "cursor_factory": psycopg.RawCursor}
            self._postgres = ConnectionPool(url, min_size=0, max_size=size, kwargs=options, open=True)

    def healthy(self) -> bool:
        """Return whether each configured backend responds."""
        try:
            if self._redis:
                self._redis.ping()
            if self._postgres:
                with self._postgres.connection(timeout=HEALTH_TIMEOUT_S) as connection:
                    connection.execute("SELECT 1")
        except UNREACHABLE:
            return False
        return True

    def read_values(self) -> list[str | None]:
        """Read the three keys one after another, in three round trips."""
        redis = configured(self._redis, "REDIS_URL")
        values = [redis.get(key) for key in REDIS_KEYS]
        return cast("list[str | None]", values)  # Not bytes: the pool decodes.

    def insert(self, items: Items) -> int:
        """Store the items in one statement, which is a separate transaction, and return the number of stored items."""
        with configured(self._postgres, "DATABASE_URL").connection() as connection:
            return connection.execute(INSERT, columns(items)).rowcount
