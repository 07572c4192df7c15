"""Opens the stores of the profile services, and fills them."""

import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb
from redis import Redis

VARIABLES = ["DATABASE_URL", "REDIS_URL", "COUCHBASE_URL"]
TOKEN = "the-token-of-the-tests"
SCHEMA = Path(__file__).parents[1] / "schema.sql"
# A mock of Couchbase's servers, by Couchbase. It responds to today's SDK.
MOCK = "com.couchbase.mock:CouchbaseMock:1.5.25"
MOCK_STARTS_WITHIN_S = 30

Profile = dict[str, Any]


@dataclass(frozen=True)
class Store:
    """A store with the profiles and the token of the tests."""

    variable: str
    url: str
    set_token: Callable[[str | None], None]

    @property
    def address(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def environment(self, url: str | None = None) -> dict[str, str]:
        """Return the variables of a service that uses the store, perhaps by another URL."""
        return dict.fromkeys(VARIABLES, "") | {self.variable: url or self.url}


@contextmanager
def without_token(*stores: Store) -> Iterator[None]:
    for store in stores:
        store.set_token(None)
    try:
        yield
    finally:
        for store in stores:
            store.set_token(TOKEN)


@contextmanager
def postgres(url: str, profiles: list[Profile]) -> Iterator[Store]:
    """Make a database beside the database of the URL."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE profiles_of_tests")
    url = urlsplit(url)._replace(path="/profiles_of_tests").geturl()
    with psycopg.connect(url, autocommit=True) as connection:

        def set_token(token: str | None) -> None:
            connection.execute("DELETE FROM tokens")
            if token:
                connection.execute("INSERT INTO tokens VALUES (%s)", [token])

        connection.execute(SCHEMA.read_bytes())
        for profile in profiles:
            connection.execute("INSERT INTO profiles VALUES (%s, %s)", [profile["id"], Jsonb(profile)])
        set_token(TOKEN)
        yield Store("DATABASE_URL", url, set_token)


@contextmanager
def redis(url: str, profiles: list[Profile]) -> Iterator[Store]:
    """Use another database than the URL."""
    url = urlsplit(url)._replace(path="/7").geturl()
    with Redis.from_url(url) as client:

        def set_token(token: str | None) -> None:
            client.delete("profiles:token")
            if token:
                client.set("profiles:token", token)

        client.flushdb()
        for profile in profiles:
            client.set(f"profile:{profile['id']:012d}", json.dumps(profile))
            for kind in ("nickname", "username"):
                client.set(f"profile:{kind}:{profile[kind]}", profile["id"])
        set_token(TOKEN)
        yield Store("REDIS_URL", url, set_token)


@contextmanager
def couchbase(folder: Path, profiles: list[Profile]) -> Iterator[Store]:
    """Use the mock, whose files come to the folder."""
    if find_spec("couchbase") is None:
        pytest.skip("the package couchbase is not installed")
    from couchbase.auth import PasswordAuthenticator  # type: ignore[import-not-found]
    from couchbase.cluster import Cluster  # type: ignore[import-not-found]
    from couchbase.options import ClusterOptions  # type: ignore[import-not-found]

    with mock(folder) as address:
        cluster = Cluster.connect(f"couchbase://{address}", ClusterOptions(PasswordAuthenticator("profiles", "")))
        documents = cluster.bucket("profiles").default_collection()

        def set_token(token: str | None) -> None:
            documents.upsert("profiles:token", token or "")
            if not token:
                documents.remove("profiles:token")

        for profile in profiles:
            documents.upsert(f"profile:{profile['id']:012d}", profile)
            for kind in ("nickname", "username"):
                documents.upsert(f"profile:{kind}:{profile[kind]}", profile["id"])
        set_token(TOKEN)
        yield Store("COUCHBASE_URL", f"couchbase://profiles:password@{address}/profiles", set_token)
        cluster.close()


@contextmanager
def mock(folder: Path) -> Iterator[str]:
    """Start Couchbase's mock with the bucket `profiles`. Return the address of its key-value service."""
    for program in ("java", "mvn"):
        if which(program) is None:
            pytest.skip(f"{program}, which Couchbase's mock requires, is not on the PATH")
    fetch = ["mvn", "--batch-mode", "--quiet", "dependency:copy", f"-Dartifact={MOCK}", f"-DoutputDirectory={folder}"]
    if subprocess.run(fetch, check=False).returncode != 0:
        pytest.skip(f"Maven cannot fetch {MOCK}")
    (jar,) = folder.glob("*.jar")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(MOCK_STARTS_WITHIN_S)
        words = ["--host=127.0.0.1", "--port=0", "--nodes=1", "--replicas=0", "--cccp", "--buckets=profiles::"]
        monitor = f"--harakiri-monitor=127.0.0.1:{listener.getsockname()[1]}"
        with subprocess.Popen(["java", "-jar", jar, *words, monitor]) as process:
            try:
                control, _ = listener.accept()
                with control:
                    # The mock sends the port of its REST service, with a NUL character at the end.
                    port = control.recv(16).rstrip(b"\0").decode()
                    bucket = f"http://127.0.0.1:{port}/pools/default/b/profiles"
                    described = httpx.get(bucket, auth=("Administrator", "password")).json()
                    yield f"127.0.0.1:{described['nodes'][0]['ports']['direct']}"
            finally:
                process.kill()


class Link:
    """Forwards connections to a store, until the store is cut off or silent."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._store = (address.hostname, address.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self._silent = False
        port = self._listener.getsockname()[1]
        self.url = address._replace(netloc=address.netloc.replace(f":{address.port}", f":{port}")).geturl()
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._store)
                self._sockets += [near, far]
                for ends in [(near, far), (far, near)]:
                    self._threads.append(Thread(target=self._forward, args=ends))
                    self._threads[-1].start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if not self._silent:
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def be_silent(self) -> None:
        self._silent = True

    def cut(self) -> None:
        for end in self._sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        for thread in self._threads:
            thread.join()
        for end in self._sockets:
            end.close()
