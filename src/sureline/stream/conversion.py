"""Parse once, learn many times: a stream as an Arrow IPC file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._atomic import replacing
from .._inputs import Array
from .._native import _core
from .chunk import Chunk, joined
from .formats.arrow_metadata import METADATA, NAMES, pack_names, pyarrow
from .labels import to_text
from .options import BINARY, PIECE
from .source import PATH
from .stream import Stream

_ROWS = 1 << 16  # of a batch


def convert(stream: Stream, path: PATH, dtype: str | None = None) -> int:
    """Write the rows of a stream to an Arrow IPC file, which is read again without parsing or copying.

    The file has the list columns `indices` (int32) and `values`, `label`, and `weight` and `tag` where the stream's
    format can have them. Labels are text. A text that looks like a number becomes that number again on reading, so a
    stream that mixes numbers and text needs no second pass. The schema's metadata describe the source under the key
    "sureline". The names that a stream collects come with the last batch.

    Parameters
    ----------
    stream : Stream
        What to write.
    path : str or Path
        Where to. It is replaced only when all is written and on the disk; until then the rows go to a file beside it.
    dtype : {"float32", "float64"} or None, default=None
        Of the values; None for that of the stream. Numbers are rounded once, from what the text says.

    Returns
    -------
    int
        How many rows were written.
    """
    pa = pyarrow()
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file, and cannot be replaced by one.")
    if any(os.path.exists(source) and target.exists() and os.path.samefile(source, target) for source in stream.paths):
        raise ValueError(f"{path} is among the files that are read, and cannot be written as well.")
    if dtype is not None:
        stream = stream.with_options(dtype=dtype)
    schema = _schema(pa, stream)
    n_rows = 0
    names = _core.NameTable() if stream.options.collect_names else None
    with replacing(target) as file, pa.ipc.new_file(pa.PythonFile(file, mode="w"), schema) as writer:
        waiting = None  # is written once it is known whether another one follows
        for chunk in _batches(stream):
            if waiting is not None:
                writer.write_batch(waiting)
            waiting = _batch(pa, chunk, schema)
            n_rows += len(chunk)
            if names is not None and chunk.names is not None:
                names.merge(chunk.names)
        if waiting is not None:
            writer.write_batch(waiting, None if names is None else {NAMES: pack_names(names)})
    return n_rows


def _schema(pa: Any, stream: Stream) -> Any:
    options = stream.options
    kind = pa.float32() if options.dtype == "float32" else pa.float64()
    columns = [("indices", pa.list_(pa.int32())), ("values", pa.list_(kind)), ("label", pa.string())]
    if stream.format == "vw" or stream.format in BINARY or options.weight is not None:
        columns.append(("weight", pa.float64()))
    schema = stream.schema
    if stream.format == "vw" or stream.format in BINARY or (schema is not None and schema.ids):
        columns.append(("tag", pa.binary()))
    about = {
        "version": 1,
        "format": stream.format,
        "dtype": options.dtype,
        "n_columns": stream.hashed_width() or None,  # where names were hashed
        "shift": int(options.zero_based),
    }
    origin = stream.model_options  # for a converted file, the options of the original
    if "schema" in origin:
        about |= {"format": origin["format"], "schema": origin["schema"]}
    if words := {name: origin[name] for name in ("ngrams", "chars", "keep_case") if name in origin}:
        about["words"] = words
    return pa.schema(columns, metadata={METADATA: json.dumps(about)})


def _batches(stream: Stream) -> Iterator[Chunk]:
    """Chunks put together to ones of a good size for reading."""
    gathered: list[Chunk] = []
    rows = entries = 0
    for chunk in stream:
        if gathered and (rows + len(chunk) > _ROWS or entries + len(chunk.indices) > PIECE):
            yield joined(gathered)
            gathered, rows, entries = [], 0, 0
        gathered.append(chunk)
        rows += len(chunk)
        entries += len(chunk.indices)
    if gathered:
        yield joined(gathered)


def _batch(pa: Any, chunk: Chunk, schema: Any) -> Any:
    n = len(chunk)
    codes, labels = chunk.labels
    kind = schema.field("values").type.value_type
    starts = _numbers(pa, pa.int32(), chunk.indptr)
    names = _texts(pa, pa.string(), [to_text(label).encode() for label in labels])
    columns = {
        "indices": pa.ListArray.from_arrays(starts, _numbers(pa, pa.int32(), chunk.indices)),
        "values": pa.ListArray.from_arrays(starts, _numbers(pa, kind, chunk.values)),
        "label": names.take(_numbers(pa, pa.int32(), codes, codes >= 0)),
        "weight": _numbers(pa, pa.float64(), np.ones(n) if chunk.weights is None else chunk.weights),
        "tag": _texts(pa, pa.binary(), [b""] * n if chunk.tags is None else chunk.tags),
    }
    return pa.record_batch([columns[name] for name in schema.names], schema=schema)


def _numbers(pa: Any, kind: Any, array: Array, valid: Array | None = None) -> Any:
    """The array without a copy. (pa.array would import pandas, if it is there.)"""
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(array), [bitmap, pa.py_buffer(np.ascontiguousarray(array))])


def _texts(pa: Any, kind: Any, texts: list[bytes]) -> Any:
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    if ends[-1] >= 2**31:
        raise ValueError("The labels or tags of a batch have 2^31 bytes or more.")
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(kind, len(texts), buffers)
