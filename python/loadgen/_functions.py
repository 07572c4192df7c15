"""The commands of loadgen, as functions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, Unpack

from ._errors import LoadgenError
from ._options import REPEATED, CapacityOptions, CompareOptions, RunOptions
from ._program import Done, Show, call, show
from ._read import FILES, decoded, document
from ._results import Capacity, Comparison, Result, Run, result

Found = TypeVar("Found", bound=Result)

# Exit codes after which the result is as planned: done, and a threshold, a proof or a regression.
DONE, FAILED_CHECK = 0, 3


def run(*requests: str, quiet: bool = False, **options: Unpack[RunOptions]) -> Run:
    """Measure, and return the result. Each of `requests` is a URL, or a path that targets are asked for.

    The progress goes to `sys.stderr`, unless it is `quiet`. A threshold, a proof or a gate that fails is in the
    result, not an error: see `Run.failures`, and `Run.record.gate`.

    Raises `LoadgenError` if nothing could be measured, or not as planned.
    """
    return _measured("run", requests, options, quiet, Run)


def capacity(*requests: str, quiet: bool = False, **options: Unpack[CapacityOptions]) -> Capacity:
    """Search the highest rate that each target carries, and return the result. Otherwise as `run`."""
    return _measured("capacity", requests, options, quiet, Capacity)


def read(path: str | os.PathLike[str]) -> Result:
    """Return a saved result: a `Run`, a `Capacity` or an `Experiment`. `path` is its folder."""
    return result(*document(Path(path)))


def compare(*runs: str | os.PathLike[str] | Result, **options: Unpack[CompareOptions]) -> Comparison:
    """Compare saved runs with the first of them."""
    from .documents import RunsRecord

    folders = [str(it.folder if isinstance(it, Result) else os.fspath(it)) for it in runs]
    words = [*arguments(options), *folders]
    done = call(["compare", "--format", "json", *words])
    # A judgement that fails, or could not be made, is in the result.
    if not done.out:
        raise LoadgenError(done.error, done.exit_code)
    record = decoded(json.loads(done.out), RunsRecord)
    return Comparison(record, call(["compare", *words]).out)


def arguments(options: Mapping[str, Any]) -> list[str]:
    """Return the words of the command line for keyword arguments."""
    words = []
    for key, value in options.items():
        option = f"--{key.replace('_', '-')}"
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            values = [str(one) for one in value]
            words += [f"{option}={one}" for one in (values if key in REPEATED else [",".join(values)])]
        else:
            words.append(f"{option}={value}")
    return words


def new_folder(parent: Path, name: str) -> Path:
    """Create a folder for a result, and return its path."""
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    numbers = count(2)
    folder = parent / f"{time}-{name}"
    while True:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            folder = parent / f"{time}-{name}-{next(numbers)}"
        except OSError as error:
            raise LoadgenError(f"cannot create a folder for the result in {parent}: {error}") from None
        else:
            return folder


def _measured(
    command: str, requests: Sequence[str], options: Mapping[str, Any], quiet: bool, kind: type[Found]
) -> Found:
    done, found = measured(command, requests, options, None if quiet else show)
    if done.exit_code not in (DONE, FAILED_CHECK) or not isinstance(found, kind):
        raise failure(done, found)
    return found


def failure(done: Done, found: Result | None) -> LoadgenError:
    """Return the error of a command that ended with another exit code than expected."""
    lines = [done.error] if done.error else []
    if not lines and isinstance(found, Run):
        degraded = [found.record.degraded.reason] if found.record.degraded else []
        lines = [*found.fatal, *degraded, *found.judged.values()]
    if not lines:
        lines = [f"loadgen ended with exit code {done.exit_code}:", *done.told.splitlines()[-20:]]
    if found is not None:
        lines.append(str(found.report()))
    return LoadgenError("\n".join(lines), done.exit_code, found)


def measured(
    command: str,
    requests: Sequence[str],
    options: Mapping[str, Any],
    progress: Show | None,
    folder: Path | None = None,
) -> tuple[Done, Result | None]:
    """Run a command that measures, in a folder. Return how it ended, and its result if there is one."""
    __tracebackhide__ = True
    out = options.get("out")
    at = ((folder or Path()) / out if out else new_folder((folder or Path()) / "runs", command)).absolute()
    words = arguments({**options, "out": at, "no_progress": True})
    done = call([command, *words, "--", *requests], folder, progress)
    found = result(*document(at)) if any((at / name).is_file() for name in FILES) else None
    if found is None:
        _remove_empty(at)
    elif done.out:
        # The table is already here.
        found.__dict__["table"] = done.out
    return done, found


def _remove_empty(folder: Path) -> None:
    """Remove the folder of a result that there is not, if nothing is in it."""
    with suppress(OSError):
        folder.rmdir()
