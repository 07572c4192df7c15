"""Runs tools in turn, pass after pass, against one nginx that counts their requests."""

import argparse
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.loads import Load
from bench.plan import Plan
from bench.process import Failed, run
from bench.results import Runs, Sample
from bench.server import Server, nginx, nginx_program
from bench.tools import LOADGEN, Tool

# Seconds that a run may last beyond its load: some tools start 5,000 users slowly, or report slowly.
MORE_THAN_ASKED_S = 60


def lacks() -> str | None:
    """Return the program that is missing for any measurement; None if none is missing."""
    if not nginx_program():
        return "nginx is missing: run `make peer-wrk`"
    if not shutil.which("openssl"):
        return "openssl is missing, which makes nginx's certificate: run `make peer-wrk`"
    return None if LOADGEN.path() else "loadgen is not built: run `make build`"


def count(text: str) -> int:
    """Parse a positive number from the command line."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


@contextmanager
def at_work(plan: Plan) -> Iterator[tuple[Server, Path]]:
    """Provide a server and a folder, and remove both when the block ends, also by a signal."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    _allow_many_connections()
    # Keeps this script off the generator's core. Each program that is started later has its own core.
    os.sched_setaffinity(0, plan.other_cores)
    with tempfile.TemporaryDirectory(prefix="loadgen-bench-") as name, nginx(plan.server_core, Path(name)) as server:
        yield server, Path(name)


def _allow_many_connections() -> None:
    """Raise the limit on open files for nginx and for every tool."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def passes(plan: Plan, load: Load, server: Server, folder: Path) -> Runs:
    runs: Runs = {tool.name: [] for tool in load.tools}
    for number in range(plan.passes):
        for tool in in_turn(load.tools, number):
            result = _attempt(tool, plan, load, server, folder)
            runs[tool.name].append(result)
            print(f"{load.title}, pass {number + 1} of {plan.passes}: {tool.name}: {result}", file=sys.stderr)
    return runs


def in_turn(tools: Sequence[Tool], number: int) -> list[Tool]:
    """Return the tools in the order of a pass.

    The first two tools, loadgen and its main rival, run directly one after the other. The second of two passes is the
    first in reverse (ABBA), so that a steady drift of the machine cancels out. Each two passes start with another tool:
    a tool that always ran after the same other tool would always start from the state that the other tool leaves.
    """
    groups = [list(tools[:2]), *([tool] for tool in tools[2:])]
    first = number // 2 % len(groups)
    order = [tool for group in [*groups[first:], *groups[:first]] for tool in group]
    return order if number % 2 == 0 else order[::-1]


def _attempt(tool: Tool, plan: Plan, load: Load, server: Server, folder: Path) -> Sample | Failed:
    try:
        return _sample(tool, plan, load, server, Path(tempfile.mkdtemp(dir=folder)))
    except Failed as failed:
        return failed


def _sample(tool: Tool, plan: Plan, load: Load, server: Server, folder: Path) -> Sample:
    command = tool.command(
        url=server.url_of(load.protocol),
        users=load.users,
        connections=load.connections,
        streams=load.streams,
        rate=load.rate,
        seconds=plan.seconds,
        out=folder / "out",
    )
    before = server.settled()
    usage = run(command, plan.generator_core, plan.seconds + MORE_THAN_ASKED_S, folder / "output")
    after = server.settled()
    requests = after.requests - before.requests
    opened = after.accepted - before.accepted
    if lacking := load.lacking(requests, opened, plan.seconds):
        raise Failed(lacking)
    if errors := errors_of(folder / "out"):
        raise Failed(f"{errors:,} of {requests:,} requests failed")
    return Sample(
        cpu_us=usage.cpu_s * 1e6 / requests,
        rate_per_s=requests / plan.seconds,
        memory_mb=usage.memory_mb,
        opened=opened,
        manager_percent=100 * usage.own_cpu_s / usage.wall_s,
        wall_s=usage.wall_s,
        claimed=tool.claimed(folder) if tool.claimed else None,
    )


def errors_of(out: Path) -> int:
    """Return the number of failed requests in loadgen's record, if any: failed requests have another cost."""
    record = out / "run.json"
    if not record.exists():
        return 0
    return sum(target["total"]["errors"] for target in json.loads(record.read_text())["targets"])
