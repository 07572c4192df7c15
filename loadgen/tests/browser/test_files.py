"""Reads the files beside the report with libraries of other projects."""

from contextlib import closing

from conftest import Run
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from junitparser import Failure, JUnitXml


def test_hdrhistogram_reads_the_log(run: Run) -> None:
    read = {}
    with closing(HistogramLogReader(str(run.folder / "latencies.hlog"), HdrHistogram(1, 600_000_000, 3))) as reader:
        while histogram := reader.get_next_interval_histogram():
            read[histogram.get_tag()] = histogram
    for target in run.record["targets"]:
        step = next(step for step in target["steps"] if step["name"] == "hello")
        histogram = read[f"{target['name']}/hello"]
        assert histogram.get_total_count() == step["requests"] - step["errors"]
        # The libraries round the last of three digits, and may choose the previous or the next request.
        low, high = (histogram.get_value_at_percentile(percent) for percent in (94, 96))
        assert low * 0.999 <= step["latency_us"]["p95"] <= high * 1.001
        again = HdrHistogram.decode(target["latency_histograms"]["hello"])
        assert again.get_total_count() == histogram.get_total_count()


def test_junit_has_a_test_for_each_threshold(run: Run) -> None:
    suites = list(JUnitXml.fromfile(str(run.folder.parent / "junit.xml")))
    assert [suite.name for suite in suites] == [target["name"] for target in run.record["targets"]]
    for suite in suites:
        cases = {case.name: case for case in suite}
        assert set(cases) == {"error_rate < 1%", "hello.p50 < 1us"}
        assert isinstance(cases["hello.p50 < 1us"].result[0], Failure)
        assert cases["error_rate < 1%"].is_passed
