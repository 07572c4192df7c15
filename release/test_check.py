"""Tests the checks before a release, and the section of the changelog."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from release import checksums
from release.changelog import section
from release.check import faults

CHANGELOG = """# Changelog

## [Unreleased]

- Later.

## [0.2.0] - 2026-11-26

### Added

- This.

## [0.1.0] - 2026-01-01

- That.
"""


def cargo() -> dict[str, Any]:
    """Return what a Cargo.toml says of version 0.2.0."""
    package = {"version": "0.2.0", "repository": "https://github.com/o/n"}
    return {"workspace": {"package": package, "dependencies": {"loadgen-engine": {"version": "=0.2.0"}, "csv": "1"}}}


def found(**changes: Any) -> list[str]:
    """Return the faults of a release in which one thing is changed."""
    release = {
        "tag": "v0.2.0",
        "repository": "o/n",
        "cargo": cargo(),
        "project": {"project": {"version": "0.2.0"}},
        "changelog": CHANGELOG,
    }
    return faults(**(release | changes))


def test_one_version_everywhere_may_be_released() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"tag": "v0.3.0"}, "tag v0.2.0"),
        ({"repository": "fork/n"}, 'repository = "https://github.com/fork/n"'),
        ({"project": {"project": {"version": "0.1.0"}}}, "write 0.2.0"),
        ({"changelog": CHANGELOG.replace("[0.2.0]", "[Unreleased]")}, "rename [Unreleased]"),
    ],
)
def test_each_fault_has_a_remedy(changes: dict[str, Any], remedy: str) -> None:
    (fault,) = found(**changes)
    assert remedy in fault


def test_the_crates_need_the_same_version() -> None:
    changed = cargo()
    changed["workspace"]["dependencies"]["loadgen-engine"]["version"] = "=0.1.0"
    (fault,) = found(cargo=changed)
    assert 'write "=0.2.0"' in fault


def test_a_section_ends_before_the_next_version() -> None:
    assert section(CHANGELOG, "0.2.0") == "### Added\n\n- This.\n"
    assert section(CHANGELOG, "0.1.0") == "- That.\n"
    assert section(CHANGELOG, "0.1") is None


def test_checksums_are_those_of_sha256sum(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    # A second time, the file of the sums is no file of the release.
    sums = [checksums.write(tmp_path).read_text() for _ in range(2)]
    expected = [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in ("a", "b")]
    assert sums == ["".join(expected)] * 2
