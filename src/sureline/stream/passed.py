"""The text before a place in a file, as far as it takes to know it again."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from .errors import DataError
from .source import RawFile

TAIL = 1 << 12  # bytes


def crc32_of_much() -> Callable[[Any, int], int]:
    """The fastest CRC-32 that continues from an earlier one: isal's if installed, otherwise zlib's."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib.crc32
    found: Callable[[Any, int], int] = isal_zlib.crc32
    return found


class Passed:
    """Text that has been read: its length, its last bytes, and with `whole` a checksum of all of it.

    With `quoted` a row ends at a newline only outside of quotes. `by_messages` is for topics, where reading continues
    at a message and not at a byte.
    """

    def __init__(
        self,
        *,
        whole: bool = False,
        quoted: bool = False,
        tail: bytes = b"",
        length: int = 0,
        by_messages: bool = False,
    ) -> None:
        self._crc32 = crc32_of_much() if whole else None
        self._quoted, self._tail = quoted, tail
        self._sum = self._quotes = 0
        self.length, self.by_messages = length, by_messages

    def take(self, text: memoryview | bytes) -> None:
        """Text that comes next."""
        if self._crc32 is not None:
            self._sum = self._crc32(text, self._sum)
        if self._quoted:
            self._quotes += bytes(text).count(b'"')
        self._tail = (self._tail + bytes(text[-TAIL:]))[-TAIL:]
        self.length += len(text)

    def after(self, text: memoryview) -> int:
        """The checksum with some more text, which is not added."""
        if self._crc32 is not None:
            return self._crc32(text, self._sum)
        return zlib.crc32((self._tail + bytes(text[-TAIL:]))[-TAIL:])

    @property
    def checksum(self) -> int:
        """The checksum of the whole text, or of its end."""
        return self._sum if self._crc32 is not None else zlib.crc32(self._tail)

    @property
    def ends_a_row(self) -> bool:
        return self._tail.endswith(b"\n") and self._quotes % 2 == 0


def text_before(raw: RawFile, offset: int) -> Passed:
    """The end of the text before a byte of an open file."""
    n = min(offset, TAIL)
    return Passed(tail=raw.pread(n, offset - n), length=offset)


def refuse_other_text(name: str, passed: Passed, at_end: bool, checksum: int | None) -> None:
    """Raise DataError if reading cannot continue here: inside a row, or after changed text."""
    if checksum is not None and passed.checksum != checksum:
        raise DataError(name, f"the text before byte {passed.length} is not what it was when reading stopped there")
    if not passed.ends_a_row and not at_end:
        raise DataError(name, f"no row begins at byte {passed.length}, where reading was to go on")
