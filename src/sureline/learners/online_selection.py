"""Online feature selection: weights for a fixed number of features, which may change along the stream.

Both learners are compared in Wu, Hoi, Mei & Yu, "Large-scale online feature selection for ultra-high dimensional sparse
data", arXiv:1409.7794. The selected features lie in a heap, with the next to leave on top. So a row costs its nonzeros,
each at most the logarithm of the number of selected features, at any width of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._inputs import Array
from .._native import _core
from ..models.numbers import Shape
from ..models.state import State
from .docstrings import COMMON, VARIANCES, documented
from .gaussian import covariance_of
from .grids import PRICES, STEPS, STEPS_TO_TRY, Settings
from .guarded import asks
from .online import OnlineLearner
from .parameters import NOT_NEGATIVE, POSITIVE, Number


def _selection_of(learner: SOFS | FOFS) -> dict[str, Any]:
    """Initial scalars for at most `n_features` features per head."""
    return {"max_nonzero": min(int(learner.n_features), 1 << 48)}


def _same_selection(learner: SOFS | FOFS, state: State) -> tuple[str, bool]:
    return "n_features", state.has_budget(_selection_of(learner)["max_nonzero"])


@documented(VARIANCES)
@dataclass(eq=False, repr=False)
class SOFS(OnlineLearner):
    """Second-order online feature selection: keeps the features whose weights have the least variance.

    Wu, Hoi, Mei & Yu, "Large-scale online feature selection for ultra-high dimensional sparse data", arXiv:1409.7794.

    AROW with a variance for each weight: where 1 - m > 0, with v = x'Sx, beta = 1 / (v + r) and alpha = (1 - m) beta,
    w_j += alpha y S_j x_j and S_j -= beta S_j^2 x_j^2 for every feature of the row. Then only the `n_features` features
    with the smallest variances keep their weights. The variance of the others goes on shrinking, so that they can come
    in.

    Exactly: the row's nonzero features that are not selected enter one after the other, in the order of their columns,
    each with the weight of this step. When there is one too many, the feature with the largest variance leaves, and its
    weight becomes zero. Of equal variances the newcomer leaves, else the last column. The intercept never leaves. A
    sample weight s makes r into r / s.

    Parameters
    ----------
    n_features : int, default=100
        How many features may have a weight other than zero, the intercept not counted. With more than two classes each
        class has a selection of its own, of that size.
    r : float, default=4.0
        The larger, the more cautious.
    {common}

    Examples
    --------
    >>> from sureline import SOFS
    >>> from sureline.datasets import make_sparse_stream
    >>> X, y = make_sparse_stream(2000, 100_000, 20, random_state=0)
    >>> sel = SOFS(n_features=50).fit(X, y)
    >>> sel.nonzero_, sel.get_support(indices=True).shape, sel.transform(X).shape
    (50, (50,), (2000, 50))
    """

    algorithm: ClassVar[str] = "second-order online feature selection"
    paper: ClassVar[str] = "Wu, Hoi, Mei & Yu, arXiv:1409.7794"
    published: ClassVar[dict[str, Any]] = {"r": 1.0}

    n_features: int = Number(1, integer=True).default(100)
    r: float = POSITIVE.default(4.0)

    has_variances: ClassVar[bool] = True
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"r": PRICES}
    settings_to_try: ClassVar[Settings] = (
        {"r": 16.0, "normalize": "scale"},
        {"r": 2.0**-5, "normalize": "none"},
        {"r": 0.125, "normalize": "none"},
        {"r": 16.0, "normalize": "none"},
    )

    def _rule(self) -> _core.Rule:
        return _core.AROW(self.r)

    def _shape(self) -> Shape:
        return Shape.diagonal

    def _initial_scalars(self) -> dict[str, Any]:
        return _selection_of(self)

    def _shaped_by(self, state: State) -> list[tuple[str, bool]]:
        return [*super()._shaped_by(state), _same_selection(self, state)]

    @asks
    def selected_columns(self) -> Array:
        """The columns that have a weight, in any class."""
        return np.unique(self.sparse_coef_.indices)

    @property
    def covariance_(self) -> Array:
        """Variances of the weights in `coef_`, in its shape."""
        return covariance_of(self)

    @property
    def intercept_variance_(self) -> Array:
        """Variance of each intercept, of shape (1,) or (n_classes,)."""
        return self._fitted_state("intercept_variance_").intercept_variances()


@documented(COMMON)
@dataclass(eq=False, repr=False)
class FOFS(OnlineLearner):
    """First-order online feature selection: keeps the features with the largest weights.

    Wang, Zhao, Hoi & Jin, "Online feature selection and its applications", IEEE TKDE 26, 2014, Algorithm 2; as FOFS in
    Wu, Hoi, Mei & Yu, arXiv:1409.7794.

    Where m = y w.x <= 1: w <- (1 - lam eta) w + eta y x, then back into the ball |w| <= 1 / sqrt(lam), then only the
    `n_features` largest |w_j| stay. Elsewhere w <- (1 - lam eta) w.

    Exactly: the row's nonzero features that are not selected enter one after the other, in the order of their columns.
    When there is one too many, the feature with the smallest |w_j| leaves, and its weight becomes zero. Of equal ones
    the newcomer leaves, else the last column. The intercept never leaves; it decays, and counts in |w|, like any other
    weight. With more than two classes and ``multi_class="native"``, |w| is that of all classes together. A sample
    weight s makes the step s eta y x; the decay stays that of one row. With ``lam=0`` there is no decay and no ball.

    Parameters
    ----------
    n_features : int, default=100
        How many features may have a weight other than zero, the intercept not counted. With more than two classes each
        class has a selection of its own, of that size.
    eta : float, default=1/32
        The learning rate. It depends on the scale of X.
    lam : float, default=0.0001
        The penalty on the squared length of w. eta lam must be less than 1.
    {common}
    """

    algorithm: ClassVar[str] = "first-order online feature selection"
    paper: ClassVar[str] = "Wang, Zhao, Hoi & Jin, IEEE TKDE 2014"
    published: ClassVar[dict[str, Any]] = {"eta": 0.2, "lam": 0.01}

    n_features: int = Number(1, integer=True).default(100)
    eta: float = POSITIVE.default(1 / 32)
    lam: float = NOT_NEGATIVE.default(0.0001)

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": STEPS}
    settings_to_try: ClassVar[Settings] = STEPS_TO_TRY

    def check_parameters(self) -> None:
        super().check_parameters()
        if not self.eta * self.lam < 1:
            raise ValueError(
                "The 'eta' and 'lam' parameters of FOFS must have a product of less than 1, since a row leaves 1 - lam "
                f"eta of the weights. Got eta={self.eta!r} and lam={self.lam!r}."
            )

    def _rule(self) -> _core.Rule:
        return _core.FOFS(self.eta, self.lam)

    def _initial_scalars(self) -> dict[str, Any]:
        return _selection_of(self)

    def _shaped_by(self, state: State) -> list[tuple[str, bool]]:
        return [*super()._shaped_by(state), _same_selection(self, state)]

    @asks
    def selected_columns(self) -> Array:
        """The columns that have a weight, in any class."""
        return np.unique(self.sparse_coef_.indices)
