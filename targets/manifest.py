"""Reads targets.toml, and makes the command lines of the targets."""

import sys
import tomllib
from pathlib import Path
from shutil import which
from typing import Any

MANIFEST: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("targets.toml").read_text())
PROGRAMS = Path(sys.executable).parent
BUILDS = Path(__file__).parents[1] / ".loadgen" / "builds"


def command(name: str, host: str, port: int, workers: int = 1, pool_size: int = 10) -> list[str]:
    """Return the command that starts a target, with the path of the program first.

    A target with a build must have been built by loadgen: its last build is used.
    """
    values = {"host": host, "port": port, "workers": workers, "pool_size": pool_size, "build": last_build(name)}
    program, *arguments = (word.format(**values) for word in MANIFEST[name]["command"])
    required = [tool["tool"] for tool in MANIFEST[name].get("requires", [])]
    found = which(program) if program in required else None
    # Joining an absolute path gives that path.
    return [found or str(PROGRAMS / program), *arguments]


def last_build(name: str) -> str:
    """Return the folder of the target's last build, or an empty string if loadgen has not built the target."""
    builds = (path for path in BUILDS.glob(f"{name}-*") if path.is_dir())
    return str(max(builds, key=lambda path: path.stat().st_mtime, default=""))


def missing(name: str) -> str | None:
    """Return the first program that a target and its upstreams require and that is not on the PATH."""
    targets = [name, *MANIFEST[name].get("upstreams", {}).values()]
    tools = (tool["tool"] for target in targets for tool in MANIFEST[target].get("requires", []))
    return next((tool for tool in tools if which(tool) is None), None)
