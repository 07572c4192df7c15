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
        commit(folder, busy_ms)
    return folder


AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@localhost")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def commit(folder: Path, message: str, *words: str) -> None:
    git(folder, "add", "--all")
    git(folder, *AUTHOR, "commit", "--quiet", "--message", message, *words)


def step(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action with the variables that a runner sets, and no others of this process."""
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    path = f"{LOADGEN.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = kept | {"PATH": path, "GITHUB_ACTIONS": "true"} | variables
    command = [sys.executable, str(ACTION / script)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=280, check=False)


def gate(folder: Path, base: str, head: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    summary, output = folder.parent / "summary", folder.parent / "output"
    settings = {
        "GATE_TARGET": "shop",
        "GATE_SCENARIO": "checkout.toml",
        "GATE_BASE": base,
        "GATE_HEAD": head,
        "GATE_ROUNDS": "5",
        "GATE_NOISE_FLOOR": "false",
        "GATE_PROFILE": "0",
        "GATE_ARGUMENTS": "--anyway --warmup 300ms",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(output),
    }
    done = step("gate.py", folder, **(settings | variables))
    return done, folder / "loadgen-result" / "shop-checkout"


def test_a_change_that_needs_10_percent_more_cpu_time_fails_the_job(repository: Path) -> None:
    done, result = gate(repository, "HEAD~2", "HEAD~1", GATE_PRECISION="5%", GATE_PROFILE="3")
    assert done.returncode == 3, done.stdout + done.stderr
    assert json.loads((result / "duet" / "run.json").read_text())["precision"]["percent"] == 5
    summary = (repository.parent / "summary").read_text()
    assert summary.startswith("### loadgen: `shop` in `checkout.toml`: ❌ slower"), summary
    assert "regression: shop@" in summary
    assert " in Busy.data\\_received (server.py)" in summary, summary
    output = (repository.parent / "output").read_text()
    assert output == "name=shop-checkout\nreport=loadgen-result/shop-checkout\njudgement=slower\n"
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
    for pause_s in ("0.02", "0.2"):
        text = SERVER.replace("            self.transport.write(ANSWER)", "            loop.call_later(PAUSE, write)")
        text = text.replace(
            "        for _ in",
            "        loop, write = asyncio.get_running_loop(), lambda: self.transport.write(ANSWER)\n        for _ in",
        )
        assert text.count("call_later") == 1
        server.write_text(text.replace("ANSWER = b", f"PAUSE = {pause_s}\nANSWER = b"))
        commit(repository, pause_s)
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
    assert done.returncode == 2, done.stdout
    assert why in done.stderr
    assert [path.name for path in result.iterdir()] == ["summary.md"]
    assert "⚠️ nothing was measured" in (result / "summary.md").read_text()


def test_the_code_of_a_fork_gets_no_rights(repository: Path) -> None:
    done, _ = gate(repository, "HEAD~1", "HEAD", GITHUB_EVENT_NAME="pull_request_target")
    assert done.returncode == 2
    assert "use pull_request" in done.stderr


# Yields the variables with which each process above was started, as all programs of a user can read them.
ABOVE = """
def above():
    pid = os.getpid()
    while pid > 1 and os.path.exists("/proc"):
        try:
            yield open(f"/proc/{pid}/environ", errors="replace").read()
        except PermissionError:
            pass
        pid = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
"""


def test_the_server_gets_neither_tokens_nor_the_files_of_the_runner(repository: Path) -> None:
    seen = repository.parent / "seen.json"
    tell = f"open({str(seen)!r}, 'w').write(json.dumps([dict(os.environ), list(above())]))"
    text = SERVER.replace("HOST, PORT", f"{ABOVE}\n{tell}\nHOST, PORT", 1)
    (repository / "server.py").write_text(text.replace("import json", "import json\nimport os"))
    commit(repository, "tells its environment")
    secrets = {"GITHUB_TOKEN": "token-1234", "ACTIONS_RUNTIME_TOKEN": "token-5678", "GITHUB_ENV": "/tmp/env-9"}
    done, _ = gate(repository, "HEAD~1", "HEAD", **secrets, SHOP_DATABASE="kept")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    env, above = json.loads(seen.read_text())
    if sys.platform == "linux":
        assert len(above) > 3
    assert not [secret for secret in secrets.values() for one in above if secret in one]
    assert not secrets.keys() & env.keys()
    assert not [name for name in env if name.startswith("GATE_")]
    assert env["SHOP_DATABASE"] == "kept"


def test_a_pull_request_is_compared_with_the_branch_into_which_it_is_merged(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "pull", "HEAD~1")
    commit(repository, "of the pull request", "--allow-empty")
    git(repository, "checkout", "--quiet", "main")
    git(repository, *AUTHOR, "merge", "--quiet", "--no-edit", "pull")
    checkout = repository.parent / "checkout"
    git(repository, "clone", "--quiet", "--depth", "1", repository.as_uri(), str(checkout))
    assert git(checkout, "rev-list", "--count", "HEAD") == "1"
    merge = git(repository, "rev-parse", "HEAD")
    env = {**os.environ, "PYTHONPATH": str(ACTION)}
    script = f"import gate; print(gate.commit('{merge}^1'))"
    done = subprocess.run([sys.executable, "-c", script], cwd=checkout, env=env, stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == git(repository, "rev-parse", "--short=10", "main^1")


def test_a_second_gate_does_not_tell_the_result_of_the_first(repository: Path) -> None:
    first, result = gate(repository, "HEAD~2", "HEAD~1")
    again, _ = gate(repository, "HEAD~1", "HEAD")
    assert (first.returncode, again.returncode) == (3, 2)
    assert "set `name`" in (result / "summary.md").read_text()
    other, _ = gate(repository, "HEAD~1", "HEAD", GATE_LIMIT="5%", GATE_NAME="other")
    assert other.returncode == 0, other.stdout + other.stderr
    assert "❌" not in (result.parent / "shop-checkout-other" / "summary.md").read_text()


def test_a_failed_run_is_no_success(repository: Path) -> None:
    done, result = gate(repository, "HEAD~1", "HEAD", GATE_ARGUMENTS="--no-such-option")
    assert done.returncode == 2, done.stdout
    assert "❌ the run failed (exit code 2)" in (result / "summary.md").read_text()


def test_a_missing_program_is_named(repository: Path) -> None:
    done, _ = gate(repository, "HEAD~1", "HEAD", PATH="/usr/bin:/bin")
    assert (done.returncode, done.stderr) == (2, "loadgen: there is no program loadgen\n")


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
