"""Growth of a state: columns, heads for more classes, and the budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from .._inputs import Array, Floats, Ints
from .._native import _core
from .._system import usable_memory
from .numbers import NORM2, Numbers, Policy, Shape, flip_one, fresh_tally
from .record import begun_anew
from .touched import Touched


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array of zeros; pages of a large one take memory when they are written."""
    size = math.prod(shape)
    if size * dtype.itemsize < 1 << 20:
        return np.zeros(shape, dtype)
    zeros = _core.zeros_float32 if dtype == np.float32 else _core.zeros_float64
    try:
        return cast(Array, zeros(size)).reshape(shape)
    except MemoryError:
        raise MemoryError(f"there is no room for the addresses of {shape[0] - 1} features") from None


def diagonal_positions(n_slots: int) -> Ints:
    """The places of D in a packed factor."""
    j = np.arange(n_slots)
    return j * (j + 3) // 2


class Growing(Numbers):
    """Numbers that make room for more columns and classes."""

    _fresh_memory: Floats  # initial scalars of a problem

    def widen(self, n_columns: int) -> None:
        """Make room for `n_columns` columns. New ones start as every column started."""
        if n_columns <= self.n_columns:
            return
        if self.shape is Shape.simplex:
            raise ValueError(
                f"A row has {n_columns} columns, and regularizer='kl' spreads its weights over {self.n_columns}, which "
                "cannot change: give columns=N for all that will come."
            )
        slots = n_columns + 1
        if slots > len(self.weights):
            # A full covariance has exactly its columns; otherwise widening bit by bit must not copy every time.
            capacity = slots if self.factors is not None else max(slots, len(self.weights) + len(self.weights) // 2)
            wider = self._fresh_weights(capacity, self.n_heads)
            _core.copy_touched(wider, self.weights)
            if self.shape.has_variances and (self.prior != 1).any():
                self._refuse_to_fill(wider)
                wider[len(self.weights) :, :, 1] = flip_one(self.prior.astype(self.dtype))
            self.weights = wider
            if self.sums is not None:
                self.sums, before = self._fresh_sums(capacity, self.n_heads), self.sums
                _core.copy_touched(self.sums, before)
        if self.factors is not None:
            factors = np.tile(self._fresh_factor(slots), (self.n_heads, 1))
            factors[:, diagonal_positions(slots)] = self.prior[:, np.newaxis]
            factors[:, : self.factors.shape[1]] = self.factors
            self.factors = factors
        self.n_columns = n_columns

    def add_heads(self, n_classes: int, policy: Policy) -> None:
        """Change to one head per class; `policy` applies if the model was binary.

        A binary model becomes a model of two classes with the same decisions. Under policy ovr each class gets the old
        weights with its own sign. Under rival the difference of two scores decides. With a margin rule each class gets
        half of the weights and half of the covariance, so the difference keeps its mean and variance. With a coordinate
        rule the second class gets all weights and the first none: halves would be truncated more, and have twice as
        many nonzeros. Both get the whole covariance, which depends on the rows alone.
        """
        n_before = self.n_heads
        if self.shape is Shape.simplex:
            raise ValueError("regularizer='kl' must know all classes from the start: give classes=[...], or --labels.")
        if self.policy is Policy.binary:
            share = 0.5 if policy is Policy.rival and not self.shape.has_rounds else 1.0
            rescales_variances = self.shape.has_variances and share != 1.0

            def split(block: Array) -> Array:
                both: Array = np.concatenate([block, block], axis=1)
                first, mean = (0.0, 1.0) if policy is Policy.rival and share == 1.0 else (-share, share)
                if self.shape is Shape.theta:  # the share is in S
                    first, mean = -1.0, 1.0
                scales = np.array([first, mean])
                numbers = both if both.ndim == 2 else both[..., 0]
                numbers *= scales
                if self.shape.is_dual and both.ndim > 2:  # u goes with theta, and n counts the examples that are in it
                    both[..., 1:-1] *= scales[:, np.newaxis]
                    both[..., -1] *= abs(scales)
                numbers += 0.0  # no -0
                if rescales_variances:
                    both[..., 1] = flip_one(flip_one(both[..., 1]) * share)
                return both

            self._rearrange(n_classes, split, everywhere=rescales_variances)
            if self.average is not None:
                first = 0.0 if policy is Policy.rival and share == 1.0 else -share
                self._rearrange_sums(n_classes, lambda sums: sums * [first, share])
                self.average.split(policy)
            if self.factors is not None:
                self.factors = np.concatenate([self.factors, self.factors])
                self.factors[:, diagonal_positions(self.n_columns + 1)] *= share
            self.memory[:, NORM2] *= 2 * share * share
            if policy is Policy.ovr:
                self.memory = np.concatenate([self.memory, self.memory])
            if self.ascent is not None:
                self.ascent.split(policy)
            self.prior = np.full(2, share)
            if self.record is not None:
                self.record = begun_anew(self.record)
            self.policy = policy
        else:
            self._rearrange(n_classes, lambda block: block)
            if self.average is not None:
                self._rearrange_sums(n_classes, lambda sums: sums)
        missing = n_classes - len(self.prior)
        self.prior = np.concatenate([self.prior, np.ones(missing)])
        if self.factors is not None:
            fresh = np.tile(self._fresh_factor(self.n_columns + 1), (missing, 1))
            self.factors = np.concatenate([self.factors, fresh])
        if self.policy is Policy.ovr:
            self.memory = np.concatenate([self.memory, np.tile(self._fresh_memory, (missing, 1))])
            if self.ascent is not None:
                self.ascent.add_problems(missing)
        if self.average is not None:
            self.average.add(n_classes, len(self.memory))
        self.tally = np.concatenate([self.tally, fresh_tally(n_classes - len(self.tally))])
        if self.rounds is not None:  # until the next refresh, which all of them need
            self.rounds = np.repeat(self.rounds[:1], len(self.memory), axis=0)
        if isinstance(self.budget, _core.Budget):
            self.choose_anew(self.budget.threshold)
        elif self.budget is not None:
            slots, heads = np.divmod(self.budget.members, n_before)
            if n_before == 1:  # both classes have its weights
                slots, heads = np.tile(slots, 2), np.repeat([0, 1], len(slots))
            self.budget = _core.FeatureSelection.restored(self.budget.max, n_classes, slots * n_classes + heads)

    def _rearrange(self, n_heads: int, rearranged: Callable[[Array], Array], *, everywhere: bool = False) -> None:
        """Make room for `n_heads` heads: the first come from `rearranged(slots)`, the others are fresh.

        Untouched slots are skipped, unless `everywhere`.
        """
        wider = self._fresh_weights(len(self.weights), n_heads)
        if everywhere:
            self._refuse_to_fill(wider)
            size = 1 << 16
            for start in range(0, len(self.weights), size):
                changed = rearranged(self.weights[start : start + size])
                wider[start : start + size, : changed.shape[1]] = changed
        else:
            for slots in Touched(self.weights).rows():
                block = self.weights[slots]
                some = block.reshape(len(block), -1).any(axis=1)  # slots with nothing but -0 become fresh
                changed = rearranged(block[some])
                wider[slots[some], : changed.shape[1]] = changed
        self.weights = wider

    def _rearrange_sums(self, n_heads: int, rearranged: Callable[[Array], Array]) -> None:
        if self.sums is None:
            return
        wider = self._fresh_sums(len(self.sums), n_heads)
        for slots in Touched(self.sums).rows():
            changed = rearranged(self.sums[slots]) + 0.0  # no -0
            wider[slots, : changed.shape[1]] = changed
        self.sums = wider

    def has_budget(self, max_nonzero: int | None) -> bool:
        return (None if self.budget is None else self.budget.max) == max_nonzero

    def set_budget(self, max_nonzero: int | None) -> None:
        """Allow at most that many nonzero weights from now on, or at most the present number."""
        if not self.has_budget(max_nonzero):
            self.budget = self._fresh_budget(max_nonzero)
            self.choose_anew()

    def _fresh_budget(self, max_nonzero: int | None) -> _core.Budget | _core.FeatureSelection | None:
        if max_nonzero is None:
            return None
        return (
            _core.FeatureSelection(max_nonzero, self.n_heads) if self.shape.has_selection else _core.Budget(max_nonzero)
        )

    def choose_anew(self, least: float = 0.0) -> None:
        """Choose the smallest threshold, from `least` on, that keeps the budget, if there is one."""
        if isinstance(self.budget, _core.Budget):
            self.core.choose_anew(least)

    # -- pieces ----------------------------------------------------------------------------------------------

    def _fresh_weights(self, n_slots: int, n_heads: int) -> Array:
        width = self.shape.width
        return _zeros((n_slots, n_heads) if width == 1 else (n_slots, n_heads, width), self.dtype)

    def _fresh_sums(self, n_slots: int, n_heads: int) -> Array:
        return _zeros((n_slots, n_heads), np.dtype(np.float64))

    def _refuse_to_fill(self, weights: Array) -> None:
        """Raise MemoryError if writing all of these weights would exceed the machine's memory."""
        there = usable_memory()
        if there is not None and weights.nbytes > there:
            raise MemoryError(
                f"after a third class has come, the variances of all {len(weights) - 1} features change, which takes "
                f"{weights.nbytes / 2**30:.0f} GiB, more than there is; name all classes at the start (classes=[...], "
                "or --labels), or have fewer features (--bits)"
            )

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
        factor[diagonal_positions(n_slots)] = 1
        return factor
