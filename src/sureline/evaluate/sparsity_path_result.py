"""Error against sparsity, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._inputs import Floats, Ints, is_number
from ..metrics import Tally
from ..models.tables import Tabular, text_table
from .charts import Axis, Chart, Panels, Series

if TYPE_CHECKING:
    import altair


_AXIS_LABELS = {
    "test_error": "test error",
    "error": "progressive error",
    "test_balanced_accuracy": "balanced accuracy on the test set",
    "balanced_accuracy": "progressive balanced accuracy",
}


@dataclass(frozen=True, eq=False, repr=False)
class SparsityPath(Tabular):
    """The result of `sparsity_path`, with an entry for each value of the parameter.

    Attributes
    ----------
    estimator : str
        Name of the learner.
    parameter : str
        Name of the parameter that was varied.
    lams : array of shape (n_lams,)
        Its values.
    sparsity : array of shape (n_lams,)
        Fraction of the weights that are zero; intercepts do not count.
    nonzero : array of shape (n_lams,)
        Number of the weights that are not.
    progressive : tuple of Tally
        Mistakes of predictions that were made just before learning from an example.
    tests : tuple of Tally or None
        Mistakes on the test set after the pass, if there was one.
    models : tuple of estimators or None
        The trained models, if they were to be kept.
    error, balanced_accuracy : array of shape (n_lams,)
        Of `progressive`.
    test_error, test_balanced_accuracy : array of shape (n_lams,) or None
        Of `tests`.
    """

    estimator: str
    parameter: str
    lams: Floats
    sparsity: Floats
    nonzero: Ints
    progressive: tuple[Tally, ...]
    tests: tuple[Tally, ...] | None = None
    models: tuple[Any, ...] | None = None

    @property
    def error(self) -> Floats:
        return np.array([counted.error for counted in self.progressive])

    @property
    def balanced_accuracy(self) -> Floats:
        return np.array([counted.balanced_accuracy for counted in self.progressive])

    @property
    def test_error(self) -> Floats | None:
        return None if self.tests is None else np.array([counted.error for counted in self.tests])

    @property
    def test_balanced_accuracy(self) -> Floats | None:
        return None if self.tests is None else np.array([counted.balanced_accuracy for counted in self.tests])

    def table(self) -> list[dict[str, Any]]:
        """A row for each penalty."""
        columns = self.to_dict()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns of a table with a row for each value, as ``pandas.DataFrame`` takes them."""
        columns: dict[str, list[Any]] = {
            "estimator": [self.estimator] * len(self.lams),
            "lam": self.lams.tolist(),
            "sparsity": self.sparsity.tolist(),
            "nonzero": self.nonzero.tolist(),
        }
        for name in ("error", "balanced_accuracy", "test_error", "test_balanced_accuracy"):
            if (column := getattr(self, name)) is not None:
                columns[name] = column.tolist()
        return columns

    def __repr__(self) -> str:
        formats = {"lam": "{:.4g}", "sparsity": "{:.2%}", "nonzero": "{:,}"}
        columns = []
        for name, values in list(self.to_dict().items())[1:]:
            heading = self.parameter if name == "lam" else name
            columns.append([heading, *(formats.get(name, "{:.4f}").format(value) for value in values)])
        return f"SparsityPath of {self.estimator}\n{text_table(list(zip(*columns, strict=True)), align='>')}"

    def plot(self, *, metric: str | None = None, x: str = "sparsity") -> altair.LayerChart:
        """Draw the error against the sparsity. Needs Altair.

        Parameters
        ----------
        metric : {"test_error", "error", "test_balanced_accuracy", "balanced_accuracy"}, default=None
            What to draw. If None the test error, or the progressive error where there is no test set.
        x : {"sparsity", "nonzero"}, default="sparsity"
            Against what: the sparsity in per cent, or the number of nonzero weights on a logarithmic axis that falls
            from left to right, for models of which almost all weights are zero.

        Returns
        -------
        altair.LayerChart
            Several learners in one chart: see `plot_sparsity_paths`.
        """
        metric = _checked_metric([self], metric)
        made: altair.LayerChart = _chart(self.estimator, [(self.estimator, self)], metric, x, _axis_of(x)).draw()
        return made

    def _curve(self, metric: str, x: str = "sparsity") -> tuple[Floats, Floats]:
        """Sparsity or number of weights, and metric, from the densest model to the sparsest."""
        order = np.argsort(self.sparsity, kind="stable")
        return (self.sparsity if x == "sparsity" else self.nonzero.astype(np.float64))[order], getattr(self, metric)[
            order
        ]


def _axis_of(x: str) -> Axis:
    if x not in ("sparsity", "nonzero"):
        raise ValueError(f"x must be 'sparsity' or 'nonzero'. Got {x!r} instead.")
    if x == "sparsity":
        return Axis("sparsity", percent=True, limits=(-0.02, 1.02))
    return Axis("nonzero weights", log=True, with_zero=True, falling=True)  # with a place for zero weights


