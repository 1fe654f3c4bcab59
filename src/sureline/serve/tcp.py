"""A line protocol: a row a line as the model's stream had them, and an answer a line in their order.

A row is a text, a line of VW or of LIBSVM without its label, or of a table a JSON object. An answer is a JSON object.
Where reading takes a token, the first line is ``token TOKEN``, and has no answer unless it is wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import msgspec

from .answering import PLAIN, answers_of, answers_to
from .batching import tell_page
from .errors import Refused
from .limits import Limits
from .models import House
from .replies import encode
from .served import Served
from .tokens import Right, Tokens

_PIECE = 1 << 16
_LONGEST = 1 << 20
_encode_lines = msgspec.json.Encoder().encode_lines


class LineServer:
    """Answers with one model."""

    def __init__(self, house: House, name: str, tokens: Tokens, limits: Limits) -> None:
        self._house, self._name, self._tokens, self._limits = house, name, tokens, limits
        self._open = 0

    async def start(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._connected, host, port, limit=_PIECE)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open > self._limits.sockets:
                raise Refused(503, f"There are {self._limits.sockets:,} connections already.")
            await self._talk(reader, writer)
        except Refused as refused:
            writer.write(encode({"error": refused.message}) + b"\n")
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open -= 1
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(self._limits.idle_time):
                    writer.close()
                    await writer.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        rest, line, known = b"", 0, not self._tokens
        while True:
            async with asyncio.timeout(self._limits.idle_time):
                piece = await reader.read(_PIECE)
            block = rest + (piece or (b"\n" if rest else b""))
            cut = block.rfind(b"\n") + 1
            block, rest = block[:cut], block[cut:]
            if len(rest) > _LONGEST:
                raise Refused(413, f"A line has at most {_LONGEST:,} bytes.")
            if block and not known:
                first, _, block = block.partition(b"\n")
                word, _, secret = first.strip().partition(b" ")
                if word != b"token" or self._tokens.right_of(secret) < Right.READ:
                    raise Refused(401, "The first line is: token TOKEN.")
                known, line = True, line + 1
            if block:
                writer.write(self._answers(block, line))
                line += block.count(b"\n")
                async with asyncio.timeout(self._limits.idle_time):
                    await writer.drain()
            if not piece:
                return

    def _answers(self, block: bytes, line: int) -> bytes:
        """A line for each line."""
        served = self._house.get(self._name)
        out: list[dict[str, Any]] = []
        lines = block.split(b"\n")[:-1]
        good: list[tuple[int, Any]] = []
        for number, text in enumerate(lines):
            try:
                good.append((number, _row(served, text)))
                out.append({})
            except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
                out.append({"error": "The line is no row: it is no UTF-8, or no JSON.", "line": line + number + 1})
        while good:
            try:
                began = time.perf_counter()
                rows = [row for _, row in good]
                answers, chunk, verdicts = answers_of(served.lineup, rows, PLAIN)
            except Refused:
                good = self._readable(served, good, out, line)
                continue
            for (number, _), answer in zip(good, answers, strict=True):
                out[number] = {**answer, "version": served.version}
            tell_page(served, rows, answers, chunk, verdicts, time.perf_counter() - began)
            break
        return _encode_lines(out)

    @staticmethod
    def _readable(
        served: Served, good: list[tuple[int, Any]], out: list[dict[str, Any]], line: int
    ) -> list[tuple[int, Any]]:
        left = []
        for number, row in good:
            try:
                answers_to(served.champion, served.champion.rows.read([row]), PLAIN)
                left.append((number, row))
            except Refused as refused:
                out[number] = {"error": refused.message, "line": line + number + 1}
        if len(left) == len(good):
            raise Refused(500, "The rows cannot be answered together.")
        return left


def _row(served: Served, text: bytes) -> Any:
    """A line as a row: JSON for tables and models without a stream."""
    parser = served.champion.rows.parser
    text = text.removesuffix(b"\r")
    if parser is None or parser.reads_json_lines:
        return msgspec.json.decode(text)
    return text.decode()
