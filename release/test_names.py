"""Tests that cargo-binstall finds the archives under the names that the recipes write."""

import gzip
import io
import tarfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from release import archive
from release.names import stem, toml, version

TARGETS = [
    f"{processor}-{system}" for processor in ("x86_64", "aarch64") for system in ("unknown-linux-musl", "apple-darwin")
]


def filled(template: str, target: str) -> str:
    """Fill a template of cargo-binstall, as its documentation describes."""
    package = toml("loadgen/Cargo.toml")
    values = {
        "repo": "https://github.com/OWNER/loadgen",
        "name": package["package"]["name"],
        "version": version(),
        "target": target,
        "bin": package["bin"][0]["name"],
        "binary-ext": "",
    }
    for name, value in values.items():
        template = template.replace(f"{{ {name} }}", value)
    assert "{" not in template, template
    return template


@pytest.mark.parametrize("target", TARGETS)
def test_binstall_finds_the_archive_and_the_program_in_it(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "files", lambda program: {"loadgen": (program.read_bytes(), 0o755)})
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    made = archive.pack(target, program, tmp_path / "dist")
    metadata = toml("loadgen/Cargo.toml")["package"]["metadata"]["binstall"]
    url = urlsplit(filled(metadata["pkg-url"], target))
    assert url.path == f"/OWNER/loadgen/releases/download/v{version()}/{made.name}"
    assert metadata["pkg-fmt"] == "tgz"
    with tarfile.open(made) as tar:
        member = tar.getmember(filled(metadata["bin-dir"], target))
    assert member.mode == 0o755


def test_the_workflow_builds_each_target() -> None:
    text = (Path(archive.__file__).parents[1] / ".github" / "workflows" / "release.yml").read_text()
    assert all(f"target: {target}" in text for target in TARGETS)


def test_the_same_program_gives_the_same_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "files", lambda program: {"loadgen": (b"program", 0o755), "LICENSE": (b"text", 0o644)})
    made = [archive.pack("x", tmp_path, tmp_path / folder) for folder in ("first", "second")]
    assert made[0].read_bytes() == made[1].read_bytes()
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(made[0].read_bytes()))) as tar:
        assert tar.getnames() == [f"{stem('x')}/LICENSE", f"{stem('x')}/loadgen"]
