"""Bodies of requests: JSON that means one thing only, within the limits."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from .errors import Refused
from .limits import Limits

Unset = msgspec.UnsetType
UNSET = msgspec.UNSET
Body = TypeVar("Body", bound=msgspec.Struct)

_SPACE_BEFORE_COLON = re.compile(rb'"[ \t\r\n]+:')


class Predict(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to answer: one, or several."""

    row: Any = UNSET
    rows: list[Any] | Unset = UNSET
    probabilities: bool = False
    novelty: bool = False
    explain: int = 0
    max_error: float | None = None
    shadows: bool = False
    remember: bool = True


class Learn(msgspec.Struct, forbid_unknown_fields=True):
    """Rows with labels: one, or several; or predictions by their id, with the labels that came later."""

    row: Any = UNSET
    label: Any = UNSET
    weight: float | Unset = UNSET
    prediction_id: str | Unset = UNSET
    rows: list[Any] | Unset = UNSET
    labels: list[Any] | Unset = UNSET
    weights: list[float] | Unset = UNSET
    prediction_ids: list[str] | Unset = UNSET


class Ask(msgspec.Struct, forbid_unknown_fields=True):
    """Rows of which a label may be worth its price."""

    row: Any = UNSET
    rows: list[Any] | Unset = UNSET
    rate: float = 0.1


def decoded(body: bytes, decoder: msgspec.json.Decoder[Body], limits: Limits) -> Body:
    """The body as an object of that type. Refused if it is no JSON, not of that form, or a key comes twice."""
    try:
        found = decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Refused(422, f"{str(error).rstrip('.')}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"The body is no JSON: {str(error).rstrip('.')}.") from None
    except RecursionError:
        raise Refused(400, f"The body is nested more than {limits.depth} deep.") from None
    if type(getattr(found, "row", None)) is str and body.count(b'"') == 4:  # one key and one text
        return found
    keys = _keys_of_struct(found, limits)
    refuse_duplicates(body, keys)
    return found


def decoded_line(line: bytes, decoder: msgspec.json.Decoder[Any], limits: Limits) -> Any:
    """One line of NDJSON."""
    try:
        found = decoder.decode(line)
    except msgspec.ValidationError as error:
        raise Refused(422, f"{str(error).rstrip('.')}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"The line is no JSON: {str(error).rstrip('.')}.") from None
    except RecursionError:
        raise Refused(400, f"The line is nested more than {limits.depth} deep.") from None
    keys = _keys_of_struct(found, limits) if isinstance(found, msgspec.Struct) else _keys(found, limits)
    refuse_duplicates(line, keys)
    return found


def refuse_duplicates(body: bytes, n_keys: int) -> None:
    """Refused if a key comes twice in an object: the decoder keeps the last one, and others the first.

    Each key is a quote before a colon. If there are as many of those as keys were found, none came twice.
    """
    if body.count(b'":') == n_keys and not _SPACE_BEFORE_COLON.search(body):
        return
    try:
        json.loads(body, object_pairs_hook=_distinct)
    except _Twice as twice:
        raise Refused(400, f"The key {shown(str(twice))} comes twice in an object.") from None
    except RecursionError:
        raise Refused(400, "The body is nested too deeply.") from None
    except ValueError:  # an integer of thousands of digits, which is no number for a row either
        raise Refused(400, "The body has a number that is too long.") from None


def shown(text: str, most: int = 80) -> str:
    """Somebody else's text for a message: not all of it, and nothing that a terminal would take for a command."""
    cut = text if len(text) <= most else f"{text[:most]}..."
    return json.dumps(cut)


class _Twice(Exception):
    """The key that comes twice."""


def _distinct(pairs: list[tuple[str, Any]]) -> int:
    if len(pairs) > 1 and len({key for key, _ in pairs}) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key)
            seen.add(key)
    return 0


def _keys_of_struct(found: msgspec.Struct, limits: Limits) -> int:
    """How many keys an object had that became this, if none came twice; defaults may or may not have been there."""
    n = 0
    for name in found.__struct_fields__:
        value = getattr(found, name)
        if value is UNSET:
            continue
        if name in ("row", "rows", "label", "labels"):
            n += 1 + _keys(value, limits, 1)
        elif name in ("weights", "prediction_ids") or type(value) is str or value not in (False, None, 0, 0.1, True):
            n += 1
    return n


def _keys(found: Any, limits: Limits, depth: int = 0) -> int:
    """The number of keys in objects. Refused if something is nested too deeply, or a name is too long."""
    n, waiting, longest = 0, [(found, depth)], limits.name
    while waiting:
        value, depth = waiting.pop()
        kind = type(value)
        if kind is dict:
            n += len(value)
            for key in value:
                if len(key) > longest:
                    raise Refused(413, f"The name {shown(key, 40)} has more than {longest:,} characters.")
            values = value.values()
        elif kind is list:
            values = value
        else:
            continue
        if depth >= limits.depth:
            raise Refused(400, f"The body is nested more than {limits.depth} deep.")
        inner = [each for each in values if type(each) is dict or type(each) is list]
        if inner:
            waiting += [(each, depth + 1) for each in inner]
    return n
