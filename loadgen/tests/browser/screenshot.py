"""Writes a picture of the beginning of a report, or of a live page: python screenshot.py REPORT|URL PICTURE."""

import sys
import time
from pathlib import Path

from conftest import CHROMIUM, WIDE, follow
from playwright.sync_api import Error, Page, sync_playwright

HEIGHT = 1500
LIVE_HEIGHT = 1000
OPENS_WITHIN_S = 60


def open_soon(page: Page, url: str) -> None:
    """Open a page whose server may start only now."""
    deadline = time.monotonic() + OPENS_WITHIN_S
    while True:
        try:
            page.goto(url)
            return
        except Error:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def main() -> None:
    shown, picture = sys.argv[1:3]
    url = shown if shown.startswith("http") else Path(shown).resolve().as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = follow(browser, WIDE).page
        open_soon(page, url)
        is_live = url.startswith("http")
        if is_live:
            # The last round has begun, and has some seconds.
            page.locator("#rounds tbody tr").nth(2).wait_for(timeout=120_000)
            page.wait_for_timeout(6_000)
        page.set_viewport_size({"width": WIDE, "height": LIVE_HEIGHT if is_live else HEIGHT})
        page.locator("canvas").first.wait_for()
        # Charts further down become visible one after another.
        page.wait_for_timeout(500)
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
