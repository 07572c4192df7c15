"""Reads targets.toml, and makes the command lines of the targets."""

import sys
import tomllib
from pathlib import Path
from shutil import which
from typing import Any

MANIFEST: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("targets.toml").read_text())
PROGRAMS = Path(sys.executable).parent
CACHE = Path(__file__).parents[1] / ".loadgen"


def command(name: str, host: str, port: int, workers: int = 1, pool_size: int = 10) -> list[str]:
    """Return the command that starts a target, with the path of the program first.

    A target with a build must have been built by loadgen: its last build is used.
    """
    values = {"host": host, "port": port, "workers": workers, "pool_size": pool_size, "build": last_build(name)}
    program, *arguments = (word.format(**values) for word in MANIFEST[name]["command"])
    required = [tool["tool"] for tool in MANIFEST[name].get("requires", [])]
    found = (which(program) or from_wheel(program)) if program in required else None
    # Joining an absolute path gives that path.
    return [found or str(PROGRAMS / program), *arguments]


def last_build(name: str) -> str:
    """Return the folder of the target's last build, or an empty string if loadgen has not built the target."""
    return str(last(CACHE / "builds", name) or "")


def from_wheel(tool: str) -> str | None:
    """Return the path of a program that loadgen has installed from a wheel."""
    folder = last(CACHE / "wheels", tool)
    return str(folder / "bin" / tool) if folder else None


def last(parent: Path, name: str) -> Path | None:
    """Return the newest of the folders for `name`."""
    folders = (path for path in parent.glob(f"{name}-*") if path.is_dir())
    return max(folders, key=lambda path: path.stat().st_mtime, default=None)


def missing(name: str) -> str | None:
    """Return the first program that a target and its upstreams require, that is not on the PATH, and in no wheel."""
    targets = [name, *MANIFEST[name].get("upstreams", {}).values()]
    required = (tool for target in targets for tool in MANIFEST[target].get("requires", []))
    tools = (tool["tool"] for tool in required if "wheel" not in tool)
    return next((tool for tool in tools if which(tool) is None), None)
