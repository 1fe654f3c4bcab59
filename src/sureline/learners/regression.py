"""Online regression: learners whose rows have targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite, nan
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from .._inputs import Array, Floats
from .._native import _core
from ..models.numbers import Policy
from ..models.state import State
from ..models.weights import Weight
from .guarded import asks, teaching
from .one import OneByOne, example, width_of_first
from .parameters import Flag
from .rule import RuleLearner
from .targets import Scaled, TargetScale


@dataclass(eq=False, repr=False, kw_only=True)
class TargetLearner(RuleLearner):
    """Base of the regressors: one head, whose score is the prediction."""

    scale_target: bool = Flag().default(True)

    # `fit` divides features by their mean size over all rows of X, not over the rows so far.
    scales_at_once: ClassVar[bool] = False
    _target_scale = TargetScale()

    def _policy(self) -> Policy:
        return Policy.regression

    @property
    def centres_columns(self) -> bool:
        """True if `fit` learns from dense columns less their means, and then makes the weights those of the columns."""
        return False

    def _power_of_unit(self) -> int:
        """The power of the unit of the targets in the loss, or 0 if no step depends on that unit."""
        return 0

    @property
    def target_scale(self) -> TargetScale:
        """The shift and the divisor of the targets."""
        return self._target_scale

    @target_scale.setter
    def target_scale(self, scale: TargetScale) -> None:
        self._target_scale = scale

    def fresh_target_scale(self) -> TargetScale:
        """A scale without targets."""
        if not self.scale_target:
            return TargetScale()
        return TargetScale(centred=bool(self.fit_intercept), power=self._power_of_unit())

    def _shaped_by_classes(self, state: State) -> list[tuple[str, bool]]:
        fresh, now = self.fresh_target_scale(), self._target_scale
        return [("scale_target", fresh.centred == now.centred), ("loss", fresh.power == now.power)]

    # -- answers ---------------------------------------------------------------------------------------------

    def _judged(self, rows: _core.Rows, beyond: Floats | None, *, variances: bool) -> tuple[Floats, Floats | None]:
        scores, v = super()._judged(rows, beyond, variances=variances)
        return self._target_scale.back(scores), v

    # -- learning --------------------------------------------------------------------------------------------

    def begin(self, n_columns: int = 0) -> None:
        """Forget everything, and be ready for rows of that many columns."""
        self.check_parameters()
        self._state = self.fresh_state(self._width_to_begin_with(n_columns))
        self._normalizer = self.fresh_normalizer()
        self._target_scale = self.fresh_target_scale()

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
        rows = make_rows(self._state.n_columns if self._state.factors is not None else None)
        self.learn_targets(self._state, rows, targets, weight, order, journal=False)

    def go_on(
        self,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        nonzeros: int,
        targets: Floats,
        weight: Floats | None,
    ) -> State:
        """The state after these rows. The learner's own state is changed only if all goes well."""
        first = not hasattr(self, "_state")
        n_columns = n_columns if first else max(n_columns, self._state.n_columns)
        rows = make_rows(n_columns if self.shape.has_factors else None)
        if first:
            state, journal = self.fresh_state(n_columns), False
            self._target_scale = self.fresh_target_scale()
        else:
            self._refuse_another_shape(self._state)
            state, journal = self._state_to_change(rows, n_columns, nonzeros)
            if state is not self._state:
                state.part_from(self._state)
        self.learn_targets(state, rows, targets, weight, None, journal)
        return state

    def learn_targets(
        self,
        state: State,
        rows: _core.Rows,
        targets: Floats,
        weight: Floats | None,
        order: npt.NDArray[np.int64] | None,
        journal: bool,
    ) -> None:
        """Make one pass over the rows in place, on the scale of the targets so far."""
        no_labels = np.zeros(len(targets), np.int32)
        if order is None:
            scale, scaled = self._target_scale.after(targets, weight)
        else:
            scale, some = self._target_scale.after(targets[order], None if weight is None else weight[order])
            scaled = Scaled(*(None if part is None else spread(part, order, len(targets)) for part in some))  # type: ignore[arg-type]
        state.learn(self._rule(), rows, no_labels, weight, order, journal, self.costs, scaled=scaled)
        self._target_scale = scale

    # -- one example at a time -------------------------------------------------------------------------------

    def learn_one(self, x: Any, y: float, sample_weight: float = 1.0) -> Self:
        """Learn from one example, in time proportional to its features.

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
        >>> from sureline import AROWRegressor
        >>> reg = AROWRegressor(r=1e-3, covariance="diag", fit_intercept=False, normalize="none")
        >>> reg = reg.learn_one({"rooms": 3.0}, 300.0).learn_one({"rooms": 4.0}, 400.0)
        >>> round(reg.predict_one({"rooms": 5.0}))
        500
        """
        target = np.array([_number(y)])
        x, written = example(self, x)
        with teaching(self):
            one = self._one
            one = self._begin_one(x) if one is None or one.state is not self._state else OneByOne.current(self)
            scale, scaled = self._target_scale.after(target, np.array([sample_weight], float))
            unit = 1.0 if scaled.units is None else float(scaled.units[0])
            numbers = float(scaled.targets[0]), float(scaled.told[0]), unit
            one.learn_otherwise(self, lambda core: core.learn(x, 0, sample_weight, *numbers))
            self._target_scale = scale
        self.origin.learned(written)
        return self

    def predict_one(self, x: Any) -> float | None:
        """Predict the target of one example, given as to `learn_one`; None before training."""
        if not hasattr(self, "_state"):
            return None
        scores, one = self._scores_of_one(x)
        return float(scores[0, 0] if one.state.factors is not None else self._target_scale.back(scores[0, 0]))

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
        weights: Array = super().coef_[0] * self._target_scale.unit
        return weights

    @property
    def sparse_coef_(self) -> Any:
        return super().sparse_coef_ * self._target_scale.unit

    @property
    def intercept_(self) -> Array:
        """The intercept, of shape (1,); 0 with ``fit_intercept=False``."""
        intercept: Array = self._target_scale.back(super().intercept_)
        return intercept

    @asks
    def top_weights(self, n: int, names: _core.NameTable | None = None) -> list[Weight]:
        unit = self._target_scale.unit
        return [
            replace(one, weight=one.weight * unit, std=None if one.std is None else one.std * unit)
            for one in super().top_weights(n, names)
        ]

    @property
    def progressive_loss_(self) -> float:
        """The progressive loss: the mean over all targets so far, each predicted before it was learned from."""
        return self.total_loss / max(self.n_seen_, 1)

    @asks
    def progressive_measures(self) -> dict[str, Any]:
        return {"loss": self.progressive_loss_}

    @property
    @asks
    def total_loss(self) -> float:
        """The sum of the losses."""
        ascent = self._fitted_state("progressive_loss_").ascent
        assert ascent is not None
        return float(ascent.scalars[_core.AscentColumn.loss.value])


def spread(part: Floats, order: npt.NDArray[np.int64], n: int) -> Floats:
    """Numbers of the rows in this order, at the places of the rows."""
    room = np.zeros(n)
    room[order] = part
    return room


def _number(y: Any) -> float:
    """A target as a float; ValueError if it is not a finite number."""
    number = y if type(y) is float else _as_float(y)
    if not isfinite(number):
        raise ValueError(f"y must be a finite number. Got {y!r} instead.")
    return number


def _as_float(value: Any) -> float:
    """The value as a float; NaN if that is impossible."""
    try:
        return float(value) if isinstance(value, Real | np.bool_) else nan
    except OverflowError:
        return nan


def as_targets(y: Array) -> Floats:
    """Targets as float64; ValueError names the first row whose target is no finite number."""
    if y.dtype.kind in "biuf":
        targets = np.array(y, np.float64, order="C")  # a copy, so that no other thread can change it after the check
    else:
        targets = np.array([_as_float(value) for value in y.tolist()])
    if not np.isfinite(targets).all():
        row = int(np.argmin(np.isfinite(targets)))
        raise ValueError(f"y must be finite numbers. Got {y.tolist()[row]!r} in row {row} instead.")
    return targets
