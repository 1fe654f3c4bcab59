"""Error against sparsity, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metrics import Tally
from .plots import curve_style, pyplot
from .text_table import text_table

Floats = npt.NDArray[np.float64]

_AXIS_LABELS = {
    "test_error": "Test error (%)",
    "error": "Progressive error (%)",
    "test_balanced_accuracy": "Balanced accuracy on the test set (%)",
    "balanced_accuracy": "Progressive balanced accuracy (%)",
}
_DASHES = ("--", ":", "-.")


@dataclass(frozen=True, eq=False, repr=False)
class SparsityPath:
    """What `sparsity_path` found, with an entry for each value of the parameter.

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
    nonzero: npt.NDArray[np.int64]
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

    def plot(self, ax: Any = None, *, metric: str | None = None, x: str = "sparsity", **line: Any) -> Any:
        """Draw the error in per cent against the sparsity. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new ones if None.
        metric : {"test_error", "error", "test_balanced_accuracy", "balanced_accuracy"}, default=None
            What to draw. If None the test error, or the progressive error where there is no test set.
        x : {"sparsity", "nonzero"}, default="sparsity"
            Against what: the sparsity in per cent, or the number of nonzero weights on a logarithmic axis that falls
            from left to right, for models of which almost all weights are zero.
        **line
            For ``ax.plot``: color, marker, label and so on.

        Returns
        -------
        matplotlib Axes
        """
        metric = _checked_metric([self], metric)
        if x not in ("sparsity", "nonzero"):
            raise ValueError(f"x must be 'sparsity' or 'nonzero'. Got {x!r} instead.")
        if ax is None:
            ax = pyplot().subplots(layout="constrained")[1]
            ax.grid(alpha=0.3)
            ax.set_title(self.estimator)
        sparsity, values = self._curve(metric)
        line = {"marker": "o", "label": self.estimator, **line}
        if x == "sparsity":
            ax.plot(sparsity, values, **line)
            ax.set(xlabel="Sparsity (%)", ylabel=_AXIS_LABELS[metric])
        else:
            ax.plot(np.sort(self.nonzero)[::-1], values, **line)
            ax.set(xlabel="Nonzero weights", ylabel=_AXIS_LABELS[metric])
            ax.set_xscale("symlog", linthresh=1)  # with a place for none at all
            if not ax.xaxis_inverted():
                ax.invert_xaxis()
        return ax

    def _curve(self, metric: str) -> tuple[Floats, Floats]:
        """Sparsity and metric in per cent, from the densest model to the sparsest."""
        order = np.argsort(self.sparsity, kind="stable")
        return 100 * self.sparsity[order], 100 * getattr(self, metric)[order]


def plot_sparsity_paths(
    paths: Any,
    *,
    metric: str | None = None,
    x: str | None = None,
    zoom: float | None = 0.8,
    baselines: Mapping[str, float] | None = None,
    title: str | None = None,
) -> Any:
    """Draw several learners: their error against their sparsity, and once more where it is high. Needs matplotlib.

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
    matplotlib Figure
        Save it with ``figure.savefig("paths.png")``.
    """
    if isinstance(paths, SparsityPath):
        paths = [paths]
    for path in paths.values() if isinstance(paths, Mapping) else paths:
        if not isinstance(path, SparsityPath):
            raise TypeError(f"paths must be what sparsity_path returns. Got {path!r} instead.")
    named = list(paths.items()) if isinstance(paths, Mapping) else [(path.estimator, path) for path in paths]
    metric = _checked_metric([path for _, path in named], metric)
    if zoom is not None and (isinstance(zoom, bool) or not isinstance(zoom, Real) or not 0 <= float(zoom) < 1):
        raise ValueError(f"zoom must be None or a number from 0 to less than 1. Got {zoom!r} instead.")
    if x is None:
        x = "nonzero" if zoom is not None and min(path.sparsity.min() for _, path in named) > zoom else "sparsity"
    if x == "nonzero" or (zoom is not None and max(path.sparsity.max() for _, path in named) <= zoom):
        zoom = None
    levels = {name: 100 * level for name, level in (baselines or {}).items()}

    n_panels = 1 if zoom is None else 2
    figure, axes = pyplot().subplots(
        1, n_panels, figsize=(1.5 + 4.75 * n_panels, 4.8), layout="constrained", squeeze=False
    )
    whole, close = axes[0][0], axes[0][-1]
    for ax in axes[0]:
        for i, (name, path) in enumerate(named):
            path.plot(ax, metric=metric, x=x, label=name, **curve_style(i))
        for i, (name, level) in enumerate(levels.items()):
            ax.axhline(level, label=name, color="0.4", linestyle=_DASHES[i % len(_DASHES)], linewidth=1.4)
        ax.grid(alpha=0.3)
    if x == "sparsity":
        whole.set_xlim(-2, 102)
    if zoom is not None:
        least = 100 * float(zoom)
        whole.axvspan(least, 100, color="0.93", zorder=0, linewidth=0)
        values = np.concatenate(
            [_values_above(least, *path._curve(metric)) for _, path in named] + [[*levels.values()]]
        )
        margin = 0.05 * float(np.ptp(values)) or 0.5
        close.set_xlim(least, 100 + 0.02 * (100 - least))
        close.set_ylim(values.min() - margin, values.max() + margin)
        close.locator_params(axis="x", steps=[1, 2, 5, 10])
        close.set(ylabel="", title=f"Sparsity from {least:g} %")
    figure.suptitle(title)
    n_entries = len(named) + len(levels)
    n_rows = -(-n_entries // (4 * n_panels))
    figure.legend(
        *whole.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=-(-n_entries // n_rows),
        frameon=False,
    )
    return figure


def _values_above(least: float, sparsity: Floats, values: Floats) -> Floats:
    """The values of a curve where the sparsity is at least that, with the one where it enters there."""
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
