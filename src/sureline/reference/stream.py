"""Predict, count, learn: the protocol around a learner, one example at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def problems(f: Array, label: int, multi_class: str) -> list[dict[int, int]]:
    """The binary problems of an example with these scores: heads with their signs."""
    if len(f) == 1:
        return [{0: 1 if label == 1 else -1}]
    if multi_class == "ovr":
        return [{head: 1 if head == label else -1} for head in range(len(f))]
    others = f.copy()
    others[label] = -np.inf
    return [{label: 1, int(np.argmax(others)): -1}]


class Learner(ABC):
    """A linear classifier with weights w and covariance S, once or for each class.

    A problem is always binary: heads with signs. Two classes are one head with the sign of the label. More classes are
    either one problem over all heads, in which the true class has the sign + and its best rival the sign -, or
    (multi_class="ovr") a problem for each class against the rest. A problem's margin m is the signed sum of its heads'
    scores, its variance v the sum of their variances.

    With `average` the predictions, those that are counted too, are made with the average of w_1, ..., w_t, where w_t is
    w after the t-th example. True weighs all of them the same. A number is a half-life: w_t counts half as much as the
    weights that many examples later. Learning goes on from w itself.
    """

    covariance: str | None = None  # None: S is the identity

    def __init__(
        self, *, fit_intercept: bool = True, multi_class: str = "native", average: bool | float = False
    ) -> None:
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.average = average

    def start(self, n_heads: int, d: int) -> None:
        """w = 0, S = I."""
        self.w = np.zeros((n_heads, d))
        self.S = np.ones((n_heads, d)) if self.covariance != "full" else np.tile(np.eye(d), (n_heads, 1, 1))

    def receive(self, x: Array, s: float) -> None:  # noqa: B027 (few do anything before they know the label)
        """Learn from x, of weight s, all that needs no label."""

    @abstractmethod
    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        """Learn from x, which has weight s, with the given signs of the heads. True if anything changed."""

    def Sx(self, head: int, x: Array) -> Array:
        S: Array = self.S[head]
        return S @ x if self.covariance == "full" else S * x

    def margin(self, x: Array, heads: dict[int, int]) -> float:
        w = self.weights()
        return float(sum(sign * (w[head] @ x) for head, sign in heads.items()))

    def variance(self, x: Array, heads: dict[int, int]) -> float:
        return float(sum(x @ self.Sx(head, x) for head in heads))

    def shrink(self, x: Array, head: int, beta: float) -> None:
        """S -= beta (S x)(S x)', or the diagonal of that."""
        g = self.Sx(head, x)
        self.S[head] -= beta * (np.outer(g, g) if self.covariance == "full" else g * g)

    def run(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X in their order. Sets coef_, intercept_, covariance_ and the counters.

        class_seen_ and class_mistakes_ count by the label, in the order of classes_; scores_ has the scores that each
        example was predicted by, examples of weight 0 left out.
        """
        X, y = np.asarray(X, float), np.asarray(y)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        X = np.column_stack([np.full(len(X), float(self.fit_intercept)), X])  # the intercept is an always-1 feature
        self.classes_ = np.unique(y)
        n_classes = len(self.classes_)
        n_heads = 1 if n_classes == 2 else n_classes
        alone = n_classes > 2 and self.multi_class == "ovr"
        # Each problem has its own memory, so one against the rest is as many learners.
        learners: list[Learner] = [self._twin() for _ in range(n_heads)] if alone else [self]
        for learner in learners:
            learner.start(1 if alone else n_heads, X.shape[1])
        self.n_seen_ = self.n_mistakes_ = self.n_updates_ = 0
        self.class_seen_, self.class_mistakes_ = np.zeros(n_classes, int), np.zeros(n_classes, int)
        averaged = self.average is not False
        kappa = 2 ** (-1 / self.average) if averaged and self.average is not True else 1.0
        sum_of_w, total = np.zeros((n_heads, X.shape[1])), 0.0  # sum of kappa^(t - n) w_n, and of kappa^(t - n)
        w_bar = np.zeros_like(sum_of_w)
        scores = []
        for x, label, s in zip(X, np.searchsorted(self.classes_, y), weights, strict=True):
            if s == 0:
                continue
            for learner in learners:
                learner.receive(x, s)
            f = np.concatenate([learner.weights() @ x for learner in learners])
            answer = w_bar @ x if averaged else f
            predicted = int(answer[0] > 0) if n_classes == 2 else int(np.argmax(answer))
            scores.append(answer)
            self.n_seen_ += 1
            self.n_mistakes_ += int(predicted != label)
            self.class_seen_[label] += 1
            self.class_mistakes_[label] += int(predicted != label)
            if alone:
                moves = [learner.turn(x, {0: 1 if k == label else -1}, s) for k, learner in enumerate(learners)]
            else:
                moves = [self.turn(x, heads, s) for heads in problems(f, int(label), "native")]
            self.n_updates_ += int(any(moves))
            if averaged:
                sum_of_w = kappa * sum_of_w + np.concatenate([learner.weights() for learner in learners])
                total = kappa * total + 1
                w_bar = sum_of_w / total
        w = w_bar if averaged else np.concatenate([learner.weights() for learner in learners])
        S = np.concatenate([learner.S for learner in learners])
        self.coef_, self.intercept_ = w[:, 1:], w[:, 0]
        self.scores_ = np.array(scores).reshape(self.n_seen_, n_heads)
        if self.covariance is not None:
            self.covariance_ = S[:, 1:] if S.ndim == 2 else S[:, 1:, 1:]
            self.intercept_variance_ = S[:, 0] if S.ndim == 2 else S[:, 0, 0]
        return self

    def weights(self) -> Array:
        return self.w

    def _twin(self) -> Learner:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin


class MarginLearner(Learner):
    """w += alpha y S x and S -= beta (S x)(S x)', with coefficients that depend on margin and variance alone."""

    @abstractmethod
    def coefficients(self, m: float, v: float, s: float) -> tuple[float, float]:
        """alpha and beta for margin m, variance v and weight s; (0, 0) for no step."""

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        m, v = self.margin(x, heads), self.variance(x, heads)
        if v == 0:  # a row of zeros
            return False
        alpha, beta = self.coefficients(m, v, s)
        if alpha == 0 and beta == 0:
            return False
        for head, sign in heads.items():
            self.w[head] += alpha * sign * self.Sx(head, x)
            self.shrink(x, head, beta)
        return True
