"""Measures of a model on labelled rows: error, ranking, cost and calibration, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Floats, Ints, Labels
from ..learners.alarms import Rises
from ..learners.answers import Answers, answer, answerable
from ..learners.learner import ClassLearner, Learner
from ..learners.regression import TargetLearner
from ..learners.watching import NoveltyWatch
from ..metrics import Calibration, Tally
from ..stream import Chunk, Label, read
from .charts import Axis, Chart, Reference, Series
from .coverage import CoverageCurve, Promises
from .residuals import Residuals

_EXACT = 1 << 20  # up to this many scores, the area under the curve is exact
_BITS = 20  # of a score as float32 that are kept beyond that


class RankingCurve:
    """The area under the ROC curve of a stream of scores.

    Exact up to a million scores. Beyond, scores are counted in bins by the first 20 bits of float32, a relative
    precision of 1/2048. Pairs within a bin count half, and `uncertainty` bounds the error of that.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[Floats, npt.NDArray[np.bool_]]] = []
        self._n = 0
        self._bins: Ints | None = None  # of negative and positive examples

    def add(self, scores: Floats, positive: npt.NDArray[np.bool_]) -> None:
        self._n += len(scores)
        if self._bins is None:
            self._kept.append((scores, positive))
            if self._n <= _EXACT:
                return
            self._bins = np.zeros((2, 1 << _BITS), np.int64)
            waiting, self._kept = self._kept, []
        else:
            waiting = [(scores, positive)]
        for some_scores, some_positive in waiting:
            at = _bin_of(some_scores)
            for k in (0, 1):
                self._bins[k] += np.bincount(at[some_positive == bool(k)], minlength=1 << _BITS)

    @property
    def area(self) -> float | None:
        """The share of correctly ordered pairs of a positive and a negative example; None without a pair."""
        return self._area_and_uncertainty()[0]

    @property
    def uncertainty(self) -> float:
        return self._area_and_uncertainty()[1]

    def _area_and_uncertainty(self) -> tuple[float | None, float]:
        if self._bins is not None:
            negative, positive = self._bins
            exact = False
        else:
            scores = np.concatenate([s for s, _ in self._kept] or [np.empty(0)])
            labels = np.concatenate([p for _, p in self._kept] or [np.empty(0, bool)])
            _, at = np.unique(scores, return_inverse=True)
            size = int(at.max(initial=-1)) + 1
            negative, positive = (np.bincount(at[labels == bool(k)], minlength=size) for k in (0, 1))
            exact = True
        pairs = float(negative.sum()) * float(positive.sum())
        if pairs == 0:
            return None, 0.0
        below = np.concatenate([[0], np.cumsum(negative)[:-1]])
        tied = float((positive.astype(np.float64) * negative).sum()) / 2
        area = (float((positive.astype(np.float64) * below).sum()) + tied) / pairs
        return area, 0.0 if exact else tied / pairs


def _bin_of(scores: Floats) -> Ints:
    """The first bits of a score, as a number that rises with it."""
    with np.errstate(over="ignore"):
        bits = (scores + 0.0).astype(np.float32).view(np.uint32)  # + 0.0 turns -0 into 0
    rising = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return (rising >> np.uint32(32 - _BITS)).astype(np.int64)


