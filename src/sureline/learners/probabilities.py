"""From scores to probabilities: by the logistic function, or by the variances of the scores."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from .._inputs import Array

Floats = npt.NDArray[np.float64]


class Link(ABC):
    """The link from a score to a probability."""

    @abstractmethod
    def positive(self, scores: Floats, variances: Floats | None) -> Floats:
        """Probability that a score, of which there is one a row, speaks for the positive side."""

    @abstractmethod
    def against_rivals(self, scores: Floats, variances: Floats | None) -> Floats:
        """Probability that each class beats its best rival; a column for each class."""

    def probabilities(self, scores: Floats, variances: Floats | None, n_classes: int) -> Floats:
        """Probability of each class; scores and variances have a column for each head."""
        if scores.shape[1] == 1:
            positive = self.positive(scores, variances)
            return np.stack([1 - positive, positive] if n_classes > 1 else [np.ones_like(positive)], axis=1)
        proba = self.against_rivals(scores, variances)
        proba /= proba.sum(axis=1, keepdims=True)
        return proba

    def confidences(self, scores: Floats, variances: Floats | None) -> Floats:
        """Probability that the predicted class is right: rather than the other one, or than its best rival."""
        if scores.shape[1] > 1:  # the two best, as if there were no others
            two = np.argpartition(-scores, 1, axis=1)[:, :2]
            at = np.arange(len(scores))[:, np.newaxis]
            v = None if variances is None else variances[at, two].sum(axis=1, keepdims=True)
            positive = self.positive((scores[at, two[:, 0:1]] - scores[at, two[:, 1:2]]), v)
        else:
            positive = self.positive(scores, variances)
        best: Floats = np.maximum(positive, 1 - positive)
        return best


class Logistic(Link):
    """1 / (1 + exp(-f)) for a score f, as the log loss has it."""

    def positive(self, scores: Floats, variances: Floats | None) -> Floats:
        from scipy.special import expit

        positive: Floats = expit(scores[:, 0])
        return positive

    def against_rivals(self, scores: Floats, variances: Floats | None) -> Floats:
        from scipy.special import expit

        f = scores
        rivals = np.where(np.eye(f.shape[1], dtype=bool), -np.inf, f[:, np.newaxis, :]).max(axis=2)
        proba: Floats = expit(f - rivals)
        return proba


class Gaussian(Link):
    """Phi(f / std) for a score f, by the distribution of the weights."""

    def positive(self, scores: Floats, variances: Floats | None) -> Floats:
        from scipy.special import ndtr

        assert variances is not None
        positive: Floats = ndtr(_ratio(scores[:, 0], np.sqrt(variances[:, 0])))
        return positive

    def against_rivals(self, scores: Floats, variances: Floats | None) -> Floats:
        from scipy.special import ndtr

        f, v = scores, variances
        assert v is not None
        at = np.arange(len(f))
        best = f.argmax(axis=1)
        others = f.copy()
        others[at, best] = -np.inf
        second = others.argmax(axis=1)
        rival = np.broadcast_to(best[:, np.newaxis], f.shape).copy()
        rival[at, best] = second
        rows_at = at[:, np.newaxis]
        proba: Floats = ndtr(_ratio(f - f[rows_at, rival], np.sqrt(v + v[rows_at, rival])))
        return proba


def _ratio(f: Array, std: Array) -> Array:
    """f / std, and 0 where both are 0: a row of zeros says nothing."""
    return np.divide(f, std, out=np.zeros_like(f), where=std > 0)


LOGISTIC, GAUSSIAN = Logistic(), Gaussian()
