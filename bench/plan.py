"""How much is measured, and on which cores."""

import os
from dataclasses import dataclass

# A tool that never had its connections has not done what the others did.
ENOUGH_CONNECTIONS = 0.95


@dataclass(frozen=True)
class Plan:
    """Passes over all tools, the seconds that each is asked to load, and who runs where."""

    passes: int
    seconds: int
    server_core: int
    generator_core: int
    # Where this script itself runs.
    other_cores: frozenset[int]
    # How busy the machine was before: 0 on a quiet one, whatever the number of its cores.
    load_average: float = 0

    @classmethod
    def of(cls, passes: int, seconds: int) -> "Plan":
        server, *more = sorted(os.sched_getaffinity(0))
        generator, *others = more or [server]
        return cls(passes, seconds, server, generator, frozenset(others or [server]), os.getloadavg()[0])
