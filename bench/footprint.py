"""Measures the memory of users, the time until all are connected, and the growth of memory in a longer run.

Run with `make bench-footprint`. `python -m bench.footprint --help` lists the options.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.connecting import all_connected_s, watched
from bench.measurement import measure, options
from bench.page import table
from bench.passes import MORE_THAN_ASKED_S, at_work
from bench.plan import Plan
from bench.process import Failed, run
from bench.server import Server
from bench.tools import LOADGEN, LOADGEN_OPTIONS, Tool

REGION = "footprint"
# Goals for the peak memory in MB, by number of users.
GOALS_MB = {5_000: 64, 15_000: 240}
# Goals for the seconds from the end of the ramp-up until all users are connected, by number of users.
GOALS_S = {5_000: 1}
RAMPS_S = [0, 2]
# Users and seconds of a short and a long run, which show memory that grows with the number of requests.
STEADY_USERS = 100
STEADY_S = [10, 60]


@dataclass(frozen=True)
class Case:
    """A load."""

    users: int
    ramp_s: int
    seconds: int


@dataclass(frozen=True)
class Footprint:
    """Resources and time of one run."""

    memory_mb: float
    requests: int
    # Seconds after the planned end of the ramp-up; None if not all users were connected at the same time.
    connected_s: float | None

    def __str__(self) -> str:
        late = "not all connected" if self.connected_s is None else f"all connected in {self.connected_s:.2f} s"
        return f"{self.memory_mb:.1f} MB, {self.requests:,} requests, {late}"


Results = Mapping[Case, Sequence[Footprint | Failed]]


def main() -> int:
    parser = options(REGION, __doc__, passes=(3, "runs of each load"), seconds=(6, "seconds after the ramp-up"))
    return measure(REGION, parser.parse_args(), lambda plan: report(measured(plan, cases(plan))))


def cases(plan: Plan) -> list[Case]:
    crowds = [Case(users, ramp, plan.seconds) for users in GOALS_MB for ramp in RAMPS_S]
    return [*crowds * plan.passes, *(Case(STEADY_USERS, 0, seconds) for seconds in STEADY_S)]


def measured(plan: Plan, cases: Sequence[Case]) -> Results:
    results: dict[Case, list[Footprint | Failed]] = {}
    with at_work(plan) as (server, folder):
        for case in cases:
            result = _attempt(case, plan, server, folder)
            results.setdefault(case, []).append(result)
            print(f"{case.users:,} users, ramp-up of {case.ramp_s} s, {case.seconds} s: {result}", file=sys.stderr)
    return results


def _attempt(case: Case, plan: Plan, server: Server, folder: Path) -> Footprint | Failed:
    tool = Tool(LOADGEN.name, LOADGEN.program, f"--scenario direct {LOADGEN_OPTIONS} --ramp-up {case.ramp_s}s")
    out = Path(tempfile.mkdtemp(dir=folder))
    command = tool.command(url=server.url, users=case.users, seconds=case.seconds, out=out / "out")
    limit_s = case.ramp_s + case.seconds + MORE_THAN_ASKED_S
    try:
        before = server.settled()
        with watched(server) as looks:
            usage = run(command, plan.generator_core, limit_s, out / "output")
        requests = server.settled().requests - before.requests - len(looks)
    except Failed as failed:
        return failed
    connected = all_connected_s(looks, case.users)
    return Footprint(usage.memory_mb, requests, None if connected is None else connected - case.ramp_s)


def report(results: Results) -> str:
    crowds = [(case, its) for case, its in results.items() if case.users in GOALS_MB]
    steady = [(case, its) for case, its in results.items() if case.users == STEADY_USERS]
    headers = [
        "users",
        "ramp-up, s",
        "peak memory, MB",
        "goal",
        "all connected and sending after the ramp-up, s (worst)",
        "goal",
    ]
    return "\n\n".join(
        [
            table(headers, [_crowd(case, its) for case, its in crowds], words=0),
            *_each_user(results),
            f"{STEADY_USERS} users, in a short and a long run:",
            table(["seconds", "requests", "peak memory, MB"], [_steady(case, its) for case, its in steady], words=0),
        ]
    )


def _crowd(case: Case, results: Sequence[Footprint | Failed]) -> list[str]:
    done = [result for result in results if isinstance(result, Footprint)]
    goals = [f"< {goal[case.users]}" if case.users in goal else "" for goal in (GOALS_MB, GOALS_S)]
    if not done:
        return [f"{case.users:,}", str(case.ramp_s), "failed", goals[0], str(results[0]), goals[1]]
    peak = max(result.memory_mb for result in done)
    return [f"{case.users:,}", str(case.ramp_s), f"{peak:.0f}", goals[0], _connected(results), goals[1]]


def _connected(results: Sequence[Footprint | Failed]) -> str:
    """Return the median and the worst of the runs, or the number of runs that never had all users connected."""
    seconds = [result.connected_s for result in results if isinstance(result, Footprint)]
    known = [each for each in seconds if each is not None]
    if len(known) < len(results):
        return f"not in {len(results) - len(known)} of {len(results)} runs"
    return f"{median(known):.2f} ({max(known):.2f})"


def _each_user(results: Results) -> Iterator[str]:
    """Report the memory of one more user, from the loads with the fewest and the most users."""
    peaks = {
        case.users: median(result.memory_mb for result in its if isinstance(result, Footprint))
        for case, its in results.items()
        if case.users in GOALS_MB and case.ramp_s == 0 and any(isinstance(result, Footprint) for result in its)
    }
    if len(peaks) > 1:
        few, many = min(peaks), max(peaks)
        each = 1000 * (peaks[many] - peaks[few]) / (many - few)
        yield f"From {few:,} to {many:,} users, each additional user takes {each:.1f} KB."


def _steady(case: Case, results: Sequence[Footprint | Failed]) -> list[str]:
    result = results[0]
    if isinstance(result, Failed):
        return [str(case.seconds), "failed", str(result)]
    return [str(case.seconds), f"{result.requests:,}", f"{result.memory_mb:.1f}"]


if __name__ == "__main__":
    sys.exit(main())
