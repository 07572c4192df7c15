"""Tests the JSON Schema of scenarios with an independent validator, and compares its verdicts with loadgen's."""

import copy
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

ROOT = Path(__file__).parents[3]
# The Makefile sets the folder in which Cargo builds.
LOADGEN = Path(os.environ.get("LOADGEN_BUILT", ROOT / "target" / "release" / "loadgen"))
# Examples of the reference use these files.
DATA = ROOT / "loadgen" / "scenario" / "tests" / "data"
FILES = [DATA / name for name in ["accounts.csv", "photo.jpg", "greeter.proto"]]
GREETER = ROOT / "targets" / "greeter.proto"

SCHEMA = json.loads((ROOT / "scenarios" / "loadgen.schema.json").read_text())
VALIDATOR = Draft7Validator(SCHEMA)

Scenario = dict[str, Any]


def shipped() -> list[Scenario]:
    files = sorted((ROOT / "scenarios").glob("*.toml"))
    first_one = ROOT / "loadgen" / "src" / "commands" / "init" / "scenario.toml"
    return [tomllib.loads(file.read_text()) for file in [*files, first_one]]


def examples() -> Iterator[Scenario]:
    """Yield the examples of the reference, each completed to a scenario."""
    reference = (ROOT / "docs" / "reference" / "scenario-file.md").read_text()
    for block in re.findall(r"```toml\n(.*?)```", reference, re.DOTALL):
        if "[[step]]" in block:
            yield tomllib.loads(block)
        elif block.startswith(("[", "on_error")):
            yield tomllib.loads(f'{block}\n[[step]]\nname = "redis3"\nget = "/"')
        else:
            yield tomllib.loads(f'[[step]]\npost = "/"\n{block}')


RIGHT = [*shipped(), *examples()]


def faults(scenario: Scenario) -> list[str]:
    """Return the faults that the schema finds, each with its place."""
    errors = VALIDATOR.iter_errors(scenario)
    return [f"{error.json_path}: {error.message}" for error in errors]


def test_the_schema_is_valid() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_shipped_scenarios_and_examples_are_valid() -> None:
    assert len(shipped()) >= 6
    assert len(list(examples())) >= 10
    for scenario in RIGHT:
        assert faults(scenario) == [], scenario


STEP = "[[step]]\nget = '/'\n"

