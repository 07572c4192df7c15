"""Tests the plugin for pytest, in processes of their own, with the real program and a real server."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

SHORT = 'users=2, rounds=3, duration="300ms", warmup="0s", no_calibrate=True'


@pytest.fixture
def tests(shop: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return the folder of a project with a server and the plugin."""
    for name in ("shop.py", "loadgen.toml"):
        (pytester.path / name).write_text((shop / name).read_text())
    monkeypatch.chdir(pytester.path)
    return pytester


def run(tests: pytest.Pytester, *options: str) -> pytest.RunResult:
    return tests.runpytest_subprocess("-p", "loadgen.pytest_plugin", "--strict-markers", *options, timeout=120)


def test_bounds_pass_fail_and_stay_open(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        def test_right(loadgen):
            result = loadgen.run("/products", {SHORT})
            assert result.p50 < 5
            assert result.error_rate < 0.5

        def test_wrong(loadgen):
            assert loadgen.run("/products", {SHORT}).p50 < 0.000001

        def test_noise(loadgen):
            result = loadgen.run("/products", {SHORT})
            assert result.p50 < float(result.p50)
    """)
    # Other tests run beside this one.
    tests.makeconftest("from loadgen import _words\n_words.SPOILING.clear()")
    result = run(tests)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E * assert p50 of shop: * ms (* ms to * ms) < 0.001 ms",
            "E *report: *runs/*-test_wrong/report.html",
            "E *loadgen.Undecided: p50 of shop: * neither shows nor rules out < *",
            "*= loadgen =*",
            "*requests/s * p50 * p99 * errors",
            "test_bounds_pass_fail_and_stay_open.py::test_right",
            "  shop * 0 %",
            "*runs/*-test_right/report.html",
        ]
    )
    assert len(list(tests.path.glob("runs/*/report.html"))) == 3
    # A failed test shows its own line, and nothing of the package.
    result.stdout.no_fnmatch_line("*_estimate.py*")


def test_errors_are_in_the_words_of_loadgen(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        def test_no_page(loadgen):
            loadgen.run("/nothing", {SHORT})

        def test_misspelt(loadgen):
            loadgen.run("/products", usres=3)

        def test_limit(loadgen):
            loadgen.assert_not_slower("/products", limit="fast")
    """)
    result = run(tests)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["E *got * 404*", "E *a similar argument exists: '--users'", 'E *write it as "5%"'])
    result.stdout.no_fnmatch_line("*_functions.py*")


def test_a_server_at_a_url_needs_no_file(tests: pytest.Pytester, url: str) -> None:
    (tests.path / "loadgen.toml").unlink()
    tests.makepyfile(f"""
        def test_products(loadgen):
            assert loadgen.run("/products", {SHORT}).p50 < 5
    """)
    without = run(tests)
    without.assert_outcomes(failed=1)
    without.stdout.fnmatch_lines(["E *there is no loadgen.toml in *loadgen init --targets*"])
    run(tests, "--loadgen-url", url).assert_outcomes(passed=1)


def test_the_marker_sets_options_and_selects(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        import pytest

        @pytest.mark.loadgen({SHORT})
        class TestProducts:
            @pytest.mark.loadgen(rounds=2)
            def test_products(self, loadgen):
                result = loadgen.run("/products")
                assert len(result.record.targets[0].rounds) == 2
                assert result.record.load.users == 2 or result.targets[0].record.users == 2

        def test_other():
            pass
    """)
    run(tests, "-m", "not loadgen").assert_outcomes(passed=1, deselected=1)
    skipped = run(tests, "--loadgen-skip", "-rs")
    skipped.assert_outcomes(passed=1, skipped=1)
    skipped.stdout.fnmatch_lines(["SKIPPED *--loadgen-skip"])
    run(tests).assert_outcomes(passed=2)


def test_processes_of_xdist_take_turns_and_share_one_summary(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        import pytest

        @pytest.mark.parametrize("page", ["/", "/products"])
        def test_page(loadgen, page):
            result = loadgen.run(page, {SHORT})
            assert "measured_together" not in [verdict.kind for verdict in result.verdicts]
    """)
    result = run(tests, "-n", "2")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*= loadgen =*", "*::test_page*", "  shop *", "*::test_page*", "  shop *"])


