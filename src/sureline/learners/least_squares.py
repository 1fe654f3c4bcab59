"""Least squares along a stream."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from .._inputs import Array, Floats
from .._native import _core
from ..models.numbers import NORM2, Shape
from ..models.state import State
from .docstrings import REGRESSION, documented
from .gaussian import covariance_of
from .guarded import asks
from .parameters import POSITIVE, OneOf
from .regression import TargetLearner

WIDEST_FULL = 20_000  # at this many columns the covariance takes 1.6 GB


@documented(
    """covariance : {{"full", "diag"}}, default="full"
        Shape of the covariance of the weights: the whole matrix, which is exact and takes memory and time that grow
        with the square of the number of features, or a variance per weight, for more than some thousand features.
    """
    + REGRESSION
    + """
    noise_variance_ : float
        Estimated variance of a target around its prediction by the right weights.
    covariance_ : array of shape (n_features,), or (n_features, n_features) if full
        Covariance of the weights, times `noise_variance_` / r.
    intercept_variance_ : float
        Variance of the intercept, in the same unit."""
)
@dataclass(eq=False, repr=False)
class AROWRegressor(TargetLearner):
    """AROW for regression: recursive least squares, or Bayesian ridge regression along a stream.

    Vaits & Crammer, "Re-adapting the regularization of weights for non-stationary regression", ALT 2011, where it is
    called AROWR.

    With e = y - w.x and beta = 1 / (r + x'Sx): w += beta e S x and S -= beta (S x)(S x)'. S starts as the identity.
    With a full covariance w is after each row the ridge regression of all rows so far with the penalty r |w|^2,
    whatever their order: one pass is all that it takes. A diagonal covariance forgets how features go together.

    `predict` can return the standard deviation of each target: that of the noise and that of the weights. The noise is
    estimated by the residuals of predictions that preceded their targets.

    `fit` divides features by their mean size in all rows of X; `partial_fit` and streams by that so far, which costs
    accuracy on the first hundreds of rows.

    Parameters
    ----------
    r : float, default=0.1
        The penalty: the larger, the smaller the weights.
    {common}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sureline import AROWRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AROWRegressor().fit(X[:300], y[:300])
    >>> round(model.score(X[300:], y[300:]), 2)
    0.51
    >>> prediction, std = model.predict(X[300:], return_std=True)
    >>> bool(0.9 < (abs(y[300:] - prediction) < 2 * std).mean() < 1)
    True
    """

    algorithm: ClassVar[str] = "AROW for numbers: recursive least squares, with standard deviations"
    paper: ClassVar[str] = "Vaits & Crammer, ALT 2011"
    published: ClassVar[dict[str, Any]] = {"r": 1.0, "scale_target": False}

    r: float = POSITIVE.default(0.1)
    covariance: str = OneOf("full", "diag").default("full", kw_only=True)

    scales_at_once: ClassVar[bool] = True
    stream_dtype: ClassVar[str] = "float64"

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.average is not False:
            raise ValueError(
                "AROWRegressor predicts with its last weights, which are the best for all rows so far: average must be "
                f"False. Got {self.average!r} instead."
            )

    def _rule(self) -> _core.Rule:
        return _core.AROWR(self.r)

    def _shape(self) -> Shape:
        return Shape.full if self.covariance == "full" else Shape.diagonal

    def fresh_state(self, n_columns: int, n_classes: int = 1) -> State:
        if self.covariance == "full" and n_columns > WIDEST_FULL:
            raise ValueError(
                f"AROWRegressor with covariance='full' takes up to {WIDEST_FULL:,} columns, since it holds the "
                f"covariance of all pairs; covariance='diag' takes any number. Got {n_columns:,} columns."
            )
        return super().fresh_state(n_columns, n_classes)

    @property
    @asks
    def total_loss(self) -> float:
        return float(self._fitted_state("progressive_loss_").memory[0, _core.MemoryColumn.c.value])

    @property
    def noise_variance_(self) -> float:
        """Estimated variance of the noise: mean squared residual, corrected for the uncertainty of the weights."""
        squares = float(self._fitted_state("noise_variance_").memory[0, NORM2])
        return squares / max(self.n_updates_, 1)

    def standard_deviations(self, variances: Floats) -> Floats:
        """Standard deviations of targets, from the variances x'Sx of their rows."""
        return np.sqrt(self.noise_variance_ * (1 + variances[:, 0] / self.r))

    @property
    def covariance_(self) -> Array:
        """Covariance of the weights in `coef_`, times `noise_variance_` / r."""
        S: Array = covariance_of(self)[0] * (self.noise_variance_ / self.r)
        return S

    @property
    def intercept_variance_(self) -> float:
        """Variance of the intercept, in the same unit."""
        return float(self._fitted_state("intercept_variance_").intercept_variances()[0]) * self.noise_variance_ / self.r

    @asks
    def predict_std_one(self, x: Any) -> float | None:
        """The standard deviation of the target of one example, given as to `learn_one`; None before the first."""
        if not hasattr(self, "_state"):
            return None
        from .one import compressed

        variances = self._judge_rows(*compressed(self, x), variances=True)[1]
        assert variances is not None
        return sqrt(self.noise_variance_ * (1 + float(variances[0, 0]) / self.r))
