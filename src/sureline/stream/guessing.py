"""Guesses the kind of a column from the cells of its first rows.

A guess uses all cells of a column and their contents, not the type of the container: the text "1.5" of a CSV file, the
number 1.5 of JSON and a double of Arrow make the same guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import floor, fsum, log10, sqrt
from typing import Any

from .._native import _core
from .errors import DataError, listed, shown
from .options import Options
from .schema import Column, Schema, crossings
from .written import (
    NUMBERS,
    TIMES,
    as_bytes,
    is_number,
    numbers_in,
    time_of,
    way_of_times,
    ways_of_dates,
    ways_of_numbers,
)

ROWS = 1000  # that are looked at
_CELLS = 200_000  # or fewer, of a wide table
_ALIKE = 20  # rows, at most, for comparing columns with each other
_MOST = 0.98  # of at least _ENOUGH values; others are reported later as errors with their place
_ENOUGH = 50
_SENTENCE = 2.5  # words
_INDICATED = 0.1  # share of rows with a value above which missing values are informative
_HEX = re.compile(r"[0-9a-fA-F]+")
_FAR = 2.0  # standard deviations
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+")
_HUGE = 1e150  # numbers whose squares overflow
_DIGIT = re.compile("[0-9]")
_DIGITS = re.compile(r"[+-]?[0-9]{1,40}")
_PLAIN_NUMBERS = re.compile(r"(?:-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?\n)+")  # decimal, and no identifiers
_PADDED = re.compile(r"[+-]?0[0-9]+")
_IDS = ("id", "uuid", "guid", "row_id", "rowid", "index", "unnamed: 0", "column 1")  # the last: pandas, and ours
_OVERRIDES = ("numeric", "categorical", "text", "timestamp", "ignore", "id")
_WAYS = {"numeric": NUMBERS, "timestamp": TIMES}
_EXACT, _LARGEST = 1 << 53, 10**40  # integers between are not all doubles: they are names of things


def rows_looked_at(n_columns: int) -> int:
    """The number of rows to look at in a table with that many columns."""
    return max(20, min(ROWS, _CELLS // max(1, n_columns)))


def guess(file: str, samples: Mapping[str, Sequence[Any]], options: Options) -> Schema:
    """The schema of a table, from cells of its first rows and the given options.

    A cell is None, a bool, a number, a text or a list. DataError if an option names a missing column.
    """
    special = {options.label, options.weight}
    features = [name for name in samples if name not in special]
    asked = _asked(file, features, list(samples), options)
    columns, ids, ignored = [], [], []
    usual = _Usual()
    alike: dict[tuple[Any, ...], Column] = {}  # in very wide tables most columns have cells that others have as well
    guesses = {name: _column_as(alike, usual, name, samples[name]) for name in features}
    doubtful = {}
    for name, column in guesses.items():
        kind, how = asked.get(name, (None, ""))
        if kind == "ignore":
            ignored.append(name)
        elif kind == "id" or (kind is None and _is_id(name, column, samples[name])):
            ids.append(name)
        elif kind is None:
            found, doubt = usual.decide(column, samples[name])
            columns.append(found)
            doubtful.update({name: doubt} if doubt else {})
        elif kind == column.kind and not how:
            columns.append(column)
        else:
            columns.append(_as(file, usual, column, samples[name], kind, how))
    if len(columns) == 1 and columns[0].name not in asked:
        columns = [_alone(columns[0], samples[columns[0].name])]
    try:
        interact = crossings(options.interact, columns, options.max_features)
    except ValueError as error:
        raise DataError(file, f"{error}; the columns are {listed([column.name for column in columns])}") from None
    labels = samples.get(options.label, [])
    target, doubt = usual.decide(usual.noticed(Column(options.label, "categorical"), labels), labels)
    how = _way_of_label(options) or (target.how if target.kind == "numeric" else "")
    return Schema(tuple(columns), tuple(ids), tuple(ignored), interact, options.words, how, doubtful, doubt)


def _alone(column: Column, cells: Sequence[Any]) -> Column:
    """The only column of features: if it has several words, these tell more than their combinations, however few."""
    values = [str(cell) for cell in cells if not _missing(cell)]
    if column.kind != "categorical" or sum(len(value.split()) for value in values) < _SENTENCE * len(values):
        return column
    return replace(column, kind="text")


def _asked(file: str, features: list[str], names: list[str], options: Options) -> dict[str, tuple[str, str]]:
    """The columns named in options: their kind, and their notation if given."""
    asked: dict[str, tuple[str, str]] = {}
    exact = {
        option: {_said(given, features, _WAYS.get(option, ()))[0] for given in getattr(options, option)}
        for option in _OVERRIDES
    }
    for option in _OVERRIDES:
        for given in getattr(options, option):
            pattern, how = _said(given, features, _WAYS.get(option, ()))
            if pattern in names and pattern not in features:
                if option == "numeric" and pattern == options.label:
                    continue  # how targets are written
                special = "label" if pattern == options.label else "weight"
                raise DataError(file, f"--{option} names the column {shown(pattern)}, which is the {special}")
            found = [pattern] if pattern in features else [name for name in features if fnmatchcase(name, pattern)]
            if not found:
                raise DataError(
                    file, f"--{option} names {shown(pattern)}, and there is no such column among {listed(names)}"
                )
            for name in found:
                if name in exact.get(option, ()) and pattern != name:
                    continue  # a column's own option comes before a pattern
                if asked.setdefault(name, (option, how)) != (option, how):
                    raise DataError(file, f"--{option} and --{asked[name][0]} both name the column {shown(name)}")
    return asked


def _said(given: str, features: list[str], ways: Sequence[str]) -> tuple[str, str]:
    """The pattern, and the way of writing that follows it after a colon."""
    pattern, colon, how = given.rpartition(":")
    return (pattern, how) if colon and how in ways and given not in features else (given, "")


def _way_of_label(options: Options) -> str:
    """The way in which the labels are said to be written, for a regressor."""
    said = [_said(given, [options.label], NUMBERS) for given in options.numeric]
    return next((how for name, how in said if name == options.label), "")


def _as(file: str, usual: _Usual, column: Column, cells: Sequence[Any], kind: str, how: str) -> Column:
    """The column as a kind that was asked for."""
    values = [cell for cell in cells if not _missing(cell)]
    plain = Column(column.name, kind, column.missing)
    if kind == "timestamp" and values:
        found = way_of_times(values, _enough(values), how)
        if found is None:
            raise DataError(
                file,
                f"the column {shown(column.name)} has cells such as {shown(str(values[0]))}, and --timestamp reads "
                f"{'them as ' + how if how else 'ISO 8601'}; --timestamp {column.name}:WAY says how they are written: "
                f"{', '.join(TIMES)}",
            )
        return _timestamp(plain, values, found)
    if kind == "numeric" and not how:
        decided = usual.decide(column, cells)[0]
        return decided if decided.kind == "numeric" else _numeric(plain, values)
    return _numeric(replace(plain, how=how), values) if kind == "numeric" else plain


class _Usual:
    """The usual notation of a table's cells, which decides ambiguous columns."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._ways: dict[str, tuple[list[str], str]] = {}  # by the names of columns

    def noticed(self, column: Column, cells: Sequence[Any]) -> Column:
        """Count the way of a column that leaves nothing open."""
        self._ways[column.name] = ways, _ = _ways(column, [cell for cell in cells if not _missing(cell)])
        self.counts.update(ways if len(ways) == 1 else ())
        return column

    def same(self, known: str, name: str) -> None:
        """Decide a column as a known one with the same cells."""
        self._ways[name] = self._ways[known]

    def decide(self, column: Column, cells: Sequence[Any]) -> tuple[Column, str]:
        """The decided column, and what is doubtful about it."""
        open, kind = self._ways.get(column.name, ([], ""))
        if not open:
            return self._with_thousands(column, cells), ""
        values = [cell for cell in cells if not _missing(cell)]
        most = max(self.counts[how] for how in open)
        likely = [how for how in open if self.counts[how] == most]
        if len(likely) > 1:
            options = " or ".join(f"--{kind} {column.name}:{how}" for how in likely)
            return column, f"{shown(str(values[0]))} may be read in two ways; {options} says which"
        if kind == "timestamp":
            return _timestamp(replace(column, kind=kind), values, likely[0]), ""
        return _numeric(replace(column, kind=kind, how=likely[0]), values), ""

    def _with_thousands(self, column: Column, cells: Sequence[Any]) -> Column:
        """The column; with thousands if 1.200 among values like 900 is a whole number in a table of decimal commas."""
        if column.kind != "numeric" or column.how or self.counts["comma"] <= self.counts["grouped"]:
            return column
        values = [cell for cell in cells if not _missing(cell)]
        if not all(type(value) is str and is_number(value, "comma") for value in values):
            return column
        return _numeric(replace(column, how="comma"), values) if any(map(_THOUSANDS.fullmatch, values)) else column


