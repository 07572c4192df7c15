"""Builds the container image from the archives in a folder, by podman, for each processor that has an archive there.

    python -m release.image FOLDER NAME [--base IMAGE]

The result is a manifest list, `NAME:VERSION`, for `podman manifest push`.
"""

import argparse
import subprocess
import tarfile
import tempfile
from pathlib import Path

from release.names import ROOT, stem, version

# Processors, as images and as Rust name them.
PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}


def podman(*words: str) -> None:
    """Run podman to its end."""
    subprocess.run(["podman", *words], check=True)


def programs(archives: Path, context: Path) -> list[str]:
    """Write the programs in the archives into the context, and return their processors, as images name them."""
    found = []
    for processor, name in PROCESSORS.items():
        archive = archives / f"{stem(f'{name}-unknown-linux-musl')}.tar.gz"
        if archive.exists():
            with tarfile.open(archive) as tar:
                program = tar.extractfile(f"{archive.name.removesuffix('.tar.gz')}/loadgen")
                assert program is not None
                path = context / f"loadgen-{processor}"
                path.write_bytes(program.read())
                path.chmod(0o755)
            found.append(processor)
    return found


def build(archives: Path, name: str, base: str | None) -> str:
    """Build the image for all processors, and return its tag."""
    tag = f"{name}:{version()}"
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder)
        (context / "home").mkdir()
        processors = programs(archives, context)
        if not processors:
            raise SystemExit(f"{archives} has no archive of a static program: run `make musl`")
        subprocess.run(["podman", "manifest", "rm", tag], check=False, capture_output=True)
        platforms = ",".join(f"linux/{processor}" for processor in processors)
        options = ["--build-arg", f"BASE={base}"] if base else []
        file = str(ROOT / "compose" / "release.Containerfile")
        podman("build", "--quiet", "--platform", platforms, "--manifest", tag, "--file", file, *options, folder)
    return tag


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("--base")
    wanted = parser.parse_args()
    print(build(wanted.folder, wanted.name, wanted.base))
