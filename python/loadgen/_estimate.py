"""Figures with their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NoReturn

from ._errors import Undecided

# More rounds are no advice: the bound is within what the server does.
ROUNDS_MAX = 1000

# A disturbed machine may explain a bound that is missed by less than this factor, and no more than that.
MACHINE = 2.0

# Probability with which the advised number of rounds decides, if the figure is what it seems to be.
POWER = 0.9


@dataclass(frozen=True)
class Basis:
    """What the estimates of a run rest on."""

    rounds: int
    """Rounds that ran as planned."""
    spoiled: str = ""
    """What made the figures what they are, instead of the server; empty if nothing is known."""
    disturbed: str = ""
    """Why the machine gave the server less than its CPUs; empty if it did not, as far as is known."""
    notes: tuple[str, ...] = ()
    """What to know before believing the figures, and where the report is."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A figure, with its 95 % confidence interval over rounds.

    A comparison with a number, such as `result.p99 < 0.05`, is true or false only if the whole interval is on one side
    of the number. Otherwise, it raises `Undecided`: the next measurement might say the opposite. So it does if the
    server looks slow, and something else may be the reason.
    """

    name: str
    """Figure and target, such as `p99 of shop`."""
    value: float | None
    """The figure, in s, 1/s, or as a share from 0 to 1; `None` if it is unknown."""
    low: float | None
    high: float | None
    unit: str
    """`s`, `/s`, or `%` for a share."""
    basis: Basis
    why_not: str = ""
    """Why the figure or its interval is unknown."""

    def __lt__(self, bound: float) -> bool:
        __tracebackhide__ = True
        return self._compare(bound, "<", lambda value: value < bound)

    def __le__(self, bound: float) -> bool:
        __tracebackhide__ = True
        return self._compare(bound, "<=", lambda value: value <= bound)

    def __gt__(self, bound: float) -> bool:
        __tracebackhide__ = True
        return self._compare(bound, ">", lambda value: value > bound)

    def __ge__(self, bound: float) -> bool:
        __tracebackhide__ = True
        return self._compare(bound, ">=", lambda value: value >= bound)

    def __eq__(self, other: object) -> bool:
        __tracebackhide__ = True
        if other is self:
            return True
        self._refuse("a figure with an interval is not equal to a number")

    def __bool__(self) -> bool:
        __tracebackhide__ = True
        self._refuse("a figure with an interval is neither true nor false")

    __hash__ = object.__hash__

    def _refuse(self, why: str) -> NoReturn:
        __tracebackhide__ = True
        raise TypeError(f"{self!r}: {why}: use <, <=, > or >=, or `float()` for the figure alone")

    def __float__(self) -> float:
        if self.value is None:
            raise Undecided(f"{self.name} is unknown: {self.why_not}")
        return self.value

    def __repr__(self) -> str:
        if self.value is None:
            return f"{self.name}: unknown"
        if self.low is None or self.high is None:
            return f"{self.name}: {self.shown(self.value)}"
        return f"{self.name}: {self.shown(self.value)} ({self.shown(self.low)} to {self.shown(self.high)})"

    def shown(self, value: float) -> str:
        """Return a value with its unit."""
        match self.unit:
            case "s" if abs(value) >= 1:
                return f"{_three_digits(value)} s"
            case "s":
                return f"{_three_digits(value * 1000)} ms"
            case "%":
                return f"{_three_digits(value * 100)} %"
            case _:
                return f"{_three_digits(value)}{self.unit}"

    def _compare(self, bound: object, operator: str, holds: Callable[[float], bool]) -> bool:
        # pytest then shows the line of the test, instead of this one.
        __tracebackhide__ = True
        if isinstance(bound, bool) or not isinstance(bound, int | float):
            raise TypeError(
                f"{self.name} is compared with a number, not with {bound!r}: between targets, "
                "look at `record.comparison`, or use assert_not_slower"
            )
        if math.isnan(bound):
            raise ValueError(f"{self.name} is compared with nan, which is no bound")
        if self.value is None or self.low is None or self.high is None:
            raise Undecided(f"{self.name} {operator} {self.shown(bound)} cannot be judged:\n{self.why_not}")
        if holds(self.low) != holds(self.high):
            told = f"{self!r} neither shows nor rules out {operator} {self.shown(bound)}:"
            lines = [told, self._advice(bound), self.basis.spoiled, self.basis.disturbed]
            raise Undecided("\n".join(line for line in lines if line))
        if reason := self._other_reason(bound):
            side = "below" if self.unit == "/s" else "above"
            raise Undecided(
                f"{self!r} is {side} {self.shown(bound)}, but not only the server may be the reason:\n{reason}"
            )
        return holds(self.low)

    def _other_reason(self, bound: float) -> str:
        """Return what else than the server may have put the interval on the slow side of a bound; empty if nothing."""
        # For the caller: both are known here.
        assert self.low is not None
        assert self.high is not None
        match self.unit:
            case "/s" if self.high < bound:
                factor = bound / self.high if self.high > 0 else math.inf
            case "s" if self.low > bound:
                factor = self.low / bound if bound > 0 else math.inf
            case _:
                return ""
        return self.basis.spoiled or (self.basis.disturbed if factor < MACHINE else "")

    def _advice(self, bound: float) -> str:
        """Return how many rounds would most likely decide."""
        needed = self._rounds_needed(bound)
        if needed is None:
            return f"more than {ROUNDS_MAX:,} rounds would be needed: choose another bound"
        return f"{self.basis.rounds} rounds were measured, about {needed} would decide: rounds={needed}"

    def _rounds_needed(self, bound: float) -> int | None:
        # For the caller: all of them are known here.
        assert self.value is not None
        assert self.low is not None
        assert self.high is not None
        rounds = self.basis.rounds
        if self.unit == "%" and self.value == 0:
            # Wilson's bound falls with the number of requests.
            return _at_most(math.ceil(rounds * self.high / bound) + 1) if bound > 0 else None
        # Rates and latencies vary in proportion to themselves.
        of = math.log if min(self.value, self.low, self.high, bound) > 0 and self.unit != "%" else float
        end = self.high if bound > self.value else self.low
        distance = abs(of(bound) - of(self.value))
        deviation = abs(of(end) - of(self.value)) * math.sqrt(rounds) / student(0.975, rounds - 1)
        for needed in range(rounds + 1, ROUNDS_MAX + 1):
            quantiles = student(0.975, needed - 1) + student(POWER, needed - 1)
            if quantiles * deviation <= distance * math.sqrt(needed):
                return needed
        return None


def _at_most(rounds: int) -> int | None:
    return rounds if rounds <= ROUNDS_MAX else None


def student(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t: exactly for one and two degrees of freedom, otherwise by the expansion of
    Abramowitz and Stegun, 26.7.5, within 1 % for three and more."""
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        return (2 * probability - 1) * math.sqrt(2 / (4 * probability * (1 - probability)))
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / float(freedom) ** power for power, term in enumerate(terms))


def _three_digits(value: float) -> str:
    """Return a number with three significant digits, and without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
