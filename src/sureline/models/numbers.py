"""The numbers of a model, as NumPy arrays, and the attributes that users see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, cast

import numpy as np

from .._inputs import Array, Floats, Ints
from .._native import _core

Shape = _core.Shape
Policy = _core.Policy
Rule = _core.Rule | _core.CoordinateRule | _core.DualRule

# The columns of `State.memory`.
WEIGHT_SCALE = _core.MemoryColumn.weight_scale.value
COVARIANCE_SCALE = _core.MemoryColumn.covariance_scale.value
NORM2 = _core.MemoryColumn.norm2.value
ERROR_GROWTH = _core.MemoryColumn.error_growth.value
K = _core.MemoryColumn.k.value
C = _core.MemoryColumn.c.value
T = _core.MemoryColumn.t.value
BOUND = _core.MemoryColumn.bound.value
RESOLUTION = _core.MemoryColumn.resolution.value
MEMORY_COLUMNS = len(_core.MemoryColumn)
ROUND_COLUMNS = len(_core.RoundColumn)  # of `State.rounds`
# The columns of `State.tally`.
SEEN = _core.TallyColumn.seen.value
MISTAKES = _core.TallyColumn.mistakes.value
UPDATES = _core.TallyColumn.updates.value


def fresh_tally(n_classes: int) -> Ints:
    """Nothing counted yet, of that many classes."""
    return np.zeros((n_classes, len(_core.TallyColumn)), np.int64)


def flip_one(variances: Array) -> Array:
    """Between variances and how they are stored: with the bits of 1 flipped."""
    bits = f"u{variances.itemsize}"
    flipped = np.ascontiguousarray(variances).view(bits) ^ np.ones(1, variances.dtype).view(bits)
    return cast(Array, flipped.view(variances.dtype))


class Numbers:
    """Weights, covariance and memory of a linear model.

    ``weights[slot, head]`` holds the numbers that a weight is computed from: one (shapes identity and full), the pair
    of weight and variance (diagonal; for theta of theta and variance), or those of a coordinate rule. Slot 0 is the
    intercept and slot j + 1 is column j; there is one head, or one for each class. Variances are stored with
    the bits of 1 flipped, so that zeros are a fresh model and memory that no feature touched costs nothing.
    ``factors[head]`` is the full covariance as U D U', packed by columns (see core/spaces/full.hpp). All weights
    and variances are to be multiplied by the scales in ``memory``, which has one row for each binary problem: one per
    head for policy ovr, otherwise a single one. ``tally`` has a row for each class: examples seen, mistakes, updates.
    ``budget`` bounds the number of nonzero weights: of a coordinate rule by a threshold for all heads together, of a
    margin rule by a selection of features for each head. ``ascent`` is what a dual rule remembers: the scalars of its
    windows, and the rows of a sliding one. ``average`` is what all weights share if predictions are made with their
    average along the stream, and ``sums[slot, head]`` what it stores of each. ``tally`` of a regression counts all
    examples in its first row.
    """

    shape: Shape
    dtype: np.dtype[Any]
    intercept: bool
    n_columns: int
    policy: Policy
    weights: Array
    factors: Array | None
    memory: Floats
    prior: Floats
    tally: Ints
    budget: _core.Budget | _core.FeatureSelection | None
    ascent: _core.DualMemory | None
    average: _core.Average | None
    sums: Floats | None
    # Numbers from which a coordinate or dual rule computes weights: for each problem, those of the next round.
    rounds: Floats | None
    record: Floats | None  # progressive predictions; None for regression

    @property
    def n_heads(self) -> int:
        return cast(int, self.weights.shape[1])

    @property
    def extras(self) -> _core.Budget | _core.FeatureSelection | _core.DualMemory | None:
        """The budget, selection or memory of the rule, besides the numbers of the weights."""
        return self.budget if self.ascent is None else self.ascent

    @property
    def core(self) -> _core.Model:
        """The model that the core works on: these arrays, where they are."""
        return _core.Model(
            self.shape,
            self.policy,
            self.weights,
            self.memory,
            self.tally,
            n_columns=self.n_columns,
            intercept=self.intercept,
            factors=self.factors,
            rounds=self.rounds,
            record=self.record,
            extras=self.extras,
            average=self.average,
            sums=self.sums,
        )

    @property
    def weight_scales(self) -> Floats:
        """The factors of the core's weights, one for all heads or one each; 1 for averages."""
        return self.memory[:, WEIGHT_SCALE] if self.average is None else np.ones(1)

    def _twin(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def nonzero(self) -> list[tuple[Ints, Array]]:
        """For each head the slots, ascending, and values of the nonzero weights; slot 0 is the intercept."""
        scale = np.broadcast_to(self.weight_scales, self.n_heads)
        found = []
        for head, (slots, values) in enumerate(self._nonzero_numbers()):
            with np.errstate(over="ignore"):
                found.append((slots, (values * scale[head]).astype(self.dtype)))
        return found

    def count_nonzero(self) -> int:
        """Number of nonzero weights, without the intercepts."""
        if isinstance(self.budget, _core.FeatureSelection):
            return sum(int(np.count_nonzero(slots)) for slots, _ in self._nonzero_numbers())
        return self.core.count_nonzero()

    def _nonzero_numbers(self) -> Iterator[tuple[Ints, Floats]]:
        """For each head the slots of the nonzero weights, and the unscaled weights."""
        if not isinstance(self.budget, _core.FeatureSelection):
            slots, heads, values = self.core.nonzero()
            if self.n_heads == 1:
                yield slots, values
                return
            order = np.argsort(heads, kind="stable")
            ends = np.cumsum(np.bincount(heads, minlength=self.n_heads))[:-1]
            yield from zip(np.split(slots[order], ends), np.split(values[order], ends), strict=True)
            return
        slots, heads = np.divmod(self.budget.members, self.n_heads)  # only members and intercepts have weights
        slots = slots[np.argsort(heads, kind="stable")]
        ends = np.cumsum(np.bincount(heads, minlength=self.n_heads))[:-1]
        numbers = self.weights.reshape(len(self.weights), self.n_heads, -1)
        for head, selected in enumerate(np.split(slots, ends)):
            selected = np.concatenate([[0], selected])
            values = numbers[selected, head, 0].astype(np.float64)
            yield selected[values != 0], values[values != 0]

    def coefficients(self) -> Array:
        """Weights with the intercept in front: shape (heads, 1 + columns)."""
        dense = np.zeros((self.n_heads, self.n_columns + 1), self.dtype)
        for row, (slots, values) in zip(dense, self.nonzero(), strict=True):
            row[slots] = values
        return dense

    def intercepts(self) -> Array:
        """The weights in slot 0, one for each head."""
        return np.ascontiguousarray(self._first_slot().coefficients()[:, 0])

    def intercept_variances(self) -> Array:
        S = self._first_slot().covariance()
        return np.ascontiguousarray(S[:, 0] if S.ndim == 2 else S[:, 0, 0])

    def _first_slot(self) -> Self:
        """The intercepts, computed without a pass over a wide model."""
        if self.factors is not None:
            return self
        first = self._twin()
        first.weights = np.ascontiguousarray(self.weights[:1])
        first.sums = None if self.sums is None else np.ascontiguousarray(self.sums[:1])
        first.n_columns = 0
        first.budget = None
        return first

    def covariance(self) -> Array:
        """S, the intercept in front: (heads, 1 + columns) if diagonal, (heads, 1 + columns, 1 + columns) if full."""
        scale = self.memory[:, COVARIANCE_SCALE]
        if self.factors is None:
            S = flip_one(self.weights[: self.n_columns + 1, :, 1]).astype(np.float64)
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

    def weight_variances(self, slots: Ints, head: int) -> Floats | None:
        """Variances of the weights in these slots; None if the model has none."""
        scale = self.memory[min(head, len(self.memory) - 1), COVARIANCE_SCALE]
        if self.factors is not None:
            S = self.covariance()[head]
            diagonal: Floats = S.diagonal()[slots].astype(np.float64)
            return diagonal
        if not self.shape.has_variances:
            return None
        variances: Floats = flip_one(self.weights[slots, head, 1]).astype(np.float64) * scale
        return variances
