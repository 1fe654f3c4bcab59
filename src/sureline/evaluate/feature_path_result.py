"""Accuracy, time and stability against the number of features, as a table and as a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .charts import Axis, Chart, Panels, Series
from .text_table import text_table

if TYPE_CHECKING:
    import altair

_FORMATS = {"selector": "{}", "n_features": "{:,}", "n_selected": "{:,}", "seconds": "{:.3g}"}


@dataclass(frozen=True, eq=False)
class PathPoint:
    """One selector with one number of features.

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
    columns: npt.NDArray[np.int64]
    jaccard: float | None = None
    stability: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class FeaturePath:
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
        """The names, in the order in which they were given."""
        return list(dict.fromkeys(point.selector for point in self.points))

    def of(self, selector: str) -> list[PathPoint]:
        """The points of one selector, by the number of features."""
        if selector not in self.selectors:
            raise KeyError(f"There is no selector {selector!r} here, but {', '.join(map(repr, self.selectors))}.")
        return [point for point in self.points if point.selector == selector]

    def selected(self, selector: str, n_features: int) -> npt.NDArray[np.int64]:
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
        rows = self.table()
        cells = [[_FORMATS.get(name, "{:.4f}").format(value) for name, value in row.items()] for row in rows]
        heading = f"FeaturePath of {self.n_train:,} rows and {self.n_columns:,} columns, tested on {self.n_test:,} rows"
        if self.resamples:
            heading += f", resampled {self.resamples} times"
        return f"{heading}\n{text_table([list(rows[0]), *cells])}"

    def plot(self, *, metric: str = "accuracy", title: str | None = None) -> altair.HConcatChart:
        """Draw accuracy and training time against the number of features, and the stability if there is one.

        Needs Altair. The axis of time is logarithmic, and that of the number of features if the largest is more than
        20 times the smallest.

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
