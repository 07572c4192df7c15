"""Tests the comparison with peers, without any load. No test asserts a speed."""

import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bench.claims import Latency
from bench.loads import NAMES, loads
from bench.page import page, report, table
from bench.passes import in_turn
from bench.plan import Plan
from bench.process import Failed, run
from bench.results import Comparison, Runs, Sample, cost, failures, middle, paired
from bench.tools import LOADGEN, Tool

CORE = min(os.sched_getaffinity(0))
SAMPLE = Sample(cpu_us=10, rate_per_s=50_000, memory_mb=20, opened=100, manager_percent=1.5, wall_s=3.2)
PLAN = Plan(passes=3, seconds=3, server_core=0, generator_core=1, other_cores=frozenset({0}))

needs_pinning = pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv and taskset are not installed")


def sample(cpu_us: float) -> Sample:
    return replace(SAMPLE, cpu_us=cpu_us)


def test_medians_exclude_failed_runs() -> None:
    assert middle([sample(9), Failed("no"), sample(4), sample(5)], cost) == 5


def test_ratios_are_taken_within_passes() -> None:
    ours: list[Sample | Failed] = [sample(10), sample(20), Failed("no"), sample(30)]
    theirs = [sample(20), sample(20), sample(1), sample(40)]
    assert str(paired(ours, theirs, cost)) == "0.75 (0.50 to 1.00)"
    assert paired([Failed("no")], [SAMPLE], cost) is None


def test_failures_are_counted_and_each_reason_is_given_once() -> None:
    assert failures([SAMPLE, Failed("a"), Failed("b"), Failed("a")]) == "3 of 4 runs failed: a; b"
    assert failures([SAMPLE]) == ""
    assert failures([Failed(name) for name in "abcd"]) == "4 of 4 runs failed: a; b; c; and others"


def test_passes_come_in_twos_that_mirror_each_other() -> None:
    a, b, c, d = (Tool(name, name, "") for name in "abcd")
    orders = ["".join(tool.name for tool in in_turn([a, b, c, d], number)) for number in range(8)]
    assert orders == ["abcd", "dcba", "cdab", "badc", "dabc", "cbad", "abcd", "dcba"]
    assert in_turn([a], 3) == [a]


def test_loadgen_runs_directly_beside_its_main_rival() -> None:
    for load in [*loads(NAMES, [100])]:
        for number in range(20):
            order = in_turn(load.tools, number)
            assert sorted(order, key=load.tools.index) == load.tools
            assert abs(order.index(load.tools[0]) - order.index(load.rival)) == 1


def test_a_table_is_aligned() -> None:
    assert table(["tool", "µs"], [["a", "1.0"], ["longer", "10.0"]]) == (
        "| tool   |   µs |\n| ------ | ---: |\n| a      |  1.0 |\n| longer | 10.0 |"
    )


def rows_of(text: str) -> dict[str, list[str]]:
    """Return the cells of each row of a report, by tool."""
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line)
    return {first: others for first, *others in cells}


def test_each_tool_has_a_row_whether_or_not_it_ran() -> None:
    runs: Runs = {
        LOADGEN.name: [sample(8), sample(10)],
        "loadgen, 4 workers": [SAMPLE, Failed("no")],
        "wrk": [sample(10), sample(10)],
        "hey": [sample(40), replace(sample(40), opened=172)],
        "Locust": [Failed("no"), Failed("no")],
    }
    [load] = loads(["http1"], [100])
    text = report(PLAN, [Comparison(load, runs, {"oha": "missing: run `make peer-oha`"})])
    rows = rows_of(text)
    assert all(tool.name in rows for tool in load.tools)
    assert rows["loadgen"] == ["9.0", "", "0.90", "50,000", "20", "100", "0.2"]
    assert rows["wrk"] == ["10.0", "0.90 (0.80 to 1.00)", "1.00", "50,000", "20", "100", "0.2"]
    assert rows["Locust"][0] == "failed"
    assert rows["oha"][0] == "skipped"
    assert text.startswith("## HTTP/1.1, 100 connections\n")
    assert [line for line in text.splitlines() if line.startswith("- ")] == [
        "- loadgen, 4 workers: 1 of 2 runs failed: no",
        "- loadgen, 4 workers: 1.00 (1.00 to 1.00) times the requests/s of loadgen in one process; the manager "
        "process used 1.5 % of a core",
        "- oha is skipped: missing: run `make peer-oha`",
        "- hey opened up to 172 connections instead of 100",
        "- Locust: 2 of 2 runs failed: no",
    ]


def test_a_load_that_loadgen_cannot_send_still_shows_the_others() -> None:
    load = loads(["h2c"], [])[1]
    comparison = Comparison(load, {"h2load": [sample(16)]}, {LOADGEN.name: "`streams` is not a key of [http]"})
    rows = rows_of(text := report(PLAN, [comparison]))
    assert rows["loadgen"][0] == "skipped"
    assert rows["h2load"][:3] == ["16.0", "", "1.00"]
    assert "- loadgen is skipped: `streams` is not a key of [http]" in text.splitlines()


def test_the_open_model_shows_what_each_tool_reports() -> None:
    [load] = loads(["open"], [])
    claimed = [replace(SAMPLE, claimed=Latency(p50, 2_500)) for p50 in (90, 100, 400)]
    rows = rows_of(report(PLAN, [Comparison(load, {LOADGEN.name: [*claimed], "oha": [SAMPLE] * 3})]))
    assert rows["tool"][-3:] == ["median latency, ms", "p99 latency, ms", "extra time, s"]
    assert rows["loadgen"][-3:] == ["0.10", "2.50", "0.2"]
    assert rows["oha"][-3:] == ["", "", "0.2"]


def test_the_page_describes_the_measurement() -> None:
    comparisons = [Comparison(load, {}) for load in loads(NAMES, [100, 1_000])]
    text = page(PLAN, "the machine", comparisons, "make it", "Some peers")
    assert text.startswith("# Some peers\n")
    assert "```sh\nmake it\n```" in text
    assert "3 passes over all tools" in text
    assert "the machine" in text
    assert text.count("`wrk -t1 -cN -d3s URL/`") == 2, "one for HTTP/1.1 and one for HTTPS"
    assert str(Path.cwd()) not in text


@needs_pinning
def test_a_run_is_measured(tmp_path: Path) -> None:
    usage = run(
        [sys.executable, "-c", "bytearray(200_000_000); import time; time.sleep(0.5)"], CORE, 20, tmp_path / "o"
    )
    assert usage.cpu_s > 0
    assert usage.wall_s > 0.5
    assert 200 < usage.memory_mb < 400


@needs_pinning
def test_a_failed_run_gives_its_reason(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"^exit code 3: the last word$"):
        run(["sh", "-c", "echo a word; echo the last word >&2; exit 3"], CORE, 20, tmp_path / "output")


@needs_pinning
def test_no_process_outlives_a_run_that_takes_too_long(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(Failed, match=r"^did not end within 0\.5 s$"):
        run(["sh", "-c", f"sleep 60 & echo $$ $! > {pids}; wait"], CORE, 0.5, tmp_path / "output")
    for pid in pids.read_text().split():
        assert gone(int(pid))


def gone(pid: int) -> bool:
    """Wait until a killed process is gone. A zombie counts as gone, because its reaping may take long."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False
