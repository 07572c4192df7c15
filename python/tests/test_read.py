"""Tests the reader of result documents, with a document of a real run."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from loadgen._program import printable
from loadgen._read import decoded

import loadgen
from loadgen import LoadgenError, documents


@pytest.fixture(scope="module")
def saved(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of two rounds over two servers."""
    folder = tmp_path_factory.mktemp("saved") / "run"
    loadgen.run(
        url=[f"one={url}", f"other={url.replace('127.0.0.1', 'localhost')}"],
        scenario=_scenario(folder.parent),
        users=2,
        rounds=2,
        duration="300ms",
        warmup="0s",
        no_calibrate=True,
        out=folder,
        quiet=True,
    )
    return folder


def _scenario(folder: Path) -> Path:
    path = folder / "two.toml"
    path.write_text('[[step]]\nname = "a"\nget = "/"\n[[step]]\nname = "b"\nget = "/b"\n[thresholds]\np50 = "< 9s"\n')
    return path


def as_json(value: Any) -> Any:
    """Return a document as the JSON that it was."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name.removesuffix("_"): as_json(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    return value


def without_missing(read: Any, written: Any) -> Any:
    """Leave out what JSON leaves out: keys that are missing instead of `null`."""
    if isinstance(read, dict) and isinstance(written, dict):
        shown = {key: without_missing(value, written.get(key)) for key, value in read.items()}
        return {key: value for key, value in shown.items() if key in written or value is not None}
    if isinstance(read, list) and isinstance(written, list):
        return [without_missing(*pair) for pair in zip(read, written, strict=True)]
    return read


def test_nothing_of_a_document_is_lost(saved: Path) -> None:
    written = json.loads((saved / "run.json").read_text())
    read = decoded(written, documents.RunRecord)
    assert without_missing(as_json(read), written) == written
    assert isinstance(read.targets[0].steps_over_rounds["a"], documents.StepOverRounds)


def test_a_run_has_the_figures_of_its_targets_and_steps(saved: Path) -> None:
    run = loadgen.read(saved)
    assert isinstance(run, loadgen.Run)
    assert [target.name for target in run.targets] == ["one", "other"]
    one = run.target("one")
    for figures in (one, one.step("a"), one.step("b")):
        assert figures.rate > 0
        assert figures.p50 < 5
        assert figures.error_rate.value == 0
    assert one.step("a").rate.value == pytest.approx(one.rate.value / 2, rel=0.2)
    assert repr(run) == f"<Run one, other in {saved}>"
    with pytest.raises(LoadgenError, match="several targets"):
        _ = run.p99
    with pytest.raises(LoadgenError, match="no step 'c': its steps are a, b"):
        one.step("c")
    with pytest.raises(LoadgenError, match="the targets are one, other"):
        run.target("third")
    assert run.failures == []


def test_the_table_the_page_and_the_frame(saved: Path) -> None:
    run = loadgen.read(saved / "run.json")
    assert "requests/s" in str(run)
    assert "<pre>" in run._repr_html_()
    page = run.report()
    assert page.path.is_file()
    assert page._repr_html_().startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!')
    frame = run.to_pandas()
    assert {"one", "other"} == set(frame["target"])
    assert {"a", "b", "all"} <= set(frame["step"])


def test_documents_of_other_versions_are_read(saved: Path) -> None:
    written = json.loads((saved / "run.json").read_text())
    written["colour"] = "blue"
    for target in written["targets"]:
        # Earlier versions did not write these.
        del target["steps_over_rounds"], target["rate_over_rounds_per_s"], target["groups"], target["transport"]
    read = decoded(written, documents.RunRecord)
    assert (read.targets[0].steps_over_rounds, read.targets[0].groups, read.targets[0].transport) == ({}, [], None)
    run = loadgen.Run(saved, read)
    with pytest.raises(loadgen.Undecided):
        _ = run.targets[0].p99 < 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "is no result of loadgen"),
        ("[]", "has no `schema`"),
        ('{"schema": "other/1"}', "in the form 'other/1', and this version of loadgen reads loadgen.run/1"),
        ('{"schema": "loadgen.run/2"}', "in the form 'loadgen.run/2'"),
        ('{"schema": "loadgen.run/1"}', "`environment` is missing"),
        ('{"schema": "loadgen.run/1", "targets": 3}', "targets: 3 is of another type|is missing"),
    ],
)
def test_a_faulty_document_is_named(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(LoadgenError, match=fault):
        loadgen.read(tmp_path)


def test_a_value_of_another_type_is_named(saved: Path) -> None:
    written = json.loads((saved / "run.json").read_text())
    written["targets"][0]["users"] = "two"
    with pytest.raises(LoadgenError, match='targets: users: "two" is of another type'):
        decoded(written, documents.RunRecord)


def test_proofs_of_both_kinds_keep_their_values() -> None:
    common = {"agrees": True, "backend": "redis", "held": 5, "question": "GET n", "round": 1, "unknown": 0}
    counted = {**common, "counted": 4, "counter": "n", "uncounted": 1}
    valued = {**common, "value": 5}
    for written, kind in ((counted, documents.ProofRecord1), (valued, documents.ProofRecord2)):
        read = decoded({"proof": written}, Proven).proof
        assert isinstance(read, kind)
        assert as_json(read) == written


@dataclasses.dataclass(frozen=True, kw_only=True)
class Proven:
    proof: documents.ProofRecord


def test_a_scalar_that_is_missing_is_not_made_up(saved: Path) -> None:
    written = json.loads((saved / "run.json").read_text())
    del written["targets"][0]["rounds"][0]["whole"]
    with pytest.raises(LoadgenError, match="rounds: `whole` is missing"):
        decoded(written, documents.RunRecord)


def test_texts_of_servers_control_no_terminal() -> None:
    assert printable("a\x1b]0;b\u202ec") == "a\\x1b]0;b\\u202ec"


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadgenError, match=r"has none of run\.json, capacity\.json, experiment\.json"):
        loadgen.read(tmp_path)
