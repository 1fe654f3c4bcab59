"""Kernels: inner products of rows in an implicit space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._inputs import Floats, is_sparse

KERNELS = ("linear", "rbf", "poly")


@dataclass(frozen=True)
class Kernel:
    """k(a, b), plus 1 with an intercept, a feature that is always 1.

    linear: a.b; rbf: exp(-gamma |a - b|^2); poly: (gamma a.b + coef0)^degree; or a function of two matrices of rows
    that returns k of every row of the one with every row of the other.
    """

    kind: str | Callable[[Any, Any], Any]
    gamma: float
    degree: int
    coef0: float
    intercept: bool

    @property
    def is_named(self) -> bool:
        return isinstance(self.kind, str)

    def between(self, A: Any, B: Any, a2: Floats, b2: Floats) -> Floats:
        """k of all rows of A with all rows of B, whose squared lengths are a2 and b2; not finite where it overflows.

        The narrower one counts as zero in missing columns.
        """
        if callable(self.kind):
            K = self._called(A, B)
        else:
            width = min(A.shape[1], B.shape[1])
            K = products(A[:, :width] if A.shape[1] > width else A, B[:, :width] if B.shape[1] > width else B)
            if self.kind == "rbf":
                K *= 2
                K -= a2[:, np.newaxis]
                K -= b2
                np.minimum(K, 0, out=K)
                K *= self.gamma
                np.exp(K, out=K)
            elif self.kind == "poly":
                K *= self.gamma
                K += self.coef0
                K **= self.degree
        if self.intercept:
            K += 1
        return K

    def within(self, X: Any, x2: Floats) -> Floats:
        """k of all rows of X with each other. The diagonal comes from `diagonal`."""
        K = self.between(X, X, x2, x2)
        if self.is_named:
            np.fill_diagonal(K, self.diagonal(X, x2))
        elif not np.allclose(K, K.T, rtol=1e-7, atol=1e-9 * float(np.abs(K).max(initial=0))):
            raise ValueError(
                "The function passed as kernel is not symmetric: k(a, b) is not k(b, a) for all rows of X."
            )
        return K

    def diagonal(self, X: Any, x2: Floats) -> Floats:
        """k of each row with itself."""
        match self.kind:
            case "linear":
                k = x2.copy()
            case "rbf":
                k = np.ones(len(x2))
            case "poly":
                k = (self.gamma * x2 + self.coef0) ** self.degree
            case _:
                some = range(0, len(x2), 32)
                parts = [self._called(X[i : i + 32], X[i : i + 32]).diagonal() for i in some]
                k = np.concatenate([*parts, np.empty(0)])
        return k + 1 if self.intercept else k

    def _called(self, A: Any, B: Any) -> Floats:
        """The function's return value, checked."""
        assert callable(self.kind)
        expected = A.shape[0], B.shape[0]
        if 0 in expected:
            return np.zeros(expected)
        returned = self.kind(A, B)
        if np.iscomplexobj(returned):
            raise ValueError("The function passed as kernel must return real numbers. Got complex ones.")
        wrong = f"The function passed as kernel must return finite numbers in an array of shape {expected}, a row for "
        wrong += "each row of its first argument and a column for each row of its second. Got "
        try:
            K = np.array(returned.toarray() if is_sparse(returned) else returned, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{wrong}{type(returned).__name__} instead.") from None
        if K.shape != expected:
            raise ValueError(f"{wrong}shape {K.shape} instead.")
        if not np.isfinite(K).all():
            raise ValueError(f"{wrong}{K[~np.isfinite(K)][0]} among them.")
        return K


def products(A: Any, B: Any) -> Floats:
    """a.b for all rows of A and B, in float64. Sparse rows are multiplied as such."""
    if not is_sparse(A) and not is_sparse(B):
        dense: Floats = A.astype(np.float64, copy=False) @ B.astype(np.float64, copy=False).T
        return dense
    product = A.astype(np.float64) @ B.T.astype(np.float64)
    return np.ascontiguousarray(product.toarray() if is_sparse(product) else product, dtype=np.float64)


def squares(X: Any) -> Floats:
    """|x|^2 of every row, in float64."""
    if not is_sparse(X):
        X = X.astype(np.float64, copy=False)
        dense: Floats = np.einsum("ij,ij->i", X, X)
        return dense
    X = X.astype(np.float64)
    return np.asarray(X.multiply(X).sum(axis=1), np.float64).reshape(-1)
