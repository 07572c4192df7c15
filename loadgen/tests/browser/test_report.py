"""Tests report.html in a browser: with a mouse, with a keyboard, and for accessibility."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import LOADGEN, NARROW, ROOT, WIDE, Opened, Run, open_report
from playwright.sync_api import Browser, Page, expect


def draw_all(page: Page) -> None:
    """Scroll to each chart, because the page draws a chart when it becomes visible."""
    for figure in page.locator("figure[data-chart]").all():
        figure.scroll_into_view_if_needed()
        expect(figure.locator("canvas")).to_be_visible()


def assert_accessible(page: Page, width: int) -> None:
    violations = Axe().run(page).response["violations"]
    serious = [(v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth") == width, "it scrolls sideways"


def test_the_ranking_is_a_table(opened: Opened, run: Run) -> None:
    rows = opened.page.locator("[aria-labelledby=ranking] tbody tr")
    assert rows.locator("th").all_inner_texts() == run.ranking
    rate = run.record["comparison"]["ranking"][0]["rate_per_s"]
    assert rows.first.locator("td").first.inner_text().startswith(f"{rate:,.0f}"[:3])


def test_the_page_begins_with_the_findings(opened: Opened) -> None:
    section = opened.page.locator("main section").first
    expect(section.locator("h2")).to_have_text("Findings")
    expect(section).to_contain_text("2 rounds are too few to claim a difference")
    expect(section.locator(".thresholds")).to_contain_text("error_rate < 1%")


def test_a_chart_shows_the_values_under_the_mouse(opened: Opened, run: Run) -> None:
    figure = opened.page.locator("figure").filter(has_text="Expected responses over time").first
    figure.scroll_into_view_if_needed()
    figure.locator(".u-over").hover()
    readout = figure.locator(".readout")
    expect(readout).to_contain_text("round")
    for target in run.ranking:
        expect(readout).to_contain_text(target)


def test_a_chart_can_be_read_with_the_keyboard(opened: Opened) -> None:
    figure = opened.page.locator("figure").filter(has_text="Latency by percentile").first
    plot, readout = figure.locator(".plot"), figure.locator(".readout")
    # A chart is drawn when it comes into view, and a key before that has no effect.
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".u-over")).to_be_visible()
    plot.focus()
    plot.press("ArrowRight")
    expect(readout).to_contain_text("0 %")
    plot.press("End")
    expect(readout).to_contain_text("99")
    plot.press("Home")
    expect(readout.locator("b")).to_have_text("0 %")


def test_a_chart_has_its_figures_in_a_table(opened: Opened, run: Run) -> None:
    figure = opened.page.locator("figure").filter(has_text="Latency by percentile").first
    figure.locator("summary").click()
    assert figure.locator("thead th").all_inner_texts() == run.ranking
    assert figure.locator("tbody tr").count() > 20


def test_a_target_can_be_hidden_and_shown_again(opened: Opened, run: Run) -> None:
    figure = opened.page.locator("figure").filter(has_text="Latency by percentile").first
    plot, readout = figure.locator(".plot"), figure.locator(".readout")
    first = opened.page.get_by_role("checkbox", name=run.ranking[0])
    for shown in (False, True):
        first.set_checked(shown)
        plot.focus()
        plot.press("Home")
        plot.press("ArrowRight")
        count = readout.get_by_text(run.ranking[0]).count()
        assert count == (1 if shown else 0)


def test_the_theme_follows_the_system_and_the_button(browser: Browser, run: Run) -> None:
    for scheme, after in (("light", "true"), ("dark", "false")):
        page = open_report(browser, run.report, scheme=scheme).page
        button = page.get_by_role("button", name="Dark")
        background = "getComputedStyle(document.body).backgroundColor"
        before = page.evaluate(background)
        button.click()
        expect(button).to_have_attribute("aria-pressed", after)
        assert page.evaluate(background) != before
        page.close()


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(browser: Browser, run: Run, width: int, scheme: str) -> None:
    page = open_report(browser, run.report, width, scheme).page
    draw_all(page)
    for summary in page.locator("summary").all():
        summary.click()
    assert_accessible(page, width)
    page.close()


def test_all_charts_are_printed(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    pdf = page.pdf(path=tmp_path / "report.pdf")
    assert pdf.startswith(b"%PDF")
    assert page.locator("canvas").count() == page.locator("figure[data-chart]").count()


def test_sentences_and_tables_need_no_javascript(browser: Browser, run: Run) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(run.report.as_uri())
    assert page.locator("[aria-labelledby=ranking] tbody th").all_inner_texts() == run.ranking
    context.close()


EXPERIMENT = """\
[[group]]
name = "direct"
scenario = "direct"
rounds = 2
load = { users = 5, duration = "1s" }
[[group.arm]]
target = "sanic"
[[group.arm]]
target = "flask"

