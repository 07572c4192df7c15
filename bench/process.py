"""Runs a tool: pinned to a core, with a time limit, measured, and with all its processes ended."""

import os
import resource
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOOKS_EACH_S = 0.1
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """Reason why a run has no result."""


@dataclass(frozen=True)
class Usage:
    """Resources that a run used. `cpu_s` includes the children that the process waited for."""

    cpu_s: float
    own_cpu_s: float
    wall_s: float
    memory_mb: float


def pinned(core: int, command: list[str], when_orphaned: str) -> list[str]:
    """Return a command that runs on one core, and gets a signal if this script is killed."""
    return ["setpriv", "--pdeathsig", when_orphaned, "taskset", "--cpu-list", str(core), *command]


def run(command: list[str], core: int, limit_s: float, output: Path) -> Usage:
    """Run a command to its end, or raise Failed. The output of the command goes to a file."""
    started = time.monotonic()
    with output.open("wb") as file:
        process = subprocess.Popen(
            pinned(core, command, when_orphaned="KILL"),
            cwd=ROOT,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        memory_kb = _watch(process.pid, limit_s)
        own_cpu_s = _cpu_s(process.pid)
    finally:
        used = _end(process)
    if process.returncode:
        raise Failed(f"{_exit(process.returncode)}: {last_line(output)}")
    return Usage(
        cpu_s=used.ru_utime + used.ru_stime,
        own_cpu_s=own_cpu_s,
        wall_s=time.monotonic() - started,
        memory_mb=max(memory_kb, _known_kb(used.ru_maxrss)) * 1024 / 1e6,
    )


def last_line(output: Path) -> str:
    lines = [line.strip() for line in output.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no output"


def _exit(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"


def _environment() -> dict[str, str]:
    """Return the environment without proxies, which some tools use for loopback, too."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def _watch(pid: int, limit_s: float) -> int:
    """Wait for the end of a process without reaping it, and return the peak memory of its process tree in kB."""
    deadline = time.monotonic() + limit_s
    peak = 0
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if time.monotonic() > deadline:
            raise Failed(f"did not end within {limit_s:g} s")
        peak = max(peak, sum(map(_peak_kb, _tree(pid))))
        time.sleep(LOOKS_EACH_S)
    return peak


def _tree(pid: int) -> list[int]:
    """Return a process and its descendants, except those that have already ended."""
    try:
        children = [
            int(child)
            for thread in Path(f"/proc/{pid}/task").iterdir()
            for child in (thread / "children").read_text().split()
        ]
    except OSError:
        children = []
    return [pid, *(each for child in children for each in _tree(child))]


def _peak_kb(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def _known_kb(maxrss: int) -> int:
    """Return ru_maxrss, or 0 if the value is not above that of this script, which a child inherits."""
    return maxrss if maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss else 0


def _cpu_s(pid: int) -> float:
    """Return the CPU time of a process without its children, also of a process that ended but is not reaped."""
    user, system = _stat(pid)[11:13]
    return (int(user) + int(system)) / TICKS_PER_S


def _stat(pid: int) -> list[str]:
    # From the third field on: the second field is a name, which may contain any character.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _end(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Kill a process and the rest of its session, and reap the process."""
    for pid in _session(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used


def _session(leader: int) -> list[int]:
    members = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(_stat(int(folder.name))[3]) == leader:
                members.append(int(folder.name))
    return members
