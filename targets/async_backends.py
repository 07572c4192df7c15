"""Redis and PostgreSQL for the asynchronous targets: redis-py's asyncio client and asyncpg."""

import asyncio
from types import TracebackType
from typing import cast

import asyncpg
from redis.asyncio import Redis
from redis.exceptions import RedisError

from targets.items import DELETE_ONE, INSERT, SELECT_ONE, UPDATE_ONE, Item, Items, columns
from targets.settings import HEALTH_TIMEOUT_S, REDIS_KEYS, Settings, configured

UNREACHABLE = (OSError, TimeoutError, RedisError, asyncpg.PostgresError)


class Backends:
    """A pool of connections to each configured backend. Callers get free connections in the order of their calls.

    The semaphores keep this order. Without the semaphores, a new caller may take the connection that was released for
    the first waiting caller, which then waits again behind all others. redis-py's BlockingConnectionPool and asyncpg's
    pool both behave in this way.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._redis_slots = asyncio.Semaphore(settings.pool_size)
        self._postgres_slots = asyncio.Semaphore(settings.pool_size)
        self._redis: Redis | None = None
        self._postgres: asyncpg.Pool | None = None

    async def __aenter__(self) -> "Backends":
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Create the pools. The pools connect when they are first used."""
        size = self._settings.pool_size
        if url := self._settings.redis_url:
            self._redis = Redis.from_url(url, max_connections=size, decode_responses=True)
        if url := self._settings.database_url:
            self._postgres = await asyncpg.create_pool(url, min_size=0, max_size=size)

    async def close(self) -> None:
        if self._redis:
            await self._redis.aclose()
        if self._postgres:
            await self._postgres.close()

    async def healthy(self) -> bool:
        """Return whether each configured backend responds."""
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT_S):
                if self._redis:
                    async with self._redis_slots:
                        await self._redis.ping()
                if self._postgres:
                    async with self._postgres_slots:
                        await self._postgres.execute("SELECT 1")
        except UNREACHABLE:
            return False
        return True

    async def read_values(self) -> list[str | None]:
        """Read the three keys one after another, in three round trips."""
        redis = configured(self._redis, "REDIS_URL")
        async with self._redis_slots:
            values = [await redis.get(key) for key in REDIS_KEYS]
        return cast("list[str | None]", values)  # Not bytes: the pool decodes.

    async def read_value(self, key: str) -> str | None:
        """Read one key."""
        redis = configured(self._redis, "REDIS_URL")
        async with self._redis_slots:
            return cast("str | None", await redis.get(key))  # Not bytes: the pool decodes.

    async def add(self, key: str, number: int) -> int:
        """Add a number to that of one key, and return the sum."""
        redis = configured(self._redis, "REDIS_URL")
        async with self._redis_slots:
            return await redis.incrby(key, number)

    async def insert(self, items: Items) -> int:
        """Store the items in one statement, which is a separate transaction, and return the number of stored items."""
        postgres = configured(self._postgres, "DATABASE_URL")
        async with self._postgres_slots:
            tag = await postgres.execute(INSERT, *columns(items))
        return int(tag.removeprefix("INSERT 0 "))

    async def read_item(self, item_id: int) -> dict[str, str | int] | None:
        """Read one item, and return its columns by name."""
        postgres = configured(self._postgres, "DATABASE_URL")
        async with self._postgres_slots:
            row = await postgres.fetchrow(SELECT_ONE, item_id)
        return None if row is None else dict(row)

    async def update_item(self, item_id: int, item: Item) -> int:
        """Replace one item, and return the number of replaced items."""
        postgres = configured(self._postgres, "DATABASE_URL")
        async with self._postgres_slots:
            tag = await postgres.execute(UPDATE_ONE, item_id, item.sku, item.name, item.quantity, item.price_cents)
        return int(tag.removeprefix("UPDATE "))

    async def delete_item(self, item_id: int) -> int:
        """Delete one item, and return the number of deleted items."""
        postgres = configured(self._postgres, "DATABASE_URL")
        async with self._postgres_slots:
            tag = await postgres.execute(DELETE_ONE, item_id)
        return int(tag.removeprefix("DELETE "))
