"""The write-ahead log of a model: records with checksums, in segments, the last of which grows.

A segment is a file ``log-FIRST.wal``, where FIRST is the number of its first record. It begins with MAGIC, and each
record is a header and a payload. The header has the length of the payload, a checksum of all that follows, the number
of the record, and how much of the segment was known to be on the disk when the record was written. So a tail that was
torn by a crash can be told from damage to what was on the disk before.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import StateError

MAGIC = b"sureline log 1\r\n"
_MARK = b"SLr\n"
_HEADER = struct.Struct("<4sIIQQ")  # mark, length, checksum, number, synced
_CHECKED = struct.Struct("<IQQ")
LONGEST = 1 << 30  # bytes of a record
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def segment_name(first: int) -> str:
    return f"log-{first:016d}.wal"


def segments(folder: Path) -> list[tuple[int, Path]]:
    """The number of the first record, and the file, of each segment in their order."""
    found = []
    for path in folder.glob("log-*.wal"):
        digits = path.name[4:-4]
        if len(digits) == 16 and digits.isdigit():
            found.append((int(digits), path))
    return sorted(found)


@dataclass(frozen=True)
class Record:
    """A record, and where it ends in its segment."""

    seq: int
    payload: bytes
    end: int
    synced: int


@dataclass(frozen=True)
class Torn:
    """A tail that is no whole record: where it begins, and how many bytes it has."""

    path: Path
    at: int
    size: int

    def __str__(self) -> str:
        return f"{self.path}: the last {self.size:,} bytes, from {self.at:,} on, are no whole record and were cut"


def encoded(seq: int, payload: bytes, synced: int) -> bytes:
    """The bytes of a record."""
    checksum = zlib.crc32(payload, zlib.crc32(_CHECKED.pack(len(payload), seq, synced)))
    return _HEADER.pack(_MARK, len(payload), checksum, seq, synced) + payload


def _record_at(data: bytes, at: int) -> Record | None:
    """The record that begins there; None if there is no whole one."""
    if at + _HEADER.size > len(data):
        return None
    mark, length, checksum, seq, synced = _HEADER.unpack_from(data, at)
    begin = at + _HEADER.size
    if mark != _MARK or length > LONGEST or begin + length > len(data):
        return None
    payload = data[begin : begin + length]
    if zlib.crc32(payload, zlib.crc32(_CHECKED.pack(length, seq, synced))) != checksum:
        return None
    return Record(seq, payload, begin + length, synced)


def read_segment(path: Path, first: int) -> tuple[list[Record], Torn | None]:
    """The records of a segment, and its torn tail if it has one. StateError if what was on the disk is damaged."""
    data = path.read_bytes()
    if data[: len(MAGIC)] != MAGIC:
        if MAGIC.startswith(data) or not any(data):  # a crash came before its first record
            return [], Torn(path, 0, len(data))
        raise StateError(f"{path} is not the log of a service.")
    records: list[Record] = []
    at = len(MAGIC)
    while at < len(data):
        record = _record_at(data, at)
        if record is None or record.seq != first + len(records):
            _refuse_damage(path, data, at)
            return records, Torn(path, at, len(data) - at)
        records.append(record)
        at = record.end
    return records, None


def _refuse_damage(path: Path, data: bytes, at: int) -> None:
    """StateError if a later record says that this place was on the disk: then it is no tail of a crash."""
    place = data.find(_MARK, at + 1)
    while place >= 0:
        later = _record_at(data, place)
        if later is not None and later.synced > at:
            raise StateError(
                f"{path} is damaged at byte {at:,}, before record {later.seq:,}, which was acknowledged: "
                "restore the file, or go on without it from the newest snapshot by moving it away."
            )
        place = data.find(_MARK, place + 1)


def read_log(folder: Path, after: int) -> Iterator[Record]:
    """The records with a number above `after`, in order; a torn tail is where they end. Nothing is changed.

    StateError if some are missing.
    """
    expected = after + 1
    found = segments(folder)
    for place, (first, path) in enumerate(found):
        last = place + 1 == len(found)
        if not last and found[place + 1][0] <= expected:
            continue
        records, torn = read_segment(path, first)
        if torn is not None and not last:
            raise StateError(
                f"{path} ends with {torn.size:,} bytes that are no record, and is not the last of the log."
            )
        for record in records:
            if record.seq < expected:
                continue
            if record.seq > expected:
                raise StateError(f"{folder}: records {expected:,} to {record.seq - 1:,} of the log are missing.")
            yield record
            expected += 1


class Log:
    """The end of a log, to which records are appended. One thread does that at a time."""

    def __init__(self, folder: Path, next_seq: int, durability: str, segment_bytes: int) -> None:
        self.folder, self.next_seq, self.durability = folder, next_seq, durability
        self._segment_bytes = segment_bytes
        self._fd: int | None = None
        self._end = self._synced = 0
        self._broken: OSError | None = None
        self.unsynced = False

    @staticmethod
    def repaired(folder: Path) -> Torn | None:
        """Cut a torn tail off the last segment, and say what was cut."""
        found = segments(folder)
        if not found:
            return None
        first, path = found[-1]
        _, torn = read_segment(path, first)
        if torn is None:
            return None
        if torn.at == 0:
            path.unlink()
        else:
            with path.open("r+b") as file:
                file.truncate(torn.at)
                os.fsync(file.fileno())
        _sync_folder(folder)
        return torn

    def append(self, payloads: Sequence[bytes]) -> int:
        """Append records, and return the number of the first. They are on the disk, as far as that was asked for.

        After an OSError the log is what it was before.
        """
        if self._broken is not None:
            raise self._broken
        if self._fd is None or self._end >= self._segment_bytes:
            self._open_segment()
        assert self._fd is not None
        first, begin = self.next_seq, self._end
        data = b"".join(encoded(first + k, payload, self._synced) for k, payload in enumerate(payloads))
        try:
            _write(self._fd, data)
            if self.durability == "fsync":
                _sync(self._fd)
                self._synced = begin + len(data)
            else:
                self.unsynced = True
        except OSError:
            self._take_back(begin)
            raise
        self._end = begin + len(data)
        self.next_seq += len(payloads)
        return first

    def sync(self) -> None:
        """Bring to the disk what was only written."""
        if self._fd is not None and self.unsynced:
            _sync(self._fd)
            self._synced, self.unsynced = self._end, False

    def _take_back(self, end: int) -> None:
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, end)
            os.lseek(self._fd, end, os.SEEK_SET)
            if self.durability == "fsync":
                _sync(self._fd)
        except OSError as error:  # what is in the file is not known: nothing more is put behind it
            self._broken = error

    def _open_segment(self) -> None:
        """Begin the next segment. The one before is complete."""
        if self._fd is not None:
            if self.durability != "none":
                _sync(self._fd)
            os.close(self._fd)
            self._fd = None
        path = self.folder / segment_name(self.next_seq)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            end = os.lseek(fd, 0, os.SEEK_END)
            if end < len(MAGIC):
                os.ftruncate(fd, 0)
                os.lseek(fd, 0, os.SEEK_SET)
                _write(fd, MAGIC)
                end = len(MAGIC)
            if self.durability == "fsync":
                _sync(fd)
                _sync_folder(self.folder)
        except OSError:
            os.close(fd)
            with suppress(OSError):
                path.unlink()
            raise
        self._fd, self._end, self._synced = fd, end, end

    def close(self) -> None:
        if self._fd is not None:
            with suppress(OSError):
                if self.durability != "none":
                    _sync(self._fd)
            os.close(self._fd)
            self._fd = None


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sync(fd: int) -> None:
    """Bring a file to the disk. macOS cannot leave out its times."""
    (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(fd)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
