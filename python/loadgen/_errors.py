"""Errors of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._results import Result


class LoadgenError(Exception):
    """loadgen could not do what it was asked to do. The message is loadgen's own."""

    # As users import it: tracebacks show this name.
    __module__ = "loadgen"

    def __init__(self, message: str, exit_code: int | None = None, result: Result | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """Exit code of loadgen (docs/how-to/run-in-ci.md); `None` if it was not started."""
        self.result = result
        """What was measured before the failure; `None` if nothing was."""


class Undecided(Exception):
    """The measurement neither shows that a condition holds nor that it fails. The message says what would."""

    __module__ = "loadgen"