def _chart(
    title: str,
    named: list[tuple[str, SparsityPath]],
    metric: str,
    x: str,
    axis: Axis,
    limits: tuple[float, float] | None = None,
    levels: Mapping[str, float] | None = None,
) -> Chart:
    """The curves of several learners, and levels across them."""
    series = []
    for i, (name, path) in enumerate(named):
        across, values = path._curve(metric, x)
        series.append(Series(name, across.tolist(), values.tolist(), i))
    ends = [v for s in series for v in s.x] if axis.limits is None else list(axis.limits)
    for i, (name, level) in enumerate((levels or {}).items()):
        series.append(Series(name, [min(ends), max(ends)], [level] * 2, len(named) + i, markers=False))
    return Chart(title, axis, Axis(_AXIS_LABELS[metric], percent=True, limits=limits), series)


def plot_sparsity_paths(
    paths: Any,
    *,
    metric: str | None = None,
    x: str | None = None,
    zoom: float | None = 0.8,
    baselines: Mapping[str, float] | None = None,
    title: str | None = None,
) -> altair.HConcatChart:
    """Draw the error of several learners against their sparsity, with a close-up of high sparsity. Needs Altair.

    Parameters
    ----------
    paths : sequence of SparsityPath, or mapping of names to them
        A curve each, named by the learner or by the key.
    metric : {"test_error", "error", "test_balanced_accuracy", "balanced_accuracy"}, default=None
        What to draw. If None the test error, or the progressive error where there is no test set.
    x : {"sparsity", "nonzero"}, default=None
        Against what, see `SparsityPath.plot`. If None it is the sparsity, unless all models are sparser than `zoom`.
    zoom : float, default=0.8
        The sparsity that the second panel begins with. No second panel if None, or if no model is that sparse.
    baselines : mapping of names to floats, default=None
        Levels for comparison, of learners that are not sparse: a line across the panels each.
    title : str, default=None
        Above the panels.

    Returns
    -------
    altair.HConcatChart
        Save it with ``chart.save("paths.png")``.
    """
    if isinstance(paths, SparsityPath):
        paths = [paths]
    for path in paths.values() if isinstance(paths, Mapping) else paths:
        if not isinstance(path, SparsityPath):
            raise TypeError(f"paths must be what sparsity_path returns. Got {path!r} instead.")
    named = list(paths.items()) if isinstance(paths, Mapping) else [(path.estimator, path) for path in paths]
    metric = _checked_metric([path for _, path in named], metric)
    if zoom is not None and not (is_number(zoom) and 0 <= float(zoom) < 1):
        raise ValueError(f"zoom must be None or a number from 0 to less than 1. Got {zoom!r} instead.")
    if x is None:
        x = "nonzero" if zoom is not None and min(path.sparsity.min() for _, path in named) > zoom else "sparsity"
    if x == "nonzero" or (zoom is not None and max(path.sparsity.max() for _, path in named) <= zoom):
        zoom = None
    panels = [_chart("", named, metric, x, _axis_of(x), levels=baselines)]
    if zoom is not None:
        least = float(zoom)
        values = np.concatenate(
            [_values_above(least, *path._curve(metric)) for _, path in named] + [[*(baselines or {}).values()]]
        )
        margin = 0.05 * float(np.ptp(values)) or 0.005
        close = Axis(f"sparsity from {100 * least:g} %", percent=True, limits=(least, 1 + 0.02 * (1 - least)))
        limits = (float(values.min()) - margin, float(values.max()) + margin)
        panels.append(_chart("", named, metric, x, close, limits, baselines))
    made: altair.HConcatChart = Panels(title or "", panels, [420] * len(panels)).draw()
    return made


def _values_above(least: float, sparsity: Floats, values: Floats) -> Floats:
    """The values of a curve where the sparsity is at least `least`, including the entry point."""
    inside = values[sparsity >= least]
    enters = len(inside) > 0 and sparsity[0] < least
    return np.append(inside, np.interp(least, sparsity, values)) if enters else inside


def _checked_metric(paths: list[SparsityPath], metric: str | None) -> str:
    if not paths:
        raise ValueError("There are no paths to plot.")
    if metric is None:
        return "error" if any(path.tests is None for path in paths) else "test_error"
    if metric not in _AXIS_LABELS:
        raise ValueError(f"metric must be one of {', '.join(map(repr, _AXIS_LABELS))}. Got {metric!r} instead.")
    without = [path.estimator for path in paths if getattr(path, metric) is None]
    if without:
        raise ValueError(
            f"{metric!r} needs a test set: pass X_test and y_test to sparsity_path for {', '.join(without)}."
        )
    return metric
