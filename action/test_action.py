"""Tests the steps of the GitHub Action as a runner runs them: in a repository whose server becomes slower by 10 %."""

import hashlib
import json
import os
import platform
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION = ROOT / "action"
LOADGEN = Path(os.environ.get("LOADGEN_BUILT", ROOT / "target" / "release" / "loadgen"))
SERVER = (ROOT / "loadgen" / "tests" / "trust" / "busy.py").read_text()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository whose server needs 10 % more CPU time in its last commit but one, and no more in the last."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "server.py").write_text(SERVER)
    (folder / "checkout.toml").write_text('[load]\nusers = 32\nduration = "1s"\n[[step]]\nget = "/"\n')
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for busy_ms in ("1.00", "1.10", "1.10"):
        command = [sys.executable, "server.py", "{host}", "{port}", busy_ms]
        (folder / "loadgen.toml").write_text(f'[target.shop]\ncommand = {json.dumps(command)}\nready = "/"\n')
        with (folder / "changes").open("a") as file:
            file.write("a line\n")
        git(folder, "add", "--all")
        git(folder, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", busy_ms)
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def step(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action with the variables that a runner sets, and no others of this process."""
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    path = f"{LOADGEN.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = kept | {"PATH": path, "GITHUB_ACTIONS": "true"} | variables
    command = [sys.executable, str(ACTION / script)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=280, check=False)


def gate(folder: Path, base: str, head: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    summary, output = folder.parent / "summary", folder.parent / "output"
    done = step(
        "gate.py",
        folder,
        GATE_TARGET="shop",
        GATE_SCENARIO="checkout.toml",
        GATE_BASE=base,
        GATE_HEAD=head,
        GATE_ROUNDS="5",
        GATE_NOISE_FLOOR="false",
        GATE_ARGUMENTS="--anyway --warmup 300ms",
        GITHUB_STEP_SUMMARY=str(summary),
        GITHUB_OUTPUT=str(output),
        **variables,
    )
    return done, folder / "loadgen-result"


def test_a_change_that_needs_10_percent_more_cpu_time_fails_the_job(repository: Path) -> None:
    done, result = gate(repository, "HEAD~2", "HEAD~1")
    assert done.returncode == 3, done.stdout + done.stderr
    summary = (repository.parent / "summary").read_text()
    assert summary.startswith("### loadgen: `shop` in `checkout.toml`: ❌ slower"), summary
    assert "regression: shop@" in summary
    assert (repository.parent / "output").read_text() == "judgement=slower\n"
    assert (result / "duet" / "report.html").is_file()
    assert 'failures="1"' in (result / "junit.xml").read_text()


def test_a_change_of_something_else_passes(repository: Path) -> None:
    done, result = gate(repository, "HEAD~1", "HEAD", GATE_LIMIT="5%")
    assert done.returncode == 0, done.stdout + done.stderr
    judged = json.loads((result / "duet" / "run.json").read_text())["gate"]["judged"]
    assert [one["judgement"] for one in judged] != ["slower"]


def test_servers_that_wait_for_something_else_than_the_cpu_are_measured_in_interleaved_rounds(
    repository: Path,
) -> None:
    server = repository / "server.py"
    for pause_s in ("0.05", "0.1"):
        text = SERVER.replace("            self.transport.write(ANSWER)", "            loop.call_later(PAUSE, write)")
        text = text.replace(
            "        for _ in",
            "        loop, write = asyncio.get_running_loop(), lambda: self.transport.write(ANSWER)\n        for _ in",
        )
        assert text.count("call_later") == 1
        server.write_text(text.replace("ANSWER = b", f"PAUSE = {pause_s}\nANSWER = b"))
        git(
            repository, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--all", "-m", pause_s
        )
    (repository / "checkout.toml").write_text('[load]\nusers = 4\nduration = "1s"\n[[step]]\nget = "/"\n')
    done, result = gate(repository, "HEAD~1", "HEAD")
    assert done.returncode == 3, done.stdout + done.stderr
    assert (result / "duet" / "run.json").is_file()
    judged = json.loads((result / "interleaved" / "run.json").read_text())["gate"]["judged"]
    assert [(one["of"], one["judgement"]) for one in judged] == [("rate", "slower")]


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ("0" * 40, "first push of a branch"),
        ("no-such-ref", "git knows no commit no-such-ref"),
        ("", "GATE_BASE is not"),
    ],
)
def test_without_a_commit_to_compare_with_nothing_is_measured(repository: Path, base: str, why: str) -> None:
    done, result = gate(repository, base, "HEAD")
    assert (done.returncode, result.exists()) == (2, False), done.stdout
    assert why in done.stderr


def test_a_missing_program_is_named(repository: Path) -> None:
    done, _ = gate(repository, "HEAD~1", "HEAD", PATH="/usr/bin:/bin")
    assert (done.returncode, done.stderr) == (2, "loadgen: there is no program loadgen\n")


@contextmanager
def forge(may_write: bool = True) -> Iterator[tuple[str, dict[int, str], list[str]]]:
    """Serve the comments of a pull request. The first page is full of other people's comments."""
    comments = {number: "a comment" for number in range(1, 101)}
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
            page = int(self.path.rsplit("=", 1)[1])
            of_page = sorted(comments.items())[100 * (page - 1) : 100 * page]
            self.answer(200, [{"id": number, "body": text} for number, text in of_page])

        def change(self) -> None:
            requests.append(f"{self.command} {self.path}")
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            if not may_write:
                return self.answer(403, {})
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
        "GATE_TARGET": "shop",
    }


def of_gitlab(url: str) -> dict[str, str]:
    return {
        "CI_API_V4_URL": url,
        "CI_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": "7",
        "GITLAB_TOKEN": "secret",
        "GATE_TARGET": "shop",
    }


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
def test_one_comment_is_written_and_updated_in_place(tmp_path: Path, variables: Any, changes: list[str]) -> None:
    (tmp_path / "loadgen-result").mkdir()
    summary = tmp_path / "loadgen-result" / "summary.md"
    with forge() as (url, comments, requests):
        for text in ("slower", "not slower"):
            summary.write_text(text)
            done = step("comment.py", tmp_path, **variables(url))
            assert done.returncode == 0, done.stderr
            assert comments[101] == f"<!-- loadgen shop -->\n{text}"
        assert len(comments) == 101
        assert [one for one in requests if not one.startswith("GET")] == changes


def test_a_job_that_may_not_write_comments_does_not_fail(tmp_path: Path) -> None:
    (tmp_path / "loadgen-result").mkdir()
    (tmp_path / "loadgen-result" / "summary.md").write_text("slower")
    with forge(may_write=False) as (url, comments, _):
        done = step("comment.py", tmp_path, **of_github(url))
    assert (done.returncode, len(comments)) == (0, 100)
    assert "the token may not write one (403" in done.stdout
    assert "no pull or merge request" in step("comment.py", tmp_path).stdout


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_released_binary_is_installed_if_its_checksum_fits(tmp_path: Path, is_whole: bool) -> None:
    name = f"loadgen-0.1.0-{platform.machine()}-unknown-linux-musl"
    release = tmp_path / "v0.1.0"
    (release / name).mkdir(parents=True)
    program = release / name / "loadgen"
    program.write_text("#!/bin/sh\necho loadgen 0.1.0\n")
    program.chmod(0o755)
    with tarfile.open(release / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(release / name, arcname=name)
    content = (release / f"{name}.tar.gz").read_bytes()
    digest = hashlib.sha256(content if is_whole else b"another file").hexdigest()
    (release / "SHA256SUMS").write_text(f"{digest}  {name}.tar.gz\n")
    path = tmp_path / "path"
    done = subprocess.run(
        [ACTION / "install.sh"],
        env={
            "PATH": "/usr/bin:/bin",
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_PATH": str(path),
            "LOADGEN_VERSION": "v0.1.0",
            "LOADGEN_RELEASES": tmp_path.as_uri(),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == is_whole, done.stderr
    assert path.exists() == is_whole
    if is_whole:
        assert done.stdout.endswith("loadgen 0.1.0\n")
        assert (Path(path.read_text().strip()) / "loadgen").is_file()


def test_the_steps_of_the_action_are_those_tested() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = action["runs"]["steps"]
    scripts = [one["run"] for one in steps if "run" in one]
    assert [script.rsplit("/", 1)[1].rstrip('"') for script in scripts] == ["install.sh", "gate.py", "comment.py"]
    named = set(action["inputs"])
    used = {word.split("}}")[0].strip() for word in (ROOT / "action.yml").read_text().split("${{ inputs.")[1:]}
    assert used | {"comment"} == named
