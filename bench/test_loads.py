"""Tests the loads, the commands of the tools, and what is read from their reports. No test asserts a speed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import claims
from bench.claims import Latency
from bench.loads import NAMES, Load, all_tools, loads
from bench.passes import passes
from bench.results import Sample
from bench.server import nginx
from bench.test_peers import CORE, PLAN, needs_pinning
from bench.test_server import needs_nginx
from bench.tools import LOADGEN, Tool

needs_loadgen = pytest.mark.skipif(not LOADGEN.path(), reason="loadgen is not built: run `make build`")


def test_http1_has_a_load_for_each_number_of_connections() -> None:
    assert [load.connections for load in loads(["http1"], [100, 5_000])] == [100, 5_000]
    assert [load.name for load in loads(NAMES, [1])] == ["http1", "https", "h2c", "h2c", "h2", "open", "journey"]


def test_loads_of_http2_differ_in_connections_and_streams() -> None:
    one_each, shared = loads(["h2c"], [])
    assert (one_each.users, one_each.connections, one_each.streams) == (100, 100, 1)
    assert (shared.users, shared.connections, shared.streams) == (100, 10, 10)


def test_every_command_has_the_numbers_of_its_load() -> None:
    for load in loads(NAMES, [100]):
        assert load.tools[0].name == LOADGEN.name
        for tool in load.tools:
            shown = tool.shown(3)
            assert "{" not in shown
            assert "URL" in shown, "each tool gets the address"
    [opened] = loads(["open"], [])
    for tool in opened.tools:
        command = tool.command(url="U", users=100, connections=100, streams=1, rate=4_321, seconds=3, out="O")
        assert "4321" in " ".join(command)


def test_a_run_with_another_load_is_refused() -> None:
    [closed], [opened] = loads(["https"], []), loads(["open"], [])
    assert closed.lacking(1, 95, 3) is None
    assert closed.lacking(1, 94, 3) == "opened 94 of 100 connections"
    assert closed.lacking(0, 100, 3) == "nginx counted no request"
    # The rate of an open model decides how many connections it needs.
    assert opened.lacking(13_500, 2, 3) is None
    assert opened.lacking(13_200, 2, 3) == "sent 4,400 of 5,000 requests/s"


def test_latencies_of_each_tool_are_read(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text(
        "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    0.96ms\n 99.000%  512.00us\n"
    )
    assert claims.of_wrk2(tmp_path) == Latency(960, 512)
    output.write_text(" 50.000%    1.20s \n 90.000%    1.00m \n 99.000%    1.50m \n")
    assert claims.of_wrk2(tmp_path) == Latency(1_200_000, 90_000_000)
    output.write_text('[   1.0s]    500 req/s\n{\n  "latency_us": { "p50": 178, "p99": 7126 }\n}\n')
    assert claims.of_document(tmp_path) == Latency(178, 7_126)
    output.write_text(json.dumps({"latencyPercentiles": {"p50": 0.25, "p99": 0.5}}))
    assert claims.of_oha(tmp_path) == Latency(250_000, 500_000)
    output.write_text(json.dumps({"latencyPercentiles": {"p50": None, "p99": None}}))
    assert claims.of_oha(tmp_path) is None


def test_a_tool_that_is_not_installed_is_refused_with_the_remedy() -> None:
    tool = Tool("x", "no-such-program", "", install="run `make peer-x`")
    assert tool.refusal() == "missing: run `make peer-x`"


@needs_loadgen
def test_a_scenario_that_loadgen_does_not_know_is_refused_with_its_reason(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('[http]\nfuture = 1\n[[step]]\nget = "/"\n')
    tool = replace(LOADGEN, scenario=str(scenario))
    assert "`future` is not a key of [http]" in (tool.refusal() or "")
    scenario.write_text('[[step]]\nget = "/"\n')
    assert tool.refusal() is None


def test_every_scenario_exists() -> None:
    scenarios = [tool.scenario for load in loads(NAMES, [1]) for tool in load.tools if tool.scenario]
    assert len(scenarios) == 4
    assert all(Path(scenario).exists() for scenario in scenarios)
    assert set(all_tools()) > {"loadgen", "wrk", "h2load", "wrk2", "zrk", "gcannon", "oha"}


# The loads in small.
SMALL = [replace(load, connections=4, streams=1, rate=load.rate and 500) for load in loads(NAMES, [4])]


@needs_pinning
@needs_nginx
@pytest.mark.parametrize("load", SMALL, ids=lambda load: load.title)
def test_tools_send_each_load(load: Load, tmp_path: Path) -> None:
    able = [tool for tool in load.tools[:2] if tool.refusal() is None]
    if not able:
        pytest.skip("neither loadgen nor its main rival can send this load")
    with nginx(CORE, tmp_path) as server:
        # A 99th percentile needs more than 1,000 requests.
        plan = replace(PLAN, passes=1, seconds=3 if load.rate else 1, server_core=CORE, generator_core=CORE)
        runs = passes(plan, replace(load, tools=able), server, tmp_path)
    for tool in able:
        [run] = runs[tool.name]
        if load.rate and tool.name == "wrk2" and not isinstance(run, Sample):
            # On a busy machine wrk2 sends fewer requests than asked for, which is no fault of the bench.
            assert "sent" in str(run)
            continue
        assert isinstance(run, Sample), f"{tool.name}: {run}"
        assert run.cpu_us > 0
        assert (run.claimed is not None) == (tool.claimed is not None)
