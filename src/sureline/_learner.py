"""An online learner without scikit-learn: parameters, a rule, the state, and the turn of a batch of rows.

The command line works with these classes alone, since importing scikit-learn takes longer than many a job. The
estimators put scikit-learn's contract around them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from . import _core
from ._constraints import Constraint, Flag, Number, OneOf
from ._rows import Array
from ._state import COVARIANCE_SCALE, MISTAKES, SEEN, UPDATES, WEIGHT_SCALE, WITH_FACTORS, Policy, Rule, Shape, State
from .metrics import Tally


class _Fitted:
    """What a learner has once it has begun. Apart, since all that a dataclass declares is taken for a parameter."""

    classes_: Array
    n_features_in_: int
    feature_names_in_: Array
    _state: State
    _one: _OneByOne | None = None
    _grows_by_one: bool = False
    _takes_names: bool = True  # False if the columns are no hashes of names, or other hashes


class _OneByOne(NamedTuple):
    """What learn_one keeps from one call to the next."""

    state: State
    core: _core.OneByOne
    codes: dict[Any, int]  # of the labels
    careful: bool  # a row that is refused would leave traces, so each is learned on a copy


@dataclass(eq=False, repr=False, kw_only=True)
class Learner(_Fitted, ABC):
    """Base of the linear classifiers that see one example at a time.

    A subclass is a dataclass whose fields are its parameters. It names its rule; it adds no loop and no state.
    """

    fit_intercept: bool = True
    dtype: str = "float64"
    multi_class: str = "native"
    growing: bool = False
    bits: int = 20
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    # What the parameters may be, as data; each subclass adds its own.
    _constraints: ClassVar[dict[str, Constraint]] = {
        "fit_intercept": Flag(),
        "dtype": OneOf("float32", "float64"),
        "multi_class": OneOf("native", "ovr"),
        "growing": Flag(),
        "bits": Number(1, 30, integer=True),
        "passes": Number(1, 1e9, integer=True),
        "shuffle": Flag(),
    }

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @abstractmethod
    def _rule(self) -> Rule:
        """The rule with this estimator's parameters."""

    def _shape(self) -> Shape:
        return "identity"

    def _costs(self) -> tuple[float, float] | None:
        """What a mistake on a negative and on a positive example costs; None to balance them along the stream."""
        return 1.0, 1.0

    def _refuse_classes(self, n_classes: int) -> None:
        """Raise ValueError if the parameters have no meaning for that many classes."""

    def _refuse_unnamed_classes(self) -> None:
        """Raise ValueError if it must be known from the start which class is the positive one."""

    def _initial_scalars(self) -> dict[str, Any]:
        """What the state starts with, where that is not the default: covariance_scale, c, max_nonzero."""
        return {}

    # -- parameters ------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters by name, in the order of the constructor."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check_parameters(self) -> None:
        """Raise ValueError if a parameter is none of the values that it may have."""
        for name, constraint in self._constraints.items():
            constraint.check(name, type(self).__name__, getattr(self, name))

    # -- learning --------------------------------------------------------------------------------------------

    def begin(self, classes: Array, n_columns: int = 0) -> None:
        """Forget everything, and be ready for rows of that many columns and for these classes."""
        self.check_parameters()
        if len(classes) == 0:
            self._refuse_unnamed_classes()
        self._refuse_classes(len(classes))
        self.classes_ = classes
        self._state = self._fresh_state(n_columns, len(classes))

    def take(
        self,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        labels: npt.NDArray[np.int32],
        weight: npt.NDArray[np.float64] | None = None,
        part: tuple[int, int] | None = None,
    ) -> None:
        """Learn from a chunk of a stream in place, or from a part of its rows: wider and of more classes, if it is so.

        `make_rows` gets the width that the rows are to count as, if it is not their own. The rows are those of a
        reader, which has looked at their values. If one is refused all the same, for a score or a step that overflows,
        the model is of no further use: there is no journal here.
        """
        state = self._state
        first, last = part or (0, len(labels))
        self._refuse_classes(int(labels[first:last].max(initial=-1)) + 1)
        state.widen(n_columns)
        self.n_features_in_ = state.n_columns
        rows = make_rows(state.n_columns if state.factors is not None else None)
        for start, stop, n_existing in stretches(labels[first:last], state.n_heads):
            self._learn_stretch(state, rows, labels, n_existing, first + start, first + stop, weight, journal=False)

    def _go_on(
        self,
        make_rows: Callable[[int | None], _core.Rows],
        n_columns: int,
        nonzeros: int,
        labels: npt.NDArray[np.int32],
        n_known: int,
        n_classes: int,
        weight: npt.NDArray[np.float64] | None,
    ) -> State:
        """The state after these rows. The learner's own state is changed only if all goes well.

        `make_rows` gets the width that the rows are to count as, if it is not their own. `n_known` classes exist from
        the start, the others from the row on that first carries them.
        """
        first = not hasattr(self, "_state")
        state = self._fresh_state(n_columns, n_known) if first else self._state
        self._refuse_another_shape(state)
        self._refuse_classes(max(n_classes, state.n_heads))
        n_columns = max(n_columns, state.n_columns)
        rows = make_rows(n_columns if state.factors is not None else None)
        max_nonzero = self._initial_scalars().get("max_nonzero")

        # In place where a refusal leaves no trace or can be undone, otherwise on a copy. The first row that is refused
        # leaves no trace, unless the learner takes it in before it predicts.
        alone = rows.n_rows == 1 and state.policy != "ovr" and not state.shape.startswith("confident")
        grows = not first and (n_columns > state.n_columns or n_classes > len(self.classes_))
        journal = not (first or alone or grows) and state.factors is None and state.nbytes > 16 * nonzeros
        original = state
        if not (first or alone or journal) or grows or not state.writeable or not state.has_budget(max_nonzero):
            state = state.draft()
        state.widen(n_columns)
        state.set_budget(max_nonzero)

        for start, stop, n_existing in stretches(labels, n_known):
            if state is not original:
                self._add_classes(state, n_existing)
                state.part_from(original)
            self._learn_stretch(state, rows, labels, n_existing, start, stop, weight, journal)
        return state

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
    ) -> None:
        """Rows from start to stop, in which no class beyond the first `n_existing` comes."""
        self._add_classes(state, n_existing)
        part = None if stop - start == rows.n_rows else np.arange(start, stop)
        # Labels of classes that come later in the batch are not looked at yet, but must be in range.
        labels_so_far = labels if part is None else np.where(labels < n_existing, labels, 0).astype(np.int32)
        state.learn(self._rule(), rows, labels_so_far, weight, part, journal, self._costs())

    # -- one example at a time -------------------------------------------------------------------------------

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
        if one is None or one[0] is not self._state:
            one = self._begin_one(x, y)
        _, core, codes, careful = one
        try:
            code = codes.get(y)
        except TypeError:
            raise ValueError(f"A label must be a number, text, True or False. Got {y!r} instead.") from None
        if code is None or careful or core.learn(x, code, sample_weight):
            self._learn_one_otherwise(x, y, sample_weight)
        return self

    def _learn_one_otherwise(self, x: Any, y: Any, sample_weight: float) -> None:
        """Where the model has to grow first, or has no way to take back what a refused row changed."""
        one = self._one
        assert one is not None
        if y not in one.codes:
            one = self._one_class_more(y)
        if one.careful:
            one = self._one_of(one.state.copy())
        code = one.codes[y]
        width = one.core.learn(x, code, sample_weight)
        if width:
            if not self._may_grow:
                raise ValueError(
                    f"The row has features up to column {width - 1}, and the model has {one.state.n_columns} columns; "
                    "set growing=True to add columns."
                )
            wider = one.state.draft()
            wider.widen(width)
            one = self._one_of(wider)
            one.core.learn(x, code, sample_weight)
        if one.state is not self._state:
            self._state = one.state
            self.n_features_in_ = one.state.n_columns
            self._one = one

    def predict_one(self, x: Any) -> Any:
        """The label of one example, given as to `learn_one`; None if nothing has been learned yet."""
        if not hasattr(self, "_state"):
            return None
        one = self._one
        if one is None or one.state is not self._state:
            one = self._new_one()
        if one.state.factors is not None:
            scores = self._judge_one(x, variance=False)[0]
        else:
            scores = np.array([one.core.scores(x)])
            if scores.shape[1] > 1:
                scores *= one.state.memory[:, WEIGHT_SCALE]
        return self.classes_[int(self.chosen(scores)[0])].item()

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
            _, _, named = _core.read_row(x, self.bits)  # refuses what is wrong with it before there is a model
            self.begin(classes, 1 << self.bits if named and self._shape() not in WITH_FACTORS else 0)
        return self._new_one()

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
        core = _core.OneByOne(
            rule,
            state.shape,
            state.weights,
            state.factors,
            state.memory,
            state.tally,
            state.budget,
            state.n_columns,
            state.n_heads,
            state.intercept,
            state.policy,
            self._costs(),
            state.view,
            self.bits if self._takes_names else 0,
        )
        careful = state.factors is not None and (state.policy == "ovr" or state.shape.startswith("confident"))
        return _OneByOne(state, core, {label: k for k, label in enumerate(self.classes_.tolist())}, careful)

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

    def _judge_one(self, x: Any, *, variance: bool) -> tuple[Array, Array | None]:
        """Scores of one example, and variances if they are asked for, as arrays of one row."""
        state = self._state
        indices, values, _ = _core.read_row(x, self.bits if self._takes_names else 0)
        columns = np.array(indices, np.int32)
        numbers = np.array(values, state.dtype)
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
        if not name.startswith("_"):  # a parameter may have changed
            self.__dict__.pop("_one", None)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_one", None)
        return state

    # -- answers ---------------------------------------------------------------------------------------------

    def chosen(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """The position in `classes_` of the class that is predicted by these scores, a row for each example.

        A score of exactly 0 is the first class of two; of equal scores the first wins.
        """
        best: npt.NDArray[np.intp] = (
            scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.intp)
        )
        return np.minimum(best, len(self.classes_) - 1)  # as long as there is one class only, it is that

    @property
    def has_probabilities(self) -> bool:
        """Whether scores mean probabilities: for the log loss, or by the covariance of the weights."""
        return getattr(self, "loss", None) == "log"

    @property
    def has_variances(self) -> bool:
        """Whether a score has a variance."""
        return False

    def probabilities(
        self, scores: npt.NDArray[np.float64], variances: npt.NDArray[np.float64] | None
    ) -> npt.NDArray[np.float64]:
        """Probability of each class by scores, and variances where the learner has them; a column for each head."""
        from scipy.special import expit

        f = scores
        if f.shape[1] == 1:
            return self._both(self._positive(f, variances))
        rivals = np.where(np.eye(f.shape[1], dtype=bool), -np.inf, f[:, np.newaxis, :]).max(axis=2)
        proba: npt.NDArray[np.float64] = expit(f - rivals)
        proba /= proba.sum(axis=1, keepdims=True)
        return proba

    def confidences(
        self, scores: npt.NDArray[np.float64], variances: npt.NDArray[np.float64] | None
    ) -> npt.NDArray[np.float64]:
        """Probability that the predicted class is right: rather than the other one, or than its best rival."""
        if scores.shape[1] > 1:  # the two best, as if there were no others
            two = np.argpartition(-scores, 1, axis=1)[:, :2]
            at = np.arange(len(scores))[:, np.newaxis]
            v = None if variances is None else variances[at, two].sum(axis=1, keepdims=True)
            positive = self._positive((scores[at, two[:, 0:1]] - scores[at, two[:, 1:2]]), v)
        else:
            positive = self._positive(scores, variances)
        best: npt.NDArray[np.float64] = np.maximum(positive, 1 - positive)
        return best

    def _positive(
        self, scores: npt.NDArray[np.float64], variances: npt.NDArray[np.float64] | None
    ) -> npt.NDArray[np.float64]:
        """Probability that a score, of which there is one a row, speaks for the positive side."""
        from scipy.special import expit

        positive: npt.NDArray[np.float64] = expit(scores[:, 0])
        return positive

    def _both(self, positive: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        columns = [1 - positive, positive] if len(self.classes_) > 1 else [np.ones_like(positive)]
        return np.stack(columns, axis=1)

    def _scores(self, rows: _core.Rows) -> npt.NDArray[np.float64]:
        return self._fitted_state("scores").scores(rows)

    @property
    def coef_(self) -> Array:
        """Weights, of shape (1, n_features), or (n_classes, n_features) for more than two classes."""
        return self._fitted_state("coef_").coefficients()[:, 1:]

    @property
    def intercept_(self) -> Array:
        """Intercepts, of shape (1,) or (n_classes,); zeros with ``fit_intercept=False``."""
        return self._fitted_state("intercept_").intercepts()

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a SciPy CSR matrix, for which the dense one is never built."""
        from scipy.sparse import csr_matrix

        state = self._fitted_state("sparse_coef_")
        heads = [(slots[slots > 0] - 1, values[slots > 0]) for slots, values in state.nonzero()]
        indptr = np.cumsum([0] + [len(columns) for columns, _ in heads])
        index_dtype = np.int32 if max(state.n_columns, int(indptr[-1])) < 2**31 else np.int64
        return csr_matrix(
            (
                np.concatenate([values for _, values in heads]),
                np.concatenate([columns for columns, _ in heads]).astype(index_dtype),
                indptr.astype(index_dtype),
            ),
            shape=(state.n_heads, state.n_columns),
        )

    @property
    def nonzero_(self) -> int:
        """How many weights in `coef_` are not zero."""
        return self._fitted_state("nonzero_").count_nonzero()

    @property
    def sparsity_(self) -> float:
        """The share of the weights in `coef_` that are zero."""
        state = self._fitted_state("sparsity_")
        return 1 - self.nonzero_ / (state.n_heads * state.n_columns)

    @property
    def n_seen_(self) -> int:
        """Examples learned from, over all passes; those of weight 0 do not count."""
        return int(self._fitted_state("n_seen_").tally[:, SEEN].sum())

    @property
    def n_mistakes_(self) -> int:
        """Examples whose label was predicted wrongly just before learning from them."""
        return int(self._fitted_state("n_mistakes_").tally[:, MISTAKES].sum())

    @property
    def n_updates_(self) -> int:
        """Examples that changed the model."""
        return int(self._fitted_state("n_updates_").tally[:, UPDATES].sum())

    @property
    def progressive_(self) -> Tally:
        """How the labels were predicted before they were learned from, for each class."""
        tally = self._fitted_state("progressive_").tally[: len(self.classes_)]
        return Tally(self.classes_, tally[:, SEEN], tally[:, MISTAKES])

    # -- pieces ----------------------------------------------------------------------------------------------

    def _fitted_state(self, attribute: str) -> State:
        if not hasattr(self, "_state"):
            raise AttributeError(f"This {type(self).__name__} has no {attribute} before fit or partial_fit was called.")
        state: State = self._state
        return state

    def _fresh_state(self, n_columns: int, n_classes: int) -> State:
        intercept = bool(self.fit_intercept)
        state = State(
            self._shape(), self.dtype, n_columns, intercept, n_classes, self._policy(), **self._initial_scalars()
        )
        state.look(self._rule())
        return state

    def _refuse_another_shape(self, state: State) -> None:
        """Parameters that shape the state cannot change under it."""
        for parameter, same in (
            ("dtype", state.dtype == self.dtype),
            ("fit_intercept", state.intercept == bool(self.fit_intercept)),
            ("covariance", state.shape == self._shape()),
            ("multi_class", state.policy in ("binary", self._policy())),
            *self._unchanged(state),
        ):
            if not same:
                raise ValueError(
                    f"The {parameter!r} parameter of {type(self).__name__} cannot change after the first call of "
                    f"partial_fit. Got {getattr(self, parameter)!r} instead of what the model was made with."
                )

    def _unchanged(self, state: State) -> list[tuple[str, bool]]:
        """Further parameters that shape the state, and whether they are what the state was made with."""
        return []

    def _policy(self) -> Policy:
        """How more than two classes are learned."""
        return "ovr" if self.multi_class == "ovr" else "rival"


def stretches(labels: npt.NDArray[np.int32], n_known: int) -> list[tuple[int, int, int]]:
    """Cut rows where a class appears for the first time: (start, stop, classes that exist in there).

    So a stream gives the same model however it is cut into calls.
    """
    if len(labels) == 0:
        return [(0, 0, n_known)]
    highest = np.maximum.accumulate(labels)
    n_classes = np.maximum(highest + 1, n_known)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(n_classes)) + 1, [len(labels)]])
    return [(int(a), int(b), int(n_classes[a])) for a, b in pairwise(starts)]
