"""Warnings about the data of a training, besides those about their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._native import _core
from ..learners.budget import idle_penalty
from ..learners.class_weight import either, without_rows
from ..learners.learner import ClassLearner
from ..stream import Label, Stream
from ..stream.errors import listed
from ..stream.written import as_bytes


def doubts(learner: Any, labels: Sequence[Label], stream: Stream) -> str | None:
    """The warnings in one sentence; None if there are none."""
    columns = {} if stream.schema is None else stream.schema.doubtful
    return either(
        without_rows(learner, labels),
        _one_class(learner),
        _nothing_to_tell_by(stream),
        idle_penalty(learner),
        _missing(labels),
        *(f"the column {name!r}: {said}" for name, said in columns.items()),
        _left_out(stream.left_out()),
    )


def _left_out(columns: dict[str, str]) -> str | None:
    if not columns:
        return None
    file = next(iter(columns.values()))
    what = "is not a column" if len(columns) == 1 else "are not columns"
    return f"{listed([*columns])} of {file} {what} of the model: what is new there is not learned from"


def _one_class(learner: Any) -> str | None:
    if not isinstance(learner, ClassLearner) or not learner.has_begun:
        return None
    tally = learner.progressive_
    came = [label for label, n in zip(tally.classes.tolist(), tally.seen.tolist(), strict=True) if n > 0]
    if len(came) != 1:
        return None
    return f"only one class came, {came[0]!r}: there was nothing to tell apart, and the error says nothing"


def _nothing_to_tell_by(stream: Stream) -> str | None:
    if stream.schema is None or stream.schema.columns:
        return None
    return "there are no columns of features: all rows look the same to the model"


def _missing(labels: Sequence[Label]) -> str | None:
    odd = [label for label in labels if isinstance(label, str) and _core.says_missing(as_bytes(label))]
    if not odd or len(labels) < 2:
        return None
    return f"the label {odd[0]!r} is a class like any other; if it means that there is none, leave out its rows"
