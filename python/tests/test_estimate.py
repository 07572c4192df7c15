"""Tests comparisons of figures with bounds."""

import re
from collections.abc import Callable

import pytest
from loadgen._estimate import Basis, student

from loadgen import Estimate, Undecided


def p99(low: float, high: float, rounds: int = 5, spoiled: str = "", disturbed: str = "") -> Estimate:
    return Estimate("p99 of shop", (low * high) ** 0.5, low, high, "s", Basis(rounds, spoiled, disturbed))


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
    # The mean is 44.7 ms, and the half width of its interval 11.2 %, which is 2.78 standard errors of five rounds.
    # The bound is 5.0 % away, which is 1.96 + 1.28 standard errors of n rounds: about 5 * (3.24 * 11.2 / 5 / 2.78)².
    assert 33 <= needed(p99(0.040, 0.050), 0.047) <= 37
    assert needed(p99(0.040, 0.050), 0.0498) < needed(p99(0.040, 0.050), 0.047)
    with pytest.raises(Undecided, match="more than 1,000 rounds would be needed: choose another bound"):
        _ = p99(0.040, 0.050) < 0.0448


def test_the_advice_leads_to_more_rounds_than_before() -> None:
    assert needed(p99(0.040, 0.050, rounds=5), 0.04999) > 5


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (5, 2.5706), (30, 2.0423), (999, 1.9623)]
)
def test_quantiles_of_students_t(freedom: int, quantile: float) -> None:
    # scipy.stats.t.ppf(0.975, freedom)
    assert student(0.975, freedom) == pytest.approx(quantile, rel=0.01)


def test_rounds_for_a_share_without_failures() -> None:
    share = Estimate("error rate of shop", 0.0, 0.0, 0.02, "%", Basis(5))
    assert needed(share, 0.01) == 11
    assert share < 0.03


def rate(low: float, high: float, spoiled: str = "") -> Estimate:
    return Estimate("rate of shop", (low * high) ** 0.5, low, high, "/s", Basis(5, spoiled))


def test_what_looks_slow_because_of_something_else_blames_no_server() -> None:
    why = "loadgen limited the rate"
    slow, low = p99(0.051, 0.060, spoiled=why), rate(900, 950, spoiled=why)
    judgements: list[Callable[[], bool]] = [
        lambda: slow < 0.05,
        lambda: slow > 0.05,
        lambda: low > 1000,
        lambda: low < 1000,
    ]
    for judge in judgements:
        with pytest.raises(Undecided, match=why):
            judge()
    # What made the server look slow did not make it look fast.
    assert slow < 0.07
    assert low > 800
    # It made no requests fail.
    assert not Estimate("error rate of shop", 0.5, 0.4, 0.6, "%", Basis(5, why)) < 0.01


def test_a_disturbed_machine_explains_no_more_than_a_factor_of_two() -> None:
    with pytest.raises(Undecided, match="CPU time was stolen"):
        _ = p99(0.051, 0.060, disturbed="CPU time was stolen") < 0.05
    assert not p99(0.101, 0.110, disturbed="CPU time was stolen") < 0.05


def test_a_figure_is_not_equal_true_or_nan() -> None:
    figure = p99(0.040, 0.045)
    for judge in (lambda: figure == 0, lambda: figure != 0.05, lambda: bool(figure), lambda: not figure):
        with pytest.raises(TypeError, match="use <, <=, > or >="):
            judge()
    assert figure in (figure,)
    with pytest.raises(ValueError, match="nan, which is no bound"):
        _ = figure < float("nan")


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
