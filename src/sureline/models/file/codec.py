"""Converts a state to tensors and words, and back with every field checked against the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..._inputs import Array
from ..._native import _core
from ..groups import GroupState
from ..kernel.model import KernelModel
from ..numbers import (
    COVARIANCE_SCALE,
    MEMORY_COLUMNS,
    MISTAKES,
    ROUND_COLUMNS,
    SEEN,
    UPDATES,
    K,
    Policy,
    Shape,
    T,
    flip_one,
)
from ..precision.state import PrecisionState
from ..state import State
from ..touched import Touched
from .average import AVERAGE, checked_average, tensors_of_average
from .batches import arrays_of, group_state, precision_state
from .checks import (
    MOST_COLUMNS,
    MOST_ROUNDS,
    Common,
    everywhere,
    increasing,
    index_dtype,
    integer,
    take_tensor,
)
from .container import Tensor
from .errors import Refusal
from .kernel import kernel_arrays, kernel_state
from .window import WINDOW, arrays_of_ascent, checked_ascent

MOST_BYTES = 1 << 42  # of addresses that the weights take, touched or not
# As they are written in a file: by their names.
_SHAPES = {shape.name: shape for shape in Shape}
_POLICIES = {policy.name: policy for policy in Policy}
_DUAL = tuple(shape.name for shape in Shape if shape.is_dual)
_REGRESSION = *_DUAL, Shape.diagonal.name, Shape.full.name
_WITH_AVERAGE = tuple(shape.name for shape in Shape if not shape.is_dual)
# States that are not arrays of weights, by the name of their shape.
_OTHER_STATES: dict[str, Callable[[dict[str, Array], Common], AnyState]] = {
    PrecisionState.shape: precision_state,
    GroupState.shape: group_state,
    KernelModel.shape: kernel_state,
}
AnyState = State | PrecisionState | GroupState | KernelModel
_FIELDS = {"shape", "dtype", "n_columns", "n_heads", "intercept", "policy", "budget", "counters"}
_BLOCK = 1 << 16


# -- writing -------------------------------------------------------------------------------------------------


def encode(state: AnyState) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The metadata of a state, and its tensors."""
    if state.n_columns > MOST_COLUMNS or (isinstance(state, State) and _bytes_of(state) > MOST_BYTES):
        raise ValueError(
            f"The model has {state.n_columns} columns and {state.n_heads} heads; a model file holds at most "
            f"{MOST_COLUMNS} columns and 2^42 bytes of weights."
        )
    words: dict[str, Any] = {
        "shape": state.shape.name if isinstance(state, State) else state.shape,
        "dtype": state.dtype.name,
        "n_columns": state.n_columns,
        "n_heads": state.n_heads,
        "intercept": state.intercept,
        "policy": state.policy.name,
        "budget": None,
        "counters": state.tally.tolist(),
    }
    if isinstance(state, KernelModel):
        return words, {name: Tensor.of(array) for name, array in kernel_arrays(state).items()}
    if not isinstance(state, State):
        return words, {name: Tensor.of(array) for name, array in arrays_of(state).items()}
    arrays: dict[str, Array] = {"memory": state.memory, "fresh_memory": state._fresh_memory, "prior": state.prior}
    if state.factors is not None:
        arrays["factors"] = state.factors
    if state.rounds is not None:
        arrays["view"] = state.rounds
    if isinstance(state.budget, _core.Budget):
        arrays["budget"] = np.array([state.budget.threshold, state.budget.chosen])
    if state.budget is not None:
        arrays["members"] = state.budget.members
        words["budget"] = {"max": state.budget.max, "active": state.budget.active}
    if state.ascent is not None:
        arrays |= arrays_of_ascent(state.ascent)
        words[WINDOW] = state.length
    tensors = {name: Tensor.of(array) for name, array in arrays.items()} | _weights(state)
    if state.average is not None and state.sums is not None:
        words[AVERAGE] = True
        tensors |= tensors_of_average(state, state.average, state.sums)
    return words, tensors


def _bytes_of(state: State) -> int:
    return (state.n_columns + 1) * state.n_heads * state.shape.width * state.dtype.itemsize


def _weights(state: State) -> dict[str, Tensor]:
    """All numbers; or, if smaller, the positions of weights with nonzero bits, and their numbers."""
    width, dtype = state.shape.width, state.dtype
    numbers = state.weights[: state.n_columns + 1].reshape(-1, width)
    touched = Touched(numbers)
    count = touched.count()
    index = index_dtype(len(numbers))
    if count * (index.itemsize + width * dtype.itemsize) >= numbers.nbytes:
        return {"weights": Tensor(dtype, (state.n_columns + 1, state.n_heads, width), Tensor.of(numbers).pieces)}
    return {
        "places": Tensor(index, (count,), partial(touched.pieces, lambda at: at.astype(index))),
        "values": Tensor(dtype, (count, width), partial(touched.pieces, lambda at: numbers[at])),
    }


# -- reading -------------------------------------------------------------------------------------------------


