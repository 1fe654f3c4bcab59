"""What a model has learned: its largest weights, by name where there are names, and how sure it is of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._kernel_model import KernelModel
from ._learner import ClassLearner, Learner
from ._regression import TargetLearner
from .charts import Axis, Bar, Bars, Histogram, Panels
from .persistence import ModelFile


@dataclass(frozen=True)
class Weight:
    """A weight as a name sees it."""

    feature: int  # column of the model
    names: list[str]  # its name in the DataFrame, or the names hashed to it that were seen most, or none
    label: Any  # the class that a positive weight speaks for; None of a regressor
    weight: float
    std: float | None  # its standard deviation, for the learners that have one
    scale: float = 1.0  # what the feature is divided by

    @property
    def title(self) -> str:
        return " | ".join(self.names) if self.names else str(self.feature)


def top_weights(model: ModelFile, n: int) -> list[Weight]:
    """The `n` weights of the largest size, over all classes and without the intercepts.

    They are weights of features as they are learned from, divided by their scale or by the length of the row if the
    learner normalises: only so can they be compared.

    A name that was hashed with the sign -1 sees the weight with the other sign; so it is told here.
    """
    state = model.learner._state
    labels = model.labels
    if not model.learner.has_weights:
        return []
    found: list[tuple[float, int, int]] = []
    variances: dict[tuple[int, int], float] = {}
    for head, (slots, values) in enumerate(state.nonzero()):
        slots, values = slots[slots > 0], values[slots > 0].astype(np.float64)
        largest = _largest(np.abs(values), n)
        chosen = slots[largest]
        found += [(float(value), int(slot), head) for value, slot in zip(values[largest], chosen, strict=True)]
        spread = state.weight_variances(chosen, head)
        if spread is not None:
            variances |= {(int(s), head): float(v) for s, v in zip(chosen, spread, strict=True)}
    found.sort(key=lambda entry: (-abs(entry[0]), entry[1], entry[2]))
    of_columns = getattr(model.learner, "feature_names_in_", ())
    weights = []
    for value, slot, head in found[:n]:
        known = model.names.lookup(slot - 1) if model.names is not None else []
        if not known and slot <= len(of_columns):
            known = [(str(of_columns[slot - 1]), 0, 1)]
        sign = known[0][2] if known else 1
        variance = variances.get((slot, head))
        weights.append(
            Weight(
                feature=slot - 1,
                names=[name if s == sign else f"-{name}" for name, _, s in known[:3]],
                label=None if not labels else labels[-1] if state.n_heads == 1 else labels[head],
                weight=value * sign,
                std=None if variance is None else float(np.sqrt(variance)),
                scale=float(model.learner._normalizer.sizes(np.array([slot - 1]))[0]),
            )
        )
    return weights


def _largest(sizes: Any, n: int) -> Any:
    """Where the n largest are, the largest first, of equal ones the first; without sorting all of them."""
    near = np.arange(len(sizes))
    if 0 < n < len(sizes):
        near = np.flatnonzero(sizes >= np.partition(sizes, len(sizes) - n)[len(sizes) - n])
    return near[np.argsort(-sizes[near], kind="stable")][:n]


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
    state = learner._state
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
    scaled = learner._normalizer.kind == "scale"
    told["top"] = [
        {"feature": w.feature, "names": w.names, "label": w.label, "weight": w.weight, "std": w.std}
        | ({"scale": w.scale} if scaled else {})
        for w in top_weights(model, top)
    ]
    return told


def plot(model: ModelFile, path: Path, top: int) -> None:
    """Draw the largest weights with their standard deviations, and how all weights are distributed."""
    if not model.learner.has_weights:
        raise ValueError("There are no weights of features to draw: the model has a kernel that is not linear.")
    measures = progressive_measures(model.learner)
    measure = f"loss {measures['loss']:.4g}" if "loss" in measures else f"error {measures['error']:.4f}"
    title = (
        f"{type(model.learner).__name__}: {model.learner.n_seen_:,} examples, progressive {measure}, "
        f"{model.learner.nonzero_:,} nonzero weights"
    )
    figures = [_largest_weights(model, top_weights(model, top)), *_distribution(model)]
    try:
        Panels(title, figures, [440, 300][: len(figures)]).save(path)
    except ImportError as error:
        raise ValueError(str(error)) from None


def _largest_weights(model: ModelFile, weights: list[Weight]) -> Bars:
    several = model.learner._state.n_heads > 1
    what = {"none": "", "row": ", in rows of length 1", "scale": ", of a feature divided by its scale"}
    sure = " ± standard deviation" if weights and weights[0].std is not None else ""
    label = "weight" + sure + what[model.learner._normalizer.kind] if weights else "all weights are zero"
    bars = [Bar(w.title + (f"  [{w.label}]" if several else ""), w.weight, w.std) for w in weights]
    left, right = map(str, model.labels) if not several and len(model.labels) == 2 else ("", "")
    return Bars("", label, bars, left, right)


def _distribution(model: ModelFile) -> list[Histogram]:
    """How large the weights are that are not zero, if there are any."""
    values = np.concatenate([v[s > 0] for s, v in model.learner._state.nonzero()]).astype(np.float64)
    sizes = np.abs(values[values != 0])
    if len(sizes) == 0:
        return []
    low, high = np.log10(sizes.min()), np.log10(sizes.max())
    if high - low < 0.1:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(np.log10(sizes), bins=np.linspace(low, high, 41))
    x, y = Axis("size of a nonzero weight", log=True), Axis("weights", log=len(sizes) > 1000, whole=True)
    return [Histogram("", x, y, (10.0**edges).tolist(), counts.tolist())]
