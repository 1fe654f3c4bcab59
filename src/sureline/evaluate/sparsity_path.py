"""One learner with many strengths of its l1 penalty, in one pass over the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets

from .._inputs import checked_sample_weight, exact_labels, is_integer, refuse_unfit, rows_between, sorted_classes
from .._system import cores, threads
from ..estimators.online import OnlineClassifier
from ..metrics import tally
from ..stream.arrays import Batch, pair_or_triple
from .sparsity_path_result import SparsityPath

# Nonzeros of a chunk: few enough for the cache while all models learn, and enough to make the cost of a call small.
_NONZEROS_PER_CHUNK = 2**21


def sparsity_path(
    estimator: Any,
    X: Any,
    y: Any = None,
    lams: Any = (),
    *,
    parameter: str | None = None,
    X_test: Any = None,
    y_test: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
    chunk: int | None = None,
    n_jobs: int | None = None,
    keep_models: bool = False,
) -> SparsityPath:
    """Train a learner with several strengths of its l1 penalty, in one pass over the data.

    All models learn from a chunk of rows, on several threads, before the next chunk is read. So the data are read once,
    and may be a stream larger than memory. Each model is bit-identical to one trained alone. All models are in memory
    together.

    Parameters
    ----------
    estimator : estimator of sureline
        The learner with its other parameters. It is cloned and stays as it is.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of batches
        The rows. If y is None, an iterable of pairs (X, y) or triples (X, y, sample_weight), gone through once.
    y : array-like of shape (n_samples,), default=None
        The labels, if X is not an iterable of batches.
    lams : array-like of shape (n_lams,)
        The values of the parameter.
    parameter : str, default=None
        The parameter to vary. If None it is "lam", or "l1" where the learner has no "lam".
    X_test, y_test : default=None
        A test set for the trained models.
    classes : array-like, default=None
        All classes. Needed if X is an iterable of batches, unless the estimator is `growing`.
    sample_weight : array-like of shape (n_samples,), default=None
        As for `partial_fit`.
    chunk : int, default=None
        Rows that are handed to all models at a time; as many as have about two million nonzeros if None. The result
        does not depend on it.
    n_jobs : int, default=None
        Number of threads; as many as there are processors if None or -1.
    keep_models : bool, default=False
        Keep the trained models in the result.

    Returns
    -------
    SparsityPath

    Examples
    --------
    >>> from sureline import SSOL, sparsity_path
    >>> from sureline.datasets import make_sparse_gaussian
    >>> X, y = make_sparse_gaussian(3000, random_state=0)
    >>> path = sparsity_path(SSOL(), X[:2000], y[:2000], [0, 1, 10], X_test=X[2000:], y_test=y[2000:])
    >>> path.sparsity.shape, path.test_error.shape
    ((3,), (3,))
    """
    parameter = _checked_parameter(estimator, parameter)
    lams = _checked_lams(lams)
    _check_integer("chunk", chunk)
    _check_integer("n_jobs", n_jobs, or_else=-1)
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be given together.")
    if X_test is not None:
        X_test = _sliceable(X_test)
        check_consistent_length(X_test, y_test)
    if y is None:
        _check_stream(X, classes, sample_weight, estimator)
        parts: Iterator[tuple[Batch, str]] = chain.from_iterable(
            _parts(batch, chunk, f"batch {number}") for number, batch in enumerate(X)
        )
    else:
        y = np.asarray(exact_labels(y))
        check_classification_targets(y)
        classes = sorted_classes(y) if classes is None else classes
        parts = _parts((X, y, sample_weight), chunk, "X")

    models = [clone(estimator).set_params(**{parameter: lam}) for lam in lams]
    n_threads = cores() if n_jobs in (None, -1) else n_jobs
    tests = None
    with threads(min(n_threads, len(models))) as pool:
        n_parts = 0
        for n_parts, (part, origin) in enumerate(parts, start=1):
            _learn(pool, models, part, origin, classes)
            if n_parts == 1 and X_test is not None:
                models[0].predict(rows_between(X_test, 0, 1))  # refuses unsuitable test data now, not after the pass
        if n_parts == 0:
            raise ValueError("X must have at least one batch. Got none.")
        if X_test is not None:
            tests = tuple(pool.map(lambda model: tally(y_test, model.predict(X_test)), models))
    return SparsityPath(
        estimator=type(estimator).__name__,
        parameter=parameter,
        lams=np.array(lams, np.float64),
        sparsity=np.array([model.sparsity_ for model in models], np.float64),
        nonzero=np.array([model.nonzero_ for model in models], np.int64),
        progressive=tuple(model.progressive_ for model in models),
        tests=tests,
        models=tuple(models) if keep_models else None,
    )


def _parts(batch: Any, n_rows: int | None, source: str) -> Iterator[tuple[Batch, str]]:
    """Cut a batch (X, y) or (X, y, sample_weight) into parts of that many rows, or of about equally many nonzeros.

    Each comes with the place of its first row.
    """
    X, y, sample_weight = pair_or_triple(batch, source)
    X, y = _sliceable(X), np.asarray(exact_labels(y))
    check_consistent_length(X, y)
    whole = Batch(X, y, checked_sample_weight(sample_weight, len(y)))
    if n_rows is None:
        nonzeros = X.nnz if sparse.issparse(X) else np.prod(X.shape)
        n_rows = max(1, int(_NONZEROS_PER_CHUNK / max(nonzeros, 1) * len(y)))
    for start in range(0, max(len(y), 1), n_rows):
        yield whole.part(start, min(start + n_rows, len(y))), f"row {start} of {source}"


def _sliceable(X: Any) -> Any:
    """X in a form that `rows_between` can slice: CSR if it is sparse."""
    if sparse.issparse(X):
        refuse_unfit(X)
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def _learn(pool: ThreadPoolExecutor, models: list[Any], batch: Batch, origin: str, classes: Any) -> None:
    """Hand the batch to all models, on several threads."""

    def learn(model: Any) -> None:
        model.partial_fit(batch.X, batch.y, classes=classes, sample_weight=batch.weight)

    try:
        list(pool.map(learn, models))
    except ValueError as error:
        if "row" not in str(error) or origin == "row 0 of X":
            raise
        raise ValueError(f"{error} Rows are counted from {origin}.") from None


def _checked_parameter(estimator: Any, parameter: str | None) -> str:
    if not isinstance(estimator, OnlineClassifier):
        raise ValueError(f"estimator must be an estimator of sureline, such as SSOL(). Got {estimator!r} instead.")
    name, parameters = type(estimator).__name__, estimator.get_params()
    if parameter is None:
        parameter = "lam" if "lam" in parameters else "l1"
        if parameter not in parameters:
            raise ValueError(f"{name} has neither a parameter 'lam' nor 'l1': it has no l1 penalty to vary.")
    elif parameter not in parameters:
        raise ValueError(f"{name} has no parameter {parameter!r}. It has {', '.join(parameters)}.")
    if parameter != "max_nonzero" and parameters.get("max_nonzero") is not None:
        raise ValueError(
            f"max_nonzero={parameters['max_nonzero']!r} of {name} takes the place of {parameter!r}. Set it to None, "
            "or vary it with parameter='max_nonzero'."
        )
    if parameters["passes"] != 1 or parameters["shuffle"] is True:
        raise ValueError(
            f"The path is made in one pass and in the order of the rows: {name} must have passes=1, shuffle=False."
        )
    return parameter


def _checked_lams(lams: Any) -> list[float]:
    values = np.asarray(lams)
    if values.ndim != 1 or values.dtype.kind not in "iuf" or len(values) == 0:
        raise ValueError(f"lams must be one or more numbers. Got {lams!r} instead.")
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise ValueError(f"lams must be finite and not negative. Got {values[bad].tolist()[0]!r} among them.")
    checked: list[float] = values.tolist()
    return checked


def _check_integer(name: str, value: Any, or_else: int | None = None) -> None:
    if value is not None and not (is_integer(value) and (value >= 1 or value == or_else)):
        others = "None" if or_else is None else f"None, {or_else}"
        raise ValueError(f"{name} must be {others} or an integer of at least 1. Got {value!r} instead.")


def _check_stream(batches: Any, classes: Any, sample_weight: Any, estimator: Any) -> None:
    if not isinstance(batches, Iterable) or hasattr(batches, "shape"):
        raise ValueError(f"Without y, X must be an iterable of batches (X, y). Got a {type(batches).__name__} instead.")
    if sample_weight is not None:
        raise ValueError("With an iterable of batches, sample_weight is the third of each: (X, y, sample_weight).")
    if classes is None and not estimator.growing:
        raise ValueError("With an iterable of batches, classes must name all classes, unless growing=True.")
