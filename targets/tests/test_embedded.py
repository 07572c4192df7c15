"""Tests that the program contains every file of the lab: `loadgen/lab/` has a link to each."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINKS = ROOT / "loadgen" / "lab"


def test_every_file_of_the_lab_is_linked() -> None:
    for part in ["targets", "scenarios", "experiments"]:
        files = {path.name for path in (ROOT / part).iterdir() if path.is_file()}
        links = {path.name for path in (LINKS / part).iterdir() if path.is_file()}
        assert links == files, f"ln -s ../../../{part}/NAME loadgen/lab/{part}/"


def test_every_input_of_a_build_is_linked() -> None:
    manifest = tomllib.loads((ROOT / "targets" / "targets.toml").read_text())
    builds = [target["build"] for target in manifest.values() if "build" in target]
    assert builds
    for build in builds:
        for name in build["inputs"]:
            path = ROOT / build["folder"] / name
            for file in [path] if path.is_file() else [path for path in path.rglob("*") if path.is_file()]:
                assert (LINKS / file.relative_to(ROOT)).resolve() == file


def test_there_are_only_links_to_the_same_path_in_the_repository() -> None:
    files = [path for path in LINKS.rglob("*") if path.is_symlink() or not path.is_dir()]
    assert files
    for file in files:
        assert file.is_symlink(), f"{file} would get into the program: remove the file"
        assert file.is_file()
        assert file.resolve() == ROOT / file.relative_to(LINKS)
