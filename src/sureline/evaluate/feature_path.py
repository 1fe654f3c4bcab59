"""Several selectors of features at several numbers of them: accuracy, time and stability."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._inputs import Ints, is_integer, is_number
from ..metrics import tally
from ..models.rows import trusted
from ..models.tables import Tabular, text_of_rows
from .agreement import jaccard, stability
from .charts import Axis, Chart, Panels, Series
from .names import named

if TYPE_CHECKING:
    import altair

_FORMATS = {"selector": "{}", "n_features": "{:,}", "n_selected": "{:,}", "seconds": "{:.3g}"}


@dataclass(frozen=True, eq=False)
class PathPoint:
    """The results of one selector with one number of features.

    Attributes
    ----------
    selector : str
        Its name.
    n_features : int
        How many features it was asked for.
    n_selected : int
        How many it selected.
    accuracy, balanced_accuracy : float
        Of its own predictions on the test set; balanced is the mean of the recalls of the classes.
    seconds : float
        How long it took to fit.
    columns : array of shape (n_selected,)
        The features, ascending.
    jaccard, stability : float or None
        How alike the sets are that it selects from resampled rows: see `sureline.selection.jaccard` and
        `sureline.selection.stability`. None without resamples.
    """

    selector: str
    n_features: int
    n_selected: int
    accuracy: float
    balanced_accuracy: float
    seconds: float
    columns: Ints
    jaccard: float | None = None
    stability: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class FeaturePath(Tabular):
    """The result of `feature_path`.

    Attributes
    ----------
    points : tuple of PathPoint
        Each selector with each number of features.
    n_train, n_test, n_columns : int
        Rows for training and for testing, and columns.
    resamples : int
        How many resamples there were for the stability.
    """

    points: tuple[PathPoint, ...]
    n_train: int
    n_test: int
    n_columns: int
    resamples: int = 0

    @property
    def selectors(self) -> list[str]:
        """Names of the selectors, in the order given."""
        return list(dict.fromkeys(point.selector for point in self.points))

    def of(self, selector: str) -> list[PathPoint]:
        """The points of one selector, by the number of features."""
        if selector not in self.selectors:
            raise KeyError(f"There is no selector {selector!r} here, but {', '.join(map(repr, self.selectors))}.")
        return [point for point in self.points if point.selector == selector]

    def selected(self, selector: str, n_features: int) -> Ints:
        """The columns that a selector chose when it was asked for that many."""
        for point in self.of(selector):
            if point.n_features == n_features:
                return point.columns
        counts = ", ".join(str(point.n_features) for point in self.of(selector))
        raise KeyError(f"{selector} was not asked for {n_features} features here, but for {counts}.")

    def table(self) -> list[dict[str, Any]]:
        """A row for each point, without the columns that were selected."""
        left_out = {"columns"} if self.resamples else {"columns", "jaccard", "stability"}
        return [{name: value for name, value in asdict(p).items() if name not in left_out} for p in self.points]

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns of the table, as ``pandas.DataFrame`` takes them."""
        rows = self.table()
        return {name: [row[name] for row in rows] for name in rows[0]}

    def __repr__(self) -> str:
        heading = f"FeaturePath of {self.n_train:,} rows and {self.n_columns:,} columns, tested on {self.n_test:,} rows"
        if self.resamples:
            heading += f", resampled {self.resamples} times"
        return f"{heading}\n{text_of_rows(self.table(), _FORMATS)}"

    def plot(self, *, metric: str = "accuracy", title: str | None = None) -> altair.HConcatChart:
        """Draw accuracy and training time against the number of features, and the stability if there is one.

        Needs Altair. The time axis is logarithmic. So is the axis of features if the largest number is more than 20
        times the smallest.

        Parameters
        ----------
        metric : {"accuracy", "balanced_accuracy"}, default="accuracy"
            What the first panel shows.
        title : str, default=None
            Above the panels.

        Returns
        -------
        altair.HConcatChart
            Save it with ``chart.save("path.png")``.
        """
        if metric not in ("accuracy", "balanced_accuracy"):
            raise ValueError(f"metric must be 'accuracy' or 'balanced_accuracy'. Got {metric!r} instead.")
        counts = sorted({point.n_features for point in self.points})
        x = Axis("number of features", log=counts[-1] > 20 * counts[0], whole=True)
        panels = [(metric, Axis(f"{metric.replace('_', ' ')} on the test set", percent=True))]
        panels += [("seconds", Axis("training time", log=True, seconds=True))]
        if self.resamples:
            panels += [("stability", Axis("stability of the selected features"))]
        charts = [
            Chart(
                "",
                x,
                y,
                [
                    Series(selector, [p.n_features for p in points], [getattr(p, name) for p in points], i)
                    for i, (selector, points) in enumerate((each, self.of(each)) for each in self.selectors)
                ],
            )
            for name, y in panels
        ]
        made: altair.HConcatChart = Panels(title or "", charts, [360] * len(charts)).draw()
        return made


