"""How sure a learner is: what the covariance of the weights says about a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from sklearn.utils._param_validation import StrOptions

from ._estimator import OnlineClassifier
from ._rows import Array
from ._state import Shape


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianClassifier(OnlineClassifier):
    """Base of the learners whose weights have a covariance S, diagonal or full."""

    covariance: str = "diag"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        "covariance": [StrOptions({"diag", "full"})],
    }

    def _shape(self) -> Shape:
        return "full" if self.covariance == "full" else "diagonal"

    @property
    def covariance_(self) -> Array:
        """Covariance of the weights in `coef_`.

        The variances, in the shape of `coef_`, for ``covariance="diag"``; for "full" the matrices, of shape (1,
        n_features, n_features) or (n_classes, n_features, n_features).
        """
        S = self._fitted_state("covariance_").covariance()
        return S[:, 1:] if S.ndim == 2 else S[:, 1:, 1:]

    @property
    def intercept_variance_(self) -> Array:
        """Variance of each intercept, of shape (1,) or (n_classes,)."""
        return self._fitted_state("intercept_variance_").intercept_variances()

    def decision_std(self, X: Any) -> npt.NDArray[np.float64]:
        """Standard deviation of the score, sqrt(x'Sx), in the shape of `decision_function`.

        Small where the features of the row have been seen often, whatever the score.
        """
        std: npt.NDArray[np.float64] = np.sqrt(self._judge(X, variances=True)[1])
        return std[:, 0] if std.shape[1] == 1 else std

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class under the distribution of the weights, of shape (n_samples, n_classes).

        With two classes Pr[M >= 0] = Phi(f / std) for the margin M of the second. With more, each class is compared
        with its best rival as in learning, Phi((f_k - f_rival) / sqrt(v_k + v_rival)), and the row is scaled to sum to
        one. The most probable class is always the predicted one. These are probabilities of the model, as sure as its
        covariance is; they are not calibrated on held-out data.
        """
        f: npt.NDArray[np.float64]
        f, v = self._judge(X, variances=True)
        if f.shape[1] == 1:
            positive = ndtr(_ratio(f[:, 0], np.sqrt(v[:, 0])))
            columns = [1 - positive, positive] if len(self.classes_) > 1 else [np.ones_like(positive)]
            return np.stack(columns, axis=1)
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

    def confidence(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability that the predicted label is the right one: the largest entry of each row of `predict_proba`.

        Of the model, as there: good for ranking answers by how sure they are, but not calibrated on held-out data.
        """
        proba = self.predict_proba(X)
        best: npt.NDArray[np.float64] = proba.max(axis=1)
        return best


def _ratio(f: Array, std: Array) -> Array:
    """f / std, and 0 where both are 0: a row of zeros says nothing."""
    return np.divide(f, std, out=np.zeros_like(f), where=std > 0)
