"""Wide, sparse rows whose label depends on a few groups of correlated features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ._draws import check_fraction, check_size, flip, generator


def make_correlated_groups(
    n_samples: int,
    n_features: int = 100_000,
    *,
    n_relevant: int = 100,
    group_size: int = 5,
    n_decoys: int = 400,
    correlation: float = 0.7,
    presence: float = 0.5,
    density: float = 0.005,
    noise: float = 0.05,
    random_state: Any = None,
) -> tuple[Any, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Few relevant features among very many, correlated in groups, to test feature selectors.

    The relevant columns come in groups. A row has all columns of a group or none of them; their values are normal and
    correlated. The label is the sign of a linear function of the relevant columns. Its weights are equal within a
    group; between groups they differ in sign, and in size by a factor of up to four. Decoy columns come in groups of
    the same kind but carry no information, so neither frequency nor correlation gives the relevant columns away. All
    other columns are rare, independent and irrelevant.

    Parameters
    ----------
    n_samples : int
        Number of rows. Rows for training and for testing have to come from one call, since each call draws its own
        relevant columns.
    n_features : int, default=100_000
        Number of columns.
    n_relevant : int, default=100
        Number of relevant columns, a multiple of `group_size`.
    group_size : int, default=5
        Number of columns of a group.
    n_decoys : int, default=400
        Number of decoys, a multiple of `group_size`.
    correlation : float, default=0.7
        Of two columns of a group, in the rows in which it is there.
    presence : float, default=0.5
        The part of the rows in which a group is there.
    density : float, default=0.005
        The part of the rows in which any other column is not zero.
    noise : float, default=0.05
        Fraction of the labels that are flipped: exactly ``round(noise * n_samples)`` of them.
    random_state : int, RandomState instance or None, default=None
        Seed. The rows and the relevant columns are the same for every `noise`.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features), float32
        The rows; indices ascend.
    y : array of shape (n_samples,)
        Labels 0 and 1.
    relevant : array of shape (n_relevant,)
        The relevant columns, group by group.

    Examples
    --------
    >>> from sureline.datasets import make_correlated_groups
    >>> X, y, relevant = make_correlated_groups(500, 10_000, n_relevant=20, n_decoys=20, random_state=0)
    >>> X.shape, relevant.shape
    ((500, 10000), (20,))
    >>> first_group = X[:, relevant[:5]].toarray()
    >>> bool(((first_group != 0).all(axis=1) | (first_group == 0).all(axis=1)).all())
    True
    """
    check_size("n_samples", n_samples, 1)
    check_size("n_features", n_features, 1)
    check_size("n_relevant", n_relevant, 1)
    check_size("group_size", group_size, 1)
    check_size("n_decoys", n_decoys, 0)
    for name, value in (("correlation", correlation), ("presence", presence), ("density", density), ("noise", noise)):
        check_fraction(name, value)
    for name, n in (("n_relevant", n_relevant), ("n_decoys", n_decoys)):
        if n % group_size:
            raise ValueError(f"{name} must be a multiple of group_size={group_size}. Got {n} instead.")
    n_grouped = n_relevant + n_decoys
    if n_grouped > n_features:
        raise ValueError(
            f"n_relevant and n_decoys must add up to at most n_features={n_features}. "
            f"Got {n_relevant} and {n_decoys} instead."
        )
    rng = generator(random_state)
    columns = rng.permutation(n_features).astype(np.int32)  # the first are the groups, the relevant ones before all
    n_groups = n_relevant // group_size
    weights = rng.choice([-1.0, 1.0], n_groups) * 4.0 ** -rng.random(n_groups)
    blocks, scores = [], np.empty(n_samples)
    # Limits the memory of the temporaries.
    n_block = max(1, min(4096, 2**21 // (n_grouped + int(density * n_features))))
    for start in range(0, n_samples, n_block):
        n_rows = min(n_block, n_samples - start)
        grouped = _grouped(rng, n_rows, n_grouped // group_size, group_size, float(correlation), float(presence))
        # Of the values as they are stored, so that the labels fit them.
        of_groups = grouped[:, :n_relevant].astype(np.float64).reshape(n_rows, n_groups, group_size).sum(axis=2)
        scores[start : start + n_rows] = of_groups @ weights
        blocks.append(_csr(rng, grouped, columns, float(density)))
    y = flip(rng, (scores > 0).astype(np.int64), noise)
    return sparse.vstack(blocks, format="csr"), y, columns[:n_relevant].astype(np.int64)


def _grouped(
    rng: np.random.Generator, n_rows: int, n_groups: int, size: int, correlation: float, presence: float
) -> npt.NDArray[np.float32]:
    """The columns of the groups, side by side."""
    shared = rng.standard_normal((n_rows, n_groups, 1), np.float32)
    own = rng.standard_normal((n_rows, n_groups, size), np.float32)
    values = np.float32(np.sqrt(correlation)) * shared + np.float32(np.sqrt(1 - correlation)) * own
    values[rng.random((n_rows, n_groups)) >= presence] = 0
    return values.reshape(n_rows, n_groups * size)


def _csr(
    rng: np.random.Generator, grouped: npt.NDArray[np.float32], columns: npt.NDArray[np.int32], density: float
) -> Any:
    """Rows with these values in the first columns, and random values in some others."""
    n_rows, n_grouped = grouped.shape
    n_others = len(columns) - n_grouped
    rows, places = np.nonzero(grouped)
    cells = _cells(rng, n_rows * n_others, density)
    other_rows, other_places = np.divmod(cells, max(n_others, 1))
    values = np.concatenate([grouped[rows, places], rng.standard_normal(len(cells), np.float32)])
    X = sparse.csr_matrix(
        (
            values,
            (np.concatenate([rows, other_rows]), columns[np.concatenate([places, other_places + n_grouped])]),
        ),
        shape=(n_rows, len(columns)),
    )
    X.sort_indices()
    return X


def _cells(rng: np.random.Generator, n_cells: int, density: float) -> npt.NDArray[np.int64]:
    """Choose each cell with a probability: gaps between chosen cells are geometric."""
    if density == 0 or n_cells == 0:
        return np.empty(0, np.int64)
    parts, last = [], -1
    while last < n_cells:
        n_draws = 100 + int(1.01 * density * (n_cells - last))
        parts.append(last + np.cumsum(rng.geometric(density, n_draws)))
        last = int(parts[-1][-1])
    cells = np.concatenate(parts)
    return cells[: np.searchsorted(cells, n_cells)]
