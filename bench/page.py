"""Writes the tables of the comparison with peers, and the page around them."""

import datetime
import os
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.plan import ENOUGH_CONNECTIONS, Plan
from bench.process import ROOT, Failed
from bench.results import Runs, Sample, cost, failures, middle, paired
from bench.server import nginx_program
from bench.tools import LOADGEN, TOOLS, Tool, asked_version, version

HEADERS = [
    "tool",
    "CPU-µs/request",
    "loadgen ÷ tool (range)",
    "tool ÷ wrk",
    "requests/s",
    "peak memory, MB",
    "connections opened",
    "extra time, s",
]

PAGE = """\
# Peers

This page shows the CPU time that a request costs the tool that sends it, for loadgen and its peers,
on one machine and in one run. This command wrote the page:

```sh
make bench BENCH_FLAGS="--passes {number} --seconds {seconds} --markdown docs/explanation/peers.md"
```

Figures from other machines differ; ratios differ less.

{about}

## Method

- Every tool loads the same nginx, which has one worker, sends a constant response of 25 bytes and
  keeps connections alive. nginx runs on {server_core}. The tool, with all processes that it starts,
  runs on {generator_core}.
- {passes} over all tools for each number of connections. The tools run one after another; each
  pass starts with another tool, and every second pass is in reverse order. Each run is set to load
  nginx for {seconds} s. Figures are medians over the passes.
- nginx counts the requests (`stub_status`, less the requests of the benchmark script), in the same
  way for every tool. The tool's own count is not used. Requests/s are this count over {seconds} s.
- CPU time is the user and system time of the tool and of the processes that it waited for, from
  `wait4`. CPU time includes start and report, which matter more in short runs. The last column has
  the extra time: how much longer than {seconds} s a run took.
- `loadgen ÷ tool` is the CPU time of a request in loadgen over that in the tool, both in the same
  pass: the median over the passes, and the range. Below 1, loadgen needs less CPU time.
- `tool ÷ wrk` is the CPU time of a request in the tool over that in wrk, computed in the same way.
- Memory is the peak resident memory; for a tool with several processes, the sum of their peaks.
- A run fails if the tool fails, or if the tool opens fewer than {enough} % of its connections.
- loadgen compares each response with the expectations of its scenario: the status and one JSON
  value; in the row with four expectations, the status and three JSON values. The peers check
  nothing.

{tables}

## Commands

{commands}
"""


def report(plan: Plan, results: Mapping[int, Runs]) -> str:
    """Return the tables, for the terminal and for the page."""
    return "\n\n".join(f"## {users:,} connections\n\n{_section(plan, runs)}" for users, runs in results.items())


def page(plan: Plan, results: Mapping[int, Runs]) -> str:
    one_core = plan.server_core == plan.generator_core
    return PAGE.format(
        about=about(plan),
        server_core="the only core" if one_core else f"core {plan.server_core}",
        generator_core="the same core" if one_core else f"core {plan.generator_core}",
        passes="One pass" if plan.passes == 1 else f"{plan.passes} passes",
        number=plan.passes,
        seconds=plan.seconds,
        enough=round(100 * ENOUGH_CONNECTIONS),
        tables=report(plan, results),
        commands=_commands(plan),
    )


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """Return a Markdown table with aligned columns: `words` columns of words, then figures, aligned to the right."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    right = [column >= words for column in range(len(widths))]
    rule = ["-" * (width - 1) + ":" if to_right else "-" * width for width, to_right in zip(widths, right, strict=True)]
    return "\n".join(_line(cells, widths, right) for cells in [headers, rule, *rows])


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    columns = zip(cells, widths, right, strict=True)
    padded = [cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in columns]
    return f"| {' | '.join(padded)} |"


def _section(plan: Plan, runs: Runs) -> str:
    rows = [_row(plan, tool, runs) for tool in TOOLS]
    notes = [f"- {note}" for tool in TOOLS for note in _notes(tool, runs)]
    return "\n".join([table(HEADERS, rows), *([""] if notes else []), *notes])


def _row(plan: Plan, tool: Tool, runs: Runs) -> list[str]:
    mine = runs.get(tool.name)
    if mine is None:
        return [tool.name, "missing", *[""] * (len(HEADERS) - 2)]
    if not any(isinstance(run, Sample) for run in mine):
        return [tool.name, "failed", *[""] * (len(HEADERS) - 2)]
    ratio = None if tool is LOADGEN else paired(runs[LOADGEN.name], mine, cost)
    return [
        tool.name,
        f"{middle(mine, cost):.1f}",
        str(ratio or ""),
        _beside_wrk(mine, runs),
        f"{middle(mine, lambda run: run.rate_per_s):,.0f}",
        f"{middle(mine, lambda run: run.memory_mb):,.0f}",
        f"{middle(mine, lambda run: run.opened):,.0f}",
        f"{middle(mine, lambda run: run.wall_s) - plan.seconds:.1f}",
    ]


def _beside_wrk(mine: Sequence[Sample | Failed], runs: Runs) -> str:
    ratio = paired(mine, runs["wrk"], cost) if "wrk" in runs else None
    return f"{ratio.median:.2f}" if ratio else ""


def _notes(tool: Tool, runs: Runs) -> Iterator[str]:
    if tool.name not in runs:
        yield f"{tool.name} is missing: run `make {tool.install}`"
        return
    mine = runs[tool.name]
    if failed := failures(mine):
        yield f"{tool.name}: {failed}"
    beside = paired(mine, runs[LOADGEN.name], lambda run: run.rate_per_s) if tool.manager else None
    if beside:
        share = middle(mine, lambda run: run.manager_percent)
        yield (
            f"{tool.name}: {beside} times the requests/s of loadgen in one process; the manager process used "
            f"{share:.1f} % of a core"
        )


def about(plan: Plan) -> str:
    """Return a table of the machine and the versions. Must be called before the measurement."""
    nginx = nginx_program()
    rows = [
        ["date", f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"],
        ["processor", _processor()],
        ["cores", str(os.cpu_count())],
        ["load average before", f"{plan.load_average:.1f}"],
        ["commit", _commit()],
        ["system", f"{platform.system()} {platform.release()}"],
        ["nginx", (nginx and asked_version(nginx, "-v")) or "unknown"],
    ]
    return table(["property", "value"], rows, words=2)


def _processor() -> str:
    found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else platform.machine()


def _commit() -> str:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return described.stdout.strip() or "unknown"


def _commands(plan: Plan) -> str:
    rows = [[tool.name, version(tool), f"`{tool.shown(plan.seconds)}`"] for tool in TOOLS]
    return table(["tool", "version", "command"], rows, words=3)
