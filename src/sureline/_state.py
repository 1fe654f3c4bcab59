"""The numbers a model consists of, as NumPy arrays, and the few operations on them that are not a learning step."""

from __future__ import annotations

import copy
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from . import _core
from ._rows import Array, UnsortedColumns

Shape = Literal["identity", "diagonal", "theta", "full"]
Policy = Literal["binary", "rival", "ovr"]

# The columns of `State.memory`, in the order of struct Memory in core/rules.hpp.
WEIGHT_SCALE, COVARIANCE_SCALE, NORM2, DOUBT, K, C, BOUND, RESOLUTION = range(_core.MEMORY_COLUMNS)


def _bits_of_one(dtype: np.dtype[Any]) -> Any:
    return np.ones(1, dtype).view(f"u{dtype.itemsize}")[0]


def _diagonal_positions(n_slots: int) -> npt.NDArray[np.int64]:
    """Where D is in a packed factor."""
    j = np.arange(n_slots)
    return j * (j + 3) // 2


class State:
    """Weights, covariance and memory of a linear model.

    ``weights[slot, head]`` holds one number per weight (shapes "identity" and "full") or the pair of weight and
    variance ("diagonal"; for "theta" of theta and variance). Slot 0 is the intercept and slot j + 1 is column j;
    there is one head, or one for each class. Variances are stored with the bits of 1 flipped, so that zeros are a
    fresh model and memory that no feature touched costs nothing. ``factors[head]`` is the full covariance as U D
    U', packed by columns (see core/full.hpp). All weights and variances are to be multiplied by the scales in
    ``memory``, which has one row for each binary problem: one per head for policy "ovr", otherwise a single one.
    """

    def __init__(
        self,
        shape: Shape,
        dtype: npt.DTypeLike,
        n_columns: int,
        intercept: bool,
        n_classes: int = 2,
        policy: Policy = "rival",
        *,
        covariance_scale: float = 1.0,
        c: float = 0.0,
    ) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.intercept = intercept
        self.n_columns = n_columns
        self.policy: Policy = policy if n_classes > 2 else "binary"
        n_heads = n_classes if n_classes > 2 else 1
        self.weights = self._fresh_weights(n_columns + 1, n_heads)
        self.factors = np.tile(self._fresh_factor(n_columns + 1), (n_heads, 1)) if shape == "full" else None
        self._fresh_memory = np.zeros(_core.MEMORY_COLUMNS)
        self._fresh_memory[[WEIGHT_SCALE, COVARIANCE_SCALE, DOUBT, K, C]] = 1.0, covariance_scale, 1.0, 1.0, c
        if shape == "theta":  # the stored numbers are theta and S without its scale; the weights are S theta
            self._fresh_memory[WEIGHT_SCALE] = covariance_scale
        self._fresh_memory[RESOLUTION] = 64 * np.finfo(self.dtype).eps
        self.memory = np.tile(self._fresh_memory, (n_heads if self.policy == "ovr" else 1, 1))
        self.prior = np.ones(n_heads)  # the variance that a new column starts with in each head, without the scale
        self.counters = np.zeros(3, np.int64)  # rows seen, mistakes, updates

    @property
    def n_heads(self) -> int:
        return cast(int, self.weights.shape[1])

    @property
    def nbytes(self) -> int:
        return self.weights.nbytes + (0 if self.factors is None else self.factors.nbytes)

    def copy(self) -> State:
        twin = copy.copy(self)
        twin.weights = self.weights.copy()
        twin.factors = None if self.factors is None else self.factors.copy()
        twin.memory = self.memory.copy()
        twin.counters = self.counters.copy()
        return twin

    @property
    def writeable(self) -> bool:
        """False if some array is, say, mapped from a file."""
        arrays = [self.weights, self.memory, self.counters] + ([] if self.factors is None else [self.factors])
        return all(array.flags.writeable for array in arrays)

    # -- growing ---------------------------------------------------------------------------------------------

    def widen(self, n_columns: int) -> None:
        """Make room for `n_columns` columns. New ones start as every column started."""
        if n_columns <= self.n_columns:
            return
        slots = n_columns + 1
        if slots > len(self.weights):
            # A full covariance has exactly its columns; otherwise widening bit by bit must not copy every time.
            capacity = slots if self.shape == "full" else max(slots, len(self.weights) + len(self.weights) // 2)
            wider = self._fresh_weights(capacity, self.n_heads)
            wider[: len(self.weights)] = self.weights
            if self.shape in ("diagonal", "theta") and (self.prior != 1).any():
                wider[len(self.weights) :, :, 1] = self._flip_one(self.prior.astype(self.dtype))
            self.weights = wider
        if self.factors is not None:
            factors = np.tile(self._fresh_factor(slots), (self.n_heads, 1))
            factors[:, _diagonal_positions(slots)] = self.prior[:, np.newaxis]
            factors[:, : self.factors.shape[1]] = self.factors
            self.factors = factors
        self.n_columns = n_columns

    def add_heads(self, n_classes: int, policy: Policy) -> None:
        """Go on with one head for each of `n_classes` classes; `policy` is for a model that was binary so far.

        A binary model becomes the model of two classes that decides the same: under policy "ovr" each class has the
        old weights with its own sign; under "rival" each has half of them, and half the covariance, so that the
        difference of the two scores has the mean and the variance that the one score had.
        """
        if self.policy == "binary":
            share = 0.5 if policy == "rival" else 1.0
            state = self.weights
            if self.shape in ("identity", "full"):
                both = np.concatenate([-share * state, share * state], axis=1) + 0.0  # no -0
            else:
                both = np.concatenate([state, state], axis=1)
                both[:, 0, 0] = 0.0 - both[:, 0, 0]
                if self.shape == "diagonal":
                    both[..., 0] *= share
                if share != 1.0:
                    both[..., 1] = self._flip_one(self._flip_one(both[..., 1]) * share)
            self.weights = both.astype(self.dtype)
            if self.factors is not None:
                self.factors = np.concatenate([self.factors, self.factors])
                self.factors[:, _diagonal_positions(self.n_columns + 1)] *= share
            self.memory[:, NORM2] *= 2 * share * share
            if policy == "ovr":
                self.memory = np.concatenate([self.memory, self.memory])
            self.prior = np.full(2, share)
            self.policy = policy
        missing = n_classes - self.n_heads
        self.prior = np.concatenate([self.prior, np.ones(missing)])
        self.weights = np.concatenate([self.weights, self._fresh_weights(len(self.weights), missing)], axis=1)
        if self.factors is not None:
            fresh = np.tile(self._fresh_factor(self.n_columns + 1), (missing, 1))
            self.factors = np.concatenate([self.factors, fresh])
        if self.policy == "ovr":
            self.memory = np.concatenate([self.memory, np.tile(self._fresh_memory, (missing, 1))])

    # -- learning and scoring --------------------------------------------------------------------------------

    def learn(
        self,
        rule: _core.Rule,
        rows: _core.Rows,
        labels: npt.NDArray[np.int32],
        sample_weight: npt.NDArray[np.float64] | None,
        order: npt.NDArray[np.int64] | None,
        journal: bool,
    ) -> None:
        """One pass over the rows, in place. With `journal` a refused row takes everything back."""
        memory = self.memory.copy()
        row, why = _core.learn(
            rule,
            self.shape,
            self.weights,
            self.factors,
            self.memory,
            self.counters,
            self.n_heads,
            self.intercept,
            self.policy,
            rows,
            labels,
            sample_weight,
            order,
            journal,
        )
        if why:
            self.memory[:] = memory
            raise self._refusal(rows, row, why)

    def _refusal(self, rows: _core.Rows, row: int, why: str) -> Exception:
        if why == "contents":
            return ValueError(rows.describe(row))
        if why == "order":
            return UnsortedColumns(f"Row {row} of X does not have its columns in order.")
        if why == "memory":
            return MemoryError("not enough memory for this batch; pass fewer rows at a time")
        advice = "scale X so that its values are of the order of 1"
        if why == "score":
            return ValueError(f"Row {row} of X has a score or a variance beyond float64; {advice}.")
        return ValueError(
            f"Row {row} of X needs a step that {self.dtype} cannot hold; {advice}, and keep sample_weight and the "
            "parameters moderate."
        )

    def scores(self, rows: _core.Rows) -> npt.NDArray[np.float64]:
        """w.x for every row and head."""
        out = self._evaluate(_core.score, rows)
        out *= self.memory[:, WEIGHT_SCALE]
        return out

    def variances(self, rows: _core.Rows) -> npt.NDArray[np.float64]:
        """x'Sx for every row and head."""
        out = self._evaluate(_core.variance, rows)
        with np.errstate(over="ignore"):
            out *= self.memory[:, COVARIANCE_SCALE]
        if not np.isfinite(out).all():
            raise self._refusal(rows, int(np.argmin(np.isfinite(out).all(axis=1))), "score")
        return out

    def _evaluate(self, function: Any, rows: _core.Rows) -> npt.NDArray[np.float64]:
        out = np.empty((rows.n_rows, self.n_heads))
        row, why = function(self.shape, self.weights, self.factors, self.n_heads, self.intercept, rows, out)
        if why:
            raise self._refusal(rows, row, why)
        return out

    # -- what a user sees ------------------------------------------------------------------------------------

    def coefficients(self) -> Array:
        """Weights with the intercept in front: shape (heads, 1 + columns)."""
        weights = self.weights[: self.n_columns + 1]
        if self.shape in ("diagonal", "theta"):
            mean = weights[..., 0].astype(np.float64)
            if self.shape == "theta":
                mean *= self._flip_one(weights[..., 1])
        else:
            mean = weights.astype(np.float64)
        return np.ascontiguousarray((mean * self.memory[:, WEIGHT_SCALE]).T.astype(self.dtype))

    def covariance(self) -> Array:
        """S, the intercept in front: (heads, 1 + columns) if diagonal, (heads, 1 + columns, 1 + columns) if full."""
        scale = self.memory[:, COVARIANCE_SCALE]
        if self.factors is None:
            S = self._flip_one(self.weights[: self.n_columns + 1, :, 1]).astype(np.float64)
            return np.ascontiguousarray((S * scale).T.astype(self.dtype))
        n = self.n_columns + 1
        result = np.empty((self.n_heads, n, n), self.dtype)
        lower = np.tril_indices(n)
        for head in range(self.n_heads):
            U = np.zeros((n, n))
            U.T[lower] = self.factors[head]
            D = U.diagonal().copy()
            np.fill_diagonal(U, 1.0)
            half = U * np.sqrt(D * scale[min(head, len(scale) - 1)])
            result[head] = half @ half.T
        return result

    # -- pieces ----------------------------------------------------------------------------------------------

    def _fresh_weights(self, n_slots: int, n_heads: int) -> Array:
        pair = (2,) if self.shape in ("diagonal", "theta") else ()
        return np.zeros((n_slots, n_heads, *pair), self.dtype)

    def _fresh_factor(self, n_slots: int) -> Array:
        size = n_slots * (n_slots + 1) // 2
        try:
            factor = np.zeros(size, self.dtype)
        except (MemoryError, ValueError):
            gigabytes = size * self.dtype.itemsize / 2**30
            raise MemoryError(
                f"covariance='full' needs {gigabytes:.0f} GiB for {n_slots - 1} features, more than there is; "
                "covariance='diag' needs a few bytes per feature"
            ) from None
        factor[_diagonal_positions(n_slots)] = 1
        return factor

    def _flip_one(self, variances: Array) -> Array:
        bits = np.ascontiguousarray(variances).view(f"u{self.dtype.itemsize}") ^ _bits_of_one(self.dtype)
        return cast(Array, bits.view(self.dtype))
