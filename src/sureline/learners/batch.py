"""A learner that takes its rows in batches, without scikit-learn."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

import numpy as np
import numpy.typing as npt

from .._inputs import Array, Floats, Labels, is_sparse
from .._native import _core
from ..models.model import Model
from ..models.numbers import SEEN, Policy, Shape
from ..models.record import ROWS
from ..models.rows import UnsortedColumns, as_rows, owned, tidy, widened, with_own_columns, without_columns_beyond
from ..models.scaling import Normalizer
from ..models.state import State
from .class_weight import Weighing, row_weights
from .learner import ClassLearner
from .parameters import AutoFlag
from .sharding import Sharding

Weights = npt.NDArray[np.float64] | None


class BatchModel(Model, Protocol):
    """The model of a batch learner. It is immutable: each batch makes a new one."""

    record: Floats

    def grown(self, n_columns: int, n_classes: int, policy: Policy) -> Self:
        """The model with at least that many columns and classes; itself if it has them."""


class LinearBatchModel(BatchModel, Protocol):
    """A model whose scores are sums over the columns."""

    def scores(self, X: Any) -> Floats:
        """w.x for every row and head; X is an array or CSR, with no more columns than the model."""

    def variances(self, X: Any) -> Floats:
        """x'Sx for every row and head."""

    def variances_beyond(self, squares: Floats) -> Floats:
        """The variance that columns outside the model add to rows with these sums of squares in them."""


