"""Streams whose concept changes: at once, little by little, and back again."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ._draws import check_fraction, check_half, check_size, csr_of_equal_rows, distinct_ranks, generator

Floats = npt.NDArray[np.float64]


def make_drift(
    n_samples: int = 20_000,
    n_features: int = 50,
    *,
    drifts: Iterable[int] | None = None,
    width: int = 0,
    transition: str = "mix",
    n_concepts: int | None = None,
    severity: float = 0.5,
    n_nonzero: int | None = None,
    noise: float = 0.05,
    random_state: Any = None,
    return_drifts: bool = False,
) -> Any:
    """A stream with drift: two classes separated by a hyperplane that changes.

    The plane is the concept. Drift is abrupt by default; gradual with a `width`; and recurring with ``n_concepts=2``,
    which gives the concepts A, B, A, B and so on. With ``drifts=[0], width=n_samples, transition="turn"`` the plane
    turns all the time, which is known as the rotating hyperplane.

    Parameters
    ----------
    n_samples : int, default=20_000
        Number of rows.
    n_features : int, default=50
        Number of columns, at least 2.
    drifts : iterable of int, default=None
        Where the concept changes, ascending: row number `drift`, counted from 0, is the first of the new concept, or of
        the stretch in which it comes. Once in the middle if None.
    width : int, default=0
        Rows that each change takes. 0 is abrupt.
    transition : {"mix", "turn"}, default="mix"
        What happens in these rows. "mix": each is of the new concept with a probability that rises from 0 to 1, else of
        the old one. "turn": the plane turns from the old one to the new one at a constant rate.
    n_concepts : int, default=None
        How many concepts there are, at least 2; after the last comes the first again. Always another one if None.
    severity : float, default=0.5
        The part of the labels that a change concerns, more than 0 and up to 1: it turns the plane by `severity` times
        180 degrees. At 0.5 the old concept says nothing about the new one, at 1 it is its opposite. For sparse rows it
        is about this part. Where more than two concepts recur, the last and the first are not tied to each other.
    n_nonzero : int, default=None
        Nonzeros in every row, for sparse rows; at most half of `n_features`. Rows are dense if None.
    noise : float, default=0.05
        The probability that a label is flipped, from 0 to 1.
    random_state : int, RandomState instance or None, default=None
        Seed. The rows are the same for all concepts and drifts, and the first rows and labels are the same for every
        `n_samples`, as long as `drifts` are given.
    return_drifts : bool, default=False
        Also return where the drifts are.

    Returns
    -------
    X : array of shape (n_samples, n_features), or CSR matrix in float32
        Dense rows are standard normal. Sparse ones are like those of `make_sparse_stream`, with the k-th most popular
        feature in a row with a probability near 1/k, but with values of both signs; they have unit length, and indices
        ascend.
    y : array of shape (n_samples,)
        Labels 0 and 1, equally likely under every concept: x and -x are, and have different labels.
    drifts : tuple of int
        Only if `return_drifts` is set.

    Examples
    --------
    >>> from sureline.datasets import make_drift
    >>> X, y, drifts = make_drift(10_000, 20, random_state=0, return_drifts=True)  # abrupt
    >>> X.shape, drifts
    ((10000, 20), (5000,))
    >>> X, y = make_drift(10_000, 20, drifts=[4000], width=2000, random_state=0)  # gradual
    >>> X, y = make_drift(10_000, 20, drifts=range(2000, 10_000, 2000), n_concepts=2, random_state=0)  # recurring
    >>> X, y = make_drift(10_000, 100_000, n_nonzero=30, random_state=0)
    >>> X.shape, X.nnz
    ((10000, 100000), 300000)
    """
    check_size("n_samples", n_samples, 1)
    check_size("n_features", n_features, 2)
    starts = _checked_drifts(n_samples // 2 if drifts is None else drifts)
    check_size("width", width, 0)
    for start, following in pairwise(starts):
        if start + width > following:
            raise ValueError(
                f"width must end before the next drift. Got {width}, and drifts at {start} and {following}."
            )
    if transition not in ("mix", "turn"):
        raise ValueError(f"transition must be 'mix' or 'turn'. Got {transition!r} instead.")
    if n_concepts is not None:
        check_size("n_concepts", n_concepts, 2)
    if isinstance(severity, bool) or not isinstance(severity, Real) or not 0 < float(severity) <= 1:
        raise ValueError(f"severity must be a number that is more than 0 and at most 1. Got {severity!r} instead.")
    if n_nonzero is not None:
        check_size("n_nonzero", n_nonzero, 1)
        check_half("n_nonzero", n_nonzero, n_features)
    check_fraction("noise", noise)

    # Three independent generators, so that no draw depends on the size of another.
    of_rows, of_concepts, of_labels = generator(random_state).spawn(3)
    concept = _Concept(of_concepts, n_features, starts, width, transition, n_concepts, float(severity))
    n_values = n_features if n_nonzero is None else n_nonzero
    values = np.empty((n_samples, n_values), np.float64 if n_nonzero is None else np.float32)
    indices = np.empty(values.shape if n_nonzero is not None else (0, 0), np.int32)
    y = np.empty(n_samples, np.int64)
    name_of_rank = of_rows.permutation(n_features).astype(np.int32)
    n_block = max(1, min(4096, 2**19 // n_values))
    for first in range(0, n_samples, n_block):
        block = slice(first, min(first + n_block, n_samples))
        n_rows = block.stop - first
        # Whole blocks are drawn, also for the last rows, so that a row does not depend on how many follow.
        drawn = of_rows.standard_normal((n_block, n_values))[:n_rows]
        if n_nonzero is None:
            values[block] = drawn
            X: Any = values[block]
        else:
            values[block] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
            columns = name_of_rank[distinct_ranks(of_rows, n_block, n_features, n_nonzero)[:n_rows]]
            indices[block] = np.sort(columns, axis=1)
            X = csr_of_equal_rows(values[block], indices[block], n_features)
        chance, flip = of_labels.random((n_block, 2))[:n_rows].T
        y[block] = concept.is_positive(X, np.arange(first, block.stop), chance) ^ (flip < float(noise))
    rows = values if n_nonzero is None else csr_of_equal_rows(values, indices, n_features)
    return (rows, y, tuple(starts)) if return_drifts else (rows, y)


class _Concept:
    """The plane of each row of a stream, by its normal."""

    def __init__(
        self,
        rng: np.random.Generator,
        n_features: int,
        starts: list[int],
        width: int,
        transition: str,
        n_concepts: int | None,
        severity: float,
    ) -> None:
        self.starts, self.width, self.turns = np.array(starts, np.int64), width, transition == "turn"
        n_normals = min(len(starts) + 1, n_concepts or len(starts) + 1)
        angle = np.pi * severity
        self.normals = [_unit(rng.standard_normal(n_features))]
        self.aside = self.normals[0]  # orthogonal to the first normal; the plane turns through it to the opposite
        for _ in range(n_normals - 1):
            latest = self.normals[-1]
            new = _orthogonal(rng.standard_normal(n_features), latest)
            self.aside = new if len(self.normals) == 1 else self.aside
            self.normals.append(_unit(np.cos(angle) * latest + np.sin(angle) * new))

    def is_positive(self, X: Any, rows: npt.NDArray[np.int64], chance: Floats) -> npt.NDArray[np.bool_]:
        """The side of its plane on which each row of X lies; `rows` are row numbers, `chance` is uniform in [0, 1)."""
        scores = np.empty(len(rows))
        changes = np.searchsorted(self.starts, rows, side="right")  # that have begun
        for n_changes in range(int(changes[0]), int(changes[-1]) + 1):
            here = slice(*np.searchsorted(changes, [n_changes, n_changes + 1]))
            new = self._normal(n_changes)
            scores[here] = X[here] @ new
            if n_changes and self.width:
                since = rows[here] - self.starts[n_changes - 1]
                progress = np.minimum((since + 0.5) / self.width, 1.0)
                if progress[0] < 1:
                    old = self._normal(n_changes - 1)
                    scores[here] = self._between(X[here], old, new, scores[here], progress, chance[here])
        return scores > 0

    def _normal(self, n_changes: int) -> Floats:
        return self.normals[n_changes % len(self.normals)]

    def _between(self, X: Any, old: Floats, new: Floats, scores: Floats, progress: Floats, chance: Floats) -> Floats:
        if not self.turns:
            return np.where(chance < progress, scores, X @ old)
        along = float(np.clip(old @ new, -1, 1))
        across = new - along * old
        # To its opposite a plane can turn by any side.
        side = across / np.linalg.norm(across) if np.linalg.norm(across) > 1e-9 else self.aside
        angles = np.arccos(along) * progress
        turned: Floats = np.cos(angles) * (X @ old) + np.sin(angles) * (X @ side)
        return turned


def _unit(vector: Floats) -> Floats:
    unit: Floats = vector / np.linalg.norm(vector)
    return unit


def _orthogonal(vector: Floats, to: Floats) -> Floats:
    return _unit(vector - (vector @ to) * to)


def _checked_drifts(drifts: Any) -> list[int]:
    positions = [drifts] if isinstance(drifts, Integral) else list(drifts)
    for position in positions:
        if isinstance(position, bool) or not isinstance(position, Integral) or int(position) < 0:
            raise ValueError(f"drifts must be numbers of rows, integers from 0. Got {position!r} among them.")
    ascending = [int(position) for position in positions]
    if ascending != sorted(set(ascending)):
        raise ValueError(f"drifts must ascend, each once. Got {ascending} instead.")
    return ascending
