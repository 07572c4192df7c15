"""Makes a server use EXTRA_PERCENT % more CPU time than it would use otherwise, from the first request on.

The server's own clocks say how much it has used, so that the share is right on a machine of any speed.
"""

import os
import time
from itertools import count
from threading import Lock

EXTRA = float(os.environ["EXTRA_PERCENT"]) / 100
# A request in which the clocks are read takes some microseconds more, so they are read in one of this many.
EVERY = 20

calls = count()
paying = Lock()
# CPU time of the process at the first request, and what it has used for nothing since, in ns.
at_first = spun = 0


def spin() -> None:
    call = next(calls)
    if call % EVERY == 0 and paying.acquire(blocking=False):
        pay(is_first=call == 0)
        paying.release()


def pay(*, is_first: bool) -> None:
    global at_first, spun
    began, of_process = time.thread_time_ns(), time.process_time_ns()
    if is_first:
        at_first = of_process
    owed = (of_process - at_first - spun) * EXTRA - spun
    used = 0
    while used < owed:
        used = time.thread_time_ns() - began
    spun += used
