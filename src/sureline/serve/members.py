"""A model that is served, and the calibration by which it tells how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Flags, Floats
from ..learners.abstention import Abstention, abstention_of
from ..learners.asking import certainty, certainty_below
from ..learners.calibration import Curve, curve_of
from ..learners.explanation import Explainer, Explanation
from ..learners.learner import ClassLearner, Learner
from ..learners.novelty import spread, unseen_share, usual_std
from ..learners.online import OnlineLearner
from ..learners.probabilities import Link
from ..models.record import is_empty
from ..stream import Chunk
from ..stream.classes import MAX_CLASSES
from .bodies import shown
from .errors import Refused
from .rows import Rows, in_one_sentence

LONGEST_LABEL = 1000  # characters
FAULT = "The row was not learned from, by a fault of the service; its log says which."
_PROMISES = 64  # different values of max_error that are kept


@dataclass
class Calibration:
    """How sure answers are, by the predictions that were on record at one moment.

    A curve takes tens of milliseconds to fit, so that answers go by the last one that was. Their version names it.
    """

    seq: int  # of the log
    n_heads: int
    record: Floats | None
    link: Link | Curve
    usual: float | None  # standard deviation
    _promises: dict[float, Abstention] = field(default_factory=dict)
    _certain: dict[float, float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, seq: int, record: Floats | None, n_heads: int, belief: Link) -> Calibration:
        """By a record that nobody changes meanwhile."""
        if record is None or is_empty(record):
            return cls(seq, n_heads, record, belief, None)
        return cls(seq, n_heads, record, curve_of(record, n_heads), usual_std(record))

    def promise(self, learner: ClassLearner, max_error: float) -> Abstention:
        """Which rows are answered at that error."""
        found = self._promises.get(max_error)
        if found is None:
            try:
                abstention_of_nothing = len(learner.classes_) < 2 or self.record is None or is_empty(self.record)
                if abstention_of_nothing or not 0 < max_error < 1:
                    found = abstention_of(learner, max_error)  # which says what is wrong
                else:
                    found = Abstention.of(self.record, self.n_heads, max_error)
            except ValueError as error:
                raise Refused(422, str(error)) from None
            if len(self._promises) >= _PROMISES:
                self._promises.clear()
            self._promises[max_error] = found
        return found

    def certain(self, rate: float) -> float | None:
        """The certainty that this share of the predictions on record did not exceed."""
        if rate not in self._certain:
            if len(self._certain) >= _PROMISES:
                self._certain.clear()
            empty = self.record is None or is_empty(self.record)
            self._certain[rate] = None if empty or self.record is None else certainty_below(self.record, rate)
        return self._certain[rate]


@dataclass(frozen=True)
class Verdicts:
    """Answers to the rows of a chunk."""

    labels: list[Any]  # or the numbers that a regressor predicts
    chosen: npt.NDArray[np.intp]
    confidences: Floats
    scores: Floats
    variances: Floats | None


class Member:
    """One model: champion or shadow."""

    def __init__(self, learner: Learner, seq: int = 0) -> None:
        self.learner = learner
        self.rows = Rows(learner)
        self.learned = self.wrong = self.refused = 0  # rows since it is served
        self.fault: Exception | None = None  # the first one in learning
        self._explainer: Explainer | None = None
        self._labels: list[Any] = learner.labels
        self.calibration = self.calibrated(seq)

    def counts_of(self, other: Member) -> None:
        """Go on counting where another one ended."""
        self.learned, self.wrong, self.refused = other.learned, other.wrong, other.refused

    @property
    def is_classifier(self) -> bool:
        return isinstance(self.learner, ClassLearner)

    @property
    def can_learn(self) -> bool:
        """True if it learns from one row after the other."""
        return hasattr(self.learner, "learn_one")

    @property
    def labels(self) -> list[Any]:
        return self._labels

    def warm_up(self) -> None:
        """Answer once, so that nobody waits for what is imported then."""
        none = np.zeros(0, np.int32)
        self.judge(Chunk(np.zeros(0, self.learner.model.dtype), none, np.zeros(2, np.int32), (none, []), 0))

    def describe(self) -> dict[str, Any]:
        """Its learner, its parameters and how much it has learned, for JSON."""
        learner = self.learner
        return {
            "learner": type(learner).__name__,
            "parameters": learner.parameters(),
            "format": learner.origin.options.get("format"),
            "labels": self.labels if self.is_classifier else None,
            "learns": self.can_learn,
            "rows": learner.n_seen_,
            "learned": self.learned,
            "wrong": self.wrong,
            "refused": self.refused,
            "features": learner.model.n_columns,
            "bytes": learner.model.nbytes if hasattr(learner.model, "nbytes") else None,
        }

    # -- how sure it is --------------------------------------------------------------------------------------

    def facts(self, seq: int) -> tuple[int, Floats | None, int, Link] | None:
        """Copies of the arrays that a calibration is fitted to; None of a regressor."""
        learner = self.learner
        if not isinstance(learner, ClassLearner):
            return None
        record, n_heads = learner.recorded
        return seq, None if record is None else record.copy(), n_heads, learner.belief_link

    def calibrated(self, seq: int) -> Calibration | None:
        """A calibration by what is on record now."""
        facts = self.facts(seq)
        return None if facts is None else Calibration.of(*facts)

    @property
    def outgrew_calibration(self) -> bool:
        """True if there are other classes than those that it is of."""
        return self.calibration is not None and self.outgrew(self.calibration)

    def outgrew(self, calibration: Calibration) -> bool:
        """True if there are other classes than those of a calibration."""
        return isinstance(self.learner, ClassLearner) and self.learner.recorded[1] != calibration.n_heads

    # -- answers ---------------------------------------------------------------------------------------------

    def judge(self, chunk: Chunk) -> Verdicts:
        """Label and confidence of each row. Each row's are the same whatever rows it comes with.

        Refused if a row has values with which nothing can be computed.
        """
        learner = self.learner
        try:
            scores, variances = learner.judge_rows(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns)
        except (ValueError, OverflowError) as error:
            raise Refused(422, in_one_sentence(error)) from None
        if not isinstance(learner, ClassLearner):
            ones = np.ones(len(scores))
            return Verdicts(scores[:, 0].tolist(), np.zeros(len(scores), np.intp), ones, scores, variances)
        chosen = learner.chosen(scores)
        labels = self._labels
        confidences = np.ones(len(scores))
        if len(labels) > 1 and self.calibration is not None:
            confidences = self.calibration.link.confidences(*learner.as_recorded(scores, variances))
        return Verdicts([labels[k] for k in chosen.tolist()], chosen, confidences, scores, variances)

    def probabilities(self, verdicts: Verdicts) -> Floats:
        """Of each class, in the order of the labels."""
        learner = self._class_learner("probabilities")
        if len(self._labels) < 2 or self.calibration is None:
            return np.ones((len(verdicts.scores), 1))
        recorded = learner.as_recorded(verdicts.scores, verdicts.variances)
        return self.calibration.link.probabilities(*recorded, len(self._labels))

    def answered(self, verdicts: Verdicts, max_error: float) -> Flags:
        """True for the rows that are sure enough."""
        learner = self._class_learner("max_error")
        assert self.calibration is not None
        promise = self.calibration.promise(learner, max_error)
        return promise.answers(learner, verdicts.scores, verdicts.variances)

    def novelty(self, chunk: Chunk, verdicts: Verdicts) -> tuple[Floats, Floats | None]:
        """The share of features never seen, and the standard deviation as a multiple of the usual one, if known."""
        learner = self._class_learner("novelty")
        try:
            unseen = unseen_share(learner, chunk.values, chunk.indices, chunk.indptr)
        except AttributeError as error:
            raise Refused(422, str(error)) from None
        usual = None if self.calibration is None else self.calibration.usual
        if usual is None or verdicts.variances is None:
            return unseen, None
        return unseen, spread(verdicts.variances, verdicts.scores) / usual

    def wants(self, verdicts: Verdicts, rate: float) -> tuple[Flags, Floats]:
        """Which rows are worth labelling, and how sure the model is of each, in standard deviations where known."""
        learner = self._class_learner("ask")
        assert self.calibration is not None
        sure = certainty(*learner.as_recorded(verdicts.scores, verdicts.variances))
        most = self.calibration.certain(rate)
        if most is None:  # nothing is on record yet
            return np.ones(len(sure), np.bool_), sure
        return np.asarray(sure <= most), sure

    def explain(self, chunk: Chunk, n: int) -> list[Explanation]:
        """The features that made each answer."""
        if self._explainer is None:
            try:
                self._explainer = Explainer(self.learner)
            except ValueError as error:
                raise Refused(422, str(error)) from None
        parts = chunk.values, chunk.indices, chunk.indptr, chunk.n_columns
        return self._explainer.explain(*parts, n=n, names=chunk.names)

    def _class_learner(self, what: str) -> ClassLearner:
        if not isinstance(self.learner, ClassLearner):
            raise Refused(422, f"{what} is for classifiers, and {type(self.learner).__name__} predicts numbers.")
        return self.learner

    # -- learning --------------------------------------------------------------------------------------------

    def refuse_label(self, label: Any) -> None:
        """Refused unless it can be learned from."""
        if not isinstance(label, str | int | float | bool) or label != label:
            raise Refused(422, "A label is text, a number, true or false.")
        if not self.is_classifier:
            if isinstance(label, str) or not abs(label) < float("inf"):
                raise Refused(422, f"{type(self.learner).__name__} predicts numbers: a label is one.")
            return
        if isinstance(label, str) and len(label) > LONGEST_LABEL:
            raise Refused(413, f"A label has at most {LONGEST_LABEL:,} characters.")
        if label in self._labels:
            return
        if not self.learner.growing:
            known = ", ".join(shown(str(one), 40) for one in self._labels[:10])
            raise Refused(
                422, f"The label {shown(str(label))} is none of {known}; a model with growing=True would take it."
            )
        if len(self._labels) >= MAX_CLASSES:
            raise Refused(422, f"The model has {MAX_CLASSES:,} labels, and takes no more.")
        if isinstance(self.learner, OnlineLearner):
            try:
                self.learner.classes_with(label)
            except ValueError as error:
                raise Refused(422, in_one_sentence(error)) from None

    def refuse(self, n: int) -> list[str | None]:
        """Rows that it cannot read."""
        self.refused += n
        return ["The row is none for this model."] * n

    def learn(
        self, chunk: Chunk, labels: list[Any], weights: list[float] | None, missed: Sequence[int] = ()
    ) -> list[str | None]:
        """Learn from the rows in their order, but for those that were missed; why each was refused, or None.

        A row that fails by a fault is told as `FAULT`, and `fault` says by which. Then the model is of no further use.
        """
        learner: Any = self.learner
        if not self.can_learn:
            return ["The model does not learn from single rows."] * len(labels)
        told: list[str | None] = []
        ends = chunk.indptr.tolist()
        values = chunk.values.astype(np.float64)
        for k, label in enumerate(labels):
            if k in missed:
                told.append(FAULT)
                continue
            part, weight = slice(ends[k], ends[k + 1]), 1.0 if weights is None else weights[k]
            try:
                learner.learn_one((chunk.indices[part], values[part]), label, weight)
                told.append(None)
            except (ValueError, OverflowError) as error:
                told.append(" ".join(str(error).split()))
            except Exception as error:
                told.append(FAULT)
                self.fault = self.fault or error
        learner.origin.learned(chunk)
        self.learned += len(told)
        self.refused += sum(one is not None for one in told)
        self._explainer = None
        self._labels = learner.labels
        return told
