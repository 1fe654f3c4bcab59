"""JSON lines: an object a line, flattened to names and values."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from json.decoder import scanstring  # type: ignore[attr-defined]  # the stubs leave it out
from typing import Any, NamedTuple

from ..errors import listed, shown
from ..labels import BadLabel, Label, from_number
from ..options import Options
from ..schema import Schema
from .tables import Encoder, Found, Row, TableParser, Wrong, column_of, label_of, text_lines, weight_of

_DEEPEST = 100  # objects within objects
_BLANKS = " \t\r"
_ABSENT = object()


class JsonLines(TableParser):
    """An object a line. Objects within it are flattened with dots, and lists hold numbers or texts.

    A key that the table does not have is read by what it holds.
    """

    def __init__(self, options: Options) -> None:
        self._schema = schema = options.schema or Schema(())
        super().__init__(options, Encoder(options, schema.table, open=True))
        self._no_features = {*schema.ids, *schema.ignored}
        self._nested = {name for name in (options.label, options.weight) if name is not None and "." in name}
        self._decode = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant).decode

    def _rows(self, block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
        return text_lines(block, first)

    def _place(self, row: str, name: str) -> int:
        return next((column_of(row, place.value) for place in places(row) if place.name == name), 1)

    def _unlabelled(self, row: str) -> Wrong:
        label, names = self._options.label, [*dict.fromkeys(place.name for place in places(row))]
        if not names or label in names:
            return super()._unlabelled(row)
        return Wrong(f"the row has no label: no key is {shown(label)} among {listed(names)}; --label names it", 1)

    def _read(self, row: str) -> Found | None:
        content = row.lstrip(" \t\r")
        if not content:
            return None
        if content[0] != "{":
            hint = "; of an array, jq -c '.[]' makes lines" if content[0] == "[" else ""
            raise Wrong(f"the line must be a JSON object{hint}", column_of(row, len(row) - len(content)))
        try:
            return self._found(self._decode(row))
        except json.JSONDecodeError as error:
            raise Wrong(f"not JSON: {error.msg}", column_of(row, error.pos)) from None
        except RecursionError:
            raise Wrong("it is nested too deeply", _refused_at(row)) from None
        except Wrong as wrong:
            raise Wrong(wrong.reason, _refused_at(row) if wrong.name is None else self._wrong_at(row, wrong)) from None
        except ValueError as error:  # an integer of thousands of digits
            raise Wrong(f"not JSON: {error}", _refused_at(row)) from None

    def flat(self, row: str) -> dict[str, Any] | None:
        """The names and values of a line, including label and weight; None if the line is not a row.

        Any list is taken: whether it can be read is for the rows to say, since its column may be ignored.
        """
        if not row.strip(_BLANKS):
            return None
        try:
            record = self._decode(row)
            return self._flat(record, any_list=True)[0] if isinstance(record, dict) else None
        except (ValueError, RecursionError) as error:
            raise Wrong(str(error)) from None

    def _wrong_at(self, row: str, wrong: Wrong) -> int:
        """The byte column of a wrong name; of a duplicate name, the second one."""
        if not isinstance(wrong, _Twice):
            return self._place(row, wrong.name or "")
        found = [place.key for place in places(row) if place.name == wrong.name]
        return column_of(row, found[min(1, len(found) - 1)]) if found else 1

    def _found(self, record: dict[str, Any]) -> Found:
        options = self._options
        kept = {name: value for name in options.keep if (value := _looked_up(record, name)) is not _ABSENT}
        for name in self._nested:
            _lift(record, name)
        try:
            label = _label(record.pop(options.label, None), options)
        except (BadLabel, Wrong) as wrong:
            raise Wrong(str(wrong), name=options.label) from None
        weight = 1.0
        if options.weight is not None:
            given = record.pop(options.weight, None)
            try:
                weight = weight_of(_number(given) if isinstance(given, (int, float)) else None)
            except Wrong as wrong:
                raise Wrong(wrong.reason, name=options.weight) from None
        row, expanded = self._flat(record)
        tag = b""
        if self._no_features:
            values = {name: row.pop(name) for name in self._no_features if name in row}
            tag = b",".join(_as_tag(name, values.get(name)) for name in self._schema.ids)
        return Found(row, label, weight, expanded, tag, kept)

    def _flat(self, record: dict[str, Any], any_list: bool = False) -> tuple[Row, int]:
        """Names and values, and how many characters the names have that are made here."""
        kinds = set(map(type, record.values()))
        if dict not in kinds and list not in kinds:
            return record, 0
        values: Row = {}
        expanded = 0
        most, longest, room = self._options.max_features, self._options.max_name, self._options.row_room

        def put(name: str, value: Any) -> None:
            nonlocal expanded
            if name in values:
                raise _Twice(f"the name {shown(name)} comes twice", name=name)
            expanded += len(name)
            if expanded > room or len(values) >= most:
                what = f"{room:,} characters in their names" if expanded > room else f"{most:,} features (max_features)"
                raise Wrong(f"the row has more than {what}", name=name)
            values[name] = value

        waiting = [("", record, 1)]
        while waiting:
            prefix, inner, depth = waiting.pop()
            if depth > _DEEPEST:
                raise Wrong("it is nested too deeply", name=prefix[:-1])
            for key, value in inner.items():
                if len(prefix) + len(key) > longest:  # checked before it is assembled
                    raise Wrong(f"a name has more than {longest:,} bytes (max_name)", name=prefix + key)
                name = prefix + key
                if isinstance(value, dict):
                    waiting.append((f"{name}.", value, depth + 1))
                else:
                    if isinstance(value, list) and name not in self._no_features and not any_list:
                        expanded += _room_of(name, value)
                    put(name, value)
        return values, expanded


def _room_of(name: str, items: list[Any]) -> int:
    """Total length of the names that a list of texts becomes; Wrong for other lists."""
    kinds = set(map(type, items))
    if not (kinds <= {str} or kinds <= {int, float}):
        raise Wrong(
            f"the list {shown(name)} holds something else than texts alone, or numbers alone; --ignore {name} leaves "
            "it out",
            name=name,
        )
    return len(items) * (len(name) + 1) + sum(map(len, items)) if kinds == {str} else 0


def _lift(record: dict[str, Any], name: str) -> None:
    """Move the value of a dotted name, such as the label's, to the top level."""
    if name in record:
        return
    *path, last = name.split(".")
    inner: Any = record
    for key in path:
        inner = inner.get(key) if isinstance(inner, dict) else None
    if isinstance(inner, dict) and last in inner:
        record[name] = inner.pop(last)


