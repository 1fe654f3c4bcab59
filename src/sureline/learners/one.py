"""Learning from single examples: what a learner keeps between calls of `learn_one`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._inputs import Array
from .._native import _core
from ..models.numbers import Policy, Shape
from ..models.state import State
from ..stream import Chunk

if TYPE_CHECKING:
    from .rule import RuleLearner


@dataclass(slots=True, eq=False)
class OneByOne:
    """A state that takes single examples, in time proportional to their features.

    The learner owns it, and makes it again whenever a parameter or its state has changed. Code that makes or changes
    one must be `teaching`; `core.learn` and `core.scores` are guarded by themselves.
    """

    state: State
    core: _core.OneByOne
    codes: dict[Any, int]  # of the labels
    labels: list[Any]
    careful: bool  # a refused row would leave traces, so each row is learned on a copy

    @staticmethod
    def of(learner: RuleLearner, state: State) -> OneByOne:
        """Make one for this state, with the learner's parameters."""
        rule = learner._rule()
        state.refresh(rule)
        weighing = learner._weighing_one(max(state.n_heads, 2))
        core = state.core.one(
            rule,
            cost=learner.costs,
            class_weight=() if weighing.class_weight is None else weighing.class_weight.tolist(),
            shares=weighing.shares,
            bits=learner.bits if learner.takes_names else 0,
            scales=learner.normalizer.core,
            gate=learner._gate,
        )
        careful = state.factors is not None and (state.policy is Policy.ovr or state.shape.absorbs)
        careful |= state.shape is Shape.simplex
        codes = learner._codes()
        return OneByOne(state, core, codes, list(codes), careful)

    @staticmethod
    def begun(learner: RuleLearner) -> OneByOne:
        """Make one for the learner's state, of which it takes ownership."""
        state = learner._state
        learner._refuse_another_shape(state)
        max_nonzero = learner._initial_scalars().get("max_nonzero")
        if not state.writeable or not state.has_budget(max_nonzero):
            state = state.copy()
            state.set_budget(max_nonzero)
            learner._state = state
        learner.n_features_in_ = state.n_columns
        learner._one = one = OneByOne.of(learner, state)
        return one

    @staticmethod
    def current(learner: RuleLearner) -> OneByOne:
        """The learner's object for single examples, made again if the model has changed; call within `teaching`."""
        one = learner._one
        if one is None or one.state is not learner._state:
            return OneByOne.begun(learner)
        one.core.renew()
        return one

    def learn_otherwise(self, learner: RuleLearner, learn: Callable[[_core.OneByOne], int]) -> None:
        """Learn an example for which the model must grow first, or whose refusal the core cannot undo.

        `learn` calls the core, and returns the width that the model needs first, or 0.
        """
        one = OneByOne.of(learner, self.state.copy()) if self.careful else self
        width = learn(one.core)
        if width:
            if not learner._may_grow and not learner.origin.numbered:
                raise ValueError(
                    f"The row has features up to column {width - 1}, and the model has {one.state.n_columns} columns; "
                    "set growing=True to add columns."
                )
            wider = one.state.draft()
            wider.widen(width)
            one = OneByOne.of(learner, wider)
            learn(one.core)
        if one.state is not learner._state:
            learner._state = one.state
            learner.n_features_in_ = one.state.n_columns
            learner._one = one


def example(learner: RuleLearner, x: Any) -> tuple[Any, Chunk | None]:
    """An example in the core's form, and its chunk if it is in the model's stream format."""
    if not learner.origin.reads(x):
        return x, None
    chunk = learner.origin.chunk([x], learner.model.dtype)
    return (chunk.indices, chunk.values.astype(np.float64)), chunk


def width_of_first(learner: RuleLearner, x: Any) -> int:
    """The initial width of a model whose first example is x; refuses an invalid x."""
    _, _, named = _core.read_row(x, learner.bits)
    return 1 << learner.bits if named and not learner.shape.has_factors else 0


def compressed(learner: RuleLearner, x: Any) -> tuple[Array, Array, Array, int]:
    """An example as a row in compressed form: values, columns, start, end, and width."""
    indices, values, _ = _core.read_row(example(learner, x)[0], learner.bits if learner.takes_names else 0)
    columns = np.array(indices, np.int32)
    ends = np.array([0, len(columns)], np.int32)
    return np.array(values, learner.model.dtype), columns, ends, int(columns.max(initial=-1)) + 1
