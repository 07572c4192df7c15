"""Runs loadgen, and reads its results.

    import loadgen

    result = loadgen.run("http://127.0.0.1:8000/products", users=50, duration="10s", rounds=5)
    print(result)
    assert result.p99 < 0.05  # s; an error if the noise of the rounds leaves it open
    result.report()

The functions start the program `loadgen`, which came with this package, and take its options as keyword arguments:
`--server-workers 4` is `server_workers=4`. docs/reference/python.md describes them, and
docs/how-to/test-with-pytest.md shows how tests use them.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._errors import LoadgenError, Undecided
    from ._estimate import Estimate
    from ._figures import Figures, Target
    from ._fixture import Loadgen
    from ._functions import capacity, compare, read, run
    from ._gate import assert_not_slower
    from ._options import CapacityOptions, CompareOptions, RunOptions
    from ._results import Capacity, Comparison, Experiment, Report, Result, Run

__all__ = [
    "Capacity",
    "CapacityOptions",
    "CompareOptions",
    "Comparison",
    "Estimate",
    "Experiment",
    "Figures",
    "Loadgen",
    "LoadgenError",
    "Report",
    "Result",
    "Run",
    "RunOptions",
    "Target",
    "Undecided",
    "assert_not_slower",
    "capacity",
    "compare",
    "read",
    "run",
]

# Modules of the names above, imported when they are used: pytest imports this package for its plugin in each project
# that has loadgen.
_MODULES = {
    "_errors": ("LoadgenError", "Undecided"),
    "_estimate": ("Estimate",),
    "_figures": ("Figures", "Target"),
    "_fixture": ("Loadgen",),
    "_functions": ("capacity", "compare", "read", "run"),
    "_gate": ("assert_not_slower",),
    "_options": ("CapacityOptions", "CompareOptions", "RunOptions"),
    "_results": ("Capacity", "Comparison", "Experiment", "Report", "Result", "Run"),
}


def __getattr__(name: str) -> object:
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{module}", __name__), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
