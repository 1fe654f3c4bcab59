"""The first side of eq. 6: a triangular factor of the precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..._inputs import Array, Floats, Ints, is_sparse
from ..._native import _core
from ..._system import cores
from ..numbers import Policy
from .batch import TOO_LARGE, Batch, Precision, Steps, fill, refuse_too_wide

_WIDE_BLOCK = 2048  # rows at a time for BLAS, and for the core
_PART = 1 << 16


def most_bytes_of_triangle(n_slots: int) -> int:
    """Peak bytes while it absorbs a batch: the previous factor, the new one, P, and a copy."""
    return 4 * 8 * n_slots**2


class Triangle(Precision):
    """P = R'R for an upper triangular R, in Fortran order."""

    def __init__(self, R: Floats) -> None:
        self.R = R

    @property
    def n_slots(self) -> int:
        return len(self.R)

    @property
    def nbytes(self) -> int:
        return self.R.nbytes

    def grown(self, at: int, more: int) -> Triangle:
        refuse_too_wide(self.n_slots + more)
        R = np.eye(self.n_slots + more, order="F")
        old = np.delete(np.arange(len(R)), slice(at, at + more))
        R[np.ix_(old, old)] = self.R
        return Triangle(R)

    def absorbed(self, batch: Batch) -> Triangle:
        """Absorb a batch, by the cheapest way that is accurate enough.

        The Gram matrix costs N d^2 and its Cholesky factor d^3 / 3, for any number of rows; rotating the rows into R
        costs 2 N d^2, which suits few rows. It is also used if rows are so long, or C so large, that rounding would
        lose the I in P: R's condition is the square root of P's.
        """
        R = None
        if 3 * batch.n_rows >= self.n_slots:
            R = self._by_gram_matrix(batch, batch.dtype)
            if R is None and batch.dtype != np.float64:
                R = self._by_gram_matrix(batch, np.dtype(np.float64))
        return Triangle(self._by_rotations(batch) if R is None else R)

    def _by_gram_matrix(self, batch: Batch, dtype: np.dtype[Any]) -> Floats | None:
        """R of P, or None if the rounding errors of P, of the order of eps |P|, are not small against all of it."""
        from scipy.linalg import blas, lapack

        P = gram_matrix(batch, dtype)
        with np.errstate(over="ignore"):
            errors = np.linalg.norm(P) * np.finfo(dtype).eps  # of an upper triangle: within sqrt(2) of the whole
        if not np.isfinite(errors):
            return None
        if self._is_identity:
            P.flat[:: self.n_slots + 1] += 1
        else:
            P = blas.dsyrk(1.0, self.R, trans=1, beta=1.0, c=P, overwrite_c=1)
        R, info = lapack.dpotrf(P, lower=0, clean=1, overwrite_a=1)
        small_enough = 1e-8 if dtype == np.float64 else 1e-2
        if info != 0 or errors > small_enough * (1.0 if errors < small_enough else least_eigenvalue(R)):
            return None
        return R  # type: ignore[no-any-return]

    def _by_rotations(self, batch: Batch) -> Floats:
        from scipy.linalg import lapack

        R = np.array(self.R, order="F")
        for rows, block in batch.blocks(np.float64, size=max(4096, self.n_slots)):
            block *= np.sqrt(batch.C[rows])[:, np.newaxis]
            R, _, _, info = lapack.dtpqrt(
                0, min(32, self.n_slots), R, np.asfortranarray(block), overwrite_a=1, overwrite_b=1
            )
            if info != 0 or not np.isfinite(R).all():
                raise ValueError(TOO_LARGE)
        R = np.triu(R)
        R *= np.where(R.diagonal() < 0, -1.0, 1.0)[:, np.newaxis]
        if not (R.diagonal() > 0.5).all():  # P >= I, unless rounding has lost the I
            raise ValueError(TOO_LARGE)
        return np.asfortranarray(R)

    @property
    def _is_identity(self) -> bool:
        return bool((self.R.diagonal() == 1).all()) and np.count_nonzero(self.R) == self.n_slots

    @classmethod
    def sum_of(cls, parts: Sequence[Triangle], factors: Sequence[float]) -> Triangle:
        """The weighted sum of precisions, by rotations: without the rounding errors of the matrices themselves."""
        from scipy.linalg import lapack

        n = parts[0].n_slots
        R = np.asfortranarray(parts[0].R * np.sqrt(factors[0]))
        for part, factor in zip(parts[1:], factors[1:], strict=True):
            rows = np.asfortranarray(part.R * np.sqrt(factor))
            R, _, _, _ = lapack.dtpqrt(n, min(32, n), R, rows, overwrite_a=1, overwrite_b=1)
        R = np.triu(R)
        R *= np.where(R.diagonal() < 0, -1.0, 1.0)[:, np.newaxis]
        return cls(np.asfortranarray(R))

    def triangle(self) -> Triangle:
        return self

    def times(self, V: Floats) -> Floats:
        return np.asarray(self.R.T @ (self.R @ V))

    def solve(self, V: Floats) -> Floats:
        from scipy.linalg import lapack

        solution, _ = lapack.dpotrs(self.R, np.asfortranarray(V), lower=0)
        return np.asarray(solution)

    def pass_over(self, mu: Floats, batch: Batch, q: int, policy: Policy, tally: Ints, steps: Steps) -> Floats:
        from scipy.linalg import blas

        w = np.ascontiguousarray(mu @ self.R.T)
        learn = _learn_narrow if self.n_slots <= _core.WIDEST_NARROW else _learn_wide
        refused = learn(self.R, batch, q, w, policy, tally, steps)
        if refused >= 0:
            raise ValueError(f"Row {refused} of X has a score beyond float64. {TOO_LARGE}")
        return np.ascontiguousarray(blas.dtrsm(1.0, self.R, w.T).T)  # mu = R^-1 w

    def variances(self, X: Any, intercept: bool, dtype: Any) -> Floats:
        rows = Batch(X, np.empty(0, np.int32), np.empty(0), intercept, np.dtype(dtype), same_C=True)
        v = np.empty(rows.n_rows)
        for at, block in whitened(self.R, rows):
            np.einsum("ij,ij->i", block, block, out=v[at], dtype=np.float64, casting="same_kind")
        return v

    def covariance(self) -> Floats:
        W = inverse(self.R)
        S: Floats = W @ W.T
        return S

    def variance_of(self, slots: Ints) -> Floats:
        v: Floats = np.square(inverse(self.R)[slots]).sum(axis=1)
        return v


