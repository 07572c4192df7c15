"""Figures with their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ._errors import Undecided

# More rounds are no advice: the bound is within what the server does.
ROUNDS_MAX = 1000


@dataclass(frozen=True)
class Basis:
    """What the estimates of a run rest on."""

    rounds: int
    """Rounds that ran as planned."""
    own_fault: str = ""
    """Why loadgen itself spoiled the figures, if it did."""
    notes: tuple[str, ...] = ()
    """What to know before believing the figures, and where the report is."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A figure, with its 95 % confidence interval over rounds.

    A comparison with a number, such as `result.p99 < 0.05`, is true or false only if the whole interval is on one side
    of the number. Otherwise, it raises `Undecided`: the next measurement might say the opposite.
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
        """Return a value with its unit, as loadgen's table has it."""
        match self.unit:
            case "s":
                return f"{value * 1000:.3g} ms"
            case "%":
                return f"{value * 100:.3g} %"
            case _:
                return f"{value:,.0f}{self.unit}"

    def _compare(self, bound: object, operator: str, holds: Callable[[float], bool]) -> bool:
        # pytest then shows the line of the test, instead of this one.
        __tracebackhide__ = True
        if isinstance(bound, bool) or not isinstance(bound, int | float):
            raise TypeError(
                f"{self.name} is compared with a number, not with {bound!r}: between targets, "
                "look at `record.comparison`, or use assert_not_slower"
            )
        if self.value is None or self.low is None or self.high is None:
            raise Undecided(f"{self.name} {operator} {self.shown(bound)} cannot be judged:\n{self.why_not}")
        holds_at = {holds(self.low), holds(self.high)}
        if len(holds_at) == 2:
            raise Undecided(
                f"{self!r} neither shows nor rules out {operator} {self.shown(bound)}:\n{self._advice(bound)}"
            )
        if holds_at == {False} and self.basis.own_fault:
            raise Undecided(f"{self!r}, but loadgen may be the reason:\n{self.basis.own_fault}")
        return holds_at == {True}

    def _advice(self, bound: float) -> str:
        """Return how many rounds would most likely decide: the interval narrows with the root of their number."""
        # For the caller: all of them are known here.
        assert self.value is not None
        assert self.low is not None
        assert self.high is not None
        rounds = self.basis.rounds
        # Rates and latencies vary in proportion to themselves.
        of = math.log if min(self.value, self.low, self.high, bound) > 0 and self.unit != "%" else float
        end = self.high if bound > self.value else self.low
        distance = of(bound) - of(self.value)
        ratio = (of(end) - of(self.value)) / distance if distance else math.inf
        # A quarter more, because the estimate itself is uncertain.
        needed = math.ceil(1.25 * rounds * ratio**2) if ratio < ROUNDS_MAX else ROUNDS_MAX + 1
        if needed > ROUNDS_MAX:
            return "choose another bound, because this one is what the server does"
        return f"{rounds} rounds were measured, about {max(needed, rounds + 1)} would decide: rounds={needed}"
