"""The novelty of rows: unseen features, and scores with an unusual variance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._inputs import Array, Floats, Ints, is_sparse
from ..models.heads import diagonal_positions
from ..models.numbers import Shape, flip_one
from ..models.record import CELLS, SHAPE, SMALLEST_STD
from ..models.state import State
from .learner import ClassLearner, Learner

Mask = npt.NDArray[np.bool_]


class Novelty(NamedTuple):
    """How new rows are to a model; numbers instead of arrays for a single row.

    Attributes
    ----------
    unseen : array of shape (n_samples,)
        The share of the features of each row, those that are not zero, that the model has never learned from. 0 of a
        row without features.
    std_ratio : array of shape (n_samples,) or None
        The standard deviation of its score, as a multiple of the median in training. None if the learner has no
        covariance, or no predictions on record.
    """

    unseen: Floats | float
    std_ratio: Floats | float | None


def seen_features(learner: Learner, columns: Ints) -> Mask:
    """True for the columns that the model has learned from.

    With ``normalize="scale"`` the rows of each feature are counted. Otherwise a column counts as seen once a step has
    changed it. A passive learner makes no step where it is sure, so features of such rows alone count as unseen.
    """
    columns = np.ascontiguousarray(columns, np.int64)
    state, normalizer = learner.model, learner.normalizer
    here = columns < state.n_columns
    if normalizer.kind == "scale":
        assert normalizer.core is not None
        return here & np.asarray(normalizer.core.seen(columns))
    seen = np.zeros(len(columns), bool)
    distinct, at = np.unique(columns[here], return_inverse=True)
    if isinstance(state, State):
        changed = _changed(state, distinct + 1)
    elif learner.has_weights:
        changed = (learner.coef_[:, distinct] != 0).any(axis=0)
    else:
        raise AttributeError(f"This {type(learner).__name__} does not know which features it has seen.")
    seen[here] = changed[at]
    return seen


def _changed(state: State, slots: Ints) -> Mask:
    """True for slots whose numbers differ from those of a fresh feature."""
    numbers = state.weights[slots].reshape(len(slots), state.n_heads, state.shape.width)
    if state.shape is Shape.simplex:  # it spreads its weights at the start
        return np.asarray((numbers[..., 1] != 0).any(axis=1))
    changed = (numbers[..., 0] != 0).any(axis=1)
    if state.shape.has_variances:
        fresh = flip_one(state.prior.astype(state.dtype))
        changed |= (numbers[..., 1] != fresh).any(axis=1)
    elif numbers.shape[2] > 1:
        changed |= (numbers[..., 1:] != 0).any(axis=(1, 2))
    if state.factors is not None:  # a step lowers the variance of each feature of its row
        diagonal = state.factors[:, diagonal_positions(state.n_columns + 1)[slots]]
        changed |= (diagonal != state.prior[:, np.newaxis].astype(state.dtype)).any(axis=0)
    return np.asarray(changed)


def unseen_share(learner: Learner, values: Array, indices: Array, indptr: Array) -> Floats:
    """The share of the features of each row, in compressed form, that the model has never seen."""
    there = values != 0
    row_of = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))[there]
    n = np.bincount(row_of, minlength=len(indptr) - 1)
    new = np.bincount(row_of[~seen_features(learner, indices[there])], minlength=len(n))
    return new / np.maximum(n, 1)


def unseen_share_of(learner: Learner, X: Any) -> Floats:
    """The same for the rows of a matrix."""
    if is_sparse(X):
        return unseen_share(learner, X.data, X.indices, X.indptr)
    seen = seen_features(learner, np.arange(X.shape[1]))
    there = X != 0
    return np.asarray((there & ~seen).sum(axis=1) / np.maximum(there.sum(axis=1), 1))


def expected_unseen(learner: Learner) -> float | None:
    """The expected share of unseen features in more rows from the same source; None if features are not counted.

    It is the number of features seen in one row only, as a share of all values (Good & Turing).
    """
    if learner.normalizer.kind != "scale":
        return None
    counts = learner.normalizer.arrays()[2]
    total = float(counts.sum())
    return (float((counts == 1).sum()) + 1) / (total + 1)


def usual_std(record: Floats, quantile: float = 0.5) -> float | None:
    """A quantile of the standard deviations on record; None if there are none."""
    weight = record[CELLS].reshape(SHAPE).sum(axis=(0, 2))
    if not weight[1:].sum() > 0:
        return None
    below = np.concatenate([[0.0], np.cumsum(weight)]) / weight.sum()
    k = int(np.searchsorted(below, quantile, side="left")) - 1
    part = (quantile - below[k]) / (below[k + 1] - below[k])
    return float(SMALLEST_STD * 2.0 ** (k + part))


def spread(variances: Floats, scores: Floats) -> Floats:
    """The standard deviation of the deciding quantity: the score, or the distance of the best class from the next."""
    if scores.shape[1] == 1:
        return np.sqrt(variances[:, 0])
    two = np.argpartition(-scores, 1, axis=1)[:, :2]
    both: Floats = np.take_along_axis(variances, two, axis=1).sum(axis=1)
    return np.sqrt(both)


def std_ratio(learner: ClassLearner, scores: Floats, variances: Floats | None) -> Floats | None:
    """The standard deviation of each row over the recorded median; None without one."""
    record = learner.model.record
    usual = None if variances is None or record is None else usual_std(record)
    return None if usual is None or variances is None else spread(variances, scores) / usual
