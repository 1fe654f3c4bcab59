"""Labels of a stream as classes, or as the numbers that are to be predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Array, label_array
from .._native import _core
from . import Chunk, DataError, Label
from .errors import shown
from .runs import LabelRuns
from .schema import Schema
from .written import NUMBERS, as_bytes, number_of

MAX_CLASSES = 1000  # more are taken for a mistake: a label column that holds measurements


class Classes:
    """The classes that have come so far, or all that were named."""

    def __init__(self, labels: Sequence[Label] | None = None, *, fixed: bool = True) -> None:
        self.labels: list[Label] = [] if labels is None else list(labels)
        self.fixed = labels is not None and fixed
        self.runs = LabelRuns()
        if self.fixed and labels is not None and (len(labels) < 2 or len(set(labels)) < len(labels)):
            raise ValueError(f"labels must name at least two classes, each once. Got {list(labels)!r} instead.")

    def of(self, chunk: Chunk, file: str, rows_before: int) -> npt.NDArray[np.int32]:
        """The class of each row. New labels become new classes, unless they are fixed."""
        known = self.register(chunk, file, rows_before)
        codes, names = chunk.labels
        classes = np.empty(len(codes), np.int32)
        _core.recode(codes, np.array([known[name] for name in names], np.int32), classes)
        self.runs.add(classes)
        return classes

    def register(self, chunk: Chunk, file: str, rows_before: int) -> dict[Label, int]:
        """Meet the labels of a chunk: the class of each.

        Those of the first chunk are sorted, so that the larger of two is the positive one wherever it comes first.
        """
        codes, names = chunk.labels
        _refuse_unlabelled(chunk, file, rows_before)
        first = not self.labels
        known = {label: code for code, label in enumerate(self.labels)}
        for code, name in (
            sorted(enumerate(names), key=lambda each: _label_order(each[1])) if first else enumerate(names)
        ):
            if name not in known and str(name) in known:  # labels of two kinds are text in a model
                known[name] = known[str(name)]
            elif name not in known:
                if self.fixed:
                    listed = ",".join(str(label) for label in self.labels)
                    row = rows_before + int(np.argmax(codes == code)) + 1
                    raise DataError(file, f"the label {name!r} is not among those given: {listed} (row {row:,})")
                if isinstance(name, int) and not -(2**63) <= name < 2**64:
                    row = rows_before + int(np.argmax(codes == code)) + 1
                    raise DataError(file, f"the label {shown(str(name))} has more than 64 bits (row {row:,})")
                known[name] = len(self.labels)
                self.labels.append(name)
        if len(self.labels) > MAX_CLASSES:
            numbers = not any(isinstance(label, str) for label in self.labels)
            raise DataError(
                file,
                f"there are more than {MAX_CLASSES} different labels, among them {self.labels[0]!r} and "
                f"{self.labels[-1]!r}; a class for each of them cannot be meant"
                + ("; ODCARegressor predicts numbers" if numbers else ""),
            )
        return known

    def before_refusal(self, chunk: Chunk) -> Chunk:
        """The rows of a chunk before the first missing or unknown label; usually all."""
        codes, names = chunk.labels
        strange = np.array([self.fixed and name not in self.labels for name in names] + [True])  # the last is for -1
        refused = strange[codes]
        if not refused.any():
            return chunk
        first = chunk.first(int(np.argmax(refused)))
        came, places = np.unique(first.labels[0], return_inverse=True)
        labels = places.astype(np.int32).reshape(-1), [names[code] for code in came]
        return replace(first, labels=labels, end=replace(chunk.end, rows=chunk.end.rows - len(chunk) + len(first)))

    def array(self) -> Array:
        """All of them, as a learner has them."""
        return label_array(self.labels)


def targets_of(chunk: Chunk, file: str, rows_before: int, schema: Schema | None = None) -> npt.NDArray[np.float64]:
    """The target of each row, in the number format of the table's labels."""
    codes, names = chunk.labels
    _refuse_unlabelled(chunk, file, rows_before)
    how = "" if schema is None else schema.target
    numbers = [number_of(name, how) if isinstance(name, str) and how else name for name in names]
    for code, number in enumerate(numbers):
        if isinstance(number, str) or number is None:
            row = rows_before + int(np.argmax(codes == code)) + 1
            why = _hint(names[code], schema)
            raise DataError(file, f"row {row} has the label {names[code]!r}, which is no number to be predicted{why}")
    return np.array([float(number) for number in numbers if number is not None])[codes]


def _hint(label: Any, schema: Schema | None) -> str:
    """A way out for whoever has such a label where a number must be."""
    if not isinstance(label, str):
        return ""
    if _core.says_missing(as_bytes(label)):
        return ": leave out rows that have none, or leave their cells empty and say --errors skip"
    written = any(number_of(label, way) is not None for way in NUMBERS)
    return f": {schema.target_doubt}" if schema is not None and schema.target_doubt and written else ""


def _refuse_unlabelled(chunk: Chunk, file: str, rows_before: int) -> None:
    row = _core.first_negative(chunk.labels[0])
    if row >= 0:
        raise DataError(file, f"row {rows_before + row + 1} has no label, so nothing can be learned from it")


def _label_order(label: Label) -> tuple[bool, Any]:
    """Numbers by their value, then text."""
    return isinstance(label, str), label
