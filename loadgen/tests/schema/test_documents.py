"""Tests the JSON Schemas of result documents: an independent validator finds no fault in real documents."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[3]
# The Makefile sets the folder in which Cargo builds.
LOADGEN = Path(os.environ.get("LOADGEN_BUILT", ROOT / "target" / "release" / "loadgen"))
pytestmark = pytest.mark.skipif(not LOADGEN.is_file(), reason="loadgen is not built: make build")

CLOSED = """
load = { users = 4, iterations = 40 }
[[step]]
name = "a"
get = "/"
group = "pages"
[[step]]
name = "b"
get = "/b"
verify = false
expect = { body = "another" }
[thresholds]
error_rate = "< 1%"
"""

OPEN = """
load = { model = "open", users = 50, stages = [{ rate = 50, over = "500ms" }, { rate = 100, over = "500ms" }] }
[[step]]
get = "/"
"""

EXPERIMENT = """
title = "Few users or many"
source = { title = "A page", year = 2022 }
[[group]]
name = "users"
scenario = "open.toml"
rounds = 2
[[group.arm]]
name = "few"
[[group.arm]]
name = "many"
load = { model = "closed", users = 4, iterations = 40 }
[[group]]
name = "most"
scenario = "open.toml"
rounds = 1
capacity = { users = 50, duration = "200ms", precision = "50%" }
[[group.arm]]
name = "any"
[[published]]
metric = "mean"
figures = { few = "1ms", many = "20ms" }
[[claim]]
says = "no request fails"
metric = "error_rate"
arm = "many"
is = "< 1%"
"""


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for name, text in {"closed": CLOSED, "open": OPEN, "experiment": EXPERIMENT}.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


def loadgen(folder: Path, *arguments: str) -> Any:
    command = [str(LOADGEN), *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert ran.stdout, ran.stderr
    return json.loads(ran.stdout)


def closed(schema: Any) -> Any:
    """Return the schema without fields that it does not name."""
    if isinstance(schema, list):
        return [closed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: closed(inner) for key, inner in schema.items()}
    # The alternatives of an object name fields of their own.
    if "properties" in schema and "required" in schema and "anyOf" not in schema:
        changed.setdefault("additionalProperties", False)
    return changed


def check(folder: Path, name: str, document: Any) -> None:
    schema = loadgen(folder, "schema", "--document", name)
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == document["schema"]
    errors = Draft202012Validator(closed(schema)).iter_errors(document)
    assert [f"{error.json_path}: {error.message}" for error in errors] == []
    del document["targets" if "targets" in document else "groups"]
    assert not Draft202012Validator(schema).is_valid(document)


RUNS = {
    "one server": ["-s", "closed.toml"],
    "two contenders": ["-s", "closed.toml", "--aa", "--rounds=2", "--workers=2"],
    "a probe": ["-s", "closed.toml", "--duration=500ms", "--probe=20", "--rounds=2"],
    "slices": ["-s", "closed.toml", "--duration=500ms", "--aa", "--slices=2", "--rounds=2"],
    "stages": ["-s", "open.toml"],
}


@pytest.mark.parametrize("arguments", RUNS.values(), ids=RUNS.keys())
def test_runs_are_valid(arguments: list[str], url: str, folder: Path) -> None:
    check(folder, "run", loadgen(folder, *arguments, "--url", url, "--warmup=0s", "--format=json"))


def test_a_search_is_valid(url: str, folder: Path) -> None:
    arguments = ["-s", "open.toml", "--duration=300ms", "--warmup=0s", "--precision=50", "--rounds=2"]
    check(folder, "capacity", loadgen(folder, "capacity", *arguments, "--url", url, "--format=json"))


def test_an_experiment_is_valid(url: str, folder: Path) -> None:
    arguments = ["experiment.toml", "--url", url, "--warmup=0s", "--no-calibrate", "--format=json"]
    check(folder, "experiment", loadgen(folder, "experiment", *arguments))


def test_a_comparison_is_valid(url: str, folder: Path) -> None:
    for run in ["before", "after"]:
        loadgen(folder, "-s", "closed.toml", "--url", url, "--rounds=5", "--warmup=0s", "--format=json", "--out", run)
    check(folder, "compare", loadgen(folder, "compare", "before", "after", "--format=json"))