def _looked_up(record: dict[str, Any], name: str) -> Any:
    """The value of a name, which may have dots; _ABSENT if it is missing."""
    if name in record:
        return record[name]
    inner: Any = record
    for key in name.split("."):
        inner = inner.get(key, _ABSENT) if isinstance(inner, dict) else _ABSENT
    return inner


def _as_tag(name: str, value: Any) -> bytes:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Wrong(f"{shown(name)} has half of a surrogate pair, which is no character", name=name) from None


class _Twice(Wrong):
    """A name that comes twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise Wrong(f"the key {shown(twice)} comes twice")
    return record


def _constant(name: str) -> None:
    """NaN for missing values; Wrong for infinity."""
    if name != "NaN":
        raise Wrong(f"{name} is not a number that can be learned from")


def _number(number: int | float) -> float:
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):  # "1e999" is infinity to the decoder
        raise Wrong("a number is too large")
    return value


def _label(value: Any, options: Options) -> Label | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):  # JSON may say "\\ud800"
            raise BadLabel("the label has half of a surrogate pair, which is no character")
        return label_of(value, options)
    if isinstance(value, (int, float)):
        _number(value)
        return from_number(value)
    raise BadLabel("the label must be a number or text")


# -- where something is in a line, for messages -----------------------------------------------------------------

_loose = json.JSONDecoder()


class Place(NamedTuple):
    """A key of an object, or an item of a list: its flattened name, and the characters where it and its value begin.

    `owner` is where its object begins; None for an item.
    """

    name: str
    key: int
    value: int
    owner: int | None


class _Walk:
    """Goes over the text of a line as the decoder does, and stops where that would."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def pass_over(self, separators: str) -> None:
        while self.text[self.at] in separators:
            self.at += 1

    def members(self, prefix: str, depth: int) -> Iterator[Place]:
        """Yield places in the object or list at the present position, and in nested ones."""
        begin = self.at
        closing = "}" if self.text[begin] == "{" else "]"
        self.at += 1
        self.pass_over(_BLANKS)
        while self.text[self.at] != closing:
            name, key = prefix, self.at
            if closing == "}":
                word, self.at = scanstring(self.text, self.at + 1, True)
                name = prefix + word
                self.pass_over(_BLANKS + ":")
            value, owner = self.at, begin if closing == "}" else None
            nested = self.text[value] in "{["
            yield Place(name, key, value, owner)
            if nested and depth > _DEEPEST:
                raise ValueError("nested too deeply")
            if nested:
                yield from self.members(name if self.text[value] == "[" else f"{name}.", depth + 1)
            else:
                item, self.at = _loose.raw_decode(self.text, self.at)
                if owner is None and isinstance(item, str):
                    yield Place(f"{name}={item}", key, value, owner)
            self.pass_over(_BLANKS + ",")
        self.at += 1


def places(text: str) -> Iterator[Place]:
    """Yield all named places in a line, as far as it is valid JSON."""
    walk = _Walk(text)
    with suppress(ValueError, IndexError, RecursionError):
        walk.pass_over(_BLANKS)
        yield from walk.members("", 1)


def _refused_at(text: str) -> int:
    """The column of the first value that no row may have, or of a key that its object has already."""
    seen: set[tuple[int | None, str]] = set()
    last = 0
    for place in places(text):
        last = place.value
        if place.owner is not None and (place.owner, place.name) in seen:
            return column_of(text, place.key)
        seen.add((place.owner, place.name))
        if text.startswith(("Infinity", "-Infinity"), place.value):
            break
    return column_of(text, last)
