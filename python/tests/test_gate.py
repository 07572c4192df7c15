"""Tests what is measured for a gate, and what it says."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from loadgen._program import Done

import loadgen
from loadgen import Loadgen, LoadgenError, Undecided, _gate


def judged(
    judgement: str,
    loss: float = 0.4,
    of: str = "cpu_time",
    more: int | None = None,
    rounds: int = 10,
    bottleneck: str = "nobody",
    held_s: float = 2.0,
    verdicts: tuple[str, ...] = (),
) -> Any:
    """Return a run with a judgement."""
    known = judgement != "unjudged"
    entry = SimpleNamespace(
        judgement=judgement,
        loss_percent=loss if known else None,
        confidence_percent=[loss - 1, loss + 1] if known else None,
        of=of,
        target="shop@.",
        more_rounds=more,
        why_not=None if known else "the server waited",
    )
    gate = SimpleNamespace(base="shop@main", limit_percent=5.0, judged=[entry])
    run = object.__new__(loadgen.Run)
    target = SimpleNamespace(name="shop@.", rounds=[SimpleNamespace(held_s=held_s)] * rounds, bottleneck=bottleneck)
    found = [SimpleNamespace(kind=kind, message="it happened", target=None) for kind in verdicts]
    record = SimpleNamespace(gate=gate, targets=[target], verdicts=found, thresholds=[], degraded=None)
    run.__dict__.update(folder=Path("runs/x"), record=record)
    return run


@pytest.fixture
def calls(shop: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the options of each run; `script` says what the runs say."""
    seen: list[dict[str, Any]] = []

    def measured(_: str, __: Any, options: dict[str, Any], *___: Any) -> tuple[Done, Any]:
        seen.append(options)
        return Done(0, "", ""), SCRIPT[len(seen) - 1]

    monkeypatch.setattr(_gate, "measured", measured)
    return seen


SCRIPT: list[Any] = []


def test_a_first_judgement_is_enough(calls: list[dict[str, Any]]) -> None:
    SCRIPT[:] = [judged("not_slower")]
    loadgen.assert_not_slower("/products", users=3)
    (options,) = calls
    assert options["target"] == "shop@main,shop@."
    assert (options["duet"], options["fail_on_regression"], options["users"]) == (True, "5%", 3)
    assert "rounds" not in options


def test_an_open_judgement_is_measured_afresh(calls: list[dict[str, Any]]) -> None:
    SCRIPT[:] = [judged("open", 4.5, more=14), judged("not_slower", rounds=24)]
    loadgen.assert_not_slower("/products")
    assert [options.get("rounds") for options in calls] == [None, 24]


def test_no_more_is_measured_than_was_asked_for(calls: list[dict[str, Any]]) -> None:
    SCRIPT[:] = [judged("open", 4.5, more=14)]
    with pytest.raises(
        Undecided,
        match=r"not shown whether shop@. is slower than shop@main(.|\n)*rounds=24 would",
    ):
        loadgen.assert_not_slower("/products", rounds=10)
    assert len(calls) == 1


def test_no_more_is_measured_than_there_is_time_for(calls: list[dict[str, Any]]) -> None:
    SCRIPT[:] = [judged("open", 4.5, more=14, held_s=60.0)]
    with pytest.raises(Undecided, match="rounds=24"):
        loadgen.assert_not_slower("/products")
    assert len(calls) == 1


def test_a_server_that_went_silent_passes_nothing(calls: list[dict[str, Any]]) -> None:
    for kind in ("went_silent", "nothing_answered", "target_ended"):
        calls.clear()
        SCRIPT[:] = [judged("not_slower", verdicts=(kind,))]
        with pytest.raises(LoadgenError, match=rf"it happened \[{kind}\]"):
            loadgen.assert_not_slower("/products")


@pytest.mark.parametrize("option", ["duet", "fail_on_regression", "out", "url"])
def test_options_that_a_gate_chooses_are_refused(calls: list[dict[str, Any]], option: Any) -> None:
    with pytest.raises(LoadgenError, match=f"chooses `{option}` itself"):
        loadgen.assert_not_slower("/products", **{option: "1"})
    assert calls == []


