"""Uses about EXTRA_US µs of CPU time."""

import os
import time


def spend(passes: int) -> None:
    for _ in range(passes):
        pass


def _passes() -> int:
    """Return how often a loop must be passed. A clock that is read in each request would take microseconds itself."""
    trial, fastest_s = 100_000, float("inf")
    for _ in range(20):
        began = time.thread_time()
        spend(trial)
        fastest_s = min(fastest_s, time.thread_time() - began)
    return round(float(os.environ["EXTRA_US"]) / 1e6 / fastest_s * trial)


PASSES = _passes()


def spin() -> None:
    spend(PASSES)
