"""LIBSVM and VW: parsed by the core."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import _core
from ._blocks import Parse
from ._chunk import Chunk, Parsed, keep_rows
from ._errors import KEPT, Fault
from ._labels import LabelReader
from ._options import Options

_ALL_NAMES = 16 << 20  # bytes of a file
_SOME_NAMES = 16

CoreParse = Callable[..., Any]  # of a block: a chunk of the core


def native_parser(format: str, options: Options) -> Parse:
    """What makes rows of a block of one of the two formats."""
    core: CoreParse
    if format == "libsvm":
        core = partial(
            _core.parse_libsvm,
            dtype=options.dtype,
            shift=int(options.zero_based),
            sum_duplicates=options.duplicates == "sum",
            skip_faults=options.skip,
        )
    else:
        core = partial(
            _core.parse_vw,
            dtype=options.dtype,
            bits=options.bits,
            skip_faults=options.skip,
        )
    return partial(_parse, core, LabelReader(), options, format == "vw")


def _parse(core: CoreParse, reader: LabelReader, options: Options, hashed: bool, block: Any, start: int) -> Parsed:
    first = start == 0
    if hashed:
        core = partial(core, collect_names=_every(options, start))
    raw = core(block, first_block=first)
    codes, labels, bad = reader.read(raw.labels, raw.label_names)
    chunk = Chunk(
        values=raw.values,
        indices=raw.indices,
        indptr=raw.indptr,
        labels=(codes, labels),
        n_columns=1 << options.bits if hashed else raw.n_columns,
        weights=raw.weights,
        tags=raw.tags,
        names=raw.names if hashed and options.collect_names else None,
    )
    parsed = Parsed(chunk, raw.n_lines, raw.n_faults, [Fault(*fault) for fault in raw.faults])
    if hashed and options.need_label and (raw.labels < 0).any():  # a row of LIBSVM has one
        bad[-1] = "the row has no label"
    if bad:
        _refuse_labels(parsed, partial(core, first_block=first), block, raw.labels, bad, options)
    if parsed.n_faults and not options.skip:
        parsed.rows_end = line_start(block, parsed.faults[0].line)
    return parsed


def _every(options: Options, start: int) -> int:
    """Of every how many rows the names are counted: counting takes longer than parsing, so of all only at first."""
    if options.collect_names is True:
        return 1 if start < _ALL_NAMES else _SOME_NAMES
    return int(options.collect_names)


def line_start(block: Any, line: int) -> int:
    """Where line number `line` of the block begins."""
    newlines = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return 0 if line <= 1 else int(newlines[line - 2]) + 1


def _refuse_labels(
    parsed: Parsed, core: CoreParse, block: Any, codes: Any, bad: dict[int, str], options: Options
) -> None:
    """Leave out the rows whose labels are none. Rare, so that where they are is found by parsing again."""
    refused = np.isin(codes, list(bad))
    rows = np.flatnonzero(refused)
    if not options.skip:
        rows = rows[:1]
        parsed.chunk, parsed.n_faults, parsed.faults = parsed.chunk.first(int(rows[0])), 0, []
    else:
        parsed.chunk = keep_rows(parsed.chunk, ~refused)
    faults = [_fault(core, block, int(row), bad[int(codes[row])]) for row in rows[:KEPT]]
    parsed.n_faults += len(rows)
    parsed.faults = sorted([*parsed.faults, *faults], key=lambda fault: fault.line)[:KEPT]


def _fault(core: CoreParse, block: Any, row: int, reason: str) -> Fault:
    """The fault of a row that the core could read: its line is the first by the end of which it has been read."""
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
