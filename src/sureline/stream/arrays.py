"""Rows in memory: labelled batches, and a matrix as a stream."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Array, checked_sample_weight, exact_labels, refuse_unfit, rows_between
from . import Chunk, Faults, Label, Position, Stream
from .options import Options

_ENTRIES = 1 << 18  # of a chunk, so that it stays in cache


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows (an array, a data frame or CSR), their labels, and their weights unless all are 1."""

    X: Any
    y: Array
    weight: npt.NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.y)

    def part(self, start: int, stop: int) -> Batch:
        """The rows from start to stop, without copying."""
        if start == 0 and stop == len(self):
            return self
        weight = None if self.weight is None else self.weight[start:stop]
        return Batch(rows_between(self.X, start, stop), self.y[start:stop], weight)


def pair_or_triple(batch: Any, where: str) -> tuple[Any, Any, Any]:
    """X, y and sample_weight (or None) of a batch from a caller."""
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise ValueError(
            "Each batch must be a pair (X, y) or a triple (X, y, sample_weight). "
            f"Got a {type(batch).__name__} for {where} instead."
        )
    X, y, sample_weight = (*batch, None)[:3]
    return X, y, sample_weight


class ArrayStream(Stream):
    """The rows of a matrix, in chunks."""

    def __init__(
        self,
        X: Any,
        codes: npt.NDArray[np.int32],
        labels: list[Label],
        weight: Array | None,
        dtype: str,
        column_names: Array | None = None,
    ) -> None:
        self.X, self.codes, self.names_of_codes, self.weight = X, codes, labels, weight
        self.column_names = column_names
        self.paths = ["(rows in memory)"]
        self.format = "arrays"
        self.options = Options(dtype=dtype)
        self._done = 0

    def __repr__(self) -> str:
        return f"<ArrayStream of {self.X.shape[0]} rows>"

    @property
    def duplicates(self) -> str:
        return "error"

    @property
    def size(self) -> int | None:
        return int(self.X.shape[0])

    @property
    def progress(self) -> float | None:
        return self._done / self.X.shape[0] if self.X.shape[0] else 1.0

    @property
    def model_options(self) -> dict[str, Any]:
        return {}

    @property
    def faults(self) -> Faults:
        return Faults()

    def read_from(self, position: Position) -> Generator[Chunk, None, None]:
        X, n_rows = self.X, self.X.shape[0]
        start = position.rows
        while start < n_rows:
            goal = int(X.indptr[start]) + _ENTRIES
            stop = max(int(np.searchsorted(X.indptr, goal, side="right")) - 1, start + 1)
            stop = min(stop, n_rows, start + (1 << 16))
            part = X[start:stop]
            self._done = stop
            yield Chunk(
                values=part.data.astype(self.options.dtype, copy=False),
                indices=part.indices.astype(np.int32, copy=False),
                indptr=part.indptr.astype(np.int32, copy=False),
                labels=(self.codes[start:stop], self.names_of_codes),
                n_columns=int(X.shape[1]),
                weights=None if self.weight is None else self.weight[start:stop],
                end=replace(position, rows=stop),
            )
            start = stop

    def permuted(self, order: npt.NDArray[np.int64]) -> ArrayStream:
        """The same rows in this order."""
        weight = None if self.weight is None else self.weight[order]
        return ArrayStream(
            self.X[order], self.codes[order], self.names_of_codes, weight, self.options.dtype, self.column_names
        )

    def with_options(self, **changes: Any) -> Stream:
        dtype = changes.get("dtype", self.options.dtype)
        return ArrayStream(self.X, self.codes, self.names_of_codes, self.weight, dtype, self.column_names)


def rows_of(
    given: tuple[Any, ...], dtype: str, labels: Sequence[Label] | None
) -> tuple[ArrayStream, Sequence[Label] | None]:
    """(X, y) or (X, y, sample_weight) as a stream, checked, and all its labels: sorted, if they are not given."""
    from scipy.sparse import csr_matrix

    if len(given) not in (2, 3):
        raise ValueError(
            f"Rows in memory must come as (X, y) or (X, y, sample_weight). Got {len(given)} things instead."
        )
    refuse_unfit(given[0])
    X, y, names = given[0], exact_labels(given[1]), None
    if not _is_plain(X, y):
        from sklearn.base import BaseEstimator
        from sklearn.utils import check_X_y
        from sklearn.utils.validation import validate_data

        columns = BaseEstimator()
        validate_data(columns, X, skip_check_array=True)  # finds the names that a DataFrame has
        names = getattr(columns, "feature_names_in_", None)
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=False)
    X = csr_matrix(X)
    X.sum_duplicates()
    found, codes = np.unique(y, return_inverse=True)
    weight = checked_sample_weight(given[2], X.shape[0]) if len(given) == 3 else None
    if labels is None and len(found) > 1:
        labels = found.tolist()
    return ArrayStream(X, codes.astype(np.int32).reshape(-1), found.tolist(), weight, dtype, names), labels


def _is_plain(X: Any, y: Any) -> bool:
    """True of rows and labels that scikit-learn's checks give back as they are.

    They need no import of it, which takes a worker that has just started seconds.
    """
    if type(X) is not np.ndarray and getattr(X, "format", None) != "csr":
        return False
    values = X if isinstance(X, np.ndarray) else X.data
    return (
        X.ndim == 2
        and 0 not in X.shape
        and X.dtype in (np.float32, np.float64)
        and bool(np.isfinite(values).all())
        and type(y) is np.ndarray
        and y.shape == X.shape[:1]
        and (y.dtype.kind in "biuU" or (y.dtype.kind == "f" and bool(np.isfinite(y).all())))
    )
