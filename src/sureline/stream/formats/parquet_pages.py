"""The sizes of Parquet's pages, by their headers, before anything is unpacked."""

from __future__ import annotations

from ..source import RawFile

_HEAD = 1 << 13  # bytes that are looked at for a header, which may hold statistics


def largest_page(raw: RawFile, start: int, length: int) -> int:
    """Bytes that the largest page of a column chunk unpacks to, as its header says; 0 where headers cannot be read.

    Whoever unpacks them says what is wrong with those.
    """
    largest, at, end = 0, start, start + length
    while at < end:
        try:
            header = _Thrift(raw.pread(min(_HEAD, end - at), at))
            fields = header.struct()
        except (IndexError, RecursionError, OSError):
            return largest
        unpacked, packed = fields.get(2, 0), fields.get(3, 0)
        if packed < 0 or unpacked < 0:
            return largest
        largest = max(largest, unpacked)
        at += header.at + packed
    return largest


class _Thrift:
    """Thrift's compact protocol, as far as it takes to pass over a struct and see its integers."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def struct(self, depth: int = 0) -> dict[int, int]:
        """The integers among the fields, by number."""
        if depth > 32:
            raise IndexError
        found: dict[int, int] = {}
        number = 0
        while byte := self._byte():
            kind = byte & 15
            number = number + (byte >> 4) if byte >> 4 else self._zigzag()
            if kind in (4, 5, 6):
                found[number] = self._zigzag()
            else:
                self._pass(kind, depth)
        return found

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _pass(self, kind: int, depth: int) -> None:
        if kind in (1, 2):  # true and false are in the kind
            return
        if kind == 3:
            self.at += 1
        elif kind in (4, 5, 6):
            self._varint()
        elif kind == 7:
            self.at += 8
        elif kind == 8:
            self.at += self._varint()
        elif kind in (9, 10):
            head = self._byte()
            n = self._varint() if head >> 4 == 15 else head >> 4
            for _ in range(n):
                self._pass(head & 15, depth)
        elif kind == 12:
            self.struct(depth + 1)
        else:
            raise IndexError
        if self.at > len(self._data):
            raise IndexError
