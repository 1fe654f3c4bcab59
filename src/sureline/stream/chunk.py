"""Some rows of a stream, in compressed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Array
from .._native import _core
from .errors import Fault
from .labels import Codes, Label, as_array
from .memory import MemoryLimit
from .position import Position


@dataclass(frozen=True)
class BlockFacts:
    """Lines of a block of a file, and its unreadable lines.

    `rows_end` is the position in the block of the fault that stopped reading, if any. `before` is the checksum of the
    text up to there, or up to the block's end (see Position). `lines` has the first line of each row, if rows are not
    lines.
    """

    n_lines: int = 0
    n_faults: int = 0
    faults: Sequence[Fault] = ()
    rows_end: int | None = None
    before: int | None = None
    lines: Sequence[int] = ()


@dataclass(frozen=True)
class Kept:
    """Cells of a column, one per row, as in the file; `type` is the Arrow type, if the file has one."""

    cells: Sequence[Any]
    type: Any = None


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows of a stream, labels and weights.

    Unpacks as X and y: ``for X, y in stream.read("a.svm"): clf.partial_fit(X, y, classes=[-1, 1])``.

    Attributes
    ----------
    values, indices, indptr : arrays
        The rows in compressed form, with columns ascending in each row and none twice. indices are int32.
    labels : tuple
        An array of int32 codes, one a row and -1 where there is no label, and the list of the labels they stand for.
    weights : array of float64 or None
        Of the rows; None if all are 1.
    tags : list of bytes or None
        Of the rows; None if none has one.
    n_columns : int
        The largest column and one, or 2**bits where names are hashed to columns.
    kept : dict of str to Kept
        The cells of the columns that `keep` names. In JSON lines, those that no row here has are left out.
    names : object or None
        The names behind the columns, if they were asked for.
    end : Position
        Where the next row begins.
    block : BlockFacts
        Of the block that the rows were parsed from, on their way out of the parser.
    memory : MemoryLimit or None
        Of the pass that the rows come from.
    """

    values: Array
    indices: Array
    indptr: Array
    labels: tuple[Codes, list[Label]]
    n_columns: int
    weights: npt.NDArray[np.float64] | None = None
    tags: list[bytes] | None = None
    kept: dict[str, Kept] = field(default_factory=dict, repr=False)
    names: Any = None
    end: Position = field(default_factory=Position)
    block: BlockFacts = field(default=BlockFacts(), repr=False)
    memory: MemoryLimit | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        return len(self.labels[0])

    def __len__(self) -> int:
        return self.n_rows

    @property
    def nbytes(self) -> int:
        """About how much memory the rows take."""
        arrays = (self.values, self.indices, self.indptr, self.labels[0], self.weights)
        tags = 0 if self.tags is None else sum(map(len, self.tags)) + 50 * len(self.tags)
        return sum(0 if array is None else array.nbytes for array in arrays) + 300 * len(self.labels[1]) + tags

    def rows(self, n_columns: int | None = None) -> _core.Rows:
        """The rows for the core's loops, without copying; `n_columns` sets another width.

        Rows of the chunk's own width are made once; learners on several threads may then share them.
        """
        return self._rows if n_columns is None or n_columns == self.n_columns else self.fresh_rows(n_columns)

    def ending_after(self, checksum: int) -> Chunk:
        """The same rows, with the checksum of the text up to their end."""
        return replace(self, block=replace(self.block, before=checksum))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_rows"}

    @cached_property
    def _rows(self) -> _core.Rows:
        return self.fresh_rows()

    def fresh_rows(self, n_columns: int | None = None) -> _core.Rows:
        """Like `rows`, but a new object, for a learner that divides them by its own scales."""
        width = self.n_columns if n_columns is None else n_columns
        return _core.Rows.csr(self.values, self.indices, self.indptr, self.n_rows, width)

    @property
    def X(self) -> Any:
        """The rows as a SciPy CSR matrix, without copying."""
        from scipy import sparse

        return sparse.csr_matrix((self.values, self.indices, self.indptr), shape=(self.n_rows, self.n_columns))

    @property
    def y(self) -> Array:
        """The labels, one per row: integers, floats or text if all are, otherwise objects."""
        return as_array(*self.labels)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def first(self, n: int) -> Chunk:
        """The first n rows, without copying. `end` stays that of the whole chunk, and so do `names`."""
        return self.part(0, n)

    def part(self, start: int, stop: int) -> Chunk:
        """The rows from start to stop. `end` stays that of the whole chunk, and so do `names`."""
        stop = min(stop, self.n_rows)
        indptr = self.indptr[start : stop + 1]
        entries = slice(indptr[0], indptr[-1])
        return replace(
            self,
            values=self.values[entries],
            indices=self.indices[entries],
            indptr=indptr - indptr[0] if start else indptr,
            labels=(self.labels[0][start:stop], self.labels[1]),
            weights=None if self.weights is None else self.weights[start:stop],
            tags=None if self.tags is None else self.tags[start:stop],
            kept={name: replace(kept, cells=kept.cells[start:stop]) for name, kept in self.kept.items()},
        )


