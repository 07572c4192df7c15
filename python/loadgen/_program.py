"""Finds the program, and runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ._errors import LoadgenError

NAME = "loadgen"

# Time for a run that was interrupted: its servers end, and what was measured is saved.
TIME_TO_END = 30

# An error of loadgen begins with its code, in a line of its own, and one of its command line with `error:`.
ERROR = re.compile(r"^(?:[a-z][a-z_]+\n\n  \u00d7 |error: )", re.MULTILINE)


def program() -> str:
    """Return the path of the program that was installed together with this package, or else of one on the PATH."""
    __tracebackhide__ = True
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    folders = [*_beside(Path(__file__).resolve().parent.parent), *map(_scripts, schemes)]
    path = next((found for folder in folders if (found := shutil.which(NAME, path=folder))), None)
    path = path or shutil.which(NAME)
    if path is None:
        raise LoadgenError(f"there is no program {NAME} beside this Python or on the PATH: pip install {NAME}")
    return path


def _beside(packages: Path) -> list[str]:
    """Return where pip puts programs if this package is in a folder that `--target` or `--prefix` named."""
    if (packages / "bin" / NAME).is_file():
        return [str(packages / "bin")]
    # PREFIX/lib/python3.11/site-packages
    return [str(packages.parents[2] / "bin")] if packages.name == "site-packages" else []


def _scripts(scheme: str) -> str:
    return sysconfig.get_path("scripts", scheme)


def environment() -> dict[str, str]:
    """Return the variables for loadgen: the servers that it starts are those of this Python environment."""
    own = {"VIRTUAL_ENV": sys.prefix} if sys.prefix != sys.base_prefix else {}
    return {**os.environ, **own}


@dataclass(frozen=True)
class Done:
    """What a command of loadgen printed, and how it ended."""

    exit_code: int
    out: str
    error: str
    """Message of the error; empty without one."""
    told: str = ""
    """All that loadgen told meanwhile: its progress, and the error."""


Show = Callable[[str], None]
"""Shows a line of loadgen's progress."""


def show(line: str) -> None:
    """Show a line on `sys.stderr`."""
    print(line, end="", file=sys.stderr, flush=True)


def call(arguments: Sequence[str], folder: Path | None = None, progress: Show | None = None) -> Done:
    """Run a command of loadgen in a folder, and show its progress, line by line."""
    __tracebackhide__ = True
    process = subprocess.Popen(
        [program(), *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    # Both are pipes, because of the arguments above.
    assert process.stdout is not None
    assert process.stderr is not None
    out: list[str] = []
    reader = threading.Thread(target=lambda: out.append(process.stdout.read()))  # type: ignore[union-attr]
    reader.start()
    try:
        told = _told(process.stderr, progress)
        exit_code = process.wait()
    except BaseException:
        # After Ctrl-C on a terminal, loadgen is ending already: it takes two signals within a second as one.
        process.terminate()
        try:
            process.wait(TIME_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    finally:
        reader.join()
        process.stdout.close()
        process.stderr.close()
    return Done(exit_code, "".join(out), _error(told), told)


def _told(stream: IO[str], progress: Show | None) -> str:
    """Return all that loadgen tells; show it meanwhile."""
    lines: list[str] = []
    for line in stream:
        lines.append(line)
        if progress is not None:
            progress(line)
    return "".join(lines)


def _error(told: str) -> str:
    """Return the error at the end of what loadgen told."""
    found = ERROR.search(told)
    return told[found.start() :].strip() if found else ""


def printable(text: str) -> str:
    """Return a text in which no character controls a terminal: a server may have written parts of it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
