"""Seeded generators of data on which the learners differ in a known way."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
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
    paper, so agreement with that table is no independent test. Tried were 0.05, 0.1, 0.2, 0.32, 0.5, 0.7, 1, 1.4 and 2
    across the axis with 1, 1.4, 2 and 3 elsewhere. The mistakes and updates of the six learners in the table, each
    at its nearest parameter of the paper's grid, come out closest for 0.5 to 1 with 2 or 3; 0.1 and less are clearly
    worse. With 2 taken for the standard deviation, the tuned learners are closer to the table for 0.5 than for the
    literal 1, and no learner's figures are closer for a variance of 2. The length of the axis, tried from 1 to 10, makes
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
    if isinstance(noise, bool) or not isinstance(noise, Real) or not 0 <= noise <= 1:
        raise ValueError(f"noise must be a number from 0 to 1. Got {noise!r} instead.")
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


def _check_size(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}. Got {value!r} instead.")
