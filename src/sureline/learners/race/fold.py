"""Folds a committee of linear models into one: votes become weights, in the units of the member that learns on.

Members divide rows by nothing or by scales, or all of them by row lengths. Weights for original rows and for scaled
rows differ by the feature's scale only, so one model can hold both.

The model has the rule of the learner that goes on, and the committee's score in that learner's units. Its standard
deviations are the weighted mean of those of the Gaussian members. Members learned from the same rows and err together,
so their standard deviations add up, not their variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._inputs import Floats, Ints
from ..._native import _core
from ...models.numbers import COVARIANCE_SCALE, SEEN, WEIGHT_SCALE, Shape, flip_one
from ...models.record import CELLS, LOGS, ROWS, SQUARES, fresh_record
from ...models.scaling import Normalizer
from ...models.state import State
from ...models.touched import Touched
from ..gaussian import GaussianLearner
from ..online import OnlineLearner


@dataclass(frozen=True)
class Vote:
    """A member of a committee, and the factor of its score."""

    learner: OnlineLearner
    weight: float


def goes_on(learner: OnlineLearner) -> bool:
    """True if a committee can go on with the rule of this learner: it has a weight and a variance for each feature."""
    return isinstance(learner, GaussianLearner) and learner.shape is Shape.diagonal and not learner.average


def same_rows(learner: OnlineLearner, other: OnlineLearner) -> bool:
    """True if both divide rows by their lengths, or neither does."""
    return (learner.normalize == "row") == (other.normalize == "row")


def folded(
    base: OnlineLearner, votes: Sequence[Vote], spread: Sequence[Vote], sizes: Normalizer | None, shift: float = 0.0
) -> State:
    """The state of a learner like `base` whose scores are the sum of the votes, shifted by the intercept.

    `spread` has the Gaussian members with the shares of their standard deviations; `sizes` has the scales of features,
    if a member divides by scales.
    """
    state = base.model.copy()
    _put_weights(state, base, votes, sizes, shift)
    _put_variances(state, base, spread, sizes)
    return state


def _factor(learner: OnlineLearner, base: OnlineLearner, slots: Ints, sizes: Normalizer | None) -> Floats:
    """Factors from weights for this learner's rows to weights for rows of `base`, in these slots."""
    if learner.normalize == base.normalize or sizes is None:
        return np.ones(len(slots))
    size = np.ones(len(slots))
    size[slots > 0] = sizes.sizes(slots[slots > 0] - 1)
    return size if base.normalize == "scale" else 1 / size


def _put_weights(
    state: State, base: OnlineLearner, votes: Sequence[Vote], sizes: Normalizer | None, shift: float
) -> None:
    scale = np.broadcast_to(state.memory[:, WEIGHT_SCALE], state.n_heads)
    numbers = state.weights.reshape(len(state.weights), state.n_heads, -1)
    of_base = state.nonzero()
    of_votes = [vote.learner.model.nonzero() for vote in votes]
    for head in range(state.n_heads):
        own_slots = [heads[head][0] for heads in (of_base, *of_votes)]
        slots = np.unique(np.concatenate([*own_slots, np.zeros(int(shift != 0), np.int64)]))
        total = np.zeros(len(slots))
        for vote, heads in zip(votes, of_votes, strict=True):
            own, values = heads[head]
            factor = vote.weight * _factor(vote.learner, base, own, sizes)
            total[np.searchsorted(slots, own)] += values.astype(np.float64) * factor
        if shift != 0:
            total[0] += shift  # the first slot is the intercept's
        numbers[slots, head, 0] = total / scale[head]
    state.refresh(base.rule)


def _put_variances(state: State, base: OnlineLearner, spread: Sequence[Vote], sizes: Normalizer | None) -> None:
    models = [vote.learner.model for vote in spread]
    scales = [_per_head(model) for model in models]
    fresh: Floats = (
        np.sum([vote.weight * np.sqrt(scale) for vote, scale in zip(spread, scales, strict=True)], axis=0) ** 2
    )
    touched = [rows for model in models for rows in Touched(model.weights).rows()]
    slots = np.unique(np.concatenate([np.zeros(1, np.int64), *touched]))
    slots = slots[slots <= state.n_columns]
    std = np.zeros((len(slots), state.n_heads))
    for vote, model, scale in zip(spread, models, scales, strict=True):
        own = flip_one(model.weights[slots, :, 1]).astype(np.float64) * scale
        std += vote.weight * np.sqrt(own) * _factor(vote.learner, base, slots, sizes)[:, np.newaxis]
    tiny = float(np.finfo(state.dtype).tiny)
    state.weights[slots, :, 1] = flip_one(np.maximum(std**2 / fresh, tiny).astype(state.dtype))
    state.memory[:, COVARIANCE_SCALE] = fresh[: len(state.memory)]


def _per_head(model: State) -> Floats:
    return np.broadcast_to(model.memory[:, COVARIANCE_SCALE], model.n_heads).astype(np.float64)


def record_of(
    state: State, scores: Floats, variances: Floats, labels: npt.NDArray[np.int32], weights: Floats | None
) -> Floats:
    """A record of these predictions, weighted as if all of the model's rows had been predicted.

    Rows are a sample: each counts for the rows of the stream per row of the sample.
    """
    record = fresh_record()
    scores, variances = np.ascontiguousarray(scores), np.ascontiguousarray(variances)
    _core.put_on_record(record, scores, variances, labels, weights)
    n, seen = max(float(record[ROWS]), 1.0), int(state.tally[:, SEEN].sum())
    times = max(seen / n, 1.0) ** 2  # for a weight, the product of the row's position and the rows per sampled row
    record[LOGS] *= times
    record[CELLS] *= times
    record[SQUARES] *= times * times
    record[ROWS] = seen
    return record
