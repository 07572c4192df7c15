"""Tests the profile services with each store, against profiles.openapi.yaml."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from http.client import HTTPConnection
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from threading import Thread, Timer
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import yaml
from jsonschema import Draft202012Validator

from targets.manifest import MANIFEST, missing
from targets.profiles_sync_stores import Turns
from targets.tests.conftest import LOADGEN, Lab, available
from targets.tests.process import ROOT, STOPS_WITHIN_S, Started, started
from targets.tests.profile_stores import (
    TOKEN,
    VARIABLES,
    Link,
    Profile,
    Store,
    couchbase,
    postgres,
    redis,
    without_token,
)

CONTRACT = yaml.safe_load((Path(__file__).parents[1] / "profiles.openapi.yaml").read_text())
SERVICES = [name for name in MANIFEST if name.startswith("profiles-")]
IN_PYTHON = [name for name in SERVICES if "language" not in MANIFEST[name]]
WITH_EACH_STORE = [*product(SERVICES, ["PostgreSQL", "Redis"])]
if HAS_COUCHBASE := find_spec("couchbase") is not None:
    WITH_EACH_STORE += product(IN_PYTHON, ["Couchbase"])

REFUSES_WITHIN_S = 30
STORE_STARTS_AFTER_S = 2
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
# The lab's own profiles have small numbers.
FIRST_ID = 9_000_000_001
LARGEST_ID = 2**63 - 1
NAMES = ["plain", "Löwe 🦁", "a+b c%20d", "?&=#;:@,", "'; DROP TABLE profiles; --", ".hidden", "nickname", "1"]


def profile(number: int, name: str) -> Profile:
    return {
        "id": number,
        "nickname": f"nick {name}",
        "username": f"user {name}",
        "name": f"Ana {name}",
        "email": f"ana{number}@example.org",
        "city": "São Paulo",
        "bio": 'Says "hello\\world".\nTwice.',
    }


PROFILES = [profile(FIRST_ID + index, name) for index, name in enumerate(NAMES)] + [profile(LARGEST_ID, "last")]

Pair = tuple[str, Store]


@pytest.fixture(scope="module")
def store(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Store]]:
    """Return a function that opens the store of a kind, once."""
    opening = {
        "PostgreSQL": lambda: postgres(lab.backends["postgres"], PROFILES),
        "Redis": lambda: redis(lab.backends["redis"], PROFILES),
        "Couchbase": lambda: couchbase(tmp_path_factory.mktemp("couchbase"), PROFILES),
    }
    with ExitStack() as stack:
        yield cache(lambda kind: stack.enter_context(opening[kind]()))


@pytest.fixture(scope="module")
def services(lab: Lab) -> list[str]:
    """Build the services that have a build. Return the services that this machine can run."""
    assert lab
    there = [name for name in SERVICES if missing(name) is None]
    built = [name for name in there if "build" in MANIFEST[name]]
    if built:
        subprocess.run([LOADGEN, "lab", "build", "--target", ",".join(built)], cwd=ROOT, check=True)
    return there


@pytest.fixture(scope="module", params=WITH_EACH_STORE, ids="-".join)
def pair(request: pytest.FixtureRequest, services: list[str], store: Callable[[str], Store]) -> Pair:
    """Name a service and a store, which a test starts the service with."""
    name, kind = request.param
    assert available(name) in services
    return name, store(kind)


@pytest.fixture(scope="module")
def server(pair: Pair) -> Iterator[Started]:
    name, store = pair
    with started(name, **store.environment()) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Started) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://{server.host}:{server.port}", timeout=10) as client:
        yield client


def check(response: httpx.Response, path: str, status: int) -> Any:
    """Assert that the response has the status, and its schema for a path of the contract. Return the body."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    described = CONTRACT["paths"][path]["get"]["responses"][str(status)]
    schema = described["content"]["application/json"]["schema"]
    body = response.json()
    Draft202012Validator({**schema, "components": CONTRACT["components"]}).validate(body)
    return body


