"""Tests the pages of `loadgen site` in a browser: their search, their links, and for accessibility."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import LOADGEN, NARROW, ROOT, WIDE, Run, follow
from playwright.sync_api import Browser, expect

NIGHTS = 24


@pytest.fixture(scope="module")
def site(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a site of many nights, of which the later ones are slower, from one run."""
    folder = tmp_path_factory.mktemp("site")
    for night in range(1, NIGHTS + 1):
        record = json.loads(json.dumps(run.record))
        record["started"] = f"2026-01-{night:02}T02:00:00Z"
        slower = 0.8 if night > 16 else 1
        for target in record["targets"]:
            rates = target["rate_over_rounds_per_s"]
            rates["mean"] *= slower * (1 + night * 7 % 5 / 500)
            rates["confidence_95"] = [rates["mean"] * 0.98, rates["mean"] * 1.02]
        (folder / "nights" / f"night-{night}").mkdir(parents=True)
        (folder / "nights" / f"night-{night}" / "run.json").write_text(json.dumps(record))
    public = folder / "public"
    command = [str(LOADGEN), "site", str(folder / "nights"), f"--out={public}", "--baseline=night-1"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr
    return public


def test_a_colleague_finds_what_changed_and_the_report_of_that_night(browser: Browser, site: Path) -> None:
    opened = follow(browser, WIDE, "light")
    page = opened.page
    page.goto(f"file://{site}/index.html")
    expect(page.locator("h2").first).to_have_text("What changed")
    expect(page.locator("li .worse").first).to_contain_text(re.compile(r"requests/s .20\.\d % \(worse\)"))
    rows = page.locator("tr[data-text]")
    page.locator("#search").fill("nothing like this")
    expect(rows.first).to_be_hidden()
    page.locator("#search").fill("two sanic")
    expect(rows.first).to_be_visible()
    rows.first.get_by_role("link").first.click()
    expect(page.locator("h1")).to_have_text("two_steps")
    assert page.locator("svg circle").count() >= 2 * NIGHTS
    page.locator("svg .worse").first.scroll_into_view_if_needed()
    page.get_by_role("link", name="2026-01-17").first.click()
    expect(page.locator("h2").first).to_have_text("Findings")
    assert opened.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", ["index.html", "two-steps-closed-model.html"])
def test_the_pages_are_accessible(browser: Browser, site: Path, name: str, width: int, scheme: str) -> None:
    opened = follow(browser, width, scheme)
    opened.page.goto(f"file://{site}/{name}")
    violations = Axe().run(opened.page).response["violations"]
    serious = [(v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")]
    assert serious == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width, "it scrolls sideways"
    assert opened.complaints == []