WRONG = {
    "no step": "description = 'nothing'",
    "an unknown key": f"colour = 'blue'\n{STEP}",
    "a misspelt key": f"[load]\nusres = 3\n{STEP}",
    "a number as a string": f"[load]\nusers = '3'\n{STEP}",
    "no users": f"[load]\nusers = 0\n{STEP}",
    "a duration without its unit": f"[load]\nduration = '10'\n{STEP}",
    "a duration as a number": f"[load]\nduration = 10\n{STEP}",
    "a duration with an unknown unit": f"[load]\nduration = '10 sx'\n{STEP}",
    "two ends": f"[load]\nduration = '1s'\niterations = 10\n{STEP}",
    "three ends": f"[load]\nduration = '1s'\niterations = 10\niterations_per_user = 1\n{STEP}",
    "stages beside a duration": f"[load]\nduration = '1s'\nstages = [{{ users = 1, over = '1s' }}]\n{STEP}",
    "no rate in the open model": f"[load]\nmodel = 'open'\n{STEP}",
    "a rate in the closed model": f"[load]\nrate = 5\n{STEP}",
    "stages of the other model": f"[load]\nstages = [{{ rate = 1, over = '1s' }}]\n{STEP}",
    "an incomplete range of think times": f"[load]\nthink_time = {{ min = '1s' }}\n{STEP}",
    "an unknown model": f"[load]\nmodel = 'half-open'\n{STEP}",
    "an unknown backend": f"backends = ['mysql']\n{STEP}",
    "a target twice": f"targets = ['sanic', 'sanic']\n{STEP}",
    "HTTP/2 over http1": f"[http]\nversion = '2'\ntransport = 'http1'\n{STEP}",
    "a step without a request": "[[step]]\nname = 'nothing'",
    "a step of two requests": f"{STEP}post = '/'",
    "a path with its host": "[[step]]\nget = 'http://example.org/'",
    "services without a file": "[grpc]\n[[step]]\ngrpc = 'a.B/C'",
    "a call without its method": "[[step]]\ngrpc = 'a.B'",
    "a call with a query": "[[step]]\ngrpc = 'a.B/C'\nquery = { a = 1 }",
    "an unknown status of a call": "[[step]]\ngrpc = 'a.B/C'\nexpect = { grpc_status = 'FINE' }",
    "a weight outside iterations": f"{STEP}[[step]]\nget = '/a'\nwhen = 'start'\nweight = 2",
    "a body of two kinds": "[[step]]\npost = '/'\nbody = { json = 1, text = '1' }",
    "a body in the answer to HEAD": "[[step]]\nhead = '/'\nexpect = { body = 'hello' }",
    "an invalid status": f"{STEP}expect = {{ status = 999 }}",
    "an invalid JSON pointer": f"{STEP}expect = {{ json = {{ 'values.0' = 1 }} }}",
    "a capture without a source": f"{STEP}capture = {{ token = {{}} }}",
    "an unknown metric": f"{STEP}[thresholds]\nspeed = '> 5'",
    "a threshold without its unit": f"{STEP}[thresholds]\np99 = '< 100'",
    "an error rate without a comparison": f"{STEP}[thresholds]\nerror_rate = '1%'",
    "rows without a file": f"[rows.r]\nuse = 'once'\n{STEP}",
    "a proof without a claim": f"backends = ['redis']\n{STEP}[[proof]]\nredis = 'DBSIZE'",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_invalid_scenarios_are_refused(text: str) -> None:
    assert faults(tomllib.loads(text)) != []


Place = tuple[str | int, ...]


def tables(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the places of all tables, including the scenario itself."""
    if isinstance(value, dict):
        yield place
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tables(inner, (*place, key))


def table_at(scenario: Scenario, place: Place) -> dict[str, Any]:
    value: Any = scenario
    for key in place:
        value = value[key]
    return dict[str, Any](value)


def with_table(value: Any, place: Place, table: dict[str, Any]) -> Any:
    """Return the value with another table at this place."""
    if not place:
        return table
    changed = copy.copy(value)
    changed[place[0]] = with_table(value[place[0]], place[1:], table)
    return changed


OTHERS: list[Any] = [True, 7, -1, 0.5, 1000, "", "7", "10s", "/x", "zz", "< 1", [], ["zz"], {}, {"zz": 1}]
STRANGER = "zzzzzzzz"


def is_message(scenario: Scenario, place: Place) -> bool:
    """Return whether the table is a message of gRPC, whose keys only the .proto file has."""
    return place[:1] == ("step",) and "grpc" in table_at(scenario, place[:2]) and place[2:4] == ("body", "json")


def with_strangers(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with an additional key, in one table after another."""
    for place in tables(scenario):
        if is_message(scenario, place):
            continue
        yield with_table(scenario, place, table_at(scenario, place) | {STRANGER: 1})


def mutants(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with an additional key, without a key, or with another value under a key."""
    yield from with_strangers(scenario)
    for place in tables(scenario):
        table = table_at(scenario, place)
        for key in table:
            yield with_table(scenario, place, {name: value for name, value in table.items() if name != key})
            for other in OTHERS:
                yield with_table(scenario, place, table | {key: other})


def toml(value: Any) -> str:
    """Return a value as TOML in one line. Strings are written as in JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def taken_by_loadgen(scenarios: list[Scenario], folder: Path) -> list[bool]:
    """Return for each scenario whether `loadgen check` accepts it."""
    # The shipped scenarios have paths from their own folder.
    (folder / "targets").mkdir(exist_ok=True)
    shutil.copy(GREETER, folder / "targets")
    folder /= "scenarios"
    folder.mkdir(exist_ok=True)
    for file in FILES:
        shutil.copy(file, folder)
    for number, scenario in enumerate(scenarios):
        lines = (f"{toml(key)} = {toml(value)}\n" for key, value in scenario.items())
        (folder / f"s{number}.toml").write_text("".join(lines))
    command = [str(LOADGEN), "check", *(f"s{number}.toml" for number in range(len(scenarios)))]
    checked = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    right = set(re.findall(r"^(s[0-9]+): ok$", checked.stdout, re.MULTILINE))
    return [f"s{number}" in right for number in range(len(scenarios))]


needs_loadgen = pytest.mark.skipif(not LOADGEN.is_file(), reason="loadgen is not built: make build")


@needs_loadgen
def test_loadgen_refuses_the_invalid_scenarios(tmp_path: Path) -> None:
    wrong = [tomllib.loads(text) for text in WRONG.values()]
    assert taken_by_loadgen(RIGHT, tmp_path) == [True] * len(RIGHT)
    assert taken_by_loadgen(wrong, tmp_path) == [False] * len(wrong)


@needs_loadgen
def test_no_scenario_is_refused_that_loadgen_accepts(tmp_path: Path) -> None:
    changed = [mutant for scenario in RIGHT for mutant in mutants(scenario)]
    assert len(changed) > 2000
    taken = taken_by_loadgen(changed, tmp_path)
    assert sum(taken) > 100, "some changes are harmless"
    for mutant, right in zip(changed, taken, strict=True):
        assert not right or not faults(mutant), mutant


@needs_loadgen
def test_keys_unknown_to_loadgen_are_unknown_to_the_schema(tmp_path: Path) -> None:
    changed = [mutant for scenario in RIGHT for mutant in with_strangers(scenario)]
    taken = taken_by_loadgen(changed, tmp_path)
    for mutant, right in zip(changed, taken, strict=True):
        assert right == (not faults(mutant)), mutant
