"""Results of loadgen: what they say, their reports and their tables."""

from __future__ import annotations

import functools
import html
import io
import re
import webbrowser
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import LoadgenError
from ._estimate import Basis, Estimate
from ._program import call, printable

if TYPE_CHECKING:
    import pandas as pd

    from .documents import (
        CapacityRecord,
        ExperimentRecord,
        OverRounds,
        RunRecord,
        RunsRecord,
        StepOverRounds,
        TargetRecord,
        ThresholdRecord,
        Verdict,
        VerdictKind,
    )

# Verdicts on what made the figures what they are, instead of the server: loadgen, a backend or the network.
SPOILING: set[VerdictKind] = {
    "backend_bound",
    "generator_bound",
    "generator_busy",
    "held_up",
    "littles_law",
    "measured_together",
    "network_bound",
    "schedule_not_kept",
    "slow_worker",
}

# Verdicts on a machine that gave the server less than its CPUs.
DISTURBING: set[VerdictKind] = {"disturbed", "stolen", "swapped", "throttled"}

# Verdicts after which nothing about the server holds.
FATAL: set[VerdictKind] = {"nothing_answered", "target_ended", "went_silent"}

# Documents that this package reads.
SCHEMAS = {
    "loadgen.run/1": "RunRecord",
    "loadgen.capacity/1": "CapacityRecord",
    "loadgen.experiment/1": "ExperimentRecord",
}

# Expected responses of a round that a percentile needs: ten beyond it.
NEEDED = {"p50": 20, "p90": 100, "p95": 200, "p99": 1000}


@dataclass(frozen=True)
class Report:
    """The page of a result: one file, which loads nothing from elsewhere."""

    path: Path

    def open(self) -> None:
        """Show the page in the browser."""
        webbrowser.open(self.path.absolute().as_uri())

    def _repr_html_(self) -> str:
        page = html.escape(self.path.read_text(encoding="utf-8"))
        # Its scripts run apart from those of the notebook.
        return f'<iframe sandbox="allow-scripts" srcdoc="{page}" style="width: 100%; height: 80vh; border: 0"></iframe>'


