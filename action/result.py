"""Where the result of a gate is, and what tells it from those of other gates of the same job."""

import os
import re
from pathlib import Path


def name() -> str:
    """Return the name of the gate: its target and scenario, and GATE_NAME if there is one."""
    scenario = Path(os.environ.get("GATE_SCENARIO", "")).stem
    words = [os.environ.get("GATE_TARGET", ""), scenario, os.environ.get("GATE_NAME", "")]
    return "-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", word) for word in words if word)


def folder() -> Path:
    """Return the folder of the gate's results, within GATE_OUT."""
    return Path(os.environ.get("GATE_OUT") or "loadgen-result") / name()


def summary() -> Path:
    """Return the file that tells the result to people."""
    return folder() / "summary.md"
