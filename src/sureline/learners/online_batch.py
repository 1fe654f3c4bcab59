"""Online-batch confidence-weighted learning: second-order accuracy on tables and embeddings, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._inputs import Array, Floats, Labels, is_sparse
from ..models.device.batch import after as after_on_device
from ..models.device.batch import judged
from ..models.device.cuda import cuda_space
from ..models.device.rows import DeviceRows, HostRows
from ..models.numbers import Policy
from ..models.precision.state import PrecisionState
from ..models.rows import with_own_columns
from ..models.scaling import Normalizer
from .batch import BatchLearner, Weights, checked_rows
from .docstrings import BATCH, documented
from .grids import PRICES
from .parameters import POSITIVE, Number, OneOf
from .sharding import COUNTED, Sharding


@documented(BATCH)
@dataclass(eq=False, repr=False)
class BCW(BatchLearner):
    """Online-batch confidence-weighted learning.

    Tan, Yan, Wang, Van Den Hengel, Tsang & Shi, "Learning sparse confidence-weighted classifier on very high
    dimensional data", AAAI 2016, Algorithm 1: BCW-L1 (``q=1``, hinge loss) and BCW-L2 (``q=2``, squared hinge).

    A batch first gives the covariance, S^-1 = S_before^-1 + C X X', and then one pass over its rows the weights: if xi
    = 1 - y w.x > 0, w += alpha y S x with alpha = min(xi / x'Sx, C) for ``q=1`` and xi / (x'Sx + 1 / (2 C)) for
    ``q=2``. S is fixed during the pass, so all steps are matrix products. That is many times as fast as updating a full
    covariance with every row. Memory, and time per row, grow with the square of the number of features: use it up to
    some thousand features, and SBCW beyond.

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
    device : {{"auto", "cuda"}}, default="auto"
        Where batches are learned from: "auto" is where X is. A CUDA tensor of PyTorch, an array of CuPy, or any array
        on a CUDA device that has DLPack is learned from there. With "cuda" rows of the host and of streams cross over
        to the first device. Needs CuPy, ``pip install sureline[gpu]``, and takes up to 8,192 features. The model is
        the same either way, and so is its file. Answers are where the rows are that they are for.
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
    device: str = OneOf("auto", "cuda").default("auto", kw_only=True)

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"C": PRICES}
    has_variances: ClassVar[bool] = True
    records_rows: ClassVar[bool] = True

    @property
    def sharding(self) -> Sharding | None:
        return COUNTED

    def fresh_state(self, n_columns: int, n_classes: int) -> PrecisionState:
        return PrecisionState.fresh(n_columns, n_classes, self._policy(), bool(self.fit_intercept), self.dtype)

    def _own(self, X: Any) -> Any:
        if isinstance(X, DeviceRows):
            return X
        if self.device == "cuda":
            space = cuda_space()
            return HostRows(space, checked_rows(with_own_columns(X)))
        return super()._own(X)

    def _learned(
        self, state: Any, normalizer: Normalizer, X: Any, labels: Labels, weight: Weights, own: Weights
    ) -> tuple[Any, Normalizer]:
        if not isinstance(X, DeviceRows):
            return super()._learned(state, normalizer, X, labels, weight, own)
        C, recorded = self._prices(len(labels), weight, own)
        with np.errstate(all="ignore"):
            return after_on_device(state, normalizer, X, labels, C, int(self.q), recorded)

    def _prices(self, n: int, weight: Weights, own: Weights) -> tuple[Floats, Floats]:
        """C of each row, and the weight that its prediction is put on record by."""
        C = np.full(n, float(self.C)) if weight is None else self.C * weight
        return C, C if weight is own else self.C * (np.ones(n) if own is None else own)

    def judge_on_device(self, X: DeviceRows, *, variances: bool) -> tuple[Any, Any]:
        """Like `judge`, for rows on a device; the result is on the device too."""
        state = self._fitted_state("scores")
        assert isinstance(state, PrecisionState)
        if X.shape[1] <= state.n_columns:
            return judged(state, self._normalizer, X, with_variances=variances)
        scores, v = self.judge(checked_rows(X.to_host()), variances=variances)  # columns that it has never seen
        with X.space.here():
            return X.space.array(scores), None if v is None else X.space.array(v)

    def _after(self, state: PrecisionState, X: Any, labels: Labels, weight: Weights, own: Weights) -> PrecisionState:
        try:
            with np.errstate(all="ignore"):
                C, recorded = self._prices(len(labels), weight, own)
                return state.after(X, labels, C, int(self.q), recorded)
        except ValueError:
            checked_rows(X)  # names the row, if the contents of X are at fault
            raise

    def _checked(self, X: Any) -> Any:
        return checked_rows(X) if is_sparse(X) else X  # values that are not finite show in the precision

    def _refuse_state(self, state: Any) -> None:
        if not isinstance(state, PrecisionState):
            raise ValueError("BCW has no state like that")
        self._refuse_changes(state, ("multi_class", state.policy in (Policy.binary, self._policy())))

    @property
    def covariance_(self) -> Array:
        """Covariance of the weights in `coef_`, the same for all classes: (n_features, n_features)."""
        return self._normalizer.per_pair(self._all_pairs("covariance_")[:-1, :-1])

    @property
    def intercept_variance_(self) -> Array:
        """Variance of each intercept, of shape (1,) or (n_classes,)."""
        state = self._fitted_state("intercept_variance_")
        assert isinstance(state, PrecisionState)
        return state.intercept_variances()

    @property
    def intercept_covariance_(self) -> Array:
        """Covariance of each weight in `coef_` with its intercept, the same for all classes: (n_features,)."""
        return self._normalizer.per_unit(self._all_pairs("intercept_covariance_")[-1, :-1])

    def _all_pairs(self, name: str) -> Array:
        """The matrix behind an attribute.

        AttributeError if it would not fit into memory, so that code that goes over all attributes passes it by.
        """
        state = self._fitted_state(name)
        assert isinstance(state, PrecisionState)
        try:
            return state.covariance()
        except ValueError as error:
            raise AttributeError(f"{name} does not fit into memory: {error}") from None
