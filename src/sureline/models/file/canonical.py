"""Canonical JSON: each value has exactly one form, and other forms are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .errors import Refusal

DEEPEST = 16
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def canonical(value: Any) -> str:
    """The text of a value: ASCII, no spaces, keys in order, floats as the shortest text that reads back as they are."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True, allow_nan=False)


def parse(text: str) -> Any:
    """The value of a canonical text; other texts are refused."""
    try:
        value = json.loads(text)
        _refuse_depth(value)
        same = canonical(value) == text
    except RecursionError:
        raise Refusal(f"the metadata is nested more than {DEEPEST} deep") from None
    except ValueError:
        raise Refusal("the metadata is not JSON") from None
    if not same:
        raise Refusal("the metadata is not in its canonical form")
    return value


def _refuse_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [v for v in level if isinstance(v, dict | list)]
        if not level:
            return
        level = [below for v in level for below in (v.values() if isinstance(v, dict) else v)]
    raise Refusal(f"the metadata is nested more than {DEEPEST} deep")


def pack(value: Any, what: str, depth: int = 0) -> Any:
    """A value in JSON's types: tuples and non-finite floats become objects with a key that begins with $.

    Raises TypeError or ValueError, with `what` in the message, if a model file cannot hold it.
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not _LEAST <= value <= _MOST:
            raise ValueError(f"{what} is {value}, and a model file holds integers of 64 bits.")
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return {"$float": "nan" if value != value else "inf" if value > 0 else "-inf"}
    if isinstance(value, str):
        if json.loads(json.dumps(value)) != value:
            raise ValueError(f"{what} is text with half a character in it, which a model file cannot hold.")
        return str(value)
    if depth >= DEEPEST - 4:
        raise ValueError(f"{what} is nested too deeply for a model file.")
    if isinstance(value, list):
        return [pack(v, what, depth + 1) for v in value]
    if isinstance(value, tuple):
        return {"$tuple": [pack(v, what, depth + 2) for v in value]}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or key.startswith("$"):
                raise TypeError(f"{what} has the key {key!r}; a model file takes text that does not begin with $.")
        return {str(key): pack(v, what, depth + 1) for key, v in value.items()}
    raise TypeError(
        f"{what} is of type {type(value).__name__}; a model file holds numbers, text, True, False, None and lists."
    )


def unpack(value: Any, what: str) -> Any:
    """The inverse of `pack`."""
    if isinstance(value, int) and not isinstance(value, bool) and not _LEAST <= value <= _MOST:
        raise Refusal(f"{what} has an integer of more than 64 bits")
    if isinstance(value, list):
        return [unpack(v, what) for v in value]
    if isinstance(value, dict):
        if not any(key.startswith("$") for key in value):
            return {key: unpack(v, what) for key, v in value.items()}
        if len(value) == 1:
            if "$float" in value and isinstance(value["$float"], str) and value["$float"] in _SPECIAL:
                return _SPECIAL[value["$float"]]
            if "$tuple" in value and isinstance(value["$tuple"], list):
                return tuple(unpack(v, what) for v in value["$tuple"])
        raise Refusal(f"{what} has an object that means nothing")
    return value
