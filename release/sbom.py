"""Lists the crates in the program as CycloneDX JSON, by cargo-cyclonedx, which must be on the PATH.

python -m release.sbom TARGET FOLDER
"""

import os
import subprocess
import sys
from pathlib import Path

from release.names import ROOT, stem

CRATE = ROOT / "loadgen"


def write(target: str, folder: Path) -> Path:
    """Write the list of the crates that the program for `target` consists of, and return its path."""
    name = stem(target)
    # cargo-cyclonedx writes beside each Cargo.toml of the workspace. Without build scripts and what they need: that is
    # not in the program.
    options = ["--format", "json", "--spec-version", "1.5", "--no-build-deps", "--target", target]
    command = [
        "cargo",
        "cyclonedx",
        "--manifest-path",
        str(CRATE / "Cargo.toml"),
        *options,
        "--override-filename",
        name,
    ]
    # With the time of the commit instead of this moment: the same commit gives the same list.
    git = ["git", "log", "-1", "--format=%ct"]
    seconds = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(command, check=True, env=os.environ | {"SOURCE_DATE_EPOCH": seconds})
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / f"{name}.cdx.json"
    (CRATE / f"{name}.json").rename(written)
    for other in CRATE.glob(f"*/{name}.json"):
        other.unlink()
    return written


if __name__ == "__main__":
    target, folder = sys.argv[1:]
    print(write(target, Path(folder)))
