"""Tests how the GitHub Action writes its comment and installs loadgen."""

import hashlib
import json
import platform
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from action.steps import ACTION, ROOT, step

MARKER = "<!-- loadgen shop-checkout -->"


@contextmanager
def forge(status: int = 201, user: int | None = None) -> Iterator[tuple[str, dict[int, str], list[str]]]:
    """Serve the comments of a pull request. The first page is full of other people's comments, of which one has the
    marker. The token is that of a user or, without a number, that of an app. Changes are answered with a status."""
    comments = {number: "a comment" for number in range(1, 100)} | {100: f"{MARKER}\nnot mine"}
    requests: list[str] = []

    class Comments(BaseHTTPRequestHandler):
        def answer(self, status: int, document: Any) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            requests.append(f"GET {self.path}")
            if self.path.endswith("/user"):
                return self.answer(403 if user is None else 200, {"id": user})
            page = int(self.path.rsplit("=", 1)[1])
            of_page = sorted(comments.items())[100 * (page - 1) : 100 * page]
            mine = {"id": user or 1, "type": "User" if user else "Bot"}
            author = "author" if "merge_requests" in self.path else "user"
            others = {"id": 66, "type": "User"}
            documents = [
                {"id": number, "body": text, author: mine if number > 100 else others} for number, text in of_page
            ]
            return self.answer(200, documents)

        def change(self) -> None:
            requests.append(f"{self.command} {self.path}")
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            if status != 201:
                return self.answer(status, {})
            number = len(comments) + 1 if self.command == "POST" else int(self.path.rsplit("/", 1)[1])
            comments[number] = body
            return self.answer(201, {"id": number})

        do_POST = do_PATCH = do_PUT = change

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Comments)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", comments, requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def of_github(url: str) -> dict[str, str]:
    return {
        "GITHUB_API_URL": url,
        "GITHUB_REPOSITORY": "me/shop",
        "GITHUB_TOKEN": "secret",
        "GATE_PULL_REQUEST": "7",
        "GATE_REPORT": "loadgen-result/shop-checkout",
    }


def of_gitlab(url: str) -> dict[str, str]:
    return {
        "CI_API_V4_URL": url,
        "CI_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": "7",
        "GITLAB_TOKEN": "secret",
        "GATE_REPORT": "loadgen-result/shop-checkout",
    }


def summary_of(folder: Path, text: str) -> None:
    (folder / "loadgen-result" / "shop-checkout").mkdir(parents=True, exist_ok=True)
    (folder / "loadgen-result" / "shop-checkout" / "summary.md").write_text(text)


@pytest.mark.parametrize(
    ("variables", "changes"),
    [
        (of_github, ["POST /repos/me/shop/issues/7/comments", "PATCH /repos/me/shop/issues/comments/101"]),
        (
            of_gitlab,
            ["POST /projects/5/merge_requests/7/notes", "PUT /projects/5/merge_requests/7/notes/101"],
        ),
    ],
)
@pytest.mark.parametrize("user", [None, 5])
def test_one_comment_is_written_and_updated_in_place(
    tmp_path: Path, variables: Any, changes: list[str], user: int | None
) -> None:
    with forge(user=user) as (url, comments, requests):
        for text in ("slower", "not slower"):
            summary_of(tmp_path, text)
            done = step("comment.py", tmp_path, **variables(url))
            assert done.returncode == 0, done.stderr
            assert comments[101] == f"{MARKER}\n{text}", done.stdout
        assert len(comments) == 101
        assert [one for one in requests if not one.startswith("GET")] == changes


@pytest.mark.parametrize(
    ("status", "why"), [(403, "the token may not write one (HTTP Error 403"), (502, "HTTP Error 502")]
)
def test_a_gate_does_not_fail_for_want_of_a_comment(tmp_path: Path, status: int, why: str) -> None:
    summary_of(tmp_path, "slower")
    with forge(status) as (url, comments, _):
        done = step("comment.py", tmp_path, **of_github(url))
    assert (done.returncode, len(comments)) == (0, 100)
    assert done.stdout.startswith("::warning title=loadgen::no comment: ")
    assert why in done.stdout
    gone = step("comment.py", tmp_path, **of_github(url))
    assert (gone.returncode, "refused" in gone.stdout) == (0, True), gone.stdout
    of_no_request = step("comment.py", tmp_path, GATE_REPORT="loadgen-result/shop-checkout")
    assert "no pull or merge request" in of_no_request.stdout


