"""Compares loadgen with its peers: what does a request cost the generator?

`make bench` runs it; `python -m bench.peers --help` shows its options.
"""

import argparse
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path

from bench.page import page, report
from bench.plan import ENOUGH_CONNECTIONS, Plan
from bench.process import Failed, run
from bench.results import Runs, Sample
from bench.server import Server, nginx, nginx_program
from bench.tools import LOADGEN, TOOLS, Tool

# Some tools need long to get 5,000 users ready, and to add up what they measured.
MORE_THAN_ASKED_S = 60


def main() -> int:
    options = _options()
    plan = Plan.of(options.passes, options.seconds)
    if lacks := _lacks():
        print(lacks, file=sys.stderr)
        return 1
    _allow_many_connections()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        results = compared(plan, options.connections)
    except KeyboardInterrupt:
        return 130
    print(report(plan, results))
    if options.markdown:
        options.markdown.write_text(page(plan, results))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passes", type=_count, default=7, metavar="N", help="runs of each tool (default: 7)")
    parser.add_argument("--seconds", type=_count, default=3, metavar="N", help="length of each run (default: 3)")
    parser.add_argument(
        "--connections",
        type=_count,
        nargs="+",
        default=[100, 1_000, 5_000],
        metavar="N",
        help="how many at once (default: 100 1000 5000)",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write it all as a page, too")
    return parser.parse_args()


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _lacks() -> str | None:
    if not nginx_program():
        return "nginx is missing: make peer-wrk installs it"
    return None if LOADGEN.path() else "loadgen is not built: make build"


def _allow_many_connections() -> None:
    """Raise the limit of open files for nginx and for every tool alike."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def compared(plan: Plan, connections: list[int]) -> dict[int, Runs]:
    # Out of the generator's way; what is started below says itself where it runs.
    os.sched_setaffinity(0, plan.other_cores)
    with tempfile.TemporaryDirectory(prefix="loadgen-bench-") as name, nginx(plan.server_core, Path(name)) as server:
        return {users: _passes(plan, users, server, Path(name)) for users in connections}


def _passes(plan: Plan, users: int, server: Server, folder: Path) -> Runs:
    tools = [tool for tool in TOOLS if tool.path()]
    runs: Runs = {tool.name: [] for tool in tools}
    for number in range(plan.passes):
        for tool in rotated(tools, number):
            result = _attempt(tool, plan, users, server, folder)
            runs[tool.name].append(result)
            print(f"{users:,} connections, pass {number + 1} of {plan.passes}: {tool.name}: {result}", file=sys.stderr)
    return runs


def rotated(tools: list[Tool], number: int) -> list[Tool]:
    """Return the tools in the order of a pass: each pass begins with another one."""
    first = number % len(tools)
    return tools[first:] + tools[:first]


def _attempt(tool: Tool, plan: Plan, users: int, server: Server, folder: Path) -> Sample | Failed:
    try:
        return _sample(tool, plan, users, server, Path(tempfile.mkdtemp(dir=folder)))
    except Failed as failed:
        return failed


def _sample(tool: Tool, plan: Plan, users: int, server: Server, folder: Path) -> Sample:
    command = tool.command(url=server.url, users=users, seconds=plan.seconds, out=folder / "out")
    before = server.settled()
    usage = run(command, plan.generator_core, plan.seconds + MORE_THAN_ASKED_S, folder / "output")
    after = server.settled()
    requests = after.requests - before.requests
    opened = after.accepted - before.accepted
    if requests == 0:
        raise Failed("nginx counted no request")
    if opened < ENOUGH_CONNECTIONS * users:
        raise Failed(f"opened {opened:,} of {users:,} connections")
    return Sample(
        cpu_us=usage.cpu_s * 1e6 / requests,
        rate_per_s=requests / plan.seconds,
        memory_mb=usage.memory_mb,
        opened=opened,
        manager_percent=100 * usage.own_cpu_s / usage.wall_s,
        wall_s=usage.wall_s,
    )


if __name__ == "__main__":
    sys.exit(main())
