"""Base class of all learners, without scikit-learn: parameters, answers, and learned attributes.

The command line works with these classes alone, since importing scikit-learn takes longer than many a job. The
estimators put scikit-learn's contract around them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from .._inputs import Array, Floats
from .._native import _core
from ..metrics import Tally
from ..models.model import Model
from ..models.numbers import MISTAKES, SEEN, UPDATES, Policy
from ..models.record import is_empty
from ..models.scaling import DEFAULT, Normalizer
from ..models.weights import Weight, csr_of_heads, scales_of, top_weights
from .calibration import Curve, curve_of
from .class_weight import ClassWeight, Weighing, weighing
from .cost import EVEN, LabelCosts
from .guarded import asks, shared_by_threads
from .origin import Origin
from .parameters import Constraint, Flag, OneOf, constraints_of
from .probabilities import GAUSSIAN, LOGISTIC, Link

KINDS = OneOf("none", "row", "scale")  # of `normalize`


@shared_by_threads
@dataclass(eq=False, repr=False, kw_only=True)
class Learner(ABC):
    """Base of the linear models. A subclass is a dataclass whose fields are its parameters."""

    fit_intercept: bool = Flag().default(True)
    dtype: str = OneOf("float32", "float64").default("float64")
    growing: bool = Flag().default(False)
    normalize: str = KINDS.default(DEFAULT)

    # A short description of the algorithm, its source, and the paper's parameters where ours differ. The catalogue
    # finds every class with these attributes and makes its estimator and its command.
    algorithm: ClassVar[str]
    paper: ClassVar[str]
    published: ClassVar[dict[str, Any]] = {}
    has_command: ClassVar[bool] = True  # False for learners of small data, which do not train from streams
    in_python: ClassVar[bool] = False  # True if the step is a Python method, which model files cannot hold

    # The dtype of a stream's rows by default: float32 halves the memory of wide models.
    stream_dtype: ClassVar[str] = "float32"

    # The values that `tune` tries for each parameter. Sparsity penalties are not tried.
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {}

    has_variances: ClassVar[bool] = False  # a score has a variance

    # Attributes of a trained learner. Declared in the class, they would be parameters of the dataclass.
    if TYPE_CHECKING:
        n_features_in_: int = field(init=False)
        feature_names_in_: Array = field(init=False)
        _state: Model = field(init=False)
        _gate: Any = field(init=False)
    _normalizer = Normalizer("none")  # before training
    _origin = Origin()  # for rows from arrays

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @abstractmethod
    def judge_rows(self, values: Array, indices: Array, indptr: Array, n_columns: int) -> tuple[Floats, Floats | None]:
        """Scores of rows in compressed form, and variances if the learner has them; one column per head.

        A reader has checked the rows. Unseen features have no weight, and the variance of a fresh feature.
        """

    @abstractmethod
    def judge(self, X: Any, *, variances: bool) -> tuple[Floats, Floats | None]:
        """Scores of the rows of X, and their variances if wanted; one column per head."""

    @abstractmethod
    def _policy(self) -> Policy:
        """The meaning of the heads; for one head and for regression too."""

    @abstractmethod
    def _refuse_state(self, state: Any) -> None:
        """Raise ValueError if a learner with these parameters cannot have such a state."""

    @property
    def costs(self) -> tuple[float, float] | None:
        """Costs of a mistake on a negative and a positive example; None to balance them along the stream."""
        return 1.0, 1.0

    # -- parameters ------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters by name, in the order of the constructor."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check_parameters(self) -> None:
        """Raise ValueError if a parameter has an invalid value."""
        for name, constraint in constraints_of(type(self)).items():
            constraint.check(name, type(self).__name__, getattr(self, name))

    @classmethod
    def constraint_of(cls, parameter: str) -> Constraint | None:
        """The constraint of a parameter; None for any value, or an unknown parameter."""
        return constraints_of(cls).get(parameter)

    def refuse_stream(self) -> None:  # most learners need nothing  # noqa: B027
        """Raise ValueError if the parameters need the number of columns in advance."""

    def warm_up(self) -> None:  # likewise  # noqa: B027
        """Import what the first step needs, before time is measured."""

    @classmethod
    def as_published(cls, **parameters: Any) -> Self:
        """The learner with the parameters of its paper: no intercept, float64, rows unscaled and in their order."""
        return cls(**{**cls.published_parameters(parameters), **parameters})

    @classmethod
    def published_parameters(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that differ from the defaults in the paper, where these are given."""
        plain = {"fit_intercept": False, "normalize": "none", "dtype": "float64", "shuffle": False}
        return {one.name: both[one.name] for both in [plain | cls.published] for one in fields(cls) if one.name in both}

    # -- the model -------------------------------------------------------------------------------------------

    @property
    def has_begun(self) -> bool:
        """True if there is a trained model."""
        return hasattr(self, "_state")

    @property
    def model(self) -> Model:
        """The model. AttributeError before the learner has begun."""
        return self._fitted_state("model")

    @property
    def labels(self) -> list[Any]:
        """The labels in the order of the heads; empty for regression."""
        return []

    @property
    def normalizer(self) -> Normalizer:
        """The normalizer of the rows."""
        return self._normalizer

    @normalizer.setter
    def normalizer(self, normalizer: Normalizer) -> None:
        self._normalizer = normalizer

    @property
    def origin(self) -> Origin:
        """Reading options of the stream that was learned, and the names of its columns."""
        return self._origin

    @origin.setter
    def origin(self, origin: Origin) -> None:
        self._origin = origin

    @property
    def takes_names(self) -> bool:
        """True if single examples may name their features, because columns are hashes of such names."""
        return self._origin.takes_names

    def adopt(self, model: Any, normalizer: Normalizer) -> None:
        """Adopt a model that was learned elsewhere. ValueError if these parameters do not fit it."""
        self._normalizer = normalizer
        self._refuse_state(model)
        self._state = model

    def forget(self) -> None:
        """Drop the model, and give its memory back."""
        for attribute in ("_state", "_normalizer", "_one"):
            self.__dict__.pop(attribute, None)

    # -- what was learned ------------------------------------------------------------------------------------

    @property
    def has_weights(self) -> bool:
        """True if a score is a sum over features."""
        return True

    @property
    def coef_(self) -> Array:
        """Weights, of shape (1, n_features), or (n_classes, n_features) for more than two classes.

        They apply to the original X, not to features divided by their scale; with ``normalize="row"`` to rows of length
        1.
        """
        return self._normalizer.per_unit(self._fitted_state("coef_").coefficients()[:, 1:])

    @property
    def intercept_(self) -> Array:
        """Intercepts, of shape (1,) or (n_classes,); zeros with ``fit_intercept=False``."""
        return self._fitted_state("intercept_").intercepts()

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a SciPy CSR matrix; no dense matrix is made."""
        state = self._fitted_state("sparse_coef_")
        heads = [(slots[slots > 0] - 1, values[slots > 0]) for slots, values in state.nonzero()]
        heads = [(columns, self._normalizer.per_unit(values, columns)) for columns, values in heads]
        return csr_of_heads(heads, state.n_columns)

    @property
    def scale_(self) -> Floats:
        """The divisor of each feature with ``normalize="scale"``: the mean absolute value of its nonzero values.

        Of shape (n_features,); 1 for unseen features, whose values become 1 or -1.
        """
        state = self._fitted_state("scale_")
        return scales_of(self, self._normalizer, state.n_columns)

    @property
    def nonzero_(self) -> int:
        """The number of nonzero weights in `coef_`."""
        return self._fitted_state("nonzero_").count_nonzero()

    @property
    def sparsity_(self) -> float:
        """The share of the weights in `coef_` that are zero."""
        state = self._fitted_state("sparsity_")
        return 1 - self.nonzero_ / (state.n_heads * state.n_columns)

    @abstractmethod
    def progressive_measures(self) -> dict[str, Any]:
        """Measures of the progressive predictions of labels or targets, by name."""

    @property
    def n_seen_(self) -> int:
        """Examples learned from, over all passes; those of weight 0 do not count."""
        return int(self._fitted_state("n_seen_").tally[:, SEEN].sum())

    @property
    def n_updates_(self) -> int:
        """Examples that changed the model."""
        return int(self._fitted_state("n_updates_").tally[:, UPDATES].sum())

    @asks
    def top_weights(self, n: int, names: _core.NameTable | None = None) -> list[Weight]:
        """The `n` largest weights over all classes, without intercepts; empty if scores are not sums over features.

        `names` are those hashed to the columns. Without them the names of a data frame are used.
        """
        if not self.has_weights:
            return []
        columns = getattr(self, "feature_names_in_", ())
        return top_weights(
            self._fitted_state("weights"), self._normalizer, self.labels, n, names=names, columns=columns
        )

    # -- pieces ----------------------------------------------------------------------------------------------

    def fresh_normalizer(self) -> Normalizer:
        """A normalizer without rows. Scales are float64, except in learners with one dtype for all rows."""
        return Normalizer(self.normalize)

    def _refuse_changes(self, state: Any, *others: tuple[str, bool]) -> None:
        """Raise ValueError if a parameter that shapes the model has changed.

        `others` are further parameters, each with whether it still has the value that made the model.
        """
        shaped: Iterable[tuple[str, bool]] = (
            ("normalize", self.normalize == self._normalizer.kind),
            ("dtype", state.dtype == self.dtype),
            ("fit_intercept", state.intercept == bool(self.fit_intercept)),
            *others,
        )
        for parameter, same in shaped:
            if not same:
                raise ValueError(
                    f"The {parameter!r} parameter of {type(self).__name__} cannot change after the first call of "
                    f"partial_fit. Got {getattr(self, parameter)!r} instead of what the model was made with."
                )

    def _fitted_state(self, attribute: str) -> Model:
        if not hasattr(self, "_state"):
            raise AttributeError(f"This {type(self).__name__} has no {attribute} before fit or partial_fit was called.")
        return self._state


@dataclass(eq=False, repr=False, kw_only=True)
class ClassLearner(Learner):
    """Base of the classifiers."""

    multi_class: str = OneOf("native", "ovr").default("native")
    class_weight: Any = ClassWeight().default(None)  # noqa: RUF009

    _label_costs: ClassVar[LabelCosts] = EVEN

    if TYPE_CHECKING:
        classes_: Array = field(init=False)

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @abstractmethod
    def begin(self, classes: Array, n_columns: int = 0) -> None:
        """Forget everything, and be ready for rows of that many columns and for these classes."""

    @property
    def labels(self) -> list[Any]:
        return list(self.classes_.tolist())

    @property
    def costs(self) -> tuple[float, float] | None:
        return self._label_costs.pair(self)

    def check_parameters(self) -> None:
        super().check_parameters()
        _ = self.costs  # refuses invalid costs

    def weighing(self, n_classes: int, classes: Array | None = None) -> Weighing:
        """The class weights along a stream, in a model with this many classes."""
        return weighing(self.class_weight, self.labels if classes is None else classes.tolist(), n_classes)

    def _policy(self) -> Policy:
        """The strategy for more than two classes."""
        return Policy.ovr if self.multi_class == "ovr" else Policy.rival

    def refuse_classes(self, n_classes: int) -> None:
        """Raise ValueError if the parameters have no meaning for that many classes."""
        self._label_costs.refuse_classes(self, n_classes)

    def _refuse_unnamed_classes(self) -> None:
        """Raise ValueError if the positive class must be known from the start, and is not."""
        self._label_costs.refuse_unnamed(self)

    # -- answers ---------------------------------------------------------------------------------------------

    def chosen(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Positions in `classes_` of the predicted classes, for scores with a row per example.

        A score of exactly 0 is the first class of two; of equal scores the first wins.
        """
        best: npt.NDArray[np.intp] = (
            scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.intp)
        )
        return np.minimum(best, len(self.classes_) - 1)  # with a single class so far, it is predicted

    @property
    def belief_link(self) -> Link:
        """The model's own link from scores to probabilities: by its covariance, or by the log loss."""
        return GAUSSIAN if self.has_variances else LOGISTIC

    @property
    def _link(self) -> Link | Curve:
        """The calibrated link; without recorded predictions the model's own."""
        record, n_heads = self.recorded
        return self.belief_link if record is None or is_empty(record) else curve_of(record, n_heads)

    @property
    def recorded(self) -> tuple[Floats | None, int]:
        """The record of progressive predictions, if there is one, and the number of heads."""
        state = self._fitted_state("probabilities")
        return state.record, state.n_heads

    def probabilities(
        self, scores: npt.NDArray[np.float64], variances: npt.NDArray[np.float64] | None
    ) -> npt.NDArray[np.float64]:
        """Calibrated probability of each class, by scores, and variances where the learner has them."""
        return self._link.probabilities(*self.as_recorded(scores, variances), len(self.classes_))

    def confidences(
        self, scores: npt.NDArray[np.float64], variances: npt.NDArray[np.float64] | None
    ) -> npt.NDArray[np.float64]:
        """Calibrated probability that the predicted class is the right one."""
        if len(self.classes_) < 2:  # with a single class so far, it is predicted
            return np.ones(len(scores))
        return self._link.confidences(*self.as_recorded(scores, variances))

    def as_recorded(self, scores: Floats, variances: Floats | None) -> tuple[Floats, Floats | None]:
        """Scores and variances as they are put on record."""
        return scores, variances

    @property
    def n_mistakes_(self) -> int:
        """The number of progressive mistakes: examples predicted wrongly just before they were learned from."""
        return int(self._fitted_state("n_mistakes_").tally[:, MISTAKES].sum())

    @property
    def progressive_(self) -> Tally:
        """Progressive results: examples and mistakes of each class, each predicted before it was learned from."""
        tally = self._fitted_state("progressive_").tally[: len(self.classes_)]
        return Tally(self.classes_, tally[:, SEEN], tally[:, MISTAKES])

    @asks
    def progressive_measures(self) -> dict[str, Any]:
        tally = self.progressive_
        return {
            "mistakes": self.n_mistakes_,
            "error": tally.error,
            "balanced_accuracy": tally.balanced_accuracy,
        }