def least_eigenvalue(R: Floats) -> float:
    """The least eigenvalue of R'R, to one digit: some steps of the power method for the inverse."""
    from scipy.linalg import blas

    x = np.random.default_rng(0).standard_normal(len(R))
    growth = 1.0
    for _ in range(12):
        x = blas.dtrsv(R, blas.dtrsv(R, x / np.linalg.norm(x), trans=1))
        growth = float(np.linalg.norm(x))
    return 1 / growth


def inverse(R: Floats) -> Floats:
    """R^-1."""
    from scipy.linalg import lapack

    W: Floats = np.triu(lapack.dtrtri(R)[0])
    return W


# -- whitened rows, x^ = R'^-1 x -----------------------------------------------------------------------------


def _learn_wide(R: Floats, batch: Batch, q: int, w: Floats, policy: Policy, tally: Ints, steps: Steps) -> int:
    """Make the pass of Algorithm 1, changing w in place. Returns the first refused row, or -1."""
    for at, block in whitened(R, batch):
        moves, squares = steps.of(at)
        task = _core.BatchTask(batch.labels[at], batch.C[at], q, policy, tally, moves, squares=squares)
        refused = _core.learn_whitened(block, w, task)
        if refused >= 0:
            return int(at.start) + refused
    return -1


def _learn_narrow(R: Floats, batch: Batch, q: int, w: Floats, policy: Policy, tally: Ints, steps: Steps) -> int:
    """Make the same pass in the core, which whitens the next rows while it learns from these."""
    W = np.ascontiguousarray(inverse(R))
    padded = np.zeros((len(w), _whole_vectors(w.shape[1])))
    padded[:, : w.shape[1]] = w
    for at, X, intercept in narrow_parts(batch):
        moves, squares = steps.of(at)
        task = _core.BatchTask(batch.labels[at], batch.C[at], q, policy, tally, moves, squares=squares)
        refused = _core.learn_narrow(X, W, padded, task, intercept=intercept, n_threads=cores())
        if refused >= 0:
            return int(at.start) + refused
    w[:] = padded[:, : w.shape[1]]
    return -1


