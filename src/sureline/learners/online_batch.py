"""Online-batch confidence-weighted learning: second-order accuracy on tables and embeddings, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._inputs import Array, is_sparse
from ..models.numbers import Policy
from ..models.precision.state import PrecisionState
from .batch import BatchLearner, Labels, Weights, checked_rows
from .docstrings import BATCH, documented
from .grids import PRICES
from .parameters import POSITIVE, Number


@documented(BATCH)
@dataclass(eq=False, repr=False)
class BCW(BatchLearner):
    """Online-batch confidence-weighted learning.

    Tan, Yan, Wang, Van Den Hengel, Tsang & Shi, "Learning sparse confidence-weighted classifier on very high
    dimensional data", AAAI 2016, Algorithm 1: BCW-L1 (``q=1``, hinge loss) and BCW-L2 (``q=2``, squared hinge).

    A batch first gives the covariance, S^-1 = S_before^-1 + C X X', and then one pass over its rows the weights: if
    xi = 1 - y w.x > 0, w += alpha y S x with alpha = min(xi / x'Sx, C) for ``q=1`` and xi / (x'Sx + 1 / (2 C)) for
    ``q=2``. S stays the same in the pass, so that all of it is matrix products, many times as fast as a learner with a
    full covariance that changes with every row. It takes the square of the number of features in memory, and time
    that grows with it for every row: use it up to some thousand features, and SBCW beyond.

    Rows of a batch come in their order, which matters as it does for every online learner. Two half batches are not one
    batch: the covariance is the same after both, but in the first half the steps are taken with the covariance of the
    first half alone. One row at a time is AROW with a full covariance but for the cap of the step. How a batch is
    stored (dense or sparse) changes nothing but rounding errors.

    With more than two classes all share one covariance, since that does not depend on the labels.

    Parameters
    ----------
    C : float, default=1.0
        Weight of an example in the covariance, and upper bound of its step. The larger, the bolder.
    q : {{1, 2}}, default=1
        The hinge loss or its square. The step of ``q=2`` is the paper's, which is exact for the loss C xi^2.
    {common}

    Examples
    --------
    >>> import numpy as np
    >>> from sureline import BCW
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 20))
    >>> y = (X @ rng.standard_normal(20) > 0).astype(int)
    >>> clf = BCW(C=1.0).partial_fit(X[:500], y[:500], classes=[0, 1]).partial_fit(X[500:], y[500:])
    >>> bool(clf.score(X, y) > 0.96)
    True
    """

    algorithm: ClassVar[str] = "online-batch confidence-weighted: BCW-L1, BCW-L2"
    paper: ClassVar[str] = "Tan et al., AAAI 2016, Algorithm 1"

    C: float = POSITIVE.default(1.0)
    q: int = Number(1, 2, integer=True).default(1)

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"C": PRICES}
    has_variances: ClassVar[bool] = True
    records_rows: ClassVar[bool] = True

    def fresh_state(self, n_columns: int, n_classes: int) -> PrecisionState:
        return PrecisionState.fresh(n_columns, n_classes, self._policy(), bool(self.fit_intercept), self.dtype)

    def _after(self, state: PrecisionState, X: Any, labels: Labels, weight: Weights, own: Weights) -> PrecisionState:
        C = np.full(len(labels), float(self.C)) if weight is None else self.C * weight
        try:
            with np.errstate(all="ignore"):
                recorded = C if weight is own else self.C * (np.ones(len(labels)) if own is None else own)
                return state.after(X, labels, C, int(self.q), recorded)
        except ValueError:
            checked_rows(X)  # if it was for what is in X, this says where
            raise

    def _checked(self, X: Any) -> Any:
        return checked_rows(X) if is_sparse(X) else X  # what is not finite comes to light in the precision

    def _refuse_state(self, state: Any) -> None:
        if not isinstance(state, PrecisionState):
            raise ValueError("BCW has no state like that")
        self._refuse_changes(state, ("multi_class", state.policy in (Policy.binary, self._policy())))

    @property
    def covariance_(self) -> Array:
        """Covariance of the weights in `coef_`, the same for all classes: (n_features, n_features)."""
        state = self._fitted_state("covariance_")
        assert isinstance(state, PrecisionState)
        return self._normalizer.per_pair(state.covariance()[:-1, :-1])

    @property
    def intercept_variance_(self) -> Array:
        """Variance of each intercept, of shape (1,) or (n_classes,)."""
        state = self._fitted_state("intercept_variance_")
        assert isinstance(state, PrecisionState)
        return state.intercept_variances()

    @property
    def intercept_covariance_(self) -> Array:
        """Covariance of each weight in `coef_` with its intercept, the same for all classes: (n_features,)."""
        state = self._fitted_state("intercept_covariance_")
        assert isinstance(state, PrecisionState)
        return self._normalizer.per_unit(state.covariance()[-1, :-1])
