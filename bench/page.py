"""Writes the tables of the comparison with peers, and the page around them."""

import datetime
import os
import platform
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.loads import ENOUGH_CONNECTIONS, ENOUGH_REQUESTS
from bench.plan import Plan
from bench.process import ROOT, Failed
from bench.results import Comparison, Ratio, Runs, Sample, cost, failures, middle, paired
from bench.server import nginx_program
from bench.tools import LOADGEN, Tool, asked_version, version

# Connections that some tools, loadgen among them, open before the load to try the server.
TRIALS = 1

TITLE = "Peers"

REPORTED = ["median latency, ms", "p99 latency, ms"]

PAGE = """\
# {title}

This page shows the CPU time that a request costs the tool that sends it, for loadgen and its peers,
on one machine and in one run. This command wrote the page:

```sh
{command}
```

Figures from other machines differ; ratios differ less.

{about}

## Method

- Every tool loads the same nginx, which has one worker, sends a constant response of 25 bytes and
  keeps connections alive. nginx runs on {server_core}. The tool, with all processes that it starts,
  runs on {generator_core}.
- nginx serves each protocol on a port of its own. Over TLS, all tools get TLS 1.3 with the cipher
  suite `TLS_AES_128_GCM_SHA256` and a certificate on the curve P-256, and no tool resumes a session.
- {passes} over all tools for each load. The tools run one after another, loadgen and its main rival
  (the second row) directly one after the other. Every second pass is the reverse of the pass before
  it (ABBA), and each two passes start with another tool. Each run is set to load nginx for
  {seconds} s. Figures are medians over the passes.
- nginx counts the requests (`stub_status`, less the requests of the benchmark script), in the same
  way for every tool and every protocol. The tool's own count is not used. Requests/s are this count
  over {seconds} s.
- CPU time is the user and system time of the tool and of the processes that it waited for, from
  `wait4`. CPU time includes start and report, which matter more in short runs. The last column has
  the extra time: how much longer than {seconds} s a run took.
- `loadgen ÷ tool` is the CPU time of a request in loadgen over that in the tool, both in the same
  pass: the median over the passes, and the range. Below 1, loadgen needs less CPU time. The next
  column compares each tool with loadgen's main rival in the same way.
- nginx also counts the connections. Tools that try the server with one connection before the load,
  as loadgen and wrk do, open one more than requested. A note names tools that open still more.
- Memory is the peak resident memory; for a tool with several processes, the sum of their peaks.
- A run fails if the tool fails, if the tool opens fewer than {connections} % of its connections, or,
  in the open model, if the tool sends fewer than {requests} % of the requests. The open model may open
  fewer connections, because the rate decides how many it needs.
- The latencies of the open model are what each tool reports itself. loadgen, wrk2, zrk and the single
  loop measure from the planned time of each request, so that their own delay counts. oha measures from
  the moment at which its timer fired. The timers of wrk2 and oha count in milliseconds: both tools send
  several requests at once, late, which costs less CPU time than a wake-up for each request.
- `one loop` (`loadgen/engine/examples/one_loop.rs`) shows what a request of the open model costs a program that
  sends each request at its own time and does nothing else: it waits for the kernel's timer, writes, waits
  for the response and reads. It is no tool: it checks nothing, and records only latencies.
- loadgen compares each response with the expectations of its scenario: the status and one JSON
  value; in the row with four expectations, the status and three JSON values; in the journey, the status.
  The peers check nothing, but k6 and Locust note a failed status.

{tables}

## Commands

{commands}
"""


def report(plan: Plan, comparisons: Sequence[Comparison]) -> str:
    """Return the tables, for the terminal and for the page."""
    return "\n\n".join(f"## {each.load.title}\n\n{_section(plan, each)}" for each in comparisons)