def whitened(R: Floats, rows: Batch) -> Iterator[tuple[slice, Array]]:
    """Blocks of whitened rows, in order. They share one buffer."""
    W = inverse(R)
    if len(R) <= _core.WIDEST_NARROW:
        W = np.ascontiguousarray(W)
        memory = np.empty((_PART, _whole_vectors(len(W))))
        for at, X, intercept in narrow_parts(rows):
            block = memory[: at.stop - at.start]
            _core.whiten(X, intercept, W, block)
            yield at, block
        return
    dtype = rows.dtype
    if dtype == np.float32 and np.linalg.norm(W, 1) * np.linalg.norm(R, 1) > 1e4:
        dtype = np.dtype(np.float64)  # the rounding errors grow with the condition of R
    # Multiplying by the inverse is what BLAS does best.
    factor = np.asfortranarray(W, dtype)
    multiply = blas_function("trmm", dtype)
    for at, block in rows.blocks(dtype, size=_WIDE_BLOCK):
        product = multiply(1.0, factor, block.T, trans_a=1, overwrite_b=1)  # C order is the transpose in Fortran order
        yield at, product.T


def narrow_parts(rows: Batch) -> Iterator[tuple[slice, Array, bool]]:
    """The rows where they are, or dense blocks of them; and whether an intercept is still to be put after each."""
    if not is_sparse(rows.X) and rows.n_rows <= _PART:
        yield slice(0, rows.n_rows), np.ascontiguousarray(rows.X), rows.intercept
        return
    for start in range(0, rows.n_rows, _PART):
        at = slice(start, min(start + _PART, rows.n_rows))
        X = rows.X[at]
        if is_sparse(X):
            dense = np.empty(X.shape, X.dtype)
            fill(dense, X, False)
            X = dense
        yield at, np.ascontiguousarray(X), rows.intercept


def _whole_vectors(n: int) -> int:
    return -(-n // _core.NARROW_LANES) * _core.NARROW_LANES


# -- the Gram matrix -----------------------------------------------------------------------------------------


def gram_matrix(batch: Batch, dtype: np.dtype[Any]) -> Floats:
    """The upper triangle of the sum of C_i x_i x_i', in Fortran order; products in `dtype`, their sum in float64."""
    refuse_too_wide(batch.n_slots)
    if batch.n_slots <= _core.WIDEST_NARROW:
        G = _narrow_gram_matrix(batch)
    elif batch.plain and batch.X.dtype == dtype:
        G = _gram_matrix_in_place(batch.X, batch.intercept)
    else:
        G = np.zeros((batch.n_slots, batch.n_slots), order="F")
        root = np.sqrt(batch.C)
        for rows, block in batch.blocks(dtype, size=_WIDE_BLOCK):
            if not batch.same_C:
                block *= root[rows].astype(dtype)[:, np.newaxis]
            G = _add_gram_matrix(G, block)
    if batch.same_C:
        G *= batch.C[0]
    return G


def _add_gram_matrix(G: Floats, X: Array) -> Floats:
    syrk = blas_function("syrk", X.dtype)
    if X.dtype == np.float64:
        added: Floats = syrk(1.0, X.T, beta=1.0, c=G, overwrite_c=1)
        return added
    G += syrk(1.0, X.T)
    return G


def _gram_matrix_in_place(X: Array, intercept: bool) -> Floats:
    """The Gram matrix of rows in place: float64 in one product, float32 in blocks that are summed in float64."""
    d = X.shape[1]
    G = np.zeros((d, d), order="F")
    size = len(X) if X.dtype == np.float64 else 8192
    for start in range(0, len(X), size):
        G = _add_gram_matrix(G, X[start : start + size])
    if not intercept:
        return G
    with_intercept = np.zeros((d + 1, d + 1), order="F")
    with_intercept[:d, :d] = G
    with_intercept[:d, d] = X.sum(axis=0, dtype=np.float64)
    with_intercept[d, d] = len(X)
    return with_intercept


def _narrow_gram_matrix(batch: Batch) -> Floats:
    def part(X: Array, intercept: bool) -> Floats:
        G = np.zeros((batch.n_slots, batch.n_slots))
        _core.add_gram(np.ascontiguousarray(X), intercept, G)
        return G

    if batch.plain:
        n_parts = max(1, min(cores(), batch.n_rows // 10_000))
        parts = np.array_split(batch.X, n_parts)
        with ThreadPoolExecutor(n_parts) as threads:
            G = sum(threads.map(lambda X: part(X, batch.intercept), parts))
    else:
        G, root = np.zeros((batch.n_slots, batch.n_slots)), np.sqrt(batch.C)
        for rows, block in batch.blocks(np.float64, size=4096):
            if not batch.same_C:
                block *= root[rows][:, np.newaxis]
            G += part(block, False)
    return np.asfortranarray(G)


def blas_function(name: str, dtype: np.dtype[Any]) -> Any:
    from scipy.linalg import blas

    return getattr(blas, ("s" if dtype == np.float32 else "d") + name)
