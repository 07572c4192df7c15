"""What documents say, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ._program import printable

if TYPE_CHECKING:
    from .documents import GateRecord, JudgedTarget, ThresholdRecord, Verdict, VerdictKind

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

# What a target of a gate may lose.
FIGURES = {
    "cpu_time": "CPU time per request",
    "rate": "rate of expected responses",
    "latency": "median latency",
    "capacity": "capacity",
}

# Metrics of thresholds that are latencies.
LATENCY = re.compile(r"(^|\.)(p[\d.]+|mean|max)$")


def failed(threshold: ThresholdRecord) -> str:
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


def judged(it: JudgedTarget, gate: GateRecord) -> str:
    """Return what a gate found of one target."""
    if it.loss_percent is None or it.confidence_percent is None:
        return printable(f"{it.target} cannot be judged against {gate.base}: {it.why_not}")
    # A loss of rate is a rate that is lower.
    sign = -1 if it.of in ("rate", "capacity") else 1
    loss, *ends = (f"{sign * percent + 0.0:+.1f}" for percent in (it.loss_percent, *it.confidence_percent))
    told = {
        "slower": f"{it.target} is slower than {gate.base}",
        "not_slower": f"{it.target} is not slower than {gate.base}",
        "open": f"it is not shown whether {it.target} is slower than {gate.base}",
    }[it.judgement]
    low, high = ends[::sign]
    accepted = f"a loss of {gate.limit_percent:g} % is accepted"
    return printable(f"{told}: {loss} % {FIGURES[it.of]} ({low} to {high} %); {accepted}")
