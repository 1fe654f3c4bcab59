"""An online learner without scikit-learn: a rule, the state, and the turn of a batch of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._inputs import Array
from .._native import _core
from ..models.numbers import COVARIANCE_SCALE, Policy, Rule, Shape
from ..models.scaling import Normalizer
from ..models.state import State
from .grids import Settings
from .learner import ClassLearner, Fitted, Floats, Learner
from .parameters import Constraint, Flag, Number


class _OfRules(Fitted):
    """What a learner with a rule has once it has begun; apart, as in `_learner`."""

    _state: State


@dataclass(eq=False, repr=False, kw_only=True)
class RuleLearner(_OfRules, Learner):
    """Base of the learners that see one example at a time.

    A subclass names its rule; it adds no loop and no state.
    """

    bits: int = 20
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    _constraints: ClassVar[dict[str, Constraint]] = {
        **Learner._constraints,
        "bits": Number(1, 30, integer=True),
        "passes": Number(1, 1e9, integer=True),
        "shuffle": Flag(),
    }

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @abstractmethod
    def _rule(self) -> Rule:
        """The rule with this estimator's parameters."""

    def _shape(self) -> Shape:
        return Shape.identity

    def _initial_scalars(self) -> dict[str, Any]:
        """What the state starts with, where that is not the default: covariance_scale, c, max_nonzero."""
        return {}

    @abstractmethod
    def _policy(self) -> Policy:
        """What the heads are for, if there are more than one, or if there are no classes."""

    def _width_to_begin_with(self, n_columns: int) -> int:
        """For a stream whose first rows have that many columns."""
        return n_columns

    def check_parameters(self) -> None:
        super().check_parameters()
        self._initial_scalars()  # refuses a budget beside a penalty

    # -- answers ---------------------------------------------------------------------------------------------

    def judge_rows(self, values: Array, indices: Array, indptr: Array, n_columns: int) -> tuple[Floats, Floats | None]:
        state = self._fitted_state("scores")
        values = values if values.dtype == state.dtype else values.astype(state.dtype)
        values = self._normalizer.apply_values(values, indices, indptr, n_columns)
        n_rows = len(indptr) - 1
        beyond = None
        if n_columns > state.n_columns:
            here = indices < state.n_columns
            row_of = np.repeat(np.arange(n_rows), np.diff(indptr))
            squares = values[~here].astype(np.float64) ** 2
            beyond = np.bincount(row_of[~here], weights=squares, minlength=n_rows).astype(np.float64)
            indptr = np.concatenate([[0], np.cumsum(np.bincount(row_of[here], minlength=n_rows))]).astype(np.int32)
            values, indices = values[here], indices[here]
        # A full covariance needs rows of its own width.
        width = state.n_columns if state.factors is not None else min(n_columns, state.n_columns)
        rows = _core.Rows.csr(values, indices, indptr, n_rows, width)
        scores = self._scores(rows)
        if not self.has_variances:
            return scores, None
        prior = state.prior * state.memory[:, COVARIANCE_SCALE]
        return scores, state.variances(rows) + (0.0 if beyond is None else beyond[:, np.newaxis] * prior)

    def _scores(self, rows: _core.Rows) -> Floats:
        return self._fitted_state("scores").scores(rows)

    # -- pieces ----------------------------------------------------------------------------------------------

    def _fitted_state(self, attribute: str) -> State:
        super()._fitted_state(attribute)
        return self._state

    def _refuse_state(self, state: Any) -> None:
        # Before the other check, which would name a parameter for it.
        if (
            not isinstance(state, State)
            or state.shape != self._shape()
            or (state.policy is Policy.regression) != (self._policy() is Policy.regression)
        ):
            raise ValueError(f"{type(self).__name__} with these parameters has no state like that")
        self._refuse_another_shape(state)

    def _fresh_normalizer(self) -> Normalizer:
        return Normalizer(self.normalize, self.dtype)

    def _fresh_state(self, n_columns: int, n_classes: int = 1) -> State:
        intercept = bool(self.fit_intercept)
        state = State(
            self._shape(), self.dtype, n_columns, intercept, n_classes, self._policy(), **self._initial_scalars()
        )
        state.look(self._rule())
        return state

    def _refuse_another_shape(self, state: State) -> None:
        """Parameters that shape the state cannot change under it."""
        self._refuse_another_normalizer()
        for parameter, same in (
            ("dtype", state.dtype == self.dtype),
            ("fit_intercept", state.intercept == bool(self.fit_intercept)),
            *self._shaped_by(state),
            *self._shaped_by_classes(state),
        ):
            if not same:
                raise ValueError(
                    f"The {parameter!r} parameter of {type(self).__name__} cannot change after the first call of "
                    f"partial_fit. Got {getattr(self, parameter)!r} instead of what the model was made with."
                )

    def _shaped_by(self, state: State) -> list[tuple[str, bool]]:
        """Further parameters that shape the state, and whether they are what the state was made with."""
        return [("covariance", state.shape == self._shape())]

    def _shaped_by_classes(self, state: State) -> list[tuple[str, bool]]:
        """The same where there are classes."""
        return []

    def _state_to_change(
        self, rows: _core.Rows, n_columns: int, nonzeros: int, *, more_classes: bool = False
    ) -> tuple[State, bool]:
        """The state to learn these rows in, and whether with a journal.

        It is the learner's own where a refusal leaves no trace or can be undone, otherwise a draft, which is a copy as
        soon as it parts from the original.
        """
        state = self._state
        max_nonzero = self._initial_scalars().get("max_nonzero")
        # The first row that is refused leaves no trace, unless the learner takes it in before it predicts.
        alone = rows.n_rows == 1 and state.policy is not Policy.ovr and not state.shape.absorbs
        alone &= state.ascent is None
        grows = more_classes or n_columns > state.n_columns
        journal = not (alone or grows) and state.factors is None and state.nbytes > 16 * nonzeros
        journal &= state.shape is not Shape.simplex  # all of whose weights change with every row
        if not (alone or journal) or grows or not state.writeable or not state.has_budget(max_nonzero):
            state = state.draft()
        state.widen(n_columns)
        state.set_budget(max_nonzero)
        return state, journal


