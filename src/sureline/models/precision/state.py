"""The model of online-batch confidence-weighted learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._inputs import Array, Floats, Ints, Labels, is_sparse
from ..._native import _core
from ..model import nonzero_of
from ..numbers import SEEN, Policy, fresh_tally
from ..record import begun_anew, fresh_record
from .batch import Batch, Precision, Steps, bytes_of_weights, refuse_too_many_weights
from .span import Span, most_bytes_of_span, span_is_smaller
from .triangle import Triangle, most_bytes_of_triangle

NARROW = 512  # up to here the precision is always kept as a matrix


class PrecisionState:
    """Weights with one precision for all heads, since it depends on the rows alone. Immutable.

    ``mu[head]`` has the columns, and then the intercept if there is one. Everything is float64; `dtype` is that of
    the large matrix products.
    """

    shape = "precision"

    def __init__(
        self,
        mu: Floats,
        precision: Precision,
        tally: Ints,
        policy: Policy,
        intercept: bool,
        dtype: Any,
        record: Floats | None = None,
    ) -> None:
        self.mu = mu
        self.precision = precision
        self.tally = tally
        self.policy: Policy = policy
        self.intercept = intercept
        self.dtype = np.dtype(dtype)
        self.n_columns = mu.shape[1] - intercept
        self.record = fresh_record(int(tally[:, SEEN].sum())) if record is None else record

    @classmethod
    def fresh(cls, n_columns: int, n_classes: int, policy: Policy, intercept: bool, dtype: Any) -> PrecisionState:
        n_slots, n_heads = n_columns + intercept, n_classes if n_classes > 2 else 1
        refuse_too_many_weights(n_columns, n_heads)
        tally = fresh_tally(max(n_classes, 2))
        policy = policy if n_heads > 1 else Policy.binary
        return cls(np.zeros((n_heads, n_slots)), fresh_precision(n_slots), tally, policy, intercept, dtype)

    @property
    def n_heads(self) -> int:
        return len(self.mu)

    @property
    def nbytes(self) -> int:
        return self.mu.nbytes + self.precision.nbytes

    def after(self, X: Any, labels: Labels, C: Floats, q: int, recorded: Floats) -> PrecisionState:
        """The model after a batch: Algorithm 1. Predictions are put on record by the weights in `recorded`."""
        batch = Batch(X, labels, C, self.intercept, self.dtype, same_C=bool((C == C[0]).all()))
        precision = self.precision.absorbed(batch)
        tally, record = self.tally.copy(), self.record.copy()
        steps = Steps.of_batch(len(labels), self.n_heads)
        mu = precision.pass_over(self.mu, batch, q, self.policy, tally, steps)
        state = PrecisionState(mu, precision, tally, self.policy, self.intercept, self.dtype, record)
        # A batch is learned as a whole. A row's prediction without its label leaves out the row's own step, alpha y S
        # x, from mu, and the row from the covariance: v / (1 - C v).
        scores = state.scores(X) - steps.moves * steps.squares[:, np.newaxis]
        v = steps.squares / np.maximum(1 - C * steps.squares, 1e-3)
        variances = np.repeat(v[:, np.newaxis], self.n_heads, axis=1)
        _core.put_on_record(record, scores, variances, labels, recorded)
        return state

    def grown(self, n_columns: int, n_classes: int, policy: Policy) -> PrecisionState:
        """The state with at least that many columns and classes.

        If two classes become more, decisions stay the same. Under policy ovr both classes get the weights, each with
        its own sign. Under rival the difference of two scores decides, so each gets half of the weights.
        """
        mu, precision, tally, now, record = self.mu, self.precision, self.tally, self.policy, self.record
        if n_columns > self.n_columns:
            refuse_too_many_weights(n_columns, max(self.n_heads, n_classes if n_classes > 2 else 1))
            more = n_columns - self.n_columns
            mu = np.insert(mu, self.n_columns, np.zeros((more, 1)), axis=1)
            precision = precision.grown(self.n_columns, more) if tally.any() else fresh_precision(mu.shape[1])
        if n_classes > len(tally):
            tally = np.concatenate([tally, fresh_tally(n_classes - len(tally))])
        if n_classes > max(self.n_heads, 2):
            if now is Policy.binary:
                share = 1.0 if policy is Policy.ovr else 0.5
                mu, now = np.concatenate([-share * mu, share * mu]) + 0.0, policy
                record = begun_anew(record)
            mu = np.concatenate([mu, np.zeros((n_classes - len(mu), mu.shape[1]))])
        if mu is self.mu and tally is self.tally:
            return self
        return PrecisionState(mu, precision, tally, now, self.intercept, self.dtype, record)

    # -- answers ---------------------------------------------------------------------------------------------

    def scores(self, X: Any) -> Floats:
        weights = self.mu[:, : self.n_columns].T
        if is_sparse(X) or X.dtype == np.float64:
            scores = np.asarray(X @ weights, np.float64)
        else:  # not all of it in float64 at a time
            parts = [X[start : start + 4096].astype(np.float64) @ weights for start in range(0, len(X), 4096)]
            scores = np.concatenate([*parts, np.empty((0, self.n_heads))])
        if self.intercept:
            scores += self.mu[:, -1]
        return scores

    def variances(self, X: Any) -> Floats:
        v = self.precision.variances(X, self.intercept, self.dtype)
        return np.repeat(v[:, np.newaxis], self.n_heads, axis=1)

    def variances_beyond(self, squares: Floats) -> Floats:
        return squares[:, np.newaxis]

    # -- what a user sees ------------------------------------------------------------------------------------

    def coefficients(self) -> Floats:
        return np.roll(self.mu, 1, axis=1) if self.intercept else np.pad(self.mu, ((0, 0), (1, 0)))

    def nonzero(self) -> list[tuple[Ints, Array]]:
        return nonzero_of(self.coefficients())

    def count_nonzero(self) -> int:
        return int(np.count_nonzero(self.mu[:, : self.n_columns]))

    def intercepts(self) -> Floats:
        return self.mu[:, -1].copy() if self.intercept else np.zeros(self.n_heads)

    def intercept_variances(self) -> Floats:
        v = self.precision.variance_of(np.array([self.n_columns]))[0] if self.intercept else 1.0
        return np.full(self.n_heads, v)

    def weight_variances(self, slots: Ints, head: int) -> Floats:
        return self.precision.variance_of(np.where(slots == 0, self.n_columns, slots - 1))

    def covariance(self) -> Floats:
        """S of the columns and, last, the intercept, which has variance 1 if there is none."""
        S = self.precision.covariance()
        if self.intercept:
            return S
        whole = np.eye(self.n_columns + 1)
        whole[:-1, :-1] = S
        return whole

    def only_nonzero(self) -> PrecisionState:
        return self  # the precision is of all features together


def fresh_precision(n_slots: int) -> Precision:
    """The identity."""
    return Triangle(np.eye(n_slots, order="F")) if n_slots <= NARROW else Span(np.empty((0, n_slots)))


def most_bytes(n_slots: int, n_heads: int, n_rows: int) -> int:
    """Peak bytes of a model over that many rows, without the rows, and without blocks of some MB."""
    few = n_slots > NARROW and span_is_smaller(n_rows, n_slots)
    return bytes_of_weights(n_slots, n_heads) + (most_bytes_of_span(n_rows) if few else most_bytes_of_triangle(n_slots))
