"""The plugin for pytest: the fixture `loadgen`, which sends load and judges it, and a summary of what was measured.

Nothing else of the package is imported before a test asks for the fixture, so that other tests do not wait for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from _pytest.terminal import TerminalReporter

    from ._fixture import Loadgen

FIXTURE = "loadgen"

# Rows of the summary in a report of pytest, which xdist sends to its main process.
ROWS = "loadgen_rows"

MEASURED = pytest.StashKey["Loadgen"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("loadgen", "load tests")
    group.addoption("--loadgen-url", metavar="URL", help="load the server at this URL, instead of starting one")
    group.addoption("--loadgen-base", metavar="REF", help="commit that assert_not_slower compares with, unless it says")
    group.addoption("--loadgen-out", metavar="DIR", help="folder for the results [default: runs, in the root folder]")
    group.addoption("--loadgen-skip", action="store_true", help="skip the tests that send load")
    parser.addini("loadgen_base", "commit that assert_not_slower compares with, unless it says", default="main")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "loadgen(**options): sends load, with these options of loadgen; set for each test with the fixture"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    with_xdist = config.pluginmanager.hasplugin("xdist")
    for item in items:
        if FIXTURE not in getattr(item, "fixturenames", ()):
            continue
        item.add_marker(pytest.mark.loadgen)
        if with_xdist:
            # With `--dist loadgroup`, one process runs all of them. Otherwise loadgen itself lets them wait.
            item.add_marker(pytest.mark.xdist_group("loadgen"))
        if config.getoption("--loadgen-skip"):
            item.add_marker(pytest.mark.skip(reason="--loadgen-skip"))


@pytest.fixture
def loadgen(request: pytest.FixtureRequest) -> Loadgen:
    """Send load, and judge the result: `loadgen.run("/products").p99 < 0.05`."""
    from ._fixture import Loadgen

    config = request.config
    if config.getoption("--loadgen-skip"):
        # Of a test that asks for the fixture while it runs.
        pytest.skip("--loadgen-skip")
    options: dict[str, Any] = {}
    # The nearest marker counts last.
    for marker in reversed(list(request.node.iter_markers(FIXTURE))):
        if marker.args:
            raise TypeError(f"the marker {FIXTURE} takes options by name, such as users=20, and got {marker.args!r}")
        options.update(marker.kwargs)
    measured = Loadgen(
        name=request.node.name,
        folder=_folder(request.path.parent, config.rootpath),
        out=Path(config.rootpath, config.getoption("--loadgen-out") or "runs"),
        shown_from=config.invocation_params.dir,
        announce=lambda line: _announce(config, line),
        url=config.getoption("--loadgen-url"),
        base=config.getoption("--loadgen-base") or config.getini("loadgen_base"),
        options=options,
        properties=request.node.user_properties,
    )
    request.node.stash[MEASURED] = measured
    return measured


def _announce(config: pytest.Config, line: str) -> None:
    """Write a line to the terminal, past what pytest captures: a test that measures takes long."""
    terminal = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    # A process of xdist has no terminal.
    if terminal is not None and capture is not None and config.get_verbosity() >= 0:
        with capture.global_and_fixture_disabled():
            terminal.ensure_newline()
            terminal.write_line(f"  loadgen: {line}")


def _folder(start: Path, root: Path) -> Path:
    """Return the nearest folder with a `loadgen.toml`, from that of the test up to the root folder."""
    folders = [start, *start.parents]
    below = folders[: folders.index(root) + 1] if root in folders else []
    return next((folder for folder in below if (folder / "loadgen.toml").is_file()), root)


# Not a `wrapper`, which pytest 7 does not know.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    outcome = yield
    measured = item.stash.get(MEASURED, None)
    if measured is not None:
        setattr(outcome.get_result(), ROWS, measured.rows)


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    # Without an estimate, nothing is imported for it.
    if "Estimate" not in (type(left).__name__, type(right).__name__):
        return None
    from ._estimate import Estimate

    if isinstance(left, Estimate) and isinstance(right, int | float):
        return [f"{left!r} {op} {left.shown(right)}", *left.basis.notes]
    if isinstance(right, Estimate) and isinstance(left, int | float):
        return [f"{right.shown(left)} {op} {right!r}", *right.basis.notes]
    return None


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    # A test has a report for each of its phases, and for each of its parts: the last one has all.
    rows: dict[str, list[dict[str, str]]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            of_test = getattr(report, ROWS, [])
            if len(of_test) > len(rows.get(report.nodeid, [])):
                rows[report.nodeid] = of_test
    if not rows:
        return
    from ._summary import lines

    terminalreporter.section("loadgen")
    for line in lines(list(rows.items())):
        terminalreporter.write_line(line)
