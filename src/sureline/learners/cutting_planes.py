"""Algorithm 2 of Tan et al., AAAI 2016: groups of features by cutting planes, and the dual ascent between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import numpy.typing as npt

from .._inputs import Floats, Ints
from .._native import _core
from ..models.groups import Group, GroupState, Stop
from ..models.numbers import MISTAKES, SEEN, UPDATES
from ..models.rows import Reason, refusal

ITERATIONS = 15  # for a number of features, as in the paper's experiments
_ADVICE = "scale X so that its values are of the order of 1, and keep C and sample_weight moderate."


@dataclass(frozen=True)
class Plan:
    """The numbers by which a batch is learned, from the learner's parameters."""

    q: int
    sigma: float
    r: int  # features of a group
    max_iter: int | None  # groups that a batch may add
    n_features: int | None  # of all groups together
    tol: float  # relative change of theta that ends the search; 0 for never
    pool: int | None  # candidates of problem (12), solved greedily; None for (14), which takes the largest scores
    passes: int  # of a subproblem
    gap: float  # relative duality gap at which a subproblem counts as solved
    exact: bool  # steps to the maximum along a row, rather than the paper's
    final_passes: int  # further passes with exact steps over the last subproblem
    covariance: bool
    max_bytes: int | None

    @staticmethod
    def sizes(n_features: int | None, r: int | None, max_iter: int | None) -> tuple[int, int | None]:
        """r and max_iter, where not all is said."""
        if n_features is None:
            return r or 10, max_iter or ITERATIONS
        return r or ceil(n_features / (max_iter or ITERATIONS)), max_iter


@dataclass(frozen=True)
class Batch:
    """Rows with their classes, and their weights in the loss (C) and in the covariance (C2)."""

    rows: _core.Rows
    labels: npt.NDArray[np.int32]
    C: Floats
    C2: Floats
    columns: Ints | None = None  # original numbers of the columns, if the rows have only some of them

    def name_of(self, column: int) -> int:
        return column if self.columns is None else int(self.columns[column])


def after(state: GroupState, batch: Batch, plan: Plan) -> GroupState:
    """The state after a batch.

    For each group P_k grows by sum_i C2_i x_i x_i', the intercept's precision by sum_i C2_i. A batch starts from the
    groups and z of earlier batches; of its alphas only the sums z are kept. So it maximises the dual of all rows so
    far, with the alphas of earlier batches fixed.
    """
    return _CuttingPlanes(state, batch, plan).run()