BY_ID = "/profiles/{id}"
BY_NICKNAME = "/profiles/nickname/{nickname}"
BY_USERNAME = "/profiles/username/{username}"
BY_EACH_KEY = [BY_ID, BY_NICKNAME, BY_USERNAME]


def filled(path: str, values: dict[str, Any]) -> str:
    return path.format_map({key: quote(str(value), safe="") for key, value in values.items()})


@pytest.mark.parametrize("expected", PROFILES, ids=[str(profile["id"]) for profile in PROFILES])
@pytest.mark.parametrize("path", BY_EACH_KEY)
def test_finds_a_profile_by_each_key(client: httpx.Client, path: str, expected: Profile) -> None:
    assert check(client.get(filled(path, expected), headers=AUTHORIZED), path, 200) == expected


def test_ignores_a_query(client: httpx.Client) -> None:
    check(client.get(f"/profiles/{FIRST_ID}?a=/b", headers=AUTHORIZED), BY_ID, 200)


# Names are case-sensitive. No text of PostgreSQL and no key of Couchbase holds a NUL character. One name is like a key
# of Redis, and one is longer than the 250 bytes of a key of Couchbase.
NOBODY = ["1", "nobody", "nick Plain", "\0", "nick plain\0", "🦁", "nickname:nick plain", "ö" * 150]


@pytest.mark.parametrize("name", NOBODY)
@pytest.mark.parametrize("path", BY_EACH_KEY)
def test_finds_no_profile_that_is_not_there(client: httpx.Client, path: str, name: str) -> None:
    values = {"id": name, "nickname": name, "username": name}
    check(client.get(filled(path, values), headers=AUTHORIZED), path, 404)


BAD_IDS = ["0", "-1", "+1", "01", "1.0", "1e3", "1_0", " 1", "1 ", "1\n", "٣", "a", "\0", "'"]
BAD_IDS += [str(LARGEST_ID + 1), "1" * 5_000]


@pytest.mark.parametrize("number", BAD_IDS)
def test_finds_no_profile_with_a_bad_id(client: httpx.Client, number: str) -> None:
    check(client.get(f"/profiles/{quote(number)}", headers=AUTHORIZED), BY_ID, 404)


def test_refuses_a_name_that_is_not_unicode(client: httpx.Client) -> None:
    assert client.get("/profiles/nickname/%ff", headers=AUTHORIZED).status_code in (400, 404)


REFUSED = {
    "no header": None,
    "empty": "",
    "no token": "Bearer",
    "another scheme": f"Basic {TOKEN}",
    "no scheme": TOKEN,
    "wrong": f"Bearer {TOKEN[:-1]}X",
    "too short": f"Bearer {TOKEN[:-1]}",
    "too long": f"Bearer {TOKEN}X",
    "two words": f"Bearer {TOKEN} {TOKEN}",
    "not ASCII": "Bearer Löwe",
}


