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
from .team import JudgingRows

FORMAT = 1
_LARGEST = 1 << 31  # columns
# Types and dimensions of arrays; the numbers of weights are of the model's own type.
_ARRAYS = {
    "model": ("u1", 1), "places": ("i8", 1), "numbers": ("f", 2), "memory": ("f8", 2), "tally": ("i8", 2),
    "record": ("f8", 1), "columns": ("i8", 1), "means": ("f8", 1), "counts": ("i8", 1),
}  # fmt: skip
_TOGETHER = (("places", "numbers", "memory", "tally"), ("columns", "means", "counts"))
_MANY = 1 << 31  # labels, of which a merge knows the number
_FIELDS = {"format", "base", "index", "count", "share", "rows", "n_columns", "labels", "n_faults"}


class DeltaError(ValueError):
    """A delta that is damaged, or belongs to another model."""


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
    parts: tuple[bytes, ...] = ()  # of a team: the deltas of its members
    held: JudgingRows | None = None  # rows that a shard of a team held back

    def to_bytes(self) -> bytes:
        words = {
            "format": FORMAT,
            "base": self.base,
            "index": self.index,
            "count": self.count,
            "share": pack(self.share, "share"),
            "rows": self.rows,
            "n_columns": self._n_columns,
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
        arrays |= {f"part.{k:02}": np.frombuffer(part, np.uint8) for k, part in enumerate(self.parts)}
        if self.held is not None:
            arrays |= self.held.to_arrays()
        return container_bytes(canonical(words), {name: Tensor.of(array) for name, array in arrays.items()})

    @property
    def _n_columns(self) -> int:
        known = self.change if self.held is None else self.held
        return 0 if known is None else known.n_columns

    @classmethod
    def of(cls, data: bytes) -> Delta:
        """The delta that these bytes are. DeltaError if they are none."""
        try:
            text, arrays = container_of(data, views=True)
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
            or not (0 < share <= 1 and 0 <= words["index"] < words["count"])
            or not (0 <= words["n_columns"] <= _LARGEST and words["rows"] >= 0 and words["n_faults"] >= 0)
        ):
            raise DeltaError("The bytes of a delta: its metadata is not what a delta has.")
        _check_arrays(arrays)
        try:
            held = JudgingRows.of_arrays(arrays, words["n_columns"], _MANY)
        except Refusal as refusal:
            raise DeltaError(f"The bytes of a delta: {refusal}.") from None
        return cls(
            base=words["base"],
            index=words["index"],
            count=words["count"],
            share=share,
            rows=words["rows"],
            labels=labels,
            n_faults=words["n_faults"],
            model=arrays["model"].tobytes() if "model" in arrays else None,
            change=_change(arrays, words["n_columns"]) if "places" in arrays else None,
            scales=(arrays["columns"], arrays["means"], arrays["counts"]) if "columns" in arrays else None,
            names=_names(arrays),
            parts=tuple(array.tobytes() for name, array in sorted(arrays.items()) if name.startswith("part.")),
            held=held,
        )


def _check_arrays(arrays: dict[str, Array]) -> None:
    """Raise DeltaError if they are not those of a delta; whether they fit a model, merging looks at."""
    wrong = DeltaError("The bytes of a delta: its arrays are not those that a delta has.")
    names = {name for name in arrays if not name.startswith(("names.", "part.", "held."))}
    parts = [arrays[name] for name in arrays if name.startswith("part.")]
    if any(part.ndim != 1 or part.dtype != np.uint8 for part in parts):
        raise wrong
    if not names <= _ARRAYS.keys() or any(0 < len(names & set(some)) < len(some) for some in _TOGETHER):
        raise wrong
    for name in names:
        kind, dimensions = _ARRAYS[name]
        array = arrays[name]
        if array.ndim != dimensions or array.dtype.str[1:] not in (("f4", "f8") if kind == "f" else (kind,)):
            raise wrong
    if "columns" in names:
        columns, means, counts = (arrays[name] for name in _TOGETHER[1])
        ascend = len(columns) == 0 or (columns[0] >= 0 and columns[-1] < _LARGEST and (np.diff(columns) > 0).all())
        if not ascend or not len(columns) == len(means) == len(counts):
            raise wrong
        if not ((means > 0) & np.isfinite(means) & (counts > 0) & (counts < 1 << 62)).all():
            raise wrong


def _change(arrays: dict[str, Array], n_columns: int) -> Change:
    places, numbers = arrays["places"], arrays["numbers"]
    if len(places) != len(numbers) or not (np.diff(places) > 0).all():
        raise DeltaError("The bytes of a delta: its places do not ascend, or do not fit its numbers.")
    return Change(
        n_columns=n_columns,
        places=places,
        numbers=numbers,
        memory=arrays["memory"],
        tally=arrays["tally"],
        record=arrays.get("record"),
    )


def _names(arrays: dict[str, Array]) -> _core.NameTable | None:
    tables = {name.removeprefix("names."): array for name, array in arrays.items() if name.startswith("names.")}
    try:
        return _core.NameTable.from_arrays(tables) if tables else None
    except (KeyError, TypeError, ValueError) as error:
        raise DeltaError(f"The bytes of a delta: its names do not fit together: {error}.") from None
