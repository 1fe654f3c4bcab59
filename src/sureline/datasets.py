"""Seeded generators of data on which the learners differ in a known way."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

# Standard deviations; see the notes of make_rotated_gaussian for why these.
_LONG_AXIS = 10.0
_SHORT_AXIS = 0.5
_IRRELEVANT = 2.0


def make_rotated_gaussian(
    n_samples: int = 5000,
    n_features: int = 20,
    *,
    noise: float = 0.0,
    random_state: Any = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Two classes in an elongated Gaussian, hidden among irrelevant features.

    The first two coordinates come from a Gaussian whose long axis is turned by 45 degrees, and the label says on which
    side of that axis the point lies. The other coordinates say nothing and vary more than the distance from the axis
    does. A learner has to find out that the difference of the first two features is all that counts, which is easy
    with a covariance and hard without.

    Parameters
    ----------
    n_samples : int, default=5000
        Number of rows.
    n_features : int, default=20
        Number of columns, at least 2.
    noise : float, default=0.0
        Fraction of the labels that are flipped, from 0 to 1: exactly ``round(noise * n_samples)`` of them.
    random_state : int, RandomState instance or None, default=None
        Seed. The points are the same for every `noise`.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        The points.
    y : array of shape (n_samples,)
        Labels 0 and 1. Without noise they are separated by a line through the origin.

    Notes
    -----
    This is the synthetic data of Crammer, Dredze & Pereira, "Exact convex confidence-weighted learning", NIPS 2008,
    that Wang, Zhao & Hoi, "Exact soft confidence-weighted learning", ICML 2012, use with and without 10% of noise: 5000
    points in 20 dimensions, a 45-degree rotated Gaussian with standard deviation 1, N(0, 2) for the other 18
    coordinates and a separator parallel to the long axis. Neither the length of that axis nor whether 2 is a variance
    is given.

    The standard deviations here, 10 along the axis, 0.5 across it and 2 elsewhere, were fitted to table 3 of the second
    paper, so agreement with that table is no independent test. About 120 combinations were tried, from 0.05 to 100
    across the axis. What the table fixes is about the ratio: the irrelevant features vary some 3 to 4.5 times as much
    as the distance from the axis. The literal 1 and 2, and 1 with a variance of 2, are further off when each learner
    is tuned; 0.1 and less across the axis is far off for any parameter. Of that ratio this is the size at which the 2
    of the description is a standard deviation. The overall size is left open: 1 and 4 fit no worse; 3 and 9 fit NHERD
    better but the other learners, at their nearest parameters, worse. The length of the axis, tried from 1 to 10, makes
    no difference that exceeds the one between two draws of the data.

    Examples
    --------
    >>> from sureline.datasets import make_rotated_gaussian
    >>> X, y = make_rotated_gaussian(1000, noise=0.1, random_state=0)
    >>> X.shape, y.shape
    ((1000, 20), (1000,))
    >>> side = (X[:, 1] > X[:, 0]).astype(int)
    >>> int((side != y).sum())
    100
    """
    _check_size("n_samples", n_samples, 1)
    _check_size("n_features", n_features, 2)
    _check_fraction("noise", noise)
    rng = check_random_state(random_state)
    along = rng.normal(0, _LONG_AXIS, n_samples)
    across = rng.normal(0, _SHORT_AXIS, n_samples)
    X = rng.normal(0, _IRRELEVANT, (n_samples, n_features))
    X[:, 0] = (along - across) / np.sqrt(2)
    X[:, 1] = (along + across) / np.sqrt(2)
    # From X and not from `across`, so that rounding cannot put a point on the other side of its own separator.
    y = (X[:, 1] > X[:, 0]).astype(np.int64)
    flipped = rng.permutation(n_samples)[: round(float(noise) * n_samples)]
    y[flipped] = 1 - y[flipped]
    return X, y


def _check_fraction(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1. Got {value!r} instead.")


def _check_size(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}. Got {value!r} instead.")


def make_sparse_stream(
    n_samples: int,
    n_features: int,
    n_nonzero: int,
    *,
    noise: float = 0.05,
    random_state: Any = None,
) -> tuple[Any, npt.NDArray[np.int64]]:
    """Rows like those of text or URLs: few of many features, a handful of them in almost every row.

    The k-th most popular feature is drawn with a probability near 1/k. Values are positive, rows have unit length, and
    the label is the sign of a random linear function of them.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    n_features : int
        Number of columns.
    n_nonzero : int
        Nonzeros in every row; at most half of `n_features`.
    noise : float, default=0.05
        Fraction of the labels that are flipped, from 0 to 1.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features), float32
        The rows; indices are int32 and ascend.
    y : array of shape (n_samples,)
        Labels 0 and 1.

    Examples
    --------
    >>> from sureline.datasets import make_sparse_stream
    >>> X, y = make_sparse_stream(100, 10_000, 20, random_state=0)
    >>> X.shape, X.nnz
    ((100, 10000), 2000)
    """
    _check_size("n_samples", n_samples, 1)
    _check_size("n_features", n_features, 2)
    _check_size("n_nonzero", n_nonzero, 1)
    if n_nonzero > n_features // 2:
        raise ValueError(f"n_nonzero must be at most half of n_features={n_features}. Got {n_nonzero} instead.")
    _check_fraction("noise", noise)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    name_of_rank = rng.permutation(n_features).astype(np.int32)
    indices = np.empty((n_samples, n_nonzero), np.int32)
    for start in range(0, n_samples, 4096):  # in blocks, so that the draws take little memory
        block = indices[start : start + 4096]
        block[:] = name_of_rank[_distinct_ranks(rng, len(block), n_features, n_nonzero)]
    indices.sort(axis=1)
    values = rng.gamma(2.0, 1.0, indices.shape).astype(np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    indptr = np.arange(n_samples + 1, dtype=np.int64) * n_nonzero
    X = sparse.csr_matrix((values.ravel(), indices.ravel(), indptr.astype(np.int32)), shape=(n_samples, n_features))
    y = (X @ rng.standard_normal(n_features).astype(np.float32) > 0).astype(np.int64)
    flipped = rng.permutation(n_samples)[: round(float(noise) * n_samples)]
    y[flipped] = 1 - y[flipped]
    return X, y


def _distinct_ranks(rng: np.random.Generator, n_rows: int, n_ranks: int, n_distinct: int) -> npt.NDArray[np.int64]:
    """For each row, that many different ranks, rank k with a probability near 1/k."""
    chosen = np.empty((n_rows, n_distinct), np.int64)
    waiting = np.arange(n_rows)
    draws = 2 * n_distinct
    while len(waiting):
        # n^U is at most k with probability log k / log n. Sorting brings equal draws together.
        ranks = np.sort((n_ranks ** rng.random((len(waiting), draws))).astype(np.int64), axis=1) - 1
        first = np.ones(ranks.shape, bool)
        first[:, 1:] = ranks[:, 1:] != ranks[:, :-1]
        enough = first.sum(axis=1) >= n_distinct
        # A random choice among the distinct ones: those with the smallest keys.
        keys = np.where(first, rng.random(ranks.shape), 2.0)[enough]
        picks = np.argpartition(keys, n_distinct - 1, axis=1)[:, :n_distinct]
        chosen[waiting[enough]] = np.take_along_axis(ranks[enough], picks, axis=1)
        waiting = waiting[~enough]
        draws *= 2
    return chosen
