"""Tests how the GitHub Action publishes results."""

import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from action.steps import ACTION, LOADGEN, step


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Make three real results."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    folders = [tmp_path_factory.mktemp("result") / name for name in ("first", "second", "third")]
    for folder in folders:
        url = f"http://127.0.0.1:{server.server_port}"
        short = ["--users", "1", "--duration", "300ms", "--warmup", "0s", "--no-calibrate", "--anyway"]
        command = [str(LOADGEN), "run", url, *short, "--out", str(folder), "--no-progress"]
        subprocess.run(command, check=True, capture_output=True)
    yield folders
    server.shutdown()
    thread.join()
    server.server_close()


def git(folder: Path, *words: str) -> str:
    name = ["-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a repository with one commit, whose origin is another one."""
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    git(tmp_path, "clone", "--quiet", "origin", "project")
    folder = tmp_path / "project"
    git(folder, "remote", "set-url", "origin", "../origin")
    (folder / "code.py").write_text("print(1)\n")
    git(folder, "add", "code.py")
    git(folder, "commit", "--quiet", "--message", "code")
    git(folder, "push", "--quiet", "origin", "HEAD:main")
    return folder


def publish(project: Path, results: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    of_action = {"PUBLISH_RESULTS": str(results), "PUBLISH_BRANCH": "gh-pages"}
    return step("publish.py", project, **of_action | variables)


def published(project: Path, path: str) -> str:
    return git(project.parent / "origin", "show", f"gh-pages:{path}")


def test_each_night_adds_its_result_to_the_site(project: Path, results: list[Path]) -> None:
    before = git(project, "status", "--branch", "--porcelain"), git(project, "branch")
    named = {"PUBLISH_URL": "https://me.github.io/shop", "PUBLISH_ARGUMENTS": "--title 'Our shop'"}
    for number, result in enumerate(results[:2], start=1):
        done = publish(project, result, **named)
        assert done.returncode == 0, done.stderr
        assert git(project.parent / "origin", "rev-list", "--count", "gh-pages").strip() == str(number)
    assert published(project, "results.json").count('"started"') == 2
    assert "Our shop" in published(project, "index.html")
    assert "https://me.github.io/shop" in published(project, "feed.xml")
    files = git(project.parent / "origin", "ls-tree", "--name-only", "gh-pages").split()
    assert ".nojekyll" in files
    assert "code.py" not in files
    again = publish(project, results[1], **named)
    assert (again.returncode, "already" in again.stdout) == (0, True), again.stderr
    assert git(project.parent / "origin", "rev-list", "--count", "gh-pages").strip() == "2"
    assert (git(project, "status", "--branch", "--porcelain"), git(project, "branch")) == before
    assert git(project, "worktree", "list").count("\n") == 1


def test_two_jobs_may_publish_at_the_same_time(project: Path, results: list[Path], tmp_path: Path) -> None:
    assert publish(project, results[0]).returncode == 0
    # While this job makes its pages, another one publishes.
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", "origin", "other", "--branch", "gh-pages")
    loadgen = tmp_path / "bin" / "loadgen"
    loadgen.parent.mkdir()
    once = f"if mkdir {tmp_path}/once 2>/dev/null; then cd {other} && {LOADGEN} site {results[1]} --out . --keep && "
    once += "git add --all && git -c user.name=me -c user.email=me commit -qm other && git push -q; cd -; fi"
    loadgen.write_text(f'#!/bin/sh\n{once} >/dev/null\nexec {LOADGEN} "$@"\n')
    loadgen.chmod(0o755)
    done = publish(project, results[2], PATH=f"{loadgen.parent}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    assert "Another job has published meanwhile" in done.stderr
    assert published(project, "results.json").count('"started"') == 3
    assert git(project.parent / "origin", "rev-list", "--count", "gh-pages").strip() == "3"


def test_what_cannot_be_published_fails_with_the_reason(project: Path, results: list[Path], tmp_path: Path) -> None:
    absent = publish(project, tmp_path / "absent")
    assert absent.returncode != 0
    assert "absent" in absent.stderr
    for variables, why in [
        ({"PUBLISH_BRANCH": "a branch"}, "the input branch is no name of a branch: a branch"),
        ({"PUBLISH_ARGUMENTS": "--title 'open"}, "the input arguments cannot be read: No closing quotation"),
    ]:
        done = publish(project, results[0], **variables)
        assert (done.returncode, f"::error title=loadgen::{why}" in done.stdout) == (1, True), done.stdout
    hook = tmp_path / "origin" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho no pages today\nexit 1\n")
    hook.chmod(0o755)
    done = publish(project, results[0])
    assert done.returncode == 1
    assert "no pages today" in done.stdout
    assert "meanwhile" not in done.stderr
    hook.unlink()
    git(project, "remote", "set-url", "origin", str(tmp_path / "gone"))
    done = publish(project, results[0])
    assert done.returncode == 1
    assert "::error title=loadgen::cannot ask origin for its branch gh-pages" in done.stdout
    assert git(project, "worktree", "list").count("\n") == 1


def test_the_steps_of_the_actions_are_those_tested() -> None:
    for name, script in (("install", "install.sh"), ("publish", "publish.py")):
        text = (ACTION / name / "action.yml").read_text()
        action = yaml.safe_load(text)
        assert [one["run"].rsplit("/", 1)[1].rstrip('"') for one in action["runs"]["steps"]] == [script]
        used = {word.split("}}")[0].strip() for word in text.split("${{ inputs.")[1:]}
        assert used == set(action["inputs"])
