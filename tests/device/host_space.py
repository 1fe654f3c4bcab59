"""NumPy's arrays as a device space, for machines without a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sureline._inputs import Array, Labels
from sureline._native import _core
from sureline.models.device.space import Pass, Space
from sureline.models.numbers import fresh_tally


class HostSpace(Space):
    """NumPy's arrays, with the core's loop for the steps."""

    xp = np

    @contextmanager
    def here(self) -> Iterator[None]:
        with np.errstate(all="ignore"):
            yield

    def product(self, a: Any, b: Any, out: Any, beta: float = 0.0) -> None:
        out[...] = a @ b + beta * out if beta else a @ b

    def has_room(self, n_bytes: int) -> bool:
        return False

    def crossing(
        self, n: int, size: int, d: int, dtype: np.dtype[Any], fill: Callable[[Array, int], None], keep: Any = None
    ) -> Iterator[tuple[int, Any]]:
        for start in range(0, n, size):
            part = np.empty((min(size, n - start), d), dtype)
            fill(part, start)
            yield start, part

    def prepared(
        self, X: Any, scales: Any, lengths: Any, roots: Any, intercept: int, width: int, dtype: np.dtype[Any]
    ) -> Any:
        values = X
        if scales is not None:
            values = (X / np.where(scales > 0, scales, np.where(X != 0, np.abs(X), 1.0))).astype(X.dtype)
        if lengths is not None:
            values = (values / lengths[:, np.newaxis]).astype(X.dtype)
        out = np.zeros((len(X), width), dtype)
        out[:, : X.shape[1]] = values
        if intercept >= 0:
            out[:, intercept] = 1
        if roots is not None:
            out *= roots[:, np.newaxis]
        return out

    def sizes(self, X: Any) -> tuple[Any, Any]:
        return np.abs(X).sum(axis=0, dtype=np.float64), np.count_nonzero(X, axis=0).astype(np.float64)

    def steps(self, G: Any, at: slice, rows: Pass) -> None:
        n = at.stop - at.start
        f, a = np.ascontiguousarray(rows.f[:, at]), np.zeros((rows.n_heads, n))
        labels: Labels = rows.labels[at]
        tally = fresh_tally(max(rows.n_heads, 2))  # which the caller makes of the scores
        moves, squares = np.zeros((n, rows.n_heads)), rows.squares[at]
        task = _core.BatchTask(labels, rows.C[at], rows.q, rows.policy, tally, moves, squares=squares)
        _core.learn_products(np.ascontiguousarray(G[:n, :n]), f, a, task)
        rows.f[:, at], rows.a[:, at] = f, a

    def cholesky(self, P: Any) -> Any | None:
        from scipy.linalg import lapack

        R, info = lapack.dpotrf(P, lower=0, clean=1)
        return None if info else R

    def solved(self, R: Any, B: Any, *, transposed: bool = False) -> Any:
        from scipy.linalg import solve_triangular

        return solve_triangular(R, B, trans=int(transposed), check_finite=False)