def feature_path(
    selectors: Any,
    X: Any,
    y: Any,
    counts: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    test_size: float = 0.25,
    resamples: int = 0,
    random_state: Any = None,
    progress: Callable[[str], Any] | None = None,
) -> FeaturePath:
    """Compare selectors at several numbers of features: accuracy, time and stability.

    Each selector is cloned, asked for each number of features, fitted on the training rows and judged by its own
    predictions on the test rows, as in figure 1 of "Learning sparse confidence-weighted classifier on very high
    dimensional data". One fit runs at a time, so that the times can be compared.

    Parameters
    ----------
    selectors : estimator, list of estimators, or dict of names to estimators
        Classifiers with a parameter ``n_features`` and with ``get_support``. In a list each is named by its class.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The labels.
    counts : array-like of int
        The numbers of features to ask for.
    X_test, y_test : default=None
        A test set. Without one a part of X is put aside.
    test_size : float, default=0.25
        How large that part is; every class has its share in it.
    resamples : int, default=0
        For the stability of the selected features: fit everything this many times more, at least 2, on bootstrap
        samples of the training rows (as many rows, drawn with replacement within each class).
    random_state : int, RandomState instance or None, default=None
        For the test rows and the resamples. All selectors get the same ones.
    progress : callable, default=None
        Called with a line of text after each fit: `print`, for instance.

    Returns
    -------
    FeaturePath

    Examples
    --------
    >>> from sureline import L1SVM, SparseDCA, feature_path
    >>> from sureline.datasets import make_correlated_groups
    >>> X, y, relevant = make_correlated_groups(800, 2000, n_relevant=20, n_decoys=0, random_state=0)
    >>> path = feature_path([L1SVM(random_state=0), SparseDCA(random_state=0)], X, y, [5, 20], random_state=0)
    >>> path.selectors, [point.n_selected for point in path.points]
    (['L1SVM', 'SparseDCA'], [5, 20, 5, 20])
    >>> len(path.selected("SparseDCA", 20))
    20
    """
    by_name = _checked_selectors(selectors)
    resamples = _checked_resamples(resamples)
    X, y = _checked_rows(X, y, "X", "y")
    counts = _checked_counts(counts, X.shape[1])
    rng = check_random_state(random_state)
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be given together.")
    if X_test is None:
        train, test = _split(y, test_size, rng)
        X, X_test, y, y_test = X[train], X[test], y[train], y[test]
    else:
        X_test, y_test = _checked_rows(X_test, y_test, "X_test", "y_test")
        if X_test.shape[1] != X.shape[1]:
            raise ValueError(f"X_test must have as many columns as X, {X.shape[1]}. Got {X_test.shape[1]} instead.")
    report = progress or (lambda line: None)

    points = []
    for name, selector in by_name.items():
        for count in counts:
            model, seconds = _fitted(name, selector, count, X, y)
            with _naming(name, count):
                columns = _support(model, X.shape[1])
                judged = tally(y_test, model.predict(X_test))
            point = PathPoint(name, count, len(columns), 1 - judged.error, judged.balanced_accuracy, seconds, columns)
            report(f"{name}, {len(columns):,} features: accuracy {point.accuracy:.4f}, {seconds:.3g} s")
            points.append(point)

    if resamples:
        sets: list[list[Ints]] = [[] for _ in points]
        for number in range(1, resamples + 1):
            rows = _bootstrap(y, rng)
            X_again, y_again = X[rows], y[rows]
            for chosen, point in zip(sets, points, strict=True):
                name, count = point.selector, point.n_features
                model, seconds = _fitted(name, by_name[name], count, X_again, y_again)
                with _naming(name, count):
                    chosen.append(_support(model, X.shape[1]))
                report(f"{name}, {count:,} features, resample {number} of {resamples}: {seconds:.3g} s")
        points = [
            replace(point, jaccard=jaccard(chosen), stability=stability(chosen, X.shape[1]))
            for chosen, point in zip(sets, points, strict=True)
        ]
    return FeaturePath(tuple(points), X.shape[0], X_test.shape[0], X.shape[1], resamples)


