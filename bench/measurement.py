"""Runs a program that measures one part of the cost, and prints the result or writes it into a region of a page."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from bench.page import about
from bench.passes import count, lacks
from bench.plan import Plan
from bench.process import Failed
from bench.regions import lacking, publish

# A default, and what the option with this default counts.
Count = tuple[int, str]


def options(part: str, doc: str | None, *, passes: Count, seconds: Count) -> argparse.ArgumentParser:
    """Return the options that all programs have. `doc` is the program's module documentation."""
    program = f"python -m bench.{part}"
    parser = argparse.ArgumentParser(prog=program, description=(doc or "").splitlines()[0])
    for name, (default, what) in [("--passes", passes), ("--seconds", seconds)]:
        parser.add_argument(name, type=count, default=default, metavar="N", help=f"{what} (default: {default})")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help=f"write the table into region {part} of FILE")
    return parser


def measure(part: str, options: argparse.Namespace, report: Callable[[Plan], str], lack: str | None = None) -> int:
    """Publish a report, and return the exit code. `lack` says what the measurement of this part lacks."""
    plan = Plan.of(options.passes, options.seconds)
    if missing := lacks() or lack or lacking(options.markdown, part):
        print(missing, file=sys.stderr)
        return 1
    machine = about(plan)
    try:
        text = report(plan)
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    publish(f"{machine}\n\n{text}", options.markdown, part)
    return 0
