"""Tests the example repository: its tests pass, and find a change that makes the service slower."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SORTED = "    return sorted(PRODUCTS"
# Three times the work: the machine does something else meanwhile.
SLOWER = f"    for _ in range(20):\n        sorted(PRODUCTS, key=lambda product: product.price)\n{SORTED}"
# Shorter rounds than those of a user, who has time for a smaller limit.
LIMIT = ('duration="2s", limit="5%"', 'duration="500ms", warmup="200ms", limit="50%"')


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with the example."""
    folder = tmp_path / "repository"
    shutil.copytree(ROOT / "examples" / "pytest", folder, ignore=shutil.ignore_patterns("runs", ".*_cache"))
    replace(folder / "tests" / "test_performance.py", *LIMIT)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message=A shop")
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "-p", "loadgen.pytest_plugin", *options]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=400, check=False)


def test_the_example_passes_and_stops_a_slower_service(repository: Path) -> None:
    as_before = run(repository)
    assert "shop@. is not slower than shop@main" in as_before.stdout, as_before.stdout
    # The machine may be too busy for a latency to be judged, but not for a ratio.
    assert as_before.returncode == 0 or "loadgen.Undecided: p95 of shop" in as_before.stdout, as_before.stdout
    assert "AssertionError" not in as_before.stdout, as_before.stdout
    replace(repository / "shop.py", SORTED, SLOWER)
    slower = run(repository, "-k", "not_slower")
    assert slower.returncode == 1, slower.stdout
    assert "AssertionError: shop@. is slower than shop@main: +" in slower.stdout
