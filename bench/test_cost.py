"""Tests the measurement of features, users and parts, without any load. No test asserts a speed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import features, footprint, manager, parts
from bench.connecting import Look, all_connected_s
from bench.features import BASELINE, FEATURES
from bench.footprint import Case, Footprint
from bench.passes import errors_of
from bench.process import ROOT, Failed, run
from bench.regions import lacking, rewrite, rewritten
from bench.results import Runs
from bench.test_peers import CORE, PLAN, needs_pinning, rows_of, sample
from bench.tools import LOADGEN

PAGE = "before\n<!-- some: `make it` writes this -->\nold\n<!-- end of some -->\nafter\n"


def test_only_the_region_is_rewritten() -> None:
    new = "before\n<!-- some: `make it` writes this -->\n\nnew \\1\n\n<!-- end of some -->\nafter\n"
    assert rewritten(PAGE, "some", "new \\1") == new
    assert rewritten(new, "some", "new \\1") == new


def test_a_page_without_the_region_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert lacking(None, "some") is None
    assert "No such file" in (lacking(page, "some") or "")
    page.write_text(PAGE)
    assert lacking(page, "some") is None
    assert (lacking(page, "other") or "").endswith("page.md: the page has no region other")
    rewrite(page, "some", "new")
    assert "new" in page.read_text()


def test_the_page_has_every_region() -> None:
    for region in [parts.REGION, features.REGION, footprint.REGION, manager.REGION]:
        assert lacking(ROOT / "docs/explanation/cost.md", region) is None


def test_each_feature_differs_from_the_baseline() -> None:
    assert BASELINE.shown() == ""
    assert all(feature.shown() for feature in FEATURES if feature is not BASELINE)
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)
    assert FEATURES[1].shown() == '`body = "Hello world"`'


@needs_pinning
@pytest.mark.skipif(not LOADGEN.path(), reason="loadgen is not built: run `make build`")
def test_loadgen_accepts_every_scenario(tmp_path: Path) -> None:
    for number, feature in enumerate(FEATURES):
        feature.tool(tmp_path, number)
        command = [LOADGEN.path() or "", "check", str(tmp_path / f"{number}.toml")]
        run(command, CORE, 20, tmp_path / "output")


def test_features_are_compared_with_the_baseline_within_passes() -> None:
    text, json_value = FEATURES[1], FEATURES[2]
    runs: Runs = {
        BASELINE.name: [sample(8), sample(10)],
        text.name: [sample(10), sample(10)],
        json_value.name: [Failed("no"), Failed("no")],
    }
    report = features.report(PLAN, 100, runs)
    rows = rows_of(report)
    assert rows[BASELINE.name][1:3] == ["9.00", ""]
    assert rows[text.name][1:3] == ["10.00", "1.12 (1.00 to 1.25)"]
    assert rows[json_value.name][1] == "failed"
    assert "- one JSON value: 2 of 2 runs failed: no" in report


def look(at_s: float, active: int, requests: int) -> Look:
    return Look(asked_s=at_s, told_s=at_s + 0.01, active=active, requests=requests)


def test_a_start_lasts_from_the_last_idle_look_to_the_first_with_all_users() -> None:
    # The request at 1.05 s is that of the verification. At 1.1 s most connections are open, before the load.
    looks = [look(1, 0, 0), look(1.05, 1, 1), look(1.1, 90, 1), look(1.15, 100, 61), look(1.2, 100, 300)]
    assert all_connected_s(looks, 100) == pytest.approx(0.11)
    assert all_connected_s(looks, 101) is None
    assert all_connected_s([], 1) is None


def test_a_footprint_is_the_worst_of_its_runs() -> None:
    crowd, more, steady = Case(5_000, 0, 4), Case(15_000, 0, 4), Case(footprint.STEADY_USERS, 0, 10)
    done = Footprint(memory_mb=60, requests=1_000, connected_s=0.5)
    text = footprint.report(
        {
            crowd: [done, replace(done, memory_mb=62, connected_s=0.7), done],
            more: [replace(done, memory_mb=160, connected_s=None)],
            steady: [Failed("no")],
        },
    )
    rows = rows_of(text)
    assert rows["5,000"] == ["0", "62", "< 64", "0.50 (0.70)", "< 1"]
    assert rows["15,000"][3] == "not in 1 of 1 runs"
    assert rows["10"] == ["failed", "no"]
    assert "each additional user takes 10.0 KB" in text


def test_each_load_is_measured_in_each_pass() -> None:
    cases = footprint.cases(replace(PLAN, passes=2))
    assert len(cases) == 2 * 4 + 2
    assert cases.count(Case(15_000, 2, PLAN.seconds)) == 2


def test_parts_are_read_in_the_order_of_a_request(tmp_path: Path) -> None:
    for name, ns in [("recording: one request", 38.7), ("request: {{ int }}", 1_234.0)]:
        folder = tmp_path / name.replace(":", "_") / "new"
        folder.mkdir(parents=True)
        (folder / "benchmark.json").write_text(json.dumps({"full_id": name}))
        interval = {"lower_bound": ns - 1, "upper_bound": ns + 1}
        median = {"point_estimate": ns, "confidence_interval": interval}
        (folder / "estimates.json").write_text(json.dumps({"median": median}))
    rows = rows_of(parts.report(parts.read(tmp_path)))
    assert list(rows)[-2:] == ["request: `{{ int }}`", "recording: one request"]
    assert rows["request: `{{ int }}`"] == ["1.2 µs", "1.2 µs to 1.2 µs"]
    assert rows["recording: one request"] == ["39 ns", "38 ns to 40 ns"]


def test_failed_requests_are_found_in_the_record(tmp_path: Path) -> None:
    assert errors_of(tmp_path) == 0
    record = {"targets": [{"total": {"errors": 2}}, {"total": {"errors": 1}}]}
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert errors_of(tmp_path) == 3


def test_the_common_cost_of_two_runs_is_not_a_cost_per_second() -> None:
    pair = manager.Pair(200, manager.Cost(5, 1.4, 60, 2), manager.Cost(25, 2.4, 58.2, 3.25))
    assert (round(pair.percent, 3), round(pair.once_s, 3)) == (5, 1.15)
    other = manager.Pair(10, pair.short, pair.long)
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in manager.report([pair, other]).splitlines()[-2:]]
    assert rows[0] == ["200", "4", "5.0", "< 10", "60", "< 100", "1.1", "3.2"]
    assert rows[1] == ["10", "4", "5.0", "", "60", "", "1.1", "3.2"]


def test_a_missing_snapshot_fails_the_run() -> None:
    workers = [{"snapshots": 5}] * 199
    record = {"targets": [{"workers": [*workers, {"snapshots": 4}]}], "degraded": None}
    with pytest.raises(Failed, match="999 of 1000 snapshots"):
        manager.checked(record, 1_000)
