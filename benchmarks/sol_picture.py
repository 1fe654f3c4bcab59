"""The figures: a panel for all sparsities and one for high ones, each curve a mean over the orders of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sol_curves import Floats, Result

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "#56B4E9", "#A0522D"]
MARKERS = ["o", "s", "^", "D", "v", "*", "P", "X"]
GREYS = ["-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1))]


def draw(experiment: Any, results: dict[str, Result], folder: Path) -> Path:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    for ax, start in zip(axes, (0.0, experiment.zoom), strict=True):
        levels = np.linspace(start, 1, 201)[:-1]  # at 100 % nothing is left to predict with
        shown = []
        for i, result in enumerate(one for one in results.values() if one.curves):
            values = 100 * result.at(levels)
            shown.append(_line(ax, 100 * levels, values, label=result.learner.name, i=i))
        for i, result in enumerate(one for one in results.values() if not one.curves):
            level = 100 * result.free.mean()
            shown.append(np.array([level]))
            ax.axhline(level, color="0.5", linewidth=1.2, linestyle=GREYS[i % len(GREYS)], label=result.learner.name)
        low, high = np.nanmin(np.concatenate(shown)), np.nanmax(np.concatenate(shown))
        ax.set_xlim(100 * start - 2 * (1 - start), 100 + 2 * (1 - start))
        ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        ax.set_xlabel("Sparsity (%)")
        ax.locator_params(axis="x", steps=[1, 2, 5, 10])
        ax.grid(alpha=0.3)
    if experiment.top is not None:
        axes[1].set_ylim(0, 100 * experiment.top)
    axes[0].set_ylabel("Test error (%)" if experiment.metric == "test_error" else "Balanced accuracy, test rows (%)")
    axes[1].set_title(f"Sparsity from {100 * experiment.zoom:g} %", fontsize=10)
    figure.suptitle(experiment.heading)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False)
    path = folder / f"{experiment.name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def _line(ax: Any, levels: Floats, values: Floats, *, label: str, i: int) -> Floats:
    """The mean and one deviation on both sides of it; what is returned is what has to be seen."""
    defined = ~np.isnan(values).any(axis=0)
    levels, values = levels[defined], values[:, defined]
    mean = values.mean(axis=0)
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else 0 * mean
    style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
    ax.plot(levels, mean, label=label, markevery=(2 * i, 20), markersize=5, linewidth=1.4, **style)
    ax.fill_between(levels, mean - deviation, mean + deviation, color=style["color"], alpha=0.15, linewidth=0)
    return mean
