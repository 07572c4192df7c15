"""Makes the report of a real run, and opens reports in a browser."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[3]
# The Makefile sets the folder in which Cargo builds.
LOADGEN = Path(os.environ.get("LOADGEN_BUILT", ROOT / "target" / "release" / "loadgen"))
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")

WIDE, NARROW = 1280, 400


@dataclass
class Run:
    """A saved run."""

    folder: Path
    record: dict[str, Any]

    @property
    def report(self) -> Path:
        return self.folder / "report.html"

    @property
    def ranking(self) -> list[str]:
        """Return the targets, best first."""
        return [placing["target"] for placing in self.record["comparison"]["ranking"]]


@dataclass
class Opened:
    """A report in a browser, with the errors and requests that the browser reported."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def saved(folder: Path) -> Run:
    return Run(folder, json.loads((folder / "run.json").read_text()))


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Measure two targets with two steps, in two rounds of two seconds."""
    folder = tmp_path_factory.mktemp("run")
    scenario = folder / "two_steps.toml"
    scenario.write_text(
        '[load]\nusers = 10\nduration = "2s"\n'
        '[[step]]\nname = "hello"\nget = "/"\n'
        '[[step]]\nname = "health"\nget = "/health"\n'
        '[thresholds]\nerror_rate = "< 1%"\n"hello.p50" = "< 1us"\n'
    )
    options = ["--target=sanic,flask", "--rounds=2", "--warmup=0s", "--no-calibrate"]
    command = [
        str(LOADGEN),
        f"--scenario={scenario}",
        *options,
        f"--out={folder / 'saved'}",
        f"--junit={folder / 'junit.xml'}",
    ]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    # No server answers within a microsecond.
    assert finished.returncode == 3, finished.stdout + finished.stderr
    return saved(folder / "saved")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Chromium of Debian runs as root only without its sandbox.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def follow(browser: Browser, width: int = WIDE, scheme: Any = "light") -> Opened:
    """Open an empty page, and note what the browser says of it."""
    opened = Opened(browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme))
    page = opened.page
    page.on("console", lambda message: opened.complaints.append(message.text))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))
    return opened


def open_report(browser: Browser, report: Path, width: int = WIDE, scheme: Any = "light") -> Opened:
    opened = follow(browser, width, scheme)
    opened.page.goto(report.as_uri())
    return opened


@pytest.fixture
def opened(browser: Browser, run: Run) -> Iterator[Opened]:
    """Open the report, which must cause no error, and must request nothing but itself."""
    opened = open_report(browser, run.report)
    yield opened
    assert opened.complaints == []
    assert opened.requests == [run.report.as_uri()]
    opened.page.close()
