"""How sure a learner is: what the covariance of the weights says about a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .._inputs import Array
from ..models.numbers import Shape
from .learner import ClassLearner
from .one import OnlineLearner
from .parameters import Constraint, OneOf


@dataclass(eq=False, repr=False, kw_only=True)
class Gaussian(ClassLearner):
    """Base of the learners whose scores have a variance, that of the weights along the row."""

    @property
    def has_probabilities(self) -> bool:
        return True

    @property
    def has_variances(self) -> bool:
        return True

    def _positive(
        self, scores: npt.NDArray[np.float64], variances: npt.NDArray[np.float64] | None
    ) -> npt.NDArray[np.float64]:
        from scipy.special import ndtr

        assert variances is not None
        positive: npt.NDArray[np.float64] = ndtr(_ratio(scores[:, 0], np.sqrt(variances[:, 0])))
        return positive

    def probabilities(
        self, scores: npt.NDArray[np.float64], variances: npt.NDArray[np.float64] | None
    ) -> npt.NDArray[np.float64]:
        """Probability of each class under the distribution of the weights."""
        from scipy.special import ndtr

        f, v = scores, variances
        assert v is not None
        if f.shape[1] == 1:
            return self._both(self._positive(f, v))
        at = np.arange(len(f))
        best = f.argmax(axis=1)
        others = f.copy()
        others[at, best] = -np.inf
        second = others.argmax(axis=1)
        rival = np.broadcast_to(best[:, np.newaxis], f.shape).copy()
        rival[at, best] = second
        rows_at = at[:, np.newaxis]
        proba: npt.NDArray[np.float64] = ndtr(_ratio(f - f[rows_at, rival], np.sqrt(v + v[rows_at, rival])))
        proba /= proba.sum(axis=1, keepdims=True)
        return proba


class DiagonalLearner(Gaussian, OnlineLearner):
    """Base of the learners whose weights have variances: a covariance S that is diagonal."""

    def _shape(self) -> Shape:
        return Shape.diagonal

    @property
    def covariance_(self) -> Array:
        """Covariance of the weights in `coef_`.

        The variances, in the shape of `coef_`, if it is diagonal; if it is full the matrices, of shape (1, n_features,
        n_features) or (n_classes, n_features, n_features).
        """
        S = self._fitted_state("covariance_").covariance()
        return self._normalizer.per_unit(S[:, 1:], power=2) if S.ndim == 2 else self._normalizer.per_pair(S[:, 1:, 1:])

    @property
    def intercept_variance_(self) -> Array:
        """Variance of each intercept, of shape (1,) or (n_classes,)."""
        return self._fitted_state("intercept_variance_").intercept_variances()


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianLearner(DiagonalLearner):
    """Base of those whose covariance may also be full."""

    covariance: str = "diag"

    _constraints: ClassVar[dict[str, Constraint]] = {
        **OnlineLearner._constraints,
        "covariance": OneOf("diag", "full"),
    }

    def _shape(self) -> Shape:
        return Shape.full if self.covariance == "full" else Shape.diagonal


def _ratio(f: Array, std: Array) -> Array:
    """f / std, and 0 where both are 0: a row of zeros says nothing."""
    return np.divide(f, std, out=np.zeros_like(f), where=std > 0)
