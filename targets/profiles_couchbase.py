"""Reads profiles of Couchbase with its own SDK, which is optional: `pip install couchbase`.

COUCHBASE_URL is `couchbase://USER:PASSWORD@HOST/BUCKET`. The documents of the bucket have the keys of Redis. They are
JSON: an ID is a number, and the token is a string. The SDK has no pool: all callers share its connection to each node.
"""

import json
from datetime import timedelta
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from targets.profiles_store import TOKEN_KEY, Name, StoreError, id_key, name_key, read_token, read_token_async
from targets.settings import HEALTH_TIMEOUT_S

try:
    from acouchbase.cluster import AsyncCluster  # type: ignore[import-not-found]
    from couchbase.auth import PasswordAuthenticator  # type: ignore[import-not-found]
    from couchbase.cluster import Cluster  # type: ignore[import-not-found]
    from couchbase.exceptions import CouchbaseException, DocumentNotFoundException  # type: ignore[import-not-found]
    from couchbase.options import ClusterOptions, ClusterTimeoutOptions  # type: ignore[import-not-found]
    from couchbase.transcoder import RawJSONTranscoder  # type: ignore[import-not-found]
except ModuleNotFoundError as error:
    reason = "COUCHBASE_URL is set, but the package couchbase is not installed: pip install couchbase"
    raise StoreError(reason) from error

LONGEST_KEY = 250
# Ends before the timeout of `read_token_async`: the SDK logs a traceback for each call that is cancelled.
LIMIT = timedelta(seconds=0.75 * HEALTH_TIMEOUT_S)


class Address:
    """What COUCHBASE_URL says, in the terms of the SDK."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        self.hosts = parts._replace(netloc=parts.netloc.rpartition("@")[2], path="").geturl()
        self.bucket = parts.path.removeprefix("/")
        self.options = ClusterOptions(
            PasswordAuthenticator(user, password),
            timeout_options=ClusterTimeoutOptions(bootstrap_timeout=LIMIT),
            transcoder=RawJSONTranscoder(),  # Leaves the bytes of documents as they are.
        )


def is_key(key: str) -> bool:
    # The SDK would look for the part before a NUL character.
    return len(key.encode()) <= LONGEST_KEY and "\0" not in key


class CouchbaseStore:
    """Reads documents from threads."""

    def __init__(self, url: str) -> None:
        self._address = Address(url)
        self._cluster: Any = None
        self._documents: Any = None
        self.token = read_token(self._read_token, (CouchbaseException,), "Couchbase", url)

    def _read_token(self) -> str | None:
        if not self._documents:
            self._cluster = Cluster.connect(self._address.hosts, self._address.options)
            self._documents = self._cluster.bucket(self._address.bucket).default_collection()
        token = self._get(TOKEN_KEY, timeout=LIMIT)
        return json.loads(token) if token else None

    def healthy(self) -> bool:
        try:
            self._get(TOKEN_KEY, timeout=LIMIT)
        except CouchbaseException:
            return False
        return True

    def by_id(self, profile_id: int) -> bytes | None:
        return self._get(id_key(profile_id))

    def by_name(self, kind: Name, name: str) -> bytes | None:
        """Read the ID and then the profile, in two round trips."""
        found = self._get(name_key(kind, name))
        return self._get(id_key(int(found))) if found else None

    def _get(self, key: str, **options: timedelta) -> bytes | None:
        if not is_key(key):
            return None
        try:
            return cast("bytes", self._documents.get(key, **options).value)
        except DocumentNotFoundException:
            return None


class AsyncCouchbaseStore:
    """Reads documents from an event loop."""

    def __init__(self, url: str) -> None:
        self._address = Address(url)
        self._cluster: Any = None
        self._documents: Any = None
        self.token = b""

    @classmethod
    async def open(cls, url: str) -> "AsyncCouchbaseStore":
        store = cls(url)
        store.token = await read_token_async(store._read_token, (CouchbaseException,), "Couchbase", url)
        return store

    async def _read_token(self) -> str | None:
        if not self._documents:
            self._cluster = await AsyncCluster.connect(self._address.hosts, self._address.options)
            bucket = self._cluster.bucket(self._address.bucket)
            await bucket.on_connect()
            self._documents = bucket.default_collection()
        token = await self._get(TOKEN_KEY, timeout=LIMIT)
        return json.loads(token) if token else None

    async def close(self) -> None:
        await self._cluster.close()

    async def healthy(self) -> bool:
        try:
            await self._get(TOKEN_KEY, timeout=LIMIT)
        except CouchbaseException:
            return False
        return True

    async def by_id(self, profile_id: int) -> bytes | None:
        return await self._get(id_key(profile_id))

    async def by_name(self, kind: Name, name: str) -> bytes | None:
        """Read the ID and then the profile, in two round trips."""
        found = await self._get(name_key(kind, name))
        return await self._get(id_key(int(found))) if found else None

    async def _get(self, key: str, **options: timedelta) -> bytes | None:
        if not is_key(key):
            return None
        try:
            return cast("bytes", (await self._documents.get(key, **options)).value)
        except DocumentNotFoundException:
            return None
