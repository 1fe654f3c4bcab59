"""Soft confidence-weighted learning in the space of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._inputs import Floats, Labels, is_sparse
from .._native import _core
from ..models.kernel.examples import Examples
from ..models.kernel.kernels import KERNELS, Kernel
from ..models.kernel.model import KernelModel
from ..models.numbers import SEEN, Policy
from ..models.rows import as_rows, owned, refusal
from .batch import BatchLearner, Weights, checked_rows
from .class_weight import Weighing, row_weights
from .docstrings import KERNEL, documented
from .online import stretches
from .parameters import NOT_NEGATIVE, POSITIVE, Constraint, Number, OneOf
from .second_order import CONFIDENCE, SCW


@dataclass(frozen=True)
class _KernelChoice(Constraint):
    """The parameter `kernel`: a name, or a function."""

    def accepts(self, value: Any) -> bool:
        return callable(value) or OneOf(*KERNELS).accepts(value)

    def __str__(self) -> str:
        return f"{OneOf(*KERNELS)} or a function of two matrices of rows"


@documented(KERNEL)
@dataclass(eq=False, repr=False)
class KernelSCW(BatchLearner):
    """Soft confidence-weighted learning with a kernel, for small data.

    Wang, Zhao & Hoi, "Exact soft confidence-weighted learning", ICML 2012, Lemma 1. The steps are those of SCW-I and
    SCW-II (propositions 1 and 2); x'y becomes k(x, y), and mean and covariance of the weights are combinations of the
    examples that moved something:

        mu = sum nu_p x_p,    S = a I + sum pi_pq x_p x_q',    a = 1.

    With k the kernel's values of x with those examples and g = pi k, an example has the score nu.k and the variance
    v = a k(x, x) + k.g. If it moves something it becomes example i: nu_p += alpha y g_p and nu_i = alpha y a;
    pi_pq -= beta g_p g_q, pi_pi = pi_ip = -beta a g_p and pi_ii = -beta a^2. That is what S x = a x + sum g_p x_p gives
    in mu += alpha y S x and S -= beta (S x)(S x)'. Deviates from the print of the lemma, which has nu_i = 1 before the
    step (it is 0), no a in the new row of pi, and x_r'x_s where it means x_r'x_i x_i'x_s.

    The formula is computed in a form in which S stays positive definite: pi is -(K + D)^-1, for the matrix K of the
    kernel's values and a diagonal D > 0, and the Cholesky factor of K + D is what is kept. A variance that cannot be
    told from rounding errors, below k(x, x) / 10^10, is held above k(x, x) divided by a bound of the largest eigenvalue
    of S^-1, 1 + sum k(x_t, x_t) beta_t / (1 - beta_t v_t) over all steps, and beta below 10^12 / k(x, x).

    With ``kernel="linear"`` it is SCW with a full covariance.

    Costs: with n stored examples a row takes n values of the kernel and n^2 multiplications, and an example that is
    stored takes n numbers (with more than two classes both for the examples of each class). That is for some thousand
    stored examples. There is no command for it, as there is none for other learners of data that is small.

    Parameters
    ----------
    variant : {{"I", "II"}}, default="I"
        SCW-I or SCW-II.
    C : float, default=1.0
        Weight of the loss: the smaller, the more cautious.
    eta : float, default=0.75
        Required probability of a correct prediction, at least 0.5 and less than 1.
    kernel : {{"linear", "rbf", "poly"}} or a function, default="rbf"
        x.y, exp(-gamma |x - y|^2) or (gamma x.y + coef0)^degree. A function gets two matrices of rows, as arrays or CSR
        like X, and returns the array of k of each row of the first with each row of the second; it must be symmetric
        and positive definite. A model with a function can be pickled if the function can, but not saved by
        `sureline.save`.
    gamma : float or None, default=None
        If None, 1 / n_features.
    degree : int, default=3
        Of "poly".
    coef0 : float, default=1.0
        Of "poly".
    {common}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sureline import KernelSCW
    >>> X, y = make_moons(1000, noise=0.2, random_state=0)
    >>> clf = KernelSCW(kernel="rbf", gamma=2.0).partial_fit(X[:500], y[:500], classes=[0, 1])
    >>> bool(clf.score(X[500:], y[500:]) > 0.95)
    True
    >>> clf.confidence(X[500:]).shape
    (500,)
    """

    algorithm: ClassVar[str] = "SCW with a kernel, for small data"
    paper: ClassVar[str] = "Wang, Zhao & Hoi, ICML 2012, Lemma 1"
    has_command: ClassVar[bool] = False

    variant: str = OneOf("I", "II").default("I")
    C: float = POSITIVE.default(1.0)
    eta: float = CONFIDENCE.default(0.75)
    kernel: str | Callable[[Any, Any], Any] = _KernelChoice().default("rbf")  # noqa: RUF009
    gamma: float | None = Number(0, open="both", optional=True).default(None)
    degree: int = Number(1, 100, integer=True).default(3)
    coef0: float = NOT_NEGATIVE.default(1.0)

    by_rows: ClassVar[bool] = True
    records_rows: ClassVar[bool] = True
    has_variances: ClassVar[bool] = True

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.growing and self.gamma is None and self.kernel in ("rbf", "poly"):
            raise ValueError(
                "The 'gamma' parameter of KernelSCW must be a number where growing=True: 1 / n_features would change."
            )

    # -- learning --------------------------------------------------------------------------------------------

    def fresh_state(self, n_columns: int, n_classes: int) -> KernelModel:
        none = Examples(np.empty((0, n_columns), self.dtype))
        return KernelModel(self._kernel(n_columns), none, n_classes, self._policy())

    def _kernel(self, n_columns: int) -> Kernel:
        gamma = 1 / max(n_columns, 1) if self.gamma is None else float(self.gamma)
        return Kernel(self.kernel, gamma, int(self.degree), float(self.coef0), bool(self.fit_intercept))

    def take_batch(self, X: Any, labels: Labels, weight: Weights = None, weighing: Weighing | None = None) -> None:
        """Learn from the rows of X in order. The model does not depend on how a stream is cut into batches."""
        X, normalizer = checked_rows(owned(X)), self._normalizer.copy()
        n_classes = max(int(labels.max(initial=-1)) + 1, len(self.classes_))
        self.refuse_classes(n_classes)
        state = self._state
        assert isinstance(state, KernelModel)
        self._refuse_state(state)
        own = weight
        counts = np.pad(state.tally[:, SEEN], (0, max(0, n_classes - len(state.tally))))
        weight = row_weights(weighing or self.weighing(n_classes), counts, labels, own, whole=False)
        X = normalizer.learn(X, weight)
        if is_sparse(X) and not state.tally.any() and not state.examples.is_sparse:
            state = self._sparse(state)
        rows = np.arange(len(labels)) if weight is None else np.flatnonzero(weight)
        for start, stop, n_existing in stretches(labels, len(self.classes_)):
            state = state.grown(X.shape[1], n_existing, self._policy())
            here = rows[(rows >= start) & (rows < stop)]
            if len(here) == 0:
                continue
            some = X if len(here) == len(labels) else X[here]
            try:
                weights = (None if every is None else every[here] for every in (weight, own))
                state = self._after(state, some, labels[here], *weights)
            except _core.Refused as refused:
                of_all = _core.Refused(int(here[refused.row]), refused.reason)
                raise refusal(as_rows(X, state.dtype), of_all, np.float64) from None
        self._state, self._normalizer = state, normalizer
        self.n_features_in_ = state.n_columns

    def _after(self, state: KernelModel, X: Any, labels: Labels, weight: Weights, own: Weights) -> KernelModel:
        rule = SCW(self.variant, self.C, self.eta)._rule()
        with np.errstate(all="ignore"):
            ones = np.ones(len(labels))
            return state.after(rule, X, labels, ones if weight is None else weight, ones if own is None else own)

    @staticmethod
    def _sparse(state: KernelModel) -> KernelModel:
        """The model before its first row, for rows that are sparse."""
        from scipy.sparse import csr_matrix

        return state.with_examples(Examples(csr_matrix(state.examples.rows)))

    # -- answers ---------------------------------------------------------------------------------------------

    def judge(self, X: Any, *, variances: bool) -> tuple[Floats, Floats | None]:
        state, X = self._kernel_model("scores"), self._normalizer.apply(X)
        with np.errstate(all="ignore"):
            scores = state.scores(X)
            v = state.variances(X) if variances else None
        fine = np.isfinite(scores).all(axis=1) & (True if v is None else np.isfinite(v).all(axis=1))
        if not fine.all():
            raise refusal(as_rows(X, state.dtype), _core.Refused(int(np.argmin(fine)), _core.Reason.score), np.float64)
        return scores, v

    @property
    def has_weights(self) -> bool:
        return self.kernel == "linear"

    # -- pieces ----------------------------------------------------------------------------------------------

    def _kernel_model(self, attribute: str) -> KernelModel:
        state = self._fitted_state(attribute)
        assert isinstance(state, KernelModel)
        return state

    def _refuse_state(self, state: Any) -> None:
        if not isinstance(state, KernelModel):
            raise ValueError("KernelSCW has no state like that")
        kernel = self._kernel(state.n_columns)
        self._refuse_changes(
            state,
            ("multi_class", state.policy in (Policy.binary, self._policy())),
            ("kernel", kernel.kind == state.kernel.kind),
            ("gamma", kernel.gamma == state.kernel.gamma),
            ("degree", kernel.degree == state.kernel.degree),
            ("coef0", kernel.coef0 == state.kernel.coef0),
        )

    # -- what a user sees ------------------------------------------------------------------------------------

    @property
    def examples_(self) -> Any:
        """The stored examples, of shape (n_examples_, n_features): an array, or a CSR matrix if the first rows were.

        They are stored as they were learned from, divided as `normalize` says.
        """
        rows = self._kernel_model("examples_").examples.rows
        return rows.copy()

    @property
    def n_examples_(self) -> int:
        """Number of stored examples."""
        return self._kernel_model("n_examples_").examples.n

    @property
    def nu_(self) -> Floats:
        """Coefficients of the mean, of shape (1, n_examples_) or (n_classes, n_examples_)."""
        return self._kernel_model("nu_").nu()

    @property
    def pi_(self) -> Floats:
        """Coefficients of the covariance: (1, n_examples_, n_examples_) or (n_classes, n_examples_, n_examples_)."""
        return self._kernel_model("pi_").pi()

    @property
    def covariance_(self) -> Floats:
        """Covariance of the weights in `coef_`, with the linear kernel."""
        return self._normalizer.per_pair(self._kernel_model("covariance_").covariance()[:, 1:, 1:])

    @property
    def intercept_variance_(self) -> Floats:
        """Variance of each intercept, of shape (1,) or (n_classes,)."""
        return self._kernel_model("intercept_variance_").intercept_variances()

    @property
    def intercept_covariance_(self) -> Floats:
        """Covariance of each weight in `coef_` with its intercept, in the shape of `coef_`, with the linear kernel."""
        return self._normalizer.per_unit(self._kernel_model("intercept_covariance_").covariance()[:, 0, 1:])
