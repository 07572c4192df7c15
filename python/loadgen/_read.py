"""Reads result documents."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from pathlib import Path
from typing import Any, Literal, TypeVar

from ._errors import LoadgenError

# Documents of a run folder.
FILES = ("run.json", "capacity.json", "experiment.json")

Record = TypeVar("Record")


def document(path: Path) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a saved result, and its document. `path` is the folder or the document."""
    files = [path] if path.is_file() else [path / name for name in FILES]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        raise LoadgenError(f"{path} has none of {', '.join(FILES)}: name the folder of a run, such as runs/TIME-NAME")
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LoadgenError(f"{file} is no result of loadgen: {error}") from None
    if not isinstance(read, dict) or not isinstance(read.get("schema"), str):
        raise LoadgenError(f"{file} is no result of loadgen: it has no `schema`")
    return file.parent, read


def decoded(value: dict[str, Any], kind: type[Record]) -> Record:
    """Return a document as its class."""
    try:
        return typing.cast("Record", _decoded(value, kind))
    except _Unlike as error:
        raise LoadgenError(f"not a {kind.__name__} that this version of loadgen reads: {error}") from None


class _Unlike(Exception):
    """A value is not of its type."""


@functools.cache
def _fields(kind: type) -> list[tuple[str, str, Any, Any]]:
    """Return key, name, type and default of each field of a class."""
    kinds = typing.get_type_hints(kind)
    return [
        # A name that Python reserves ends with an underscore.
        (field.name.removesuffix("_"), field.name, kinds[field.name], _default(field, kinds[field.name]))
        for field in dataclasses.fields(kind)
    ]


def _default(field: dataclasses.Field[Any], kind: Any) -> Any:
    """Return the value of a field that an earlier version did not write."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if types.NoneType in typing.get_args(kind):
        return None
    empty = typing.get_origin(kind)
    return empty() if empty in (list, dict) else dataclasses.MISSING


def _decoded(value: Any, kind: Any) -> Any:
    """Return a value of JSON as a type of the documents. Fields that a later version added are left out."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (types.UnionType, typing.Union):
        return _one_of(value, inner)
    if origin is Literal:
        # Later versions may have further words.
        return _checked(value, str)
    if origin is list:
        return [_decoded(one, inner[0]) for one in _checked(value, list)]
    if origin is dict:
        return {key: _decoded(one, inner[1]) for key, one in _checked(value, dict).items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        _checked(value, dict)
        return kind(**{name: _field(value, key, of, default) for key, name, of, default in _fields(kind)})
    return _checked(value, (int, float) if kind is float else kind)


def _field(value: dict[str, Any], key: str, kind: Any, default: Any) -> Any:
    if key not in value:
        if default is dataclasses.MISSING:
            raise _Unlike(f"`{key}` is missing")
        return default
    try:
        return _decoded(value[key], kind)
    except _Unlike as error:
        raise _Unlike(f"{key}: {error}") from None


def _one_of(value: Any, kinds: tuple[Any, ...]) -> Any:
    """Return a value as the first type that it fits."""
    faults = []
    for kind in kinds:
        try:
            return _decoded(value, kind)
        except _Unlike as error:
            faults.append(str(error))
    raise _Unlike("; ".join(faults))


def _checked(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, (int, float))):
        raise _Unlike(f"{json.dumps(value)[:60]} is of another type")
    return value
