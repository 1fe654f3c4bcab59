"""Deltas: what a shard made of a model, as bytes with a version and a checksum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._inputs import Array, Floats, Ints
from .._native import _core
from ..models.file.canonical import canonical, pack, parse, unpack
from ..models.file.container import Tensor, container_bytes, container_of
from ..models.file.errors import Refusal
from ..models.merging import Change

FORMAT = 1
_FIELDS = {"format", "base", "index", "count", "share", "rows", "n_columns", "labels", "n_faults"}


class DeltaError(ValueError):
    """A delta that is damaged, or does not belong to the model."""


@dataclass(frozen=True)
class Delta:
    """The change that a shard made to its base.

    Of a round with one shard it is the whole `model`. If the shard met labels that the base does not know, it has
    nothing but these.
    """

    base: str  # the checksum of the model that it began with
    index: int
    count: int  # of the shards of the round
    share: float
    rows: int
    labels: list[Any]  # that the base does not know
    n_faults: int = 0  # lines that were left out
    model: bytes | None = None
    change: Change | None = None
    scales: tuple[Ints, Floats, Ints] | None = None  # columns whose scale changed, means, counts
    names: _core.NameTable | None = None

    def to_bytes(self) -> bytes:
        words = {
            "format": FORMAT,
            "base": self.base,
            "index": self.index,
            "count": self.count,
            "share": pack(self.share, "share"),
            "rows": self.rows,
            "n_columns": 0 if self.change is None else self.change.n_columns,
            "labels": [pack(label, "A label") for label in self.labels],
            "n_faults": self.n_faults,
        }
        arrays: dict[str, Array] = {}
        if self.model is not None:
            arrays["model"] = np.frombuffer(self.model, np.uint8)
        if self.change is not None:
            change = self.change
            arrays |= {"places": change.places, "numbers": change.numbers, "memory": change.memory}
            arrays["tally"] = change.tally
            if change.record is not None:
                arrays["record"] = change.record
        if self.scales is not None:
            arrays |= dict(zip(("columns", "means", "counts"), self.scales, strict=True))
        if self.names is not None:
            arrays |= {f"names.{name}": array for name, array in self.names.to_arrays().items()}
        return container_bytes(canonical(words), {name: Tensor.of(array) for name, array in arrays.items()})

    @classmethod
    def of(cls, data: bytes) -> Delta:
        """The delta that these bytes are. DeltaError if they are none."""
        try:
            text, arrays = container_of(data)
            words = parse(text)
            if not isinstance(words, dict) or words.keys() != _FIELDS or words["format"] != FORMAT:
                raise Refusal("is not a delta of this version")
            labels = unpack(words["labels"], "the labels")
            share = unpack(words["share"], "the share")
        except Refusal as refusal:
            raise DeltaError(f"The bytes of a delta: {refusal}.") from None
        whole = {"index": int, "count": int, "rows": int, "n_columns": int, "n_faults": int, "base": str}
        if (
            not all(type(words[name]) is kind for name, kind in whole.items())
            or not isinstance(labels, list)
            or not isinstance(share, float)
            or not (0 < share <= 1 and 0 <= words["index"] < words["count"] and words["n_columns"] >= 0)
        ):
            raise DeltaError("The bytes of a delta: its metadata is not what a delta has.")
        return cls(
            base=words["base"],
            index=words["index"],
            count=words["count"],
            share=share,
            rows=words["rows"],
            labels=labels,
            n_faults=words["n_faults"],
            model=arrays["model"].tobytes() if "model" in arrays else None,
            change=_change(arrays, words["n_columns"], share) if "places" in arrays else None,
            scales=(arrays["columns"], arrays["means"], arrays["counts"]) if "columns" in arrays else None,
            names=_names(arrays),
        )


def _change(arrays: dict[str, Array], n_columns: int, share: float) -> Change:
    places, numbers = arrays["places"], arrays["numbers"]
    if places.ndim != 1 or numbers.ndim != 2 or len(places) != len(numbers) or not (np.diff(places) > 0).all():
        raise DeltaError("The bytes of a delta: its places do not ascend, or do not fit its numbers.")
    return Change(
        shards=1,
        n_columns=n_columns,
        places=places,
        covered=np.full(len(places), share),
        numbers=numbers,
        memory=arrays["memory"],
        tally=arrays["tally"],
        record=arrays.get("record"),
    )


def _names(arrays: dict[str, Array]) -> _core.NameTable | None:
    tables = {name.removeprefix("names."): array for name, array in arrays.items() if name.startswith("names.")}
    return _core.NameTable.from_arrays(tables) if tables else None
