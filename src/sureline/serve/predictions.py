"""Predictions that wait for their labels: kept in files of bounded size, so that a label may come hours later.

An id says where a prediction is: its segment, its offset there and a random number. A segment is a file
``predictions-NUMBER.bin``; the oldest one goes when all of them are too large, or have too many predictions. Nothing
waits for the disk: a prediction is written some milliseconds after it was made, and stays in memory until then.
"""

from __future__ import annotations

import os
import re
import secrets
import struct
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from .bodies import shown
from .errors import Refused
from .writer import Writer

_HEADER = struct.Struct("<4sIIIB")  # mark, length, checksum, number, learned
_FOUR = struct.Struct("<1024I")
_MARK = b"SLp\n"
_LEARNED = _HEADER.size - 1
_ID = re.compile(r"([0-9a-f]{1,12})-([0-9a-f]{1,12})-([0-9a-f]{8})")
_SEGMENTS = 8
_BACKLOG = 8 << 20  # bytes that may wait to be written
_PAUSE = 1.0  # seconds after a failure


class Predictions:
    """Those of one model."""

    def __init__(self, folder: Path, writer: Writer, *, max_bytes: int, max_count: int) -> None:
        self._folder, self._writer = folder, writer
        self._segment_bytes = max(max_bytes // _SEGMENTS, 1)
        self._segment_count = max(max_count // _SEGMENTS, 1)
        self.max_bytes, self.max_count = max_bytes, max_count
        found = sorted(self._found())
        self._oldest = found[0] if found else 1
        self._newest = found[-1] + 1 if found else 1  # what an earlier process began, it may not have finished
        self._offset = self._count = 0
        self._waiting: dict[tuple[int, int], bytes] = {}
        self._changing = threading.Lock()  # of what waits, which the thread that writes takes away
        self._backlog = 0
        self._in_flight: set[str] = set()
        self._failed_until = 0.0
        self._numbers: tuple[int, ...] = ()  # drawn at random, for ids to come: asking the system for each takes long
        self._drawn = 0
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder().decode

    def _found(self) -> list[int]:
        numbers = (path.name[12:-4] for path in self._folder.glob("predictions-*.bin"))
        return [int(number, 16) for number in numbers if re.fullmatch("[0-9a-f]{8,12}", number)]

    def _path(self, segment: int) -> Path:
        return self._folder / f"predictions-{segment:08x}.bin"

    # -- keeping ---------------------------------------------------------------------------------------------

    def keep(self, fact: Any) -> str | None:
        """Keep a prediction, and return its id; None if there is no room for it."""
        if self._backlog > _BACKLOG or self.max_bytes <= 0 or time.monotonic() < self._failed_until:
            return None
        try:
            payload = self._encode(fact)
        except (OverflowError, TypeError, ValueError):  # a number that none has room for: its label comes with the row
            return None
        size = _HEADER.size + len(payload)
        if size > self._segment_bytes:
            return None
        if self._count >= self._segment_count or self._offset + size > self._segment_bytes:
            self._next_segment()
        if self._drawn == len(self._numbers):
            self._numbers, self._drawn = _FOUR.unpack(secrets.token_bytes(_FOUR.size)), 0
        number = self._numbers[self._drawn]
        self._drawn += 1
        checksum = zlib.crc32(payload, number)
        place = self._newest, self._offset
        with self._changing:
            self._waiting[place] = _HEADER.pack(_MARK, len(payload), checksum, number, 0) + payload
            self._backlog += size
        self._offset += size
        self._count += 1
        self._writer.keep(self)
        return f"{place[0]:x}-{place[1]:x}-{number:08x}"

    def _next_segment(self) -> None:
        self._newest, self._offset, self._count = self._newest + 1, 0, 0
        while self._newest - self._oldest >= _SEGMENTS:
            with suppress(OSError):
                self._path(self._oldest).unlink()
            self._oldest += 1

    def write(self) -> None:
        """Write what waits: called by the thread that writes."""
        by_segment: dict[int, list[tuple[int, bytes]]] = {}
        with self._changing:
            waiting = list(self._waiting.items())
        for (segment, offset), data in waiting:
            by_segment.setdefault(segment, []).append((offset, data))
        for segment, pieces in by_segment.items():
            try:
                if segment >= self._oldest:
                    self._write_at(segment, pieces)
            except OSError:
                self._failed_until = time.monotonic() + _PAUSE  # these are forgotten
            with self._changing:
                now = [self._waiting.pop((segment, offset)) for offset, _ in pieces]
                self._backlog -= sum(len(data) for _, data in pieces)
            for (offset, data), marked in zip(pieces, now, strict=True):
                if marked is not data:  # its label came meanwhile
                    self._mark_on_disk(segment, offset, None)

    def _write_at(self, segment: int, pieces: list[tuple[int, bytes]]) -> None:
        fd = os.open(self._path(segment), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            run: list[bytes] = []
            begin = end = pieces[0][0]
            for offset, data in [*pieces, (-1, b"")]:
                if offset != end:
                    joined = memoryview(b"".join(run))
                    while joined:
                        n = os.pwrite(fd, joined, begin)
                        begin, joined = begin + n, joined[n:]
                    run, begin, end = [], offset, offset
                run.append(data)
                end += len(data)
        finally:
            os.close(fd)

    # -- labels ----------------------------------------------------------------------------------------------

    def find(self, prediction_id: str) -> Any:
        """The kept prediction. Refused if it is unknown, was forgotten, or has its label."""
        segment, offset, number = _parts(prediction_id)
        if prediction_id in self._in_flight:
            raise Refused(409, f"The prediction {prediction_id} has a label already.")
        data = self._waiting.get((segment, offset))
        if data is None:
            data = self._read(segment, offset, number)
        mark, length, checksum, own, learned = _HEADER.unpack_from(data)
        payload = data[_HEADER.size : _HEADER.size + length]
        if mark != _MARK or own != number or zlib.crc32(payload, own) != checksum:
            raise _unknown(prediction_id)
        if learned:
            raise Refused(409, f"The prediction {prediction_id} has a label already.")
        return self._decode(payload)

    def _read(self, segment: int, offset: int, number: int) -> bytes:
        prediction_id = f"{segment:x}-{offset:x}-{number:08x}"
        if segment < self._oldest:
            raise Refused(
                410, f"The prediction {prediction_id} is forgotten: the last {self.max_bytes:,} bytes of them are kept."
            )
        try:
            with self._path(segment).open("rb", buffering=0) as file:
                header = os.pread(file.fileno(), _HEADER.size, offset)
                if len(header) < _HEADER.size or header[:4] != _MARK:
                    raise _unknown(prediction_id)
                length = _HEADER.unpack(header)[1]
                if length > self._segment_bytes:
                    raise _unknown(prediction_id)
                return header + os.pread(file.fileno(), length, offset + _HEADER.size)
        except OSError:
            raise _unknown(prediction_id) from None

    def begin_label(self, prediction_id: str) -> None:
        """A label is on its way to the log."""
        self._in_flight.add(prediction_id)

    def end_label(self, prediction_id: str, *, learned: bool) -> None:
        """It is there, or will not be."""
        if learned:
            self.mark(prediction_id)
        self._in_flight.discard(prediction_id)

    def mark(self, prediction_id: str) -> None:
        """Remember that a prediction has its label."""
        segment, offset, number = _parts(prediction_id)
        with self._changing:
            data = self._waiting.get((segment, offset))
            if data is not None:
                self._waiting[segment, offset] = data[:_LEARNED] + b"\1" + data[_LEARNED + 1 :]
                return
        self._mark_on_disk(segment, offset, number)

    def _mark_on_disk(self, segment: int, offset: int, number: int | None) -> None:
        with suppress(OSError):
            fd = os.open(self._path(segment), os.O_RDWR | os.O_CLOEXEC)
            try:
                header = os.pread(fd, _HEADER.size, offset)
                whole = len(header) == _HEADER.size and header[:4] == _MARK
                if whole and number in (None, _HEADER.unpack(header)[3]):
                    os.pwrite(fd, b"\1", offset + _LEARNED)
            finally:
                os.close(fd)

    @property
    def nbytes(self) -> int:
        """On the disk."""
        total = 0
        for segment in self._found():
            with suppress(OSError):
                total += self._path(segment).stat().st_size
        return total


def _parts(prediction_id: str) -> tuple[int, int, int]:
    found = _ID.fullmatch(prediction_id)
    if found is None:
        raise _unknown(prediction_id)
    segment, offset, number = (int(digits, 16) for digits in found.groups())
    return segment, offset, number


def _unknown(prediction_id: str) -> Refused:
    return Refused(404, f"There is no prediction {shown(prediction_id, 40)}.")
