"""Online classifiers, which learn from batches of rows or single examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from .._inputs import Array, exact_labels
from .._native import _core
from ..models.numbers import Policy, Shape
from ..models.rows import refusals
from ..models.state import State
from .alarms import Rises
from .asking import Asking, checked_rate, wanted
from .class_weight import Weighing
from .explanation import Explainer, Explanation
from .grids import Settings
from .guarded import asks, teaching
from .learner import ClassLearner
from .novelty import Novelty, std_ratio, unseen_share
from .one import OneByOne, compressed, example, width_of_first
from .rule import RuleLearner


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineLearner(RuleLearner, ClassLearner):
    """A classifier with a rule, which learns from batches of rows or single examples."""

    # Settings to try on the first rows of a stream, after the defaults, if only the learner is named.
    settings_to_try: ClassVar[Settings] = ()

    _rises: ClassVar[Rises | None] = None  # set if mistakes are watched

    # -- learning --------------------------------------------------------------------------------------------

    def begin(self, classes: Array, n_columns: int = 0) -> None:
        """Forget everything, and be ready for rows of that many columns and for these classes."""
        self.check_parameters()
        if len(classes) == 0:
            self._refuse_unnamed_classes()
        self.refuse_classes(len(classes))
        self.classes_ = classes
        self._state = self.fresh_state(self._width_to_begin_with(n_columns), len(classes))
        self._normalizer = self.fresh_normalizer()

    def take(
        self,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        labels: npt.NDArray[np.int32],
        weight: npt.NDArray[np.float64] | None = None,
        part: tuple[int, int] | None = None,
        n_classes: int | None = None,
        *,
        classes: Array | None = None,
        record: bool = True,
    ) -> None:
        """Learn from (part of) a chunk of a stream in place; the model grows for new columns or classes.

        `n_classes` is the number of classes at the end of the chunk, and `classes` their labels, if known. `make_rows`
        gets the width of the rows, if it differs from their own. A reader has checked the values, and the caller has
        normalised them. If a row is still refused, because a score or a step overflows, the model is no longer usable:
        there is no journal here.
        """
        state = self._state
        first, last = part or (0, len(labels))
        n_known = max(state.n_heads, 2)  # two classes have one head
        if n_classes is None or n_classes > n_known:
            n_classes = int(labels[first:last].max(initial=-1)) + 1
            self.refuse_classes(n_classes)
        cuts = [(0, last - first, n_known)] if n_classes <= n_known else stretches(labels[first:last], n_known)
        state.widen(n_columns)
        self.n_features_in_ = state.n_columns
        rows = make_rows(state.n_columns if state.factors is not None else None)
        for start, stop, n_existing in cuts:
            stretch = first + start, first + stop
            self._learn_stretch(
                state, rows, labels, n_existing, *stretch, weight, journal=False, record=record, classes=classes
            )

    def take_asking(
        self,
        asking: Asking,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        labels: npt.NDArray[np.int32],
        weight: npt.NDArray[np.float64] | None = None,
        part: tuple[int, int] | None = None,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """Like `take`, but learn only from rows whose label is asked for; other labels have no effect.

        Returns the position of the predicted class of each row, and the probability with which its label was asked
        for: 0 where it was not. A class exists from the row on that first carries it, asked for or not.
        """
        self.refuse_asking()
        state = self._state
        first, last = part or (0, len(labels))
        self.refuse_classes(int(labels[first:last].max(initial=-1)) + 1)
        state.widen(n_columns)
        self.n_features_in_ = state.n_columns
        rows = make_rows(state.n_columns if state.factors is not None else None)
        predicted, asked = np.full(len(labels), -1, np.int32), np.zeros(len(labels))
        for start, stop, n_existing in stretches(labels[first:last], max(state.n_heads, 2)):
            self._add_classes(state, n_existing)
            with refusals(rows, state.dtype):
                asking.core.learn(
                    state.core,
                    self._rule(),
                    rows,
                    labels,
                    first + start,
                    first + stop,
                    sample_weight=weight,
                    cost=self.costs,
                    variances=self.has_variances,
                    predicted=predicted,
                    asked=asked,
                )
        return predicted, asked

    def refuse_asking(self) -> None:
        """Raise ValueError if it cannot choose the labels that it learns from."""
        if self._shape() is Shape.confident_full:
            raise ValueError(f"{type(self).__name__} with covariance='full' cannot ask for labels: take 'diag'.")
        if self.average:
            raise ValueError("Labels are asked for by the last weights: average must be False.")
        if self.class_weight is not None:
            raise ValueError("Labels are asked for whatever their class: class_weight must be None, and is not.")

    def go_on(
        self,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        nonzeros: int,
        labels: npt.NDArray[np.int32],
        n_known: int,
        classes: Array,
        weight: npt.NDArray[np.float64] | None,
    ) -> State:
        """The state after these rows. The learner's own state changes only if no row is refused.

        `make_rows` gets the width of the rows, if it differs from their own. `n_known` classes exist from the start,
        each other class from its first row on.
        """
        n_classes, first = len(classes), not hasattr(self, "_state")
        original = self.fresh_state(n_columns, n_known) if first else self._state
        self._refuse_another_shape(original)
        self.refuse_classes(max(n_classes, original.n_heads))
        n_columns = max(n_columns, original.n_columns)
        rows = make_rows(n_columns if original.factors is not None else None)
        state, journal = original, False
        if not first:
            more_classes = n_classes > len(self.classes_)
            state, journal = self._state_to_change(rows, n_columns, nonzeros, more_classes=more_classes)

        for start, stop, n_existing in stretches(labels, n_known):
            if state is not original:
                self._add_classes(state, n_existing)
                state.part_from(original)
            self._learn_stretch(state, rows, labels, n_existing, start, stop, weight, journal, classes=classes)
        return state

    def add_labels(self, classes: Array) -> None:
        """Make room for these classes, which begin with the known ones."""
        self.refuse_classes(len(classes))
        self._add_classes(self._state, len(classes))
        self.classes_ = classes

    def _add_classes(self, state: State, n_existing: int) -> None:
        if n_existing > max(state.n_heads, 2):
            state.add_heads(n_existing, self._policy())

    def _learn_stretch(
        self,
        state: State,
        rows: _core.Rows,
        labels: npt.NDArray[np.int32],
        n_existing: int,
        start: int,
        stop: int,
        weight: npt.NDArray[np.float64] | None,
        journal: bool,
        *,
        record: bool = True,
        classes: Array | None = None,
    ) -> None:
        """Learn rows from start to stop, which have only the first `n_existing` classes."""
        self._add_classes(state, n_existing)
        part = None if stop - start == rows.n_rows else np.arange(start, stop)
        # Labels of classes that come later in the batch are not looked at yet, but must be in range.
        labels_so_far = labels if part is None else np.where(labels < n_existing, labels, 0).astype(np.int32)
        weighing = self.weighing(max(state.n_heads, 2), classes)
        rises = self._rises
        wrong = None if rises is None else np.zeros(rows.n_rows, np.uint8)
        more: dict[str, Any] = {"record": record, "weighing": weighing, "wrong": wrong}
        state.learn(self._rule(), rows, labels_so_far, weight, part, journal, self.costs, **more)
        if rises is not None and wrong is not None:
            wrong = wrong[start:stop]
            rises.add(wrong if weight is None else wrong[weight[start:stop] > 0])

    def _shaped_by_classes(self, state: State) -> list[tuple[str, bool]]:
        return [("multi_class", state.policy in (Policy.binary, self._policy()))]

    # -- one example at a time -------------------------------------------------------------------------------

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn from one example, in time proportional to its features.

        A model that begins with `learn_one` grows as features and classes come; one that was fitted or loaded only with
        ``growing=True``.

        Parameters
        ----------
        x : dict, list of pairs, or tuple of two arrays
            Features with their values: ``{"word": 2.0, "colour": "red"}``, ``[("word", 2.0)]``, or the arrays of
            columns (integers) and of values. Names are hashed to ``2**bits`` columns as scikit-learn's FeatureHasher
            does it; text as a value makes the feature "colour=red". Integers are columns as they are. A model that was
            trained from a stream takes what its rows are written in: a text, a line of VW or of LIBSVM without its
            label, a dict of VW names such as ``{"a^x": 1.0}``, or a dict of the columns of a table.
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
        x, written = example(self, x)
        try:
            code = None if one is None or one.state is not self._state else one.codes.get(y)
        except TypeError:
            raise ValueError(f"A label must be a number, text, True or False. Got {y!r} instead.") from None
        if code is None or one.careful or one.core.learn(x, code, sample_weight):  # type: ignore[union-attr]
            with teaching(self):
                self._learn_one_otherwise(x, y, sample_weight)
        self.origin.learned(written)
        return self

    def _learn_one_otherwise(self, x: Any, y: Any, sample_weight: float) -> None:
        """Learn an example for which the model must grow first, or whose refusal the core cannot undo."""
        one = self._one
        one = self._begin_one(x, y) if one is None or one.state is not self._state else OneByOne.current(self)
        try:
            known = y in one.codes
        except TypeError:
            raise ValueError(f"A label must be a number, text, True or False. Got {y!r} instead.") from None
        before = self._one, self._state, self.classes_
        if not known:
            one = self._one_class_more(y)
        code = one.codes[y]
        try:
            one.learn_otherwise(self, lambda core: core.learn(x, code, sample_weight))
        except BaseException:
            if len(self.classes_) > len(before[2]):  # a refused row brings no class
                self._one, self._state, self.classes_ = before
            raise

    def predict_one(self, x: Any) -> Any:
        """Predict the label of one example, given as to `learn_one`; None before training."""
        if not hasattr(self, "_state"):
            return None
        scores, one = self._scores_of_one(x)
        return one.labels[min(int(self.chosen(scores)[0]), len(one.labels) - 1)]

    @asks
    def explain_one(self, x: Any, n: int | None = None) -> Explanation | None:
        """Contributions of features to the score of one example, given as to `learn_one`; None before training.

        At most n of them, the largest first. Names that the example itself has come first.
        """
        if not hasattr(self, "_state"):
            return None
        chunk = example(self, x)[1]
        names = None if chunk is None else chunk.names
        return Explainer(self).explain(*compressed(self, x), n=n, names=names)[0]

    @asks
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Calibrated probability of each label for one example, given as to `learn_one`; empty before training."""
        if not hasattr(self, "_state"):
            return {}
        proba = self.probabilities(*self._judge_rows(*compressed(self, x), variances=self.has_variances))[0]
        return dict(zip(self.classes_.tolist(), proba.tolist(), strict=True))

    @asks
    def novelty_one(self, x: Any) -> Novelty:
        """Novelty of one example, given as to `learn_one`: see `novelty`. Before training all features are new."""
        if not hasattr(self, "_state"):
            return Novelty(1.0, None)
        values, indices, indptr, n_columns = compressed(self, x)
        ratio = std_ratio(self, *self._judge_rows(values, indices, indptr, n_columns, variances=self.has_variances))
        unseen = unseen_share(self, values, indices, indptr)
        return Novelty(float(unseen[0]), None if ratio is None else float(ratio[0]))

    @asks
    def wants_label_one(self, x: Any, rate: float = 0.1) -> bool:
        """True if one example, given as to `learn_one`, is worth labelling: see `wants_label`.

        True before anything has been learned.
        """
        checked_rate(rate, "rate")
        if not hasattr(self, "_state"):
            return True
        judged = self._judge_rows(*compressed(self, x), variances=self.has_variances)
        return bool(wanted(self, *judged, rate)[0])

    def _begin_one(self, x: Any, y: Any) -> OneByOne:
        self.check_parameters()
        if not hasattr(self, "_state"):
            classes = np.array([False, True]) if isinstance(y, bool | np.bool_) else np.array(exact_labels([y]))
            if classes.ndim != 1 or (classes.dtype.kind not in "biufU" and not isinstance(y, str)) or y != y:
                raise ValueError(f"A label must be a number, text, True or False. Got {y!r} instead.")
            if len(classes) < 2:
                self._refuse_unnamed_classes()
            self._grows_by_one = True
            self.begin(classes, width_of_first(self, x))
        return OneByOne.begun(self)

    def _weighing_one(self, n_classes: int) -> Weighing:
        return self.weighing(n_classes)

    def _codes(self) -> dict[Any, int]:
        return {label: k for k, label in enumerate(self.classes_.tolist())}

    def classes_with(self, y: Any) -> Array:
        """The classes and one more, of a label; ValueError if it cannot be one of them."""
        known = self.classes_.tolist()
        if isinstance(y, str):
            same = all(isinstance(label, str) for label in known)
            classes: Array = exact_labels([*known, str(y)] if same else [y])
        else:
            label = np.array([y])
            same = label.ndim == 1 and {label.dtype.kind, self.classes_.dtype.kind} <= set("biuf")
            classes = np.concatenate([self.classes_, label]) if same else self.classes_
        if y != y or not same:
            raise ValueError(f"y is {y!r}, and the classes so far are of another type: {known}.")
        if classes.tolist() != [*known, y]:
            raise ValueError(f"y is {y!r}, which {classes.dtype}, the type of all classes together, cannot hold.")
        if not self._may_grow:
            raise ValueError(f"y is {y!r}, which is not among the classes {known}; set growing=True to add classes.")
        self.refuse_classes(len(classes))
        return classes

    def _one_class_more(self, y: Any) -> OneByOne:
        classes = self.classes_with(y)
        state = self._state.copy()
        self._add_classes(state, len(classes))
        self.classes_ = classes
        self._state = state
        return OneByOne.begun(self)


def watch(learner: Any, rises: Rises | None) -> None:
    """Make a learner report from now on which rows it predicts wrongly; None ends that."""
    if isinstance(learner, OnlineLearner):
        if rises is None:
            learner.__dict__.pop("_rises", None)
        else:
            learner.__dict__["_rises"] = rises


def stretches(labels: npt.NDArray[np.int32], n_known: int) -> list[tuple[int, int, int]]:
    """Cut rows at the first row of each new class: (start, stop, number of classes so far).

    So a stream gives the same model however it is cut into calls.
    """
    if len(labels) == 0:
        return [(0, 0, n_known)]
    highest = np.maximum.accumulate(labels)
    n_classes = np.maximum(highest + 1, n_known)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(n_classes)) + 1, [len(labels)]])
    return [(int(a), int(b), int(n_classes[a])) for a, b in pairwise(starts)]
