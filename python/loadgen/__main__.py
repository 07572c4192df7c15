"""Runs loadgen: `python -m loadgen`."""

import os
import sys

from ._errors import LoadgenError
from ._program import environment, program

if __name__ == "__main__":
    try:
        path = program()
    except LoadgenError as error:
        raise SystemExit(str(error)) from None
    os.execve(path, [path, *sys.argv[1:]], environment())
