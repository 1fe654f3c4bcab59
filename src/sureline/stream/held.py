"""Text in memory, read like a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .source import RawFile, Reader, Source, Stamp


class RawText(RawFile):
    """The bytes of a text in memory. Threads may read ranges of it at once."""

    def __init__(self, name: str, text: bytes) -> None:
        super().__init__(name, fd=-1, regular=True, keep_open=True)
        self._text, self._at = text, 0

    @property
    def length(self) -> int:
        return len(self._text)

    @property
    def stamp(self) -> Stamp:
        return len(self._text), 0, 0

    def pread(self, n: int, at: int) -> bytes:
        return self._text[at : at + n]

    def preadinto(self, view: memoryview, at: int) -> int:
        piece = self.pread(len(view), at)
        view[: len(piece)] = piece
        return len(piece)

    def _fetch(self, n: int) -> bytes:
        piece = self.pread(n, self._at)
        self._at += len(piece)
        return piece


class HeldText(Source):
    """A text in memory, with a name for error messages. It can be read any number of times, and in ranges."""

    def __init__(self, name: str, text: bytes) -> None:
        self.path, self.text, self.status, self.regular = name, text, None, True
        self.size = len(text)

    @property
    def stamp(self) -> Stamp:
        return len(self.text), 0, 0

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def open(self) -> Reader:
        return Reader(RawText(self.path, self.text))

    def peek(self, n: int, enough: Callable[[bytes], object]) -> bytes:
        return self.text[:n]

    def silent(self, seconds: float) -> bool:
        return False
