"""Rows on a common measure before anything is learned from them: the parameter `normalize`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .._inputs import Array, Floats, Ints, is_sparse
from .._native import _core
from .rows import as_rows, refusals, with_values

DEFAULT = "scale"  # of every learner


class Normalizer:
    """The divisor of a learner's rows: nothing, their length, or the scale of each feature so far.

    The scale of a feature is the mean of its sizes in the rows in which it is not zero; core/scaling/scales.hpp has the
    recursion. Scales depend on the rows alone, so learners of the same rows and dtype can share divided rows.
    """

    def __init__(self, kind: str, dtype: npt.DTypeLike = np.float64) -> None:
        self.kind = kind
        self.dtype = np.dtype(dtype)  # of the scales
        self.core = None if kind == "none" else _core.Scales(_core.Scaling[kind], _core.Scalar[self.dtype.name])

    # -- rows ------------------------------------------------------------------------------------------------

    def learn(self, X: Any, weight: Array | None = None, *, undoable: bool = False) -> Any:
        """The rows of X, each counted and then divided.

        X is an array or CSR, and is not changed. Rows of weight 0 are ignored. With `undoable` the call can be undone,
        and a refused row leaves no trace; otherwise a refusal makes the normalizer unusable.
        """
        return self._divided(X, absorb=True, weight=weight, undoable=undoable)

    def learn_all(self, X: Any, weight: Array | None = None) -> Any:
        """The rows of X, divided after all of them were counted, as for a batch."""
        if self.kind == "scale":
            self._pass(as_rows(X, X.dtype), None, absorb=True, weight=weight)
        return self.apply(X)

    def apply(self, X: Any) -> Any:
        """The rows of X divided, for predicting: nothing is taken in. A feature that was never seen has size 1."""
        return self._divided(X, absorb=False)

    def learn_values(
        self, values: Array, indices: Array, indptr: Array, n_columns: int, weight: Array | None = None
    ) -> Array:
        """Like `learn`, for the values of rows in compressed form."""
        return self._divided_values(values, indices, indptr, n_columns, absorb=True, weight=weight)

    def apply_values(self, values: Array, indices: Array, indptr: Array, n_columns: int) -> Array:
        """Like `apply`, for the values of rows in compressed form."""
        return self._divided_values(values, indices, indptr, n_columns, absorb=False)

    def to_learn(self, rows: _core.Rows, *, undoable: bool = False) -> _core.Rows:
        """Rows for `State.learn`, which counts and divides each before it learns from it.

        Rows of weight 0 are ignored. With `undoable` the call can be undone if each row is learned from once, and a
        refused row leaves no trace.
        """
        if self.core is not None:
            self.core.attach(rows, undoable)
        return rows

    def undo(self) -> None:
        """Undo changes since the latest undoable call that was not committed."""
        if self.core is not None:
            self.core.undo()

    def commit(self) -> None:
        if self.core is not None:
            self.core.commit()

    # -- what it knows ---------------------------------------------------------------------------------------

    def sizes(self, columns: Ints) -> Floats:
        """The divisors of these columns; 1 for unseen columns, and without scales."""
        if self.core is None or self.kind != "scale":
            return np.ones(len(columns))
        return np.asarray(self.core.means_of(np.ascontiguousarray(columns, np.int64)))

    def per_unit(self, numbers: Array, columns: Ints | None = None, power: int = 1) -> Array:
        """Numbers of features as they are before they are divided: weights, or with `power` 2 their variances.

        The last axis has all columns, or those that are given.
        """
        if self.kind != "scale":
            return numbers
        if columns is None:
            columns = np.arange(numbers.shape[-1])
        with np.errstate(over="ignore"):
            return (numbers / self.sizes(columns) ** power).astype(numbers.dtype, copy=False)

    def per_pair(self, S: Array, columns: Ints | None = None) -> Array:
        """The same for covariances, whose last two axes are columns."""
        return np.swapaxes(self.per_unit(np.swapaxes(self.per_unit(S, columns), -1, -2), columns), -1, -2)

    def arrays(self) -> tuple[Ints, Array, Ints]:
        """Seen features: columns, ascending, mean sizes in `dtype`, and numbers of rows."""
        assert self.core is not None
        return self.core.arrays()

    @classmethod
    def restored(cls, dtype: npt.DTypeLike, columns: Array, means: Array, counts: Array) -> Self:
        """A normalizer by scales from the output of `arrays`. ValueError if it is inconsistent."""
        normalizer = cls("scale", dtype)
        columns, means, counts = columns.astype(np.int64), means.astype(np.float64), counts.astype(np.int64)
        normalizer.core = _core.Scales.restored(_core.Scalar[normalizer.dtype.name], columns, means, counts)
        return normalizer

    def only(self, kept: Ints) -> Normalizer:
        """A copy that has only these columns."""
        if self.kind != "scale":
            return self
        columns, means, counts = self.arrays()
        here = np.isin(columns, kept)
        return Normalizer.restored(self.dtype, columns[here], means[here], counts[here])

    def copy(self) -> Normalizer:
        twin = Normalizer(self.kind, self.dtype)
        if self.core is not None:
            twin.core = self.core.copy()
        return twin

    def __deepcopy__(self, memo: Any) -> Normalizer:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {"kind": self.kind, "dtype": self.dtype, "arrays": self.arrays() if self.kind == "scale" else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["kind"], state["dtype"])  # type: ignore[misc]
        if state["arrays"] is not None:
            self.core = self.restored(self.dtype, *state["arrays"]).core

    # -- pieces ----------------------------------------------------------------------------------------------

    def _divided(self, X: Any, *, absorb: bool, weight: Array | None = None, undoable: bool = False) -> Any:
        if self.core is None:
            return X
        values = _room_for(X)
        self._pass(as_rows(X, X.dtype), values, absorb=absorb, weight=weight, undoable=undoable)
        return with_values(X, values)

    def _divided_values(
        self,
        values: Array,
        indices: Array,
        indptr: Array,
        n_columns: int,
        *,
        absorb: bool,
        weight: Array | None = None,
    ) -> Array:
        if self.core is None:
            return values
        out = np.empty_like(values)
        self._pass(
            _core.Rows.csr(values, indices, indptr, len(indptr) - 1, n_columns), out, absorb=absorb, weight=weight
        )
        return out

    def _pass(
        self,
        rows: _core.Rows,
        out: Array | None,
        *,
        absorb: bool,
        weight: Array | None = None,
        undoable: bool = False,
    ) -> None:
        """Run a pass; raises an error for a refused row."""
        assert self.core is not None
        with refusals(rows, self.dtype):
            self.core.normalize(rows, out, absorb, sample_weight=weight, undoable=undoable)


def _room_for(X: Any) -> Array:
    """An array for as many values as X has, in C order."""
    return np.empty(X.data.shape if is_sparse(X) else X.shape, X.dtype)
