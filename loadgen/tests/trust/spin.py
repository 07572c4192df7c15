"""Uses about EXTRA_US µs of CPU time."""

import os
import time


def _passes() -> int:
    """Return how often a loop must be passed. A clock that is read in each request would take microseconds itself."""
    trial = 2_000_000
    began = time.thread_time()
    for _ in range(trial):
        pass
    each_s = (time.thread_time() - began) / trial
    return round(float(os.environ["EXTRA_US"]) / 1e6 / each_s)


PASSES = _passes()


def spin() -> None:
    for _ in range(PASSES):
        pass