def page(plan: Plan, machine: str, comparisons: Sequence[Comparison], command: str, title: str = TITLE) -> str:
    one_core = plan.server_core == plan.generator_core
    return PAGE.format(
        title=title,
        command=command,
        about=machine,
        server_core="the only core" if one_core else f"core {plan.server_core}",
        generator_core="the same core" if one_core else f"core {plan.generator_core}",
        passes="One pass" if plan.passes == 1 else f"{plan.passes} passes",
        seconds=plan.seconds,
        connections=round(100 * ENOUGH_CONNECTIONS),
        requests=round(100 * ENOUGH_REQUESTS),
        tables=report(plan, comparisons),
        commands=_commands(plan, comparisons),
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


def _section(plan: Plan, comparison: Comparison) -> str:
    load = comparison.load
    headers = [
        "tool",
        "CPU-µs/request",
        "loadgen ÷ tool (range)",
        f"tool ÷ {load.rival.name}",
        "requests/s",
        "peak memory, MB",
        f"connections opened (of {load.connections:,})",
        *(REPORTED if load.reports_latencies else []),
        "extra time, s",
    ]
    rows = [_row(plan, tool, comparison) for tool in load.tools]
    notes = [f"- {note}" for tool in load.tools for note in _notes(tool, comparison)]
    padded = [[*row, *[""] * (len(headers) - len(row))] for row in rows]
    return "\n".join([table(headers, padded), *([""] if notes else []), *notes])


def _row(plan: Plan, tool: Tool, comparison: Comparison) -> list[str]:
    mine = comparison.runs.get(tool.name)
    if mine is None:
        return [tool.name, "skipped"]
    if not any(isinstance(run, Sample) for run in mine):
        return [tool.name, "failed"]
    return [
        tool.name,
        f"{middle(mine, cost):.1f}",
        "" if tool.name == LOADGEN.name else str(_ratio(LOADGEN.name, tool.name, comparison.runs) or ""),
        _beside_rival(tool, comparison),
        f"{middle(mine, lambda run: run.rate_per_s):,.0f}",
        f"{middle(mine, lambda run: run.memory_mb):,.0f}",
        f"{middle(mine, lambda run: run.opened):,.0f}",
        *(_reported(mine) if comparison.load.reports_latencies else []),
        f"{middle(mine, lambda run: run.wall_s) - plan.seconds:.1f}",
    ]


def _ratio(one: str, other: str, runs: Runs) -> Ratio | None:
    """Return the cost of one tool over that of another; None if either has no runs."""
    return paired(runs[one], runs[other], cost) if one in runs and other in runs else None


def _beside_rival(tool: Tool, comparison: Comparison) -> str:
    ratio = _ratio(tool.name, comparison.load.rival.name, comparison.runs)
    return f"{ratio.median:.2f}" if ratio else ""


def _reported(runs: Sequence[Sample | Failed]) -> list[str]:
    """Return the medians of the latencies that a tool reports, in ms."""
    known = [run.claimed for run in runs if isinstance(run, Sample) and run.claimed]
    if not known:
        return ["", ""]
    return [
        f"{median(each.p50_us for each in known) / 1000:.2f}",
        f"{median(each.p99_us for each in known) / 1000:.2f}",
    ]


def _notes(tool: Tool, comparison: Comparison) -> Iterator[str]:
    if tool.name in comparison.skipped:
        yield f"{tool.name} is skipped: {comparison.skipped[tool.name]}"
    mine = comparison.runs.get(tool.name, [])
    if failed := failures(mine):
        yield f"{tool.name}: {failed}"
    asked, most = comparison.load.connections, max((run.opened for run in mine if isinstance(run, Sample)), default=0)
    if most > asked + TRIALS:
        yield f"{tool.name} opened up to {most:,} connections instead of {asked:,}"
    loadgen = comparison.runs.get(LOADGEN.name)
    beside = paired(mine, loadgen, lambda run: run.rate_per_s) if tool.manager and mine and loadgen else None
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


def _commands(plan: Plan, comparisons: Sequence[Comparison]) -> str:
    # Loads that differ in numbers only have the same commands.
    rows = {
        (load.name, tool.name, tool.shown(plan.seconds)): [load.name, tool.name, version(tool)]
        for load in (comparison.load for comparison in comparisons)
        for tool in load.tools
    }
    cells = [[*words, f"`{command}`"] for (_, _, command), words in rows.items()]
    return table(["load", "tool", "version", "command"], cells, words=4)
