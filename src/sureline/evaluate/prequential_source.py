"""The stream that `prequential` is given, wherever its rows are, as batches that can be cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .._inputs import Array, checked_sample_weight, class_indices, is_sparse, sorted_classes
from ..models.rows import trusted
from ..stream import Chunk, read
from ..stream.arrays import Batch, pair_or_triple


@dataclass(frozen=True, eq=False)
class Source:
    """Batches, to be gone through once, and what is known of them before.

    Attributes
    ----------
    n_rows : int or None
        How many rows there are in all; None if that is not known.
    classes : array or None
        All classes, sorted; None if they are not known.
    named : bool
        Whether it was the caller who named them.
    one_width : bool
        Whether all batches have to be of the same width.
    """

    batches: Iterator[Batch]
    n_rows: int | None
    classes: Array | None
    named: bool
    one_width: bool


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
        y = np.asarray(labels)
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
    known = sorted_classes(np.asarray(classes).reshape(-1))
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
