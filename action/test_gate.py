"""Tests the gate of the GitHub Action with real runs: in a repository whose server becomes slower by 10 %."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from action.steps import ACTION, ROOT, step

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
    done, result = gate(repository, "HEAD~2", "HEAD~1", GATE_PRECISION="5%", GATE_PROFILE="8")
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
