"""Holds measurements, and computes medians and ratios. Runs no programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.claims import Latency
from bench.loads import Load
from bench.process import Failed


@dataclass(frozen=True)
class Sample:
    """Figures of one run of one tool."""

    cpu_us: float
    rate_per_s: float
    memory_mb: float
    opened: int
    manager_percent: float
    wall_s: float
    # Latencies as the tool reports them.
    claimed: Latency | None = None

    def __str__(self) -> str:
        return f"{self.cpu_us:.1f} CPU-µs/request, {self.rate_per_s:,.0f} requests/s"


def cost(run: Sample) -> float:
    """Return the CPU time of a request, in µs."""
    return run.cpu_us


REASONS_TOLD = 3

# Each tool's runs, one for each pass.
Runs = dict[str, list[Sample | Failed]]


@dataclass(frozen=True)
class Comparison:
    """Runs of the tools under one load, and the reasons why other tools did not run."""

    load: Load
    runs: Runs
    skipped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ratio:
    """Ratio of two tools over the passes in which both have a result."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.least:.2f} to {self.most:.2f})"


def middle(runs: Sequence[Sample | Failed], value: Callable[[Sample], float]) -> float:
    """Return the median over the runs that have a result. At least one run must have a result."""
    return median(value(run) for run in runs if isinstance(run, Sample))


def paired(
    ours: Sequence[Sample | Failed], theirs: Sequence[Sample | Failed], value: Callable[[Sample], float]
) -> Ratio | None:
    """Return our value over theirs. Compares only runs of the same pass, because machines drift."""
    pairs = zip(ours, theirs, strict=True)
    ratios = [value(a) / value(b) for a, b in pairs if isinstance(a, Sample) and isinstance(b, Sample)]
    return Ratio(median(ratios), min(ratios), max(ratios)) if ratios else None


def failures(runs: Sequence[Sample | Failed]) -> str:
    """Return how many runs failed and the first of the reasons; empty if no run failed."""
    failed = [str(run) for run in runs if isinstance(run, Failed)]
    if not failed:
        return ""
    reasons = list(dict.fromkeys(failed))
    told = [*reasons[:REASONS_TOLD], *(["and others"] if len(reasons) > REASONS_TOLD else [])]
    return f"{len(failed)} of {len(runs)} runs failed: {'; '.join(told)}"