@dataclass(eq=False, repr=False, kw_only=True)
class ClassRuleLearner(RuleLearner, ClassLearner):
    """What a learner with a rule does with rows that have classes."""

    _constraints: ClassVar[dict[str, Constraint]] = {**ClassLearner._constraints, **RuleLearner._constraints}

    # What is tried on the first rows of a stream, after the defaults, where nothing but the name is said; as data.
    settings_to_try: ClassVar[Settings] = ()

    # -- learning --------------------------------------------------------------------------------------------

    def begin(self, classes: Array, n_columns: int = 0) -> None:
        """Forget everything, and be ready for rows of that many columns and for these classes."""
        self.check_parameters()
        if len(classes) == 0:
            self._refuse_unnamed_classes()
        self._refuse_classes(len(classes))
        self.classes_ = classes
        self._state = self._fresh_state(self._width_to_begin_with(n_columns), len(classes))
        self._normalizer = self._fresh_normalizer()

    def take(
        self,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        labels: npt.NDArray[np.int32],
        weight: npt.NDArray[np.float64] | None = None,
        part: tuple[int, int] | None = None,
        n_classes: int | None = None,
    ) -> None:
        """Learn from a chunk of a stream in place, or from a part of its rows: wider and of more classes, if it is so.

        `n_classes` is how many there are by the end of the chunk, if that is known. `make_rows` gets the width that the
        rows are to count as, if it is not their own. The rows are those of a reader, which has looked at their values,
        and whoever calls has normalised them. If one is refused all the same, for a score or a step that overflows, the
        model is of no further use: there is no journal here.
        """
        state = self._state
        first, last = part or (0, len(labels))
        n_known = max(state.n_heads, 2)  # two classes have one head
        if n_classes is None or n_classes > n_known:
            n_classes = int(labels[first:last].max(initial=-1)) + 1
            self._refuse_classes(n_classes)
        cuts = [(0, last - first, n_known)] if n_classes <= n_known else stretches(labels[first:last], n_known)
        state.widen(n_columns)
        self.n_features_in_ = state.n_columns
        rows = make_rows(state.n_columns if state.factors is not None else None)
        for start, stop, n_existing in cuts:
            self._learn_stretch(state, rows, labels, n_existing, first + start, first + stop, weight, journal=False)

    def _go_on(
        self,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        nonzeros: int,
        labels: npt.NDArray[np.int32],
        n_known: int,
        n_classes: int,
        weight: npt.NDArray[np.float64] | None,
    ) -> State:
        """The state after these rows. The learner's own state is changed only if all goes well.

        `make_rows` gets the width that the rows are to count as, if it is not their own. `n_known` classes exist from
        the start, the others from the row on that first carries them.
        """
        first = not hasattr(self, "_state")
        original = self._fresh_state(n_columns, n_known) if first else self._state
        self._refuse_another_shape(original)
        self._refuse_classes(max(n_classes, original.n_heads))
        n_columns = max(n_columns, original.n_columns)
        rows = make_rows(n_columns if original.factors is not None else None)
        state, journal = original, False
        if not first:
            more_classes = n_classes > len(self.classes_)
            state, journal = self._state_to_change(rows, n_columns, nonzeros, more_classes=more_classes)

        for start, stop, n_existing in stretches(labels, n_known):
            if state is not original:
                self._add_classes(state, n_existing)
                state.part_from(original)
            self._learn_stretch(state, rows, labels, n_existing, start, stop, weight, journal)
        return state

    def _add_classes(self, state: State, n_existing: int) -> None:
        if n_existing > max(state.n_heads, 2):
            state.add_heads(n_existing, self._policy())

    def _learn_stretch(
        self,
        state: State,
        rows: _core.Rows,
        labels: npt.NDArray[np.int32],
        n_existing: int,
        start: int,
        stop: int,
        weight: npt.NDArray[np.float64] | None,
        journal: bool,
    ) -> None:
        """Rows from start to stop, in which no class beyond the first `n_existing` comes."""
        self._add_classes(state, n_existing)
        part = None if stop - start == rows.n_rows else np.arange(start, stop)
        # Labels of classes that come later in the batch are not looked at yet, but must be in range.
        labels_so_far = labels if part is None else np.where(labels < n_existing, labels, 0).astype(np.int32)
        state.learn(self._rule(), rows, labels_so_far, weight, part, journal, self._costs())

    def _policy(self) -> Policy:
        """How more than two classes are learned."""
        return Policy.ovr if self.multi_class == "ovr" else Policy.rival

    def _shaped_by_classes(self, state: State) -> list[tuple[str, bool]]:
        return [("multi_class", state.policy in (Policy.binary, self._policy()))]


def stretches(labels: npt.NDArray[np.int32], n_known: int) -> list[tuple[int, int, int]]:
    """Cut rows where a class appears for the first time: (start, stop, classes that exist in there).

    So a stream gives the same model however it is cut into calls.
    """
    if len(labels) == 0:
        return [(0, 0, n_known)]
    highest = np.maximum.accumulate(labels)
    n_classes = np.maximum(highest + 1, n_known)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(n_classes)) + 1, [len(labels)]])
    return [(int(a), int(b), int(n_classes[a])) for a, b in pairwise(starts)]
