"""Tests what the JSON Schema of scenarios says about each key, which editors show for the key and complete."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft7Validator

SCHEMA = json.loads((Path(__file__).parents[3] / "scenarios" / "loadgen.schema.json").read_text())

# Keywords whose schemas only restrict keys that others declare.
RESTRICTING = {"allOf", "anyOf", "dependencies", "else", "if", "not", "propertyNames", "then"}

# Keywords whose values are no schemas.
PLAIN = {"$schema", "const", "default", "description", "enum", "maximum", "minItems", "minLength", "minProperties"}
PLAIN |= {"minimum", "pattern", "required", "title", "type", "uniqueItems"}


class Key(NamedTuple):
    place: str
    schema: dict[str, Any]
    is_required: bool
    # Whether the author of a scenario chooses the name, as in `[rows.NAME]`.
    is_chosen: bool = False


def keys(schema: dict[str, Any], place: str = "") -> Iterator[Key]:
    """Yield the keys of a value with this schema, and of all values within."""
    own, inner = [], []
    for keyword, value in schema.items():
        match keyword:
            case "properties":
                required = schema.get("required", [])
                own += [Key(f"{place}.{name}", key, name in required) for name, key in value.items()]
            case "patternProperties":
                chosen = (Key(f"{place}.{name}", key, is_required=False, is_chosen=True) for name, key in value.items())
                own += chosen
            case "additionalProperties":
                if isinstance(value, dict):
                    own.append(Key(f"{place}.NAME", value, is_required=False, is_chosen=True))
            case "items":
                inner.append((value, f"{place}[]"))
            case "oneOf":
                inner += [(form, f"{place}<{number}>") for number, form in enumerate(value)]
            case _:
                assert keyword in RESTRICTING | PLAIN, f"{place}: {keyword}"
    yield from own
    for deeper, at in [*((key.schema, key.place) for key in own), *inner]:
        yield from keys(deeper, at)


KEYS = list(keys(SCHEMA))

# What a key means, the form of its values, and what a table without the key has.
EXPLAINED = re.compile(r"([A-Z`.\d].*)\. Value: (.+)\. (Default: .+|Required.*)\.")


def absence(key: Key) -> str | None:
    """Return what the description says about a table without the key; None for a description of another form."""
    explained = EXPLAINED.fullmatch(key.schema.get("description", ""))
    return explained and explained[3]


def test_the_walk_finds_keys_of_all_kinds() -> None:
    places = {key.place for key in KEYS}
    assert len(places) == len(KEYS)
    assert {
        ".load.stages[].over",
        ".load.think_time<1>.min",
        ".http.connection<1>.age",
        ".rows.NAME.use",
        ".flow[].step[].capture.NAME.match",
        ".step[].body.multipart.NAME<2>[]<1>.filename",
        ".step[].expect.stream<1>.end<1>.regex",
        ".step[].expect.not.json_size.NAME",
        ".thresholds.p99",
    } <= places


def test_each_key_of_a_chosen_name_has_a_description() -> None:
    chosen = {key.place: key.schema.get("description", "") for key in KEYS if key.is_chosen}
    assert [place for place, description in chosen.items() if not re.fullmatch(r"[A-Z].*\.", description)] == []


def test_each_other_key_tells_its_meaning_its_values_and_what_holds_without_it() -> None:
    assert [key.place for key in KEYS if not key.is_chosen and not absence(key)] == []


def test_the_description_of_a_required_key_says_so() -> None:
    told = {key.place: absence(key) for key in KEYS if key.is_required}
    assert {place: text for place, text in told.items() if text != "Required"} == {}


def test_the_description_of_an_optional_key_says_its_default_or_what_holds_without_it() -> None:
    def is_told(key: Key) -> bool:
        if "default" in key.schema:
            # JSON that is also TOML.
            return absence(key) == f"Default: `{json.dumps(key.schema['default'])}`"
        # A value alone belongs in `default`.
        return re.fullmatch(r"Required|Default: (`[^`]*`|none)", absence(key) or "Required") is None

    optional = [key for key in KEYS if not key.is_required and not key.is_chosen]
    assert [(key.place, key.schema["description"]) for key in optional if not is_told(key)] == []


def test_descriptions_have_no_links_into_the_reference() -> None:
    assert [key.place for key in KEYS if "](" in key.schema.get("description", "")] == []


def test_each_default_is_valid() -> None:
    with_default = [key for key in KEYS if "default" in key.schema]
    assert with_default
    assert [key.place for key in with_default if not Draft7Validator(key.schema).is_valid(key.schema["default"])] == []
