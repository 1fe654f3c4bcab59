"""The columns of a table: their kinds, and how their cells become features."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from math import isfinite
from typing import Any

from .._inputs import printable
from .._native import _core
from .written import NUMBERS, TIMES, code
from .written import in_words as way_in_words

KINDS = tuple(kind.name for kind in _core.ColumnKind)
MOST_NGRAMS, MOST_CHARS = 10, 50
_CROSSED = ("numeric", "boolean", "categorical")  # the kinds that `all` means
_WORD = re.compile(r"\b\w\w+\b")
_SPACES = re.compile(r"\s\s+")
_SHOWN = 100  # columns that are described singly


@dataclass(frozen=True)
class Column:
    """A column of features.

    Attributes
    ----------
    name : str
        In the header; that of a value in nested objects has dots.
    kind : str
        One of KINDS. The cells of a mixed column are numbers or categories, each by what it says.
    missing : bool
        A missing value is a feature of its own: not in columns that most rows do not have.
    hours : bool
        Of timestamps: they have an hour.
    reference : int
        Of timestamps: the time from which their age counts, in microseconds since 1970.
    length : int or None
        Of lists of numbers: how many each has; None if they differ.
    how : str
        Of numbers and timestamps: how they are written, such as "comma" or "day-first"; "" for 1234.5 and ISO 8601.
    center : float
        Of numbers: what is taken from each, so that years or longitudes lie around 0 and are learned from like others.
    """

    name: str
    kind: str
    missing: bool = True
    hours: bool = False
    reference: int = 0
    length: int | None = None
    how: str = ""
    center: float = 0.0

    def short(self) -> str:
        """The kind, the notation, and the center."""
        details = [way_in_words(self.how)] if self.how else []
        details += [f"less {self.center:.15g}"] if self.center else []
        return ", ".join([self.kind, *details])

    def of_core(self) -> _core.Column:
        """The same for the core."""
        return _core.Column(
            self.name,
            _core.ColumnKind[self.kind],
            indicates_missing=self.missing,
            has_hours=self.hours,
            reference=self.reference,
            length=-1 if self.length is None else self.length,
            how=code(self.how),
            center=self.center,
        )

    def in_words(self) -> str:
        if self.kind == "timestamp":
            written = f"{way_in_words(self.how)}: " if self.how else ""
            since = _date(self.reference)
            return f"timestamp ({written}weekday, {'hour, ' if self.hours else ''}age in days since {since})"
        if self.kind == "list" and self.length is not None:
            return f"list of {self.length} numbers"
        kind, _, details = self.short().partition(", ")
        return f"{kind} ({details})" if details else kind


_DEFAULTS = {each.name: each.default for each in fields(Column)}


@dataclass(frozen=True)
class Words:
    """The features of a text: words, up to `ngrams` of them in a row, and runs of characters."""

    ngrams: int = 1
    chars: tuple[int, int] | None = None
    keep_case: bool = False

    def __post_init__(self) -> None:
        if type(self.ngrams) is not int or not 0 <= self.ngrams <= MOST_NGRAMS:
            raise ValueError(
                f"The 'ngrams' parameter of read must be an integer from 0 to {MOST_NGRAMS}. Got {self.ngrams!r} "
                "instead."
            )
        if self.chars is not None:
            pair = self.chars if isinstance(self.chars, tuple) and len(self.chars) == 2 else (0, 0)
            if not all(type(n) is int for n in pair) or not 1 <= pair[0] <= pair[1] <= MOST_CHARS:
                raise ValueError(
                    f"The 'chars' parameter of read must be a pair of integers from 1 to {MOST_CHARS}, the smaller one "
                    f"first. Got {self.chars!r} instead."
                )
        if not isinstance(self.keep_case, bool):
            raise ValueError(
                f"The 'keep_case' parameter of read must be True or False. Got {self.keep_case!r} instead."
            )
        if self.ngrams == 0 and self.chars is None:
            raise ValueError(
                "The 'ngrams' parameter of read is 0, so that 'chars' must be set: a text has no features."
            )

    def table(self, columns: list[_core.Column], interactions: list[list[int]]) -> _core.Table:
        least, most = self.chars or (0, 0)
        rule = _core.WordRule(self.ngrams, least, most, self.keep_case)
        return _core.Table(columns, interactions, rule, self._tokens)

    def of_lines(self) -> _core.Table:
        """The table of raw text: one column, whose words have no prefix."""
        return self.table([_core.Column("", _core.ColumnKind.text, nameless=True)], [])

    def _tokens(self, text: str) -> tuple[str, list[str]]:
        """For text beyond ASCII: the text from which runs of characters are taken, and its words."""
        text = text if self.keep_case else text.lower()
        words = _WORD.findall(text) if self.ngrams else []
        return _SPACES.sub(" ", text) if self.chars else "", words


@dataclass(frozen=True)
class Schema:
    """The columns of a table, the columns that are no features, and the interactions.

    Attributes
    ----------
    columns : tuple of Column
        The features, in the order of the first file.
    ids, ignored : tuple of str
        Columns that are handed through, and columns that are not read.
    interact : tuple of tuples of str
        Columns whose features are multiplied with each other.
    words : Words
        The features of text columns.
    target : str
        How the labels are written, if they are numbers that a regressor reads: "comma" or "grouped". A classifier takes
        labels as they are.
    doubtful : dict of str
        What the look at the first rows could not tell, by the names of columns. A model does not keep it.
    target_doubt : str
        The same of the labels, which matters to a regressor alone.
    """

    columns: tuple[Column, ...]
    ids: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    interact: tuple[tuple[str, ...], ...] = ()
    words: Words = Words()
    target: str = ""
    doubtful: dict[str, str] = field(default_factory=dict, compare=False)
    target_doubt: str = field(default="", compare=False)

    @cached_property
    def table(self) -> _core.Table:
        """The same for the core."""
        places = {column.name: k for k, column in enumerate(self.columns)}
        columns = [column.of_core() for column in self.columns]
        return self.words.table(columns, [[places[name] for name in crossing] for crossing in self.interact])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "table"}

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def expansion(self) -> int:
        """About how many times as many features as cells a row has."""
        crossed = len(self.interact) // max(1, len(self.columns))
        return 1 + crossed + 2 * (self.words.chars is not None)

    def to_dict(self) -> dict[str, Any]:
        """A dict for JSON, without values at their defaults."""
        columns = [
            {name: value for name, value in column.__dict__.items() if value != _DEFAULTS[name]}
            for column in self.columns
        ]
        words = {name: value for name, value in asdict(self.words).items() if value != getattr(Words(), name)}
        return {
            "columns": columns,
            **({"ids": list(self.ids)} if self.ids else {}),
            **({"ignored": list(self.ignored)} if self.ignored else {}),
            **({"interact": [list(names) for names in self.interact]} if self.interact else {}),
            **({"target": self.target} if self.target else {}),
            **({"words": {k: list(v) if isinstance(v, tuple) else v for k, v in words.items()}} if words else {}),
        }

    @classmethod
    def from_dict(cls, values: Any) -> Schema:
        """The schema that `to_dict` gave, everything checked; otherwise ValueError."""
        _refuse_others(values, ("columns", "ids", "ignored", "interact", "words", "target"), "a schema")
        columns = tuple(_column(each) for each in _list(values.get("columns"), "columns"))
        ids, ignored = (_names(values.get(name, []), name) for name in ("ids", "ignored"))
        interact = tuple(_names(each, "interact") for each in _list(values.get("interact", []), "interact"))
        names = [column.name for column in columns]
        if twice := [name for name, count in Counter([*names, *ids, *ignored]).items() if count > 1]:
            raise ValueError(f"the column {twice[0]!r} comes twice")
        if strange := sorted({name for crossing in interact for name in crossing} - set(names)):
            raise ValueError(f"an interaction has the column {strange[0]!r}, which is none of the features")
        if any(len(set(crossing)) < max(2, len(crossing)) for crossing in interact):
            raise ValueError("an interaction must have two columns or more, each once")
        words = values.get("words", {})
        _refuse_others(words, ("ngrams", "chars", "keep_case"), "the features of a text")
        chars = words.get("chars")
        if isinstance(chars, list):
            words = words | {"chars": tuple(chars)}
        target = values.get("target", "")
        if target not in ("", *NUMBERS):
            raise ValueError(f"the labels are written in the way {target!r}")
        return cls(columns, ids, ignored, interact, Words(**words), target)

    def lines(self, label: str | None, weight: str | None) -> Iterator[str]:
        """A line for each column, for the terminal; of very many, the first ones and how many of each kind follow."""
        others = {**dict.fromkeys(self.ids, "id, no feature"), **dict.fromkeys(self.ignored, "ignored")}
        roles = {} if label is None else {label: "label"}
        roles |= {} if weight is None else {weight: "weight"}
        described = {**roles, **{column.name: column.in_words() for column in self.columns}, **others}
        width = min(30, max(map(len, described), default=0))
        for k, (name, words) in enumerate(described.items()):
            if k == _SHOWN:
                rest = Counter(words.partition(" ")[0].rstrip(",") for words in list(described.values())[k:])
                yield "  and " + ", ".join(f"{count:,} {kind}" for kind, count in rest.most_common()) + " columns"
                break
            doubt = f"; {self.doubtful[name]}" if name in self.doubtful else ""
            yield f"  {printable(name):<{width}}  {words}{printable(doubt)}"
        if self.interact:
            shown = [":".join(map(printable, names)) for names in self.interact[:3]]
            more = f" and {len(self.interact) - 3:,} more" if len(self.interact) > 3 else ""
            yield f"  interactions: {', '.join(shown)}{more}"


def crossings(wanted: Sequence[Any], columns: Sequence[Column], most: int) -> tuple[tuple[str, ...], ...]:
    """The given interactions as names of columns; ValueError if one is invalid, or if there are too many.

    "all" is every pair of numeric, boolean and categorical columns.
    """
    found: dict[tuple[str, ...], None] = {}
    kinds = {column.name: column.kind for column in columns}
    for each in wanted:
        if each == "all":
            names = [name for name, kind in kinds.items() if kind in _CROSSED]
            pairs = len(names) * (len(names) - 1) // 2
            if pairs > most:
                raise ValueError(f"interact has {each!r}, which are {pairs:,} pairs, more than {most:,} (max_features)")
            found |= dict.fromkeys((a, b) for k, a in enumerate(names) for b in names[k + 1 :])
            continue
        names = each.split(":") if isinstance(each, str) else list(each)
        strange = [name for name in names if name not in kinds]
        if strange:
            raise ValueError(f"interact has {strange[0]!r}, which is no column of features")
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"interact has {each!r}, and an interaction has two columns or more, each once")
        found[tuple(names)] = None
    return tuple(found)


def _column(values: Any) -> Column:
    _refuse_others(values, _DEFAULTS, "a column")
    column = Column(**{"name": None, "kind": None, **values})
    if not isinstance(column.name, str) or column.kind not in KINDS:
        raise ValueError(f"the column {column.name!r} has the kind {column.kind!r}")
    if not isinstance(column.missing, bool) or not isinstance(column.hours, bool):
        raise ValueError(f"the column {column.name!r} does not say whether values are missing, or have hours")
    if type(column.reference) is not int or not -(1 << 60) <= column.reference <= 1 << 60:
        raise ValueError(f"the column {column.name!r} has the reference {column.reference!r}")
    if column.length is not None and (type(column.length) is not int or not 0 <= column.length < 1 << 31):
        raise ValueError(f"the column {column.name!r} has the length {column.length!r}")
    if column.how and column.how not in {"numeric": NUMBERS, "timestamp": TIMES}.get(column.kind, ()):
        raise ValueError(f"the column {column.name!r} is written in the way {column.how!r}")
    if column.center and (column.kind != "numeric" or type(column.center) is not float or not isfinite(column.center)):
        raise ValueError(f"the column {column.name!r} has the center {column.center!r}")
    return column


def _refuse_others(values: Any, known: Collection[str], what: str) -> None:
    if not isinstance(values, dict) or (strange := sorted(str(name) for name in values if name not in known)):
        raise ValueError(f"{what} has no {strange[0]!r}" if isinstance(values, dict) else f"{what} is no object")


def _list(values: Any, what: str) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError(f"the {what} of a schema are no list")
    return values


def _names(values: Any, what: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(name, str) for name in values):
        raise ValueError(f"the {what} of a schema are no names")
    return tuple(values)


def _date(micros: int) -> str:
    import numpy as np

    return str(np.datetime64(micros, "us").astype("datetime64[D]"))
