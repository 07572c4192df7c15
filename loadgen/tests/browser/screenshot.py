"""Writes a picture of the beginning of a report: python screenshot.py REPORT PICTURE."""

import sys
from pathlib import Path

from conftest import CHROMIUM, WIDE, open_report
from playwright.sync_api import sync_playwright

HEIGHT = 1500


def main() -> None:
    report, picture = (Path(argument).resolve() for argument in sys.argv[1:3])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = open_report(browser, report, WIDE).page
        page.set_viewport_size({"width": WIDE, "height": HEIGHT})
        page.locator("canvas").first.wait_for()
        # Charts further down become visible one after another.
        page.wait_for_timeout(500)
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
