"""Finds a tool, its command and its version."""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.claims import Reader
from bench.process import ROOT

PEERS = ROOT / ".loadgen/peers/bin"


@functools.cache
def built() -> Path:
    """Return the folder of Cargo's release builds."""
    metadata = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    told = subprocess.run(metadata, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return Path(json.loads(told.stdout)["target_directory"]) / "release"


# Values in the arguments of tools, as readers see them: an address, numbers, and a folder of each run.
SHOWN = {"url": "URL", "users": "N", "connections": "N", "streams": "M", "rate": "RATE", "seconds": "S", "out": "DIR"}


@dataclass(frozen=True)
class Tool:
    """A tool. Its arguments may contain the keys of SHOWN."""

    name: str
    program: str
    arguments: str
    # Option that prints the version; None if the tool has no such option.
    version: str | None = "--version"
    # How to install the tool.
    install: str = "run `make build`"
    # Whether child processes do the work: the CPU use of the tool's first process is then reported, too.
    manager: bool = False
    # Scenario file that loadgen must accept; a version of loadgen may lack what the file needs.
    scenario: str | None = None
    # Reads the latencies that the tool reports, from the folder of a run.
    claimed: Reader | None = None

    def path(self) -> str | None:
        folders = [PEERS, built(), built() / "examples"]
        path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])
        return shutil.which(self.program, path=path)

    def command(self, **values: object) -> list[str]:
        return [word.format(**values) for word in [self.path() or self.program, *shlex.split(self.arguments)]]

    def shown(self, seconds: int) -> str:
        """Return the command with placeholders, for readers."""
        words = shlex.split(f"{self.program} {self.arguments}".format(**{**SHOWN, "seconds": seconds}))
        return shlex.join(words)

    def refusal(self) -> str | None:
        """Return why the tool cannot send its load; None if it can."""
        path = self.path()
        if not path:
            return f"missing: {self.install}"
        if not self.scenario:
            return None
        check = [path, "check", self.scenario]
        checked = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False, timeout=20)
        return None if checked.returncode == 0 else _faults(checked.stderr)


LOADGEN_OPTIONS = "--url {url} --users {users} --duration {seconds}s --warmup 0s --rounds 1 --no-calibrate --out {out}"

LOADGEN = Tool("loadgen", "loadgen", f"--scenario direct {LOADGEN_OPTIONS}")


def version(tool: Tool) -> str:
    path = tool.path()
    if not path:
        return "missing"
    found = asked_version(path, tool.version) if tool.version else _built_in_version(path)
    return found or "unknown"


def asked_version(path: str, option: str) -> str | None:
    asked = subprocess.run([path, option], capture_output=True, text=True, check=False, timeout=20)
    found = re.search(r"\d+\.\d+[^\s,)]*", asked.stdout + asked.stderr)
    return found and found.group()


def _built_in_version(path: str) -> str | None:
    """Return the version that Go writes into its programs."""
    found = re.search(rb"mod\t\S+\tv(\S+)", Path(path).read_bytes())
    return found and found.group(1).decode()


def _faults(text: str) -> str:
    """Return the sentences of loadgen's errors, without the lines of the file that they show."""
    found = re.findall(r"^\s*\N{MULTIPLICATION SIGN} (.+)$", text, re.MULTILINE)
    return "; ".join(found) or "loadgen refuses the scenario"
