"""Runs loadgen, and reads its results.

    import loadgen

    result = loadgen.run("http://127.0.0.1:8000/products", users=50, duration="10s", rounds=5)
    print(result)
    assert result.p99 < 0.05  # s; an error if the noise of the rounds leaves it open
    result.report()

The functions start the program `loadgen`, which came with this package, and take its options as keyword arguments:
`--server-workers 4` is `server_workers=4`. docs/how-to/test-with-pytest.md shows how tests use them.
"""

from ._errors import LoadgenError, Undecided
from ._estimate import Estimate
from ._functions import capacity, compare, read, run
from ._gate import assert_not_slower
from ._results import Capacity, Comparison, Experiment, Figures, Report, Result, Run, Target

__all__ = [
    "Capacity",
    "Comparison",
    "Estimate",
    "Experiment",
    "Figures",
    "LoadgenError",
    "Report",
    "Result",
    "Run",
    "Target",
    "Undecided",
    "assert_not_slower",
    "capacity",
    "compare",
    "read",
    "run",
]
