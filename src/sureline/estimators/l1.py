"""Linear classifiers with an l1 penalty that select features, for data in memory."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from .._inputs import Array, is_sparse
from .._native import _core
from ..learners.class_weight import ClassWeight
from ..learners.docstrings import documented
from ..learners.guarded import asks
from ..learners.learner import KINDS
from ..learners.parameters import POSITIVE, Flag, Number, OneOf
from ..models.scaling import DEFAULT
from .in_memory import ATTRIBUTES, Data, InMemoryClassifier, Solution, Weights
from .penalty_search import search_penalty
from .sdca import Ascent
from .selector import Selector


class L1Selector(Selector, InMemoryClassifier):
    """A classifier with an l1 penalty; its strength is given, or follows from the wanted number of features."""

    _strength: ClassVar[str]  # the name of the parameter

    n_features: int | None
    fit_intercept: bool

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @abstractmethod
    def _solver(self, data: Data) -> Callable[[float], Solution]:
        """A function from `lam` or `C` to the solution; it starts from its previous solution if it can."""

    @abstractmethod
    def _default_strength(self, data: Data) -> float:
        """The strength `lam` or `C` to use if neither it nor `n_features` is given."""

    @abstractmethod
    def _per_loss(self, data: Data) -> float:
        """The slope of the objective in the margin of a row of weight 1 at margin 0."""

    # -- learning --------------------------------------------------------------------------------------------

    def _solve(self, data: Data) -> Solution:
        value, self.n_fits_, solution = self._search(data)
        setattr(self, f"{self._strength}_", value)
        return solution

    def _search(self, data: Data) -> tuple[float, int, Solution]:
        """`lam` or `C`, how many values were tried to find it, and the solution there."""
        solve, name, n_features = self._solver(data), type(self).__name__, self.n_features
        if n_features is None:
            given = getattr(self, self._strength)
            value = self._default_strength(data) if given is None else float(given)
            return value, 1, solve(value)
        if n_features > data.X.shape[1]:
            raise ValueError(
                f"The 'n_features' parameter of {name} must be at most the number of columns of X, {data.X.shape[1]}. "
                f"Got {n_features} instead."
            )

        def fit(strength: float) -> tuple[int, Solution]:
            solution = solve(self._of_strength(strength))
            return len(solution.columns), solution

        found, n_fits = search_penalty(fit, int(n_features), self._guess(data), name)
        return self._of_strength(found.strength), n_fits, found.model.largest(int(n_features))

    def _guess(self, data: Data) -> float:
        """A penalty at which about the first feature appears: the steepest slope of the loss at zero weights.

        If there is an intercept, it balances the classes first.
        """
        steepest = 0.0
        for positive in data.heads:
            y = np.where(data.labels == positive, 1.0, -1.0)
            alpha = data.weight.copy()
            if self.fit_intercept:
                sums = [data.weight[y == sign].sum() for sign in (1.0, -1.0)]
                for sign, mass in zip((1.0, -1.0), sums, strict=True):
                    alpha[y == sign] *= min(sums) / mass if mass > 0 else 0.0
            steepest = max(steepest, float(np.abs(data.X.T @ (alpha * y).astype(data.X.dtype)).max()))
        bound = float(data.weight @ np.sqrt(data.norms)) or 1.0
        return max(steepest, 1e-6 * bound) * self._per_loss(data)

    # -- pieces ----------------------------------------------------------------------------------------------

    @asks
    def selected_columns(self) -> Array:
        """The columns that have a weight, in any class."""
        return np.unique(self.sparse_coef_.indices)

    def _of_strength(self, strength: float) -> float:
        """`lam` or `C` for a strength of the penalty."""
        return strength

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        strength = getattr(self, self._strength)
        if strength is not None and self.n_features is not None:
            raise ValueError(
                f"{name} takes one of the parameters {self._strength!r} and 'n_features', not both: the other one "
                f"follows. Got {self._strength}={strength!r} and n_features={self.n_features!r}."
            )


_ATTRIBUTES = (
    ATTRIBUTES
    + """
    n_fits_ : int
        How many penalties were tried: 1, or more to find the one for `n_features`."""
)

_OPTIONAL_COUNT = Number(1, integer=True, optional=True)


@documented(_ATTRIBUTES)
@dataclass(eq=False, repr=False)
class SparseDCA(L1Selector):
    """A linear classifier with an l1 and a small l2 penalty, by proximal stochastic dual coordinate ascent.

    Shalev-Shwartz & Zhang, "Proximal stochastic dual coordinate ascent", 2012; "sparDCA" in the paper on sparse
    confidence-weighted learning.

    Minimises 1/n sum_i s_i loss(y_i w.x_i) + lam |w|_1 + sigma/2 |w|^2, where n is the sum of the sample weights s.
    With dual variables alpha and z = 1/n sum_i alpha_i y_i x_i, the weights are soft(z, lam) / sigma. Weights below the
    threshold are exactly zero. A step has a closed form and takes time proportional to the row's nonzeros.

    Parameters
    ----------
    lam : float or None, default=None
        The l1 penalty: the larger, the fewer features. If None and without `n_features` it is 1/n, where n is the
        sum of the sample weights: the losses then count as with ``L1SVM(C=1)``.
    n_features : int or None, default=None
        Number of features to select, instead of `lam`. The penalty is then searched by bisection until this many
        features have a weight, or a few more. The features with the largest weights are kept: by size, or with more
        than two classes by their norm over the classes.
    loss : {{"hinge", "squared_hinge"}}, default="hinge"
        Loss of the margin m = y w.x: max(0, 1 - m) or its square.
    sigma : float or None, default=None
        The l2 penalty. It is what makes the steps possible: the smaller, the nearer to an l1 penalty alone, and the
        smaller the steps, of which more are then needed. If None it is the mean of |x|^2 over the rows times
        0.00001 or 0.1 / n, whichever is more.
    tol : float, default=0.001
        Stop when the duality gap is at most this: the objective is then no further from its minimum. It is 1 where all
        weights are zero, so this is a share of it.
    max_iter : int, default=1000
        Go over the rows this many times at most; beyond that there is a ConvergenceWarning.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1. It has no l1 penalty.
    shuffle : bool, default=True
        Go over the rows in a new random order each time, as the theory has it; otherwise in theirs.
    random_state : int, RandomState instance or None, default=None
        For `shuffle`.
    {common}
    lam_ : float
        The l1 penalty: the given one, or that found for `n_features`.
    sigma_ : float
        The l2 penalty.
    n_iter_ : int
        How often the rows were gone over at that penalty; the most of all classes, if there are more than two.
    dual_gap_ : float
        The duality gap at the end; the largest of all classes. If features were dropped to get down to `n_features`, it
        is that before.

    Examples
    --------
    >>> from sureline import SparseDCA
    >>> from sureline.datasets import make_sparse_gaussian
    >>> X, y = make_sparse_gaussian(2000, n_noise=0, random_state=0)
    >>> X.data /= 10
    >>> model = SparseDCA(n_features=20, random_state=0).fit(X, y)
    >>> model.get_support(indices=True).size, model.transform(X).shape
    (20, (2000, 20))
    """

    algorithm: ClassVar[str] = "proximal dual coordinate ascent, l1 and a small l2 penalty"
    paper: ClassVar[str] = "Shalev-Shwartz & Zhang 2012"

    lam: float | None = Number(0, open="high", optional=True).default(None)
    n_features: int | None = _OPTIONAL_COUNT.default(None)
    loss: str = OneOf("hinge", "squared_hinge").default("hinge")
    sigma: float | None = Number(0, open="both", optional=True).default(None)
    tol: float = POSITIVE.default(1e-3)
    max_iter: int = Number(1, 1e9, integer=True).default(1000)
    fit_intercept: bool = Flag().default(True)
    shuffle: bool = Flag().default(True)
    random_state: Any = None
    normalize: str = KINDS.default(DEFAULT)
    class_weight: Any = ClassWeight().default(None)  # noqa: RUF009

    _strength: ClassVar[str] = "lam"

    def _solver(self, data: Data) -> Callable[[float], Solution]:
        rng = check_random_state(self.random_state)
        self.sigma_ = self._chosen_sigma(data)
        objective = _core.SdcaObjective(
            loss=_core.Loss[self.loss],
            rho=self.sigma_,
            regularizer=_core.Regularizer.elastic_net,
            intercept=bool(self.fit_intercept),
            step=_core.SdcaStep.bound,
        )
        ascents, here = [Ascent(data, positive, objective) for positive in data.heads], data.present

        def converge(ascent: Ascent, lam: float) -> tuple[int, float]:
            """Make passes until converged; returns their number and the duality gap."""
            ascent.core.threshold = lam
            next_look = 1
            for n_iter in range(1, int(self.max_iter) + 1):
                ascent.climb(rng.permutation(here) if self.shuffle else here)
                if n_iter == next_look or n_iter == self.max_iter:
                    gap = ascent.gap()
                    if gap <= self.tol:
                        break
                    next_look = n_iter + 1 + n_iter // 10  # a look costs about as much as a pass
            return n_iter, gap

        def solve(lam: float) -> Solution:
            ends = [converge(ascent, lam) for ascent in ascents]
            n_iter, gap = max(n for n, _ in ends), max(gap for _, gap in ends)
            warning = ""
            if gap > self.tol:
                warning = (
                    f"SparseDCA stopped after {self.max_iter} passes with a duality gap of {gap:.2g}, which is above "
                    f"tol={self.tol:g}; raise max_iter, sigma or tol."
                )
            return Solution([ascent.weights() for ascent in ascents], n_iter, gap, warning)

        return solve

    def _chosen_sigma(self, data: Data) -> float:
        if self.sigma is not None:
            return float(self.sigma)
        n = float(data.weight.sum())
        mean = float(data.weight @ data.norms) / n
        return max(1e-5, 0.1 / n) * (mean or 1.0)

    def _default_strength(self, data: Data) -> float:
        return 1 / float(data.weight.sum())

    def _per_loss(self, data: Data) -> float:
        return float((2.0 if self.loss == "squared_hinge" else 1.0) / data.weight.sum())

    def _set(self, solution: Solution, n_columns: int) -> None:
        super()._set(solution, n_columns)
        self.dual_gap_ = solution.gap


@documented(_ATTRIBUTES)
@dataclass(eq=False, repr=False)
class L1SVM(L1Selector):
    """scikit-learn's ``LinearSVC(penalty="l1", dual=False)`` as a selector: the l1 SVM of LIBLINEAR.

    Yuan, Chang, Hsieh & Lin, "A comparison of optimization methods and software for large-scale l1-regularized linear
    classification", JMLR 11, 2010.

    Minimises |w|_1 + C sum_i s_i max(0, 1 - y_i w.x_i)^2. It makes two copies of the data.

    Parameters
    ----------
    C : float or None, default=None
        The weight of the losses: the smaller, the fewer features. If None and without `n_features` it is 1.
    n_features : int or None, default=None
        Number of features to select, instead of `C`. The penalty is then searched by bisection until this many
        features have a weight, or a few more. The features with the largest weights are kept: by size, or with more
        than two classes by their norm over the classes. Every penalty on the way is a fit from scratch.
    tol : float, default=0.0001
        The tolerance of LinearSVC.
    max_iter : int, default=1000
        Go over the features this many times at most; beyond that there is a ConvergenceWarning.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1. LIBLINEAR penalises it like the others.
    random_state : int, RandomState instance or None, default=None
        For the order in which the features are gone over.
    {common}
    C_ : float
        The weight of the losses: the given one, or that found for `n_features`.
    n_iter_ : int
        How often the features were gone over; the most of all classes, if there are more than two.

    Examples
    --------
    >>> from sureline import L1SVM
    >>> from sureline.datasets import make_sparse_gaussian
    >>> X, y = make_sparse_gaussian(2000, n_noise=0, random_state=0)
    >>> L1SVM(n_features=20, random_state=0).fit(X, y).get_support().sum()
    np.int64(20)
    """

    algorithm: ClassVar[str] = 'l1 SVM: scikit-learn\'s `LinearSVC(penalty="l1")`'
    paper: ClassVar[str] = "Yuan et al., JMLR 2010"

    C: float | None = Number(0, open="both", optional=True).default(None)
    n_features: int | None = _OPTIONAL_COUNT.default(None)
    tol: float = POSITIVE.default(1e-4)
    max_iter: int = Number(1, 1e9, integer=True).default(1000)
    fit_intercept: bool = Flag().default(True)
    random_state: Any = None
    normalize: str = KINDS.default(DEFAULT)
    class_weight: Any = ClassWeight().default(None)  # noqa: RUF009

    _strength: ClassVar[str] = "C"

    def _of_strength(self, strength: float) -> float:
        return 1 / strength

    def _solver(self, data: Data) -> Callable[[float], Solution]:
        X = _with_narrow_indices(data.X)
        return lambda C: self._solve_at(C, X, data)

    def _solve_at(self, C: float, X: Any, data: Data) -> Solution:
        svm = LinearSVC(
            penalty="l1",
            dual=False,
            C=C,
            tol=self.tol,
            max_iter=int(self.max_iter),
            fit_intercept=bool(self.fit_intercept),
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # only the final fit of the search has to converge
            svm.fit(X, data.labels, sample_weight=data.weight)
        n_iter, warning = int(svm.n_iter_), ""
        if n_iter >= self.max_iter:
            warning = f"L1SVM stopped after {n_iter} passes before it had converged; raise max_iter or tol."
        heads = []
        for coef, intercept in zip(svm.coef_, np.broadcast_to(svm.intercept_, len(svm.coef_)), strict=True):
            columns = np.flatnonzero(coef)
            heads.append(Weights(columns, coef[columns], float(intercept)))
        return Solution(heads, n_iter, warning=warning)

    def _default_strength(self, data: Data) -> float:
        return 1.0

    def _per_loss(self, data: Data) -> float:
        return 2.0


def _with_narrow_indices(X: Any) -> Any:
    """A CSR matrix as LIBLINEAR takes it: with 32-bit indices."""
    if not is_sparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(X.shape[1], len(X.indices)) >= 2**31:
        raise ValueError(
            f"L1SVM takes X with fewer than 2^31 columns and nonzeros, as LIBLINEAR does. Got {X.shape[1]} columns and "
            f"{len(X.indices)} nonzeros; SparseDCA takes more."
        )
    arrays = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return csr_matrix(arrays, shape=X.shape)
