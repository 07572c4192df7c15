"""Runs the steps of the GitHub Action as a runner runs them, for tests."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ACTION = ROOT / "action"
LOADGEN = Path(os.environ.get("LOADGEN_BUILT", ROOT / "target" / "release" / "loadgen"))


def step(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action with the variables that a runner sets, and no others of this process."""
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    path = f"{LOADGEN.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = kept | {"PATH": path, "GITHUB_ACTIONS": "true"} | variables
    command = [sys.executable, str(ACTION / script)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=280, check=False)
