"""Dense tables shaped like two well-known data sets, for use where those are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._draws import check_dtype, check_size, csr_of_equal_rows, generator

# The seed of the population that rows are drawn from, independent of the caller's seed.
_POPULATION = 20160212

_N_FACTORS = 50  # of make_epsilon
# Of make_cover_type.
_N_NUMBERS = 10
_AREAS = np.array([0.449, 0.051, 0.436, 0.064])
_SOILS = 1 / np.arange(1, 41)
_BOUNDARY = 0.295  # the score that 51 % of the rows are below


def make_epsilon(
    n_samples: int, n_features: int = 2000, *, dtype: str = "float32", random_state: Any = None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Dense rows of unit length with many weak, correlated features.

    It has the shape of "epsilon" of the Pascal large-scale learning challenge, of which 400,000 rows are for training.
    The two classes are normal with the same covariance, of which some directions are much longer than the others, and
    their means differ a little in every column; then the rows are scaled. A linear function is the best there is. It
    errs on 9.9 % of the rows where it is known, and on 10.3 % where it is learned from 50,000 rows of 2000 columns.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    n_features : int, default=2000
        Number of columns.
    dtype : {"float32", "float64"}, default="float32"
        Of X.
    random_state : int, RandomState instance or None, default=None
        Seed. The population is always the same: another seed draws other rows of it.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        The rows, drawn in place: beside this array 30 MB are needed.
    y : array of shape (n_samples,)
        Labels 0 and 1.

    Examples
    --------
    >>> from sureline.datasets import make_epsilon
    >>> X, y = make_epsilon(1000, random_state=0)
    >>> X.shape, X.dtype.name, bool(abs((X**2).sum(axis=1) - 1).max() < 1e-5)
    ((1000, 2000), 'float32', True)
    """
    check_size("n_samples", n_samples, 1)
    check_size("n_features", n_features, 1)
    check_dtype(dtype)
    scalar = np.dtype(dtype).type
    population = np.random.default_rng(_POPULATION)
    strengths = 0.2 / np.sqrt(np.arange(1, _N_FACTORS + 1))
    factors = strengths[:, np.newaxis] * population.standard_normal((_N_FACTORS, n_features))
    mean = population.choice([-1.0, 1.0], n_features) * population.uniform(0.5, 1.5, n_features)
    # mean' S^-1 mean for S = factors' factors + I makes the error of the best linear function: this is for 9.9 %.
    along = factors @ mean
    distance = mean @ mean - along @ np.linalg.solve(factors @ factors.T + np.eye(_N_FACTORS), along)
    mean *= 1.29 / np.sqrt(distance)
    mixing = np.vstack([mean, factors]).astype(scalar)

    rng = generator(random_state)
    X = np.empty((n_samples, n_features), scalar)
    y = np.empty(n_samples, np.int64)
    n_block = max(1, 2**21 // n_features)
    for start in range(0, n_samples, n_block):
        rows = X[start : start + n_block]
        labels = y[start : start + n_block]
        labels[:] = rng.integers(2, size=len(rows))
        rng.standard_normal(out=rows, dtype=scalar)
        shared = rng.standard_normal((len(rows), _N_FACTORS), scalar)
        rows += np.column_stack([(2 * labels - 1).astype(scalar), shared]) @ mixing
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
    return X, y


def make_cover_type(
    n_samples: int, *, layout: str = "dense", random_state: Any = None
) -> tuple[Any, npt.NDArray[np.int64]]:
    """A table like Covertype, with 54 columns: ten numbers, and two categories as columns of zeros and ones.

    It has the shape of "covtype" (581,012 rows; its second class against the rest): ten correlated numbers from 0 to 1,
    one of four areas and one of forty kinds of soil. Areas and soils are uneven in their frequencies and depend on the
    first number. 49 % of the labels are 1. The classes are not linear: linear functions err on 23.7 % of the rows,
    whether found by least squares or by the hinge loss. (On the real table, AROW and a linear SVM are equally good
    too.) Boosted trees err on 19.4 %.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    layout : {"dense", "csr"}, default="dense"
        Of X: an array, or a CSR matrix with 12 nonzeros a row.
    random_state : int, RandomState instance or None, default=None
        Seed. The population is always the same: another seed draws other rows of it.

    Returns
    -------
    X : array or CSR matrix of shape (n_samples, 54), float64
        The numbers in columns 0 to 9, the areas in 10 to 13, the soils in 14 to 53.
    y : array of shape (n_samples,)
        Labels 0 and 1.

    Examples
    --------
    >>> from sureline.datasets import make_cover_type
    >>> X, y = make_cover_type(1000, random_state=0)
    >>> X.shape, float(X.min()), float(X.max()), float(X[:, 10:14].sum()), float(X[:, 14:].sum())
    ((1000, 54), 0.0, 1.0, 1000.0, 1000.0)
    """
    check_size("n_samples", n_samples, 1)
    if layout not in ("dense", "csr"):
        raise ValueError(f"layout must be 'dense' or 'csr'. Got {layout!r} instead.")
    rng = generator(random_state)
    y = np.empty(n_samples, np.int64)
    numbers = np.empty((n_samples, _N_NUMBERS))
    chosen = np.empty((n_samples, 2), np.int32)
    for start in range(0, n_samples, 2**16):
        block = slice(start, start + 2**16)
        y[block], numbers[block], chosen[block] = _land(rng, len(y[block]))
    columns = np.empty((n_samples, _N_NUMBERS + 2), np.int32)
    columns[:, :_N_NUMBERS] = np.arange(_N_NUMBERS)
    columns[:, _N_NUMBERS:] = chosen
    values = np.ones(columns.shape)
    values[:, :_N_NUMBERS] = numbers
    X = csr_of_equal_rows(values, columns, _N_NUMBERS + len(_AREAS) + len(_SOILS))
    return (X.toarray() if layout == "dense" else X), y


def _land(
    rng: np.random.Generator, n_rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Labels, numbers, and the columns of the areas and soils."""
    population = np.random.default_rng(_POPULATION)
    mixing = np.tril(population.normal(0, 0.5, (_N_NUMBERS, _N_NUMBERS)), -1) + np.eye(_N_NUMBERS)
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
    choices = [(frequencies, population.standard_normal(len(frequencies))) for frequencies in (_AREAS, _SOILS)]
    of_areas, of_soils = (population.normal(0, size, n) for size, n in ((0.5, len(_AREAS)), (0.7, len(_SOILS))))
    of_numbers = population.normal(0, 0.4, _N_NUMBERS)
    of_numbers[0] = 1.0

    g = rng.standard_normal((n_rows, _N_NUMBERS)) @ mixing.T
    height = g[:, 0]
    area, soil = (_choice(rng, 0.7 * height, *choice) for choice in choices)
    score = g @ of_numbers + of_areas[area] + of_soils[soil] + rng.standard_normal(n_rows)
    score += 0.5 * (g[:, 1] * g[:, 2] + height * g[:, 5]) - 0.3 * (height**2 - 1)
    chosen = np.column_stack([_N_NUMBERS + area, _N_NUMBERS + len(_AREAS) + soil]).astype(np.int32)
    return (score > _BOUNDARY).astype(np.int64), np.clip(g / 8 + 0.5, 0, 1), chosen


def _choice(
    rng: np.random.Generator,
    height: npt.NDArray[np.float64],
    frequencies: npt.NDArray[np.float64],
    place: npt.NDArray[np.float64],
) -> npt.NDArray[np.intp]:
    """Choose a category for each row; categories near the row's height are likelier."""
    logits = np.log(frequencies) + np.outer(height, place)
    chosen: npt.NDArray[np.intp] = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return chosen
