"""Online learners with variances of their weights, which know how sure a score is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._inputs import Array
from ..models.numbers import Shape
from .online import OnlineLearner
from .parameters import OneOf
from .rule import RuleLearner


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianLearner(OnlineLearner):
    """Base of the learners whose weights have a covariance S, diagonal or full."""

    covariance: str = OneOf("diag", "full").default("diag")

    has_variances: ClassVar[bool] = True

    def _shape(self) -> Shape:
        shape = super()._shape()
        if shape is not Shape.identity:  # coordinate rules define their own shape
            return shape
        return Shape.full if self.covariance == "full" else Shape.diagonal

    @property
    def covariance_(self) -> Array:
        """Covariance of the weights in `coef_`.

        The variances, in the shape of `coef_`, if it is diagonal; if it is full the matrices, of shape (1, n_features,
        n_features) or (n_classes, n_features, n_features).
        """
        return covariance_of(self)

    @property
    def intercept_variance_(self) -> Array:
        """Variance of each intercept, of shape (1,) or (n_classes,)."""
        return self._fitted_state("intercept_variance_").intercept_variances()

    @property
    def intercept_covariance_(self) -> Array:
        """Covariance of each weight in `coef_` with its intercept, in the shape of `coef_`; 0 if it is diagonal."""
        S = self._fitted_state("intercept_covariance_").covariance()
        return np.zeros_like(S[:, 1:]) if S.ndim == 2 else self.normalizer.per_unit(S[:, 0, 1:])


def covariance_of(learner: RuleLearner) -> Array:
    """Covariance of the weights, in the units of X."""
    S = learner._fitted_state("covariance_").covariance()
    normalizer = learner.normalizer
    return normalizer.per_unit(S[:, 1:], power=2) if S.ndim == 2 else normalizer.per_pair(S[:, 1:, 1:])
