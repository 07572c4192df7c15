"""Tests the functions that run loadgen, with the real program."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loadgen._functions import arguments, new_folder

import loadgen
from loadgen import LoadgenError

SHORT = {"users": 2, "rounds": 2, "duration": "300ms", "warmup": "0s", "no_calibrate": True}


def test_options_become_words() -> None:
    assert arguments({"server_workers": 4, "no_calibrate": True, "aa": False, "seed": None}) == [
        "--server-workers=4",
        "--no-calibrate",
    ]
    assert arguments({"users": [10, 20], "header": ["a: b", "c: d"], "probe": 5, "out": Path("x")}) == [
        "--users=10,20",
        "--header=a: b",
        "--header=c: d",
        "--probe=5",
        "--out=x",
    ]


def test_a_run_is_saved_and_shows_its_progress(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = loadgen.run(url, **SHORT)
    assert run.rate > 0
    assert run.folder.parent == tmp_path / "runs"
    assert "[2/2]" in capsys.readouterr().err
    loadgen.run(url, **SHORT, quiet=True)
    assert capsys.readouterr().err == ""
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_one_round_has_no_interval(url: str, tmp_path: Path) -> None:
    run = loadgen.run(url, **{**SHORT, "rounds": 1}, out=tmp_path / "run", quiet=True)
    with pytest.raises(loadgen.Undecided, match="at least two whole rounds"):
        _ = run.p50 < 1
    assert 0 < float(run.p50) < 1
    assert float(run.rate) > 0
    assert float(run.error_rate) == 0


def test_a_failed_threshold_is_in_the_result(url: str, tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text('[[step]]\nget = "/"\n[thresholds]\nrate = "> 1000000"\n')
    run = loadgen.run(url=url, scenario=tmp_path / "slow.toml", out=tmp_path / "run", quiet=True, **SHORT)
    (failure,) = run.failures
    assert re.fullmatch(r".*: rate > 1000000 failed \(measured: \d+.*\)", failure)


def test_errors_are_those_of_loadgen(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for request, options, exit_code, message in [
        (url, {"usres": 1}, 2, "unexpected argument '--usres'"),
        (f"{url}/nothing", SHORT, 4, "got       404"),
        ("http://127.0.0.1:1/", SHORT, 4, "Connection refused"),
    ]:
        with pytest.raises(LoadgenError, match=message) as error:
            loadgen.run(request, **options, quiet=True)
        assert error.value.exit_code == exit_code
        assert "rounds over" not in str(error.value)
    # A command that measured nothing leaves at most its logs.
    assert not list(tmp_path.glob("runs/*/*.json"))


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(LoadgenError, match=r"cannot create a folder for the result in .*runs"):
        new_folder(tmp_path / "runs", "x")


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LoadgenError, match="there is no program loadgen"):
        loadgen.run("http://127.0.0.1:1/")


def test_saved_runs_are_compared(url: str, tmp_path: Path) -> None:
    runs = [loadgen.run(f"shop={url}", out=tmp_path / name, quiet=True, **SHORT) for name in ("before", "after")]
    compared = loadgen.compare(*runs, fail_on_regression="5%")
    assert [run.name for run in compared.record.runs] == ["before", "after"]
    assert compared.record.gate is not None
    assert "shop" in str(compared)
    with pytest.raises(LoadgenError, match="contains none"):
        loadgen.compare(runs[0], tmp_path)


def test_a_capacity_is_searched(url: str, tmp_path: Path) -> None:
    found = loadgen.capacity(url, rounds=1, duration="200ms", warmup="0s", out=tmp_path / "c", quiet=True)
    assert found.record.targets[0].name
    assert isinstance(loadgen.read(tmp_path / "c"), loadgen.Capacity)


def test_ctrl_c_ends_the_run_and_saves_it(url: str, tmp_path: Path) -> None:
    code = f"import loadgen; loadgen.run({url!r}, rounds=50, duration='1s', warmup='0s', users=2, out='run')"
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[1/50]"):
                break
        os.kill(process.pid, signal.SIGINT)
        began = time.monotonic()
        rest = process.stderr.read()
        assert process.wait(30) != 0
    assert time.monotonic() - began < 30
    assert "KeyboardInterrupt" in rest
    saved = loadgen.read(tmp_path / "run")
    assert isinstance(saved, loadgen.Run)
    assert saved.record.interrupted


def test_the_module_runs_the_program() -> None:
    told = subprocess.run([sys.executable, "-m", "loadgen", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("loadgen ")
