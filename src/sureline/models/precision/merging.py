"""States of shards of online-batch confidence-weighted learning, merged into one.

A shard with the share a of the stream counts its rows 1 / a times, so its precision gains as much as that of the whole
stream does. Merged, the gains add up exactly:

    P = P' + sum of a_k (P_k - P')
    mu = mu' + P^-1 sum of a_k P_k (mu_k - mu')

P' and mu' are those that the shards began with. Each mean counts by what its shard knows of it: a shard that never saw
a feature leaves its weight to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._inputs import is_sparse
from ..merging import merged_record
from .batch import Precision
from .span import Span, span_is_smaller
from .state import PrecisionState
from .triangle import Triangle


def merged(base: PrecisionState, ends: Sequence[PrecisionState], shares: Sequence[float]) -> PrecisionState:
    """The base with what the shards of the stream have learned. ValueError if they did not begin with this base."""
    n_columns = max(base.n_columns, *(end.n_columns for end in ends))
    begin, *after = (state.grown(n_columns, len(base.tally), base.policy) for state in (base, *ends))
    precision = _merged(begin.precision, [end.precision for end in after], shares)
    gained = np.zeros_like(begin.mu)
    for end, share in zip(after, shares, strict=True):
        gained += share * end.precision.times((end.mu - begin.mu).T).T
    mu = begin.mu + precision.solve(gained.T).T if gained.any() else begin.mu
    tally = base.tally + sum(end.tally - base.tally for end in after)
    record = merged_record(base.record, [end.record for end in after])
    return PrecisionState(np.ascontiguousarray(mu), precision, tally, base.policy, base.intercept, base.dtype, record)


def _merged(begin: Precision, ends: Sequence[Precision], shares: Sequence[float]) -> Precision:
    if isinstance(begin, Span):
        spans = [end for end in ends if isinstance(end, Span)]
        n_rows = begin.Z.shape[0]
        if any(not _same(end.Z[:n_rows], begin.Z) for end in spans):
            raise ValueError("The rows of a precision are not those that it began with")
        total = n_rows + sum(end.Z.shape[0] - n_rows for end in spans)
        if len(spans) == len(ends) and span_is_smaller(total, begin.n_slots):
            return _joined(begin, spans, shares)
    before, *triangles = (each.triangle() for each in (begin, *ends))
    if all(np.array_equal(triangle.R, before.R) for triangle in triangles):
        return begin
    return Triangle.sum_of(triangles, [share / sum(shares) for share in shares])


def _same(rows: Any, others: Any) -> bool:
    if rows.shape != others.shape:
        return False
    if is_sparse(rows) or is_sparse(others):
        return bool(abs(rows - others).max() == 0) if rows.shape[0] else True
    return np.array_equal(rows, others)


def _joined(begin: Span, ends: Sequence[Span], shares: Sequence[float]) -> Span:
    """The rows of all shards: sqrt(a) x counts a times as much as x."""
    n_rows = begin.Z.shape[0]
    new = [end.Z[n_rows:] * np.sqrt(share) for end, share in zip(ends, shares, strict=True)]
    new = [begin.Z, *(rows for rows in new if rows.shape[0])]
    if len(new) == 1:
        return begin
    if not any(is_sparse(rows) for rows in new):
        return Span(np.concatenate(new))
    from scipy import sparse

    return Span(sparse.vstack([sparse.csr_matrix(rows) for rows in new], format="csr"))
