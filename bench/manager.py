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

from bench.measurement import measure, options
from bench.page import table
from bench.passes import MORE_THAN_ASKED_S, at_work
from bench.plan import Plan
from bench.process import ROOT, Failed, last_line, pinned, run
from bench.server import Server
from bench.tools import LOADGEN, Tool

REGION = "manager"
WORKERS = 200
# Number of steps in the scenario, and therefore in each snapshot.
STEPS = 4
# Number of processes that simulate the workers.
SIMULATORS = 2
# Goals for the CPU time and the peak memory of the manager.
GOAL_PERCENT = 10
GOAL_MB = 100
# Seconds of the short run. Costs that the short and the long run have in common do not grow with time.
SHORT_S = 5
SIMULATOR = Tool("simulated workers", "simulated_workers", "{folder} {first} {count}")


@dataclass(frozen=True)
class Cost:
    """CPU time and memory of one run."""

    seconds: int
    cpu_s: float
    memory_mb: float

    def __str__(self) -> str:
        return f"{self.cpu_s:.2f} s of CPU time, {self.memory_mb:.1f} MB"


@dataclass(frozen=True)
class Pair:
    """A short run and a long run."""

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


def main() -> int:
    parser = options(REGION, __doc__, passes=(3, "pairs of runs"), seconds=(20, "seconds beyond 5 s"))
    built = None if SIMULATOR.path() else "the simulated workers are not built: run `make simulated-workers`"
    return measure(REGION, parser.parse_args(), lambda plan: report(_pairs(plan)), built)


def _pairs(plan: Plan) -> list[Pair]:
    with at_work(plan) as (server, folder):
        return [_pair(plan, server, folder) for _ in range(plan.passes)]


def report(pairs: Sequence[Pair]) -> str:
    headers = ["workers", "steps", "CPU, % of a core", "goal", "peak memory, MB", "goal", "CPU to begin and end, s"]
    goals = [f"< {GOAL_PERCENT}", f"< {GOAL_MB}"]
    rows = [[str(WORKERS), str(STEPS), *_figures(pair, *goals)] for pair in pairs]
    return table(headers, rows, words=0)


def _figures(pair: Pair, percent: str, memory: str) -> list[str]:
    return [f"{pair.percent:.1f}", percent, f"{pair.memory_mb:.0f}", memory, f"{pair.once_s:.1f}"]


def _pair(plan: Plan, server: Server, folder: Path) -> Pair:
    costs = []
    for seconds in [SHORT_S, SHORT_S + plan.seconds]:
        cost = _cost(seconds, plan, server, Path(tempfile.mkdtemp(dir=folder)))
        print(f"{WORKERS} workers, {seconds} s: {cost}", file=sys.stderr)
        costs.append(cost)
    return Pair(*costs)


def _cost(seconds: int, plan: Plan, server: Server, folder: Path) -> Cost:
    listen = f"--listen 127.0.0.1:{_free_port()} --join-dir {{join}} --expect-workers {WORKERS} --wait 60s"
    load = f"--users {WORKERS} --duration {seconds}s --warmup 0s --out {{out}} --url {{url}}"
    tool = Tool(LOADGEN.name, LOADGEN.program, f"manager --scenario bench/four_steps.toml {listen} {load}")
    join, out = folder / "join", folder / "out"
    with _simulated(plan.server_core, join, folder):
        command = tool.command(join=join, out=out, url=server.url)
        usage = run(command, plan.generator_core, seconds + MORE_THAN_ASKED_S, folder / "output")
    _check(json.loads((out / "run.json").read_text()), seconds)
    return Cost(seconds, usage.cpu_s, usage.memory_mb)


def _check(record: Mapping[str, object], seconds: int) -> None:
    """Raise Failed unless all snapshots arrived."""
    targets = record["targets"]
    workers = targets[0]["workers"] if isinstance(targets, list) else []
    arrived = sum(worker["snapshots"] for worker in workers)
    if record["degraded"] or arrived != seconds * WORKERS:
        raise Failed(f"{arrived} of {seconds * WORKERS} snapshots arrived: {record['degraded']}")


@contextmanager
def _simulated(core: int, join: Path, folder: Path) -> Iterator[None]:
    """Run the simulated workers on the server's core, apart from the manager."""
    each = WORKERS // SIMULATORS
    outputs = [folder / f"workers-{number}" for number in range(SIMULATORS)]
    simulators = []
    for number, output in enumerate(outputs):
        command = SIMULATOR.command(folder=join, first=number * each, count=each)
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
