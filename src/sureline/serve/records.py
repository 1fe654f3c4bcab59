"""Records of a model's log: rows with labels, and changes of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from .errors import Refused, StateError
from .log import Record, read_log
from .names import is_digest, is_name


class Learned(msgspec.Struct, tag="learn", tag_field="k", omit_defaults=True):
    """Rows, their labels, and the predictions that the labels are of."""

    x: list[Any]
    y: list[Any]
    w: list[float] | None = None
    p: list[str] | None = None


class Shadowed(msgspec.Struct, tag="shadow", tag_field="k"):
    """A model of a file became a shadow."""

    name: str
    digest: str


class Unshadowed(msgspec.Struct, tag="unshadow", tag_field="k"):
    """A shadow was removed."""

    name: str


class Promoted(msgspec.Struct, tag="promote", tag_field="k"):
    """A shadow became the champion, and the champion the shadow `previous`."""

    name: str


class Replaced(msgspec.Struct, tag="replace", tag_field="k"):
    """A model of a file became the champion, and the champion the shadow `previous`."""

    digest: str


class Missed(msgspec.Struct, tag="missed", tag_field="k"):
    """The rows of an earlier record that a fault kept from being learned, by the name of the model; "" is the champion.

    Without rows it is a change that was not made.
    """

    seq: int
    rows: dict[str, list[int]]


Entry = Learned | Shadowed | Unshadowed | Promoted | Replaced | Missed
Absent = Mapping[str, Sequence[int]]  # rows that were missed, by the name of the model

_MISSED = b"missed"
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Entry] = msgspec.msgpack.Decoder(Entry)


def packed(entry: Entry) -> bytes:
    """The payload of a record. Refused if it holds a number that none has room for."""
    try:
        return _encoder.encode(entry)
    except OverflowError:
        raise Refused(422, "The rows cannot be kept: they have a whole number of more than 64 bits.") from None
    except (TypeError, ValueError) as error:
        raise Refused(422, f"The rows cannot be kept: {str(error).rstrip('.')}.") from None


def unpacked(payload: bytes) -> Entry:
    """The record of a payload. ValueError if it is none, or one that no service writes."""
    try:
        entry = _decoder.decode(payload)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if isinstance(entry, Learned):
        n = len(entry.y)
        if len(entry.x) != n or len(entry.w or entry.y) != n or len(entry.p or entry.y) != n:
            raise ValueError("its rows and labels differ in number")
        if not all(isinstance(label, str | int | float) for label in entry.y):
            raise ValueError("a label is none")
    elif isinstance(entry, Missed):
        if not all(name == "" or is_name(name) for name in entry.rows):
            raise ValueError("it names a model that cannot be")
    elif not is_name(getattr(entry, "name", "none")) or not is_digest(getattr(entry, "digest", "0" * 64)):
        raise ValueError("it names a model that cannot be")
    return entry


def entry_of(folder: Path, record: Record) -> Entry:
    """The entry in a record of a log. StateError, with its number, if it cannot be read."""
    try:
        return unpacked(record.payload)
    except ValueError as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise StateError(f"{folder}: record {record.seq:,} of the log cannot be read: {reason}.") from None


def history(folder: Path, after: int) -> Iterator[tuple[int, Entry, Absent | None, int]]:
    """The entries above `after`: number, entry, what later ones say was missed of it (or None), size in bytes."""
    missed: dict[int, Absent] = {}
    for record in read_log(folder, after):
        if _MISSED in record.payload[:16]:
            entry = entry_of(folder, record)
            if isinstance(entry, Missed):
                missed[entry.seq] = {**missed.get(entry.seq, {}), **entry.rows}
    for record in read_log(folder, after):
        yield record.seq, entry_of(folder, record), missed.get(record.seq), len(record.payload)
