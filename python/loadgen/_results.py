"""Results of loadgen: what they say, their reports and their tables."""

from __future__ import annotations

import functools
import html
import io
import webbrowser
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import LoadgenError
from ._estimate import Basis
from ._figures import Figures, Source, Target, starts
from ._program import call
from ._words import DISTURBING, FATAL, SPOILING, concerns_tests, failed, judged, said

if TYPE_CHECKING:
    import pandas as pd

    from .documents import (
        CapacityRecord,
        ExperimentRecord,
        RunRecord,
        RunsRecord,
        TargetRecord,
        Verdict,
    )


@dataclass(frozen=True)
class Report:
    """The page of a result: one file, which loads nothing from elsewhere."""

    path: Path

    def __str__(self) -> str:
        return f"report: {self.path}"

    def open(self) -> None:
        """Show the page in the browser."""
        webbrowser.open(self.path.absolute().as_uri())

    def _repr_html_(self) -> str:
        page = html.escape(self.path.read_text(encoding="utf-8"))
        # Its scripts run apart from those of the notebook.
        return f'<iframe sandbox="allow-scripts" srcdoc="{page}" style="width: 100%; height: 80vh; border: 0"></iframe>'


@dataclass(frozen=True)
class Result:
    """A saved result."""

    folder: Path
    """Folder of the result: the document, `report.html` and logs."""

    @functools.cached_property
    def table(self) -> str:
        """The table that loadgen prints."""
        return self._printed("table")

    def report(self) -> Report:
        """Return the page of the result, which a notebook shows."""
        return Report(self.folder / "report.html")

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each target and step, or for each trial of a search: the columns of `--format csv`."""
        try:
            import pandas as pd
        except ImportError:
            raise LoadgenError("to_pandas() needs pandas: pip install pandas") from None
        names = {"target": str, "step": str}
        return pd.read_csv(io.StringIO(self._printed("csv")), dtype=names, keep_default_na=False, na_values=[""])

    def _printed(self, form: str) -> str:
        done = call(["report", "--format", form, str(self.folder)])
        # A folder that cannot be written keeps its old page, but the result was printed.
        if not done.out:
            raise LoadgenError(done.error, done.exit_code)
        return done.out

    def __str__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table)}</pre>"


@dataclass(frozen=True)
class Run(Result, Figures):
    """A run. A run over one target has the figures of the target: `run.p99`."""

    record: RunRecord

    @functools.cached_property
    def targets(self) -> list[Target]:
        """The targets, in the order in which they were named."""
        return [Target(target, self._basis(target)) for target in self.record.targets]

    def target(self, name: str) -> Target:
        """Return the target of this name."""
        found = next((target for target in self.targets if target.name == name), None)
        if found is None:
            names = ", ".join(target.name for target in self.targets)
            raise LoadgenError(f"no target {name!r} was measured: the targets are {names}")
        return found

    @property
    def verdicts(self) -> list[Verdict]:
        """What to know before believing the figures."""
        return self.record.verdicts

    @property
    def failures(self) -> list[str]:
        """Thresholds and proofs that failed, in words; none if all held."""
        thresholds = [failed(it) for it in self.record.thresholds if not it.passed]
        return thresholds + [said(verdict) for verdict in self.verdicts if verdict.kind == "proof_failed"]

    @property
    def judged(self) -> dict[str, str]:
        """What a gate found of each target, in words; none without `fail_on_regression`."""
        gate = self.record.gate
        return {it.target: judged(it, gate) for it in gate.judged} if gate else {}

    @property
    def fatal(self) -> list[str]:
        """Why nothing that the run says about a server holds, in words; none for a sound run."""
        return [said(verdict) for verdict in self.verdicts if verdict.kind in FATAL]

    @property
    def _source(self) -> Source:
        return self._only._source

    def step(self, name: str) -> Figures:
        """Return the figures of the step of this name."""
        return self._only.step(name)

    @property
    def _only(self) -> Target:
        if len(self.targets) != 1:
            names = ", ".join(target.name for target in self.targets)
            raise LoadgenError(f"the run has several targets: use `run.target(name)` with one of {names}")
        return self.targets[0]

    def _of(self, target: str) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.target in (None, target)]

    def _basis(self, target: TargetRecord) -> Basis:
        def told(kinds: Container[str]) -> str:
            return "\n".join(said(it) for it in self._of(target.name) if it.kind in kinds)

        notes = [said(verdict) for verdict in self._of(target.name) if concerns_tests(verdict)]
        return Basis(starts(target), told(SPOILING), told(DISTURBING), (*notes, str(self.report())))

    def __repr__(self) -> str:
        return f"<Run {', '.join(target.name for target in self.targets)} in {self.folder}>"


@dataclass(frozen=True)
class Capacity(Result):
    """A search for the highest rate."""

    record: CapacityRecord = field(repr=False)


@dataclass(frozen=True)
class Experiment(Result):
    """A repeated experiment."""

    record: ExperimentRecord = field(repr=False)


@dataclass(frozen=True)
class Comparison:
    """A comparison of saved runs with the first of them."""

    record: RunsRecord = field(repr=False)
    table: str = field(repr=False)
    """The table that loadgen prints."""

    def __str__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table)}</pre>"


def result(folder: Path, document: dict[str, Any]) -> Result:
    """Return the result of a document."""
    from . import documents
    from ._read import decoded

    kinds: dict[str, tuple[Any, type[Any]]] = {
        "loadgen.run/1": (Run, documents.RunRecord),
        "loadgen.capacity/1": (Capacity, documents.CapacityRecord),
        "loadgen.experiment/1": (Experiment, documents.ExperimentRecord),
    }
    if document["schema"] not in kinds:
        raise LoadgenError(
            f"{folder} has a document in the form {document['schema']!r}, and this version of loadgen reads "
            f"{', '.join(kinds)}"
        )
    kind, record = kinds[document["schema"]]
    found: Result = kind(folder, decoded(document, record))
    return found
