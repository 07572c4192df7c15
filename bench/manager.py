"""Measures the cost of many workers to their manager. The workers are simulated: they report, and send no load.

Run with `make bench-manager`. `python -m bench.manager --help` lists the options.
"""

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measurement import measure, options
from bench.page import table
from bench.passes import MORE_THAN_ASKED_S, at_work, count
from bench.plan import Plan
from bench.process import ROOT, Failed, last_line, pinned, run
from bench.server import Server
from bench.tools import LOADGEN, Tool

REGION = "manager"
# Number of steps in the scenario, and therefore in each snapshot.
STEPS = 4
# Most workers that one process simulates.
SIMULATED_TOGETHER = 250
# Seconds of the short run. Costs that the short and the long run have in common do not grow with time.
SHORT_S = 5
# Seconds that a run may take beyond its load and beyond what any tool may take, for each worker: for joining.
JOINS_S = 0.1
SIMULATOR = Tool("simulated workers", "simulated_workers", "{folder} {first} {count}")


@dataclass(frozen=True)
class Goal:
    """Goals for the CPU time and the peak memory of a manager."""

    percent: int
    memory_mb: int


# Numbers of workers that are measured by default; other numbers have no goals.
GOALS = {200: Goal(10, 100), 1_000: Goal(50, 300)}


@dataclass(frozen=True)
class Cost:
    """CPU time and memory of one run, and the greatest difference between the starts of two workers."""

    seconds: int
    cpu_s: float
    memory_mb: float
    skew_ms: float

    def __str__(self) -> str:
        return f"{self.cpu_s:.2f} s of CPU time, {self.memory_mb:.1f} MB, starts within {self.skew_ms:.1f} ms"


@dataclass(frozen=True)
class Pair:
    """A short run and a long run."""

    workers: int
    short: Cost
    long: Cost

    @property
    def percent(self) -> float:
        """Return the CPU time of an additional second, in % of one core."""
        return 100 * (self.long.cpu_s - self.short.cpu_s) / (self.long.seconds - self.short.seconds)

    @property
    def once_s(self) -> float:
        """Return the CPU time that does not depend on the length: joining, verification and report."""
        return self.short.cpu_s - self.short.seconds * self.percent / 100

    @property
    def memory_mb(self) -> float:
        return max(self.short.memory_mb, self.long.memory_mb)

    @property
    def skew_ms(self) -> float:
        return max(self.short.skew_ms, self.long.skew_ms)


def main() -> int:
    parser = options(REGION, __doc__, passes=(3, "pairs of runs"), seconds=(20, "seconds beyond 5 s"))
    workers = f"number of workers; may be repeated (default: {' and '.join(map(str, GOALS))})"
    parser.add_argument("--workers", type=count, action="append", metavar="N", help=workers)
    given = parser.parse_args()
    built = None if SIMULATOR.path() else "the simulated workers are not built: run `make simulated-workers`"
    return measure(REGION, given, lambda plan: report(_pairs(plan, given.workers or list(GOALS))), built)


def _pairs(plan: Plan, numbers: Sequence[int]) -> list[Pair]:
    with at_work(plan) as (server, folder):
        return [_pair(workers, plan, server, folder) for workers in numbers for _ in range(plan.passes)]


def report(pairs: Sequence[Pair]) -> str:
    cost = ["CPU, % of a core", "goal", "peak memory, MB", "goal", "CPU to begin and end, s"]
    headers = ["workers", "steps", *cost, "starts within, ms"]
    return table(headers, [[f"{pair.workers:,}", str(STEPS), *_figures(pair)] for pair in pairs], words=0)


def _figures(pair: Pair) -> list[str]:
    goal = GOALS.get(pair.workers)
    percent, memory = (f"< {goal.percent}", f"< {goal.memory_mb}") if goal else ("", "")
    cost = [f"{pair.percent:.1f}", percent, f"{pair.memory_mb:.0f}", memory, f"{pair.once_s:.1f}"]
    return [*cost, f"{pair.skew_ms:.1f}"]


def _pair(workers: int, plan: Plan, server: Server, folder: Path) -> Pair:
    costs = []
    for seconds in [SHORT_S, SHORT_S + plan.seconds]:
        cost = _cost(workers, seconds, plan, server, Path(tempfile.mkdtemp(dir=folder)))
        print(f"{workers} workers, {seconds} s: {cost}", file=sys.stderr)
        costs.append(cost)
    return Pair(workers, *costs)


def _cost(workers: int, seconds: int, plan: Plan, server: Server, folder: Path) -> Cost:
    listen = f"--listen 127.0.0.1:{_free_port()} --join-dir {{join}} --expect-workers {workers}"
    load = f"--users {workers} --duration {seconds}s --warmup 0s --out {{out}} --url {{url}}"
    tool = Tool(LOADGEN.name, LOADGEN.program, f"manager --scenario bench/four_steps.toml {listen} {load}")
    join, out = folder / "join", folder / "out"
    with _simulated(workers, plan.server_core, join, folder):
        command = tool.command(join=join, out=out, url=server.url)
        limit_s = seconds + MORE_THAN_ASKED_S + workers * JOINS_S
        usage = run(command, plan.generator_core, limit_s, folder / "output")
    target = checked(json.loads((out / "run.json").read_text()), seconds * workers)
    skew_ms = max(one["start_skew_ms"] for one in target["rounds"])
    return Cost(seconds, usage.cpu_s, usage.memory_mb, skew_ms)


def checked(record: Mapping[str, Any], snapshots: int) -> Mapping[str, Any]:
    """Return the target of a record, or raise Failed unless this number of snapshots arrived."""
    target: dict[str, Any]
    [target] = record["targets"]
    arrived = sum(worker["snapshots"] for worker in target["workers"])
    if record["degraded"] or arrived != snapshots:
        raise Failed(f"{arrived} of {snapshots} snapshots arrived: {record['degraded']}")
    return target


@contextmanager
def _simulated(workers: int, core: int, join: Path, folder: Path) -> Iterator[None]:
    """Run the simulated workers on the server's core, apart from the manager."""
    firsts = range(0, workers, SIMULATED_TOGETHER)
    outputs = [folder / f"workers-{first}" for first in firsts]
    simulators = []
    for first, output in zip(firsts, outputs, strict=True):
        command = SIMULATOR.command(folder=join, first=first, count=min(SIMULATED_TOGETHER, workers - first))
        with output.open("wb") as file:
            command = pinned(core, command, when_orphaned="KILL")
            simulators.append(subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=file))
    try:
        yield
        for simulator, output in zip(simulators, outputs, strict=True):
            with suppress(subprocess.TimeoutExpired):
                if simulator.wait(timeout=10):
                    raise Failed(f"simulated workers: {last_line(output)}")
    finally:
        for simulator in simulators:
            simulator.kill()
            simulator.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
