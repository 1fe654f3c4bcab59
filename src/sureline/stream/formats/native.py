"""LIBSVM and VW: parsed by the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..._native import _core
from ..chunk import BlockFacts, Chunk, keep_rows
from ..errors import KEPT, Fault
from ..labels import LabelReader
from ..options import Options

_ALL_NAMES = 16 << 20  # bytes of a file
_SOME_NAMES = 16

CoreParse = Callable[..., Any]  # of a block: a chunk of the core


class NativeParser:
    """Parser for blocks of LIBSVM or VW."""

    def __init__(self, format: str, options: Options) -> None:
        self._options, self._hashed, self._reader = options, format == "vw", LabelReader(options.max_label)
        self._core: tuple[CoreParse, CoreParse]  # of text, and of a part of a file
        if self._hashed:
            self._core = _core.parse_vw, _core.parse_vw_file
            self._how: dict[str, Any] = {"bits": options.bits, "max_name": options.max_name}
        else:
            self._core = _core.parse_libsvm, _core.parse_libsvm_file
            self._how = {"shift": int(options.zero_based), "sum_duplicates": options.duplicates == "sum"}
        self._how |= {
            "dtype": _core.Scalar[options.dtype],
            "skip_faults": options.skip,
            "max_features": options.max_features,
        }

    def __call__(self, block: Any, start: int) -> Chunk:
        core = partial(self._core[0], **self._how_at(start))
        chunk, raw, bad = self._parsed(core(block))
        if bad:
            chunk = _without_bad_labels(chunk, core, block, raw.labels, bad, self._options)
        facts = chunk.block
        if facts.n_faults and not self._options.skip:
            chunk = replace(chunk, block=replace(facts, rows_end=line_start(block, facts.faults[0].line)))
        return chunk

    def from_file(self, file: int, start: int, end: int, wait: bool) -> Chunk | None:
        """Parse a part of an open file while it is read, without the text in memory.

        None if it cannot be read, or not without waiting while `wait` is false. Also None for a fault to stop at, since
        finding its place needs the text.
        """
        raw = self._core[1](file, start, end, wait, **self._how_at(start))
        if raw is None:
            return None
        chunk, _, bad = self._parsed(raw)
        return None if bad or (chunk.block.n_faults and not self._options.skip) else chunk

    def _how_at(self, start: int) -> dict[str, Any]:
        names = {"collect_names": every(self._options, start)} if self._hashed else {}
        return {**self._how, **names, "first_block": start == 0}

    def _parsed(self, raw: Any) -> tuple[Chunk, Any, dict[int, str]]:
        """Rows, the core's result, and the invalid labels with reasons."""
        options, hashed = self._options, self._hashed
        codes, labels, bad = self._reader.read(raw.labels, raw.label_names)
        chunk = Chunk(
            values=raw.values,
            indices=raw.indices,
            indptr=raw.indptr,
            labels=(codes, labels),
            n_columns=1 << options.bits if hashed else raw.n_columns,
            weights=raw.weights,
            tags=raw.tags,
            names=raw.names if hashed and options.collect_names else None,
            block=BlockFacts(raw.n_lines, raw.n_faults, [Fault(*fault) for fault in raw.faults]),
        )
        if hashed and options.need_label and (raw.labels < 0).any():  # a LIBSVM row always has one
            bad[-1] = "the row has no label"
        return chunk, raw, bad


def every(options: Options, start: int) -> int:
    """Names are counted in one of this many rows: in all only at first, as counting takes longer than parsing."""
    if options.collect_names is True:
        return 1 if start < _ALL_NAMES else _SOME_NAMES
    return int(options.collect_names)


def line_start(block: Any, line: int) -> int:
    """The offset of line number `line` of the block."""
    newlines = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return 0 if line <= 1 else int(newlines[line - 2]) + 1


def _without_bad_labels(
    chunk: Chunk, core: CoreParse, block: Any, codes: Any, bad: dict[int, str], options: Options
) -> Chunk:
    """Leave out rows with invalid labels. They are rare, so a second parse finds them."""
    refused = np.isin(codes, list(bad))
    rows = np.flatnonzero(refused)
    n_faults, faults = chunk.block.n_faults, chunk.block.faults
    if not options.skip:
        rows = rows[:1]
        chunk, n_faults, faults = chunk.first(int(rows[0])), 0, ()
    else:
        chunk = keep_rows(chunk, ~refused)
    found = [_fault(core, block, int(row), bad[int(codes[row])]) for row in rows[:KEPT]]
    in_order = sorted([*faults, *found], key=lambda fault: fault.line)[:KEPT]
    return replace(chunk, block=replace(chunk.block, n_faults=n_faults + len(rows), faults=in_order))


def _fault(core: CoreParse, block: Any, row: int, reason: str) -> Fault:
    """The fault of a row that the core could read. Its line is the first one by whose end the row is complete."""
    text = bytes(block)
    ends = [*(np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1).tolist(), len(text)]
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if core(text[: ends[middle]]).n_rows > row:
            high = middle
        else:
            low = middle + 1
    line = text[ends[low - 1] if low else 0 : ends[low]].removeprefix(b"\xef\xbb\xbf")
    return Fault(low + 1, len(line) - len(line.lstrip(b" \t")) + 1, reason)
