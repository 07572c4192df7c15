"""Tests comparisons of figures with bounds."""

import re

import pytest
from loadgen._estimate import Basis

from loadgen import Estimate, Undecided


def p99(low: float, high: float, rounds: int = 5, own_fault: str = "") -> Estimate:
    return Estimate("p99 of shop", (low * high) ** 0.5, low, high, "s", Basis(rounds, own_fault))


def test_a_bound_outside_the_interval_is_judged() -> None:
    assert p99(0.040, 0.045) < 0.05
    assert p99(0.040, 0.045) <= 0.045
    assert p99(0.051, 0.060) > 0.05
    assert p99(0.051, 0.060) >= 0.051
    assert not p99(0.051, 0.060) < 0.05
    assert not p99(0.040, 0.045) > 0.05
    assert p99(0.040, 0.045) < 0.05


def test_a_bound_within_the_interval_is_undecided_both_ways() -> None:
    for judge in (lambda it: it < 0.05, lambda it: it > 0.05, lambda it: it <= 0.05, lambda it: it >= 0.05):
        with pytest.raises(Undecided, match="neither shows nor rules out"):
            judge(p99(0.045, 0.055))


def needed(estimate: Estimate, bound: float) -> int:
    with pytest.raises(Undecided) as error:
        _ = estimate < bound
    found = re.search(r"rounds=(\d+)", str(error.value))
    assert found, error.value
    return int(found[1])


def test_the_message_says_how_many_rounds_would_decide() -> None:
    # The mean is 44.7 ms, ±11.8 %; the bound is 5 % away: (11.8 / 5)² times the rounds, and a quarter more.
    assert 30 <= needed(p99(0.040, 0.050), 0.047) <= 40
    assert needed(p99(0.040, 0.050), 0.0498) < needed(p99(0.040, 0.050), 0.047)
    with pytest.raises(Undecided, match="choose another bound"):
        _ = p99(0.040, 0.050) < 0.0448


def test_the_advice_leads_to_more_rounds_than_before() -> None:
    assert needed(p99(0.040, 0.050, rounds=5), 0.04999) > 5


def test_rounds_for_a_share_without_failures() -> None:
    share = Estimate("error rate of shop", 0.0, 0.0, 0.02, "%", Basis(5))
    assert needed(share, 0.01) == 25
    assert share < 0.03


def test_the_loads_own_fault_fails_no_server() -> None:
    spoiled = p99(0.051, 0.060, own_fault="loadgen limited the rate")
    with pytest.raises(Undecided, match="loadgen limited the rate"):
        _ = spoiled < 0.05
    assert spoiled < 0.07


def test_an_unknown_figure_says_why() -> None:
    unknown = Estimate("p99 of shop", None, None, None, "s", Basis(1), "one round was measured")
    assert repr(unknown) == "p99 of shop: unknown"
    with pytest.raises(Undecided, match="one round was measured"):
        _ = unknown < 0.05
    with pytest.raises(Undecided, match="one round was measured"):
        float(unknown)


def test_only_numbers_are_bounds() -> None:
    for bound in ("50ms", None, True, p99(1, 2)):
        with pytest.raises(TypeError, match="is compared with a number"):
            _ = p99(0.040, 0.045) < bound


def test_an_estimate_shows_its_interval() -> None:
    assert repr(p99(0.040, 0.0501)) == "p99 of shop: 44.8 ms (40 ms to 50.1 ms)"
    assert (
        repr(Estimate("rate of shop", 1234.5, 1200, 1300, "/s", Basis(5)))
        == "rate of shop: 1,234/s (1,200/s to 1,300/s)"
    )
    assert float(p99(0.04, 0.04)) == pytest.approx(0.04)
