"""Holds the length of a measurement, and the cores that it uses."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Number of passes over all tools, seconds of each run, and the cores of each program."""

    passes: int
    seconds: int
    server_core: int
    generator_core: int
    # Cores of this script.
    other_cores: frozenset[int]
    # Load average before the measurement: 0 on an idle machine with any number of cores.
    load_average: float = 0

    @classmethod
    def of(cls, passes: int, seconds: int) -> "Plan":
        server, *more = sorted(os.sched_getaffinity(0))
        generator, *others = more or [server]
        return cls(passes, seconds, server, generator, frozenset(others or [server]), os.getloadavg()[0])