@dataclass(eq=False, repr=False, kw_only=True)
class BatchLearner(ClassLearner):
    """Base of the learners that see a batch at a time: its rows in their order, but all of them before the first step.

    A subclass defines the initial state, and the state after a batch.
    """

    shuffle: bool | str = AutoFlag().default("auto")
    random_state: Any = None

    # Predictions are recorded while a batch is learned from, each before its label. Otherwise a whole batch is
    # predicted before it is learned from; the first batch has no predictions.
    records_rows: ClassVar[bool] = False
    by_rows: ClassVar[bool] = False  # each row is predicted by the model of all rows before it

    if TYPE_CHECKING:
        _state: BatchModel = field(init=False)

    @abstractmethod
    def fresh_state(self, n_columns: int, n_classes: int) -> BatchModel: ...

    @abstractmethod
    def _after(self, state: Any, X: Any, labels: Labels, weight: Weights, own: Weights) -> BatchModel:
        """The state after a batch; the given state is not changed.

        `weight` is the row weight times the class weight; `own` predicts for the record.

        X is an array of float32 or float64 in C order, or CSR with ascending columns, already checked. It has the
        columns of the state. Raises ValueError if no state fits.
        """

    def begin(self, classes: Array, n_columns: int = 0) -> None:
        self.check_parameters()
        if len(classes) == 0:
            self._refuse_unnamed_classes()
        self.refuse_classes(len(classes))
        self.classes_ = classes
        self._state = self.fresh_state(n_columns, len(classes))
        self._normalizer = self.fresh_normalizer()
        self.n_features_in_ = n_columns

    @property
    def sharding(self) -> Sharding | None:
        """How it learns from a shard of a stream; None if what shards have learned cannot be merged."""
        return None

    def add_labels(self, classes: Array) -> None:
        """Make room for these classes, the first of which are those that it has."""
        self.refuse_classes(len(classes))
        self._state = self._state.grown(self._state.n_columns, len(classes), self._policy())
        self.classes_ = classes

    def take_batch(self, X: Any, labels: Labels, weight: Weights = None, weighing: Weighing | None = None) -> None:
        """Learn from the rows of X, an array or CSR.

        The model grows if there are new columns or classes. `weighing` has the class weights, if `labels` are not yet
        those of the model. A refused batch leaves the model as it was.
        """
        X = self._own(X)
        n_classes = max(int(labels.max(initial=-1)) + 1, len(self.classes_))
        self.refuse_classes(n_classes)
        self._refuse_state(self._state)
        state, normalizer = self._state.grown(X.shape[1], n_classes, self._policy()), self._normalizer.copy()
        own, counts = weight, state.tally[:, SEEN]
        weight = row_weights(weighing or self.weighing(n_classes), counts, labels, own, whole=True)
        if weight is not None and not weight.all():  # like a batch without those rows
            come = weight > 0
            X, labels, weight, own = X[come], labels[come], weight[come], None if own is None else own[come]
        if len(labels):
            record = None if self.records_rows else self._recorded(X, labels, own, n_classes)
            state, normalizer = self._learned(state, normalizer, X, labels, weight, own)
            if record is not None:
                state.record = record
        self._state, self._normalizer = state, normalizer
        self.n_features_in_ = state.n_columns

    def _own(self, X: Any) -> Any:
        """The rows of a batch as `_learned` wants them, in memory that no other thread can change."""
        return self._checked(with_own_columns(X) if self._normalizer.core is not None else owned(X))

    def _learned(
        self, state: Any, normalizer: Normalizer, X: Any, labels: Labels, weight: Weights, own: Weights
    ) -> tuple[BatchModel, Normalizer]:
        """The state and the normalizer after a batch. May change the normalizer, but not the state."""
        X = widened(normalizer.learn_all(X), state.n_columns)
        return self._after(state, X, labels, weight, own), normalizer

    def _recorded(self, X: Any, labels: Labels, weight: npt.NDArray[np.float64] | None, n_classes: int) -> Floats:
        """The record, with the predictions of a batch that is about to be learned."""
        state = self._state.grown(X.shape[1], n_classes, self._policy())
        record = state.record.copy()
        if state.tally.any():
            before, self._state = self._state, state
            try:
                scores, variances = self.judge(X, variances=self.has_variances)
            finally:
                self._state = before
            _core.put_on_record(record, scores, variances, labels, weight)
        else:
            record[ROWS] += len(labels)
        return record

    def _checked(self, X: Any) -> Any:
        """X as `_after` wants it."""
        return checked_rows(X)

    def judge_rows(self, values: Array, indices: Array, indptr: Array, n_columns: int) -> tuple[Floats, Floats | None]:
        from scipy.sparse import csr_matrix

        X = csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, n_columns))
        return self.judge(X, variances=self.has_variances)

    def judge(self, X: Any, *, variances: bool) -> tuple[Floats, Floats | None]:
        """Scores of checked rows, and their variances if wanted; one column per head."""
        state = cast(LinearBatchModel, self._fitted_state("scores"))
        X, beyond = self._normalizer.apply(X), None
        if X.shape[1] > state.n_columns:
            X, beyond = without_columns_beyond(X, state.n_columns)
        X = widened(X, state.n_columns)
        scores = state.scores(X)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores).all(axis=1)))
            raise ValueError(
                f"Row {row} of X has a score beyond float64; scale X so that its values are of the order of 1."
            )
        if not variances:
            return scores, None
        v = state.variances(X)
        return scores, v if beyond is None else v + state.variances_beyond(beyond)

    @property
    def model(self) -> BatchModel:
        return self._fitted_state("model")

    def _fitted_state(self, attribute: str) -> BatchModel:
        super()._fitted_state(attribute)
        return self._state


def checked_rows(X: Any) -> Any:
    """X, or a tidied copy if the columns of some row do not ascend. ValueError if SciPy or BLAS must not see it."""
    if not is_sparse(X):
        with np.errstate(all="ignore"):  # a finite sum is the quickest proof that all values are finite
            if np.isfinite(X.sum()):
                return X
    try:
        # The core's loops check every row and describe the fault.
        State(Shape.identity, X.dtype, X.shape[1], False).scores(as_rows(X, X.dtype))
    except UnsortedColumns:
        return checked_rows(tidy(X))
    return X
