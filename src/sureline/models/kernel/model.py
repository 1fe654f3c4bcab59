"""The model of a kernel learner: examples, and how mean and covariance are made of them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..._inputs import Array, is_sparse
from ..._native import _core
from ..numbers import MISTAKES, SEEN, UPDATES, Policy, fresh_tally
from .growing import Tail
from .kernels import Floats, Kernel, squares

_AT_ONCE = 1 << 22  # kernel values that are in memory when rows are judged
_SUSPICIOUS = 1e-10  # of k(x, x): a variance below that may be all rounding
_RESOLUTION = 1e-12  # of k(x, x): what the errors of thousands of steps stay below
Heads = list[tuple[int, int]]  # those of a problem, with their signs


class Examples:
    """Rows that are kept, dense or sparse as the first of them came. Never changed in place, but for its room."""

    def __init__(self, rows: Any) -> None:
        self.n, self.n_columns = int(rows.shape[0]), int(rows.shape[1])
        self._sparse = rows if is_sparse(rows) else None
        self._dense = None if is_sparse(rows) else Tail(rows)
        self._squares = Tail(squares(rows))

    @classmethod
    def in_compressed_form(cls, values: Array, columns: Array, starts: Array, n_columns: int) -> Examples:
        """Sparse rows from their arrays, which whoever calls this has checked."""
        from scipy.sparse import csr_matrix

        index = np.int32 if max(n_columns, len(values)) < 2**31 else np.int64
        shape = len(starts) - 1, n_columns
        return cls(csr_matrix((values, columns.astype(index), starts.astype(index)), shape=shape))

    @property
    def is_sparse(self) -> bool:
        return self._sparse is not None

    @property
    def rows(self) -> Any:
        return self._sparse if self._dense is None else self._dense.first(self.n)

    @property
    def squares(self) -> Floats:
        return self._squares.first(self.n)

    def like_these(self, X: Any, dtype: np.dtype[Any]) -> Any:
        """X in the form and dtype of these rows, as wide as they are at least."""
        if self.is_sparse and not is_sparse(X):
            from scipy.sparse import csr_matrix

            X = csr_matrix(X)
        elif not self.is_sparse and is_sparse(X):
            X = X.toarray()
        with np.errstate(over="ignore"):
            return _wide(X.astype(dtype, copy=False), self.n_columns)

    def widened(self, n_columns: int) -> Examples:
        return self if n_columns <= self.n_columns else Examples(_wide(self.rows, n_columns))

    def appended(self, rows: Any) -> Examples:
        more = copy.copy(self)
        if self._dense is not None:
            more._dense = self._dense.appended(self.n, rows)
        else:
            from scipy.sparse import vstack

            more._sparse = vstack([self._sparse, rows], format="csr", dtype=rows.dtype)
        more._squares = self._squares.appended(self.n, squares(rows))
        more.n += rows.shape[0]
        return more

    def without(self, at: int) -> Examples:
        """The last example takes the place of the one that leaves."""
        order = np.arange(self.n - 1)
        if at < self.n - 1:
            order[at] = self.n - 1
        return Examples(self.rows[order])


class KernelModel(ABC):
    """Weights with a Gaussian distribution in the space of a kernel. Learning makes a new one of it.

    For each head the mean is sum nu_p x_p and the covariance a I + sum pi_pq x_p x_q', over the examples x. All-zero
    rows of a head's pi and nu are examples that it did not move for.
    """

    shape: ClassVar[str]

    def __init__(self, kernel: Kernel, examples: Examples, n_classes: int, policy: Policy) -> None:
        self.kernel = kernel
        self.examples = examples
        self.n_heads = n_classes if n_classes > 2 else 1
        self.policy: Policy = policy if self.n_heads > 1 else Policy.binary
        self.tally: npt.NDArray[np.int64] = fresh_tally(max(n_classes, 2))

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.examples.rows.dtype
        return dtype

    @property
    def n_columns(self) -> int:
        return self.examples.n_columns

    @property
    def intercept(self) -> bool:
        return self.kernel.intercept

    # -- what the two kinds differ in ------------------------------------------------------------------------

    @abstractmethod
    def nu(self) -> Floats:
        """Of shape (heads, examples)."""

    @abstractmethod
    def pi(self) -> Floats:
        """Of shape (heads, examples, examples)."""

    @abstractmethod
    def a(self) -> Floats:
        """The variance of a direction of which nothing is known, for each head."""

    @abstractmethod
    def _variances(self, K: Floats, kappa: Floats) -> Floats:
        """x'Sx for every row and head, of k with the examples and of k(x, x)."""

    @abstractmethod
    def _after(self, rule: _core.Rule, X: Any, labels: npt.NDArray[np.int32], weight: Floats) -> None:
        """Learn from the rows in this model, which is a copy. Raises Refused with the position of a row."""

    @abstractmethod
    def _more_heads(self, n_classes: int, policy: Policy) -> None:
        """Heads for that many classes, in this model, which is a copy."""

    # -- learning --------------------------------------------------------------------------------------------

    def after(self, rule: _core.Rule, X: Any, labels: npt.NDArray[np.int32], weight: Floats) -> Self:
        model = copy.copy(self)
        model.tally = self.tally.copy()
        model._after(rule, self.examples.like_these(X, self.dtype), labels, weight)
        return model

    def with_examples(self, examples: Examples) -> Self:
        model = copy.copy(self)
        model.examples = examples
        return model

    def grown(self, n_columns: int, n_classes: int, policy: Policy) -> Self:
        """With at least that many columns and classes.

        A model of two classes that becomes one of more decides as before: under policy ovr both have the weights,
        each with its own sign; under rival, where the difference of two scores decides, half of them and half of the
        covariance.
        """
        model = copy.copy(self)
        model.examples = self.examples.widened(n_columns)
        if n_classes > len(self.tally):
            more = fresh_tally(n_classes - len(self.tally))
            model.tally = np.concatenate([self.tally, more])
        if n_classes > max(self.n_heads, 2):
            model._more_heads(n_classes, policy)
            model.policy = policy if self.policy is Policy.binary else self.policy
            model.n_heads = n_classes
        return model

    def problems(self, f: Floats, label: int) -> list[Heads]:
        """The binary problems of an example with these scores."""
        if self.policy is Policy.binary:
            return [[(0, 1 if label == 1 else -1)]]
        if self.policy is Policy.ovr:
            return [[(head, 1 if head == label else -1)] for head in range(self.n_heads)]
        others = f.copy()
        others[label] = -np.inf
        return [[(label, 1), (int(np.argmax(others)), -1)]]

    def count(self, f: Floats, label: int, *, moved: bool) -> None:
        predicted = int(f[0] > 0) if self.policy is Policy.binary else int(np.argmax(f))
        self.tally[label, SEEN] += 1
        self.tally[label, MISTAKES] += predicted != label
        self.tally[label, UPDATES] += moved

    # -- answers ---------------------------------------------------------------------------------------------

    def scores(self, X: Any) -> Floats:
        nu = self.nu().T
        return np.concatenate([np.empty((0, self.n_heads)), *(K.T @ nu for K, _ in self._kernel_values(X))])

    def variances(self, X: Any) -> Floats:
        parts = [self._variances(K, self.kernel.diagonal(some, squares(some))) for K, some in self._kernel_values(X)]
        return np.concatenate([np.empty((0, self.n_heads)), *parts])

    def _kernel_values(self, X: Any) -> Any:
        """k of the examples with some rows of X, and those rows, again and again. X may be wider than the model."""
        X = self.examples.like_these(X, self.dtype)
        size = max(1, _AT_ONCE // max(self.examples.n, 1))
        examples = self.examples.widened(X.shape[1]) if not self.kernel.is_named else self.examples
        for start in range(0, X.shape[0], size):
            some = X[start : start + size]
            yield self.kernel.between(examples.rows, some, examples.squares, squares(some)), some

    # -- what a user sees ------------------------------------------------------------------------------------

    def coefficients(self) -> Floats:
        """Weights with the intercept in front; of the linear kernel only."""
        self._refuse_weights()
        return np.column_stack([self.intercepts(), np.asarray(self.nu() @ self.examples.rows, np.float64)])

    def covariance(self) -> Floats:
        """S of the columns, of the linear kernel only: (heads, columns, columns)."""
        self._refuse_weights()
        X = self.examples.rows.toarray() if self.examples.is_sparse else self.examples.rows
        X = X.astype(np.float64, copy=False)
        eye = np.eye(self.n_columns)
        return np.stack([a * eye + X.T @ pi @ X for a, pi in zip(self.a(), self.pi(), strict=True)])

    def intercepts(self) -> Floats:
        intercepts: Floats = self.nu().sum(axis=1) * float(self.intercept)
        return intercepts

    def intercept_variances(self) -> Floats:
        """a + sum pi_pq: x'Sx along the feature that is always 1."""
        ones = np.full((self.examples.n, 1), float(self.intercept))
        variances: Floats = self._variances(ones, np.ones(1))[0]
        return variances

    def nonzero(self) -> list[tuple[npt.NDArray[np.int64], Array]]:
        heads = []
        for weights in self.coefficients():
            slots = np.flatnonzero(weights)
            heads.append((slots, weights[slots]))
        return heads

    def count_nonzero(self) -> int:
        return int(np.count_nonzero(self.coefficients()[:, 1:]))

    def weight_variances(self, slots: npt.NDArray[np.int64], head: int) -> Floats:
        self._refuse_weights()
        variances = np.concatenate([self.intercept_variances()[[head]], self.covariance()[head].diagonal()])
        return variances[slots]

    def only_nonzero(self) -> Self:
        return self  # what is known is of the examples, not of features

    def _refuse_weights(self) -> None:
        if self.kernel.kind != "linear":
            raise AttributeError(
                f"Features have weights only with kernel='linear'. With kernel={self.kernel.kind!r} the mean is a "
                "combination of examples_, with the coefficients nu_."
            )


def sound_variance(v: float, kappa: float, precision: float) -> float:
    """x'Sx / a, which was computed as a difference from k(x, x) = kappa, kept from what rounding may do to it.

    S^-1 a is I + sum c_t x_t x_t' over all steps so far, c = beta / (1 - beta x'Sx), of which no eigenvalue exceeds
    `precision` = 1 + sum c_t k(x_t, x_t). So x'Sx / a is at least kappa / precision, which is never 0.
    """
    return v if v > _SUSPICIOUS * kappa else max(v, kappa / precision)


def sound_variances(v: Floats, kappa: Floats, precision: float) -> Floats:
    return np.where(v > _SUSPICIOUS * kappa, v, np.maximum(v, kappa / precision))


def sound_beta(beta: float, kappa: float) -> float:
    """beta, held below what would magnify rounding errors: x'Sy is known to some 1e-16 k(x, x), and beta its square."""
    return min(beta, 1 / (_RESOLUTION * kappa))


def step_of(rule: _core.Rule, m: float, v: float, s: float) -> _core.Step | None:
    """The step for margin m, variance v and weight s; None if it moves nothing. ValueError if there is no number."""
    if not (np.isfinite(m) and np.isfinite(v)):
        raise _core.Refused(-1, _core.Reason.score)
    if not v > 0:  # a row of zeros
        return None
    step = rule.step(m, v, weight=s)
    if step.alpha == 0 and step.beta == 0:
        return None
    if not (np.isfinite(step.alpha) and 0 < step.beta < np.inf and np.isfinite(step.u)):
        raise _core.Refused(-1, _core.Reason.step)
    return step


def _wide(X: Any, n_columns: int) -> Any:
    if X.shape[1] >= n_columns:
        return X
    if not is_sparse(X):
        return np.pad(X, ((0, 0), (0, n_columns - X.shape[1])))
    from scipy.sparse import csr_matrix

    return csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_columns))
