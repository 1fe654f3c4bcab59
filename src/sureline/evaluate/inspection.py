"""The contents of a model: its largest weights, by name where there are names, and their certainty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..learners.saving import ModelFile
from ..models.kernel.model import KernelModel
from ..models.weights import Weight
from .charts import Axis, Bar, Bars, Histogram, Panels


def summary(model: ModelFile, path: Path, top: int) -> dict[str, Any]:
    """Everything that `sureline inspect` tells, by name."""
    learner = model.learner
    state = learner.model
    told: dict[str, Any] = {
        "algorithm": type(learner).__name__,
        "parameters": learner.parameters(),
        **({"labels": model.labels} if model.labels else {}),
        "examples": learner.n_seen_,
        **learner.progressive_measures(),
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
    if not model.learner.has_weights:
        raise ValueError("There are no weights of features to draw: the model has a kernel that is not linear.")
    measures = model.learner.progressive_measures()
    measure = f"loss {measures['loss']:.4g}" if "loss" in measures else f"error {measures['error']:.4f}"
    title = (
        f"{type(model.learner).__name__}: {model.learner.n_seen_:,} examples, progressive {measure}, "
        f"{model.learner.nonzero_:,} nonzero weights"
    )
    figures = [_largest_weights(model, model.learner.top_weights(top, model.names)), *_distribution(model)]
    try:
        Panels(title, figures, [440, 300][: len(figures)]).save(path)
    except ImportError as error:
        raise ValueError(str(error)) from None


def _largest_weights(model: ModelFile, weights: list[Weight]) -> Bars:
    several = model.learner.model.n_heads > 1
    what = {"none": "", "row": ", in rows of length 1", "scale": ", of a feature divided by its scale"}
    sure = " ± standard deviation" if weights and weights[0].std is not None else ""
    label = "weight" + sure + what[model.learner.normalizer.kind] if weights else "all weights are zero"
    bars = [Bar(w.title + (f"  [{w.label}]" if several else ""), w.weight, w.std) for w in weights]
    left, right = map(str, model.labels) if not several and len(model.labels) == 2 else ("", "")
    return Bars("", label, bars, left, right)


def _distribution(model: ModelFile) -> list[Histogram]:
    """Histograms of the sizes of nonzero weights; empty if there are none."""
    values = np.concatenate([v[s > 0] for s, v in model.learner.model.nonzero()]).astype(np.float64)
    sizes = np.abs(values[values != 0])
    if len(sizes) == 0:
        return []
    low, high = np.log10(sizes.min()), np.log10(sizes.max())
    if high - low < 0.1:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(np.log10(sizes), bins=np.linspace(low, high, 41))
    x, y = Axis("size of a nonzero weight", log=True), Axis("weights", log=len(sizes) > 1000, whole=True)
    return [Histogram("", x, y, (10.0**edges).tolist(), counts.tolist())]