def keep_rows(chunk: Chunk, keep: npt.NDArray[np.bool_]) -> Chunk:
    """The rows where `keep` is true."""
    if keep.all():
        return chunk
    lengths = np.diff(chunk.indptr)
    entries = np.repeat(keep, lengths)
    indptr = np.zeros(int(keep.sum()) + 1, chunk.indptr.dtype)
    np.cumsum(lengths[keep], out=indptr[1:])
    return replace(
        chunk,
        values=chunk.values[entries],
        indices=chunk.indices[entries],
        indptr=indptr,
        labels=(chunk.labels[0][keep], chunk.labels[1]),
        weights=None if chunk.weights is None else chunk.weights[keep],
        tags=None if chunk.tags is None else list(compress(chunk.tags, keep)),
        kept={name: replace(kept, cells=list(compress(kept.cells, keep))) for name, kept in chunk.kept.items()},
    )


def merged_names(names: _core.NameTable | None, chunk: Chunk) -> _core.NameTable | None:
    """The table with the names of a chunk added, a new one if there was none; None if there are no names yet."""
    if chunk.names is not None:
        names = _core.NameTable() if names is None else names
        names.merge(chunk.names)
    return names


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """The rows and the names of several chunks as one chunk."""
    if len(chunks) == 1:
        return chunks[0]
    labels: dict[Label, int] = {}
    codes = []
    for chunk in chunks:
        table = np.array([labels.setdefault(label, len(labels)) for label in chunk.labels[1]] + [-1], np.int32)
        codes.append(table[chunk.labels[0]])
    starts = np.cumsum([0] + [chunk.indptr[-1] for chunk in chunks], dtype=np.int64)
    if starts[-1] >= 2**31:
        raise ValueError(f"{starts[-1]} entries are too many for one chunk.")
    indptr = [chunk.indptr[:-1] + start for chunk, start in zip(chunks, starts[:-1], strict=True)]
    weights = tags = None
    if any(chunk.weights is not None for chunk in chunks):
        weights = np.concatenate([np.ones(len(c)) if c.weights is None else c.weights for c in chunks])
    if any(chunk.tags is not None for chunk in chunks):
        tags = [tag for c in chunks for tag in (c.tags if c.tags is not None else [b""] * len(c))]
    kept: dict[str, Kept] = {}
    for name in dict.fromkeys(name for chunk in chunks for name in chunk.kept):
        columns = [chunk.kept.get(name, Kept([None] * len(chunk))) for chunk in chunks]
        type = next((column.type for column in columns if column.type is not None), None)
        kept[name] = Kept([cell for column in columns for cell in column.cells], type)
    names: _core.NameTable | None = None
    for chunk in chunks:
        names = merged_names(names, chunk)
    return Chunk(
        values=np.concatenate([chunk.values for chunk in chunks]),
        indices=np.concatenate([chunk.indices for chunk in chunks]),
        indptr=np.concatenate([*indptr, starts[-1:]]).astype(np.int32),
        labels=(np.concatenate(codes), list(labels)),
        n_columns=max(chunk.n_columns for chunk in chunks),
        weights=weights,
        tags=tags,
        kept=kept,
        names=names,
        end=chunks[-1].end,
        memory=chunks[-1].memory,
    )
