"""Measures the cost of each part of a request: the benches of the crates, as one table.

Run with `make bench-parts`. `python -m bench.parts --help` lists the options.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.page import about, table
from bench.passes import count
from bench.plan import Plan
from bench.process import ROOT
from bench.regions import lacking, publish

REGION = "parts"
HEADERS = ["part", "time", "95 % interval"]
# In the order in which the parts of a request run.
GROUPS = ["request", "read", "check", "recording"]


@dataclass(frozen=True)
class Part:
    """A bench with its median and the bounds of criterion's confidence interval."""

    name: str
    median_ns: float
    low_ns: float
    high_ns: float

    def row(self) -> list[str]:
        return [self.name.replace("{{", "`{{").replace("}}", "}}`"), shown(self.median_ns), self._interval()]

    def _interval(self) -> str:
        return f"{shown(self.low_ns)} to {shown(self.high_ns)}"


def main() -> int:
    options = _options()
    plan = Plan.of(passes=1, seconds=options.seconds)
    if missing := lacking(options.markdown, REGION):
        print(missing, file=sys.stderr)
        return 1
    machine = about(plan)
    with tempfile.TemporaryDirectory(prefix="loadgen-bench-") as folder:
        command = ["cargo", "bench", "--locked", "--", "--noplot"]
        lengths = ["--warm-up-time", "0.5", "--measurement-time", str(options.seconds)]
        environment = {**os.environ, "CRITERION_HOME": folder}
        done = subprocess.run([*command, *lengths], cwd=ROOT, env=environment, stdout=sys.stderr, check=False)
        if done.returncode:
            return done.returncode
        text = f"{machine}\n\n{report(read(Path(folder)))}"
    publish(text, options.markdown, REGION)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.parts", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=count, default=2, metavar="N", help="seconds of each bench (default: 2)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help=f"write the table into region {REGION} of FILE")
    return parser.parse_args()


def read(folder: Path) -> list[Part]:
    """Return the results that criterion saved, by group and, within a group, in the order of measurement."""
    files = sorted(folder.glob("*/new/estimates.json"), key=lambda file: file.stat().st_mtime_ns)
    parts = [_part(file) for file in files]
    return sorted(parts, key=lambda part: GROUPS.index(part.name.partition(":")[0]))


def _part(estimates: Path) -> Part:
    name = json.loads(estimates.with_name("benchmark.json").read_text())["full_id"]
    median = json.loads(estimates.read_text())["median"]
    interval = median["confidence_interval"]
    return Part(name, median["point_estimate"], interval["lower_bound"], interval["upper_bound"])


def report(parts: Sequence[Part]) -> str:
    return table(HEADERS, [part.row() for part in parts])


def shown(nanoseconds: float) -> str:
    return f"{nanoseconds:.0f} ns" if nanoseconds < 1000 else f"{nanoseconds / 1000:.1f} µs"


if __name__ == "__main__":
    sys.exit(main())
