"""`class_weight`: how many times an example of each class counts, as scikit-learn has it, and along a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._inputs import Floats, Ints, Labels
from .parameters import Constraint


@dataclass(frozen=True)
class ClassWeight(Constraint):
    """The parameter `class_weight`: None, "balanced", or a weight for each class whose weight is not 1."""

    def accepts(self, value: Any) -> bool:
        if value is None or (isinstance(value, str) and value == "balanced"):
            return True
        return isinstance(value, Mapping) and all(map(_is_weight, value.values()))

    def __str__(self) -> str:
        return "None, 'balanced' or a dict of labels and weights, finite numbers that are not negative"


def _is_weight(value: Any) -> bool:
    try:
        return isinstance(value, Real | np.bool_) and isfinite(value) and float(value) >= 0
    except OverflowError:
        return False


class Weighing(NamedTuple):
    """The factor of the weight of a row, as the core takes it."""

    class_weight: Floats | None = None  # for each class
    shares: bool = False  # or balanced: factors that give each class its equal share of the rows so far


EVEN = Weighing()


def weighing(given: Any, labels: Sequence[Any], n_classes: int) -> Weighing:
    """The factors along a stream with these labels so far; `n_classes` is the model's number of classes."""
    if given is None:
        return EVEN
    if isinstance(given, str):
        return Weighing(shares=True)
    weights = np.ones(max(n_classes, len(labels), 2))
    weights[: len(labels)] = [given.get(label, 1.0) for label in labels]
    return Weighing(weights[: max(n_classes, 2)])


def weighing_all(given: Any, labels: Sequence[Any], codes: Labels, weight: Floats | None) -> Weighing:
    """The factors for rows that are all at hand. Rows of weight 0 do not count."""
    if isinstance(given, str):
        counts = np.bincount(codes if weight is None else codes[weight > 0], minlength=max(len(labels), 2))
        return Weighing(balanced(counts))
    if given is not None:
        refuse_strangers(given, labels)
    return weighing(given, labels, len(labels))


def row_factors(given: Any, labels: Sequence[Any], codes: Labels, weight: Floats) -> Floats:
    """The weights of the classes of rows that are all at hand."""
    factors = weighing_all(given, labels, codes, weight).class_weight
    return np.ones(len(codes)) if factors is None else factors[codes]


def balanced(counts: Ints) -> Floats:
    """n / (K n_k) for n rows of K classes, n_k of them in class k; 1 for a class without rows."""
    here = counts > 0
    weights: Floats = np.ones(len(counts))
    weights[here] = counts.sum() / (here.sum() * counts[here])
    return weights


def refuse_strangers(given: Mapping[Any, float], labels: Sequence[Any]) -> None:
    """Raise ValueError if a weight is for an unknown class."""
    for label in given:
        if label not in labels:
            raise ValueError(f"class_weight has a weight for {label!r}, which is not among the classes {list(labels)}.")


def without_rows(learner: Any, labels: Sequence[Any]) -> str | None:
    """A sentence that names weighted classes without rows; None if there are none."""
    given = getattr(learner, "class_weight", None)
    never = [repr(label) for label in given if label not in labels] if isinstance(given, Mapping) else []
    return f"class_weight has a weight for {', '.join(never)}, which never came" if never else None


def either(*reasons: str | None) -> str | None:
    """The given reasons, joined; None if there are none."""
    return "; ".join(filter(None, reasons)) or None


def row_weights(
    weighing: Weighing, counts: Ints, codes: Labels, weight: Floats | None, *, whole: bool
) -> Floats | None:
    """Row weights times class weights, for learners that take them from Python.

    With shares, classes are counted before the batch; with `whole` in all of it, otherwise up to each row.
    """
    own = np.ones(len(codes)) if weight is None else weight
    if weighing.class_weight is not None:
        return own * weighing.class_weight[codes]
    if not weighing.shares:
        return weight
    come = own > 0
    if whole:
        return own * balanced(counts + np.bincount(codes[come], minlength=len(counts)))[codes]
    seen = counts + np.cumsum((codes[:, np.newaxis] == np.arange(len(counts))) & come[:, np.newaxis], axis=0)
    classes = np.count_nonzero(seen, axis=1)
    own_count = seen[np.arange(len(codes)), codes]
    return np.where(come, own * (seen.sum(axis=1) / np.maximum(classes * own_count, 1)), 0.0)


def packed(given: Any) -> Any:
    """The form in a model file: dicts as pairs, since labels may be numbers."""
    return [[label, float(weight)] for label, weight in given.items()] if isinstance(given, Mapping) else given


def unpacked(value: Any) -> Any:
    """The inverse of `packed`. ValueError for any other value."""
    if not isinstance(value, list | tuple):
        return value
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        raise ValueError("class_weight is no list of labels with weights")
    if not all(isinstance(label, bool | int | float | str) for label, _ in value):
        raise ValueError("class_weight has a label that is none")
    return dict(value)
