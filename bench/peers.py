"""Compares loadgen with its peers: the cost of a request to the tool that sends it.

Run with `make bench`. `python -m bench.peers --help` lists the options.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.loads import NAMES, Load, all_tools, loads
from bench.page import TITLE, about, page, report
from bench.passes import at_work, count, lacks, passes
from bench.plan import Plan
from bench.results import Comparison
from bench.server import Server
from bench.tools import LOADGEN


def main() -> int:
    options = _options()
    plan = Plan.of(options.passes, options.seconds)
    if missing := lacks():
        print(missing, file=sys.stderr)
        return 1
    machine = about(plan)
    try:
        results = compared(plan, loads(options.loads, options.connections), options.tools)
    except KeyboardInterrupt:
        return 130
    print(report(plan, results))
    if options.markdown:
        command = shlex.join(["python", "-m", "bench.peers", *sys.argv[1:]])
        options.markdown.write_text(page(plan, machine, results, command, options.title))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passes", type=count, default=7, metavar="N", help="runs of each tool (default: 7)")
    parser.add_argument("--seconds", type=count, default=3, metavar="N", help="seconds of each run (default: 3)")
    parser.add_argument(
        "--loads", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=f"loads (default: {' '.join(NAMES)})"
    )
    parser.add_argument(
        "--connections",
        type=count,
        nargs="+",
        default=[100, 1_000, 5_000],
        metavar="N",
        help="numbers of connections of the load http1 (default: 100 1000 5000)",
    )
    parser.add_argument(
        "--tools",
        nargs="+",
        choices=list(all_tools()),
        metavar="NAME",
        help="tools to compare with loadgen (default: all installed tools)",
    )
    parser.add_argument("--title", default=TITLE, help=f"title of the page (default: {TITLE})")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the whole page to FILE")
    return parser.parse_args()


def compared(plan: Plan, loads: Sequence[Load], names: Sequence[str] | None = None) -> list[Comparison]:
    with at_work(plan) as (server, folder):
        return [_compared(plan, load, names, server, folder) for load in loads]


def _compared(plan: Plan, load: Load, names: Sequence[str] | None, server: Server, folder: Path) -> Comparison:
    named = [tool for tool in load.tools if names is None or tool.name in [LOADGEN.name, *names]]
    skipped = {tool.name: reason for tool in named if (reason := tool.refusal())}
    for name, reason in skipped.items():
        print(f"{load.title}: {name} is skipped: {reason}", file=sys.stderr)
    able = replace(load, tools=[tool for tool in named if tool.name not in skipped])
    return Comparison(replace(load, tools=named), passes(plan, able, server, folder), skipped)


if __name__ == "__main__":
    sys.exit(main())
