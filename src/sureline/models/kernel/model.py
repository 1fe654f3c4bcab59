"""The model of a kernel learner: examples, and how mean and covariance are made of them."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np

from ..._inputs import Array, Floats, Ints, Labels
from ..._native import _core
from ..model import nonzero_of
from ..numbers import MISTAKES, SEEN, UPDATES, Policy, fresh_tally
from ..record import begun_anew, fresh_record
from .examples import Examples
from .growing import Tail
from .kernels import Kernel, squares
from .learning import BLOCK, Block, Head, sound_variances

_AT_ONCE = 1 << 22  # kernel values that are in memory when rows are judged
Heads = list[tuple[int, int]]  # heads of a problem, with their signs


class KernelModel:
    """Weights with a Gaussian distribution in the space of a kernel. Learning makes a new model.

    For each head the mean is sum nu_p x_p and the covariance a I + sum pi_pq x_p x_q', over the examples x. All-zero
    rows of a head's pi and nu are examples that it did not move for.
    """

    shape: ClassVar[str] = "expansion"

    def __init__(self, kernel: Kernel, examples: Examples, n_classes: int, policy: Policy) -> None:
        self.kernel = kernel
        self.examples = examples
        self.n_heads = n_classes if n_classes > 2 else 1
        self.policy: Policy = policy if self.n_heads > 1 else Policy.binary
        self.tally: Ints = fresh_tally(max(n_classes, 2))
        self.heads = [Head() for _ in range(self.n_heads)]
        self.born = Tail(np.empty(0, np.int64))  # of each example, how many rows came before it
        self.begun = 0  # rows before the current block
        self.record = fresh_record()
        self._told: list[tuple[Floats, Floats, int]] = []  # predictions of the batch at hand

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

    # -- learning --------------------------------------------------------------------------------------------

    def after(self, rule: _core.Rule, X: Any, labels: Labels, weight: Floats, recorded: Floats) -> Self:
        """The model after these rows, put on record by the weights in `recorded`. Raises Refused with a position."""
        model = copy.copy(self)
        model.tally, model.record, model._told = self.tally.copy(), self.record.copy(), []
        model.heads = [copy.copy(head) for head in self.heads]
        X = self.examples.like_these(X, self.dtype)
        seen = int(model.tally[:, SEEN].sum())
        start = 0
        while start < len(labels):
            stop = min(start + BLOCK - (seen - model.begun), len(labels))
            block = Block(model, X[start:stop], seen - model.begun, start)
            for row in range(start, stop):
                try:
                    block.learn(rule, row - start, int(labels[row]), float(weight[row]))
                except _core.Refused as refused:
                    raise _core.Refused(row, refused.reason) from None
            block.store(seen)
            seen += stop - start
            if seen - model.begun == BLOCK:
                model.begun = seen
            start = stop
        if model._told:
            scores, variances, codes = (np.array(part) for part in zip(*model._told, strict=True))
            _core.put_on_record(model.record, scores, variances, codes.astype(np.int32), recorded)
            model._told = []
        return model

    def with_examples(self, examples: Examples) -> Self:
        model = copy.copy(self)
        model.examples = examples
        return model

    def grown(self, n_columns: int, n_classes: int, policy: Policy) -> Self:
        """The model with at least that many columns and classes.

        If two classes become more, decisions stay the same. Under policy ovr both classes get the weights, each with
        its own sign. Under rival the difference of two scores decides, so each gets half of the weights and of the
        covariance.
        """
        model = copy.copy(self)
        model.examples = self.examples.widened(n_columns)
        if n_classes > len(self.tally):
            more = fresh_tally(n_classes - len(self.tally))
            model.tally = np.concatenate([self.tally, more])
        if n_classes > max(self.n_heads, 2):
            model.heads = self._more_heads(n_classes, policy)
            model.begun = int(self.tally[:, SEEN].sum())  # a block has the same heads from start to end
            if self.policy is Policy.binary:
                model.policy, model.record = policy, begun_anew(self.record)
            model.n_heads = n_classes
        return model

    def _more_heads(self, n_classes: int, policy: Policy) -> list[Head]:
        heads = self.heads
        if self.policy is Policy.binary:
            share = 0.5 if policy is Policy.rival else 1.0
            heads = [self.heads[0].scaled(sign, share) for sign in (-1.0, 1.0)]
        return heads + [Head() for _ in range(n_classes - len(heads))]

    def problems(self, f: Floats, label: int) -> list[Heads]:
        """The binary problems of an example with these scores."""
        if self.policy is Policy.binary:
            return [[(0, 1 if label == 1 else -1)]]
        if self.policy is Policy.ovr:
            return [[(head, 1 if head == label else -1)] for head in range(self.n_heads)]
        others = f.copy()
        others[label] = -np.inf
        return [[(label, 1), (int(np.argmax(others)), -1)]]

    def count(self, f: Floats, v: Floats, label: int, *, moved: bool) -> None:
        """Count an example, whose scores and variances were computed before its label was known."""
        self._told.append((f, v, label))
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

    def _variances(self, K: Floats, kappa: Floats) -> Floats:
        """x'Sx for every row and head, of k with the examples and of k(x, x)."""
        v = np.empty((len(kappa), self.n_heads))
        for k, head in enumerate(self.heads):
            L = head.factor.solve(K[head.members], head.n)
            v[:, k] = head.a * sound_variances(kappa - np.einsum("ij,ij->j", L, L), kappa, head.precision)
        return v

    def _kernel_values(self, X: Any) -> Any:
        """Yield k of the examples with some rows of X, and those rows. X may be wider than the model."""
        X = self.examples.like_these(X, self.dtype)
        size = max(1, _AT_ONCE // max(self.examples.n, 1))
        examples = self.examples.widened(X.shape[1]) if not self.kernel.is_named else self.examples
        for start in range(0, X.shape[0], size):
            some = X[start : start + size]
            yield self.kernel.between(examples.rows, some, examples.squares, squares(some)), some

    # -- what a user sees ------------------------------------------------------------------------------------

    def nu(self) -> Floats:
        """The means nu, of shape (heads, examples)."""
        nu = np.zeros((self.n_heads, self.examples.n))
        for row, head in zip(nu, self.heads, strict=True):
            row[head.members] = head.factor.solve_transposed(head.z)
        return nu

    def pi(self) -> Floats:
        """The covariances pi, of shape (heads, examples, examples)."""
        n = self.examples.n
        pi = np.zeros((self.n_heads, n, n))
        for matrix, head in zip(pi, self.heads, strict=True):
            W = head.factor.solve(np.eye(head.n), head.n)
            matrix[np.ix_(head.members, head.members)] = -head.a * (W.T @ W)
        return pi

    def a(self) -> Floats:
        """The variance of an unknown direction, for each head."""
        return np.array([head.a for head in self.heads])

    def coefficients(self) -> Floats:
        """Weights with the intercept in front; of the linear kernel only."""
        self._refuse_weights()
        return np.column_stack([self.intercepts(), np.asarray(self.nu() @ self.examples.rows, np.float64)])

    def covariance(self) -> Floats:
        """S of the intercept, first, and the columns, of the linear kernel only: (heads, 1 + columns, 1 + columns)."""
        self._refuse_weights()
        X = self.examples.rows.toarray() if self.examples.is_sparse else self.examples.rows
        X = X.astype(np.float64, copy=False)
        X = np.insert(X, 0, float(self.intercept), axis=1)
        eye = np.eye(1 + self.n_columns)
        return np.stack([a * eye + X.T @ pi @ X for a, pi in zip(self.a(), self.pi(), strict=True)])

    def intercepts(self) -> Floats:
        intercepts: Floats = self.nu().sum(axis=1) * float(self.intercept)
        return intercepts

    def intercept_variances(self) -> Floats:
        """a + sum pi_pq: x'Sx of the feature that is always 1."""
        ones = np.full((self.examples.n, 1), float(self.intercept))
        variances: Floats = self._variances(ones, np.ones(1))[0]
        return variances

    def nonzero(self) -> list[tuple[Ints, Array]]:
        return nonzero_of(self.coefficients())

    def count_nonzero(self) -> int:
        return int(np.count_nonzero(self.coefficients()[:, 1:]))

    def weight_variances(self, slots: Ints, head: int) -> Floats:
        self._refuse_weights()
        variances = np.concatenate([self.intercept_variances()[[head]], self.covariance()[head].diagonal()[1:]])
        return variances[slots]

    def only_nonzero(self) -> Self:
        return self  # knowledge is about examples, not features

    def _refuse_weights(self) -> None:
        if self.kernel.kind != "linear":
            raise AttributeError(
                f"Features have weights only with kernel='linear'. With kernel={self.kernel.kind!r} the mean is a "
                "combination of examples_, with the coefficients nu_."
            )
