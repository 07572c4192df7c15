"""The version of loadgen, and the names of a release's files.

    python -m release.names

prints the version.
"""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def toml(path: str) -> dict[str, Any]:
    """Return the content of a TOML file of the repository."""
    return tomllib.loads((ROOT / path).read_text())


def version() -> str:
    """Return the version of all crates."""
    return str(toml("Cargo.toml")["workspace"]["package"]["version"])


def stem(target: str) -> str:
    """Return the name of the archive for a target triple without its suffix: the name of the folder in it."""
    return f"loadgen-{version()}-{target}"


if __name__ == "__main__":
    print(version())
