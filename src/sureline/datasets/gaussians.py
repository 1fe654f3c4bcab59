"""Gaussian clouds that a plane cuts in two."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from ._draws import check_dtype, check_fraction, check_size, csr_of_equal_rows, distinct_columns, flip, generator

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
    """Two classes in an elongated, rotated Gaussian, with irrelevant features.

    The first two coordinates come from a Gaussian whose long axis is turned by 45 degrees. The label is the side of
    that axis on which the point lies. The other coordinates say nothing, and vary more than the distance from the axis
    does. Only the difference of the first two features counts. That is easy to learn with a covariance, and hard
    without.

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
    paper, so agreement with that table is no independent test: docs/results/scw-table3.md has what was tried.

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
    check_size("n_samples", n_samples, 1)
    check_size("n_features", n_features, 2)
    check_fraction("noise", noise)
    rng = check_random_state(random_state)
    along = rng.normal(0, _LONG_AXIS, n_samples)
    across = rng.normal(0, _SHORT_AXIS, n_samples)
    X = rng.normal(0, _IRRELEVANT, (n_samples, n_features))
    X[:, 0] = (along - across) / np.sqrt(2)
    X[:, 1] = (along + across) / np.sqrt(2)
    # Computed from X and not from `across`, so that rounding cannot move a point across its separator.
    return X, flip(rng, (X[:, 1] > X[:, 0]).astype(np.int64), noise)


def make_sparse_gaussian(
    n_samples: int = 110_000,
    n_features: int = 1000,
    *,
    n_effective: int = 100,
    n_noise: int = 200,
    noise_scale: float = 100.0,
    dtype: str = "float64",
    random_state: Any = None,
) -> tuple[Any, npt.NDArray[np.int64]]:
    """A Gaussian in which few of many features decide the label.

    The first `n_effective` columns come from a Gaussian with a diagonal covariance and decide the label. They are never
    zero. Each row also has `n_noise` random ones of the other columns, drawn from a wide Gaussian. They say nothing.

    Parameters
    ----------
    n_samples : int, default=110_000
        Number of rows. Rows for training and for testing have to come from one call, since each call draws the mean and
        the covariance anew: split them, as below. The default is the paper's 100,000 and 10,000.
    n_features : int, default=1000
        Number of columns.
    n_effective : int, default=100
        Number of columns that decide the label: the first ones.
    n_noise : int, default=200
        Nonzeros of each row among the other columns.
    noise_scale : float, default=100.0
        Their standard deviation.
    dtype : {"float64", "float32"}, default="float64"
        Of the values.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features)
        The rows; indices ascend.
    y : array of shape (n_samples,)
        Labels 0 and 1, separated by a plane through the origin.

    Notes
    -----
    This is the synthetic data of section 5.2 of Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its
    applications", 2015: the means of the effective columns are uniform in [-1, 1] and their variances in [0.5, 100]. A
    model with the right `n_effective` weights has a sparsity of 90 %, where the paper's curves turn.

    The mean vector is taken for the normal of the plane, which goes through the origin, and the 100 of "N(0, 100)" for
    a standard deviation: docs/results/sol-figure1.md says why. About 8 of 10 labels are 1.

    Examples
    --------
    >>> from sureline.datasets import make_sparse_gaussian
    >>> X, y = make_sparse_gaussian(1100, random_state=0)
    >>> X.shape, X.nnz // 1100
    ((1100, 1000), 300)
    >>> X_train, X_test, y_train, y_test = X[:1000], X[1000:], y[:1000], y[1000:]
    """
    check_size("n_samples", n_samples, 1)
    check_size("n_features", n_features, 1)
    check_size("n_effective", n_effective, 1)
    check_size("n_noise", n_noise, 0)
    n_others = n_features - n_effective
    if n_noise > n_others:
        raise ValueError(
            f"n_effective and n_noise must add up to at most n_features={n_features}. "
            f"Got {n_effective} and {n_noise} instead."
        )
    if isinstance(noise_scale, bool) or not isinstance(noise_scale, Real) or not 0 < float(noise_scale) < np.inf:
        raise ValueError(f"noise_scale must be a positive number. Got {noise_scale!r} instead.")
    check_dtype(dtype)
    rng = generator(random_state)
    mean = rng.uniform(-1, 1, n_effective)
    deviation = np.sqrt(rng.uniform(0.5, 100, n_effective))
    values = np.empty((n_samples, n_effective + n_noise), dtype)
    indices = np.empty(values.shape, np.int32)
    indices[:, :n_effective] = np.arange(n_effective)
    y = np.empty(n_samples, np.int64)
    n_block = max(1, min(4096, 2**20 // (n_effective + n_noise)))  # limits the memory of the temporaries
    for start in range(0, n_samples, n_block):
        effective, noise = np.split(values[start : start + n_block], [n_effective], axis=1)
        effective[:] = mean + deviation * rng.standard_normal(effective.shape)
        noise[:] = noise_scale * rng.standard_normal(noise.shape)
        columns = n_effective + distinct_columns(rng, len(noise), n_others, n_noise)
        indices[start : start + n_block, n_effective:] = np.sort(columns, axis=1)
        # From the rounded values, so that the labels fit them.
        y[start : start + n_block] = effective.astype(np.float64) @ mean > 0
    return csr_of_equal_rows(values, indices, n_features), y
