"""Numbers rather than classes: what a learner with a rule does with rows that have targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, nan
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .._inputs import Array
from .._native import _core
from ..models.numbers import Policy
from ..models.state import State
from .guarded import asks, teaching
from .learner import Floats
from .one import OneByOne, example, width_of_first
from .rule import RuleLearner


@dataclass(eq=False, repr=False, kw_only=True)
class TargetLearner(RuleLearner):
    """Base of the regressors: there is one head, and its score is the prediction."""

    def _policy(self) -> Policy:
        return Policy.regression

    # -- learning --------------------------------------------------------------------------------------------

    def begin(self, n_columns: int = 0) -> None:
        """Forget everything, and be ready for rows of that many columns."""
        self.check_parameters()
        self._state = self.fresh_state(self._width_to_begin_with(n_columns))
        self._normalizer = self.fresh_normalizer()

    def take(
        self,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        targets: Floats,
        weight: Floats | None = None,
        part: tuple[int, int] | None = None,
    ) -> None:
        """Learn from a chunk of a stream in place, or from a part of its rows; as `take` of the learners of classes."""
        self._state.widen(n_columns)
        self.n_features_in_ = self._state.n_columns
        order = None if part is None else np.arange(*part)
        self._learn_targets(self._state, make_rows(None), targets, weight, order, journal=False)

    def go_on(
        self,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        nonzeros: int,
        targets: Floats,
        weight: Floats | None,
    ) -> State:
        """The state after these rows. The learner's own state is changed only if all goes well."""
        rows = make_rows(None)
        if not hasattr(self, "_state"):
            state, journal = self.fresh_state(n_columns), False
        else:
            self._refuse_another_shape(self._state)
            state, journal = self._state_to_change(rows, n_columns, nonzeros)
            if state is not self._state:
                state.part_from(self._state)
        self._learn_targets(state, rows, targets, weight, None, journal)
        return state

    def _learn_targets(
        self,
        state: State,
        rows: _core.Rows,
        targets: Floats,
        weight: Floats | None,
        order: npt.NDArray[np.int64] | None,
        journal: bool,
    ) -> None:
        no_labels = np.zeros(len(targets), np.int32)
        state.learn(self._rule(), rows, no_labels, weight, order, journal, self.costs, targets)

    # -- one example at a time -------------------------------------------------------------------------------

    def learn_one(self, x: Any, y: float, sample_weight: float = 1.0) -> Self:
        """Learn from one example, in the time of its features.

        A model that begins with `learn_one` grows as features come; one that was fitted or loaded only with
        ``growing=True``.

        Parameters
        ----------
        x : dict, list of pairs, or tuple of two arrays
            Features with their values: ``{"rooms": 3.0, "town": "Bath"}``, ``[("rooms", 3.0)]``, or the arrays of
            columns (integers) and of values. Names are hashed to ``2**bits`` columns as scikit-learn's FeatureHasher
            does it; text as a value makes the feature "town=Bath". Integers are columns as they are. A model that was
            trained from a stream takes what its rows are written in: a text, a line of VW or of LIBSVM without its
            label, a dict of VW names such as ``{"a^x": 1.0}``, or a dict of the columns of a table.
        y : float
            The target.
        sample_weight : float, default=1.0

        Examples
        --------
        >>> from sureline import ODCARegressor
        >>> reg = ODCARegressor(fit_intercept=False).learn_one({"rooms": 3.0}, 300.0).learn_one({"rooms": 4.0}, 400.0)
        >>> round(reg.predict_one({"rooms": 5.0}))
        500
        """
        target = _number(y)
        one = self._one
        x, written = example(self, x)
        begun = one is not None and one.state is self._state
        if not begun or one.careful or one.core.learn(x, 0, sample_weight, target):  # type: ignore[union-attr]
            with teaching(self):
                one = self._one
                one = self._begin_one(x) if one is None or one.state is not self._state else OneByOne.current(self)
                one.learn_otherwise(self, lambda core: core.learn(x, 0, sample_weight, target))
        self.origin.learned(written)
        return self

    def predict_one(self, x: Any) -> float | None:
        """The prediction for one example, given as to `learn_one`; None if nothing has been learned yet."""
        return float(self._scores_of_one(x)[0][0, 0]) if hasattr(self, "_state") else None

    def _begin_one(self, x: Any) -> OneByOne:
        self.check_parameters()
        if not hasattr(self, "_state"):
            width = width_of_first(self, x)
            self._grows_by_one = True
            self.begin(width)
        return OneByOne.begun(self)

    # -- what was learned ------------------------------------------------------------------------------------

    @property
    def coef_(self) -> Array:
        """Weights, of shape (n_features,)."""
        weights: Array = super().coef_[0]
        return weights

    @property
    def progressive_loss_(self) -> float:
        """The mean loss of the predictions of all targets so far, each made before it was learned from."""
        return self.total_loss / max(self.n_seen_, 1)

    @asks
    def progressive_measures(self) -> dict[str, Any]:
        return {"loss": self.progressive_loss_}

    @property
    @asks
    def total_loss(self) -> float:
        """The sum of those losses."""
        ascent = self._fitted_state("progressive_loss_").ascent
        assert ascent is not None
        return float(ascent.scalars[_core.AscentColumn.loss.value])


def _number(y: Any) -> float:
    """A target; ValueError if it is no finite number."""
    number = y if type(y) is float else _as_float(y)
    if not isfinite(number):
        raise ValueError(f"y must be a finite number. Got {y!r} instead.")
    return number


def _as_float(value: Any) -> float:
    """NaN if it is no number, or none that a float can be."""
    try:
        return float(value) if isinstance(value, Real | np.bool_) else nan
    except OverflowError:
        return nan


def as_targets(y: Array) -> Floats:
    """Targets as float64; ValueError names the first row whose target is no finite number."""
    if y.dtype.kind in "biuf":
        targets = np.array(y, np.float64, order="C")  # a copy: nobody else can change it once it was looked at
    else:
        targets = np.array([_as_float(value) for value in y.tolist()])
    if not np.isfinite(targets).all():
        row = int(np.argmin(np.isfinite(targets)))
        raise ValueError(f"y must be finite numbers. Got {y.tolist()[row]!r} in row {row} instead.")
    return targets
