"""The second side of eq. 6: the rows that the precision is made of, for fewer examples than features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._inputs import Array, Floats, Ints, is_sparse
from ..._native import _core
from ..numbers import Policy
from .batch import TOO_LARGE, Batch, Precision, Steps, fill, refuse_too_wide
from .triangle import Triangle

_ROWS = 1024  # that are worked on at a time


def span_is_smaller(n_rows: int, n_slots: int) -> bool:
    """True if that many rows take less work than a triangle."""
    return 2 * n_rows <= n_slots


def most_bytes_of_span(n_rows: int) -> int:
    """Peak bytes for that many rows, without the rows: K and its factor, the previous one, copies, and products."""
    return 4 * 8 * n_rows * (n_rows + min(n_rows, _ROWS))


class Span(Precision):
    """P = I + Z'Z for the rows of Z, each an example times sqrt(C_i). For fewer examples than features.

    With K = I + Z Z', one row and column per example, P^-1 Z' = Z'K^-1 and Z P^-1 Z' = K^-1 Z Z'.
    """

    def __init__(self, Z: Any, L: Floats | None = None) -> None:
        self.Z = Z  # an array or CSR, float64
        self._L = L  # the Cholesky factor of K, lower, computed at first use

    @classmethod
    def of_sparse_rows(cls, values: Floats, columns: Array, starts: Array, n_slots: int) -> Span:
        from scipy.sparse import csr_matrix

        return cls(csr_matrix((values, columns, starts), shape=(len(starts) - 1, n_slots)))

    @property
    def n_slots(self) -> int:
        return int(self.Z.shape[1])

    @property
    def nbytes(self) -> int:
        parts = [self.Z.data, self.Z.indices, self.Z.indptr] if is_sparse(self.Z) else [self.Z]
        return int(sum(part.nbytes for part in parts)) + (0 if self._L is None else self._L.nbytes)

    def grown(self, at: int, more: int) -> Precision:
        Z = self.Z
        if not is_sparse(Z):
            return Span(np.insert(Z, at, np.zeros((more, 1)), axis=1), self._L)
        from scipy.sparse import csr_matrix

        columns = np.where(Z.indices >= at, Z.indices.astype(np.int64) + more, Z.indices)
        return Span(csr_matrix((Z.data, columns, Z.indptr), shape=(Z.shape[0], self.n_slots + more)), self._L)

    def absorbed(self, batch: Batch) -> Precision:
        if not span_is_smaller(self.Z.shape[0] + batch.n_rows, self.n_slots):
            return self.triangle().absorbed(batch)
        root = np.sqrt(batch.C)
        if is_sparse(batch.X):
            from scipy import sparse

            X = batch.X.astype(np.float64)
            if batch.intercept:
                X = sparse.hstack([X, np.ones((batch.n_rows, 1))], format="csr")
            new = sparse.csr_matrix(sparse.diags(root) @ X)
            new.sort_indices()
            Z = new if self.Z.shape[0] == 0 else sparse.vstack([sparse.csr_matrix(self.Z), new], format="csr")
        else:
            new = np.empty((batch.n_rows, self.n_slots))
            fill(new, batch.X, batch.intercept)
            new *= root[:, np.newaxis]
            old = self.Z.toarray() if is_sparse(self.Z) else self.Z
            Z = np.concatenate([old, new])
        return Span(Z)

    def triangle(self) -> Triangle:
        refuse_too_wide(self.n_slots)
        start = Triangle(np.eye(self.n_slots, order="F"))
        if self.Z.shape[0] == 0:
            return start
        n = self.Z.shape[0]
        return start.absorbed(
            Batch(self.Z, np.zeros(n, np.int32), np.ones(n), False, np.dtype(np.float64), same_C=True)
        )

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
                raise ValueError(TOO_LARGE)
            L, info = lapack.dpotrf(np.asfortranarray(K), lower=1, clean=1)
            if info != 0:  # rounding has lost the 1
                raise ValueError(TOO_LARGE)
            self._L = L
        return self._L

    def _solve(self, B: Floats) -> Floats:
        """K^-1 B."""
        from scipy.linalg import lapack

        solution, _ = lapack.dpotrs(self.L, B, lower=1)
        return np.asarray(solution)

    def times(self, V: Floats) -> Floats:
        return np.asarray(V + self.Z.T @ (self.Z @ V))

    def solve(self, V: Floats) -> Floats:
        return np.asarray(V - self.Z.T @ self._solve(self.Z @ V)) if self.Z.shape[0] else V

    def pass_over(self, mu: Floats, batch: Batch, q: int, policy: Policy, tally: Ints, steps: Steps) -> Floats:
        n = batch.n_rows
        first = self.Z.shape[0] - n  # the rows of the batch are the last
        root = np.sqrt(batch.C)
        for start in range(0, n, _ROWS):
            rows = slice(start, min(start + _ROWS, n))
            here = slice(first + rows.start, first + rows.stop)
            Z = self.Z[here]
            products = self.Z @ Z.T
            V = self._solve(products.toarray() if is_sparse(products) else products)[here] / np.outer(
                root[rows], root[rows]
            )
            V = np.ascontiguousarray((V + V.T) / 2)
            f = np.ascontiguousarray((Z @ mu.T).T / root[rows])
            moves = np.zeros_like(f)
            of_rows, squares = steps.of(rows)
            task = _core.BatchTask(batch.labels[rows], batch.C[rows], q, policy, tally, of_rows, squares=squares)
            refused = _core.learn_products(V, f, moves, task)
            if refused >= 0:
                raise ValueError(f"Row {start + refused} of X has a score beyond float64. {TOO_LARGE}")
            # mu += P^-1 X'(alpha y), and X is Z over sqrt(C)
            b = np.zeros((self.Z.shape[0], len(mu)))
            b[here] = (moves / root[rows]).T
            mu = mu + np.asarray(self.Z.T @ self._solve(b)).T
        return np.ascontiguousarray(mu)

    def variances(self, X: Any, intercept: bool, dtype: Any) -> Floats:
        from scipy.linalg import blas

        v = np.empty(X.shape[0])
        for at, squares, products in self._inner_products(X, intercept):
            v[at] = squares
            if self.Z.shape[0]:
                along = blas.dtrsm(1.0, self.L, np.asfortranarray(products), lower=1)
                v[at] -= np.square(along).sum(axis=0)
        return np.maximum(v, 0)

    def _inner_products(self, X: Any, intercept: bool) -> Iterator[tuple[slice, Floats, Floats]]:
        """Parts of the rows of X: slice, squared lengths, and Z X'. Sparse rows stay sparse."""
        if not (is_sparse(X) and is_sparse(self.Z)):
            rows = Batch(X, np.empty(0, np.int32), np.empty(0), intercept, np.dtype(np.float64))
            for at, block in rows.blocks(np.float64):
                yield at, np.einsum("ij,ij->i", block, block), self.Z @ block.T
            return
        n_columns = self.n_slots - intercept
        of_columns = self.Z[:, :n_columns]
        of_intercept = self.Z[:, [n_columns]].toarray() if intercept else 0.0
        for start in range(0, X.shape[0], _ROWS):
            at = slice(start, min(start + _ROWS, X.shape[0]))
            part = X[at].astype(np.float64)
            squares = np.asarray(part.multiply(part).sum(axis=1), np.float64).reshape(-1) + intercept
            yield at, squares, (of_columns @ part.T).toarray() + of_intercept

    def covariance(self) -> Floats:
        refuse_too_wide(self.n_slots)
        S = np.eye(self.n_slots)
        if self.Z.shape[0]:
            Z = self.Z.toarray() if is_sparse(self.Z) else self.Z
            S -= Z.T @ self._solve(Z)
        return S

    def variance_of(self, slots: Ints) -> Floats:
        if self.Z.shape[0] == 0:
            return np.ones(len(slots))
        columns = self.Z[:, slots]
        Z = np.asarray(columns.toarray() if is_sparse(columns) else columns)
        v: Floats = np.maximum(1 - (Z * self._solve(Z)).sum(axis=0), 0)
        return v
