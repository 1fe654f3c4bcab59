"""The container: canonical safetensors with a checksum over every byte. docs/model-file.md specifies it.

The package safetensors can read these files too, but is not used here. It accepts duplicate keys. It either maps the
file, so that truncating the file meanwhile kills the process, or holds it in memory twice. Here each byte is read once,
into its place, and the returned bytes are those of the checksum.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._atomic import replacing
from ..._inputs import Array
from ..._native import _core
from .errors import Refusal

LARGEST_HEADER = 1 << 26
PIECE = 1 << 20  # bytes read or written at once

_BEFORE = b'{"__metadata__":{"sha256":"'
_AFTER = b'","sureline":'
_DIGITS = 64
_DIGEST = slice(8 + len(_BEFORE), 8 + len(_BEFORE) + _DIGITS)  # in the file
_METADATA = len(_BEFORE) + _DIGITS + len(_AFTER)  # where its text begins in the header
_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "F32": np.dtype("<f4"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "U8": np.dtype("u1"),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
_NUMBER = "(?:0|[1-9][0-9]{0,18})"
_NAME = re.compile(r"[a-z0-9_.]{1,100}")
_ENTRY = re.compile(
    rf',"({_NAME.pattern})":{{"dtype":"([A-Z0-9]+)","shape":\[((?:{_NUMBER}(?:,{_NUMBER}){{0,7}})?)\],'
    rf'"data_offsets":\[({_NUMBER}),({_NUMBER})\]}}'
)


@dataclass(frozen=True)
class Tensor:
    """An array to be written in pieces; their dtype is that of the whole."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Callable[[], Iterable[Array]]

    @classmethod
    def of(cls, array: Array) -> Tensor:
        flat = np.ascontiguousarray(array).reshape(-1)
        step = max(PIECE // array.itemsize, 1)
        return cls(array.dtype, array.shape, lambda: (flat[i : i + step] for i in range(0, len(flat), step)))

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


# -- writing -------------------------------------------------------------------------------------------------


def write_container(path: str | os.PathLike[str], metadata: str, tensors: Mapping[str, Tensor]) -> None:
    """Write the file atomically. Its metadata is ASCII text."""
    with replacing(path) as output:
        output.overwrite(_DIGEST.start, _put(output.write, metadata, tensors))


def container_bytes(metadata: str, tensors: Mapping[str, Tensor]) -> bytes:
    """The bytes of such a file."""
    out = io.BytesIO()  # which gives its bytes away without a copy
    digest = _put(out.write, metadata, tensors)
    out.seek(_DIGEST.start)
    out.write(digest)
    return out.getvalue()


def _put(write: Callable[[bytes | memoryview], Any], metadata: str, tensors: Mapping[str, Tensor]) -> bytes:
    """Write all but the checksum, and return the checksum."""
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header = _header(metadata, ordered)
    checksum = hashlib.sha256()

    def put(data: bytes | memoryview) -> None:
        checksum.update(data)
        write(data)

    put(len(header).to_bytes(8, "little") + header)
    for _, tensor in ordered:
        left = tensor.nbytes
        dtype = tensor.dtype.newbyteorder("<")
        for piece in tensor.pieces():
            numbers = np.ascontiguousarray(piece, dtype=dtype).reshape(-1)
            left -= numbers.nbytes
            if left < 0:
                break
            put(numbers.view(np.uint8).data)
        if left != 0:
            raise RuntimeError("The model changed while it was being written.")
    return checksum.hexdigest().encode()


def _header(metadata: str, tensors: list[tuple[str, Tensor]]) -> bytes:
    parts, offset = [], 0
    for name, tensor in tensors:
        code = _CODES.get(tensor.dtype.newbyteorder("<"))
        if code is None or not _NAME.fullmatch(name) or len(tensor.shape) > 8:
            raise ValueError(
                f"A model file has no room for an array {name!r} of {tensor.dtype} and shape {tensor.shape}."
            )
        end = offset + tensor.nbytes
        shape = ",".join(str(n) for n in tensor.shape)
        parts.append(f',"{name}":{{"dtype":"{code}","shape":[{shape}],"data_offsets":[{offset},{end}]}}')
        offset = end
    text = json.dumps(metadata) + "}" + "".join(parts) + "}"
    header = _BEFORE + b"0" * _DIGITS + _AFTER + text.encode("ascii")
    header += b" " * (-len(header) % 8)
    if len(header) > LARGEST_HEADER:
        raise ValueError(
            f"The labels and parameters of this model take {len(header)} bytes, more than the {LARGEST_HEADER} of a "
            "model file."
        )
    return header


# -- reading -------------------------------------------------------------------------------------------------


def read_container(path: str | os.PathLike[str]) -> tuple[str, dict[str, Array]]:
    """The text of the metadata and the arrays, or a Refusal. Nothing larger than the file is allocated."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise Refusal("is a folder")
        if not stat.S_ISREG(status.st_mode):
            raise Refusal("is not a regular file")
        return _read(lambda view: _fill(fd, view), status.st_size)
    finally:
        os.close(fd)


def container_of(data: bytes, *, views: bool = False) -> tuple[str, dict[str, Array]]:
    """Like `read_container`, for the bytes of a file. With `views`, arrays may point into them, read-only."""
    whole, at = memoryview(data), 0

    def fill(view: memoryview) -> None:
        nonlocal at
        view[:] = whole[at : at + len(view)]
        at += len(view)

    def view(n: int) -> Array:
        nonlocal at
        octets = np.frombuffer(data, np.uint8, n, at)
        at += n
        return octets

    return _read(fill, len(data), view if views else None)


def digest_of(data: bytes) -> str:
    """The checksum that the bytes of a file carry."""
    return data[_DIGEST].decode("ascii", "replace")


def _read(
    fill: Callable[[memoryview], None], size: int, view: Callable[[int], Array] | None = None
) -> tuple[str, dict[str, Array]]:
    """The contents of `size` bytes, of which `fill` gives the next, and `view` the next where they are."""
    head = bytearray(min(size, _DIGEST.stop))
    fill(memoryview(head))
    if len(head) < _DIGEST.stop or head[8 : _DIGEST.start] != _BEFORE:
        raise Refusal("is empty" if size == 0 else "is not a sureline model file")
    length = int.from_bytes(head[:8], "little")
    if not _METADATA < length <= LARGEST_HEADER or length % 8 != 0:
        raise Refusal("the length of its header is wrong")
    if size < 8 + length:
        raise Refusal(f"is cut short: it ends in its header, after {size} bytes")
    rest = bytearray(8 + length - len(head))
    fill(memoryview(rest))
    claimed = bytes(head[_DIGEST])
    head[_DIGEST] = b"0" * _DIGITS
    checksum = hashlib.sha256(head)
    checksum.update(rest)

    metadata, table = _parsed(bytes(head[8:] + rest))
    expected = 8 + length + sum(tensor.nbytes for _, tensor in table)
    if size < expected:
        raise Refusal(f"is cut short: it has {size} of {expected} bytes")
    if size > expected:
        raise Refusal(f"has {size - expected} bytes too many at its end")
    arrays = {}
    for name, tensor in table:
        if view is None:
            array = _room(tensor.dtype, tensor.nbytes // tensor.dtype.itemsize)
            octets = array.view(np.uint8)
            for start in range(0, len(octets), PIECE):
                piece = octets[start : start + PIECE].data
                fill(piece)
                checksum.update(piece)
        else:
            octets = view(tensor.nbytes)
            checksum.update(octets.data)
            array = octets.view(tensor.dtype)
            array = array if array.flags.aligned else array.copy()
        arrays[name] = array.astype(tensor.dtype.newbyteorder("="), copy=False).reshape(tensor.shape)
    if checksum.hexdigest().encode() != claimed:
        raise Refusal("has been changed or damaged: its checksum does not match its contents")
    return metadata, arrays


def _fill(fd: int, view: memoryview) -> None:
    while view:
        n = os.readv(fd, [view])
        if n == 0:
            raise Refusal("became shorter while it was read")
        view = view[n:]


def _room(dtype: np.dtype[Any], size: int) -> Array:
    """An array to read into. Large ones of floats are made as a model makes its weights: they will be."""
    if dtype.kind == "f" and size * dtype.itemsize >= PIECE and dtype.isnative:
        return _core.zeros_float32(size) if dtype.itemsize == 4 else _core.zeros_float64(size)
    return np.empty(size, dtype)


def _parsed(header: bytes) -> tuple[str, list[tuple[str, Tensor]]]:
    """The metadata and the table of tensors, by the canonical grammar of the header."""
    wrong = Refusal("its header is not what a model file has")
    try:
        text = header.decode("ascii")
        if header[len(_BEFORE) + _DIGITS : _METADATA] != _AFTER or text[_METADATA] != '"':
            raise wrong
        metadata, at = json.JSONDecoder().raw_decode(text, _METADATA)
    except ValueError:
        raise wrong from None
    if json.dumps(metadata) != text[_METADATA:at] or not text.startswith("}", at):
        raise wrong
    at, offset, before = at + 1, 0, (-8, "")
    table = []
    while entry := _ENTRY.match(text, at):
        name, code, shape, begin, end = entry.groups()
        dtype = _DTYPES.get(code)
        if dtype is None:
            raise wrong
        tensor = Tensor(dtype, tuple(int(n) for n in shape.split(",") if n), tuple)
        place = -dtype.itemsize, name
        # Ascending names exclude duplicates; adjacent tensors exclude gaps.
        if not before < place or int(begin) != offset or int(end) != offset + tensor.nbytes:
            raise wrong
        if math.prod(n for n in tensor.shape if n > 0) > 1 << 48:  # empty arrays cannot have every shape
            raise wrong
        offset, before, at = int(end), place, entry.end()
        table.append((name, tensor))
    end_of_text = at + 1 + -(at + 1) % 8
    if text[at:] != "}" + " " * (end_of_text - at - 1):
        raise wrong
    return metadata, table
