"""Tests `pip install .`: the program, and a lab that uses the Python environment of the program."""

import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
UV = os.environ.get("UV", "uv")
LINKS = ROOT / "package" / "data" / "share" / "loadgen"


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    # The developer's project and environment must have no influence.
    ours = ("LOADGEN_HOME", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    env = {name: value for name, value in os.environ.items() if name not in ours}
    words = list(map(str, command))
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=570, check=False)
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel in the folder of the release build, so that Cargo compiles only changed code."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "maturin", "build", "--quiet", "--out", folder)
    (wheel,) = folder.glob("loadgen-*.whl")
    return wheel


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of an environment with loadgen alone."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "pip", "install", "--quiet", "--no-index", wheel)
    return folder / "bin"


@pytest.fixture(scope="session")
def whole(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of an environment with the targets, in their locked versions."""
    folder = tmp_path_factory.mktemp("whole")
    venv.create(folder)
    locked = folder / "locked.txt"
    run(UV, "export", "--frozen", "--quiet", "--no-hashes", "--no-emit-project", "--output-file", locked)
    python = folder / "bin" / "python"
    run(
        UV,
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--constraints",
        locked,
        f"loadgen[targets] @ file://{wheel}",
    )
    return folder / "bin"


def test_every_file_of_the_lab_is_linked() -> None:
    for part in ["targets", "scenarios", "experiments"]:
        files = {path.name for path in (ROOT / part).iterdir() if path.is_file()}
        links = {path.name for path in (LINKS / part).iterdir() if path.is_file()}
        assert links == files, f"ln -s ../../../../../{part}/NAME package/data/share/loadgen/{part}/"
        assert all((LINKS / part / name).resolve() == ROOT / part / name for name in files)


def test_every_input_of_a_build_is_linked() -> None:
    manifest = tomllib.loads((ROOT / "targets" / "targets.toml").read_text())
    builds = [target["build"] for target in manifest.values() if "build" in target]
    assert builds
    for build in builds:
        for name in build["inputs"]:
            path = ROOT / build["folder"] / name
            for file in [path] if path.is_file() else [path for path in path.rglob("*") if path.is_file()]:
                assert (LINKS / file.relative_to(ROOT)).resolve() == file


def test_the_program_is_installed_with_its_lab(bare: Path, tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert run(bare / "loadgen", "--version") == f"loadgen {project['version']}\n"
    listed = run(bare / "loadgen", "list", cwd=tmp_path)
    assert "redis3" in listed
    assert "fastapi-granian" in listed
    assert "web-servers" in listed
    assert "inserts" in listed
    assert "direct: ok" in run(bare / "loadgen", "check", "direct", cwd=tmp_path)


def test_missing_parts_are_reported_at_once(bare: Path, tmp_path: Path) -> None:
    for options, mend in [([], "pip install '.[targets]'"), (["--runtime=podman"], "LOADGEN_HOME")]:
        command = [str(bare / "loadgen"), "--scenario=insert_one", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 4, done.stderr
        assert mend in done.stderr
        assert not (tmp_path / ".venv").exists()


def test_a_target_runs_in_the_environment_of_the_program(whole: Path, tmp_path: Path) -> None:
    short = ["--rounds=1", "--warmup=0s", "--duration=1s", "--users=5", "--no-calibrate", "--format=json"]
    document = json.loads(run(whole / "loadgen", "--scenario=redis3", "--target=sanic", *short, cwd=tmp_path))
    (target,) = document["targets"]
    (step,) = target["steps"]
    assert step["requests"] > 0
    assert step["errors"] == 0
    installed = json.loads(run(UV, "pip", "list", "--python", whole / "python", "--format", "json"))
    sanic = next(package["version"] for package in installed if package["name"] == "sanic")
    assert target["server"]["packages"]["sanic"] == sanic
    assert document["environment"]["git_commit"] is None
