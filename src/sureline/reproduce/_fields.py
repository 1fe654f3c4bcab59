"""Dataclasses out of tables of TOML: every key is known, none is missing, each value is of the type of its field."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, TypeVar

T = TypeVar("T")


class EntryError(ValueError):
    """An entry that is not as it should be. The message names the file and the key."""


def built(kind: type[T], table: Any, where: str) -> T:
    """The dataclass `kind` with the values of `table`, where lists become tuples and whole numbers may be floats."""
    if not isinstance(table, dict):
        raise EntryError(f"{where} must be a table. Got {table!r} instead.")
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    unknown = [key for key in table if key not in fields]
    if unknown:
        raise EntryError(f"{where} has a key {unknown[0]!r}, which is not one of {', '.join(fields)}.")
    needed = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    missing = [name for name in needed if name not in table]
    if missing:
        raise EntryError(f"{where} has no {missing[0]!r}.")
    return kind(**{key: _fitted(value, hints[key], f"{where}, {key!r},") for key, value in table.items()})


def _fitted(value: Any, hint: Any, where: str) -> Any:
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin is types.UnionType or origin is typing.Union:
        for one in of:
            try:
                return _fitted(value, one, where)
            except EntryError:
                continue
    elif origin is tuple and isinstance(value, list | tuple):
        return tuple(_fitted(one, of[0], where) for one in value)
    elif origin is dict and isinstance(value, dict):
        return {key: _fitted(one, of[1], where) for key, one in value.items()}
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif isinstance(hint, type) and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise EntryError(f"{where} must be {_in_words(hint)}. Got {value!r} instead.")


_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "left out"}


def _in_words(hint: Any) -> str:
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType or origin is typing.Union:
        return " or ".join(_in_words(one) for one in of)
    if origin is tuple:
        return f"a list, each of {_in_words(of[0])}"
    if origin is dict:
        return f"a table, each value of {_in_words(of[1])}"
    return _WORDS.get(hint, "a value")
