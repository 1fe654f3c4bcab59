"""NDJSON: rows or labels as they come, a line each, and a line back for each of them in their order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .answering import Wanted, answers_of, answers_to
from .batching import finish, tell_page
from .bodies import UNSET, Learn, decoded_line
from .bytes_in import lines
from .errors import Refused
from .limits import Limits
from .lineup import Read
from .records import Learned
from .replies import SAFE
from .served import Served
from .service import checked, entry_of

_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_any: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_learn = msgspec.json.Decoder(Learn)
_encode_lines = msgspec.json.Encoder().encode_lines


class Stream(Response):
    """Lines that are sent while the lines of the request come."""

    def __init__(self, content: AsyncIterator[bytes], limits: Limits) -> None:
        self.status_code, self.background = 200, None
        self.raw_headers = [(b"content-type", b"application/x-ndjson"), *SAFE]
        self._content, self._limits = content, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(started)
        try:
            async for part in self._content:
                async with asyncio.timeout(self._limits.idle_time):  # for whoever does not read
                    await send({"type": "http.response.body", "body": part, "more_body": True})
        except (ClientDisconnect, TimeoutError):
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def predict_lines(served: Served, request: Request, limits: Limits) -> Response:
    """A row a line, and an answer a line."""
    wanted, remember = options_of(request)
    return Stream(_predicted(served, request, limits, wanted, remember), limits)


def learn_lines(served: Served, request: Request, limits: Limits) -> Response:
    """A row with its label a line, and for each line the version from which on it has been learned from."""
    if request.query_params:
        raise Refused(422, "There are no options for labels in NDJSON.")
    served.refuse_unteachable()
    return Stream(_learned(served, request, limits), limits)


def options_of(request: Request) -> tuple[Wanted, bool]:
    """The options of the query."""
    given: dict[str, Any] = {"remember": False}
    for name, text in request.query_params.multi_items():
        if name in ("probabilities", "novelty", "shadows", "remember") and text in _FLAGS:
            given[name] = _FLAGS[text]
        elif name == "explain" and text.isascii() and text.isdigit() and len(text) < 7:
            given[name] = int(text)
        elif name == "max_error" and (number := _number(text)) is not None:
            given[name] = number
        else:
            raise Refused(
                422,
                "The query may have probabilities, novelty, shadows and remember (true or false), explain (a number of "
                "features) and max_error (a share).",
            )
    remember = given.pop("remember")
    return Wanted(**given), remember


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


async def _predicted(
    served: Served, request: Request, limits: Limits, wanted: Wanted, remember: bool
) -> AsyncIterator[bytes]:
    line = 0
    try:
        async for block in lines(request, limits):
            parser = served.champion.rows.parser
            if parser is not None and parser.reads_json_lines and not remember and not wanted.shadows:
                for part in _by_parser(served, block, line, wanted):
                    yield part
            else:
                yield _one_by_one(served, block, line, wanted, remember, limits)
            line += block.count(b"\n")
    except Refused as refused:
        yield _encode_lines([{"error": refused.message, "line": line + 1}])


def _by_parser(served: Served, block: bytes, line: int, wanted: Wanted) -> Iterator[bytes]:
    """Answers to the rows of a table, which its parser reads as those of a file."""
    champion = served.champion
    parser = champion.rows.parser
    assert parser is not None
    while block:
        began = time.perf_counter()
        chunk = parser.lines(block)
        if len(chunk):
            answers, verdicts = answers_to(champion, chunk, wanted)
            for answer in answers:
                answer["version"] = served.version
            yield _encode_lines(answers)
            tell_page(served, [], answers, chunk, verdicts, time.perf_counter() - began)
        facts = chunk.block
        if not facts.faults:
            return
        fault = facts.faults[0]
        end = _end_of_line(block, fault.line)
        column = "" if fault.column is None else f", column {fault.column}"
        yield _encode_lines([{"error": f"{fault.reason}{column}.", "line": line + fault.line}])
        block, line = block[end:], line + fault.line


def _end_of_line(block: bytes, line: int) -> int:
    at = 0
    for _ in range(line):
        at = block.find(b"\n", at) + 1
    return at


def _rows_of(block: bytes, line: int) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, and their numbers."""
    for k, text in enumerate(block.split(b"\n"), line + 1):
        if text.strip():
            yield k, text


