"""Writes the section of CHANGELOG.md on this version into a file, for the page of a release.

python -m release.changelog FILE
"""

import re
import sys
from pathlib import Path

from release.names import ROOT, version


def section(changelog: str, wanted: str) -> str | None:
    """Return the text below the heading of a version, such as `## [0.1.0] - 2026-11-26`, if any."""
    for part in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        if heading.startswith(f"[{wanted}]"):
            return text.strip() + "\n"
    return None


if __name__ == "__main__":
    text = section((ROOT / "CHANGELOG.md").read_text(), version())
    if text is None:
        raise SystemExit(f"CHANGELOG.md has no section ## [{version()}]")
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(path)