@pytest.mark.parametrize("authorization", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("path", BY_EACH_KEY)
def test_refuses_a_missing_or_wrong_token(client: httpx.Client, path: str, authorization: str | None) -> None:
    headers = httpx.Headers({} if authorization is None else {"Authorization": authorization}, "latin-1")
    # The token is checked before the look-up.
    for values in [PROFILES[0], {"id": 1, "nickname": "nobody", "username": "nobody"}]:
        response = client.get(filled(path, values), headers=headers)
        check(response, path, 401)
        assert response.headers["www-authenticate"] == "Bearer"


def test_the_scheme_of_the_token_has_no_case(client: httpx.Client) -> None:
    check(client.get(f"/profiles/{FIRST_ID}", headers={"authorization": f"bEARER {TOKEN}"}), BY_ID, 200)


def test_reports_its_health_without_a_token(client: httpx.Client) -> None:
    assert check(client.get("/health"), "/health", 200) == {"status": "ok"}


OTHER_PATHS = ["/", "/docs", "/openapi.json", "/profile", "/profiles", "/profiles/", "/Profiles/9000000001"]
OTHER_PATHS += ["/profiles/9000000001/", "/profiles/nickname/a/b", "/profiles/city/a", "/health/"]


@pytest.mark.parametrize("path", OTHER_PATHS)
def test_refuses_other_paths(client: httpx.Client, path: str) -> None:
    assert client.get(path, headers=AUTHORIZED).status_code == 404
    assert client.get(path).status_code in (401, 404)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_refuses_other_methods(client: httpx.Client, method: str) -> None:
    response = client.request(method, f"/profiles/{FIRST_ID}", headers=AUTHORIZED)
    assert response.status_code in (405, 501)


def test_keeps_connections(server: Started) -> None:
    with closing(HTTPConnection(server.host, server.port, timeout=10)) as connection:
        connection.connect()
        first = connection.sock
        for path, status in [("/health", 200), (f"/profiles/{FIRST_ID}", 200), ("/profiles/1", 404), ("/health", 200)]:
            connection.request("GET", path, headers=AUTHORIZED)
            response = connection.getresponse()
            response.read()
            assert response.status == status
            assert connection.sock is first


def test_stays_healthy_without_a_token(pair: Pair, client: httpx.Client) -> None:
    _, store = pair
    with without_token(store):
        check(client.get("/health"), "/health", 200)


def test_reads_the_token_only_when_it_starts(pair: Pair, client: httpx.Client) -> None:
    _, store = pair
    store.set_token("another-token")
    try:
        check(client.get(f"/profiles/{FIRST_ID}", headers=AUTHORIZED), BY_ID, 200)
    finally:
        store.set_token(TOKEN)


def test_stops_at_once_with_an_open_connection(pair: Pair) -> None:
    name, store = pair
    with (
        started(name, **store.environment()) as server,
        closing(HTTPConnection(server.host, server.port)) as connection,
    ):
        connection.request("GET", f"/profiles/{FIRST_ID}", headers=AUTHORIZED)
        response = connection.getresponse()
        response.read()
        assert response.status == 200
        server.process.terminate()
        server.process.wait(STOPS_WITHIN_S)


def refusals(starts: dict[tuple[str, str], dict[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Start services with these variables, all at the same time, as each of them retries for seconds.

    Return the service, the kind of its store, and what the service wrote. Assert that each service fails.
    """
    with ExitStack() as stack:
        processes = {}
        for pair, environment in starts.items():
            command = [sys.executable, "-m", "targets", pair[0], "--port=0"]
            pipe, env = subprocess.PIPE, os.environ | environment
            process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=pipe, stderr=pipe, text=True)
            processes[pair] = stack.enter_context(process)
            stack.callback(process.kill)
        for (name, kind), process in processes.items():
            output, log = process.communicate(timeout=REFUSES_WITHIN_S)
            assert (process.returncode > 0, output) == (True, ""), name
            yield name, kind, log


STORES = [["PostgreSQL", "Redis"], ["Couchbase"]]
PLACES = {"PostgreSQL": "table tokens", "Redis": "key profiles:token", "Couchbase": "key profiles:token"}


@pytest.mark.parametrize("kinds", STORES, ids=" ".join)
def test_does_not_start_without_a_token(services: list[str], store: Callable[[str], Store], kinds: list[str]) -> None:
    stores = {kind: store(kind) for kind in kinds}
    pairs = [(name, kind) for name, kind in WITH_EACH_STORE if kind in kinds and name in services]
    with without_token(*stores.values()):
        for name, kind, log in refusals({pair: stores[pair[1]].environment() for pair in pairs}):
            place = f"the {PLACES[kind]} of {kind} at {stores[kind].address}"
            assert log == f"cannot read the clients' token from {place}: there is no token\n", name


NOBODY_LISTENS = {
    "PostgreSQL": {"DATABASE_URL": "postgresql://me:secret@127.0.0.1:1/nothing"},
    "Redis": {"REDIS_URL": "redis://:secret@127.0.0.1:1/0"},
    "Couchbase": {"COUCHBASE_URL": "couchbase://me:secret@127.0.0.1:1/nothing"},
}


def test_does_not_start_without_its_store(services: list[str]) -> None:
    unset = dict.fromkeys(VARIABLES, "")
    starts = {pair: unset | NOBODY_LISTENS[pair[1]] for pair in WITH_EACH_STORE if pair[0] in services}
    for _, kind, log in refusals(starts):
        place = f"the {PLACES[kind]} of {kind} at 127.0.0.1:1"
        assert log.startswith(f"cannot read the clients' token from {place}: ")
        assert log.count("\n") == 1
        assert "secret" not in log


@pytest.mark.skipif(HAS_COUCHBASE, reason="the package couchbase is installed")
def test_names_the_missing_package_of_couchbase() -> None:
    starts = {(name, "Couchbase"): dict.fromkeys(VARIABLES, "") | NOBODY_LISTENS["Couchbase"] for name in IN_PYTHON}
    for _, _, log in refusals(starts):
        assert log == "COUCHBASE_URL is set, but the package couchbase is not installed: pip install couchbase\n"


def test_waits_for_a_store_that_is_starting(pair: Pair) -> None:
    name, store = pair
    with without_token(store):
        later = Timer(STORE_STARTS_AFTER_S, store.set_token, [TOKEN])
        later.start()
        with started(name, **store.environment()) as server:
            response = httpx.get(f"http://{server.host}:{server.port}/profiles/{FIRST_ID}", headers=AUTHORIZED)
            check(response, BY_ID, 200)
        later.join()


@pytest.mark.parametrize("name", SERVICES)
def test_is_healthy_but_finds_nothing_without_a_store(services: list[str], name: str) -> None:
    assert available(name) in services
    with started(name, **dict.fromkeys(VARIABLES, "")) as server:
        url = f"http://{server.host}:{server.port}"
        assert check(httpx.get(f"{url}/health"), "/health", 200) == {"status": "ok"}
        for path in BY_EACH_KEY:
            check(httpx.get(f"{url}{filled(path, PROFILES[0])}"), path, 503)


# Couchbase's SDK learns the addresses of the servers from the servers, and would not use the link.
LINKED = [pair for pair in WITH_EACH_STORE if pair[1] != "Couchbase"]


@pytest.mark.parametrize("lose", [Link.cut, Link.be_silent])
@pytest.mark.parametrize("pair", LINKED, indirect=True, ids="-".join)
def test_is_not_healthy_when_its_store_is_lost(pair: Pair, lose: Callable[[Link], None]) -> None:
    name, store = pair
    with closing(Link(store.url)) as link, started(name, **store.environment(link.url)) as server:
        url = f"http://{server.host}:{server.port}"
        check(httpx.get(f"{url}/health"), "/health", 200)
        check(httpx.get(f"{url}/profiles/{FIRST_ID}", headers=AUTHORIZED), BY_ID, 200)
        lose(link)
        assert check(httpx.get(f"{url}/health", timeout=10), "/health", 503) == {"status": "unavailable"}


def test_threads_take_turns() -> None:
    """With `threading.Semaphore`, some threads pass many times more often than others."""
    users, passes = 40, 4_000
    turns = Turns(3)
    passed: list[int] = []

    def pass_often(user: int) -> None:
        while len(passed) < passes:
            with turns:
                passed.append(user)
                time.sleep(0.0002)

    threads = [Thread(target=pass_often, args=[user]) for user in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times = Counter(passed)
    assert min(times[user] for user in range(users)) >= passes / users / 2
