"""Measures the cost of each feature: one step against nginx, with one feature added at a time.

Run with `make bench-features`. `python -m bench.features --help` lists the options.
"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.loads import Load
from bench.measurement import measure, options
from bench.page import table
from bench.passes import at_work, count, passes
from bench.plan import Plan
from bench.results import Runs, Sample, cost, failures, middle, paired
from bench.tools import LOADGEN_OPTIONS, Tool

REGION = "features"
HEADERS = ["feature", "in the scenario", "CPU-µs/request", "÷ status only (range)"]
ITEM = '{ sku = "{{ uuid }}", name = "{{ name }}", quantity = "{{ int 1 100 }}", price_cents = 250 }'
# One step captures a value and the next step uses the value: a request costs half a capture and half a use.
NEXT = '[[step]]\nname = "next"\nget = "/many?id={{ id }}"\nexpect = { status = 200 }'
PEOPLE = "name\n" + "".join(f"user{number}\n" for number in range(1_000))


@dataclass(frozen=True)
class Feature:
    """A step that differs from the baseline in one feature."""

    name: str
    request: str = 'get = "/many"'
    expect: str = "status = 200"
    # More keys of the step and of the file, keys of [http], and options of the command line.
    keys: str = ""
    http: str = ""
    options: str = ""

    def scenario(self) -> str:
        http = f"[http]\n{self.http}\n\n" if self.http else ""
        return f'{http}[[step]]\nname = "step"\n{self.request}\nexpect = {{ {self.expect} }}\n{self.keys}\n'

    def shown(self) -> str:
        """Return the difference from the baseline, as a table cell."""
        plain = Feature("")
        parts = [
            self.request if self.request != plain.request else "",
            self.expect.removeprefix(f"{plain.expect}, ") if self.expect != plain.expect else "",
            self.keys,
            self.http,
            self.options,
        ]
        return ", ".join(f"`{line}`" for part in parts for line in part.splitlines() if line)

    def tool(self, folder: Path, number: int) -> Tool:
        file = folder / f"{number}.toml"
        file.write_text(self.scenario())
        (folder / "people.csv").write_text(PEOPLE)
        return Tool(self.name, "loadgen", f"--scenario {shlex.quote(str(file))} {LOADGEN_OPTIONS} {self.options}")


BASELINE = Feature("status only", request='get = "/many"')
FEATURES = [
    BASELINE,
    Feature("a text in the body", expect='status = 200, body = "Hello world"'),
    Feature("one JSON value", expect='status = 200, json = { "/id" = 7 }'),
    Feature(
        "four JSON values",
        expect='status = 200, json = { "/message" = "Hello world", "/id" = 7, "/values/0" = "a", "/values/1" = "b" }',
    ),
    Feature("a counter", keys='counters = { ids = "/id" }'),
    Feature("a number in the path", request='get = "/many?id={{ int 1 1000 }}"'),
    Feature("a UUID in a header", keys='headers = { x-request = "{{ uuid }}" }'),
    Feature("a generated JSON body", request=f'post = "/many"\nbody = {{ json = [{ITEM}] }}'),
    Feature("a batch of 100 rows", request=f'post = "/many"\nbody = {{ repeat = 100, json = {ITEM} }}'),
    Feature("a captured value", keys=f'capture = {{ id = {{ json = "/id" }} }}\n{NEXT}'),
    Feature(
        "a row of a file",
        request='get = "/many?name={{ people.name }}"',
        keys='\n[rows.people]\nfile = "people.csv"\nuse = "cycle"',
    ),
    Feature("reqwest", http='transport = "reqwest"'),
    Feature("a cookie with each response", request='get = "/cookie"', http="cookies = true"),
    Feature("cookies (by reqwest)", request='get = "/cookie"', http='transport = "reqwest"\ncookies = true'),
    Feature("4 worker processes", options="--workers 4"),
]


def main() -> int:
    parser = options(REGION, __doc__, passes=(7, "runs of each feature"), seconds=(3, "seconds of each run"))
    parser.add_argument("--users", type=count, default=100, metavar="N", help="number of users (default: 100)")
    given = parser.parse_args()
    return measure(REGION, given, lambda plan: report(plan, given.users, measured(plan, FEATURES, given.users)))


def measured(plan: Plan, features: Sequence[Feature], users: int) -> Runs:
    with at_work(plan) as (server, folder):
        tools = [feature.tool(folder, number) for number, feature in enumerate(features)]
        load = Load("features", f"{users:,} users", tools, connections=users)
        return passes(plan, load, server, folder)


def report(plan: Plan, users: int, runs: Runs) -> str:
    """Return the table and the failures."""
    notes = [f"- {name}: {failed}" for name, its in runs.items() if (failed := failures(its))]
    rows = [_row(feature, runs) for feature in FEATURES if feature.name in runs]
    counted = f"{users:,} users, {plan.passes} passes of {plan.seconds} s for each feature."
    return "\n\n".join([counted, table(HEADERS, rows, words=2), *(["\n".join(notes)] if notes else [])])


def _row(feature: Feature, runs: Runs) -> list[str]:
    its = runs[feature.name]
    if not any(isinstance(run, Sample) for run in its):
        return [feature.name, feature.shown(), "failed", ""]
    ratio = None if feature is BASELINE else paired(its, runs[BASELINE.name], cost)
    return [feature.name, feature.shown(), f"{middle(its, cost):.2f}", str(ratio or "")]


if __name__ == "__main__":
    sys.exit(main())
