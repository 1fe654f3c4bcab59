"""What a model has learned: its largest weights, by name where there are names, and how sure it is of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..learners.learner import ClassLearner, Learner
from ..learners.regression import TargetLearner
from ..learners.saving import ModelFile
from ..models.kernel.model import KernelModel
from ..models.weights import Weight


def progressive_measures(learner: Learner) -> dict[str, Any]:
    """How a learner predicted what it was about to learn from, by name."""
    if isinstance(learner, TargetLearner):
        return {"loss": learner.progressive_loss_}
    assert isinstance(learner, ClassLearner)
    tally = learner.progressive_
    return {
        "mistakes": learner.n_mistakes_,
        "error": tally.error,
        "balanced_accuracy": tally.balanced_accuracy,
    }


def summary(model: ModelFile, path: Path, top: int) -> dict[str, Any]:
    """Everything that `sureline inspect` tells, by name."""
    learner = model.learner
    state = learner.model
    told: dict[str, Any] = {
        "algorithm": type(learner).__name__,
        "parameters": learner.parameters(),
        **({"labels": model.labels} if model.labels else {}),
        "examples": learner.n_seen_,
        **progressive_measures(learner),
        "updates": learner.n_updates_,
        "features": state.n_columns,
        "nonzeros": learner.nonzero_ if learner.has_weights else None,
        "sparsity": (learner.sparsity_ if state.n_columns else 1.0) if learner.has_weights else None,
        "intercept": learner.intercept_.tolist(),
        "input": model.input_options,
        "library": model.library,
        "bytes": path.stat().st_size,
    }
    if isinstance(state, KernelModel):
        told["stored"] = state.examples.n
    if model.place is not None:
        told["place"] = model.place
    if model.names is not None:
        told["names"] = {"kept": len(model.names), "collisions": model.names.n_collisions}
    scaled = learner.normalizer.kind == "scale"
    told["top"] = [
        {"feature": w.feature, "names": w.names, "label": w.label, "weight": w.weight, "std": w.std}
        | ({"scale": w.scale} if scaled else {})
        for w in learner.top_weights(top, model.names)
    ]
    return told


def plot(model: ModelFile, path: Path, top: int) -> None:
    """Draw the largest weights with their standard deviations, and how all weights are distributed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("A picture needs matplotlib: pip install 'sureline[plot]'.") from None
    if not model.learner.has_weights:
        raise ValueError("There are no weights of features to draw: the model has a kernel that is not linear.")
    weights = model.learner.top_weights(top, model.names)
    n = max(len(weights), 1)
    figure = Figure(figsize=(10, max(3.2, 0.26 * n + 1.4)), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    _draw_top(left, weights, model)
    _draw_distribution(right, model)
    measures = progressive_measures(model.learner)
    measure = f"loss {measures['loss']:.4g}" if "loss" in measures else f"error {measures['error']:.4f}"
    figure.suptitle(
        f"{type(model.learner).__name__}: {model.learner.n_seen_:,} examples, progressive {measure}, "
        f"{model.learner.nonzero_:,} nonzero weights"
    )
    figure.savefig(path, dpi=130)


def _draw_top(axes: Any, weights: list[Weight], model: ModelFile) -> None:
    labels = model.labels
    if not weights:
        axes.text(0.5, 0.5, "all weights are zero", ha="center", va="center")
        axes.set_axis_off()
        return
    several = model.learner.model.n_heads > 1
    at = np.arange(len(weights))[::-1]
    values = np.array([w.weight for w in weights])
    titles = [_short(w.title) + (f"  [{w.label}]" if several else "") for w in weights]
    axes.barh(at, values, color=np.where(values > 0, "tab:blue", "tab:orange"), height=0.7)
    if weights[0].std is not None:
        axes.errorbar(values, at, xerr=[w.std for w in weights], fmt="none", ecolor="0.35", elinewidth=1, capsize=2)
    axes.axvline(0, color="0.3", linewidth=0.8)
    axes.set_yticks(at, titles, fontsize=8)
    axes.set_ylim(-0.7, len(weights) - 0.3)
    what = {"none": "", "row": ", in rows of length 1", "scale": ", of a feature divided by its scale"}
    sure = " ± standard deviation" if weights[0].std is not None else ""
    axes.set_xlabel("weight" + sure + what[model.learner.normalizer.kind])
    if not several and len(labels) == 2:
        above = axes.get_xaxis_transform()
        axes.text(0, 1.01, f"← {_short(str(labels[0]), 16)}   ", ha="right", transform=above, fontsize=10)
        axes.text(0, 1.01, f"   {_short(str(labels[1]), 16)} →", ha="left", transform=above, fontsize=10)
        reach = 1.1 * max(abs(limit) for limit in axes.get_xlim())
        axes.set_xlim(-reach, reach)
    axes.grid(axis="x", alpha=0.3)


def _draw_distribution(axes: Any, model: ModelFile) -> None:
    values = np.concatenate([v[s > 0] for s, v in model.learner.model.nonzero()]).astype(np.float64)
    sizes = np.abs(values[values != 0])
    if len(sizes) == 0:
        axes.set_axis_off()
        return
    low, high = np.log10(sizes.min()), np.log10(sizes.max())
    if high - low < 0.1:
        low, high = low - 0.5, high + 0.5
    axes.hist(sizes, bins=np.logspace(low, high, 40), color="tab:blue", alpha=0.8)
    axes.set_xscale("log")
    if len(sizes) > 1000:
        axes.set_yscale("log")
    axes.set_xlabel("size of a nonzero weight")
    axes.set_ylabel("weights")
    axes.grid(alpha=0.3)


def _short(text: str, most: int = 36) -> str:
    # matplotlib would take a dollar sign for the beginning of a formula, and has no glyph for control characters.
    plain = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    cut = plain if len(plain) <= most else plain[: most - 1] + "…"
    return cut.replace("$", r"\$")