def test_junit_has_the_figures(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        def test_products(loadgen):
            loadgen.run("/products", {SHORT})
    """)
    run(tests, "--junit-xml=junit.xml", "--loadgen-out=results").assert_outcomes(passed=1)
    properties = {
        it.get("name"): it.get("value") or "" for it in ElementTree.parse(tests.path / "junit.xml").iter("property")
    }
    assert float(properties["loadgen.shop.rate"]) > 0
    assert 0 < float(properties["loadgen.shop.p50"]) < 5
    assert (tests.path / properties["loadgen.report"]).is_file()
    assert properties["loadgen.report"].startswith("results/")


def test_a_failed_threshold_fails_the_test(tests: pytest.Pytester) -> None:
    (tests.path / "slow.toml").write_text('[[step]]\nget = "/"\n[thresholds]\nrate = "> 1000000"\n')
    tests.makepyfile(f"""
        def test_products(loadgen):
            loadgen.run(scenario="slow.toml", {SHORT})
    """)
    result = run(tests)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *AssertionError: shop: *> 1000000 failed (measured: *)"])


def test_other_tests_import_nothing_of_it(tests: pytest.Pytester) -> None:
    tests.makepyfile("""
        import sys

        def test_nothing():
            ours = [name for name in sys.modules if name.split(".")[0] == "loadgen"]
            assert sorted(ours) == ["loadgen", "loadgen.pytest_plugin"]
    """)
    run(tests).assert_outcomes(passed=1)


def test_figures_are_on_either_side_and_negated(tests: pytest.Pytester, url: str) -> None:
    tests.makepyfile(f"""
        def test_right_side(loadgen):
            result = loadgen.run("/products?next=https://example.org", {SHORT})
            assert 0.000001 > result.p50

        def test_negated(loadgen):
            assert not loadgen.run("/products", {SHORT}).p50 > 0.000001
    """)
    tests.makeconftest("from loadgen import _words\n_words.SPOILING.clear()")
    result = run(tests, "--loadgen-url", url)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E *assert 0.001 ms > p50 of *", "E *report: *", "E *assert not p50 of *> 0.001 ms*"])


def test_a_fixture_that_measures_and_fails_is_in_the_summary(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        import pytest

        @pytest.fixture
        def measured(loadgen):
            loadgen.run("/products", {SHORT})
            raise ValueError

        def test_products(measured):
            pass
    """)
    result = run(tests)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*= loadgen =*", "*::test_products", "  shop *"])


def test_a_gate_needs_no_url(tests: pytest.Pytester, url: str) -> None:
    tests.makepyfile("def test_products(loadgen): loadgen.assert_not_slower('/products')")
    result = run(tests, "--loadgen-url", url, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *assert_not_slower starts both versions*"])


def test_a_long_test_says_how_long_it_takes(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        def test_products(loadgen):
            loadgen.run("/products", {SHORT})
    """)
    result = run(tests)
    result.stdout.fnmatch_lines(["  loadgen: 3 rounds over shop, about *"])
    result.stdout.no_fnmatch_line("*[[]1/3]*")


def test_the_marker_takes_no_values(tests: pytest.Pytester) -> None:
    tests.makepyfile("""
        import pytest

        @pytest.mark.loadgen(20)
        def test_products(loadgen):
            pass
    """)
    result = run(tests)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E *the marker loadgen takes options by name*"])


def test_the_nearest_targets_file_counts(tests: pytest.Pytester) -> None:
    service = tests.mkdir("service")
    (service / "tests").mkdir()
    for name in ("shop.py", "loadgen.toml"):
        (tests.path / name).rename(service / name)
    (service / "tests" / "test_it.py").write_text(f"def test_it(loadgen):\n    loadgen.run('/', {SHORT})\n")
    run(tests).assert_outcomes(passed=1)


def test_the_plugin_is_declared_for_pytest() -> None:
    code = "import loadgen.pytest_plugin as it; assert it.pytest_addoption"
    subprocess.run([sys.executable, "-c", code], check=True)
