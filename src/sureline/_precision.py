"""The precision of a Gaussian over weights, batch by batch: P = I + sum of C_i x_i x_i', and steps along P^-1 x.

Only inner products x'P^-1 x enter the algorithm, so any factor of P will do. There are two forms, one for each side of
eq. 6 of the paper: a triangular factor of P, and for few rows of many columns the rows themselves. All matrices here
include the intercept, if there is one, as a first column of ones.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._rows import Array, is_sparse
from ._state import Policy

Floats = npt.NDArray[np.float64]

NARROW = 512  # up to here P is always kept as a matrix
_BLOCK_BYTES = 4 << 20  # of whitened rows that are worked on at a time
_TOO_LARGE = (
    "C times the squared length of the rows is too large for float64; scale X so that its values are of the order of "
    "1, and keep C moderate."
)


@dataclass(frozen=True)
class Batch:
    """Rows with what they are to count."""

    X: Any  # an array or CSR
    labels: npt.NDArray[np.int32]
    C: Floats  # of each row
    intercept: bool
    dtype: np.dtype[Any]  # of the matrix products

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_slots(self) -> int:
        return int(self.X.shape[1]) + self.intercept

    @property
    def same_C(self) -> bool:
        return bool((self.C == self.C[0]).all())

    def blocks(self, dtype: Any, size: int | None = None) -> Iterator[tuple[slice, Array]]:
        """Dense blocks of rows in C order, which the caller may overwrite. The next one is in the same memory."""
        size = size or max(64, min(_BLOCK_BYTES // (self.n_slots * np.dtype(dtype).itemsize), self.n_rows))
        memory = np.empty((min(size, self.n_rows), self.n_slots), dtype)
        for start in range(0, self.n_rows, size):
            rows = slice(start, min(start + size, self.n_rows))
            block = memory[: rows.stop - start]
            fill(block, self.X[rows], self.intercept)
            yield rows, block


def fill(block: Array, X: Any, intercept: bool) -> None:
    """Write the rows of X into a dense block, with the intercept's column of ones if there is one."""
    at = block
    if intercept:
        block[:, 0] = 1
        at = block[:, 1:]
    if is_sparse(X):
        at[:] = 0
        row_of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        at[row_of, X.indices] = X.data
    else:
        np.copyto(at, X, casting="same_kind")


def refuse_too_wide(n_slots: int) -> None:
    """Raise ValueError if a matrix of that size, and one to work with, exceed the memory of this machine."""
    need = 2 * 8 * n_slots**2
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not told on this system
        return
    if need > there:
        raise ValueError(
            f"BCW keeps the precision of all pairs of features: {n_slots} of them need {need / 2**30:.0f} GiB, more "
            "than this machine has. SBCW selects a few hundred features and keeps theirs."
        )


class Precision(ABC):
    """P in some form. Nothing changes it: a batch makes a new one."""

    @property
    @abstractmethod
    def n_slots(self) -> int: ...

    @abstractmethod
    def grown(self, n_slots: int) -> Precision:
        """With more slots, each with the precision 1 that all began with."""

    @abstractmethod
    def absorbed(self, batch: Batch) -> Precision:
        """P + sum of C_i x_i x_i'."""

    @abstractmethod
    def pass_over(self, mu: Floats, batch: Batch, q: int, policy: Policy, tally: npt.NDArray[np.int64]) -> Floats:
        """The inner loop of Algorithm 1 for a batch that was just absorbed: from mu to the new mu. Counts in tally."""

    @abstractmethod
    def variances(self, X: Any, intercept: bool, dtype: Any) -> Floats:
        """x'P^-1 x of every row."""

    @abstractmethod
    def covariance(self) -> Floats:
        """P^-1."""

    @abstractmethod
    def variance_of(self, slots: npt.NDArray[np.int64]) -> Floats:
        """Diagonal entries of P^-1."""


def fresh(n_slots: int) -> Precision:
    return Triangle(np.eye(n_slots, order="F")) if n_slots <= NARROW else Span(np.empty((0, n_slots)))


