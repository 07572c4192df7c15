"""Tests uploads and static files against files.openapi.yaml."""

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import yaml
from jsonschema import Draft202012Validator

from targets.manifest import MANIFEST
from targets.settings import STATIC
from targets.tests.conftest import CONTRACT, Lab, available

DESCRIPTION = yaml.safe_load((Path(__file__).parents[1] / "files.openapi.yaml").read_text())
FILES = [name for name in CONTRACT if MANIFEST[name]["framework"] in {"FastAPI", "Django"}]
PAGE = (STATIC / "page.txt").read_bytes()


@pytest.fixture(scope="session", params=FILES)
def target(request: pytest.FixtureRequest) -> str:
    return available(str(request.param))


@pytest.mark.parametrize("size", [0, 1, 2**18, 2**23])
def test_counts_the_bytes_of_an_upload(client: httpx.Client, size: int) -> None:
    response = client.post("/upload", content=bytes(size), headers={"content-type": "application/octet-stream"})
    assert response.status_code == 200
    Draft202012Validator(DESCRIPTION["components"]["schemas"]["Uploaded"]).validate(response.json())
    assert response.json() == {"bytes": size}


def test_counts_the_bytes_of_an_upload_in_chunks(client: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield bytes(1_000)

    assert client.post("/upload", content=pieces()).json() == {"bytes": 100_000}


def test_sends_a_static_file_with_its_length(client: httpx.Client) -> None:
    for _ in range(3):
        response = client.get("/static/page.txt")
        assert (response.status_code, response.content) == (200, PAGE)
        assert response.headers["content-type"].partition(";")[0] == "text/plain"
        assert response.headers["content-length"] == str(len(PAGE)) == "16384"


@pytest.mark.parametrize("path", ["nothing.txt", "..%2Fsettings.py", "../settings.py", "%2e%2e/settings.py", "."])
def test_sends_no_other_file(lab: Lab, target: str, path: str) -> None:
    connection = HTTPConnection(urlsplit(lab.targets[target]).netloc)
    connection.request("GET", f"/static/{path}")  # httpx would remove the dots.
    assert connection.getresponse().status == 404
    connection.close()
