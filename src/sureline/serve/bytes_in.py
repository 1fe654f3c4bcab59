"""Bytes of requests, within limits of size and time, decompressed where they are compressed."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import AsyncIterator, Generator
from typing import Any

from starlette.requests import ClientDisconnect, Request

from .errors import Refused
from .limits import Limits

_PIECE = 1 << 16
_LONGEST_REST = 1 << 20
_SLOWEST = 1000  # bytes a second of a body that is not a stream of lines


async def whole_body(request: Request, limits: Limits) -> bytes:
    """The body of a request in JSON. Refused if it is too large or too slow."""
    compressed = False
    for name, text in request.scope["headers"]:
        if name == b"content-length":
            if text.isdigit() and int(text) > limits.body:
                raise _too_large(limits.body)
        elif name == b"content-encoding":
            compressed = _compressed(request)
    message = await _message(request, limits)
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        parts, size, began = [body], len(body), time.monotonic()
        while message.get("more_body", False):
            message = await _message(request, limits)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            _refuse_dripping(size, began, limits)
            if size > limits.body:
                raise _too_large(limits.body)
        body = b"".join(parts)
    if len(body) > limits.body:
        raise _too_large(limits.body)
    return _decompressed(body, limits.body) if compressed else body


async def pieces(request: Request, limits: Limits, most: int, *, steady: bool = False) -> AsyncIterator[bytes]:
    """The body piece by piece, decompressed, at most `most` bytes in all. With `steady` it may not come in drips."""
    inflate = zlib.decompressobj(wbits=31) if _compressed(request) else None
    size, come, more, began = 0, 0, True, time.monotonic()
    while more:
        message = await _message(request, limits)
        more = message.get("more_body", False)
        data: bytes = message.get("body", b"")
        come += len(data)
        if steady and more:
            _refuse_dripping(come, began, limits)
        while data:
            if inflate is None:
                piece, data = data, b""
            else:
                piece = _inflated(inflate, data, _PIECE)
                data = inflate.unconsumed_tail
                if inflate.eof and inflate.unused_data:
                    raise Refused(400, "The compressed body has more than one part.")
            size += len(piece)
            if size > most:
                raise _too_large(most)
            if piece:
                yield piece
                await asyncio.sleep(0)
    if inflate is not None and not inflate.eof:
        raise Refused(400, "The compressed body is cut short.")


async def lines(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    """Blocks of whole lines."""
    rest: list[bytes] = []
    waiting = 0
    async for piece in pieces(request, limits, limits.stream):
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, piece[:cut]])
            rest, waiting = [piece[cut:]] if cut < len(piece) else [], len(piece) - cut
        else:
            rest.append(piece)
            waiting += len(piece)
        if waiting > min(limits.body, _LONGEST_REST):
            raise Refused(413, f"A line has more than {min(limits.body, _LONGEST_REST):,} bytes.")
    if waiting:
        yield b"".join([*rest, b"\n"])


async def _message(request: Request, limits: Limits) -> Any:
    receiving: Any = request.receive()
    try:
        waits_for = receiving.send(None)
    except StopIteration as done:  # it was there already, and no clock is set
        message = done.value
    else:
        try:
            async with asyncio.timeout(limits.body_time):
                message = await _Begun(receiving, waits_for)
        except TimeoutError:
            why = f"No more of the body came for {limits.body_time:g} s."
            raise Refused(408, why, {"Connection": "close"}) from None
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message


class _Begun:
    """The rest of a coroutine that was run until it waits for something."""

    def __init__(self, coroutine: Any, waits_for: Any) -> None:
        self._coroutine, self._waits_for = coroutine, waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            yield self._waits_for
        except BaseException as error:
            yield self._coroutine.throw(error)
        return (yield from self._coroutine.__await__())


def _refuse_dripping(size: int, began: float, limits: Limits) -> None:
    """Refused if a body takes so long that it seems meant to keep a connection busy."""
    if time.monotonic() - began > limits.body_time + size / _SLOWEST:
        raise Refused(408, f"The body came at less than {_SLOWEST:,} bytes a second.", {"Connection": "close"})


def _compressed(request: Request) -> bool:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", ""):
        raise Refused(415, "A body is sent as it is, or with Content-Encoding: gzip.")
    return encoding == "gzip"


def _decompressed(body: bytes, most: int) -> bytes:
    inflate = zlib.decompressobj(wbits=31)
    data = _inflated(inflate, body, most + 1)
    if len(data) > most:
        raise _too_large(most)
    if not inflate.eof or inflate.unused_data:
        raise Refused(400, "The compressed body is cut short, or has more than one part.")
    return data


def _inflated(inflate: Any, data: bytes, most: int) -> bytes:
    try:
        inflated: bytes = inflate.decompress(data, most)
    except zlib.error:
        raise Refused(400, "The body is not compressed by gzip.") from None
    return inflated


def _too_large(most: int) -> Refused:
    return Refused(413, f"The body has more than {most:,} bytes.", {"Connection": "close"})
