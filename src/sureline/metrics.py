"""Metrics for imbalanced classes and unequal costs.

>>> from sureline import metrics
>>> y_true, y_pred = [0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]
>>> metrics.tally(y_true, y_pred)
Tally(2 mistakes of 6, error 0.333, balanced accuracy 0.625; class 0: 1 of 4, class 1: 1 of 2)
>>> metrics.weighted_sum(y_true, y_pred, mu=(0.8, 0.2))  # of sensitivity and specificity
0.55
>>> metrics.weighted_cost(y_true, y_pred, cost=(10, 1))  # of a missed positive and of a false alarm
11.0

Of two classes the second is the positive one, as it is for the estimators. What is averaged over classes is averaged
over those that occurred. A class that did not occur has a recall of 1, since none of its examples was missed, and an
error rate without examples is 0: no function here gives NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ._inputs import Array, Floats, Ints, Labels, class_indices, distinct, exact_labels

__all__ = ["Calibration", "Tally", "balanced_accuracy", "tally", "weighted_cost", "weighted_sum", "wilson"]


Z95 = 1.959963984540054  # standard errors to either side of a mean that make a 95 % interval
_CLASSES_IN_REPR = 6
_BINS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """Examples and mistakes of each class, and the measures that follow from them.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        The labels. Of two, the second is the positive one.
    seen : array of shape (n_classes,)
        Examples whose true label is that class.
    mistakes : array of shape (n_classes,)
        Those of them that were predicted to be of another class.

    Examples
    --------
    >>> from sureline.metrics import Tally
    >>> of_spam = Tally(["ham", "spam"], seen=[900, 100], mistakes=[225, 50])
    >>> of_spam.sensitivity, of_spam.specificity, of_spam.balanced_accuracy
    (0.5, 0.75, 0.625)
    >>> of_spam.error
    0.275
    """

    classes: Array
    seen: Ints
    mistakes: Ints

    def __post_init__(self) -> None:
        classes = np.array(self.classes)
        seen, mistakes = np.array(self.seen, np.int64), np.array(self.mistakes, np.int64)
        if classes.ndim != 1 or not classes.shape == seen.shape == mistakes.shape:
            raise ValueError(
                "classes, seen and mistakes must be vectors of one length. "
                f"Got the shapes {classes.shape}, {seen.shape} and {mistakes.shape} instead."
            )
        if ((mistakes < 0) | (mistakes > seen)).any():
            raise ValueError(f"mistakes must be from 0 to seen. Got {mistakes.tolist()} of {seen.tolist()} instead.")
        for name, array in (("classes", classes), ("seen", seen), ("mistakes", mistakes)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("classes", "seen", "mistakes")
        )

    def __repr__(self) -> str:
        counts = zip(self.classes.tolist(), self.mistakes.tolist(), self.seen.tolist(), strict=True)
        parts = [f"class {label!r}: {mistakes} of {seen}" for label, mistakes, seen in counts]
        if len(parts) > _CLASSES_IN_REPR:
            parts[_CLASSES_IN_REPR:] = [f"and {len(parts) - _CLASSES_IN_REPR} classes more"]
        return (
            f"Tally({self.mistakes.sum()} mistakes of {self.seen.sum()}, error {self.error:.3f}, "
            f"balanced accuracy {self.balanced_accuracy:.3f}; {', '.join(parts)})"
        )

    @property
    def error(self) -> float:
        """Mistakes among all examples; 0 if there are none."""
        return float(self.mistakes.sum() / max(self.seen.sum(), 1))

    @property
    def recalls(self) -> Floats:
        """For each class, the part of its examples that was recognised; 1 if it did not occur."""
        recalls: Floats = np.divide(
            self.seen - self.mistakes, self.seen, out=np.ones(len(self.seen)), where=self.seen > 0
        )
        return recalls

    @property
    def sensitivity(self) -> float:
        """The part of the positive examples that was recognised; 1 if there are none. Needs two classes."""
        self._need_two("sensitivity")
        return float(self.recalls[1])

    @property
    def specificity(self) -> float:
        """The part of the negative examples that was recognised; 1 if there are none. Needs two classes."""
        self._need_two("specificity")
        return float(self.recalls[0])

    @property
    def precision(self) -> float:
        """The part of the alarms that were positive examples; 1 if there was no alarm. Needs two classes."""
        self._need_two("precision")
        hits = int(self.seen[1] - self.mistakes[1])
        alarms = hits + int(self.mistakes[0])
        return hits / alarms if alarms else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and sensitivity; 1 if there is nothing to find and no alarm.

        Needs two classes.
        """
        self._need_two("f1")
        hits, wrong = int(self.seen[1] - self.mistakes[1]), int(self.mistakes.sum())
        return 2 * hits / (2 * hits + wrong) if hits + wrong else 1.0

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the recalls of the classes that occurred; 1 if none did."""
        return self._mean_recall(np.ones(len(self.classes)))

    def weighted_sum(self, mu: Sequence[float] = (0.5, 0.5)) -> float:
        """mu+ sensitivity + mu- specificity, the higher the better. Needs two classes.

        For mu = (0.5, 0.5) this is the balanced accuracy. If only one of the classes occurred, it has all the weight.

        Parameters
        ----------
        mu : pair of floats, default=(0.5, 0.5)
            The weights of the positive and of the negative class. They are not negative and add up to 1.
        """
        self._need_two("weighted_sum")
        weights = _checked("mu", mu, 2, "for the positive and the negative class")
        if not np.isclose(weights.sum(), 1):
            raise ValueError(f"mu must add up to 1. Got {tuple(mu)!r} instead.")
        return self._mean_recall(weights[::-1])

    def weighted_cost(self, cost: Sequence[float] | None = None) -> float:
        """c+ times the missed positives, plus c- times the false alarms: the lower the better.

        Parameters
        ----------
        cost : sequence of floats, default=None
            For two classes the pair (cost of a missed positive, cost of a false alarm). For more, the cost of missing
            an example of each class, in the order of `classes`. 1 for all if None.
        """
        n_classes = len(self.classes)
        if cost is None:
            return float(self.mistakes.sum())
        if n_classes < 2:
            self._need_two("a pair of costs")
        if n_classes == 2:
            costs = _checked("cost", cost, 2, "for a missed positive and for a false alarm")[::-1]
        else:
            costs = _checked("cost", cost, n_classes, "for each of the classes")
        return float(costs @ self.mistakes)

    def _mean_recall(self, weights: Floats) -> float:
        weights = np.where(self.seen > 0, weights, 0.0)
        total = weights.sum()
        return float(self.recalls @ (weights / total)) if total > 0 else 1.0

    def _need_two(self, measure: str) -> None:
        if len(self.classes) != 2:
            raise ValueError(
                f"{measure} needs two classes, a negative and a positive one. Got {self.classes.tolist()[:10]} "
                "instead; balanced_accuracy and recalls are for any number, and classes=[...] names those that did "
                "not occur."
            )


def tally(y_true: Any, y_pred: Any, classes: Any = None, *, pos_label: Any = None) -> Tally:
    """Count the examples and the mistakes of each class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The labels, and what was predicted.
    classes : array-like, default=None
        All classes; those in `y_true` and `y_pred` if None. They are sorted, as the estimators do.
    pos_label : label, default=None
        The positive one of two classes. The second of the sorted ones if None.

    Returns
    -------
    Tally

    Examples
    --------
    >>> from sureline.metrics import tally
    >>> tally(["b", "a", "a"], ["b", "b", "a"]).recalls
    array([0.5, 1. ])
    >>> tally(["b", "a", "a"], ["b", "b", "a"], pos_label="a").sensitivity
    0.5
    """
    truth, predicted = _labels("y_true", y_true), _labels("y_pred", y_pred)
    if len(truth) != len(predicted):
        raise ValueError(
            f"y_true and y_pred must have one label for each example. Got {len(truth)} and {len(predicted)} labels."
        )
    arrays = [truth, predicted] if classes is None else [truth, predicted, _labels("classes", classes)]
    # NumPy would make strings of the numbers, and then 1 and "1" were the same class.
    if len({array.dtype.kind in "biuf" for array in arrays if len(array)}) > 1:
        raise ValueError("The labels must be all numbers or all strings. Got both.")
    try:
        # Each on its own first, which is fast for labels like 0 and 1.
        known = distinct(np.concatenate([distinct(array) for array in arrays[:2]]) if classes is None else arrays[2])
    except TypeError:
        raise ValueError("The labels must all be of one type that can be sorted.") from None
    if pos_label is not None:
        if len(known) != 2 or pos_label not in known.tolist():
            raise ValueError(
                f"pos_label must be one of two classes. Got {pos_label!r} and the classes {known.tolist()}."
            )
        known = known if known[1] == pos_label else known[::-1]
    if len(known) == 0:
        raise ValueError("There are no labels. With classes=[...] an empty tally is possible.")
    positions = []
    for name, labels in (("y_true", truth), ("y_pred", predicted)):
        position = class_indices(labels, known)
        if (position < 0).any():
            row = int(np.argmax(position < 0))
            raise ValueError(
                f"{name} has the label {labels.tolist()[row]!r} in row {row}, which is not among the classes "
                f"{known.tolist()}."
            )
        positions.append(position)
    seen = np.bincount(positions[0], minlength=len(known))
    mistakes = np.bincount(positions[0][positions[0] != positions[1]], minlength=len(known))
    return Tally(known, seen, mistakes)


def weighted_sum(
    y_true: Any, y_pred: Any, *, mu: Sequence[float] = (0.5, 0.5), classes: Any = None, pos_label: Any = None
) -> float:
    """mu+ sensitivity + mu- specificity of predictions: see `Tally.weighted_sum`, and `tally` for the labels."""
    return tally(y_true, y_pred, classes, pos_label=pos_label).weighted_sum(mu)


def balanced_accuracy(y_true: Any, y_pred: Any, *, classes: Any = None) -> float:
    """Mean of the recalls of the classes that occur in `y_true`: see `Tally.balanced_accuracy`."""
    return tally(y_true, y_pred, classes).balanced_accuracy


def weighted_cost(
    y_true: Any, y_pred: Any, *, cost: Sequence[float] | None = None, classes: Any = None, pos_label: Any = None
) -> float:
    """The cost of the mistakes of predictions: see `Tally.weighted_cost`, and `tally` for the labels."""
    return tally(y_true, y_pred, classes, pos_label=pos_label).weighted_cost(cost)


@dataclass
class Calibration:
    """Calibration of probabilities: confidence in the predicted label against accuracy, in ten bins from `low` to 1.

    Examples
    --------
    >>> from sureline.metrics import Calibration
    >>> calibration = Calibration()
    >>> calibration.add_confidence(np.array([0.94, 0.96, 0.6]), np.array([True, False, True]))
    >>> [(row["from"], row["examples"], row["right"]) for row in calibration.table()]
    [(0.6, 1, 1.0), (0.9, 2, 0.5)]
    """

    counts: Ints = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    right: Ints = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    confidence: Floats = field(default_factory=lambda: np.zeros(_BINS))
    squares: float = 0.0
    logs: float = 0.0
    low: float = 0.0

    def add_confidence(self, best: Floats, right: npt.NDArray[np.bool_]) -> None:
        """Confidence in the predicted classes, and whether they are the true ones."""
        at = np.clip(((best - self.low) * (_BINS / (1 - self.low))).astype(np.int64), 0, _BINS - 1)
        self.counts += np.bincount(at, minlength=_BINS)
        self.right += np.bincount(at[right], minlength=_BINS)
        self.confidence += np.bincount(at, weights=best, minlength=_BINS)

    def add(self, probabilities: Floats, best: Floats, truth: Labels, right: npt.NDArray[np.bool_]) -> None:
        """Add rows: probabilities of all classes, confidence in the best, the true class, and if it was predicted."""
        self.add_confidence(best, right)
        known = truth >= 0
        of_truth = np.zeros(len(truth))
        of_truth[known] = probabilities[np.flatnonzero(known), truth[known]]
        distances = float(((probabilities**2).sum(axis=1) - 2 * of_truth + 1).sum())
        self.squares += distances / 2 if probabilities.shape[1] == 2 else distances
        self.logs -= float(np.log(np.maximum(of_truth, 1e-15)).sum())

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def brier(self) -> float:
        """The mean squared distance of the probability from the truth: of the second class if there are two, else
        summed over the classes. 0 is perfect."""
        return self.squares / max(self.n, 1)

    @property
    def log_loss(self) -> float:
        return self.logs / max(self.n, 1)

    @property
    def expected_error(self) -> float:
        """The mean distance of confidence from the share that was right, over the bins."""
        return float(np.abs(self.confidence - self.right).sum() / max(self.n, 1))

    def table(self) -> list[dict[str, float]]:
        """For each nonempty bin: its bounds, examples, mean confidence, share of right answers and its interval.

        That is Wilson's, at 95 %.
        """
        intervals = [wilson(int(right), int(n)) for right, n in zip(self.right, self.counts, strict=True)]
        return [
            {
                "from": self.low + (1 - self.low) * k / _BINS,
                "to": self.low + (1 - self.low) * (k + 1) / _BINS,
                "examples": int(self.counts[k]),
                "confidence": float(self.confidence[k] / self.counts[k]),
                "right": float(self.right[k] / self.counts[k]),
                "low": intervals[k][0],
                "high": intervals[k][1],
            }
            for k in range(_BINS)
            if self.counts[k]
        ]


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share: all p that are at most z standard errors from successes / n.

    Parameters
    ----------
    successes, n : int
        Of how many independent trials. Without a trial nothing is known: the interval is that from 0 to 1.
    confidence : float, default=0.95
        How often such an interval holds the true share: z is 1.96 for 0.95.

    Examples
    --------
    >>> from sureline.metrics import wilson
    >>> low, high = wilson(130, 1000)
    >>> f"{low:.3f} to {high:.3f}"
    '0.111 to 0.152'
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must be from 0 to n. Got {successes} of {n} instead.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be a number in the range (0, 1). Got {confidence!r} instead.")
    if n == 0:
        return 0.0, 1.0
    from scipy.special import ndtri

    z = float(ndtri(0.5 + confidence / 2))
    middle = (successes + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * sqrt(successes * (n - successes) / n + z * z / 4)
    low = 0.0 if successes == 0 else max(middle - half, 0.0)
    return low, 1.0 if successes == n else min(middle + half, 1.0)


def _labels(name: str, labels: Any) -> Array:
    array = np.asarray(exact_labels(labels))
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension. Got an array of shape {array.shape} instead.")
    return array


def _checked(name: str, values: Any, length: int, what: str) -> Floats:
    """`values` as that many numbers, finite and not negative."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (length,) or not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"{name} must be {length} numbers, {what}, finite and not negative. Got {values!r} instead.")
    return array
