"""The stream of `prequential` as batches that can be cut, and learners along it: predict, count, learn."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .._inputs import Array, checked_sample_weight, class_indices, exact_labels, is_sparse, sorted_classes
from ..learners.alarms import Rises
from ..learners.asking import Asking, certainty
from ..learners.batch import BatchLearner
from ..learners.learner import Learner
from ..learners.online import OnlineLearner, watch
from ..models.rows import trusted, widened
from ..stream import Chunk, read
from ..stream.arrays import Batch, pair_or_triple


@dataclass(frozen=True, eq=False)
class Source:
    """Batches to be read once, and what is known about them in advance."""

    batches: Iterator[Batch]
    n_rows: int | None  # in all, if known
    classes: Array | None  # sorted, if they are known
    named: bool  # whether it was the caller who named them
    one_width: bool  # whether all batches have to be of the same width


def source_of(stream: Any, classes: Any) -> Source:
    """The source behind the `stream` argument of `prequential`."""
    known = None if classes is None else _checked_classes(classes)
    if isinstance(stream, str | Path) or _is_list_of_paths(stream):
        stream = read(stream)
    if isinstance(stream, tuple) and len(stream) in (2, 3) and not isinstance(stream[0], tuple | Chunk):
        batch = _of_arrays(stream, "stream")
        if known is None:
            from sklearn.utils.multiclass import check_classification_targets

            check_classification_targets(batch.y)
            return Source(iter([batch]), len(batch), sorted_classes(batch.y), False, True)
        return Source(_with_labels_among(iter([batch]), known), len(batch), known, True, True)
    if not isinstance(stream, Iterable) or isinstance(stream, bytes) or hasattr(stream, "shape"):
        raise ValueError(
            "stream must be a pair (X, y), an iterable of such pairs, a path, or what sureline.stream.read returns. "
            f"Got a {type(stream).__name__} instead."
        )
    items = iter(stream)
    first = next(items, None)
    if first is None:
        raise ValueError("The stream has no examples.")
    batches = _batches(chain([first], items))
    if known is not None:
        batches = _with_labels_among(batches, known)
    return Source(batches, None, known, known is not None, not isinstance(first, Chunk))


def _is_list_of_paths(stream: Any) -> bool:
    return isinstance(stream, list | tuple) and len(stream) > 0 and all(isinstance(item, str | Path) for item in stream)


def _batches(items: Iterable[Any]) -> Iterator[Batch]:
    for number, item in enumerate(items):
        yield _of_chunk(item, number) if isinstance(item, Chunk) else _of_arrays(item, f"batch {number} of the stream")


def _of_chunk(chunk: Chunk, number: int) -> Batch:
    codes = chunk.labels[0]
    if len(codes) and codes.min() < 0:
        raise ValueError(f"Row {int(np.argmin(codes))} of chunk {number} of the stream has no label.")
    return _without_weight_zero(Batch(chunk.X, chunk.y, chunk.weights))


def _of_arrays(item: Any, where: str) -> Batch:
    X, labels, sample_weight = pair_or_triple(item, where)
    try:
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError(f"X must have two dimensions, rows and columns. Got the shape {X.shape}.")
        X = trusted(X)  # since SciPy, and some estimators, would go over the arrays of X as they are
        if is_sparse(X):
            X = X.tocsr()
        elif not hasattr(X, "iloc"):
            X = np.asarray(X)
        y = np.asarray(exact_labels(labels))
        if y.ndim != 1 or len(y) != X.shape[0]:
            raise ValueError(f"y must have one label a row. Got {X.shape[0]} rows and labels of shape {y.shape}.")
        return _without_weight_zero(Batch(X, y, checked_sample_weight(sample_weight, len(y))))
    except (ValueError, TypeError) as error:
        raise ValueError(f"In {where}: {error}") from None


def _without_weight_zero(batch: Batch) -> Batch:
    """A row of weight 0 is as if it had not come."""
    if batch.weight is None or batch.weight.all():
        return batch
    kept = batch.weight > 0
    return Batch(batch.X[kept], batch.y[kept], batch.weight[kept])


# -- labels --------------------------------------------------------------------------------------------------


def _checked_classes(classes: Any) -> Array:
    known = sorted_classes(np.asarray(exact_labels(classes)).reshape(-1))
    if len(known) < 2:
        raise ValueError(f"classes must name at least two classes. Got {classes!r} instead.")
    return known


def _with_labels_among(batches: Iterator[Batch], classes: Array) -> Iterator[Batch]:
    done = 0
    for batch in batches:
        try:
            unknown = class_indices(batch.y, classes) < 0
        except TypeError:  # labels that cannot be compared
            unknown = np.ones(len(batch), bool)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise ValueError(
                f"Row {done + row} of the stream has the label {batch.y[row : row + 1].tolist()[0]!r}, which is not "
                f"among classes={classes.tolist()}."
            )
        done += len(batch)
        yield batch


class Run(ABC):
    """A learner on its way through a stream; `seconds` is the time that it took."""

    def __init__(self, name: str, estimator: Any, source: Source) -> None:
        self.name = name
        self.model = deepcopy(estimator)
        self.seconds = 0.0
        self.rises = Rises()
        self.asking: Asking | None = None  # where it chooses the labels that it learns from
        begun = hasattr(self.model, "classes_")
        # To a model that has begun, classes that were only found in the labels are no news.
        self._classes = source.classes if source.named or not begun else None
        # Chunks of files are as wide as their largest column, and classes may appear later.
        opens = source.classes is None or not source.one_width
        self._to_close = opens and getattr(self.model, "growing", None) is False
        if self._to_close:
            self.model.growing = True
        self._one_width = source.one_width and self._to_close
        self._width: int | None = None

    def take(self, batch: Batch, start: int) -> int:
        """Number of mistakes on these rows, each predicted before it is learned from.

        `start` is the first row's number.
        """
        with self._at(start, start + len(batch)):
            if self._one_width and self._width not in (None, batch.X.shape[1]):
                raise ValueError(f"X has {batch.X.shape[1]} columns, and {self._width} in the rows before.")
            self._width = batch.X.shape[1]
            return self._take(batch)

    def finish(self, n_rows: int) -> None:
        """All rows have come."""
        watch(self.model, None)
        if self._to_close:
            self.model.growing = False

    @contextmanager
    def _at(self, start: int, stop: int) -> Iterator[None]:
        """Measure the time; errors name the learner and the rows."""
        begin = time.perf_counter()
        try:
            yield
        except (ValueError, TypeError, AttributeError) as error:
            which = f"row {start}" if stop - start == 1 else f"the rows from {start} to {stop - 1}"
            origin = f" Rows are counted from row {start}." if start and "row" in str(error).lower() else ""
            raise ValueError(f"The learner {self.name!r} failed on {which} of the stream: {error}{origin}") from error
        finally:
            self.seconds += time.perf_counter() - begin

    @abstractmethod
    def _take(self, batch: Batch) -> int: ...

    def _learn(self, X: Any, y: Any, weight: Any) -> None:
        more: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
        if self._classes is not None:
            more["classes"] = self._classes
        self.model.partial_fit(X, y, **more)
        self._classes = None


class CountingRun(Run):
    """A learner that counts its own mistakes before it learns; it gets all rows at once."""

    def _take(self, batch: Batch) -> int:
        before = getattr(self.model, "n_mistakes_", 0)  # absent before the first fit
        watch(self.model, self.rises)
        self._learn(batch.X, batch.y, batch.weight)
        mistakes: int = self.model.n_mistakes_ - before
        return mistakes


class AskingRun(Run):
    """A learner of sureline that learns from the labels that it asks for."""

    def __init__(self, name: str, estimator: Any, source: Source, asking: Asking) -> None:
        super().__init__(name, estimator, source)
        self.asking = asking

    def _take(self, batch: Batch) -> int:
        from ..estimators.asking import learn_asking  # brings scikit-learn along

        assert self.asking is not None
        wrong, _ = learn_asking(self.model, self.asking, batch.X, batch.y, self._classes, batch.weight)
        self._classes = None
        self.rises.add(wrong)
        return int(np.count_nonzero(wrong))


class PredictingRun(Run):
    """Any other classifier, or a batch learner: it predicts, then learns, `size` rows at a time."""

    def __init__(self, name: str, estimator: Any, source: Source, size: int, asking: Asking | None = None) -> None:
        super().__init__(name, estimator, source)
        self.asking = asking
        if source.classes is None and not hasattr(estimator, "classes_"):
            raise ValueError(f"classes must name all classes for the learner {name!r}, a {type(estimator).__name__}.")
        self._guess = None if self._classes is None else self._classes[0]  # by a model that knows nothing yet
        self._size = size
        self._waiting: list[Batch] = []
        self._n_waiting = 0

    def _take(self, batch: Batch) -> int:
        mistakes, start = 0, 0
        while start < len(batch):
            stop = min(len(batch), start + self._size - self._n_waiting)
            part = batch.part(start, stop)
            fitted = hasattr(self.model, "classes_")
            wrong = np.broadcast_to((self.model.predict(part.X) if fitted else self._guess) != part.y, len(part))
            mistakes += int(np.count_nonzero(wrong))
            self.rises.add(wrong)
            self._waiting.append(part if self.asking is None else self._asked(part, wrong, fitted))
            self._n_waiting += len(part)
            if self._n_waiting == self._size:
                self._learn_waiting()
            start = stop
        return mistakes

    def _asked(self, part: Batch, wrong: Any, fitted: bool) -> Batch:
        """The rows whose labels are asked for."""
        assert self.asking is not None
        sure = certainty_of(self.model, part.X) if fitted else np.zeros(len(part))
        asked = np.array([self.asking.next(float(u)) for u in sure])
        for row in np.flatnonzero(asked):
            self.asking.told(bool(wrong[row]), float(asked[row]))
        kept = asked > 0
        return Batch(part.X[kept], part.y[kept], None if part.weight is None else part.weight[kept])

    def finish(self, n_rows: int) -> None:
        if self._n_waiting:
            with self._at(n_rows - self._n_waiting, n_rows):
                self._learn_waiting()
        super().finish(n_rows)

    def _learn_waiting(self) -> None:
        batches, self._waiting, self._n_waiting = [batch for batch in self._waiting if len(batch)], [], 0
        if not batches:
            return
        weight = None
        if any(batch.weight is not None for batch in batches):
            weight = np.concatenate([np.ones(len(b)) if b.weight is None else b.weight for b in batches])
        self._learn(_stacked([b.X for b in batches]), np.concatenate([b.y for b in batches]), weight)


def certainty_of(model: Any, X: Any) -> Any:
    """The certainty of another library's classifier for each row: its margin, by scores or probabilities."""
    scores = np.asarray(model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X))
    return certainty(scores.reshape(len(scores), -1), None)


