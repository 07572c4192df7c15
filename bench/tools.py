"""Lists the tools that are compared, with the command of each."""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.process import ROOT

PEERS = ROOT / ".loadgen/peers/bin"


@functools.cache
def built() -> Path:
    """Return the folder of Cargo's release builds."""
    metadata = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    told = subprocess.run(metadata, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return Path(json.loads(told.stdout)["target_directory"]) / "release"


@dataclass(frozen=True)
class Tool:
    """A tool. Its arguments may contain {url}, {users}, {seconds} and {out}, a separate folder for each run."""

    name: str
    program: str
    arguments: str
    # Option that prints the version; None if the tool has no such option.
    version: str | None = "--version"
    install: str = "build"
    # Whether child processes do the work: the CPU use of the tool's first process is then reported, too.
    manager: bool = False

    def path(self) -> str | None:
        folders = [PEERS, built(), built() / "examples"]
        path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])
        return shutil.which(self.program, path=path)

    def command(self, **values: object) -> list[str]:
        return [word.format(**values) for word in [self.path() or self.program, *shlex.split(self.arguments)]]

    def shown(self, seconds: int) -> str:
        """Return the command with placeholders, for readers."""
        return f"{self.program} {self.arguments}".format(url="URL", users="N", seconds=seconds, out="DIR")


LOADGEN_OPTIONS = "--url {url} --users {users} --duration {seconds}s --warmup 0s --rounds 1 --no-calibrate --out {out}"

LOADGEN = Tool("loadgen", "loadgen", f"--scenario direct {LOADGEN_OPTIONS}")
TOOLS = [
    LOADGEN,
    # Directly after loadgen, so that the two runs of a pair are close in time.
    Tool("wrk", "wrk", "-t1 -c{users} -d{seconds}s {url}/", version="-v", install="peer-wrk"),
    Tool(
        "loadgen, four expectations and a template",
        "loadgen",
        f"--scenario bench/four_expectations.toml {LOADGEN_OPTIONS}",
    ),
    Tool("loadgen, 4 workers", "loadgen", f"--scenario direct {LOADGEN_OPTIONS} --workers 4", manager=True),
    Tool("oha", "oha", "--no-tui -z {seconds}s -c {users} {url}/", install="peer-oha"),
    Tool("hey", "hey", "-z {seconds}s -c {users} {url}/", version=None, install="peer-hey"),
    Tool(
        "k6",
        "k6",
        "run --quiet --no-usage-report --vus {users} --duration {seconds}s --env TARGET={url}/ bench/k6.js",
        version="version",
        install="peer-k6",
    ),
    Tool(
        "Goose",
        "plain_goose",
        "--host {url} --users {users} --increase-rate 1000000 --run-time {seconds}s --no-telnet --quiet",
        install="peer-goose",
    ),
    Tool(
        "Locust",
        "locust",
        "--locustfile bench/locustfile.py --headless --only-summary --host {url} --users {users} "
        "--spawn-rate {users} --run-time {seconds}s",
        install="peer-locust",
    ),
]


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