def test_a_long_result_is_cut(tmp_path: Path) -> None:
    summary_of(tmp_path, "x" * 70_000)
    with forge() as (url, comments, _):
        step("comment.py", tmp_path, **of_github(url))
    assert 60_000 < len(comments[101]) < 65_536
    assert comments[101].endswith("The rest is in the report.")


def installed(folder: Path, version: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the first step of the action. `gh` and another loadgen are those of a folder of the test."""
    env = {"PATH": f"{folder / 'path'}:/usr/bin:/bin", "RUNNER_TEMP": str(folder), "GITHUB_PATH": str(folder / "added")}
    return subprocess.run(
        [ACTION / "install.sh"],
        env=env | {"LOADGEN_VERSION": version} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    """Make a release, and return its SHA256SUMS."""
    system = {"Linux": "unknown-linux-musl", "Darwin": "apple-darwin"}[platform.system()]
    name = f"loadgen-0.1.0-{platform.machine().replace('arm64', 'aarch64')}-{system}"
    release = tmp_path / "v0.1.0"
    program(release / name / "loadgen", "echo loadgen 0.1.0")
    with tarfile.open(release / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(release / name, arcname=name)
    digest = hashlib.sha256((release / f"{name}.tar.gz").read_bytes()).hexdigest()
    (release / "SHA256SUMS").write_text(f"{digest}  {name}.tar.gz\n")
    return release / "SHA256SUMS"


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_released_binary_is_installed_if_its_checksum_fits(tmp_path: Path, releases: Path, is_whole: bool) -> None:
    if not is_whole:
        releases.write_text("0" * 64 + releases.read_text()[64:])
    # Another version is no reason not to install this one.
    program(tmp_path / "path" / "loadgen", "echo loadgen 0.0.9")
    done = installed(tmp_path, "v0.1.0", LOADGEN_RELEASES=tmp_path.as_uri())
    assert (done.returncode == 0) == is_whole, done.stderr
    assert (tmp_path / "added").exists() == is_whole
    if is_whole:
        assert done.stdout.endswith("loadgen 0.1.0\n")
        assert (Path((tmp_path / "added").read_text().strip()) / "loadgen").is_file()


def test_the_provenance_of_a_binary_is_verified(tmp_path: Path, releases: Path) -> None:
    program(tmp_path / "path" / "gh", f'echo "$@" >{tmp_path}/asked; exit 1')
    variables = {"LOADGEN_RELEASES": tmp_path.as_uri(), "LOADGEN_REPOSITORY": "me/loadgen", "GH_TOKEN": "secret"}
    done = installed(tmp_path, "v0.1.0", **variables)
    assert (done.returncode, (tmp_path / "added").exists()) == (1, False)
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("attestation verify loadgen-0.1.0-")
    assert asked.endswith(" --repo me/loadgen\n")


def test_a_release_needs_a_repository(tmp_path: Path) -> None:
    done = installed(tmp_path, "v0.1.0", GITHUB_ACTION_REPOSITORY="")
    assert done.returncode == 1
    assert "LOADGEN_REPOSITORY" in done.stderr


def test_a_binary_that_is_there_is_used(tmp_path: Path) -> None:
    program(tmp_path / "path" / "loadgen", "echo loadgen 0.1.0")
    for version in ("v0.1.0", "source"):
        done = installed(tmp_path, version)
        assert (done.returncode, done.stdout) == (0, "loadgen 0.1.0\n"), done.stderr


def test_the_steps_of_the_action_are_those_tested() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = action["runs"]["steps"]
    scripts = [one["run"] for one in steps if "run" in one]
    assert [script.rsplit("/", 1)[1].rstrip('"') for script in scripts] == ["install.sh", "gate.py", "comment.py"]
    named = set(action["inputs"])
    used = {word.split("}}")[0].strip() for word in (ROOT / "action.yml").read_text().split("${{ inputs.")[1:]}
    assert used | {"comment"} == named