def _refuse_asking(name: str, estimator: Any) -> None:
    if isinstance(estimator, OnlineLearner):
        return
    if isinstance(estimator, Learner) or not (
        hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")
    ):
        raise ValueError(
            f"ask needs learners that take one row after the other and have scores: {name!r}, a "
            f"{type(estimator).__name__}, is none."
        )


def run_of(name: str, estimator: Any, source: Source, batch: int | None, asking: Asking | None = None) -> Run:
    if asking is not None:
        _refuse_asking(name, estimator)
        if isinstance(estimator, OnlineLearner):
            estimator.refuse_asking()
            return AskingRun(name, estimator, source, asking)
        return PredictingRun(name, estimator, source, batch or 1, asking)
    if isinstance(estimator, BatchLearner) and not estimator.by_rows:
        if batch is None:
            raise ValueError(
                f"The learner {name!r}, a {type(estimator).__name__}, learns from batches: batch must say of how many "
                "rows."
            )
        return PredictingRun(name, estimator, source, batch)
    if hasattr(type(estimator), "n_mistakes_"):
        return CountingRun(name, estimator, source)
    return PredictingRun(name, estimator, source, batch or 1)


def _stacked(blocks: list[Any]) -> Any:
    """The rows of all, as wide as the widest."""
    if len(blocks) == 1:
        return blocks[0]
    if all(hasattr(block, "iloc") for block in blocks):
        return sys.modules["pandas"].concat(blocks)
    width = max(block.shape[1] for block in blocks)
    blocks = [widened(block, width) for block in blocks]
    if not any(is_sparse(block) for block in blocks):
        return np.concatenate(blocks)
    from scipy.sparse import vstack

    return vstack(blocks, format="csr")