def _one_by_one(served: Served, block: bytes, line: int, wanted: Wanted, remember: bool, limits: Limits) -> bytes:
    began = time.perf_counter()
    out: list[dict[str, Any]] = []
    rows: list[Any] = []
    places: list[int] = []
    for number, text in _rows_of(block, line):
        try:
            row = decoded_line(text, _any, limits)
            places.append(len(out))
            rows.append(row)
            out.append({"line": number})
        except Refused as refused:
            out.append({"error": refused.message, "line": number})
    while rows:
        try:
            answers, chunk, verdicts = answers_of(served.lineup, rows, wanted)
        except Refused:
            rows, places = _readable(served, rows, places, out)
            continue
        finish(served, rows, answers, [remember] * len(rows))
        for place, answer in zip(places, answers, strict=True):
            answer["version"] = served.version
            out[place] = answer
        tell_page(served, rows, answers, chunk, verdicts, time.perf_counter() - began)
        break
    return _encode_lines(out)


def _readable(
    served: Served, rows: list[Any], places: list[int], out: list[dict[str, Any]]
) -> tuple[list[Any], list[int]]:
    """The rows that can be read, and their places; what is wrong with the others goes into `out`."""
    good: list[tuple[Any, int]] = []
    refusals = 0
    for row, place in zip(rows, places, strict=True):
        try:
            served.champion.rows.read([row])
            good.append((row, place))
        except Refused as refused:
            out[place]["error"] = refused.message
            refusals += 1
    if not refusals:  # it was not a row that was refused
        raise Refused(422, "The rows cannot be answered with these options.")
    return [row for row, _ in good], [place for _, place in good]


async def _learned(served: Served, request: Request, limits: Limits) -> AsyncIterator[bytes]:
    line = 0
    try:
        async for block in lines(request, limits):
            out = [entry async for entry in _learned_from(served, block, line, limits)]
            if out:
                yield _encode_lines(out)
            line += block.count(b"\n")
    except Refused as refused:
        yield _encode_lines([{"error": refused.message, "line": line + 1}])


async def _learned_from(served: Served, block: bytes, line: int, limits: Limits) -> AsyncIterator[dict[str, Any]]:
    """The outcome of each line of a block; its rows are one record of the log."""
    told: list[dict[str, Any]] = []
    entries: list[tuple[int, Learned]] = []
    seen: set[str] = set()
    for number, text in _rows_of(block, line):
        told.append({"line": number})
        try:
            body = decoded_line(text, _learn, limits)
            if body.rows is not UNSET or body.prediction_ids is not UNSET:
                raise Refused(422, "A line has one row, or one prediction_id, and label.")
            entry = entry_of(served, body, limits)
            if entry.p and entry.p[0] in seen:
                raise Refused(409, f"The prediction {entry.p[0]} has a label already.")
            checked(served, entry, limits)
            seen.update(entry.p or ())
            entries.append((len(told) - 1, entry))
        except Refused as refused:
            told[-1]["error"] = refused.message
    for start in range(0, len(entries), limits.rows):
        await _learn_together(served, entries[start : start + limits.rows], told)
    for one in told:
        yield one if "error" in one else {"version": one["version"]}


async def _learn_together(served: Served, entries: list[tuple[int, Learned]], told: list[dict[str, Any]]) -> None:
    rows = [row for _, entry in entries for row in entry.x]
    labels = [label for _, entry in entries for label in entry.y]
    weights = [weight for _, entry in entries for weight in (entry.w or [1.0])]
    ids = [one for _, entry in entries for one in (entry.p or [])]
    plain = all(weight == 1.0 for weight in weights)
    try:
        reader = served.champion.rows
        read = Read(reader, reader.read(rows))
        outcome = await served.learn(Learned(rows, labels, None if plain else weights, ids or None), read)
    except Refused as refused:
        for place, _ in entries:
            told[place]["error"] = refused.message
        return
    for (place, _), why in zip(entries, outcome.refused, strict=True):
        if why is None:
            told[place]["version"] = outcome.version
        else:
            told[place]["error"] = why
