"""Tests the live page in a browser, while a real run goes on."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import LOADGEN, NARROW, ROOT, WIDE, Opened, follow
from playwright.sync_api import Browser, expect

HOSTILE = "<img src=x onerror=alert(1)>"


@dataclass
class Live:
    """A run in progress, and the URLs of its page, without and with controls."""

    process: subprocess.Popen[str]
    url: str
    control: str


@contextmanager
def live(folder: Path, *words: str) -> Iterator[Live]:
    """Start a run over two steps, of which one fails."""
    scenario = folder / "live.toml"
    scenario.write_text(
        '[load]\nusers = 5\nduration = "4s"\n'
        '[[step]]\nname = "hello"\nget = "/"\n'
        f'[[step]]\nname = "{HOSTILE}"\nget = "/nothing"\nverify = false\n'
    )
    options = ["--warmup=0s", "--no-calibrate", "--web", "--web-control", f"--out={folder / 'saved'}"]
    command = [str(LOADGEN), f"--scenario={scenario}", *options, *words]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        while not (found := re.search(r"with controls: (\S+)", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        control = found[1]
        try:
            yield Live(process, control.split("#")[0], control)
            process.communicate(timeout=60)
        finally:
            process.kill()


def open_page(browser: Browser, url: str, width: int = WIDE, scheme: str = "light") -> Opened:
    opened = follow(browser, width, scheme)
    opened.page.goto(url)
    return opened


def test_rounds_of_a_second_are_shown_whole(browser: Browser, tmp_path: Path) -> None:
    with live(tmp_path, "--target=sanic", "--rounds=4", "--duration=1s") as run:
        page = open_page(browser, run.url).page
        expect(page.locator(".kind")).to_have_text("Load test, live")
        expect(page.locator("#rounds tbody tr")).to_have_count(1, timeout=30_000)
        # The only second of the round, which no later one has shown to be complete.
        expect(page.locator("#rate")).to_have_text(re.compile(r"\d"), timeout=500)
        assert 0 < float(page.locator("#progress").evaluate("it => it.value")) < 1


def test_the_page_shows_the_run_and_becomes_the_report(browser: Browser, tmp_path: Path) -> None:
    with live(tmp_path, "--target=sanic,flask", "--rounds=1", "--duration=10s") as run:
        first = open_page(browser, run.url)
        page = first.page
        expect(page.locator("#doing")).to_contain_text("holding the load", timeout=30_000)
        expect(page.locator("#rate")).to_have_text(re.compile(r"\d"))
        expect(page.locator("#p99")).to_have_text(re.compile(r"\d"))
        assert page.locator("figure canvas").count() == 3
        expect(page.locator("#steps tbody tr").nth(1).locator("th")).to_have_text(HOSTILE)
        expect(page.locator("#errors tbody tr").first).to_contain_text("404")
        expect(page.locator("#usage tbody")).to_contain_text("generator")
        # What is over is there for who comes later.
        expect(page.locator("#rounds tbody tr")).to_have_count(1, timeout=30_000)
        late = open_page(browser, run.url)
        expect(late.page.locator("#rounds tbody tr")).to_have_count(1)
        page.locator("#rates .u-over").hover(position={"x": 20, "y": 60})
        expect(page.locator("#rates .readout b")).to_have_text(re.compile(r", round 1, \d+ s"))
        for opened in (first, late):
            expect(opened.page.locator("h2").first).to_have_text("Findings", timeout=30_000)
            assert opened.page.url == f"{run.url}report.html"
            assert opened.complaints == []
            assert {request.split("?")[0] for request in opened.requests if not request.startswith(run.url)} == set()


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_the_page_is_accessible(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    with live(tmp_path, "--target=sanic", "--rounds=1") as run:
        opened = open_page(browser, run.control, width, scheme)
        expect(opened.page.locator("#steps tbody tr").first).to_be_visible(timeout=30_000)
        violations = Axe().run(opened.page).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")] == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width, "it scrolls sideways"


def test_who_has_the_token_changes_the_load_and_ends_the_run(browser: Browser, tmp_path: Path) -> None:
    with live(tmp_path, "--target=sanic", "--rounds=1", "--duration=60s") as run:
        without = open_page(browser, run.url).page
        page = open_page(browser, run.control).page
        expect(page.locator("#load")).to_have_text("5", timeout=30_000)
        expect(page.locator("#planned")).to_have_text("planned users")
        expect(without.locator("#controls")).to_be_hidden()
        page.get_by_label("Load", exact=True).fill("12")
        page.get_by_role("button", name="Change").click()
        expect(page.locator("#answer")).to_contain_text("12 users from second")
        expect(without.locator("#load")).to_have_text("12")
        expect(without.locator("#notes")).to_contain_text("12 users from second")
        page.get_by_role("button", name="End, and report").click()
        for one in (page, without):
            expect(one.locator("h2").first).to_have_text("Findings", timeout=30_000)


def test_a_lost_connection_is_said(browser: Browser, tmp_path: Path) -> None:
    with live(tmp_path, "--target=sanic", "--rounds=1", "--duration=60s") as run:
        page = open_page(browser, run.url).page
        expect(page.locator("#doing")).to_contain_text("holding the load", timeout=30_000)
        run.process.kill()
        expect(page.locator("#lost")).to_contain_text("The connection to loadgen is lost")
