"""Tests `pip install .`: the program alone, and together with the targets, in the same Python environment."""

import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
UV = os.environ.get("UV", "uv")
UV_CACHE = subprocess.run([UV, "cache", "dir"], check=True, capture_output=True, text=True).stdout.strip()


def run(*command: str | Path, cwd: Path = ROOT, cache: Path | None = None) -> str:
    # The developer's project and environment must have no influence.
    ours = ("LOADGEN_HOME", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    env = {name: value for name, value in os.environ.items() if name not in ours}
    # uv's own cache stays where it is, so that it downloads nothing again.
    env |= {"XDG_CACHE_HOME": str(cache), "UV_CACHE_DIR": UV_CACHE} if cache else {}
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
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for loadgen's cache."""
    return tmp_path_factory.mktemp("cache")


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


def test_the_program_is_installed_with_its_lab(bare: Path, cache: Path, tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert run(bare / "loadgen", "--version") == f"loadgen {project['version']}\n"
    listed = run(bare / "loadgen", "list", cwd=tmp_path, cache=cache)
    assert "redis3" in listed
    assert "fastapi-granian" in listed
    assert "web-servers" in listed
    assert "inserts" in listed
    assert "direct: ok" in run(bare / "loadgen", "check", "direct", cwd=tmp_path, cache=cache)


def test_containers_of_the_lab_need_a_checkout(bare: Path, cache: Path, tmp_path: Path) -> None:
    command = [str(bare / "loadgen"), "--scenario=insert_one", "--runtime=podman"]
    env = os.environ | {"XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4, done.stderr
    assert "LOADGEN_HOME" in done.stderr


def measured(loadgen: Path, cache: Path, folder: Path) -> dict[str, Any]:
    """Return the document of a short run in an empty folder, after which nothing but results are there."""
    short = ["--rounds=1", "--warmup=0s", "--duration=1s", "--users=5", "--no-calibrate", "--format=json"]
    document = json.loads(run(loadgen, "--scenario=redis3", "--target=sanic", *short, cwd=folder, cache=cache))
    (target,) = document["targets"]
    (step,) = target["steps"]
    assert step["requests"] > 0
    assert step["errors"] == 0
    assert document["environment"]["git_commit"] is None
    assert [path.name for path in folder.iterdir()] == ["runs"]
    assert isinstance(document, dict)
    return document


def test_the_program_alone_installs_the_locked_packages(bare: Path, cache: Path, tmp_path: Path) -> None:
    document = measured(bare / "loadgen", cache, tmp_path)
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    sanic = next(package["version"] for package in locked if package["name"] == "sanic")
    assert document["targets"][0]["server"]["packages"]["sanic"] == sanic
    assert not list((bare.parent / "lib").glob("python3.*/site-packages/sanic*"))


def test_targets_run_in_the_environment_of_the_program(whole: Path, cache: Path, tmp_path: Path) -> None:
    document = measured(whole / "loadgen", cache, tmp_path)
    installed = json.loads(run(UV, "pip", "list", "--python", whole / "python", "--format", "json"))
    sanic = next(package["version"] for package in installed if package["name"] == "sanic")
    assert document["targets"][0]["server"]["packages"]["sanic"] == sanic
    # Shared with the test of the program alone, which may have run before.
    (lab,) = (path for path in (cache / "loadgen").iterdir() if path.is_dir())
    assert (lab / "targets" / "sanic_app.py").exists()


SERVED = """
[target.files]
command = ["python", "-m", "http.server", "{port}"]
"""

TEST = """
import loadgen as package


def test_files(loadgen):
    result = loadgen.run("/", users=1, rounds=2, duration="500ms", warmup="0s", no_calibrate=True)
    assert result.rate > 0
    assert isinstance(package.read(result.folder), package.Run)
"""


def test_pytest_finds_the_plugin_and_the_plugin_its_program(whole: Path, tmp_path: Path) -> None:
    run(UV, "pip", "install", "--quiet", "--python", whole / "python", f"pytest=={pytest.__version__}")
    (tmp_path / "loadgen.toml").write_text(SERVED)
    (tmp_path / "test_files.py").write_text(TEST)
    # Without the programs of the environment on the PATH.
    env = os.environ | {"PATH": "/usr/bin:/bin"}
    words = [str(whole / "python"), "-m", "pytest"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert "= loadgen =" in done.stdout
    assert run(whole / "python", "-m", "loadgen", "--version", cwd=tmp_path) == run(whole / "loadgen", "--version")
