"""Reads the latencies that tools report themselves. Nothing else of a tool's own report is used."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000}


@dataclass(frozen=True)
class Latency:
    """Median and 99th percentile, in µs."""

    p50_us: float
    p99_us: float


# Reads a tool's latencies from the folder of its run: the file `output`, and loadgen's folder `out`.
Reader = Callable[[Path], Latency | None]


def of_loadgen(folder: Path) -> Latency | None:
    """Read loadgen's record: latencies from the planned time of each request."""
    [target] = json.loads((folder / "out/run.json").read_text())["targets"]
    return _of(target["total"]["latency_us"], "p50", "p99")


def of_document(folder: Path) -> Latency | None:
    """Read the JSON of zrk and of the single loop: latencies from the planned time of each request."""
    return _of(_last_document(folder)["latency_us"], "p50", "p99")


def of_oha(folder: Path) -> Latency | None:
    """Read the JSON of oha: latencies in seconds, from the moment at which oha's timer fired."""
    return _of(_last_document(folder)["latencyPercentiles"], "p50", "p99", unit_us=1e6)


def of_wrk2(folder: Path) -> Latency | None:
    """Read the percentiles of wrk2, such as `50.000%    1.02ms`: latencies from the planned time of each request."""
    found = re.findall(r"^\s*(50|99)\.000%\s+([\d.]+)(us|ms|s|m)\s*$", _output(folder), re.MULTILINE)
    latencies = {percent: float(number) * UNITS_US[unit] for percent, number, unit in found}
    return _of(latencies, "50", "99")


def _of(percentiles: dict[str, Any], p50: str, p99: str, unit_us: float = 1) -> Latency | None:
    """Return None if a percentile is missing, as with too few requests."""
    low, high = percentiles.get(p50), percentiles.get(p99)
    return None if low is None or high is None else Latency(low * unit_us, high * unit_us)


def _last_document(folder: Path) -> dict[str, Any]:
    """Return the JSON document in a tool's output, which may follow lines of progress."""
    output = _output(folder)
    document: dict[str, Any] = json.loads(output[output.index("\n{\n") + 1 if "\n{\n" in output else 0 :])
    return document


def _output(folder: Path) -> str:
    return (folder / "output").read_text(errors="replace")