def _ways(column: Column, values: Sequence[Any]) -> tuple[list[str], str]:
    """Notations in which a text column may hold numbers or dates, and the fitting ones."""
    if column.kind not in ("categorical", "text") or not all(type(value) is str for value in values):
        return [], ""
    if not any(map(_DIGIT.search, values[:10])):  # most columns of words
        return [], ""
    if numbers := ways_of_numbers(values, _enough(values)):
        return numbers, "numeric"
    return ways_of_dates(values, _enough(values)), "timestamp"


def _numeric(column: Column, values: Sequence[Any]) -> Column:
    """The column with its center, if its values lie far from 0 for their spread."""
    numbers = numbers_in(values, column.how) if len(values) >= _ALIKE else []
    if len(numbers) < _ALIKE or max(map(abs, numbers)) > _HUGE:
        return column
    mean = fsum(numbers) / len(numbers)
    spread = sqrt(fsum((number - mean) ** 2 for number in numbers) / len(numbers))
    if spread <= 1e-12 * abs(mean) or abs(mean) < _FAR * spread:
        return column
    return replace(column, center=round(mean, -floor(log10(spread))))


def _timestamp(column: Column, values: Sequence[Any], how: str) -> Column:
    times = [time for value in values if (time := time_of(value, how)) is not None]
    hours = any(micros % 86_400_000_000 for micros, _ in times)
    return replace(column, hours=hours, reference=min(micros for micros, _ in times), how=how)


