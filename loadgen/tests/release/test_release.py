"""Tests what is in `dist/`: archive, wheel and list of crates, and the main job where there is only Python."""

import json
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

from release.names import ROOT, stem, version

# Greatest size of a program, in MB: more than this is something large that was linked by accident.
GREATEST_SIZE = 24


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    words = list(map(str, command))
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_archive_has_completions_manual_pages_and_documents(unpacked: Path) -> None:
    files = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    assert {"loadgen", "README.md", "CHANGELOG.md", "LICENSE"} < files
    assert {"completions/loadgen.bash", "completions/_loadgen", "completions/loadgen.fish"} < files
    assert {"man/man1/loadgen.1", "man/man1/loadgen-capacity.1", "man/man1/loadgen-lab-up.1"} < files
    assert not any("guard" in name for name in files)
    program = unpacked / "loadgen"
    assert (unpacked / "completions" / "loadgen.bash").read_text() == run(program, "completions", "bash")


def test_the_program_is_small_and_has_the_version(unpacked: Path) -> None:
    program = unpacked / "loadgen"
    assert run(program, "--version") == f"loadgen {version()}\n"
    assert program.stat().st_size < GREATEST_SIZE * 1e6


def test_a_program_for_linux_is_static_and_stripped(unpacked: Path, target: str) -> None:
    if "linux" not in target:
        pytest.skip("another system's programs are never static")
    program = (unpacked / "loadgen").read_bytes()
    # A 64-bit ELF file in little-endian order.
    assert program[:6] == b"\x7fELF\x02\x01"
    start, size, number = (int.from_bytes(program[at : at + n], "little") for at, n in [(32, 8), (54, 2), (56, 2)])
    kinds = [int.from_bytes(program[start + i * size :][:4], "little") for i in range(number)]
    interpreter = 3
    assert 1 in kinds, "no segment is loaded: the header was misread"
    assert interpreter not in kinds, "a dynamic loader is needed"
    assert b".symtab" not in program[-65536:], "the names of functions are still there"


def test_the_wheel_has_the_program_of_the_archive(wheel: Path, unpacked: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (program,) = (name for name in archive.namelist() if name.endswith("/scripts/loadgen"))
        assert archive.read(program) == (unpacked / "loadgen").read_bytes()
        assert any(name.endswith("/licenses/LICENSE") for name in archive.namelist())


def test_the_list_of_crates_has_the_locked_versions(target: str) -> None:
    document = json.loads((ROOT / "dist" / f"{stem(target)}.cdx.json").read_text())
    assert document["bomFormat"] == "CycloneDX"
    assert document["metadata"]["component"]["name"] == "loadgen"
    listed = {(component["name"], component["version"]) for component in document["components"]}
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    locked = {(package["name"], package["version"]) for package in packages}
    assert listed <= locked
    assert {"loadgen-engine", "tokio", "zenoh", "goose", "rustls"} <= {name for name, _ in listed}
    # What only tests need is not in the program.
    assert not {"insta", "proptest", "criterion"} & {name for name, _ in listed}


@pytest.mark.parametrize("way", ["archive", "wheel"])
def test_the_main_job_runs_with_only_python(
    way: str,
    unpacked: Path,
    installed: Path,
    only_python: dict[str, str],
    tmp_path: Path,
) -> None:
    program = unpacked / "loadgen" if way == "archive" else installed
    short = ["--rounds=1", "--duration=1s", "--no-calibrate", "--format=json"]
    job = [program, "--scenario", "redis3", "--workers", "4"]
    document = json.loads(run(*job, *short, env=only_python, cwd=tmp_path))
    assert sorted(target["name"] for target in document["targets"]) == ["fastapi", "flask", "quart", "sanic"]
    for measured in document["targets"]:
        (step,) = measured["steps"]
        assert step["requests"] > 0
        assert step["errors"] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
