"""Compares loadgen with its peers: the cost of a request to the tool that sends it.

Run with `make bench`. `python -m bench.peers --help` lists the options.
"""

import argparse
import sys
from pathlib import Path

from bench.page import page, report
from bench.passes import at_work, count, lacks, passes
from bench.plan import Plan
from bench.results import Runs
from bench.tools import LOADGEN, TOOLS


def main() -> int:
    options = _options()
    plan = Plan.of(options.passes, options.seconds)
    if missing := lacks():
        print(missing, file=sys.stderr)
        return 1
    try:
        results = compared(plan, options.connections, options.tools)
    except KeyboardInterrupt:
        return 130
    print(report(plan, results))
    if options.markdown:
        options.markdown.write_text(page(plan, results))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passes", type=count, default=7, metavar="N", help="runs of each tool (default: 7)")
    parser.add_argument("--seconds", type=count, default=3, metavar="N", help="seconds of each run (default: 3)")
    parser.add_argument(
        "--connections",
        type=count,
        nargs="+",
        default=[100, 1_000, 5_000],
        metavar="N",
        help="numbers of connections (default: 100 1000 5000)",
    )
    parser.add_argument(
        "--tools",
        nargs="+",
        choices=[tool.name for tool in TOOLS],
        metavar="NAME",
        help="tools to compare with loadgen (default: all installed tools)",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the whole page to FILE")
    return parser.parse_args()


def compared(plan: Plan, connections: list[int], names: list[str] | None = None) -> dict[int, Runs]:
    tools = [tool for tool in TOOLS if tool.path() and (names is None or tool.name in [LOADGEN.name, *names])]
    with at_work(plan) as (server, folder):
        return {users: passes(plan, tools, users, server, folder) for users in connections}


if __name__ == "__main__":
    sys.exit(main())
