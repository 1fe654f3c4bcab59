"""Rows of requests as a model reads them: in the words of its stream, by names, or as columns and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._inputs import Array
from .._native import _core
from ..learners.learner import Learner
from ..learners.one import compressed
from ..learners.rule import RuleLearner
from ..stream import Chunk
from ..stream.examples import ExampleParser
from .errors import Refused

WRONG = (ValueError, TypeError, OverflowError, KeyError)  # what is raised for a row that is none


class Rows:
    """Reads the rows of one model."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._parser: ExampleParser | None = (
            learner.origin.parser(learner.model.dtype) if learner.origin.options else None
        )

    @property
    def parser(self) -> ExampleParser | None:
        """The reader of words as in the stream that the model was trained from."""
        return self._parser

    def same_as(self, other: Rows) -> bool:
        """True if both read rows in the same way, so that a chunk of the one is a chunk of the other."""
        mine, its = self._learner, other._learner
        return (
            self._parser is not None
            and other._parser is not None
            and mine.origin.options == its.origin.options
            and mine.model.dtype == its.model.dtype
            and (mine.origin.names is None) == (its.origin.names is None)
        )

    def read(self, examples: Sequence[Any]) -> Chunk:
        """A chunk with these rows. Refused if one of them is none for this model."""
        reads = self._learner.origin.reads
        try:
            if self._parser is not None and all(map(reads, examples)):
                return self._parser(examples)
            return self._by_columns(examples)
        except WRONG as error:
            raise Refused(422, in_one_sentence(error)) from None
        except RecursionError:
            raise Refused(422, "A row is nested too deeply.") from None

    def _by_columns(self, examples: Sequence[Any]) -> Chunk:
        """Rows by names that are hashed, or by columns and values; each may be of another kind than the next."""
        parts = []
        for number, example in enumerate(examples):
            try:
                parts.append(self._compressed(example))
            except WRONG as error:
                raise ValueError(f"Row {number} is refused: {in_one_sentence(error)}") from None
        indptr = np.concatenate([[0], np.cumsum([len(columns) for _, columns, _, _ in parts])]).astype(np.int32)
        none = np.full(len(parts), -1, np.int32)
        return Chunk(
            np.concatenate([values for values, _, _, _ in parts]),
            np.concatenate([columns for _, columns, _, _ in parts]),
            indptr,
            (none, []),
            max([width for _, _, _, width in parts], default=0),
        )

    def _compressed(self, example: Any) -> tuple[Array, Array, Array, int]:
        learner = self._learner
        if isinstance(learner, RuleLearner):
            return compressed(learner, example if learner.origin.reads(example) else _as_row(example))
        indices, values, _ = _core.read_row(_as_row(example), 0)
        columns = np.array(indices, np.int32)
        ends = np.array([0, len(columns)], np.int32)
        return np.array(values, learner.model.dtype), columns, ends, int(columns.max(initial=-1)) + 1


def _as_row(example: Any) -> Any:
    """One example as a learner takes it."""
    if isinstance(example, dict):
        return example
    if isinstance(example, list) and len(example) == 2 and all(isinstance(part, list) for part in example):
        columns, values = example
        if len(columns) != len(values):
            raise ValueError(f"it has {len(columns)} columns and {len(values)} values")
        if not all(type(column) is int for column in columns):
            raise ValueError("its columns are not all integers")
        if not all(type(value) in (int, float) for value in values):
            raise ValueError("its values are not all numbers")
        if not columns:
            return {}
        return np.array(columns, np.int64), np.array(values, np.float64)
    raise ValueError("a row is an object of features, a text, or [columns, values]")


def in_one_sentence(error: BaseException) -> str:
    """The message of an error, cut if it is long."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        text = f"there is no {text}"
    text = text if len(text) <= 500 else f"{text[:500]}..."
    return text if text.endswith(".") else f"{text}."
