"""scikit-learn's checks of input, and common steps of every call that learns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils import check_array, check_random_state, check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from .._inputs import Floats, Labels, checked_sample_weight, exact_labels, is_sparse, refuse_unfit
from ..learners.explanation import Explainer, Explanation
from ..learners.guarded import teaching
from ..learners.learner import Learner
from ..learners.regression import TargetLearner
from ..models.device.cuda import cuda_space
from ..models.device.exchange import as_cupy, device_of, is_on_device
from ..models.device.rows import DeviceRows
from ..models.rows import UnsortedColumns, tidy
from ..stream import Chunk
from ..stream.formats.frames import is_frame
from ..stream.runs import LabelRuns, LabelRunsWarning

Result = TypeVar("Result")


def read_examples(estimator: Learner, X: Any) -> tuple[Any, Chunk | None]:
    """X as a matrix, and its chunk, if it holds texts, lines or dicts as the stream of the model had them."""
    origin = estimator.origin
    if not origin.options or not estimator.has_begun or is_sparse(X):
        return X, None
    if origin.of_table and is_frame(X):
        chunk = origin.frame_chunk(X, estimator.model.dtype)
        return chunk.X, chunk
    if hasattr(X, "to_dicts"):  # of Polars
        examples = X.to_dicts()
    elif hasattr(X, "columns") and hasattr(X, "to_dict"):  # of pandas
        examples = [{k: v for k, v in row.items() if v == v} for row in X.to_dict("records")]
    else:
        examples = X.tolist() if hasattr(X, "tolist") and getattr(X, "ndim", 0) == 1 else X
    if not isinstance(examples, list | tuple) or not examples or not all(map(origin.reads, examples)):
        return X, None
    chunk = origin.chunk(examples, estimator.model.dtype)
    return chunk.X, chunk


def validated(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = False) -> Any:
    """X (and y) as arrays, by scikit-learn's rules, except that the values of X are left to the core's check."""
    refuse_missing(estimator, y)
    if not reset and isinstance(estimator, Learner):
        X, _ = read_examples(estimator, X)
    if is_on_device(X) and getattr(estimator, "device", None) is not None:
        return _validated_there(estimator, X, y, reset=reset)
    refuse_unfit(X)
    y = exact_labels(y)
    options: dict[str, Any] = {
        "accept_sparse": "csr",
        "accept_large_sparse": True,
        "dtype": [np.float64, np.float32],
        "order": "C",
        "ensure_all_finite": False,
        "reset": reset,
    }
    if getattr(estimator, "growing", False) or (not reset and _numbered(estimator)):
        # Any width is welcome, and no name is compared.
        del options["reset"]
        checked = check_array(X, **options) if isinstance(y, str) else check_X_y(X, y, **options)
    else:
        checked = validate_data(estimator, X, y, **options)
    if isinstance(y, str):
        return checked
    X, y = checked
    return X, np.array(y)  # a copy, so that no other thread can change it after the check


def _validated_there(estimator: Any, X: Any, y: Any, *, reset: bool) -> Any:
    """The same for X on a device, by an array of the same shape and dtype that takes no memory."""
    there = as_cupy(X)
    like = np.broadcast_to(np.zeros((), there.dtype), there.shape) if there.ndim == 2 else there.get()
    options: dict[str, Any] = {"dtype": "numeric", "ensure_all_finite": False, "reset": reset}
    if getattr(estimator, "growing", False) or (not reset and _numbered(estimator)):
        del options["reset"]
        checked = check_array(like, **options) if isinstance(y, str) else check_X_y(like, exact_labels(y), **options)
    else:
        checked = validate_data(estimator, like, exact_labels(y), **options)
    rows = DeviceRows(cuda_space(device_of(X)), there)
    return rows if isinstance(y, str) else (rows, np.array(checked[1]))


def _numbered(estimator: Any) -> bool:
    """True for models of LIBSVM text, whose files are as wide as their largest column."""
    return isinstance(estimator, Learner) and estimator.origin.numbered


def refuse_missing(estimator: Any, y: Any) -> None:
    """Raise ValueError if y is missing."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")


@contextmanager
def all_or_nothing(estimator: Learner) -> Iterator[None]:
    """Have the model for oneself, and leave it as it was if the input is refused, or the call interrupted."""
    with teaching(estimator):
        before = estimator.__dict__.copy()
        normalizer, state = estimator.normalizer, before.get("_state")
        normalizer.commit()
        examples = None if state is None else state.tally.sum()
        try:
            yield
        except BaseException:
            estimator.__dict__ = before | estimator.parameters()  # other threads may set parameters meanwhile
            if state is None or state.tally.sum() == examples:  # else it came too late to stop anything
                normalizer.undo()
            raise


def shuffles(learner: Any, labels: Labels, *, depth: int = 0) -> Any:
    """The generator for the random order of rows in `fit`; None for the given order.

    `depth` is how many functions are between this one and `fit`.
    """
    if isinstance(learner.shuffle, str):
        runs = LabelRuns.of(labels)
        if not runs.found:
            return None
        what = "The target crosses its median" if isinstance(learner, TargetLearner) else "The label changes"
        warnings.warn(
            f"{runs.in_words(what)}. A pass over them ends with the last ones alone, so {type(learner).__name__} takes "
            "them in random order. shuffle=True does so without this warning, and shuffle=False never.",
            LabelRunsWarning,
            stacklevel=3 + depth,
        )
        return check_random_state(0 if learner.random_state is None else learner.random_state)
    return check_random_state(learner.random_state) if learner.shuffle else None


def weights_to_fit(sample_weight: Any, n_rows: int) -> Floats | None:
    """Checked sample weights for `fit`."""
    weight = checked_sample_weight(sample_weight, n_rows)
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is zero for every row, which leaves nothing to learn from.")
    return weight


def with_sparse_input(tags: Any) -> Any:
    """scikit-learn's tags of an estimator that takes sparse matrices."""
    tags.input_tags.sparse = True
    return tags


def with_columns_in_order(X: Any, use: Callable[[Any], Result]) -> Result:
    """use(X), once more with tidied rows if it turns out that the columns of some row do not ascend."""
    try:
        return use(X)
    except UnsortedColumns:
        return use(tidy(X))


def explained(estimator: Learner, X: Any, n: int | None) -> list[Explanation]:
    """An explanation of the answer to each row of X."""
    check_is_fitted(estimator)
    chunk = read_examples(estimator, X)[1]
    rows = csr_matrix(validated(estimator, X) if chunk is None else chunk.X)
    rows.sort_indices()
    indices, indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    values = np.ascontiguousarray(rows.data, estimator.model.dtype)
    names = None if chunk is None else chunk.names
    return Explainer(estimator).explain(values, indices, indptr, rows.shape[1], n=n, names=names)
