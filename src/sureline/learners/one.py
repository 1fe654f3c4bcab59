"""One example at a time: what a learner with a rule does with a single row, in the time of its features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._inputs import Array
from .._native import _core
from ..models.numbers import COVARIANCE_SCALE, WEIGHT_SCALE, Policy, Shape
from ..models.state import State
from .online import ClassRuleLearner, RuleLearner


@dataclass(slots=True, eq=False)
class _OneByOne:
    """What learn_one keeps from one call to the next."""

    state: State
    core: _core.OneByOne
    codes: dict[Any, int]  # of the labels
    careful: bool  # a row that is refused would leave traces, so each is learned on a copy


class _Kept:
    """What is kept between calls; apart, since all that a dataclass declares is taken for a parameter."""

    _one: _OneByOne | None = None
    _grows_by_one: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class SingleLearner(_Kept, RuleLearner):
    """What every learner with a rule does with a single row, whatever is to be learned from it."""

    def _learn_otherwise(self, one: _OneByOne, learn: Callable[[_core.OneByOne], int]) -> None:
        """Where the model has to grow first, or has no way to take back what a refused row changed.

        `learn` lets the core have the row, and returns the width that the model needs first, or 0.
        """
        if one.careful:
            one = self._one_of(one.state.copy())
        width = learn(one.core)
        if width:
            if not self._may_grow:
                raise ValueError(
                    f"The row has features up to column {width - 1}, and the model has {one.state.n_columns} columns; "
                    "set growing=True to add columns."
                )
            wider = one.state.draft()
            wider.widen(width)
            one = self._one_of(wider)
            learn(one.core)
        if one.state is not self._state:
            self._state = one.state
            self.n_features_in_ = one.state.n_columns
            self._one = one

    def _scores_of_one(self, x: Any) -> Array:
        """w.x of one example for each head, as an array of one row."""
        one = self._one
        if one is None or one.state is not self._state:
            one = self._new_one()
        if one.state.factors is not None:
            return self._judge_one(x, variance=False)[0]
        return np.array([one.core.scores(x)]) * one.state.memory[:, WEIGHT_SCALE]

    def _width_of_first(self, x: Any) -> int:
        """What a model is to begin with whose first example is x; refuses what is wrong with that."""
        _, _, named = _core.read_row(x, self.bits)
        return 1 << self.bits if named and not self._shape().has_factors else 0

    @property
    def _may_grow(self) -> bool:
        """A model that began with `learn_one` grows as it has begun; others only if they are told so."""
        return bool(self.growing) or self._grows_by_one

    def _new_one(self) -> _OneByOne:
        state = self._state
        self._refuse_another_shape(state)
        max_nonzero = self._initial_scalars().get("max_nonzero")
        if not state.writeable or not state.has_budget(max_nonzero):
            state = state.copy()
            state.set_budget(max_nonzero)
            self._state = state
        self.n_features_in_ = state.n_columns
        self._one = self._one_of(state)
        return self._one

    def _one_of(self, state: State) -> _OneByOne:
        rule = self._rule()
        state.look(rule)
        core = state.core.one(
            rule, cost=self._costs(), bits=self.bits if self._takes_names else 0, scales=self._normalizer.core
        )
        careful = state.factors is not None and (state.policy is Policy.ovr or state.shape.absorbs)
        careful |= state.shape is Shape.simplex
        return _OneByOne(state, core, self._codes(), careful)

    def _codes(self) -> dict[Any, int]:
        """Of the labels, if there are any."""
        return {}

    def _judge_one(self, x: Any, *, variance: bool) -> tuple[Array, Array | None]:
        """Scores of one example, and variances if they are asked for, as arrays of one row."""
        state = self._state
        indices, values, _ = _core.read_row(x, self.bits if self._takes_names else 0)
        columns = np.array(indices, np.int32)
        numbers = np.array(values, state.dtype)
        ends = np.array([0, len(columns)], np.int32)
        numbers = self._normalizer.apply_values(numbers, columns, ends, int(columns.max(initial=-1)) + 1)
        here = columns < state.n_columns
        starts = np.array([0, int(here.sum())], np.int32)
        rows = _core.Rows.csr(numbers[here], columns[here], starts, 1, state.n_columns)
        scores = self._scores(rows)
        if not variance:
            return scores, None
        beyond = float((numbers[~here].astype(np.float64) ** 2).sum())
        return scores, state.variances(rows) + beyond * state.prior * state.memory[:, COVARIANCE_SCALE]

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        # A parameter may have changed. Objects whose __dict__ was never asked for find their attributes sooner.
        if not name.startswith("_") and self._one is not None:
            self._one = None

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_one", None)
        return state


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineLearner(SingleLearner, ClassRuleLearner):
    """A learner of classes with a rule, for rows that come in batches or alone."""

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn from one example, in the time of its features.

        A model that begins with `learn_one` grows as features and classes come; one that was fitted or loaded only with
        ``growing=True``.

        Parameters
        ----------
        x : dict, list of pairs, or tuple of two arrays
            Features with their values: ``{"word": 2.0, "colour": "red"}``, ``[("word", 2.0)]``, or the arrays of
            columns (integers) and of values. Names are hashed to ``2**bits`` columns as scikit-learn's FeatureHasher
            does it; text as a value makes the feature "colour=red". Integers are columns as they are. A model that was
            trained from a stream without such names (LIBSVM, VW) takes integers only.
        y : label
            True and False are known to belong together; other labels become classes in the order of their appearance.
        sample_weight : float, default=1.0

        Examples
        --------
        >>> from sureline import AROW
        >>> clf = AROW().learn_one({"cheap": 1.0, "pills": 1.0}, "spam").learn_one({"lunch": 1.0}, "ham")
        >>> clf.predict_one({"pills": 1.0})
        'spam'
        """
        one = self._one
        if one is None or one.state is not self._state:
            one = self._begin_one(x, y)
        try:
            code = one.codes[y]
        except KeyError:
            code = None
        except TypeError:
            raise ValueError(f"A label must be a number, text, True or False. Got {y!r} instead.") from None
        if code is None or one.careful or one.core.learn(x, code, sample_weight):
            self._learn_one_otherwise(x, y, sample_weight)
        return self

    def _learn_one_otherwise(self, x: Any, y: Any, sample_weight: float) -> None:
        """Where the model has to grow first, or has no way to take back what a refused row changed."""
        one = self._one
        assert one is not None
        if y not in one.codes:
            one = self._one_class_more(y)
        code = one.codes[y]
        self._learn_otherwise(one, lambda core: core.learn(x, code, sample_weight))

    def predict_one(self, x: Any) -> Any:
        """The label of one example, given as to `learn_one`; None if nothing has been learned yet."""
        if not hasattr(self, "_state"):
            return None
        return self.classes_[int(self.chosen(self._scores_of_one(x))[0])].item()

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of each label for one example, given as to `learn_one`; empty if nothing was learned yet.

        For the learners that have probabilities: those with a covariance, or with ``loss="log"``.
        """
        if not self.has_probabilities:
            raise AttributeError(f"{type(self).__name__} has no probabilities with these parameters.")
        if not hasattr(self, "_state"):
            return {}
        proba = self.probabilities(*self._judge_one(x, variance=self.has_variances))[0]
        return dict(zip(self.classes_.tolist(), proba.tolist(), strict=True))

    def _begin_one(self, x: Any, y: Any) -> _OneByOne:
        self.check_parameters()
        if not hasattr(self, "_state"):
            classes = np.array([False, True]) if isinstance(y, bool | np.bool_) else np.array([y])
            if classes.ndim != 1 or classes.dtype.kind not in "biufU" or y != y:
                raise ValueError(f"A label must be a number, text, True or False. Got {y!r} instead.")
            if len(classes) < 2:
                self._refuse_unnamed_classes()
            self._grows_by_one = True
            self.begin(classes, self._width_of_first(x))
        return self._new_one()

    def _codes(self) -> dict[Any, int]:
        return {label: k for k, label in enumerate(self.classes_.tolist())}

    def _one_class_more(self, y: Any) -> _OneByOne:
        known = self.classes_.tolist()
        label = np.array([y])
        kinds = {label.dtype.kind, self.classes_.dtype.kind}
        if label.ndim != 1 or y != y or not (kinds <= set("biuf") or kinds == {"U"}):
            raise ValueError(f"y is {y!r}, and the classes so far are of another type: {known}.")
        if not self._may_grow:
            raise ValueError(f"y is {y!r}, which is not among the classes {known}; set growing=True to add classes.")
        self._refuse_classes(len(known) + 1)
        state = self._state.copy()
        self._add_classes(state, len(known) + 1)
        self.classes_ = np.concatenate([self.classes_, label])
        self._state = state
        return self._new_one()
