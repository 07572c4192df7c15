"""Defines what all stores of the profile services share: statements, keys, and the token that is read at the start."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from typing import Literal
from urllib.parse import urlsplit

from targets.settings import HEALTH_TIMEOUT_S

# A store may be starting at the same time.
STARTS_WITHIN_S = 5.0
RETRIES_AFTER_S = 0.1
NO_TOKEN = "there is no token"

LARGEST_ID = 2**63 - 1

Name = Literal["nickname", "username"]

# The placeholders are PostgreSQL's own. Both asyncpg and psycopg's RawCursor pass these placeholders unchanged.
BY_ID = "SELECT profile::text FROM profiles WHERE id = $1"
BY_NAME: dict[Name, str] = {
    "nickname": "SELECT profile::text FROM profiles WHERE profile ->> 'nickname' = $1",
    "username": "SELECT profile::text FROM profiles WHERE profile ->> 'username' = $1",
}
TOKEN = "SELECT min(token) FROM tokens"

TOKEN_KEY = "profiles:token"


def id_key(profile_id: int) -> str:
    """Return the key of a profile in Redis and in Couchbase: redis-benchmark asks for keys of twelve digits."""
    return f"profile:{profile_id:012d}"


def name_key(kind: Name, name: str) -> str:
    """Return the key that has the ID of the profile with this name."""
    return f"profile:{kind}:{name}"


def id_of(text: str) -> int | None:
    """Return the ID in a path, or None if no profile can have this ID."""
    number = int(text) if re.fullmatch("[1-9][0-9]{0,18}", text) else None
    return number if number and number <= LARGEST_ID else None


class StoreError(Exception):
    """The service cannot start with the configured store."""


Token = str | bytes | None
Errors = tuple[type[Exception], ...]


def read_token(read: Callable[[], Token], unreachable: Errors, store: str, url: str) -> bytes:
    """Read the token of a store that may be starting. `unreachable` are the errors of a store that is not up."""
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            if token := read():
                return as_bytes(token)
            reason = NO_TOKEN
        except unreachable as error:
            reason = str(error)
        if time.monotonic() > deadline:
            raise no_token(store, url, reason)
        time.sleep(RETRIES_AFTER_S)


async def read_token_async(read: Callable[[], Awaitable[Token]], unreachable: Errors, store: str, url: str) -> bytes:
    """Do the same as `read_token` with an asynchronous driver."""
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT_S):
                token = await read()
            if token:
                return as_bytes(token)
            reason = NO_TOKEN
        except TimeoutError:
            reason = f"no response within {HEALTH_TIMEOUT_S:g} s"
        except unreachable as error:
            reason = str(error)
        if time.monotonic() > deadline:
            raise no_token(store, url, reason)
        await asyncio.sleep(RETRIES_AFTER_S)


def as_bytes(token: str | bytes) -> bytes:
    return token.encode() if isinstance(token, str) else token


def no_token(store: str, url: str, reason: str) -> StoreError:
    place = "table tokens" if store == "PostgreSQL" else f"key {TOKEN_KEY}"
    address = urlsplit(url).netloc.rpartition("@")[2]  # Without the password.
    reason = " ".join(reason.split())  # In one line.
    return StoreError(f"cannot read the clients' token from the {place} of {store} at {address}: {reason}")
