"""Data frames as sources of a stream: pandas, Polars, pyarrow tables, and other Arrow producers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..source import RawFile, Reader, Source

_ROWS = 1 << 14  # of a piece


def is_frame(data: Any) -> bool:
    """True for a data frame, a lazy frame, or a table."""
    return hasattr(data, "__arrow_c_stream__") or is_lazy(data) or _is_pandas(data)


def is_lazy(data: Any) -> bool:
    """True for a lazy frame of Polars."""
    return hasattr(data, "collect_schema") and hasattr(data, "collect")


def _is_pandas(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "iloc") and hasattr(data, "dtypes")


def arrow_table(data: Any) -> Any:
    """A frame as a pyarrow table; columns of mixed types become text."""
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if not _is_pandas(data):
        try:
            return pa.table(data)
        except (pa.ArrowException, ValueError) as error:  # a series, or a type that pyarrow has not
            kind = type(data).__name__
            raise TypeError(f"A {kind} must be a table with columns that pyarrow can hold. {error}.") from None
    names = [str(name) for name in data.columns]
    return pa.table([_pandas_column(data.iloc[:, k]) for k in range(len(names))], names=names)


def _pandas_column(column: Any) -> Any:
    import pyarrow as pa

    if str(column.dtype).startswith("Sparse"):
        column = column.sparse.to_dense()
    if str(column.dtype).startswith("period"):
        column = column.dt.to_timestamp()
    elif str(column.dtype) == "category" and str(column.cat.categories.dtype).startswith("interval"):
        column = column.astype(str).where(column.notna(), None)
    try:
        return pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([None if value is None or value != value else str(value) for value in column], pa.string())


class _Nothing(RawFile):
    """Stands in for the bytes of a file."""

    def __init__(self, name: str) -> None:
        super().__init__(name, fd=-1, regular=True, keep_open=True)

    def _fetch(self, n: int) -> bytes:
        return b""


class FrameSource(Source):
    """A data frame. It can be read any number of times, and cut into pieces of some thousand rows.

    A lazy frame is collected again for each pass, in batches if Polars supports it, and is not cut.
    """

    def __init__(self, data: Any) -> None:
        self.path = f"({type(data).__name__})"
        self.status = None
        self.in_memory = True
        self._lazy = data if is_lazy(data) else None
        self._table = None if self._lazy is not None else arrow_table(data)
        self.regular = self._lazy is None
        self.size = None if self._table is None else max(1, self._table.nbytes)

    def __getstate__(self) -> dict[str, Any]:
        if self._lazy is not None:
            raise TypeError("A lazy frame can be read only here.")
        return self.__dict__

    @property
    def schema(self) -> Any:
        if self._table is not None:
            return self._table.schema
        assert self._lazy is not None
        return arrow_table(self._lazy.head(0).collect()).schema

    @property
    def n_rows(self) -> int | None:
        return None if self._table is None else self._table.num_rows

    @property
    def n_pieces(self) -> int | None:
        return None if self.n_rows is None else max(1, -(-self.n_rows // _ROWS))

    def pieces(self, first: int, end: int | None) -> Iterator[tuple[int, int, Any]]:
        """First row, share of the size, and batch."""
        if self._table is None:
            yield from self._collected()
            return
        n_rows, size = self._table.num_rows, self.size or 0
        stop = n_rows if end is None else min(end * _ROWS, n_rows)
        for row in range(first * _ROWS, stop, _ROWS):
            piece = self._table.slice(row, min(_ROWS, stop - row)).combine_chunks()
            at = min(n_rows, row + _ROWS)
            for batch in piece.to_batches():
                yield row, size * at // n_rows, batch

    def _collected(self) -> Iterator[tuple[int, int, Any]]:
        assert self._lazy is not None
        frames = self._lazy.collect_batches() if hasattr(self._lazy, "collect_batches") else [self._lazy.collect()]
        row = 0
        for frame in frames:
            for batch in arrow_table(frame).combine_chunks().to_batches(max_chunksize=_ROWS):
                yield row, 0, batch
                row += batch.num_rows

    def open(self) -> Reader:
        return Reader(_Nothing(self.path))

    def peek(self, n: int, enough: Callable[[bytes], object]) -> bytes:
        return b""
