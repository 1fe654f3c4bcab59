"""Predictions of rows before anybody learns from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..._inputs import Floats
from ..._native import _core
from ...models.scaling import Normalizer
from ...stream import Chunk


@dataclass(frozen=True)
class Sample:
    """Rows of a block that are predicted."""

    chunk: Chunk
    labels: npt.NDArray[np.int32]
    weights: Floats

    def rows_for(self, normalizer: Normalizer, width: int) -> tuple[_core.Rows, Floats | None]:
        """Rows for models with that many columns, and the sum of squares of each row in other columns."""
        chunk = self.chunk
        values = normalizer.apply_values(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns)
        indices, indptr = chunk.indices, chunk.indptr
        beyond: Floats | None = None
        if chunk.n_columns > width:
            here = indices < width
            row_of = np.repeat(np.arange(chunk.n_rows), np.diff(indptr))
            squares = values[~here].astype(np.float64) ** 2
            beyond = np.bincount(row_of[~here], weights=squares, minlength=chunk.n_rows).astype(np.float64)
            counts = np.bincount(row_of[here], minlength=chunk.n_rows)
            indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
            values, indices = values[here], indices[here]
        return _core.Rows.csr(values, indices, indptr, chunk.n_rows, width), beyond


@dataclass(frozen=True)
class Block:
    """Predictions of rows by the members that are left, before anybody learned from them."""

    start: int  # of the rows of the stream
    labels: npt.NDArray[np.int32]
    weights: Floats
    scores: npt.NDArray[np.float32]  # (rows, members, heads)
    variances: npt.NDArray[np.float32]  # the same; 0 of a member that a committee cannot go on with

    def of(self, members: list[int]) -> Block:
        return replace(self, scores=self.scores[:, members], variances=self.variances[:, members])
