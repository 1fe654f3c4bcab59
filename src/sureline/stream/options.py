"""Options of a reader, checked."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from .._system import cores, default_memory
from .schema import Schema, Words

NATIVE = ("libsvm", "vw")  # parsed by the core
TEXT = (*NATIVE, "csv", "tsv", "jsonl", "text")
BINARY = ("arrow", "parquet")
FORMATS = TEXT + BINARY
DELIMITED = ("csv", "tsv")
MESSAGES = (*NATIVE, "jsonl", "text")  # formats whose rows may be messages of a topic
TABLES = (*DELIMITED, "jsonl", *BINARY)  # Arrow and Parquet unless they have list columns of indices and values
OVERRIDES = ("numeric", "categorical", "text", "timestamp", "ignore", "id", "interact")  # of the guess at the columns
_WORDS = ("ngrams", "chars", "keep_case")
_HASHED = ("vw", "csv", "tsv", "jsonl", "text", *BINARY)

# The options that mean something for some formats only.
_MEANT_FOR = {
    "zero_based": ("libsvm",),
    "duplicates": ("libsvm", *BINARY),
    "bits": _HASHED,
    "label": TABLES,
    "weight": TABLES,
    "keep": TABLES,
    **dict.fromkeys((*OVERRIDES, "schema"), TABLES),
    **dict.fromkeys(_WORDS, (*TABLES, "text")),
    **dict.fromkeys(("header", "delimiter", "quote"), DELIMITED),
    "max_line": TEXT,
    "max_name": _HASHED,
}

_OF_MODEL = ("zero_based", "bits", "label", "weight", "header", "schema", *_WORDS)

# Options of `read` about the data, besides the dtype.
READING = (
    *("format", "zero_based", "duplicates", "errors", "max_error_share", "bits", "label", "weight"),
    *("numeric", "categorical", "text", "timestamp", "ignore", "id", "interact", "ngrams", "chars", "keep_case"),
    *("header", "delimiter", "quote"),
    *("collect_names", "threads", "max_line", "max_label", "max_name", "max_features", "memory"),
)

BLOCK = 1 << 22  # bytes of text per block; with smaller ones, the cost per block shows
CELL_BLOCK = 1 << 20  # of tables: a row may have more features than cells
TABLE_BLOCK = 1 << 18  # for text that becomes Python objects first, which take many times the space
PIECE = 5 << 17  # entries of columns at a time: two blocks of most text
_OF_A_THREAD = 1 << 28  # bytes that the worst block may become, such as one with a label for every few bytes
_OF_A_ROW = 1 << 26
LEAST_MEMORY = 1 << 26  # bytes: the least limit that reading can keep
MOST_THREADS = 16  # more than one learner can keep busy, each with a few MiB


def checked_model_options(values: Any) -> dict[str, Any]:
    """The options that a model keeps, from `Stream.model_options`, or empty; otherwise ValueError."""
    if not isinstance(values, dict):
        raise ValueError("they are no object")
    if strange := sorted(set(values) - {"format", *_OF_MODEL}):
        raise ValueError(f"there is no {strange[0]!r}")
    if values and (not isinstance(values.get("format"), str) or values["format"] not in FORMATS):
        raise ValueError(f"there is no format {values.get('format')!r}")
    Options(**restored({name: value for name, value in values.items() if name != "format"}))
    return values


def restored(values: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a model from JSON, for `Options`; ValueError for an invalid schema."""
    restored = dict(values)
    if "schema" in values:
        restored["schema"] = Schema.from_dict(values["schema"])
    return restored