def test_a_loss_of_nothing_has_no_sign_of_a_loss() -> None:
    (told,) = judged("not_slower", 0.0, of="rate").judged.values()
    assert ": +0.0 % rate of expected responses (-1.0 to +1.0 %)" in told


def test_what_no_number_of_rounds_decides_is_not_measured_again(calls: list[dict[str, Any]]) -> None:
    SCRIPT[:] = [judged("open", 5.0, more=None)]
    with pytest.raises(Undecided, match="choose another limit"):
        loadgen.assert_not_slower("/products")
    assert len(calls) == 1


def test_a_duet_that_was_disturbed_is_repeated(calls: list[dict[str, Any]]) -> None:
    SCRIPT[:] = [judged("unjudged", bottleneck="target"), judged("not_slower")]
    loadgen.assert_not_slower("/products", rounds=7)
    assert [(options.get("duet"), options["rounds"]) for options in calls] == [(True, 7), (True, 7)]


def test_a_server_that_waits_is_measured_in_rounds(calls: list[dict[str, Any]]) -> None:
    SCRIPT[:] = [judged("unjudged"), judged("slower", 10.0, of="rate")]
    with pytest.raises(AssertionError, match=r"shop@. is slower than shop@main: -10.0 % rate") as error:
        loadgen.assert_not_slower("/products")
    assert "(-11.0 to -9.0 %)" in str(error.value)
    assert [(options.get("duet"), options.get("rounds")) for options in calls] == [(True, None), (None, 10)]


def test_what_cannot_be_judged_passes_nothing(calls: list[dict[str, Any]]) -> None:
    SCRIPT[:] = [judged("unjudged"), judged("unjudged")]
    with pytest.raises(Undecided, match="cannot be judged against shop@main: the server waited"):
        loadgen.assert_not_slower("/products")


def test_a_run_that_failed_is_an_error(calls: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    for found in (None, judged("not_slower")):
        done = Done(4, "", "the server ended")
        monkeypatch.setattr(_gate, "measured", lambda *_, found=found, done=done: (done, found))
        with pytest.raises(LoadgenError, match="the server ended"):
            loadgen.assert_not_slower("/products")


@pytest.mark.parametrize(("limit", "percent"), [("5%", 5), ("2.5%", 2.5), (0.05, 5)])
def test_limits(limit: Any, percent: float) -> None:
    assert _gate.percent_of(limit) == percent


@pytest.mark.parametrize("limit", ["", "much", "-1%", "0%", 0.0, "101%", 5.0, 1, "4", "x%"])
def test_wrong_limits(limit: Any) -> None:
    with pytest.raises(LoadgenError, match='write it as "5%"'):
        _gate.percent_of(limit)


def test_the_target_must_be_clear(shop: Path) -> None:
    assert _gate.only_target(shop) == "shop"
    file = shop / "loadgen.toml"
    file.write_text("[target.a]\ncommand = []\n[target.b]\ncommand = []\n")
    with pytest.raises(LoadgenError, match=r"has the targets a, b: name one with `target=`"):
        _gate.only_target(shop)
    file.write_text("[target")
    with pytest.raises(LoadgenError, match=r"loadgen\.toml: Expected"):
        _gate.only_target(shop)
    file.unlink()
    with pytest.raises(LoadgenError, match="loadgen init --targets"):
        _gate.only_target(shop)


def test_a_gate_of_a_users_own_run_fails_the_test(tmp_path: Path) -> None:
    test = Loadgen("x", tmp_path, tmp_path, tmp_path, print, None, "main", {}, [])
    with pytest.raises(AssertionError, match=r"shop@. is slower than shop@main: -10.0 % rate"):
        test._judge(judged("slower", 10.0, of="rate"), Done(3, "", ""))
    test._judge(judged("not_slower"), Done(0, "", ""))