def _is_id(name: str, column: Column, cells: Sequence[Any]) -> bool:
    if name.lower() not in _IDS or column.kind not in ("numeric", "categorical") or len(cells) < 20:
        return False
    return len(set(map(str, cells))) == len(cells)


def _column_as(alike: dict[tuple[Any, ...], Column], usual: _Usual, name: str, cells: Sequence[Any]) -> Column:
    """The column, guessed once for all columns with the same cells."""
    texts = set(map(type, cells)) == {str}
    if texts and _are_plain_numbers(cells):
        return _numeric(Column(name, "numeric"), cells)
    if len(cells) > _ALIKE or not texts:
        return usual.noticed(_column(name, cells), cells)
    key = tuple(cells)
    if (known := alike.get(key)) is not None:
        usual.same(known.name, name)
        return replace(known, name=name)
    column = usual.noticed(_column(name, cells), cells)
    if len(alike) < _CELLS // _ALIKE:
        alike[key] = column
    return column


def _are_plain_numbers(texts: Sequence[str]) -> bool:
    """True if one look tells that all are decimal numbers, which leave nothing open: of many columns most are."""
    lines = "\n".join(texts) + "\n"
    return _PLAIN_NUMBERS.fullmatch(lines) is not None and lines.count("\n") == len(texts)


def _column(name: str, cells: Sequence[Any]) -> Column:
    values = [cell for cell in cells if not _missing(cell)]
    missing = len(values) >= _INDICATED * len(cells)
    if not values:
        return Column(name, "mixed", missing=False)

    def most(fitting: int) -> bool:
        return fitting >= _enough(values) * len(values)

    if most(sum(_truth(value) for value in values)):
        return Column(name, "boolean", missing)
    lists = [length for value in values if (length := _list_length(value)) is not None]
    if most(len(lists)):
        same = len(set(lists)) == 1 and lists[0] > 0
        return Column(name, "list", missing, length=lists[0] if same else None)
    if most(sum(_number(value) for value in values)):
        return (
            Column(name, "categorical", missing)
            if _identifiers(values)
            else _numeric(Column(name, "numeric", missing), values)
        )
    if most(sum(isinstance(value, str) and time_of(value) is not None for value in values)):
        return _timestamp(Column(name, "timestamp", missing), [v for v in values if isinstance(v, str)], "")
    return Column(name, "text" if _is_text([str(value) for value in values]) else "categorical", missing)


def _enough(values: Sequence[Any]) -> float:
    """The share of values that must fit."""
    return _MOST if len(values) >= _ENOUGH else 1.0


def _missing(cell: Any) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and _core.says_missing(as_bytes(cell)))


def _truth(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and _core.truth_in(as_bytes(value)) >= 0)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and is_number(value))


def _list_length(value: Any) -> int | None:
    """The length of a list of numbers; -1 for texts, None for anything else."""
    if isinstance(value, list):
        return len(value) if not any(isinstance(item, str) for item in value) else -1
    if isinstance(value, str) and value.lstrip(" \t").startswith("["):
        return _core.list_in(as_bytes(value))
    return None


def _identifiers(values: Sequence[Any]) -> bool:
    """True for numeric identifiers: integers beyond doubles, with leading zeros, or hexadecimal of one width.

    Hexadecimal digits of one width count if some have an e and some do not.
    """
    written = [value.strip(" \t") for value in values if isinstance(value, str)]
    integers = [value for value in values if isinstance(value, int)]
    integers += [int(text) for text in written if len(text) > 15 and _DIGITS.fullmatch(text)]
    if any(_EXACT < abs(integer) < _LARGEST for integer in integers):
        return True
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
    return (words >= _SENTENCE and distinct >= 0.5) or (words >= 1.5 and distinct >= 0.9 and len(values) >= 100)
