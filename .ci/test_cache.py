"""Tests .ci/cache: an archive that is absent, foreign or damaged is not used, and nothing fails."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "cache"
OURS = ["release/.fingerprint/own-1/lib-own", "release/deps/libown-1.rlib", "release/build/own-1/output"]
OTHERS = ["release/.fingerprint/memchr-2/lib-memchr", "release/deps/libmemchr-2.rlib", "release/build/libc-3/output"]


class Clone:
    """A clone of a project with one crate, which has built."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.cache = cache
        (folder / ".ci").mkdir(parents=True)
        shutil.copy(SCRIPT, folder / ".ci" / "cache")
        (folder / "src").mkdir()
        (folder / "src" / "lib.rs").touch()
        (folder / "Cargo.toml").write_text('[package]\nname = "own"\nversion = "0.1.0"\nedition = "2024"\n')
        (folder / "Cargo.lock").write_text('version = 4\n\n[[package]]\nname = "own"\nversion = "0.1.0"\n')

    def build(self) -> None:
        for name in OURS + OTHERS:
            path = self.folder / "target" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)

    def run(self, verb: str) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CARGO_TARGET")}
        environment["LOADGEN_CI_CACHE"] = str(self.cache)
        command = [str(self.folder / ".ci" / "cache"), verb]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def built(self) -> set[str]:
        target = self.folder / "target"
        return {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a folder in which a clone has saved what it built."""
    first = Clone(tmp_path / "first", tmp_path / "cache")
    assert "none for this" in first.run("restore")
    first.build()
    assert "saved" in first.run("save")
    return first.cache


@pytest.fixture
def second(tmp_path: Path, cache: Path) -> Clone:
    return Clone(tmp_path / "second", cache)


def test_another_clone_gets_the_dependencies_and_no_crate_of_the_workspace(second: Clone) -> None:
    assert "restored" in second.run("restore")
    assert second.built() == set(OTHERS)
    assert "kept" in second.run("save")


def test_a_damaged_archive_is_removed(second: Clone) -> None:
    (archive,) = second.cache.glob("*.tar")
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    assert "damaged" in second.run("restore")
    assert second.built() == set()
    assert not list(second.cache.iterdir())


def test_an_archive_without_its_checksum_is_removed(second: Clone) -> None:
    (checksum,) = second.cache.glob("*.sha256")
    checksum.unlink()
    assert "damaged" in second.run("restore")
    assert second.built() == set()


@pytest.mark.parametrize("file", ["Cargo.lock", "Cargo.toml"])
def test_an_archive_of_other_dependencies_or_profiles_is_not_used(second: Clone, file: str) -> None:
    with (second.folder / file).open("a") as changed:
        changed.write("# Another.\n")
    assert "none for this" in second.run("restore")
    assert second.built() == set()


def test_a_folder_to_which_others_may_write_is_not_used(second: Clone) -> None:
    second.cache.chmod(0o777)
    assert "others may write" in second.run("restore")
    assert second.built() == set()


def test_a_build_is_not_replaced(second: Clone) -> None:
    second.build()
    assert "not used" in second.run("restore")
    assert second.built() == {*OURS, *OTHERS}


def test_only_two_archives_are_kept(second: Clone) -> None:
    second.build()
    for number in range(3):
        with (second.folder / "Cargo.toml").open("a") as changed:
            changed.write(f"# {number}\n")
        second.run("save")
    assert len(list(second.cache.glob("*.tar"))) == 2
