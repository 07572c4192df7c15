"""Reads profiles with asynchronous drivers: asyncpg and redis-py's asyncio client."""

import asyncio
import os
from typing import Any, Protocol, cast

import asyncpg
from redis.asyncio import Redis
from redis.exceptions import RedisError

from targets.profiles_store import BY_ID, BY_NAME, TOKEN, TOKEN_KEY, Name, id_key, name_key, read_token_async
from targets.settings import HEALTH_TIMEOUT_S, Settings

UNREACHABLE = (OSError, TimeoutError, RedisError, asyncpg.PostgresError, asyncpg.InterfaceError)


class Store(Protocol):
    """Holds profiles as JSON text, and the token that their clients send."""

    @property
    def token(self) -> bytes:
        """Return the token that was read when the store was opened."""

    async def close(self) -> None: ...

    async def healthy(self) -> bool:
        """Return whether the store responds."""

    async def by_id(self, profile_id: int) -> bytes | None: ...

    async def by_name(self, kind: Name, name: str) -> bytes | None: ...


async def open_store(settings: Settings) -> Store | None:
    """Open the configured store and read its token. Return None if no store is configured."""
    if url := settings.database_url:
        return await PostgresStore.open(url, settings.pool_size)
    if url := settings.redis_url:
        return await RedisStore.open(url, settings.pool_size)
    if url := os.environ.get("COUCHBASE_URL"):
        # The package that this module imports is optional.
        from targets.profiles_couchbase import AsyncCouchbaseStore

        return await AsyncCouchbaseStore.open(url)
    return None


async def ask(url: str, query: str) -> Any:
    """Run a query on a new connection: a pool waits for the end of a query that has timed out."""
    connection = await asyncpg.connect(url)
    try:
        value = await connection.fetchval(query)
        await connection.close()
    finally:
        connection.terminate()  # Does nothing after close().
    return value


class PostgresStore:
    """Reads the tables `profiles` and `tokens` of PostgreSQL. Callers get connections in the order of their calls.

    The semaphore keeps this order: see `async_backends.Backends`.
    """

    def __init__(self, url: str, token: bytes, pool: asyncpg.Pool, pool_size: int) -> None:
        self.token = token
        self._url = url
        self._pool = pool
        self._slots = asyncio.Semaphore(pool_size)

    @classmethod
    async def open(cls, url: str, pool_size: int) -> "PostgresStore":
        token = await read_token_async(lambda: ask(url, TOKEN), UNREACHABLE, "PostgreSQL", url)
        pool = await asyncpg.create_pool(url, min_size=0, max_size=pool_size)
        return cls(url, token, pool, pool_size)

    async def close(self) -> None:
        await self._pool.close()

    async def healthy(self) -> bool:
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT_S):
                await ask(self._url, "SELECT 1")
        except UNREACHABLE:
            return False
        return True

    async def by_id(self, profile_id: int) -> bytes | None:
        return await self._find(BY_ID, profile_id)

    async def by_name(self, kind: Name, name: str) -> bytes | None:
        # PostgreSQL's text holds no NUL character.
        return None if "\0" in name else await self._find(BY_NAME[kind], name)

    async def _find(self, query: str, value: int | str) -> bytes | None:
        async with self._slots:
            profile = await self._pool.fetchval(query, value)
        return profile.encode() if profile else None


class RedisStore:
    """Reads the keys `profile:…` of Redis. Callers get connections in the order of their calls.

    The semaphore keeps this order: see `async_backends.Backends`.
    """

    def __init__(self, token: bytes, redis: Redis, pool_size: int) -> None:
        self.token = token
        self._redis = redis
        self._slots = asyncio.Semaphore(pool_size)

    @classmethod
    async def open(cls, url: str, pool_size: int) -> "RedisStore":
        redis = Redis.from_url(url, max_connections=pool_size)
        token = await read_token_async(lambda: get(redis, TOKEN_KEY), UNREACHABLE, "Redis", url)
        return cls(token, redis, pool_size)

    async def close(self) -> None:
        await self._redis.aclose()

    async def healthy(self) -> bool:
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT_S), self._slots:
                await self._redis.ping()
        except UNREACHABLE:
            return False
        return True

    async def by_id(self, profile_id: int) -> bytes | None:
        async with self._slots:
            return await get(self._redis, id_key(profile_id))

    async def by_name(self, kind: Name, name: str) -> bytes | None:
        """Read the ID and then the profile, in two round trips."""
        async with self._slots:
            found = await get(self._redis, name_key(kind, name))
            return await get(self._redis, id_key(int(found))) if found else None


async def get(redis: Redis, key: str) -> bytes | None:
    return cast("bytes | None", await redis.get(key))