# -- the first side of eq. 6: a matrix -----------------------------------------------------------------------


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
                raise ValueError(_TOO_LARGE)
        R = np.triu(R)
        R *= np.where(R.diagonal() < 0, -1.0, 1.0)[:, np.newaxis]
        if not (R.diagonal() > 0.5).all():  # P >= I, unless that has drowned in what was added
            raise ValueError(_TOO_LARGE)
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
                raise ValueError(f"Row {rows.start + refused} of X has a score beyond float64. {_TOO_LARGE}")
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
    for rows, block in batch.blocks(dtype, size=max(1024, _BLOCK_BYTES // (batch.n_slots * dtype.itemsize))):
        if not batch.same_C:
            block *= root[rows].astype(dtype)[:, np.newaxis]
        if dtype == np.float64:
            G = syrk(1.0, block.T, beta=1.0, c=G, overwrite_c=1)
        else:
            G += syrk(1.0, block.T)
    if batch.same_C:
        G *= batch.C[0]
    return G


# -- the second side of eq. 6: rows --------------------------------------------------------------------------


class Span(Precision):
    """P = I + Z'Z for the rows of Z, each an example times sqrt(C_i). For fewer examples than features.

    With K = I + Z Z', the size of which is the number of rows, P^-1 Z' = Z'K^-1 and Z P^-1 Z' = K^-1 Z Z'.
    """

    def __init__(self, Z: Any, L: Floats | None = None) -> None:
        self.Z = Z  # an array or CSR, float64
        self._L = L  # the Cholesky factor of K, lower, once it is needed

    @property
    def n_slots(self) -> int:
        return int(self.Z.shape[1])

    def grown(self, n_slots: int) -> Precision:
        if n_slots == self.n_slots:
            return self
        if not is_sparse(self.Z):
            return Span(np.pad(self.Z, ((0, 0), (0, n_slots - self.n_slots))), self._L)
        from scipy.sparse import csr_matrix

        Z = self.Z
        return Span(csr_matrix((Z.data, Z.indices, Z.indptr), shape=(Z.shape[0], n_slots)), self._L)

    def absorbed(self, batch: Batch) -> Precision:
        if 2 * (self.Z.shape[0] + batch.n_rows) > self.n_slots:
            return self._triangle().absorbed(batch)
        root = np.sqrt(batch.C)
        if is_sparse(batch.X):
            from scipy import sparse

            X = batch.X.astype(np.float64)
            if batch.intercept:
                X = sparse.hstack([np.ones((batch.n_rows, 1)), X], format="csr")
            new = sparse.diags(root) @ X
            Z = (
                sparse.csr_matrix(new)
                if self.Z.shape[0] == 0
                else sparse.vstack([sparse.csr_matrix(self.Z), new], format="csr")
            )
        else:
            new = np.empty((batch.n_rows, self.n_slots))
            fill(new, batch.X, batch.intercept)
            new *= root[:, np.newaxis]
            old = self.Z.toarray() if is_sparse(self.Z) else self.Z
            Z = np.concatenate([old, new])
        return Span(Z)

    def _triangle(self) -> Triangle:
        refuse_too_wide(self.n_slots)
        start = Triangle(np.eye(self.n_slots, order="F"))
        if self.Z.shape[0] == 0:
            return start
        n = self.Z.shape[0]
        return start.absorbed(Batch(self.Z, np.zeros(n, np.int32), np.ones(n), False, np.dtype(np.float64)))

    def _products(self) -> Floats:
        G = self.Z @ self.Z.T
        return np.asarray(G.toarray() if is_sparse(G) else G, np.float64)

    @property
    def L(self) -> Floats:
        if self._L is None:
            from scipy.linalg import lapack

            K = self._products()
            K.flat[:: len(K) + 1] += 1
            if not np.isfinite(K).all():
                raise ValueError(_TOO_LARGE)
            L, info = lapack.dpotrf(np.asfortranarray(K), lower=1, clean=1)
            if info != 0:  # 1 has drowned in what was added
                raise ValueError(_TOO_LARGE)
            self._L = L
        return self._L

    def _solve(self, B: Floats) -> Floats:
        """K^-1 B."""
        from scipy.linalg import lapack

        solution, _ = lapack.dpotrs(self.L, B, lower=1)
        return np.asarray(solution)

    def pass_over(self, mu: Floats, batch: Batch, q: int, policy: Policy, tally: npt.NDArray[np.int64]) -> Floats:
        n = batch.n_rows
        first = self.Z.shape[0] - n  # the rows of the batch are the last
        root = np.sqrt(batch.C)
        size = 1024
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            here = slice(first + rows.start, first + rows.stop)
            Z = self.Z[here]
            products = self.Z @ Z.T
            V = self._solve(products.toarray() if is_sparse(products) else products)[here] / np.outer(
                root[rows], root[rows]
            )
            V = np.ascontiguousarray((V + V.T) / 2)
            f = np.ascontiguousarray((Z @ mu.T).T / root[rows])
            steps = np.zeros_like(f)
            refused = _core.learn_products(V, batch.labels[rows], batch.C[rows], q, f, steps, policy, tally)
            if refused >= 0:
                raise ValueError(f"Row {start + refused} of X has a score beyond float64. {_TOO_LARGE}")
            # mu += P^-1 X'(alpha y), and X is Z over sqrt(C)
            b = np.zeros((self.Z.shape[0], len(mu)))
            b[here] = (steps / root[rows]).T
            mu = mu + np.asarray(self.Z.T @ self._solve(b)).T
        return np.ascontiguousarray(mu)

    def variances(self, X: Any, intercept: bool, dtype: Any) -> Floats:
        from scipy.linalg import blas

        rows = Batch(X, np.empty(0, np.int32), np.empty(0), intercept, np.dtype(np.float64))
        v = np.empty(rows.n_rows)
        for at, block in rows.blocks(np.float64):
            np.einsum("ij,ij->i", block, block, out=v[at])
            if self.Z.shape[0]:
                along = blas.dtrsm(1.0, self.L, np.asfortranarray(self.Z @ block.T), lower=1)
                v[at] -= np.square(along).sum(axis=0)
        return np.maximum(v, 0)

    def covariance(self) -> Floats:
        refuse_too_wide(self.n_slots)
        S = np.eye(self.n_slots)
        if self.Z.shape[0]:
            Z = self.Z.toarray() if is_sparse(self.Z) else self.Z
            S -= Z.T @ self._solve(Z)
        return S

    def variance_of(self, slots: npt.NDArray[np.int64]) -> Floats:
        if self.Z.shape[0] == 0:
            return np.ones(len(slots))
        columns = self.Z[:, slots]
        Z = np.asarray(columns.toarray() if is_sparse(columns) else columns)
        return np.maximum(1 - (Z * self._solve(Z)).sum(axis=0), 0)
