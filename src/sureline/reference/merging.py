"""Weights of shards, merged: a term of each shard, their sums, and what becomes of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Sums:
    """Sums over shards: for each place they changed, of its numbers, of shares and of parts."""

    places: Array  # slot * heads + head, ascending
    numbers: Array
    shares: Array
    parts: Array


@dataclass(frozen=True)
class Merging:
    """The weights that shards began with, and how each of their numbers is merged.

    The numbers of ``weights[place]`` are of the ``kinds`` mean, precision, sum, root or cut. Variances are stored with
    the bits of 1 flipped. A cut is the truncation that a weight has had: a weight whose size is above ``limit`` is
    spared, and with ``delta`` a truncation is in units of delta + root. Both have a number for each problem.
    """

    weights: Array
    kinds: Sequence[str]
    n_heads: int
    limit: Array | None = None
    delta: Array | None = None

    def terms(self, places: Array, numbers: Array, cuts: Array, share: float, part: float) -> Sums:
        """Those of one shard, which has this share of the stream and whose rows count 1 / part times."""
        terms = np.zeros(numbers.shape)
        for j, kind in enumerate(self.kinds):
            x = numbers[:, j].astype(np.float64)
            if kind == "mean":
                unit = np.sqrt(part) if self.delta is not None else 1.0
                terms[:, j] = share * self._settled(places, numbers, cuts, unit)
            elif kind == "precision":
                terms[:, j] = part / flip_one(numbers[:, j]).astype(np.float64)
            elif kind == "sum":
                terms[:, j] = x
            elif kind == "root":
                terms[:, j] = x * x
        return Sums(places, terms, np.full(len(places), share), np.full(len(places), part))

    def merged(self, sums: Sums, cuts: Array) -> Array:
        """The weights with what all shards of the stream add up to; ``cuts`` are those of the merged model."""
        after, tiny = self.weights.copy(), np.finfo(self.weights.dtype).tiny
        before = self.weights[sums.places]
        rest, left = 1 - sums.shares, 1 - sums.parts  # of the base: among means, and among sums
        for j, kind in enumerate(self.kinds):
            total, x = sums.numbers[:, j], before[:, j].astype(np.float64)
            if kind == "mean":
                now = total + rest * self._settled(sums.places, before, cuts, 1.0)
            elif kind == "precision":
                precision = 1 / flip_one(before[:, j]).astype(np.float64)
                variance = 1 / np.maximum(total + left * precision, precision)
                now = flip_one(np.maximum(variance, tiny).astype(after.dtype))
            elif kind == "sum":
                now = total + left * x
            elif kind == "root":
                now = np.sqrt(np.maximum(total + left * (x * x), 0.0))
            else:
                now = self._of_problem(cuts, sums.places)
            after[sums.places, j] = now
        return after

    def _settled(self, places: Array, numbers: Array, cuts: Array, unit: float) -> Array:
        """The weights, with the truncation that they still owe."""
        w = numbers[:, 0].astype(np.float64)
        if "cut" not in self.kinds:
            return w
        cut = self._of_problem(cuts, places).astype(numbers.dtype).astype(np.float64)
        owed = np.maximum(cut - numbers[:, -1], 0.0)
        if self.delta is not None:
            owed = owed / (self._of_problem(self.delta, places) * unit + numbers[:, 1])
        elif self.limit is not None:
            owed = np.where(np.abs(w) > self._of_problem(self.limit, places), 0.0, owed)
        owed[places < self.n_heads] = 0.0  # no penalty shrinks an intercept
        return np.asarray(np.sign(w) * np.maximum(np.abs(w) - owed, 0.0))

    def _of_problem(self, numbers: Array, places: Array) -> Array:
        return np.asarray(numbers[places % self.n_heads if len(numbers) > 1 else np.zeros_like(places)])


def added(parts: Sequence[Sums]) -> Sums:
    """Sums of several shards, in their order."""
    places = np.unique(np.concatenate([part.places for part in parts]))
    numbers = np.zeros((len(places), parts[0].numbers.shape[1]))
    shares, its_parts = np.zeros(len(places)), np.zeros(len(places))
    for part in parts:
        at = np.searchsorted(places, part.places)
        numbers[at] += part.numbers
        shares[at] += part.shares
        its_parts[at] += part.parts
    return Sums(places, numbers, shares, its_parts)


def flip_one(variances: Array) -> Array:
    """Between variances and how they are stored."""
    bits = f"u{variances.itemsize}"
    flipped = np.ascontiguousarray(variances).view(bits) ^ np.ones(1, variances.dtype).view(bits)
    return np.asarray(flipped.view(variances.dtype))
