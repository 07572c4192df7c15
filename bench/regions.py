"""Regions of a page that a script rewrites; all else in it is written by hand."""

import re
from pathlib import Path


def rewritten(page: str, name: str, text: str) -> str:
    """Return a page with a new text between the marks of a region."""
    found = re.search(rf"(?P<begin><!-- {name}: .*? -->\n).*?(?P<end><!-- end of {name} -->)", page, re.DOTALL)
    if not found:
        raise LookupError(f"it has no region {name}")
    return f"{page[: found.end('begin')]}\n{text}\n\n{page[found.start('end') :]}"


def rewrite(file: Path, name: str, text: str) -> None:
    file.write_text(rewritten(file.read_text(), name, text))


def lacking(file: Path | None, name: str) -> str | None:
    """Say what is wrong with a page, before anything is measured for it."""
    if file is None:
        return None
    try:
        rewritten(file.read_text(), name, "")
    except (OSError, LookupError) as error:
        return f"{file}: {error}"
    return None


def publish(text: str, page: Path | None, name: str) -> None:
    """Print the text, and write it into a page's region where one is asked for."""
    print(text)
    if page:
        rewrite(page, name, text)
