"""Streams shaped like text or URLs: wide and sparse, with few frequent features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._draws import check_fraction, check_half, check_size, csr_of_equal_rows, distinct_ranks, flip, generator


@dataclass(frozen=True)
class StreamShape:
    """A line of table 2 of Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", 2015."""

    n_train: int
    n_test: int
    n_features: int
    n_nonzero: int  # of all rows for training
    negatives_per_positive: float

    @property
    def nonzeros_per_row(self) -> int:
        return round(self.n_nonzero / self.n_train)

    @property
    def positive(self) -> float:
        """Fraction of the labels that are 1."""
        return 1 / (1 + self.negatives_per_positive)


STREAM_SHAPES = {
    "aut": StreamShape(40_000, 22_581, 20_707, 1_969_407, 0.33),
    "pcmac": StreamShape(1_000, 946, 7_510, 55_470, 1.00),
    "news": StreamShape(10_000, 9_996, 1_355_191, 5_513_533, 1.50),
    "rcv1": StreamShape(781_265, 23_149, 47_152, 59_155_144, 1.11),
    "url": StreamShape(2_000_000, 396_130, 3_231_961, 231_249_028, 2.02),
    "webspam": StreamShape(300_000, 50_000, 16_071_971, 1_118_027_721, 0.64),
    "url2": StreamShape(1_000_000, 100_000, 3_231_961, 114_852_082, 99),
    "webspam2": StreamShape(100_000, 10_000, 16_071_971, 224_201_808, 99),
}