@dataclass(frozen=True)
class Result:
    """A saved result."""

    folder: Path
    """Folder of the result: the document, `report.html` and logs."""

    @functools.cached_property
    def table(self) -> str:
        """The table that loadgen prints."""
        return self._printed("table")

    def report(self) -> Report:
        """Return the page of the result, which a notebook shows."""
        return Report(self.folder / "report.html")

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each target and step, or for each trial of a search: the columns of `--format csv`."""
        try:
            import pandas as pd
        except ImportError:
            raise LoadgenError("to_pandas() needs pandas: pip install pandas") from None
        names = {"target": str, "step": str}
        return pd.read_csv(io.StringIO(self._printed("csv")), dtype=names, keep_default_na=False, na_values=[""])

    def _printed(self, form: str) -> str:
        done = call(["report", "--format", form, str(self.folder)])
        # A folder that cannot be written keeps its old page, but the result was printed.
        if not done.out:
            raise LoadgenError(done.error, done.exit_code)
        return done.out

    def __str__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table)}</pre>"


# Metrics of thresholds that are latencies.
LATENCY = re.compile(r"(^|\.)(p[\d.]+|mean|max)$")

# Name of all steps together.
ALL = "all"


class Figures:
    """Figures of a target, or of one of its steps, over the rounds: each with its confidence interval."""

    def __init__(self, name: str, over: StepOverRounds | None, basis: Basis) -> None:
        self._name = name
        self._over = over
        self._basis = basis

    @property
    def rate(self) -> Estimate:
        """Expected responses per second."""
        over = self._over.rate_per_s if self._over else None
        return self._estimate("rate", over, 1.0, "/s", "a round has no expected response")

    @property
    def p50(self) -> Estimate:
        """Median latency of the expected responses, in s."""
        return self._latency("p50")

    @property
    def p90(self) -> Estimate:
        """90th percentile of the latency of the expected responses, in s."""
        return self._latency("p90")

    @property
    def p95(self) -> Estimate:
        """95th percentile of the latency of the expected responses, in s."""
        return self._latency("p95")

    @property
    def p99(self) -> Estimate:
        """99th percentile of the latency of the expected responses, in s."""
        return self._latency("p99")

    @property
    def error_rate(self) -> Estimate:
        """Share of the requests that failed or had no response, from 0 to 1."""
        over = self._over.failed_percent if self._over else None
        name = f"error rate of {self._name}"
        if over is None:
            return Estimate(name, None, None, None, "%", self._basis, self._too_few("no request was sent"))
        low, high = over.confidence_95
        return Estimate(name, over.share / 100, low / 100, high / 100, "%", self._basis)

    def _latency(self, percentile: str) -> Estimate:
        over = getattr(self._over.latency_us, percentile) if self._over else None
        lacking = (
            f"a round has fewer than {NEEDED[percentile]:,} expected responses, which this percentile needs: "
            "measure with a longer `duration`"
        )
        return self._estimate(percentile, over, 1e-6, "s", lacking)

    def _estimate(self, figure: str, over: OverRounds | None, scale: float, unit: str, lacking: str) -> Estimate:
        name = f"{figure} of {self._name}"
        if over is None:
            return Estimate(name, None, None, None, unit, self._basis, self._too_few(lacking))
        low, high = over.confidence_95
        return Estimate(name, over.mean * scale, low * scale, high * scale, unit, self._basis)

    def _too_few(self, otherwise: str) -> str:
        if self._basis.rounds >= 2:
            return otherwise if self._over else "an earlier version of loadgen saved no figures over rounds"
        return f"an interval needs at least two whole rounds, and {self._basis.rounds} ran as planned: rounds=5"


class Target(Figures):
    """Results of one target."""

    def __init__(self, record: TargetRecord, basis: Basis) -> None:
        self.record = record
        self.name = record.name
        super().__init__(record.name, record.over_rounds.get(ALL), basis)

    def __repr__(self) -> str:
        return f"<Target {self.name}>"

    def step(self, name: str) -> Figures:
        """Return the figures of the step of this name."""
        steps = [step.name for step in self.record.steps]
        if name not in steps:
            raise LoadgenError(f"{self.name} has no step {name!r}: its steps are {', '.join(steps)}")
        if name == ALL:
            raise LoadgenError(f"{ALL!r} stands for all steps together: give the step another name")
        return Figures(f"{name} of {self.name}", self.record.over_rounds.get(name), self._basis)


@dataclass(frozen=True)
class Run(Result):
    """A run. A run over one target has the figures of the target: `run.p99`."""

    record: RunRecord

    @functools.cached_property
    def targets(self) -> list[Target]:
        """The targets, in the order in which they were named."""
        report = f"report: {self.folder / 'report.html'}"
        return [Target(target, self._basis(target, report)) for target in self.record.targets]

    def target(self, name: str) -> Target:
        """Return the target of this name."""
        found = next((target for target in self.targets if target.name == name), None)
        if found is None:
            names = ", ".join(target.name for target in self.targets)
            raise LoadgenError(f"no target {name!r} was measured: the targets are {names}")
        return found

    @property
    def verdicts(self) -> list[Verdict]:
        """What to know before believing the figures."""
        return self.record.verdicts

    @property
    def failures(self) -> list[str]:
        """Thresholds and proofs that failed, in words; none if all held."""
        thresholds = [_failed(it) for it in self.record.thresholds if not it.passed]
        return thresholds + [said(verdict) for verdict in self.verdicts if verdict.kind == "proof_failed"]

    @property
    def fatal(self) -> list[str]:
        """Why nothing that the run says about a server holds, in words; none for a sound run."""
        return [said(verdict) for verdict in self.verdicts if verdict.kind in FATAL]

    @property
    def rate(self) -> Estimate:
        """Expected responses per second."""
        return self._only.rate

    @property
    def p50(self) -> Estimate:
        """Median latency of the expected responses, in s."""
        return self._only.p50

    @property
    def p90(self) -> Estimate:
        """90th percentile of the latency of the expected responses, in s."""
        return self._only.p90

    @property
    def p95(self) -> Estimate:
        """95th percentile of the latency of the expected responses, in s."""
        return self._only.p95

    @property
    def p99(self) -> Estimate:
        """99th percentile of the latency of the expected responses, in s."""
        return self._only.p99

    @property
    def error_rate(self) -> Estimate:
        """Share of the requests that failed or had no response, from 0 to 1."""
        return self._only.error_rate

    def step(self, name: str) -> Figures:
        """Return the figures of the step of this name."""
        return self._only.step(name)

    @property
    def _only(self) -> Target:
        if len(self.targets) != 1:
            names = ", ".join(target.name for target in self.targets)
            raise LoadgenError(f"the run has several targets: use `run.target(name)` with one of {names}")
        return self.targets[0]

    def _of(self, target: str) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.target in (None, target)]

    def _basis(self, target: TargetRecord, report: str) -> Basis:
        def told(kinds: Container[str]) -> str:
            return "\n".join(said(it) for it in self._of(target.name) if it.kind in kinds)

        notes = (*self._notes(target.name), report)
        return Basis(_starts(target), told(SPOILING), told(DISTURBING), notes)

    def _notes(self, target: str) -> list[str]:
        return [said(verdict) for verdict in self._of(target) if concerns_tests(verdict)]

    def __repr__(self) -> str:
        return f"<Run {', '.join(target.name for target in self.targets)} in {self.folder}>"


def _starts(record: TargetRecord) -> int:
    """Return how many starts ran as planned: without slices, rounds."""
    whole: dict[int, list[bool]] = {}
    for round in record.rounds:
        whole.setdefault(round.slice.start if round.slice else round.round, []).append(round.whole)
    return sum(map(all, whole.values()))


def _failed(threshold: ThresholdRecord) -> str:
    """Return how a threshold failed."""
    why = {
        "too_few_samples": "has too few samples: measure with a longer `duration`",
        "in_flight": "failed, because requests had no response at the end",
    }.get(threshold.failed_by or "", "failed")
    # The value has the unit of the record, and the threshold that of the scenario.
    value = "" if threshold.measured is None else f" ({_measured(threshold)})"
    return printable(f"{threshold.target}: {threshold.threshold} {why}{value}")


def _measured(threshold: ThresholdRecord) -> str:
    """Return the measured value of a threshold, which is in µs for a latency and from 0 to 1 for a rate of errors."""
    value, metric = threshold.measured or 0.0, threshold.threshold.split()[0]
    if LATENCY.search(metric):
        return f"measured: {value / 1000:.3g} ms"
    return f"measured: {100 * value:.3g} %" if metric.endswith("error_rate") else f"measured: {value:.6g}"


def said(verdict: Verdict) -> str:
    """Return what a verdict says, with its code, by which docs/reference/verdicts.md explains it."""
    return printable(f"{verdict.message} [{verdict.kind}]")


def concerns_tests(verdict: Verdict) -> bool:
    """Return whether a verdict is more than what the figures say: a percentile with too few samples is unknown."""
    return verdict.kind != "too_few_samples"


@dataclass(frozen=True)
class Capacity(Result):
    """A search for the highest rate."""

    record: CapacityRecord


@dataclass(frozen=True)
class Experiment(Result):
    """A repeated experiment."""

    record: ExperimentRecord


@dataclass(frozen=True)
class Comparison:
    """A comparison of saved runs with the first of them."""

    record: RunsRecord
    table: str
    """The table that loadgen prints."""

    def __str__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table)}</pre>"


def result(folder: Path, document: dict[str, Any]) -> Result:
    """Return the result of a document."""
    from . import documents
    from ._read import decoded

    kinds: dict[str, Any] = {"RunRecord": Run, "CapacityRecord": Capacity, "ExperimentRecord": Experiment}
    name = SCHEMAS.get(str(document["schema"]))
    if name is None:
        raise LoadgenError(
            f"{folder} has a document in the form {document['schema']!r}, and this version of loadgen reads "
            f"{', '.join(SCHEMAS)}"
        )
    found: Result = kinds[name](folder, decoded(document, getattr(documents, name)))
    return found
