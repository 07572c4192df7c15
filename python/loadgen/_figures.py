"""Figures of targets and steps, with their intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._errors import LoadgenError
from ._estimate import Basis, Estimate

if TYPE_CHECKING:
    from .documents import OverRounds, StepOverRounds, Summary, TargetRecord

# Expected responses of a round that a percentile needs: ten beyond it.
NEEDED = {"p50": 20, "p90": 100, "p95": 200, "p99": 1000}


@dataclass(frozen=True)
class Source:
    """Where figures come from."""

    name: str
    """What they are figures of, such as `shop`."""
    over: StepOverRounds | None
    pooled: Summary
    """All rounds together: a figure without an interval."""
    basis: Basis


class Figures(ABC):
    """Figures of a target, or of one of its steps, over the rounds: each with its confidence interval."""

    @property
    @abstractmethod
    def _source(self) -> Source: ...

    @property
    def rate(self) -> Estimate:
        """Expected responses per second."""
        over = self._source.over.rate_per_s if self._source.over else None
        pooled = self._source.pooled.rate_per_s
        return self._estimate("rate", over, pooled, 1.0, "/s", "a round has no expected response")

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
        over = self._source.over.failed_percent if self._source.over else None
        name = f"error rate of {self._source.name}"
        if over is None:
            share = _failed(self._source.pooled)
            return Estimate(name, share, None, None, "%", self._source.basis, self._too_few("no request was sent"))
        low, high = over.confidence_95
        return Estimate(name, over.share / 100, low / 100, high / 100, "%", self._source.basis)

    def _latency(self, percentile: str) -> Estimate:
        over = getattr(self._source.over.latency_us, percentile) if self._source.over else None
        lacking = (
            f"a round has fewer than {NEEDED[percentile]:,} expected responses, which this percentile needs: "
            "measure with a longer `duration`"
        )
        pooled = getattr(self._source.pooled.latency_us, percentile)
        return self._estimate(percentile, over, pooled, 1e-6, "s", lacking)

    def _estimate(
        self, figure: str, over: OverRounds | None, pooled: float | None, scale: float, unit: str, lacking: str
    ) -> Estimate:
        name = f"{figure} of {self._source.name}"
        if over is None:
            value = None if pooled is None else pooled * scale
            return Estimate(name, value, None, None, unit, self._source.basis, self._too_few(lacking))
        low, high = over.confidence_95
        return Estimate(name, over.mean * scale, low * scale, high * scale, unit, self._source.basis)

    def _too_few(self, otherwise: str) -> str:
        if self._source.basis.rounds >= 2:
            return otherwise if self._source.over else "an earlier version of loadgen saved no figures over rounds"
        return f"an interval needs at least two whole rounds, and {self._source.basis.rounds} ran as planned: rounds=5"


class Step(Figures):
    """Figures of one step of a target."""

    def __init__(self, source: Source) -> None:
        self._found = source

    @property
    def _source(self) -> Source:
        return self._found


class Target(Figures):
    """Results of one target."""

    def __init__(self, record: TargetRecord, basis: Basis) -> None:
        self.record = record
        self.name = record.name
        self._basis = basis

    @property
    def _source(self) -> Source:
        from .documents import StepOverRounds

        record = self.record
        over = StepOverRounds(
            rate_per_s=record.rate_over_rounds_per_s,
            latency_us=record.latency_over_rounds_us,
            failed_percent=record.failed_over_rounds_percent,
        )
        # An earlier version saved only the latencies.
        return Source(self.name, over if record.steps_over_rounds else None, record.total, self._basis)

    def __repr__(self) -> str:
        return f"<Target {self.name}>"

    def step(self, name: str) -> Figures:
        """Return the figures of the step of this name."""
        steps = {step.name: step for step in self.record.steps}
        if name not in steps:
            raise LoadgenError(f"{self.name} has no step {name!r}: its steps are {', '.join(steps)}")
        over = self.record.steps_over_rounds.get(name)
        return Step(Source(f"{name} of {self.name}", over, steps[name], self._basis))


def _failed(summary: Summary) -> float | None:
    """Return the share of the requests that failed or had no response; `None` without a request."""
    failed = summary.errors + summary.failed_late + summary.unanswered
    requests = summary.requests + summary.answered_late + summary.failed_late + summary.unanswered
    return failed / requests if requests else None


def starts(record: TargetRecord) -> int:
    """Return how many starts ran as planned: without slices, rounds."""
    whole: dict[int, list[bool]] = {}
    for round in record.rounds:
        whole.setdefault(round.slice.start if round.slice else round.round, []).append(round.whole)
    return sum(map(all, whole.values()))