def make_sparse_stream(
    n_samples: int,
    n_features: int,
    n_nonzero: int,
    *,
    n_informative: int | None = None,
    positive: float | None = None,
    noise: float = 0.05,
    random_state: Any = None,
) -> tuple[Any, npt.NDArray[np.int64]]:
    """Sparse rows like those of text or URLs: few of many features each, some of them in almost every row.

    The k-th most popular feature is drawn with a probability near 1/k. Values are positive, rows have unit length, and
    the label says whether a random linear function of the informative features exceeds a threshold.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    n_features : int
        Number of columns.
    n_nonzero : int
        Nonzeros in every row; at most half of `n_features`.
    n_informative : int, default=None
        Number of features that the label depends on, popular and rare ones (the k-th most popular is one of them with a
        probability near 1/k); at most half of `n_features`. All of them if None, most of which a learner never gets
        to know.
    positive : float, default=None
        Fraction of the labels that are 1, from 0 to 1: exactly ``round(positive * n_samples)`` of them, those with the
        largest values of the linear function, before the noise and after it. If None the threshold is 0, which makes
        about half of them 1.
    noise : float, default=0.05
        Fraction of the labels that are flipped, from 0 to 1. With `positive`, this fraction of the labels of the rarer
        class changes places with as many of the other.
    random_state : int, RandomState instance or None, default=None
        Seed. The rows are the same for every `n_informative`, `positive` and `noise`.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features), float32
        The rows; indices ascend.
    y : array of shape (n_samples,)
        Labels 0 and 1.

    Examples
    --------
    >>> from sureline.datasets import make_sparse_stream
    >>> X, y = make_sparse_stream(100, 10_000, 20, random_state=0)
    >>> X.shape, X.nnz
    ((100, 10000), 2000)
    >>> X, y = make_sparse_stream(1000, 10_000, 20, positive=0.01, random_state=0)
    >>> int(y.sum())
    10
    """
    check_size("n_samples", n_samples, 1)
    check_size("n_features", n_features, 2)
    check_size("n_nonzero", n_nonzero, 1)
    check_half("n_nonzero", n_nonzero, n_features)
    if n_informative is not None:
        check_size("n_informative", n_informative, 1)
        check_half("n_informative", n_informative, n_features)
    if positive is not None:
        check_fraction("positive", positive)
    check_fraction("noise", noise)
    rng = generator(random_state)
    indices = np.empty((n_samples, n_nonzero), np.int32)
    values = np.empty((n_samples, n_nonzero), np.float32)
    # In blocks, so that the draws take little memory, whatever the width of a row.
    n_block = max(1, min(4096, 2**19 // n_nonzero))
    blocks = [slice(start, start + n_block) for start in range(0, n_samples, n_block)]
    name_of_rank = np.arange(n_features, dtype=np.int32)
    rng.shuffle(name_of_rank)
    for block in blocks:
        indices[block] = name_of_rank[distinct_ranks(rng, len(indices[block]), n_features, n_nonzero)]
        indices[block].sort(axis=1)
    for block in blocks:
        values[block] = rng.gamma(2.0, 1.0, values[block].shape)
        values[block] /= np.linalg.norm(values[block], axis=1, keepdims=True)
    X = csr_of_equal_rows(values, indices, n_features)
    weights = np.zeros(n_features, np.float32)
    if n_informative is None:
        for start in range(0, n_features, 2**19):
            part = weights[start : start + 2**19]
            part[:] = rng.standard_normal(len(part))
    else:
        informative = name_of_rank[distinct_ranks(rng, 1, n_features, n_informative)[0]]
        weights[informative] = rng.standard_normal(n_informative)
    return X, _labels(rng, X @ weights, positive, float(noise))


def make_stream_like(
    name: str,
    n_samples: int,
    *,
    n_informative: int | None = 1000,
    positive: float | None = None,
    noise: float = 0.05,
    random_state: Any = None,
) -> tuple[Any, npt.NDArray[np.int64]]:
    """A stream with the shape of a data set of the paper on sparse online learning.

    It has the width, the nonzeros per row and the share of positives of the real data. Features and labels are drawn as
    in `make_sparse_stream`.

    Parameters
    ----------
    name : {"aut", "pcmac", "news", "rcv1", "url", "webspam", "url2", "webspam2"}
        A key of `STREAM_SHAPES`, which has the numbers.
    n_samples : int
        Number of rows. Draw those for training and for testing in one call and split them: another call, with another
        seed, has another linear function. A row takes 8 bytes a nonzero, which for "webspam" is 30 kB.
    n_informative : int, default=1000
        Number of features that the label depends on; all of them if None.
    positive : float, default=None
        Fraction of the labels that are 1; that of the real data if None.
    noise : float, default=0.05
        Fraction of the labels of the rarer class that change places with as many of the other.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features), float32
        The rows; indices ascend.
    y : array of shape (n_samples,)
        Labels 0 and 1.

    Examples
    --------
    >>> from sureline.datasets import make_stream_like
    >>> X, y = make_stream_like("rcv1", 1000, random_state=0)
    >>> X.shape, X.nnz // 1000, float(y.mean())
    ((1000, 47152), 76, 0.474)
    >>> X, y = make_stream_like("url2", 1000, random_state=0)
    >>> X.shape, X.nnz // 1000, float(y.mean())
    ((1000, 3231961), 115, 0.01)
    """
    if not isinstance(name, str) or name not in STREAM_SHAPES:
        raise ValueError(f"name must be one of {', '.join(map(repr, STREAM_SHAPES))}. Got {name!r} instead.")
    shape = STREAM_SHAPES[name]
    return make_sparse_stream(
        n_samples,
        shape.n_features,
        shape.nonzeros_per_row,
        n_informative=n_informative,
        positive=shape.positive if positive is None else positive,
        noise=noise,
        random_state=random_state,
    )


def _labels(
    rng: np.random.Generator, scores: npt.NDArray[Any], positive: float | None, noise: float
) -> npt.NDArray[np.int64]:
    """1 where the score is above 0, or among the largest if the fraction of them is given; then the noise."""
    n_samples = len(scores)
    if positive is None:
        return flip(rng, (scores > 0).astype(np.int64), noise)
    n_positive = round(float(positive) * n_samples)
    y = np.zeros(n_samples, np.int64)
    order = rng.permutation(n_samples)  # among equal scores the choice is random
    y[order[np.argsort(-scores[order], kind="stable")[:n_positive]]] = 1
    n_swapped = round(noise * min(n_positive, n_samples - n_positive))
    swapped = [rng.permutation(np.flatnonzero(y == label))[:n_swapped] for label in (0, 1)]
    y[swapped[0]], y[swapped[1]] = 1, 0
    return y