[[group]]
name = "most"
scenario = "direct"
rounds = 1
capacity = { users = 50, duration = "300ms", precision = "50%" }
[[group.arm]]
target = "flask"

[[claim]]
says = "Sanic is faster"
group = "direct"
metric = "rate"
order = ["sanic", "flask"]
"""


def test_an_experiment_has_the_charts_of_its_groups(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(EXPERIMENT)
    saved = tmp_path / "saved"
    command = [str(LOADGEN), "experiment", str(file), "--warmup=0s", "--no-calibrate", f"--out={saved}"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    opened = open_report(browser, saved / "report.html")
    draw_all(opened.page)
    for section, chart in (
        ("direct", "Latency by percentile"),
        ("direct", "Distribution of latency"),
        ("direct", "Expected responses over time"),
        ("most", "Median latency"),
    ):
        of_group = opened.page.locator("section").filter(has=opened.page.locator("h2", has_text=section))
        expect(of_group.locator("figure").filter(has_text=chart).first).to_be_visible()
    assert opened.page.get_by_role("checkbox").count() == 2, "flask is one target in both groups"
    assert opened.complaints == []
    opened.page.close()
    for width in (WIDE, NARROW):
        the_claims_come_first(open_report(browser, saved / "report.html", width).page, width)


def the_claims_come_first(page: Page, width: int) -> None:
    """Check the first section of an experiment's page at this width, and close the page."""
    first = page.locator("main section").first
    expect(first.locator("h2")).to_have_text(re.compile(r"Claims: 1 \w+"))
    claims = first.get_by_role("img", name="Claims of")
    expect(claims).to_have_count(1)
    expect(claims).to_be_in_viewport()
    expect(claims).to_contain_text("Sanic is faster")
    expect(page.get_by_role("img", name="direct: requests/s")).to_be_visible()
    first.locator("summary").click()
    expect(first.get_by_role("row", name="Sanic is faster")).to_contain_text("? open")
    assert_accessible(page, width)
    page.close()


def test_a_large_run_opens(browser: Browser, run: Run, tmp_path: Path) -> None:
    """20 targets of 5 steps in 5 rounds of a minute: the page draws only the visible charts."""
    (tmp_path / "run.json").write_text(json.dumps(enlarged(run.record)))
    subprocess.run([LOADGEN, "report", tmp_path], check=True, capture_output=True)
    report = tmp_path / "report.html"
    assert report.stat().st_size < 5_000_000
    opened = open_report(browser, report)
    assert opened.page.locator("[aria-labelledby=ranking] tbody tr").count() == 20
    assert opened.page.locator("canvas").count() < 10
    ready = opened.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    print(f"{report.stat().st_size:,} bytes, ready after {ready:.0f} ms")
    assert opened.complaints == []
    opened.page.close()


def enlarged(record: dict) -> dict:  # type: ignore[type-arg]
    """Return the record with more targets, steps, rounds and seconds."""
    targets = []
    for n in range(20):
        target = json.loads(json.dumps(record["targets"][n % 2]))
        target["name"] = target["target"] = f"target-{n}"
        steps = [f"step-{i}" for i in range(5)]
        histogram, summary = target["latency_histograms"]["hello"], target["steps"][0]
        target["steps"] = [{**summary, "name": step} for step in steps]
        target["latency_histograms"] = dict.fromkeys(steps, histogram)
        first = target["rounds"][0]
        second = first["seconds"][0]
        first["seconds"] = [{**second, "second": i, "answered": 1000 + i * n % 97} for i in range(60)]
        figures = {"answered": [1000] * 60, "errors": [0] * 60, "p50_us": [1234] * 60, "p99_us": [12345] * 60}
        first["steps_seconds"] = dict.fromkeys(steps, figures)
        first["held_s"] = 60.0
        target["rounds"] = [{**first, "round": i + 1} for i in range(5)]
        targets.append(target)
    return {**record, "targets": targets, "comparison": None}
