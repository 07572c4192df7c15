"""Rewrites regions of a page, of which people write the rest by hand."""

import re
from pathlib import Path


def rewritten(page: str, name: str, text: str) -> str:
    """Return a page with new text between the markers of a region."""
    found = re.search(rf"(?P<begin><!-- {name}: .*? -->\n).*?(?P<end><!-- end of {name} -->)", page, re.DOTALL)
    if not found:
        raise LookupError(f"the page has no region {name}")
    return f"{page[: found.end('begin')]}\n{text}\n\n{page[found.start('end') :]}"


def rewrite(file: Path, name: str, text: str) -> None:
    file.write_text(rewritten(file.read_text(), name, text))


def lacking(file: Path | None, name: str) -> str | None:
    """Return the fault of a page, or None, before anything is measured for the page."""
    if file is None:
        return None
    try:
        rewritten(file.read_text(), name, "")
    except (OSError, LookupError) as error:
        return f"{file}: {error}"
    return None


def publish(text: str, page: Path | None, name: str) -> None:
    """Print the text, and write the text into the region of a page if a page is given."""
    print(text)
    if page:
        rewrite(page, name, text)
