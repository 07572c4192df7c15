"""Prints the timeline of .ci/run: timeline.py BEGIN, with a line for each part on stdin.

A line is `NAME START WALL USER SYSTEM STATUS`, in seconds after BEGIN; BEGIN is in seconds of the Unix clock.
"""

import os
import sys
import time


def main() -> None:
    begin = float(sys.argv[1])
    rows = sorted((line.split() for line in sys.stdin), key=lambda row: float(row[1]))
    print(f"{'part':<16}{'start':>8}{'wall':>8}{'CPU':>8}{'cores':>7}")
    all_cpu = 0.0
    for name, start, wall, user, system, status in rows:
        cpu = float(user) + float(system)
        all_cpu += cpu
        failed = "" if status == "0" else f"  failed: exit code {status}"
        print(f"{name:<16}{start:>8}{float(wall):>8.1f}{cpu:>8.1f}{cpu / max(float(wall), 0.1):>7.2f}{failed}")
    wall = time.time() - begin
    print(f"{'all':<16}{'':>8}{wall:>8.1f}{all_cpu:>8.1f}{all_cpu / wall:>7.2f}  of {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