class Evaluation:
    """Measures of a model on labelled rows, added up chunk by chunk."""

    def __init__(self, learner: ClassLearner, *, compact: bool = False) -> None:
        self.learner = learner
        self.novelty, self.rises = NoveltyWatch(learner, compact=compact), Rises()
        self.labels: list[Label] = learner.classes_.tolist()
        self._code = {label: k for k, label in enumerate(self.labels)}
        self.seen = np.zeros(len(self.labels), np.int64)
        self.mistakes = np.zeros(len(self.labels), np.int64)
        self.predicted = np.zeros(len(self.labels), np.int64)
        self.unknown: dict[Label, int] = {}  # labels that the model does not know, and how often
        self.ranking = RankingCurve() if len(self.labels) == 2 else None
        self.calibration = Calibration()
        self.coverage = CoverageCurve()
        self.promises = Promises(learner)

    def add(self, chunk: Chunk) -> None:
        """Judge the rows that have a label."""
        for part in answerable(self.learner, chunk):
            self._add(part)

    def _add(self, chunk: Chunk) -> None:
        codes, names = chunk.labels
        table = np.array([self._code.get(self._as_known(name), -1) for name in names] + [-1], np.int32)
        truth = table[codes]
        answers = answer(self.learner, chunk)
        labelled = codes >= 0
        self.novelty.add(chunk, answers)
        self.rises.add((answers.chosen != truth)[labelled])
        for k, name in enumerate(names):
            if table[k] < 0:
                self.unknown[name] = self.unknown.get(name, 0) + int((codes == k).sum())
        self._count(answers, truth, labelled)

    def _as_known(self, label: Label) -> Label:
        return str(label) if self.labels and isinstance(self.labels[0], str) else label

    def _count(self, answers: Answers, truth: Labels, labelled: npt.NDArray[np.bool_]) -> None:
        right = answers.chosen == truth
        known = truth >= 0
        n = len(self.labels)
        self.seen += np.bincount(truth[known], minlength=n)
        self.mistakes += np.bincount(truth[known & ~right], minlength=n)
        self.predicted += np.bincount(answers.chosen[labelled], minlength=n)
        if self.ranking is not None:
            self.ranking.add(answers.scores[known, 0], truth[known] == 1)
        self.calibration.add(
            answers.probabilities[labelled], answers.confidence[labelled], truth[labelled], right[labelled]
        )
        self.coverage.add(answers.confidence[labelled], ~right[labelled])
        self.promises.add(answers, labelled, ~right)

    @property
    def examples(self) -> int:
        return int(self.seen.sum()) + sum(self.unknown.values())

    def result(self, cost: tuple[float, float] | None = None) -> dict[str, Any]:
        """All measures by name. `cost` has the costs of a missed positive and of a false alarm."""
        tally = Tally(np.array(self.labels), self.seen, self.mistakes)
        unknown = sum(self.unknown.values())
        found: dict[str, Any] = {
            "examples": self.examples,
            "mistakes": int(self.mistakes.sum()) + unknown,
            "error": (int(self.mistakes.sum()) + unknown) / max(self.examples, 1),
            "balanced_accuracy": float(tally.recalls[self.seen > 0].mean()) if self.seen.any() else 0.0,
        }
        if unknown:
            found["unknown_labels"] = {str(label): count for label, count in self.unknown.items()}
        if self.ranking is not None:
            found |= {
                "sensitivity": tally.sensitivity,
                "specificity": tally.specificity,
                "precision": tally.precision if self.predicted[1] else None,  # 0 / 0 has no value
                "f1": tally.f1,
                "auc": self.ranking.area,
            }
            if self.ranking.uncertainty:
                found["auc_uncertainty"] = self.ranking.uncertainty
            positive, negative = cost or (1.0, 1.0)
            total = positive * float(self.mistakes[1]) + negative * float(self.mistakes[0])
            found |= {"cost": total, "cost_per_example": total / max(int(self.seen.sum()), 1)}
        found["classes"] = [
            {"label": label, "examples": int(seen), "mistakes": int(mistakes), "predicted": int(predicted)}
            for label, seen, mistakes, predicted in zip(
                self.labels, self.seen, self.mistakes, self.predicted, strict=True
            )
        ]
        found["never_predicted"] = [
            label for label, seen, n in zip(self.labels, self.seen, self.predicted, strict=True) if seen and not n
        ]
        found["calibration"] = {
            "brier": self.calibration.brier,
            "log_loss": self.calibration.log_loss,
            "expected_error": self.calibration.expected_error,
            "bins": self.calibration.table(),
        }
        found["coverage"] = {"curve": self.coverage.table(), "promises": self.promises.table()}
        found["alarms"] = [alarm.to_dict() for alarm in (*self.rises.alarms, *self.novelty.alarms)]
        return found


def reliability(result: Mapping[str, Any]) -> Chart:
    """Draw the reliability diagram of a result of `evaluate`: accuracy against confidence."""
    bins = result["calibration"]["bins"]
    series = Series(
        "answers",
        [row["confidence"] for row in bins],
        [row["right"] for row in bins],
        low=[row["low"] for row in bins],
        high=[row["high"] for row in bins],
        notes=[
            f"{row['examples']:,} answers of confidence {row['confidence']:.3f}, {row['right']:.3f} of them right"
            for row in bins
        ],
    )
    return Chart(
        "Reliability of the confidences",
        Axis("confidence", percent=True, limits=(0.0, 1.0)),
        Axis("accuracy, with 95 % intervals", percent=True, limits=(0.0, 1.0)),
        [series],
        [Reference("Calibrated", "diagonal")],
    )


def evaluate(
    learner: Learner, data: str | Path | Iterable[Chunk], cost: tuple[float, float] | None = None
) -> dict[str, Any]:
    """Measure a model on a stream of labelled rows.

    Parameters
    ----------
    learner : estimator of sureline
        Fitted.
    data : path or sureline.stream.Stream
    cost : pair of floats, default=None
        Of a missed positive and of a false alarm; 1 each if None.

    Returns
    -------
    dict
        error, balanced_accuracy (over the classes that occur), and with two classes sensitivity, specificity,
        precision (None if no row was predicted positive), f1, auc and cost; the classes that occur and are
        `never_predicted`; calibration: Brier score, log loss, and the confidence in ten bins against the share
        that was right; coverage: the error of the surest rows, and what became of promised errors; and alarms: where
        rows differ from the training data, or the error rises beyond chance along the data. Of a regressor
        mean_squared_error,
        root_mean_squared_error, mean_absolute_error and r2.
    """
    chunks = read(data) if isinstance(data, str | Path) else data
    if isinstance(learner, TargetLearner):
        if cost is not None:
            raise ValueError(f"cost is for classifiers: {type(learner).__name__} predicts numbers.")
        residuals = Residuals(learner, str(data) if isinstance(data, str | Path) else "the data")
        for chunk in chunks:
            residuals.add(chunk)
        return residuals.result()
    if not isinstance(learner, ClassLearner):
        raise TypeError(f"learner must be an estimator of sureline. Got {learner!r} instead.")
    evaluation = Evaluation(learner)
    for chunk in chunks:
        evaluation.add(chunk)
    return evaluation.result(cost)