@dataclass(frozen=True)
class Options:
    """The options of `read`; see there."""

    dtype: str = "float64"
    zero_based: bool = False
    duplicates: str = "error"
    errors: str = "stop"
    max_error_share: float = 0.01
    bits: int = 20
    label: str = "label"
    weight: str | None = None
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    timestamp: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    interact: tuple[Any, ...] = ()
    keep: tuple[str, ...] = ()
    ngrams: int = 1
    chars: tuple[int, int] | None = None
    keep_case: bool = False
    header: bool = True
    delimiter: str | None = None
    quote: str | None = None
    schema: Schema | None = None  # of the model, or guessed
    need_label: bool = True
    collect_names: int = 0
    threads: int | None = None
    max_line: int | None = None
    max_label: int = 1000
    max_name: int = 1 << 16
    max_features: int = 1 << 20
    memory: int | None = None
    block: int | None = None  # for tests

    def __post_init__(self) -> None:
        self._one_of("dtype", "float32", "float64")
        self._one_of("duplicates", "error", "sum")
        self._one_of("errors", "stop", "skip")
        for name in (*OVERRIDES, "keep"):
            object.__setattr__(self, name, self._several(name))
        object.__setattr__(self, "chars", self._chars())
        Words(self.ngrams, self.chars, self.keep_case)  # raises an error for invalid ones
        for name in ("delimiter", "quote"):
            value = getattr(self, name)
            none = "" if name == "delimiter" else ", or 'none'"
            if value is not None and not _is_mark(value) and not (none and value == "none"):
                raise self._wrong(name, f"None or one character of ASCII, no letter, digit or end of line{none}")
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise self._wrong("schema", "that of a model")
        for name in ("zero_based", "need_label", "header"):
            if not isinstance(getattr(self, name), bool):
                raise self._wrong(name, "True or False")
        if not isinstance(self.max_error_share, numbers.Real) or not 0 <= float(self.max_error_share) <= 1:
            raise self._wrong("max_error_share", "a number from 0 to 1")
        if not isinstance(self.label, str):
            raise self._wrong("label", "the name of a column")
        if self.weight is not None and (not isinstance(self.weight, str) or self.weight == self.label):
            raise self._wrong("weight", "None or the name of another column than the label's")
        self._integer("bits", 1, 30)
        if self.collect_names is not True and self.collect_names is not False:
            self._integer("collect_names", 0, 1_000_000)
        if self.threads is not None:
            self._integer("threads", 1, 1024)
        if self.max_line is not None:
            self._integer("max_line", 1 << 20, 2**31 - 1)
        for name in ("max_label", "max_name", "max_features"):
            self._integer(name, 1, 2**31 - 1)
        if self.memory is not None:
            self._integer("memory", LEAST_MEMORY, 1 << 62)

    def _several(self, name: str) -> tuple[Any, ...]:
        """Names or patterns of columns, from a list or from a text with commas between them."""
        value: Any = getattr(self, name)
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, Iterable) or isinstance(value, Mapping):
            raise self._wrong(name, "a list of names of columns")
        several = [tuple(each) if name == "interact" and isinstance(each, list | tuple) else each for each in value]
        for each in several:
            parts = each if isinstance(each, tuple) else (each,)
            if not parts or not all(isinstance(part, str) and part for part in parts):
                raise self._wrong(name, "a list of names of columns")
        return tuple(several)

    def _chars(self) -> Any:
        """Lengths of runs of characters, from a pair, a number or a text such as "3-5"."""
        value: Any = self.chars
        if isinstance(value, str):
            ends = value.split("-")
            if len(ends) > 2 or not all(end.strip().isdecimal() for end in ends):
                raise self._wrong("chars", "a pair of integers, or a text such as '3-5'")
            value = [int(end) for end in ends]
        if type(value) is int:
            value = [value]
        if isinstance(value, list | tuple):
            value = (value[0], value[-1]) if len(value) in (1, 2) else value
        return value

    @property
    def says_targets(self) -> bool:
        """True if the label is among the columns of numbers, which says how a regressor's targets are written."""
        return any(given.partition(":")[0] == self.label or given == self.label for given in self.numeric)

    @property
    def words(self) -> Words:
        """The features of a text."""
        return Words(self.ngrams, self.chars, self.keep_case)

    def _wrong(self, name: str, what: str) -> ValueError:
        return ValueError(f"The {name!r} parameter of read must be {what}. Got {getattr(self, name)!r} instead.")

    def _one_of(self, name: str, *allowed: str) -> None:
        if getattr(self, name) not in allowed:
            raise self._wrong(name, " or ".join(map(repr, allowed)))

    def _integer(self, name: str, least: int, most: int) -> None:
        value: Any = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._wrong(name, f"an integer from {least} to {most}")

    def with_fallback(self, format: str, fallback: Mapping[str, Any]) -> Options:
        """The options, with values of `fallback` for defaults that matter for the format."""
        known = {each.name: each.default for each in fields(self)}
        if "schema" in fallback and format in TABLES:
            for name in (*OVERRIDES, *_WORDS):
                if getattr(self, name) != known[name]:
                    raise ValueError(
                        f"The {name!r} parameter of read cannot be set here: the columns are those of the model."
                    )
        taken = {
            name: value
            for name, value in restored(fallback).items()
            if name in known and getattr(self, name) == known[name] and format in _MEANT_FOR.get(name, FORMATS)
        }
        return replace(self, **taken)

    def of_model(self, format: str) -> dict[str, Any]:
        """The options that a model keeps, by which other rows are read in the same way."""
        values = {name: getattr(self, name) for name in _OF_MODEL if format in _MEANT_FOR[name]}
        for name in _WORDS:  # of a table they are in its schema
            if format in TABLES or values.get(name) == getattr(Options, name):
                values.pop(name, None)
        if values.get("header"):  # columns without names have numbers, as in other files without a header
            values.pop("header")
        if "chars" in values:
            values["chars"] = list(values["chars"])  # as JSON has it
        schema = values.pop("schema", None)
        return values if schema is None else {**values, "schema": schema.to_dict()}

    def check_format(self, format: str) -> None:
        """Refuse options that have no meaning for the format."""
        for each in fields(self):
            formats = _MEANT_FOR.get(each.name, FORMATS)
            if getattr(self, each.name) != each.default and format not in formats:
                raise ValueError(
                    f"The {each.name!r} parameter of read is for {', '.join(formats)}, and the format is {format}."
                )

    @property
    def skip(self) -> bool:
        return self.errors == "skip"

    @property
    def room(self) -> int:
        """The memory, in bytes, that reading may take."""
        return default_memory() if self.memory is None else self.memory

    @property
    def batch_room(self) -> int:
        """Most bytes of a batch of columns in memory."""
        return self.room // 4

    @property
    def row_room(self) -> int:
        """Most bytes of one row, or one piece of columns, on its way to the learner."""
        return min(_OF_A_ROW, self.room // 8)

    def n_threads(self, format: str) -> int:
        """The number of parsing threads; one if Python parses, which runs one thread at a time."""
        if format in ("jsonl", "text"):
            return 1
        wanted = self.threads or min(cores(), MOST_THREADS)
        return max(1, min(wanted, self.room // _OF_A_THREAD))

    def block_size(self, format: str) -> int:
        size = self.block or (BLOCK if format in NATIVE else CELL_BLOCK if format in DELIMITED else TABLE_BLOCK)
        if self.schema is not None and not self.block:
            size = max(1 << 14, size // self.schema.expansion)
        return min(size, self.max_line or size)

    def longest_line(self, format: str) -> int:
        """64 MiB, and 8 MiB where it becomes Python objects."""
        return self.max_line or ((64 << 20) if format in NATIVE else (8 << 20))


def _is_mark(value: Any) -> bool:
    """True for a character that may stand between or around cells."""
    return (
        isinstance(value, str) and len(value) == 1 and value.isascii() and not value.isalnum() and value not in "\r\n"
    )
