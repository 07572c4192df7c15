"""Compares a target with itself at an earlier commit."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ._errors import LoadgenError, Undecided
from ._functions import failure, measured
from ._options import RunOptions
from ._program import Show, show
from ._results import Run

if TYPE_CHECKING:
    from .documents import JudgedTarget

TARGETS = "loadgen.toml"

# Rounds of a first measurement: those of loadgen in duets.
ROUNDS = 10

# Greatest time, in s, for further rounds where the first ones leave it open, and the part of a round's time in which
# it starts its servers and warms them up.
TIME_MAX = 240
OF_ROUND = 4

# Options that a gate needs for itself.
OWN_OPTIONS = {"aa", "duet", "fail_on_regression", "out", "precision", "url"}


def assert_not_slower(
    *requests: str,
    base: str = "main",
    limit: str | float = "5%",
    quiet: bool = False,
    **options: Unpack[RunOptions],
) -> Run:
    """Assert that the working tree of a target loses no more than `limit` against the commit `base`.

    The target is one of `loadgen.toml`: `target` names it if there are several. Both versions are loaded at the same
    time, on the same CPUs (a duet), and the loss is the CPU time for a request. A server that the CPU does not limit
    is measured in interleaved rounds instead, and the loss is that of its rate, or of its median latency at a `rate`.
    If the rounds leave it open, and `rounds` does not say how many there are, as many as would most likely decide are
    measured afresh, for up to four minutes.

    Raises `AssertionError` if a greater loss is shown, `Undecided` if one is neither shown nor ruled out, and
    `LoadgenError` if nothing could be measured.
    """
    runs = measure(requests, base, limit, None if quiet else show, options)
    judge(runs[-1])
    return runs[-1]


def measure(
    requests: tuple[str, ...],
    base: str,
    limit: str | float,
    progress: Show | None,
    options: Mapping[str, Any],
    folder: Path | None = None,
    out: Callable[[], Path | None] = lambda: None,
) -> list[Run]:
    """Compare the target with itself at the commit `base`, and return the runs, of which the last one counts. `out`
    makes a folder for each."""
    __tracebackhide__ = True
    for name in OWN_OPTIONS & options.keys():
        raise LoadgenError(f"assert_not_slower chooses `{name}` itself: leave it out")
    target = options.get("target") or only_target(folder or Path())
    gate = {**options, "fail_on_regression": f"{percent_of(limit):g}%", "target": f"{target}@{base},{target}@."}

    def run(**method: Any) -> Run:
        __tracebackhide__ = True
        done, found = measured("run", requests, {**gate, **method, "out": out()}, progress, folder)
        # The judgement is in the result: 1 is the exit code of one that cannot be made, among other failures.
        if not isinstance(found, Run) or found.fatal or done.exit_code not in (0, 1, 3) or not found.judged:
            raise failure(done, found)
        return found

    method: dict[str, Any] = {"duet": True}
    runs = [run(**method)]
    if judgement(runs[0]).judgement == "unjudged":
        if any(target.bottleneck != "target" for target in runs[0].record.targets):
            # The CPU time for a request says nothing of a server that waits for something else.
            method = {}
        runs.append(run(**method, rounds=options.get("rounds", ROUNDS)))
    more, rounds = judgement(runs[-1]).more_rounds, runs[-1].record.targets[0].rounds
    needed = len(rounds) + (more or 0)
    # Both targets have their time, unless they are loaded together.
    of_round = (rounds[0].held_s + OF_ROUND) * (1 if method else 2)
    if more and "rounds" not in options and needed * of_round <= TIME_MAX:
        # Afresh: rounds that are added because the first ones were open would favour what those said.
        runs.append(run(**method, rounds=needed))
    return runs


def judge(run: Run) -> None:
    """Raise an exception unless a run shows that nothing was lost."""
    __tracebackhide__ = True
    it = judgement(run)
    lines = [*run.judged.values(), str(run.report())]
    if it.judgement == "slower":
        raise AssertionError("\n".join(lines))
    if it.judgement == "open":
        rounds = len(run.record.targets[0].rounds) + (it.more_rounds or 0)
        more = f"rounds={rounds} would most likely decide" if it.more_rounds else "choose another limit"
        raise Undecided("\n".join([*run.judged.values(), more, str(run.report())]))
    if it.judgement == "unjudged":
        raise Undecided("\n".join(lines))
    if run.failures:
        raise AssertionError("\n".join([*run.failures, str(run.report())]))


def judgement(run: Run) -> JudgedTarget:
    """Return the judgement of the only target that a run judged."""
    # `measure` returns no run without it.
    assert run.record.gate is not None
    return run.record.gate.judged[0]


def percent_of(limit: str | float) -> float:
    """Return a limit such as `"5%"`, or a share such as `0.05`, in percent."""
    percent = -1.0
    if isinstance(limit, float) and limit < 1:
        percent = limit * 100
    elif isinstance(limit, str) and limit.endswith("%"):
        with suppress(ValueError):
            percent = float(limit.removesuffix("%"))
    if not 0 < percent <= 100:
        raise LoadgenError(f'limit={limit!r} is no share: write it as "5%"')
    return percent


def targets_file(folder: Path) -> Path | None:
    """Return the `loadgen.toml` of a folder, or of one above."""
    folders = [folder.absolute(), *folder.absolute().parents]
    return next((path for it in folders if (path := it / TARGETS).is_file()), None)


def only_target(folder: Path) -> str:
    """Return the name of the target in `loadgen.toml`."""
    path = targets_file(folder)
    if path is None:
        raise LoadgenError(
            f"there is no {TARGETS} in {folder.absolute()} or above, which says how the server is started: "
            "`loadgen init --targets` writes it"
        )
    try:
        names = list(tomllib.loads(path.read_text(encoding="utf-8")).get("target", {}))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LoadgenError(f"{path}: {error}") from None
    if len(names) != 1:
        raise LoadgenError(f"{path} has the targets {', '.join(names) or 'none'}: name one with `target=`")
    return str(names[0])
