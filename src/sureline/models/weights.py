"""The largest weights of a model, by name if known, with their standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._inputs import Array, Floats
from .._native import _core
from .model import Model
from .scaling import Normalizer


@dataclass(frozen=True)
class Weight:
    """A weight as a name sees it."""

    feature: int  # column of the model
    names: list[str]  # its name in the DataFrame, or the most frequent names hashed to it; may be empty
    label: Any  # the class that a positive weight speaks for; None for a regressor
    weight: float
    std: float | None  # its standard deviation, if the learner has one
    scale: float = 1.0  # the divisor of the feature

    @property
    def title(self) -> str:
        return " | ".join(self.names) if self.names else str(self.feature)


def top_weights(
    state: Model,
    normalizer: Normalizer,
    labels: Sequence[Any],
    n: int,
    *,
    names: _core.NameTable | None = None,
    columns: Sequence[str] = (),
) -> list[Weight]:
    """The `n` weights of the largest size, over all classes and without the intercepts.

    They apply to normalised features, which makes them comparable. For a name that was hashed with sign -1, the weight
    is given with the opposite sign.
    """
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
    weights = []
    for value, slot, head in found[:n]:
        known = names.lookup(slot - 1) if names is not None else []
        if not known and slot <= len(columns):
            known = [(str(columns[slot - 1]), 0, 1)]
        sign = known[0][2] if known else 1
        variance = variances.get((slot, head))
        weights.append(
            Weight(
                feature=slot - 1,
                names=[name if s == sign else f"-{name}" for name, _, s in known[:3]],
                label=None if not labels else labels[-1] if state.n_heads == 1 else labels[head],
                weight=value * sign,
                std=None if variance is None else float(np.sqrt(variance)),
                scale=float(normalizer.sizes(np.array([slot - 1]))[0]),
            )
        )
    return weights


def _largest(sizes: Any, n: int) -> Any:
    """Indices of the n largest, the largest first, of equal ones the first; without sorting all of them."""
    near = np.arange(len(sizes))
    if 0 < n < len(sizes):
        near = np.flatnonzero(sizes >= np.partition(sizes, len(sizes) - n)[len(sizes) - n])
    return near[np.argsort(-sizes[near], kind="stable")][:n]


def csr_of_heads(heads: Sequence[tuple[Array, Array]], n_columns: int) -> Any:
    """The CSR matrix with a row for each head, given its columns and their weights."""
    from scipy.sparse import csr_matrix

    starts = np.cumsum([0] + [len(columns) for columns, _ in heads])
    index_dtype = np.int32 if max(n_columns, int(starts[-1])) < 2**31 else np.int64
    columns = np.concatenate([columns for columns, _ in heads]).astype(index_dtype)
    values = np.concatenate([values for _, values in heads])
    return csr_matrix((values, columns, starts.astype(index_dtype)), shape=(len(heads), n_columns))


def scales_of(model: Any, normalizer: Normalizer, n_columns: int) -> Floats:
    """The divisors of its features; AttributeError without scales."""
    if normalizer.kind != "scale":
        raise AttributeError(
            f"This {type(model).__name__} has no scale_: it was made with normalize={normalizer.kind!r}."
        )
    return normalizer.sizes(np.arange(n_columns))
