"""Learners that take one example at a time: a rule, and the state that it changes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._inputs import Array, Floats
from .._native import _core
from ..models.numbers import COVARIANCE_SCALE, Policy, Rule, Shape
from ..models.rows import as_rows, in_dtype, with_own_columns, without_columns_beyond
from ..models.scaling import Normalizer
from ..models.state import State
from .class_weight import EVEN, Weighing
from .guarded import asking, teaching
from .learner import Learner
from .one import OneByOne, compressed, example
from .parameters import AutoFlag, FlagOrNumber, Number
from .sharding import Sharding


@dataclass(eq=False, repr=False, kw_only=True)
class RuleLearner(Learner):
    """Base of the learners that see one example at a time.

    A subclass names its rule; it adds no loop and no state.
    """

    average: bool | float = FlagOrNumber(Number(0.01, open="high")).default(False)
    bits: int = Number(1, 30, integer=True).default(20)
    passes: int = Number(1, 1e9, integer=True).default(1)
    shuffle: bool | str = AutoFlag().default("auto")
    random_state: Any = None

    _sharding: ClassVar[Sharding | None] = None

    if TYPE_CHECKING:
        _state: State = field(init=False)
        _one: OneByOne | None = field(init=False)
    _one = None  # kept between calls of learn_one
    _grows_by_one = False  # it began with learn_one

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @abstractmethod
    def _rule(self) -> Rule:
        """The rule with this estimator's parameters."""

    def _shape(self) -> Shape:
        rule = self._rule()
        return rule.shape if isinstance(rule, _core.CoordinateRule) else Shape.identity

    def _initial_scalars(self) -> dict[str, Any]:
        """Initial values of the state that are not the default: covariance_scale, c, max_nonzero."""
        return {}

    @property
    def sharding(self) -> Sharding | None:
        """The rule for learning from shards of a stream; None if shards cannot be merged."""
        return None if self._shape() is Shape.simplex or self.average else self._sharding

    @property
    def shape(self) -> Shape:
        """The kind of numbers that a feature has."""
        return self._shape()

    def most_bytes(self, n_columns: int, n_classes: int) -> int:
        """Most bytes of a model with this many columns and classes; memory of untouched features is free."""
        slots, heads = n_columns + 1, n_classes if n_classes > 2 else 1
        factors = heads * slots * (slots + 1) // 2 if self.shape.has_factors else 0
        sums = 8 * slots * heads if self.average else 0
        return np.dtype(self.dtype).itemsize * (slots * heads * self.shape.width + factors) + sums

    @property
    def model(self) -> State:
        return self._fitted_state("model")

    @property
    def rule(self) -> Rule:
        """The rule with the parameters of this learner."""
        return self._rule()

    def warm_up(self) -> None:
        self._rule()

    def _width_to_begin_with(self, n_columns: int) -> int:
        """The initial width for a stream whose first rows have that many columns."""
        return n_columns

    def check_parameters(self) -> None:
        super().check_parameters()
        bounded = self._initial_scalars().get("max_nonzero") is not None  # refuses a budget together with a penalty
        if bounded and self._half_life() is not None:
            bound = "max_nonzero" if hasattr(self, "max_nonzero") else "n_features"
            raise ValueError(
                f"{type(self).__name__} bounds the number of nonzero weights by {bound}={getattr(self, bound)!r}, and "
                f"an average of such weights has more of them: it has no average. Got average={self.average!r}."
            )

    def _half_life(self) -> float | None:
        """The half-life of the average, infinite for a plain mean; None if the last weights predict."""
        if isinstance(self.average, bool | np.bool_):
            return inf if self.average else None
        return float(self.average)

    # -- answers ---------------------------------------------------------------------------------------------

    def judge_rows(self, values: Array, indices: Array, indptr: Array, n_columns: int) -> tuple[Floats, Floats | None]:
        return self._judge_rows(values, indices, indptr, n_columns, variances=self.has_variances)

    def _judge_rows(
        self, values: Array, indices: Array, indptr: Array, n_columns: int, *, variances: bool
    ) -> tuple[Floats, Floats | None]:
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
        # Full covariances need rows of their own width.
        width = state.n_columns if state.factors is not None else min(n_columns, state.n_columns)
        return self._judged(_core.Rows.csr(values, indices, indptr, n_rows, width), beyond, variances=variances)

    def judge(self, X: Any, *, variances: bool) -> tuple[Floats, Floats | None]:
        """Scores of the rows of X, and their variances if wanted; one column per head."""
        state = self._state
        if self._normalizer.core is not None:
            X = self._normalizer.apply(in_dtype(X, state.dtype))
        beyond = None
        if X.shape[1] > state.n_columns:
            # Refuses invalid contents of X before SciPy cuts it.
            X = with_own_columns(X)
            State(Shape.identity, state.dtype, X.shape[1], False).scores(as_rows(X, state.dtype))
            X, beyond = without_columns_beyond(X, state.n_columns)
        width = state.n_columns if state.factors is not None else None
        return self._judged(as_rows(X, state.dtype, width), beyond, variances=variances)

    def judge_made(self, rows: _core.Rows, beyond: Floats | None, *, variances: bool) -> tuple[Floats, Floats | None]:
        """Like `judge`, for normalised rows of the model's width, which many learners may share.

        `beyond` has the sum of squares of each row in columns that the model lacks.
        """
        return self._judged(rows, beyond, variances=variances)

    def _judged(self, rows: _core.Rows, beyond: Floats | None, *, variances: bool) -> tuple[Floats, Floats | None]:
        """`beyond` has the sum of squares of each row in columns that the model does not have."""
        scores = self._scores(rows)
        if not variances:
            return scores, None
        state = self._state
        prior = state.prior * state.memory[:, COVARIANCE_SCALE]
        return scores, state.variances(rows) + (0.0 if beyond is None else beyond[:, np.newaxis] * prior)

    def _scores(self, rows: _core.Rows) -> Floats:
        return self._fitted_state("scores").scores(rows)

    # -- pieces ----------------------------------------------------------------------------------------------

    def _fitted_state(self, attribute: str) -> State:
        super()._fitted_state(attribute)
        return self._state

    def _refuse_state(self, state: Any) -> None:
        # Before the other check, whose message would be about a parameter.
        if (
            not isinstance(state, State)
            or state.shape != self._shape()
            or (state.policy is Policy.regression) != (self._policy() is Policy.regression)
        ):
            raise ValueError(f"{type(self).__name__} with these parameters has no state like that")
        self._refuse_another_shape(state)

    def fresh_normalizer(self) -> Normalizer:
        return Normalizer(self.normalize, self.dtype)

    def fresh_state(self, n_columns: int, n_classes: int = 1) -> State:
        intercept = bool(self.fit_intercept)
        state = State(
            self._shape(),
            self.dtype,
            n_columns,
            intercept,
            n_classes,
            self._policy(),
            **{"half_life": self._half_life()} | self._initial_scalars(),
        )
        state.refresh(self._rule())
        return state

    def _refuse_another_shape(self, state: State) -> None:
        """Parameters that shape the state cannot change under it."""
        shaped = [*self._shaped_by(state), *self._shaped_by_classes(state)]
        if not state.shape.is_dual:
            shaped.append(("average", state.half_life == self._half_life()))
        self._refuse_changes(state, *shaped)

    def _shaped_by(self, state: State) -> list[tuple[str, bool]]:
        """Further parameters that shape the state, and whether they still fit it."""
        return [("covariance", state.shape == self._shape())]

    def _shaped_by_classes(self, state: State) -> list[tuple[str, bool]]:
        """The same where there are classes."""
        return []

    def _state_to_change(
        self, rows: _core.Rows, n_columns: int, nonzeros: int, *, more_classes: bool = False
    ) -> tuple[State, bool]:
        """The state to learn these rows in, and whether with a journal.

        It is the learner's own if a refusal leaves no trace or can be undone. Otherwise it is a draft, copied before
        the first change.
        """
        state = self._state
        max_nonzero = self._initial_scalars().get("max_nonzero")
        # A refused first row leaves no trace, unless the learner absorbs it before it predicts.
        alone = rows.n_rows == 1 and state.policy is not Policy.ovr and not state.shape.absorbs
        alone &= state.ascent is None
        grows = more_classes or n_columns > state.n_columns
        journal = not (alone or grows) and state.factors is None and state.nbytes > 16 * nonzeros
        journal &= state.shape is not Shape.simplex  # a row changes all of its weights
        if not (alone or journal) or grows or not state.writeable or not state.has_budget(max_nonzero):
            state = state.draft()
        state.widen(n_columns)
        state.set_budget(max_nonzero)
        return state, journal

    # -- one example at a time -------------------------------------------------------------------------------

    @property
    def _may_grow(self) -> bool:
        """A model that began with `learn_one` may grow; others only with ``growing=True``."""
        return bool(self.growing) or self._grows_by_one

    def _weighing_one(self, n_classes: int) -> Weighing:
        """The class weights of a single example, if there are classes."""
        return EVEN

    def _codes(self) -> dict[Any, int]:
        """Position of each label; empty without labels."""
        return {}

    def _scores_of_one(self, x: Any) -> tuple[Array, OneByOne]:
        """w.x of one example for each head, as an array with one row, and the scorer."""
        x, _ = example(self, x)
        while True:
            one = self._one
            if one is None or one.state is not self._state:
                with teaching(self):
                    one = OneByOne.begun(self)
            if one.state.factors is not None:
                with asking(self):
                    if one.state is self._state:
                        return self._judge_rows(*compressed(self, x), variances=False)[0], one
            elif (scores := one.core.scores(x)) is not None:
                return np.array([scores]), one
            with teaching(self):  # somebody has changed the model meanwhile
                OneByOne.current(self)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        # A parameter may have changed. Attributes are found faster in objects whose __dict__ was never asked for.
        if not name.startswith("_") and self._one is not None:
            self._one = None
