"""From scores to probabilities: by the logistic function, or by the variances of scores."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .._inputs import Array, Floats, namespace_of, special_of


class Link(ABC):
    """The link from a score to a probability."""

    @abstractmethod
    def positive(self, scores: Floats, variances: Floats | None) -> Floats:
        """Probability of the positive side, for one score per row."""

    @abstractmethod
    def against_rivals(self, scores: Floats, variances: Floats | None) -> Floats:
        """Probability that each class beats its best rival; a column for each class."""

    def probabilities(self, scores: Floats, variances: Floats | None, n_classes: int) -> Floats:
        """Probability of each class; scores and variances have a column for each head."""
        if scores.shape[1] == 1:
            positive = self.positive(scores, variances)
            xp = namespace_of(scores)
            both: Floats = xp.stack([1 - positive, positive] if n_classes > 1 else [xp.ones_like(positive)], axis=1)
            return both
        proba = self.against_rivals(scores, variances)
        proba /= proba.sum(axis=1, keepdims=True)
        return proba

    def confidences(self, scores: Floats, variances: Floats | None) -> Floats:
        """Probability that the predicted class is right, against the other class or its best rival."""
        if scores.shape[1] > 1:  # the two best, as if there were no others
            xp = namespace_of(scores)
            two = xp.argpartition(-scores, 1, axis=1)[:, :2]
            at = xp.arange(len(scores))[:, np.newaxis]
            v = None if variances is None else variances[at, two].sum(axis=1, keepdims=True)
            positive = self.positive((scores[at, two[:, 0:1]] - scores[at, two[:, 1:2]]), v)
        else:
            positive = self.positive(scores, variances)
        best: Floats = namespace_of(positive).maximum(positive, 1 - positive)
        return best


class Logistic(Link):
    """1 / (1 + exp(-f)) for a score f, as the log loss has it."""

    def positive(self, scores: Floats, variances: Floats | None) -> Floats:
        positive: Floats = special_of(scores).expit(scores[:, 0])
        return positive

    def against_rivals(self, scores: Floats, variances: Floats | None) -> Floats:
        f, xp = scores, namespace_of(scores)
        rivals = xp.where(xp.eye(f.shape[1], dtype=bool), -np.inf, f[:, np.newaxis, :]).max(axis=2)
        proba: Floats = special_of(scores).expit(f - rivals)
        return proba


class Gaussian(Link):
    """Phi(f / std) for a score f, by the distribution of the weights."""

    def positive(self, scores: Floats, variances: Floats | None) -> Floats:
        assert variances is not None
        positive: Floats = special_of(scores).ndtr(_ratio(scores[:, 0], namespace_of(scores).sqrt(variances[:, 0])))
        return positive

    def against_rivals(self, scores: Floats, variances: Floats | None) -> Floats:
        f, v, xp = scores, variances, namespace_of(scores)
        assert v is not None
        at = xp.arange(len(f))
        best = f.argmax(axis=1)
        others = f.copy()
        others[at, best] = -np.inf
        second = others.argmax(axis=1)
        rival = xp.broadcast_to(best[:, np.newaxis], f.shape).copy()
        rival[at, best] = second
        rows_at = at[:, np.newaxis]
        proba: Floats = special_of(f).ndtr(_ratio(f - f[rows_at, rival], xp.sqrt(v + v[rows_at, rival])))
        return proba


def _ratio(f: Array, std: Array) -> Array:
    """f / std, and 0 where both are 0: a row of zeros says nothing."""
    if namespace_of(f) is np:
        return np.divide(f, std, out=np.zeros_like(f), where=std > 0)
    return f / namespace_of(f).where(std > 0, std, np.inf)  # type: ignore[no-any-return]


LOGISTIC, GAUSSIAN = Logistic(), Gaussian()
