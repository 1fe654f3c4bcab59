"""Compressed data: recognised by content, read piece by piece, and refused where they are damaged or cut off.

The libraries' decoders differ in their strictness. Here no format may end early, or be followed by anything but another
member.
"""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

INPUT = 1 << 16  # compressed bytes at a time: at most so much is copied for every member of a file of very small ones
OUTPUT = 1 << 20
XZ_MEMORY = 256 << 20  # xz -9 needs 65 MiB

_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = tuple(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))


class Raw(Protocol):
    """The bytes of a file as they are on the disk."""

    def read(self, n: int) -> bytes: ...

    def readinto(self, view: memoryview) -> int: ...

    def ready(self, seconds: float = 0.0) -> bool: ...


class Decoder(Protocol):
    """Decompressed bytes: `readinto` fills the view unless the data end or fail, and then `failure` says so.

    `some` returns at most n available bytes, and waits only if there are none; None if the available input has no
    content. `holds` is true if there is input that is not yet decompressed.
    """

    failure: str | None

    @property
    def holds(self) -> bool: ...

    def readinto(self, view: memoryview) -> int: ...

    def some(self, n: int) -> bytes | None: ...


def may_be_compressed(head: bytes) -> bool:
    """True if these first bytes of a file, fewer than 16, may begin compressed data."""
    magic = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x5d\x00\x00", _ZSTD, *_ZSTD_SKIPPABLE)
    return any(each.startswith(head[: len(each)]) for each in magic)


def compression_of(head: bytes) -> str | None:
    """The kind of compression that the first 16 bytes of a file show."""
    if head.startswith(b"\x1f\x8b"):
        return "gz"
    if head.startswith(b"BZh") and head[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return "bz2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head.startswith(b"\x5d\x00\x00") and len(head) >= 13:
        return "lzma"
    if head.startswith((_ZSTD, *_ZSTD_SKIPPABLE)):
        return "zst"
    return None


def decoder(kind: str | None, raw: Raw) -> Decoder:
    """The decoder of data compressed as `kind`, or not compressed at all."""
    if kind is None:
        return Plain(raw)
    return Members(raw, kind)


class Plain:
    """Bytes that are not compressed."""

    holds = False

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self.failure: str | None = None

    def some(self, n: int) -> bytes:
        return self._raw.read(n)

    def readinto(self, view: memoryview) -> int:
        filled = 0
        while filled < len(view):
            n = self._raw.readinto(view[filled:])
            if n == 0:
                break
            filled += n
        return filled


class _Inflate:
    """zlib's decoder of a gzip member, with the interface of bz2's and lzma's."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data


def gzip_decoder() -> tuple[Callable[[], Any], Any]:
    """A factory of decoders of a gzip member, and their exception: isal's if it is installed, else zlib's."""
    try:
        from isal import igzip_lib
    except ImportError:
        return _Inflate, zlib.error
    return lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP), igzip_lib.IsalError


def zstd_module() -> Any:
    """Python's own module for zstd, or its backport before 3.14."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


class _Dry(Exception):
    """Nothing has come that could be decompressed."""


class Members:
    """Decodes gzip, bzip2, xz or zstd: compressed members (frames of zstd) in sequence."""

    _WORDS: ClassVar = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "lzma": "lzma", "zst": "zstd"}
    _MAGIC: ClassVar[dict[str, tuple[bytes, ...]]] = {
        "gz": (b"\x1f\x8b",),
        "bz2": (b"BZh",),
        "xz": (b"\xfd7zXZ\x00",),
        "lzma": (b"\x5d\x00\x00",),
        "zst": (_ZSTD, *_ZSTD_SKIPPABLE),
    }

    def __init__(self, raw: Raw, kind: str) -> None:
        self._raw, self._kind, self._word, self._magic = raw, kind, self._WORDS[kind], self._MAGIC[kind]
        self._errors: tuple[type[Exception], ...]
        if kind == "gz":
            self._make, error = gzip_decoder()
            self._errors = (error,)
        elif kind == "zst":
            zstd = zstd_module()
            self._make, self._errors = zstd.ZstdDecompressor, (zstd.ZstdError,)
        elif kind == "bz2":
            self._make, self._errors = bz2.BZ2Decompressor, (OSError, ValueError)
        else:
            form = lzma.FORMAT_XZ if kind == "xz" else lzma.FORMAT_ALONE
            self._make = lambda: lzma.LZMADecompressor(format=form, memlimit=XZ_MEMORY)
            self._errors = (lzma.LZMAError,)
        self._member: Any = None
        self._waiting = b""  # read, but not yet decoded
        self._begun = False
        self._ended = False
        self._produced = 0
        self._zeros = 0  # between members
        self._patient = True
        self.failure: str | None = None

    @property
    def holds(self) -> bool:
        return bool(self._waiting) or (self._member is not None and not self._member.needs_input)

    def some(self, n: int) -> bytes | None:
        self._patient = not self.holds
        try:
            piece = self._more(min(n, OUTPUT))
        except _Dry:
            return None
        finally:
            self._patient = True
        self._produced += len(piece)
        return piece

    def _fetch(self) -> bytes:
        """The next compressed bytes. Raises if there are none yet and the caller does not wait."""
        if not self._patient and not self._raw.ready():
            raise _Dry
        return self._raw.read(INPUT)

    def readinto(self, view: memoryview) -> int:
        filled = 0
        while filled < len(view):
            piece = self._more(min(len(view) - filled, OUTPUT))
            if not piece:
                break
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
            self._produced += len(piece)
        return filled

    def _fail(self, what: str) -> bytes:
        self.failure = f"the {self._word} data {what} after {self._produced} bytes of content"
        return b""

    def _more(self, limit: int) -> bytes:
        """Decompress at most `limit` bytes; none at the end of the data or after a failure."""
        while self.failure is None and not self._ended:
            if self._member is None and not self._begin():
                return b""
            data, self._waiting = self._waiting, b""
            if not data and self._member.needs_input:
                data = self._fetch()
                if not data:
                    return self._fail("are cut off")
            try:
                piece: bytes = self._member.decompress(data, limit)
            except self._errors as error:
                return self._fail(f"are damaged ({error})")
            if self._member.eof:
                self._waiting = self._member.unused_data
                self._member = None
            elif not piece and not data and not self._member.needs_input:
                return self._fail("are damaged (the decoder stands still)")
            if piece:
                return piece
        return b""

    def _begin(self) -> bool:
        """Begin the next member, if there is one."""
        if self._begun:
            self._skip_padding()
        while len(self._waiting) < len(self._magic[0]):
            data = self._fetch()
            if not data:
                break
            self._waiting += data
        if not self._waiting and self._begun:
            self._ended = True
            return False
        if not self._waiting.startswith(self._magic) or (self._begun and self._kind == "lzma"):
            self._fail("are followed by something else")
            return False
        self._member, self._begun = self._make(), True
        return True

    def _skip_padding(self) -> None:
        """Zeros between members: any number in gzip (tapes), multiples of four in xz."""
        if self._kind not in ("gz", "xz"):
            return
        while True:
            rest = self._waiting.lstrip(b"\0")
            self._zeros += len(self._waiting) - len(rest)
            self._waiting = rest
            if not rest:
                self._waiting = self._fetch()
            if rest or not self._waiting:
                break
        if self._kind == "xz" and self._zeros % 4:
            self._fail("are padded wrongly")
        self._zeros = 0
