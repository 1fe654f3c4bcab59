"""States of shards with a full covariance, merged into one: the rule of diagonal ones, in the form of matrices.

    w = w' + sum of a_k (w_k - w')
    P = P' + sum of b_k (P_k - P')

for the precision P = S^-1 of each head; models/merging.py has the letters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._inputs import Array, Floats
from .merging import Learned, change, merged
from .numbers import Rule
from .state import State


def merged_full(
    base: State, ends: Sequence[State], shares: Sequence[float], parts: Sequence[float], rule: Rule
) -> State:
    """The base with what shards have learned, whose states are `ends`."""
    n_columns = max(base.n_columns, *(end.n_columns for end in ends))
    begin, *after = (_widened(state, n_columns) for state in (base, *ends))
    learned = [
        Learned(change(begin, begin, end), share, part) for end, share, part in zip(after, shares, parts, strict=True)
    ]
    state = merged(begin, learned, rule, sums=False)
    assert begin.factors is not None
    assert state.factors is not None
    for head in range(base.n_heads):
        factors = [end.factors[head] for end in after if end.factors is not None]
        state.factors[head] = _merged_factor(begin.factors[head], factors, parts, n_columns + 1)
    return state


def _widened(state: State, n_columns: int) -> State:
    twin = state.copy()
    twin.widen(n_columns)
    return twin


def _merged_factor(begin: Array, ends: Sequence[Array], parts: Sequence[float], n: int) -> Array:
    if all(np.array_equal(end, begin) for end in ends):
        return begin
    before = _precision(begin, n)
    gained = np.zeros((n, n))
    for end, part in zip(ends, parts, strict=True):
        gained += part * (_precision(end, n) - before)
    return _packed(before + gained).astype(begin.dtype)


def _precision(factor: Array, n: int) -> Floats:
    """S^-1 of S = U D U', which is packed by columns."""
    from scipy.linalg import lapack

    U = np.zeros((n, n), order="F")
    U.T[np.tril_indices(n)] = factor
    D = U.diagonal().copy()
    np.fill_diagonal(U, 1.0)
    W, _ = lapack.dtrtri(U, lower=0, unitdiag=1, overwrite_c=1)
    W = np.triu(W) / np.sqrt(D)[:, np.newaxis]
    P: Floats = W.T @ W
    return P


def _packed(P: Floats) -> Floats:
    """U D U' = P^-1, packed."""
    from scipy.linalg import lapack

    R, info = lapack.dpotrf(np.asfortranarray(P), lower=0, clean=1)
    V, wrong = lapack.dtrtri(R, lower=0)
    if info != 0 or wrong != 0 or not np.isfinite(V).all():
        raise ValueError(
            "The precisions of shards add up to none that float64 can hold: scale X, or use dtype='float64'"
        )
    root = V.diagonal().copy()
    U = np.asfortranarray(V / root)
    np.fill_diagonal(U, root * root)
    factor: Floats = U.T[np.tril_indices(len(P))]
    return factor
