"""The kind of a column, by the cells of its first rows.

A column is looked at as a whole, and by what its cells say, not by the type that a container gives them: the text
"1.5" of a CSV file, the number 1.5 of JSON and a double of Arrow make the same guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from .._native import _core
from .errors import DataError, listed, shown
from .options import Options
from .schema import Column, Schema, crossings

ROWS = 1000  # that are looked at
_CELLS = 200_000  # or fewer, of a wide table
_ALIKE = 20  # rows, at most, of columns that are compared with each other
_MOST = 0.98  # of at least _ENOUGH values; the others are errors, later, that say where they are
_ENOUGH = 50
_INDICATED = 0.1  # share of rows with a value from which on a missing one says something
_HEX = re.compile(r"[0-9a-fA-F]+")
_PADDED = re.compile(r"[+-]?0[0-9]+")
_IDS = ("id", "uuid", "guid", "row_id", "rowid")
_OVERRIDES = ("numeric", "categorical", "text", "ignore", "id")


def rows_looked_at(n_columns: int) -> int:
    """How many rows of a table with so many columns are looked at."""
    return max(20, min(ROWS, _CELLS // max(1, n_columns)))


def guess(file: str, samples: Mapping[str, Sequence[Any]], options: Options) -> Schema:
    """The schema of a table, by cells of its first rows and by what was asked for.

    A cell is None, a bool, a number, a text or a list. DataError if something was asked for that is not there.
    """
    special = {options.label, options.weight}
    features = [name for name in samples if name not in special]
    asked = _asked(file, features, list(samples), options)
    columns, ids, ignored = [], [], []
    alike: dict[tuple[Any, ...], Column] = {}  # of very many columns, most have cells that others have as well
    for name in features:
        kind = asked.get(name)
        column = _column_as(alike, name, samples[name])
        if kind == "ignore":
            ignored.append(name)
        elif kind == "id" or (kind is None and _is_id(name, column, samples[name])):
            ids.append(name)
        else:
            columns.append(column if kind is None or kind == column.kind else _as(column, kind))
    try:
        interact = crossings(options.interact, columns)
    except ValueError as error:
        raise DataError(file, f"{error}; the columns are {listed([column.name for column in columns])}") from None
    return Schema(tuple(columns), tuple(ids), tuple(ignored), interact, options.words)


def _asked(file: str, features: list[str], names: list[str], options: Options) -> dict[str, str]:
    """The columns for which something was asked for, and what."""
    asked: dict[str, str] = {}
    for option in _OVERRIDES:
        for pattern in getattr(options, option):
            found = [pattern] if pattern in features else [name for name in features if fnmatchcase(name, pattern)]
            if not found:
                raise DataError(
                    file, f"--{option} names {shown(pattern)}, and there is no such column among {listed(names)}"
                )
            for name in found:
                if asked.setdefault(name, option) != option:
                    raise DataError(file, f"--{option} and --{asked[name]} both name the column {shown(name)}")
    return asked


def _as(column: Column, kind: str) -> Column:
    return replace(column, kind=kind, hours=False, reference=0, length=None)


def _is_id(name: str, column: Column, cells: Sequence[Any]) -> bool:
    if name.lower() not in _IDS or column.kind not in ("numeric", "categorical") or len(cells) < 20:
        return False
    return len(set(map(str, cells))) == len(cells)


def _column_as(alike: dict[tuple[Any, ...], Column], name: str, cells: Sequence[Any]) -> Column:
    """The column, looked at once for all that have the same cells."""
    if len(cells) > _ALIKE or not all(type(cell) is str for cell in cells):
        return _column(name, cells)
    key = tuple(cells)
    if (known := alike.get(key)) is not None:
        return Column(name, known.kind, known.missing, known.hours, known.reference, known.length)
    column = _column(name, cells)
    if len(alike) < _CELLS // _ALIKE:
        alike[key] = column
    return column


def _column(name: str, cells: Sequence[Any]) -> Column:
    values = [cell for cell in cells if not _missing(cell)]
    missing = len(values) >= _INDICATED * len(cells)
    if not values:
        return Column(name, "mixed", missing=False)
    enough = _MOST if len(values) >= _ENOUGH else 1.0

    def most(fitting: int) -> bool:
        return fitting >= enough * len(values)

    if most(sum(_truth(value) for value in values)):
        return Column(name, "boolean", missing)
    lists = [length for value in values if (length := _list_length(value)) is not None]
    if most(len(lists)):
        same = len(set(lists)) == 1 and lists[0] > 0
        return Column(name, "list", missing, length=lists[0] if same else None)
    if most(sum(_number(value) for value in values)):
        written = [value.strip(" \t") for value in values if isinstance(value, str)]
        return Column(name, "categorical" if _identifiers(written) else "numeric", missing)
    times = [time for value in values if isinstance(value, str) and (time := _core.time_in(_bytes(value))) is not None]
    if most(len(times)):
        hours = any(micros % 86_400_000_000 for micros, _ in times)
        return Column(name, "timestamp", missing, hours=hours, reference=min(micros for micros, _ in times))
    return Column(name, "text" if _is_text([str(value) for value in values]) else "categorical", missing)


def _bytes(text: str) -> bytes:
    """For the core. Half of a surrogate pair is no number, time or list either way."""
    return text.encode(errors="surrogatepass")


def _missing(cell: Any) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and _core.says_missing(_bytes(cell)))


def _truth(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and _core.truth_in(_bytes(value)) >= 0)


def _number(value: Any) -> bool:
    """Infinite ones as well: they are refused where they stand."""
    return isinstance(value, int | float) or (isinstance(value, str) and _core.number_in(_bytes(value))[0] != 1)


def _list_length(value: Any) -> int | None:
    """How many numbers a list has, -1 if it has texts; None if it is none."""
    if isinstance(value, list):
        return len(value) if not any(isinstance(item, str) for item in value) else -1
    if isinstance(value, str) and value.lstrip(" \t").startswith("["):
        return _core.list_in(_bytes(value))
    return None


def _identifiers(written: Sequence[str]) -> bool:
    """True for numbers that are written like identifiers: with zeros before them, or all of one width in hexadecimal
    digits, some with an e and some without."""
    if any(_PADDED.fullmatch(text) for text in written):
        return True
    letters = sum(not text.isdigit() for text in written)
    same = len({len(text) for text in written}) == 1 and len(written[0]) >= 4
    return bool(same and 0 < letters < len(written) and all(_HEX.fullmatch(text) for text in written))


def _is_text(values: Sequence[str]) -> bool:
    """True if these are sentences rather than names of things: several words, and mostly different ones."""
    words = sum(len(value.split()) for value in values) / len(values)
    distinct = len(Counter(values)) / len(values)
    if words >= 8:
        return distinct >= 0.1
    return (words >= 2.5 and distinct >= 0.5) or (words >= 1.5 and distinct >= 0.9 and len(values) >= 100)
