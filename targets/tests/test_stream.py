"""Tests the streams of server-sent events against stream.openapi.yaml: what arrives, and when."""

import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx
import pytest
import yaml

from targets.manifest import MANIFEST
from targets.stream import Plan
from targets.tests.conftest import CONTRACT, Lab, available

DESCRIPTION = yaml.safe_load((Path(__file__).parents[1] / "stream.openapi.yaml").read_text())
FRAMEWORKS = {"Sanic", "Quart", "FastAPI", "Django", "Flask"}
STREAMS = [
    name
    for name in CONTRACT
    if MANIFEST[name]["framework"] in FRAMEWORKS or "flask" in MANIFEST[name].get("upstreams", {}).values()
]
# A timer of an event loop may end a millisecond early, and so may the timer from which it is counted.
EARLY_S = 0.002

Arrival = tuple[float, bytes]


@pytest.fixture(scope="session", params=STREAMS)
def target(request: pytest.FixtureRequest) -> str:
    return available(str(request.param))


def event(number: int) -> bytes:
    return b'data: {"number": %d}\n\n' % number


def events(number: int) -> list[bytes]:
    return [*map(event, range(1, number + 1)), b"data: [DONE]\n\n"]


def arrivals(url: str, **query: int) -> tuple[HTTPResponse, list[Arrival]]:
    """Request a stream. Return each piece that arrives, and the seconds from just before the request until then."""
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=10)) as connection:
        began = time.monotonic()
        connection.request("GET", f"/stream?{urlencode(query)}")
        response = connection.getresponse()
        return response, list(pieces(response, began))


def pieces(response: HTTPResponse, began: float) -> Iterator[Arrival]:
    while piece := response.read1():  # Ends where a chunk ends, if not before.
        yield time.monotonic() - began, piece


def joined(arrived: list[Arrival]) -> bytes:
    return b"".join(piece for _, piece in arrived)


def test_sends_events_and_an_end_marker(lab: Lab, target: str) -> None:
    response, arrived = arrivals(lab.targets[target], events=20, every=20)
    assert (response.status, response.version) == (200, 11)
    assert response.headers["content-type"] == "text/event-stream"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["transfer-encoding"] == "chunked"
    assert joined(arrived) == b"".join(events(20))
    if "upstreams" not in MANIFEST[target]:
        assert [piece for _, piece in arrived] == events(20)


def test_sends_no_event_before_its_time(lab: Lab, target: str) -> None:
    _, arrived = arrivals(lab.targets[target], events=20, every=20)
    for after, piece in arrived:
        for number in range(20):
            assert event(number + 1) not in piece or after >= number * 0.020 - EARLY_S


def test_sends_each_event_before_a_late_one_is_made(lab: Lab, target: str) -> None:
    made_s = 1.020
    _, arrived = arrivals(lab.targets[target], events=4, every=10, late=3, by=1_000)
    assert joined([one for one in arrived if one[0] < made_s - EARLY_S]) == event(1) + event(2)
    assert joined(arrived) == b"".join(events(4))


@pytest.mark.parametrize(("number", "every"), [(1, 0), (1, 10_000), (10_000, 0)])
def test_sends_the_least_and_the_most(lab: Lab, target: str, number: int, every: int) -> None:
    _, arrived = arrivals(lab.targets[target], events=number, every=every)
    assert joined(arrived) == b"".join(events(number))


BAD_QUERIES = {
    "empty": "",
    "without events": "every=1",
    "without every": "events=1",
    "no number": "events=a&every=1",
    "a fraction": "events=1.5&every=1",
    "no event": "events=0&every=1",
    "too many events": "events=10001&every=1",
    "a negative time": "events=1&every=-1",
    "too long a time": "events=1&every=10001",
    "late without by": "events=2&every=1&late=1",
    "by without late": "events=2&every=1&by=1",
    "an event 0 that is late": "events=2&every=1&late=0&by=1",
    "an event that is late but not sent": "events=2&every=1&late=3&by=1",
    "late by too much": "events=2&every=1&late=1&by=10001",
    "an unknown parameter": "events=2&every=1&lat=1",
}


@pytest.mark.parametrize("query", BAD_QUERIES.values(), ids=BAD_QUERIES)
def test_refuses_a_bad_query(client: httpx.Client, query: str) -> None:
    assert client.get(f"/stream?{query}").status_code in (400, 422)


def test_the_description_has_the_parameters_and_bounds_of_the_plan() -> None:
    plan = Plan.model_json_schema()
    described = {one["name"]: one for one in DESCRIPTION["paths"]["/stream"]["get"]["parameters"]}
    assert set(plan["required"]) == {name for name, one in described.items() if one.get("required")}
    assert set(plan["properties"]) == set(described)
    for name, field in plan["properties"].items():
        schema = described[name]["schema"]
        if "$ref" in schema:
            schema = DESCRIPTION["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        field = next(iter(field.get("anyOf", [field])))
        assert schema == {key: field[key] for key in ("type", "minimum", "maximum") if key in field}
