"""The lines on load tests at the end of pytest's output."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

COLUMNS = {"name": "", "rate": "requests/s", "p50": "p50", "p99": "p99", "errors": "errors"}

# A path stays whole, so that it can be opened.
WRAPPER = textwrap.TextWrapper(
    width=80, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
)


def lines(tests: Sequence[tuple[str, Sequence[dict[str, str]]]]) -> list[str]:
    """Return a table with the targets of each test, each test with what else there is to say."""
    rows = [row for _, rows in tests for row in rows if "name" in row]
    widths = {key: max(len(head), *(len(row[key]) for row in rows)) for key, head in COLUMNS.items()} if rows else {}

    def line(row: dict[str, str]) -> str:
        cells = [row["name"].ljust(widths["name"]), *(row[key].rjust(widths[key]) for key in COLUMNS if key != "name")]
        return f"  {'  '.join(cells)}".rstrip()

    shown = [line(COLUMNS)] if rows else []
    for name, of_test in tests:
        if not of_test:
            continue
        shown.append(name)
        for row in of_test:
            if "name" in row:
                shown.append(line(row))
            else:
                shown += WRAPPER.wrap(row["says"])
    return shown
