"""Reads targets.toml, and makes the command lines of the targets."""

import sys
import tomllib
from pathlib import Path
from typing import Any

MANIFEST: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("targets.toml").read_text())
PROGRAMS = Path(sys.executable).parent


def command(name: str, host: str, port: int, workers: int = 1, pool_size: int = 10) -> list[str]:
    """Return the command that starts a target, with the path of the program first."""
    values = {"host": host, "port": port, "workers": workers, "pool_size": pool_size}
    program, *arguments = (word.format(**values) for word in MANIFEST[name]["command"])
    return [str(PROGRAMS / program), *arguments]