class _CuttingPlanes:
    def __init__(self, state: GroupState, batch: Batch, plan: Plan) -> None:
        self.before, self.batch, self.plan = state, batch, plan
        self.n_rows, self.n_columns = batch.rows.n_rows, state.n_columns
        self.positive = [1] if state.n_heads == 1 else list(range(state.n_heads))  # the class of each head
        self.P_b = state.P_b
        if state.intercept and plan.covariance:
            self.P_b += float(batch.C2.sum())
        self.alpha = np.zeros((state.n_heads, self.n_rows))
        self.first_scores = np.zeros((state.n_heads, self.n_rows))
        self.moved = np.zeros(self.n_rows, np.uint8)
        self.s = np.zeros(self.n_columns)
        self.total = self.s if state.n_heads == 1 else np.zeros(self.n_columns)
        self.theta: list[float] = []
        self.groups: list[Group] = []
        self.z, self.z_b = state.z, state.z_b
        self._begin_selection(list(state.groups), state.z)

    def run(self) -> GroupState:
        plan = self.plan
        if self.groups:
            self._solve()
            used = self._state("").used()
            if not used.all():  # makes room for other groups
                keep = np.repeat(used, [len(group) for group in self.groups])
                self.z = np.ascontiguousarray(self.z[:, keep])
                kept = [group for group, is_used in zip(self.before.groups, used, strict=True) if is_used]
                self._begin_selection(kept, self.z_before[:, keep])
        else:
            self._take_first_alpha()
        stopped_by = self._search()
        if not self.theta:  # no feature makes a difference; the intercept may
            self._solve()
        counted = self._counted()
        if plan.final_passes:
            self._solve(replace(plan, passes=plan.final_passes, exact=True))
            del self.theta[-1]
        return self._state(stopped_by, counted)

    def _begin_selection(self, groups: list[Group], z: Floats) -> None:
        """Reduce the rows to these groups, and absorb the batch into their covariances."""
        self.selection = _core.GroupRows(self.batch.rows)
        self.groups = []
        self.z_before = np.ascontiguousarray(z)
        if not groups:
            return
        columns = np.concatenate([group.columns for group in groups])
        with self._refusals():
            self.selection.add_groups(self.batch.rows, self.batch.C, columns, [len(g) for g in groups], None)
        for group in groups:
            self._add(group)

    # -- Algorithm 2 -----------------------------------------------------------------------------------------

    def _search(self) -> Stop:
        plan, found = self.plan, 0
        while True:
            room = plan.r
            if plan.n_features is not None:
                room = min(room, plan.n_features - sum(map(len, self.groups)))
                if room <= 0:
                    return "n_features"
            if plan.max_iter is not None and found == plan.max_iter:
                return "max_iter"
            columns = self._worst_case(room)
            if columns is None or (len(columns) and not self._room_for(columns)):
                return "memory"
            if len(columns) == 0:
                return "no_features"
            found += 1
            self._add(Group(columns, np.eye(len(columns)) if plan.covariance else None))
            self.z_before = np.pad(self.z_before, ((0, 0), (0, len(columns))))
            self._solve()
            if plan.tol > 0 and len(self.theta) > 1:
                change = abs(self.theta[-1] - self.theta[-2])
                if change <= plan.tol * abs(self.theta[-1]):
                    return "tol"

    def _take_first_alpha(self) -> None:
        """Initial alphas: 1, or with an intercept and both classes such that sum_i C_i alpha_i y_i = 0.

        This is the optimality condition of an unpenalised intercept. Without it, unbalanced classes would make the
        first group favour frequent features.
        """
        for alpha, positive in zip(self.alpha, self.positive, strict=True):
            alpha[:] = 1
            is_positive = self.batch.labels == positive
            n = float(self.batch.C[~is_positive].sum()), float(self.batch.C[is_positive].sum())
            if self.before.intercept and min(n) > 0:
                alpha[is_positive], alpha[~is_positive] = min(n) / n[1], min(n) / n[0]

    def _worst_case(self, r: int) -> Ints | None:
        """At most r new columns, ascending. None if memory is short for the candidates."""
        self._score()
        if self.plan.pool is None:
            return np.sort(np.array(_core.best_columns(self.total, r), np.int64))
        pool = np.sort(np.array(_core.best_columns(self.total, max(r, self.plan.pool)), np.int64))
        if len(pool) <= r:
            return pool
        candidates = _core.GroupRows(self.batch.rows)
        if not self._room_for(pool, candidates):
            return None
        s = np.array([self._score_of(head)[pool] for head in range(len(self.positive))])
        P = np.eye(len(pool)) + self._finite(candidates.gram(0, self.batch.C2), pool)
        return np.sort(pool[greedy(P, s, r)])

    def _score(self) -> None:
        """total[j] = the size of s_j, or the sum of its squares over heads; 0 for columns that are selected."""
        if self.total is self.s:
            np.abs(self._score_of(0), out=self.s)
        else:
            self.total[:] = 0
            for head in range(len(self.positive)):
                self.total += np.square(self._score_of(head), out=self.s)
        finite = np.isfinite(self.total)
        if not finite.all():
            column = self.batch.name_of(int(np.argmin(finite)))
            raise ValueError(f"The score of column {column} of X is beyond float64; {_ADVICE}")
        for group in self.groups:
            self.total[group.columns] = 0

    def _score_of(self, head: int) -> Floats:
        """s_j = sum_i C_i alpha_i y_i x_ij."""
        self.s[:] = 0
        batch = self.batch
        positive = self.positive[head]
        with self._refusals():
            _core.add_scores(batch.rows, batch.C, batch.labels, positive, self.alpha[head], self.s)
        return self.s

    def _room_for(self, columns: Ints, selection: _core.GroupRows | None = None) -> bool:
        """Add a group of these columns to the selection. False if there is too little memory."""
        selection = selection or self.selection
        rows, C, left = self.batch.rows, self.batch.C, self._bytes_left()
        with self._refusals():
            try:
                selection.add_groups(rows, C, columns, [len(columns)], left)
                return True
            except _core.Refused as refused:
                if refused.reason is not Reason.memory:
                    raise
        if not self.groups:
            with self._refusals():
                selection.add_groups(rows, C, columns, [len(columns)], None)
            assert left is not None
            need = -left + selection.nbytes + 8 * len(columns) ** 2 + (self.plan.max_bytes or 0)
            raise ValueError(
                f"max_memory leaves no room for a first group: with {len(columns)} columns to choose from, this batch "
                f"takes {ceil(need / 2**20)} MiB."
            )
        return False

    def _bytes_left(self) -> int | None:
        """Memory left for the selection, beyond scores of features, duals and covariances."""
        if self.plan.max_bytes is None:
            return None
        others = sum(array.nbytes for array in (self.s, self.alpha, self.first_scores)) + self.moved.nbytes
        if self.total is not self.s:
            others += self.total.nbytes
        blocks = sum(2 * 8 * len(group) ** 2 for group in self.groups) if self.plan.covariance else 0
        return self.plan.max_bytes - others - blocks

    def _add(self, group: Group) -> None:
        """The next group of the selection, with the batch in its precision."""
        if group.P is not None:
            gram = self._finite(self.selection.gram(len(self.groups), self.batch.C2), group.columns)
            group = Group(group.columns, group.P + gram)
        self.selection.set_covariance(group.S)
        self.groups.append(group)

    def _finite(self, gram: Floats, columns: Ints) -> Floats:
        """The matrix, or ValueError: its diagonal bounds the rest."""
        large = ~(gram.diagonal() < 1e300)
        if large.any():
            column = self.batch.name_of(int(columns[np.argmax(large)]))
            raise ValueError(f"C times the squared values of column {column} of X is beyond float64; {_ADVICE}")
        return gram

    # -- Algorithm 3 -----------------------------------------------------------------------------------------

    def _solve(self, plan: Plan | None = None) -> None:
        """alpha and z for the groups there are, from the z of the batches before; and theta."""
        plan, batch = plan or self.plan, self.batch
        self.alpha[:] = 0
        self.moved[:] = 0
        self.z, self.z_b = self.z_before.copy(), self.before.z_b.copy()
        theta = 0.0
        P_b = self.P_b if self.before.intercept else None
        for head, positive in enumerate(self.positive):
            duals = (self.alpha[head], self.z[head], self.z_b[head : head + 1])
            problem = _core.GroupProblem(batch.C, batch.labels, positive, sigma=plan.sigma, q=plan.q, P_b=P_b)
            past = float(self.before.past[head])
            for number in range(plan.passes):
                scores, moved = (self.first_scores[head], self.moved) if number == 0 else (None, None)
                with self._refusals():
                    gap = self.selection.sweep(problem, *duals, exact=plan.exact, scores=scores, moved=moved)
                if plan.passes == 1:
                    break
                # The gap takes another pass over all rows, so it is computed only when the steps suggest that it is
                # small.
                dual = self.selection.value(problem, *duals)[0] + past
                if gap <= plan.gap * abs(dual):
                    gap = self.selection.value(problem, *duals, gap=True)[2]
                    if gap <= plan.gap * max(abs(dual), abs(dual + gap)):
                        break
            theta += self.selection.value(problem, *duals)[1] + past
        if not (np.isfinite(self.z).all() and np.isfinite(self.z_b).all() and np.isfinite(theta)):
            raise ValueError(f"The weights are beyond float64; {_ADVICE}")
        self.theta.append(theta)

    # -- pieces ----------------------------------------------------------------------------------------------

    def _state(self, stopped_by: Stop, tally: npt.NDArray[np.int64] | None = None) -> GroupState:
        added = self.alpha - self.alpha**2 / 4 if self.plan.q == 2 else self.alpha
        return replace(
            self.before,
            tally=self.before.tally if tally is None else tally,
            groups=tuple(self.groups),
            z=self.z,
            z_b=self.z_b,
            P_b=self.P_b,
            past=self.before.past + added @ self.batch.C,
            sigma=self.plan.sigma,
            theta=np.array(self.theta),
            stopped_by=stopped_by,
        )

    def _counted(self) -> npt.NDArray[np.int64]:
        """The tally with this batch: its labels predicted in the first pass of the last subproblem."""
        f, labels = self.first_scores, self.batch.labels
        predicted = f.argmax(axis=0) if len(f) > 1 else (f[0] > 0).astype(np.intp)
        tally = self.before.tally.copy()
        for kind, rows in ((SEEN, ...), (MISTAKES, predicted != labels), (UPDATES, self.moved == 1)):
            tally[:, kind] += np.bincount(labels[rows], minlength=len(tally))
        return tally

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Turn the core's refusal of a row into an error that describes it."""
        try:
            yield
        except _core.Refused as refused:
            if refused.reason is Reason.memory:
                raise MemoryError("there are too many features in all groups together") from None
            if refused.reason is Reason.score:
                raise ValueError(f"A row of X has a score beyond float64; {_ADVICE}") from None
            raise refusal(self.batch.rows, refused, np.float64) from None


def greedy(P: Floats, s: Floats, r: int) -> npt.NDArray[np.intp]:
    """At most r indices that maximise, one after the other, the sum over rows of s of s_A' (P_AA)^-1 s_A.

    Index j adds t_j^2 / D_j to it, with t_j = s_j - P_jA P_AA^-1 s_A and D_j = P_jj - P_jA P_AA^-1 P_Aj: the
    remainders of s_j and P_jj in a partial Cholesky factorisation, with j as the next pivot. D_j is at least 1: P - I
    is positive semidefinite. For equal gains the lower index wins.
    """
    D, t = P.diagonal().copy(), s.copy()
    L = np.zeros((r, len(P)))
    chosen = np.zeros(r, np.intp)
    free = np.ones(len(P), bool)
    for i in range(min(r, len(P))):
        gain = np.where(free, (t * t).sum(axis=0) / np.maximum(D, 1.0), -1.0)
        j = int(gain.argmax())
        chosen[i], free[j] = j, False
        root = np.sqrt(max(D[j], 1.0))
        L[i] = (P[j] - L[:i, j] @ L[:i]) / root
        t -= np.outer(t[:, j] / root, L[i])
        D -= L[i] ** 2
    return chosen[: min(r, len(P))]
