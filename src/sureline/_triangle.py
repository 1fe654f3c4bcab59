"""The first side of eq. 6: a triangular factor of the precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core, _precision
from ._precision import TOO_LARGE, Batch, Floats, Precision, refuse_too_wide
from ._rows import Array, is_sparse
from ._state import Policy


class Triangle(Precision):
    """P = R'R for an upper triangular R, in Fortran order."""

    def __init__(self, R: Floats) -> None:
        self.R = R

    @property
    def n_slots(self) -> int:
        return len(self.R)

    def grown(self, n_slots: int) -> Triangle:
        if n_slots == self.n_slots:
            return self
        refuse_too_wide(n_slots)
        R = np.eye(n_slots, order="F")
        R[: self.n_slots, : self.n_slots] = self.R
        return Triangle(R)

    def absorbed(self, batch: Batch) -> Triangle:
        """By the cheaper way that is exact enough.

        The Gram matrix costs N d^2 and its Cholesky factor d^3 / 3, for any number of rows; rotating the rows into R
        costs 2 N d^2, so that is for few rows. It is also for rows so long, or C so large, that the I in P would drown
        in rounding errors: R has the square root of the condition of P.
        """
        R = None
        if 3 * batch.n_rows >= self.n_slots:
            R = self._by_gram_matrix(batch, batch.dtype)
            if R is None and batch.dtype != np.float64:
                R = self._by_gram_matrix(batch, np.dtype(np.float64))
        return Triangle(self._by_rotations(batch) if R is None else R)

    def _by_gram_matrix(self, batch: Batch, dtype: np.dtype[Any]) -> Floats | None:
        """R of P, or None if the rounding errors of P, of the order of eps |P|, are not small against the I in it."""
        from scipy.linalg import blas, lapack

        P = gram_matrix(batch, dtype)
        with np.errstate(over="ignore"):
            errors = np.linalg.norm(P) * np.finfo(dtype).eps  # of an upper triangle: within sqrt(2) of the whole
        if not errors < (1e-8 if dtype == np.float64 else 1e-2):
            return None
        if self._is_identity:
            P.flat[:: self.n_slots + 1] += 1
        else:
            P = blas.dsyrk(1.0, self.R, trans=1, beta=1.0, c=P, overwrite_c=1)
        R, info = lapack.dpotrf(P, lower=0, clean=1, overwrite_a=1)
        return R if info == 0 else None

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
        if not (R.diagonal() > 0.5).all():  # P >= I, unless that has drowned in what was added
            raise ValueError(TOO_LARGE)
        return np.asfortranarray(R)

    @property
    def _is_identity(self) -> bool:
        return bool((self.R.diagonal() == 1).all()) and np.count_nonzero(self.R) == self.n_slots

    def pass_over(self, mu: Floats, batch: Batch, q: int, policy: Policy, tally: npt.NDArray[np.int64]) -> Floats:
        from scipy.linalg import blas

        whiten = Whitening(self.R, batch.dtype)
        w = np.ascontiguousarray(mu @ self.R.T)
        for rows, block in batch.blocks(whiten.dtype):
            whiten(block)
            refused = _core.learn_whitened(block, batch.labels[rows], batch.C[rows], q, w, policy, tally)
            if refused >= 0:
                raise ValueError(f"Row {rows.start + refused} of X has a score beyond float64. {TOO_LARGE}")
        return np.ascontiguousarray(blas.dtrsm(1.0, self.R, w.T).T)  # mu = R^-1 w

    def variances(self, X: Any, intercept: bool, dtype: Any) -> Floats:
        whiten = Whitening(self.R, np.dtype(dtype))
        rows = Batch(X, np.empty(0, np.int32), np.empty(0), intercept, np.dtype(dtype))
        v = np.empty(rows.n_rows)
        for at, block in rows.blocks(whiten.dtype):
            whiten(block)
            np.einsum("ij,ij->i", block, block, out=v[at], dtype=np.float64, casting="same_kind")
        return v

    def covariance(self) -> Floats:
        inverse = self._inverse()
        S: Floats = inverse @ inverse.T
        return S

    def variance_of(self, slots: npt.NDArray[np.int64]) -> Floats:
        inverse = self._inverse()
        v: Floats = np.square(inverse[slots]).sum(axis=1)
        return v

    def _inverse(self) -> Floats:
        from scipy.linalg import lapack

        inverse, _ = lapack.dtrtri(self.R)
        R_inverse: Floats = np.triu(inverse)
        return R_inverse


class Whitening:
    """Rows x to x^ = R'^-1 x, in place."""

    def __init__(self, R: Floats, dtype: np.dtype[Any]) -> None:
        from scipy.linalg import blas, lapack

        # float32 where its rounding errors stay small: they grow with the condition of R.
        if dtype == np.float32 and lapack.dtrcon(R, norm="1", uplo="U")[0] < 1e-4:
            dtype = np.dtype(np.float64)
        self.dtype = dtype
        # A narrow triangle is inverted, since multiplying by one is what BLAS is better at.
        self._narrow = len(R) <= 256
        factor = np.asfortranarray(lapack.dtrtri(R)[0] if self._narrow else R, dtype)
        self._factor = factor
        single = dtype == np.float32
        if self._narrow:
            self._apply = blas.strmm if single else blas.dtrmm
        else:
            self._apply = blas.strsm if single else blas.dtrsm

    def __call__(self, block: Array) -> None:
        # The block in C order is its transpose in Fortran order. A product with a vector would be BLAS-2.
        result = self._apply(1.0, self._factor, block.T, trans_a=1, overwrite_b=1)
        if not np.shares_memory(result, block):
            block[:] = result.T


def gram_matrix(batch: Batch, dtype: np.dtype[Any]) -> Floats:
    """The upper triangle of the sum of C_i x_i x_i', in Fortran order; products in `dtype`, their sum in float64."""
    from scipy.linalg import blas

    refuse_too_wide(batch.n_slots)
    if (
        not batch.intercept
        and batch.same_C
        and dtype == np.float64
        and not is_sparse(batch.X)
        and batch.X.dtype == dtype
    ):
        whole: Floats = blas.dsyrk(float(batch.C[0]), batch.X.T)
        return whole
    G = np.zeros((batch.n_slots, batch.n_slots), order="F")
    syrk = blas.dsyrk if dtype == np.float64 else blas.ssyrk
    root = np.sqrt(batch.C)
    for rows, block in batch.blocks(dtype, size=max(1024, _precision.BLOCK_BYTES // (batch.n_slots * dtype.itemsize))):
        if not batch.same_C:
            block *= root[rows].astype(dtype)[:, np.newaxis]
        if dtype == np.float64:
            G = syrk(1.0, block.T, beta=1.0, c=G, overwrite_c=1)
        else:
            G += syrk(1.0, block.T)
    if batch.same_C:
        G *= batch.C[0]
    return G
