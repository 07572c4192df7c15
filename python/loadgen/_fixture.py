"""What the fixture `loadgen` of the plugin for pytest gives to a test."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

import pytest

from ._errors import LoadgenError, Undecided
from ._figures import Figures
from ._functions import DONE, FAILED_CHECK, failure, measured, new_folder
from ._gate import TARGETS, judge, measure, targets_file
from ._options import RunOptions
from ._program import Done, Show, show
from ._results import Run
from ._words import concerns_tests, said

# An interval needs several rounds, and one round is not a test's idea of a measurement.
ROUNDS = 5

# The line with which a measurement begins, and that of a wait for another one.
TOLD = re.compile(r"[\d,]+ rounds? over |waiting for loadgen ")

Row = dict[str, str]
"""A line of the summary: what was measured, and its figures."""


class Loadgen:
    """Sends load for one test, and remembers the results for pytest's reports."""

    def __init__(
        self,
        name: str,
        folder: Path,
        out: Path,
        shown_from: Path,
        announce: Callable[[str], None],
        url: str | None,
        base: str,
        options: dict[str, Any],
        properties: list[tuple[str, object]],
    ) -> None:
        self._name = re.sub(r"[^\w.-]+", "-", name)[:80].strip("-")
        self._folder = folder
        self._out = out
        self._url = url
        self._announce = announce
        self._shown_from = shown_from
        self._base = base
        self._options = options
        self.runs: list[Run] = []
        """Results of the test, in their order."""
        self.rows: list[Row] = []
        self._properties = properties

    def run(self, *requests: str, **options: Unpack[RunOptions]) -> Run:
        """Measure, as `loadgen.run` does, in five rounds unless `rounds` says otherwise. A threshold or a proof that
        fails is an `AssertionError`."""
        __tracebackhide__ = True
        chosen: dict[str, Any] = {"rounds": ROUNDS, **self._options, **options, **self._where(requests, options)}
        if "out" not in chosen:
            chosen["out"] = new_folder(self._out, self._name)
        done, found = measured("run", requests, chosen, self._progress(), self._folder)
        if isinstance(found, Run):
            self._remember(found)
        if done.exit_code not in (DONE, FAILED_CHECK) or not isinstance(found, Run):
            raise failure(done, found)
        self._judge(found, done)
        return found

    def assert_not_slower(
        self, *requests: str, base: str | None = None, limit: str | float = "5%", **options: Unpack[RunOptions]
    ) -> Run:
        """Assert that the target in the working tree is not slower than at the commit `base`, as
        `loadgen.assert_not_slower` does. The option `--loadgen-base` names the commit unless `base` does."""
        __tracebackhide__ = True
        if self._url:
            pytest.skip("assert_not_slower starts both versions of the server itself, which --loadgen-url does not")
        runs = measure(
            requests,
            base or self._base,
            limit,
            progress=self._progress(),
            options={**self._options, **options},
            folder=self._folder,
            out=lambda: new_folder(self._out, self._name),
        )
        for run in runs[:-1]:
            self._remember_earlier(run)
        self._remember(runs[-1])
        judge(runs[-1])
        return runs[-1]

    def _judge(self, run: Run, done: Done) -> None:
        """Raise an exception if a threshold, a proof or a gate of the run failed."""
        __tracebackhide__ = True
        report = str(run.report())
        gate = run.record.gate.judged if run.record.gate else []
        slower = [run.judged[it.target] for it in gate if it.judgement == "slower"]
        failed = [*run.failures, *slower]
        failed_by = [it.failed_by for it in run.record.thresholds if not it.passed]
        if failed and len(failed_by) == len(failed) and set(failed_by) == {"too_few_samples"}:
            raise Undecided("\n".join([*failed, report]))
        if failed:
            raise AssertionError("\n".join([*failed, report]))
        if done.exit_code == FAILED_CHECK:
            raise failure(done, run)

    def _progress(self) -> Show:
        """Return what shows the progress: pytest captures it, but for what says how long a measurement takes."""

        def progress(line: str) -> None:
            if TOLD.match(line):
                self._announce(line.strip())
            show(line)

        return progress

    def _where(self, requests: tuple[str, ...], options: RunOptions) -> dict[str, Any]:
        """Return the options that say which server to load."""
        __tracebackhide__ = True
        given = {**self._options, **options}
        if given.get("url") or any(not request.startswith("/") for request in requests):
            return {}
        if self._url:
            return {"url": self._url, "target": None}
        if not given.get("target") and targets_file(self._folder) is None:
            raise LoadgenError(
                f"there is no {TARGETS} in {self._folder} or above, which says how the server is started: "
                "`loadgen init --targets` writes it; --loadgen-url loads a server that runs already"
            )
        return {}

    def _remember_earlier(self, run: Run) -> None:
        """Keep that a gate measured again, after this run."""
        self.runs.append(run)
        self.rows.append({"says": f"measured again, after {self._report(run)}"})

    def _report(self, run: Run) -> str:
        return os.path.relpath(run.folder / "report.html", self._shown_from)

    def _remember(self, run: Run) -> None:
        """Keep what pytest reports of a run."""
        number = len(self.runs) + 1
        self.runs.append(run)
        begin = "loadgen" if number == 1 else f"loadgen.{number}"
        for target in run.targets:
            self.rows.append(_row(target.name, target))
            for name in ("rate", "p50", "p95", "p99", "error_rate"):
                figure = getattr(target, name)
                if figure.value is not None:
                    self._properties.append((f"{begin}.{target.name}.{name}", f"{figure.value:.6g}"))
        self.rows += [{"says": sentence} for sentence in run.judged.values()]
        for it in run.record.gate.judged if run.record.gate else []:
            self._properties.append((f"{begin}.{it.target}.judgement", it.judgement))
        for verdict in filter(concerns_tests, run.verdicts):
            of = f"{verdict.target}: " if verdict.target and len(run.targets) > 1 else ""
            self.rows.append({"says": f"! {of}{said(verdict)}"})
        report = self._report(run)
        self.rows.append({"says": report})
        self._properties.append((f"{begin}.report", report))


def _row(name: str, figures: Figures) -> Row:
    def shown(figure: str) -> str:
        estimate = getattr(figures, figure)
        return "-" if estimate.value is None else estimate.shown(estimate.value)

    rate = figures.rate
    spread = ""
    if rate.value and rate.low is not None and rate.high is not None:
        spread = f" ±{100 * max(rate.high / rate.value - 1, 1 - rate.low / rate.value):.0f} %"
    columns = {"p50": "p50", "p99": "p99", "errors": "error_rate"}
    return {
        "name": name,
        "rate": shown("rate").removesuffix("/s") + spread,
        **{key: shown(figure) for key, figure in columns.items()},
    }