def decode(words: Any, tensors: dict[str, Array], n_labels: int) -> AnyState:
    """The state, or a Refusal. The tensors that belong to it are taken out of `tensors`."""
    words = words if isinstance(words, dict) else {}
    averaged = words.get(AVERAGE) is True and words.get("shape") in _WITH_AVERAGE
    fields = _FIELDS | ({WINDOW} if words.get("shape") in _DUAL else set()) | ({AVERAGE} if averaged else set())
    if words.keys() != fields:
        raise Refusal("the description of the state does not have the fields it should have")
    word = words["shape"]
    if word == "projection":
        raise Refusal("is a KernelSCW with a budget of examples, which is not supported any more")
    if word not in (*_SHAPES, *_OTHER_STATES):
        raise Refusal("there is no such shape of a state")
    if words["dtype"] not in ("float32", "float64"):
        raise Refusal("the dtype is neither float32 nor float64")
    dtype = np.dtype(words["dtype"])
    if not isinstance(words["intercept"], bool):
        raise Refusal("intercept is neither true nor false")
    n_columns = integer(words["n_columns"], "n_columns", 0, MOST_COLUMNS)
    n_heads = integer(words["n_heads"], "n_heads", 1, 1 << 31)
    n_slots = n_columns + 1
    if words["policy"] not in tuple(_POLICIES):
        raise Refusal("the policy does not fit the number of heads")
    policy = _POLICIES[words["policy"]]
    if (policy in (Policy.binary, Policy.regression)) != (n_heads == 1):
        raise Refusal("the policy does not fit the number of heads")
    if n_labels != n_heads and (n_heads > 1 or n_labels > 2):
        raise Refusal("the number of labels does not fit the number of heads")
    if policy is Policy.regression and (n_labels > 0 or word not in _REGRESSION):
        raise Refusal("a regression has labels, or another shape than those of its learners")
    if word not in _SHAPES:
        tally = _checked_tally(words["counters"], max(n_heads, 2))
        common = Common(n_columns, n_heads, words["intercept"], policy, dtype, tally)
        _checked_budget(words["budget"], None, partial(take_tensor, tensors), n_heads, n_slots)
        return _OTHER_STATES[word](tensors, common)
    shape = _SHAPES[word]
    width = shape.width
    if n_slots * n_heads * width * dtype.itemsize > MOST_BYTES:
        raise Refusal("it has more weights than a model file may have")

    take = partial(take_tensor, tensors)
    n_problems = n_heads if policy is Policy.ovr else 1
    memory = _checked_memory(take("memory", "float64", (n_problems, MEMORY_COLUMNS)))
    fresh_memory = _checked_memory(take("fresh_memory", "float64", (MEMORY_COLUMNS,))[np.newaxis])[0]
    prior = take("prior", "float64", (n_heads,))
    with np.errstate(over="ignore", under="ignore"):
        fresh = prior.astype(dtype)  # as a new feature has it
    if not (np.isfinite(fresh) & (fresh > 0)).all():
        raise Refusal("a prior variance is not a positive number")
    factors = None
    if shape.has_factors:
        factors = take("factors", dtype, (n_heads, n_slots * (n_slots + 1) // 2))
        j = np.arange(n_slots)
        if not everywhere(np.isfinite, factors.reshape(-1)) or not (factors[:, j * (j + 3) // 2] > 0).all():
            raise Refusal("the factors are not those of a covariance")
    rounds = None
    if shape.has_rounds:
        rounds = take("view", "float64", (n_problems, ROUND_COLUMNS)).copy()  # a refresh writes it
        if np.isnan(rounds).any():
            raise Refusal("the view is not a number")
    weights = _checked_weights(shape, take, dtype, n_slots, n_heads, width, "weights" in tensors)
    budget: _core.Budget | _core.FeatureSelection | None
    if shape.has_selection:
        budget = _checked_selection(words["budget"], take, n_heads, n_slots, weights)
    else:
        budget = _checked_budget(words["budget"], shape, take, n_heads, n_slots)
    average, sums = None, None
    if averaged:
        if budget is not None:
            raise Refusal("it has an average, and a bound on its nonzero weights")
        average, sums = checked_average(take, shape, n_problems, n_heads, n_slots)
    return State.restored(
        weights,
        shape=shape,
        dtype=dtype,
        n_columns=n_columns,
        intercept=words["intercept"],
        policy=policy,
        factors=factors,
        memory=memory,
        _fresh_memory=fresh_memory,
        prior=prior,
        tally=_checked_tally(words["counters"], max(n_heads, 2), regression=policy is Policy.regression),
        budget=budget,
        rounds=rounds,
        ascent=checked_ascent(words[WINDOW], take, n_problems, n_heads, n_columns) if shape.is_dual else None,
        average=average,
        sums=sums,
    )


def _checked_memory(memory: Array) -> Array:
    counts = memory[:, [K, T]]
    if (
        not np.isfinite(memory).all()
        or not (memory[:, COVARIANCE_SCALE] > 0).all()
        or not ((counts >= 0) & (counts <= MOST_ROUNDS)).all()
    ):
        raise Refusal("a scalar in the memory is out of range")
    return memory


def _checked_weights(
    shape: Shape, take: Callable[..., Array], dtype: Any, n_slots: int, n_heads: int, width: int, dense: bool
) -> Array | tuple[int, Array, Array]:
    if dense:
        weights = take("weights", dtype, (n_slots, n_heads, width))
        _check_numbers(shape, weights.reshape(-1, width))
        return weights
    places, values = take("places", index_dtype(n_slots * n_heads)), take("values", dtype)
    if places.ndim != 1 or values.shape != (len(places), width):
        raise Refusal("the tensors places and values do not fit each other")
    if not increasing(places, n_slots * n_heads):
        raise Refusal("the places of the weights do not ascend, or are out of range")
    _check_numbers(shape, values)
    return n_heads, places, values


def _check_numbers(shape: Shape, numbers: Array) -> None:
    def fine(block: Array) -> Array:
        good = np.isfinite(block)
        if shape.has_variances:  # stored with the bits of 1 flipped, so that zero bytes are a fresh feature
            variances = flip_one(block[:, 1])
            good[:, 1] = np.isfinite(variances) & (variances > 0)
        if shape.has_roots:
            good[:, 1] &= block[:, 1] >= 0
        return good

    if not everywhere(fine, numbers):
        raise Refusal("a weight, or a number that it is computed from, is out of range")


def _checked_tally(counters: Any, n_classes: int, *, regression: bool = False) -> Array:
    wrong = Refusal("the counters are not three integers for each class that fit each other")
    if not isinstance(counters, list) or len(counters) != n_classes:
        raise wrong
    for row in counters:
        if not isinstance(row, list) or len(row) != 3:
            raise wrong
        for number in row:
            integer(number, "a counter", 0, MOST_ROUNDS)
    tally = np.array(counters, np.int64)
    if (tally[:, [MISTAKES, UPDATES]] > tally[:, [SEEN]]).any() or sum(row[SEEN] for row in counters) > MOST_ROUNDS:
        raise wrong
    if regression and (tally[0, MISTAKES] > 0 or tally[1:].any()):
        raise wrong
    return tally


def _checked_budget(
    words: Any, shape: Shape | None, take: Callable[..., Array], n_heads: int, n_slots: int
) -> _core.Budget | None:
    if words is None:
        return None
    if shape is None or not shape.has_budget:
        raise Refusal("the budget is not one, or the shape has none")
    most, active, members = _checked_members(words, take, n_heads, n_slots)
    threshold, chosen = take("budget", "float64", (2,)).tolist()
    if not (0 <= threshold < np.inf and 0 <= chosen <= MOST_ROUNDS):
        raise Refusal("the threshold of the budget is out of range")
    return _core.Budget.restored(most, threshold, active, chosen, members)


def _checked_selection(
    words: Any, take: Callable[..., Array], n_heads: int, n_slots: int, weights: Array | tuple[int, Array, Array]
) -> _core.FeatureSelection | None:
    if words is None:
        return None
    most, active, members = _checked_members(words, take, n_heads, n_slots)
    if active != len(members) or not everywhere(lambda block: block[1:] > block[:-1], members, overlap=1):
        raise Refusal("the members of the selection do not ascend, or are not as many as it says")
    if len(members) and int(np.bincount(members % n_heads).max()) > most:
        raise Refusal("the selection of a head is larger than it may be")
    n_weights = len(weights[1]) if isinstance(weights, tuple) else n_slots * n_heads
    for start in range(0, n_weights, _BLOCK):
        block = slice(start, start + _BLOCK)
        if isinstance(weights, tuple):
            places = weights[1][block][weights[2][block, 0] != 0].astype(np.int64)
        else:
            places = np.flatnonzero(weights.reshape(n_weights, -1)[block, 0]) + start
        places = places[places >= n_heads]  # not the intercepts
        found = np.searchsorted(members, places)
        if (found == len(members)).any() or (members[found] != places).any():
            raise Refusal("a feature has a weight and is not in the selection")
    return _core.FeatureSelection.restored(most, n_heads, members)


def _checked_members(words: Any, take: Callable[..., Array], n_heads: int, n_slots: int) -> tuple[int, int, Array]:
    """The budget, the count, and the positions that may be nonzero, checked."""
    if not isinstance(words, dict) or words.keys() != {"max", "active"}:
        raise Refusal("the budget is not one, or the shape has none")
    members = take("members", "int64")
    most = integer(words["max"], "the budget", 1, 1 << 60)
    active = integer(words["active"], "the number of active weights", 0, members.size)
    # Without the intercepts, in slot 0.
    if members.ndim != 1 or not everywhere(lambda block: (block >= n_heads) & (block < n_slots * n_heads), members):
        raise Refusal("a member of the budget is out of range")
    return most, active, members
