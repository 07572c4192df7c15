"""Uses EXTRA_US µs of CPU time."""

import os
import time

EXTRA_S = float(os.environ["EXTRA_US"]) / 1e6


def spin() -> None:
    until = time.thread_time() + EXTRA_S
    while time.thread_time() < until:
        pass