def _fitted(name: str, selector: Any, count: int, X: Any, y: Any) -> tuple[Any, float]:
    """A fitted clone, and how long the fit took."""
    with _naming(name, count):
        model = clone(selector).set_params(n_features=count)
        begin = time.perf_counter()
        model.fit(X, y)
        return model, time.perf_counter() - begin


def _support(model: Any, n_columns: int) -> Ints:
    columns: Ints = np.unique(np.asarray(model.get_support(indices=True), np.int64))
    if len(columns) and not 0 <= columns[0] <= columns[-1] < n_columns:
        raise ValueError("get_support names columns that X does not have.")
    return columns


@contextmanager
def _naming(name: str, count: int) -> Iterator[None]:
    """Errors in this block name the selector."""
    try:
        yield
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"The selector {name!r} failed with n_features={count}: {error}") from error


def _split(y: Any, test_size: Any, rng: Any) -> tuple[Ints, Ints]:
    """The rows for training and for testing, both ascending."""
    if not is_number(test_size) or not 0 < float(test_size) < 1:
        raise ValueError(f"test_size must be a number between 0 and 1. Got {test_size!r} instead.")
    try:
        train, test = train_test_split(np.arange(len(y)), test_size=float(test_size), random_state=rng, stratify=y)
    except ValueError as error:
        raise ValueError(f"X cannot be split for testing, so give X_test and y_test: {error}") from None
    return np.sort(train), np.sort(test)


def _bootstrap(y: Any, rng: Any) -> Ints:
    """A stratified bootstrap sample of the rows, ascending."""
    codes = np.unique(y, return_inverse=True)[1]
    drawn = []
    for code in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == code)
        drawn.append(rng.choice(rows, len(rows)))
    return np.sort(np.concatenate(drawn))


def _checked_selectors(selectors: Any) -> dict[str, Any]:
    if hasattr(selectors, "get_params"):
        selectors = [selectors]
    if not isinstance(selectors, Mapping | list | tuple):
        raise ValueError(f"selectors must be a list of estimators or a dict of names to them. Got {selectors!r}.")
    found = named(
        selectors,
        lambda selector, _: type(selector).__name__,
        "Two of the selectors are of the same class: give them names, as in "
        '{{"C = 1": SBCW(C=1.0), "C = 10": SBCW(C=10.0)}}.',
    )
    if not found:
        raise ValueError("selectors must name at least one selector. Got none.")
    for name, selector in found.items():
        if isinstance(selector, type) or not hasattr(selector, "get_params"):
            raise ValueError(f"The selector {name!r} must be an estimator, such as SparseDCA(). Got {selector!r}.")
        if "n_features" not in selector.get_params(deep=False):
            raise ValueError(f"The selector {name!r}, a {type(selector).__name__}, has no parameter 'n_features'.")
        for method in ("fit", "predict", "get_support"):
            if not hasattr(selector, method):
                raise ValueError(f"The selector {name!r}, a {type(selector).__name__}, has no method {method!r}.")
    return found


def _checked_rows(X: Any, y: Any, X_name: str, y_name: str) -> tuple[Any, Any]:
    if y is None:
        raise ValueError(f"{y_name} must be the labels of the rows of {X_name}. Got None.")
    try:
        X = trusted(X)
    except ValueError as error:
        raise ValueError(str(error).replace("Input X ", f"Input {X_name} ", 1)) from None
    X = check_array(
        X,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,  # left to the selectors
        input_name=X_name,
    )
    y = column_or_1d(y)
    check_consistent_length(X, y)
    check_classification_targets(y)
    return X, y


def _checked_counts(counts: Any, n_columns: int) -> list[int]:
    values = list(counts) if isinstance(counts, Iterable) else [counts]
    for count in values:
        if not is_integer(count) or count < 1:
            raise ValueError(f"counts must be integers of at least 1. Got {count!r} among them.")
        if int(count) > n_columns:
            raise ValueError(f"counts must be at most the number of columns, {n_columns}. Got {count} among them.")
    if not values:
        raise ValueError("counts must have at least one number of features. Got none.")
    return sorted({int(count) for count in values})


def _checked_resamples(resamples: Any) -> int:
    if not is_integer(resamples) or resamples < 0 or resamples == 1:
        raise ValueError(f"resamples must be 0 or an integer of at least 2. Got {resamples!r} instead.")
    return int(resamples)
