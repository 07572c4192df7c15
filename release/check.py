"""Checks that a tag may be released: one version everywhere, with a section in the changelog.

python -m release.check TAG OWNER/NAME
"""

import sys
from typing import Any

from release.changelog import section
from release.names import ROOT, toml


def faults(tag: str, repository: str, cargo: dict[str, Any], project: dict[str, Any], changelog: str) -> list[str]:
    """Return what is wrong, each with its remedy."""
    package = cargo["workspace"]["package"]
    version = package["version"]
    crates = cargo["workspace"]["dependencies"].items()
    needs = {name: need["version"] for name, need in crates if name.startswith("loadgen-")}
    url = f"https://github.com/{repository}"
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, but Cargo.toml has version {version}: tag v{version}, or change the version")
    for name, needed in needs.items():
        if needed != f"={version}":
            found.append(f'{name} has version "{needed}" in [workspace.dependencies]: write "={version}"')
    if project["project"]["version"] != version:
        found.append(f"pyproject.toml has version {project['project']['version']}: write {version}")
    if package.get("repository") != url:
        found.append(f'Cargo.toml does not name this repository: write repository = "{url}" in [workspace.package]')
    if section(changelog, version) is None:
        found.append(f"CHANGELOG.md has no section ## [{version}]: rename [Unreleased], with the date")
    return found


if __name__ == "__main__":
    tag, repository = sys.argv[1:]
    found = faults(tag, repository, toml("Cargo.toml"), toml("pyproject.toml"), (ROOT / "CHANGELOG.md").read_text())
    raise SystemExit("\n".join(f"release-check: {fault}" for fault in found) or None)
