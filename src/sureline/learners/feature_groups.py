"""A few features of very many, found in groups: sparse online-batch confidence-weighted learning, and its relative."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._inputs import Array, Labels, is_sparse
from ..models.groups import GroupState
from ..models.numbers import Policy
from ..models.rows import as_rows, with_columns
from .batch import BatchLearner, Weights
from .cutting_planes import Batch, Plan, after
from .docstrings import GROUPS, documented
from .grids import PRICES
from .guarded import asks
from .parameters import NOT_NEGATIVE, POSITIVE, Number, OneOf

_COUNT = Number(1, integer=True, optional=True)
_WIDE = 1 << 24  # above this number of columns, only columns of the batch have scores


@dataclass(eq=False, repr=False)
class _GroupLearner(BatchLearner):
    """A learner that selects columns in groups."""

    C: float = POSITIVE.default(1.0)
    q: int = Number(1, 2, integer=True).default(1)
    n_features: int | None = _COUNT.default(None)
    r: int | None = _COUNT.default(None)
    max_iter: int | None = _COUNT.default(None)
    tol: float | None = Number(0, open="high", optional=True).default(None)
    sigma: float = POSITIVE.default(1.0)
    multi_class: str = OneOf("ovr").default("ovr", kw_only=True)

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"C": PRICES}
    _covariance: ClassVar[bool]

    if TYPE_CHECKING:  # fields of both subclasses, at different positions
        inner_passes: int = field(init=False)
        inner_tol: float = field(init=False)
        max_memory: float | None = field(init=False)

    @abstractmethod
    def _plan(self) -> Plan: ...

    def _plan_of_groups(self, *, exact: bool) -> Plan:
        r, max_iter = Plan.sizes(self.n_features, self.r, self.max_iter)
        return Plan(
            q=int(self.q),
            sigma=float(self.sigma),
            r=r,
            max_iter=max_iter,
            n_features=None if self.n_features is None else int(self.n_features),
            tol=float(self.tol or 0.0),
            pool=None,
            passes=int(self.inner_passes),
            gap=float(self.inner_tol),
            exact=exact,
            final_passes=0,
            covariance=self._covariance,
            max_bytes=None if self.max_memory is None else int(min(self.max_memory, 2.0**40) * 2**20),
        )

    def _C2(self) -> float:
        """The weight of an example in the covariance."""
        return float(self.C)

    def fresh_state(self, n_columns: int, n_classes: int) -> GroupState:
        return GroupState.fresh(
            n_columns,
            n_classes,
            intercept=bool(self.fit_intercept),
            dtype=self.dtype,
            sigma=float(self.sigma),
            has_covariance=self._covariance,
        )

    def _after(self, state: GroupState, X: Any, labels: Labels, weight: Weights, own: Weights) -> GroupState:
        s = np.ones(len(labels)) if weight is None else weight
        width, columns = state.n_columns, None
        if is_sparse(X) and width > _WIDE:
            columns = np.union1d(X.indices, state.columns).astype(np.int64)
            X = with_columns(X, np.searchsorted(columns, X.indices), len(columns))
            state = state.renumbered(len(columns), lambda theirs: np.searchsorted(columns, theirs))
        with np.errstate(all="ignore"):
            batch = Batch(as_rows(X, X.dtype), labels, C=float(self.C) * s, C2=self._C2() * s, columns=columns)
            if not (np.isfinite(batch.C).all() and np.isfinite(batch.C2).all()):
                raise ValueError(f"C of {type(self).__name__} times sample_weight is beyond float64.")
            state = after(state, batch, self._plan())
        return state if columns is None else state.renumbered(width, lambda theirs: columns[theirs])

    def _refuse_state(self, state: Any) -> None:
        if not isinstance(state, GroupState) or state.has_covariance != self._covariance:
            raise ValueError(f"{type(self).__name__} has no state like that")
        self._refuse_changes(state)

    def _policy(self) -> Policy:
        return Policy.ovr

    def most_bytes(self, n_columns: int, n_heads: int, n_batches: int) -> int:
        """Peak bytes of a model over this many batches, without their rows."""
        plan = self._plan()
        n = plan.n_features
        if n is None:
            n = plan.r * (plan.max_iter or 1) * n_batches
        n = min(n, n_columns)
        scores = 8 * n_columns * min(n_heads, 2)
        return scores + 2 * 8 * n * (n_heads + (plan.r if plan.covariance else 0))

    def _groups(self, attribute: str) -> GroupState:
        state = self._fitted_state(attribute)
        assert isinstance(state, GroupState)
        return state

    @asks
    def selected_columns(self) -> Array:
        """The columns that have been selected, in any order."""
        return self._groups("support").columns

    @property
    def groups_(self) -> list[Array]:
        """The selected columns, ascending in each group; groups in the order of selection."""
        return [group.columns.copy() for group in self._groups("groups_").groups]

    @property
    def theta_(self) -> Array:
        """The objective after each subproblem of the last batch."""
        return self._groups("theta_").theta.copy()

    @property
    def n_iter_(self) -> int:
        """The number of subproblems of the last batch."""
        return len(self._groups("n_iter_").theta)

    @property
    def stopped_by_(self) -> str:
        """The reason why the last batch added no more groups."""
        return self._groups("stopped_by_").stopped_by


_SIZES = """n_features : int or None, default=None
        Number of features to select; fewer only if fewer columns have a score.
    r : int or None, default=None
        Number of features of a group. If None, `n_features` come in 15 groups as in the paper (or in `max_iter`), the
        last of them smaller. Without `n_features` it is 10.
    max_iter : int or None, default=None
        Most groups that a batch may add. If None, 15; with `n_features` as many as that takes.
    tol : float or None, default=None
        Relative change of theta below which no more groups are added. Never, if None or 0.
    """
_MEMORY = """max_memory : float or None, default=None
        Memory limit for the arrays of a batch, in MiB, without X. A group that would exceed it is not added.
    """


@documented(
    _SIZES
    + """sigma : float, default=1.0
        The strong convexity of (16). The smaller, the fewer groups have a weight, and below 1 the steps of a single
        pass can overshoot.
    C2 : float or None, default=None
        Weight of an example in the covariance; C / 1000 if None. The paper has C there too (see Notes).
    pick : {{"score", "covariance"}}, default="score"
        How features are picked: by their scores, which is problem (14), or greedily for problem (12). The latter
        includes the covariance of the new group, so it does not pick two features that say the same.
    pool : int or None, default=None
        Number of best-scoring features that ``pick="covariance"`` chooses from. 10 r if None.
    inner_passes : int, default=1
        Most passes over the rows for a subproblem. 1 is the paper's Algorithm 3. With more, steps go to the maximum of
        the dual along each row. On few rows, features that are found later then fit their noise.
    final_passes : int, default=30
        Most passes for solving the last subproblem again once all groups are found: the same features, better weights.
        0 leaves the weights as they are.
    inner_tol : float, default=0.001
        Relative duality gap at which a subproblem is solved.
    """
    + _MEMORY
    + GROUPS
    + """
    block_covariance_ : list of arrays of shape (r, r)
        Covariance of the weights of each group, the same for every class. Groups are independent of each other.
    intercept_variance_ : array of shape (1,) or (n_classes,)
        Variance of the intercepts."""
)
@dataclass(eq=False, repr=False)
class SBCW(_GroupLearner):
    """Sparse online-batch confidence-weighted learning: a classifier and a selector of few features among millions.

    Tan, Yan, Wang, Van Den Hengel, Tsang & Shi, "Learning sparse confidence-weighted classifier on very high
    dimensional data", AAAI 2016, Algorithms 2 and 3.

    Features are found in groups of r: those with the largest scores s_j^2, s = sum_i C alpha_i y_i x_i, that are in no
    group yet. After each group the alphas of all examples are found anew, by ascent in the dual of

        min  sigma/2 |w|^2 + 1/2 (sum_k |w_k|)^2 + C sum_i xi_i^q,    |w_k|^2 = mu_k' S_k^-1 mu_k                  (16)

    over the weights mu_k of the groups, where S_k^-1 = I + C2 sum_i x_i x_i' over the columns of group k. So the
    covariance has a block on its diagonal for each group. The intercept is a term 1/2 w_b^2 of its own, with the
    precision 1 + C2 times the number of rows. Sparse X is never made dense; only its selected columns are copied.

    A further batch begins with the groups, covariances and sums of alphas that there are. After a first subproblem
    groups without weight are dropped, and features are looked for as far as `n_features` then leaves room (without it,
    `max_iter` groups more). Order matters, and two half batches are not one batch.

    Parameters
    ----------
    C : float, default=1.0
        Weight of an example in the loss. Where features are rare or small, 10 or 100 can be better; where rows
        are few and noisy, 0.1 or 0.01.
    q : {{1, 2}}, default=1
        The hinge loss or its square. The step of ``q=2`` is the paper's, which is exact for the loss C xi^2.
    {common}

    Notes
    -----
    ``SBCW(C=c, C2=c, final_passes=0)`` has the paper's settings, with two deviations. The paper wants sigma far below
    1, and here it is 1 by default. The paper may select a feature again for a later group: of 5 groups of 4 that can
    leave 4 distinct features; here groups are disjoint. Its weights are often of little use:
    with ``C2=C`` the penalty is at least 1/2 C (sum_k |f_k|)^2, where f_k has what group k adds to the score of each
    row, and that is as much as the loss it can save, whatever C is. Scores stay far below 1, all alphas are 1, the
    scores of features do not change from group to group, and the rarer class may never be predicted. What the penalty
    weighs is C2/C; a thousandth does well on data of many kinds.

    Examples
    --------
    >>> from sureline import SBCW
    >>> from sureline.datasets import make_sparse_stream
    >>> X, y = make_sparse_stream(2000, 100_000, 50, n_informative=20, noise=0.0, random_state=0)
    >>> clf = SBCW(C=100.0, n_features=30).fit(X[:1500], y[:1500])
    >>> len(clf.groups_), clf.stopped_by_, clf.transform(X).shape
    (15, 'n_features', (2000, 30))
    >>> bool(clf.score(X[1500:], y[1500:]) > 0.85)
    True
    """

    algorithm: ClassVar[str] = "sparse online-batch confidence-weighted"
    paper: ClassVar[str] = "Tan et al., AAAI 2016, Algorithms 2, 3"

    C2: float | None = Number(0, open="both", optional=True).default(None)
    pick: str = OneOf("score", "covariance").default("score")
    pool: int | None = _COUNT.default(None)
    inner_passes: int = Number(1, integer=True).default(1)
    final_passes: int = Number(0, integer=True).default(30)
    inner_tol: float = NOT_NEGATIVE.default(1e-3)
    max_memory: float | None = Number(0, open="both", optional=True).default(None)

    has_variances: ClassVar[bool] = True
    _covariance = True

    @classmethod
    def published_parameters(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        # The paper has one C, and no passes after the last group.
        same = {"C2": given.get("C", cls.C), "final_passes": 0}
        return {**super().published_parameters(given), **same}

    def _plan(self) -> Plan:
        plan = self._plan_of_groups(exact=self.inner_passes > 1)
        pool = 10 * plan.r if self.pool is None else int(self.pool)
        more = self.final_passes > self.inner_passes or not plan.exact  # else the same once more
        return replace(
            plan,
            pool=pool if self.pick == "covariance" else None,
            final_passes=int(self.final_passes) if more else 0,
        )

    def _C2(self) -> float:
        return self.C / 1000 if self.C2 is None else float(self.C2)

    @property
    def block_covariance_(self) -> list[Array]:
        """Covariance of the weights of each group, in the order of `groups_`."""
        groups = self._groups("block_covariance_").groups
        return [self._normalizer.per_pair(group.S.copy(), group.columns) for group in groups if group.S is not None]

    @property
    def intercept_variance_(self) -> Array:
        """Variance of each intercept, of shape (1,) or (n_classes,)."""
        return self._groups("intercept_variance_").intercept_variances()


@documented(
    _SIZES
    + """sigma : float, default=1.0
        The strong convexity of the subproblem. The smaller, the fewer groups have a weight, and the more passes it
        takes.
    inner_passes : int, default=50
        Most passes over the rows for a subproblem.
    inner_tol : float, default=0.001
        Relative duality gap at which a subproblem is solved.
    """
    + _MEMORY
    + GROUPS
)
@dataclass(eq=False, repr=False)
class FGM(_GroupLearner):
    """Feature generating machine: groups of features by cutting planes, without covariance.

    Tan, Tsang & Wang, "Towards ultrahigh dimensional feature selection for big data", JMLR 15, 2014; here as SBCW with
    S_k = I for all groups, and with every subproblem solved to convergence, which is what the paper on SBCW compares it
    with. Deviates: groups have no feature in common, and there is the sigma of SBCW.

    Parameters
    ----------
    C : float, default=1.0
        Weight of an example in the loss.
    q : {{1, 2}}, default=1
        The hinge loss or its square; the loss of ``q=2`` is C xi^2, as in SBCW.
    {common}

    Examples
    --------
    >>> from sureline import FGM
    >>> from sureline.datasets import make_sparse_stream
    >>> X, y = make_sparse_stream(2000, 100_000, 50, n_informative=20, noise=0.0, random_state=0)
    >>> clf = FGM(C=10.0, n_features=30).fit(X, y)
    >>> [len(group) for group in clf.groups_][:3], len(clf.theta_)
    ([2, 2, 2], 15)
    """

    algorithm: ClassVar[str] = "feature generating machine"
    paper: ClassVar[str] = "Tan, Tsang & Wang, JMLR 2014"

    inner_passes: int = Number(1, integer=True).default(50)
    inner_tol: float = NOT_NEGATIVE.default(1e-3)
    max_memory: float | None = Number(0, open="both", optional=True).default(None)

    _covariance = False

    def _plan(self) -> Plan:
        return self._plan_of_groups(exact=True)
