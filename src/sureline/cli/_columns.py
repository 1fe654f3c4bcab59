"""Columns of the output of `sureline predict`. Options add columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..learners.abstention import Abstention
from ..learners.answers import Answers, answer
from ..learners.explanation import Explainer
from ..learners.learner import ClassLearner, Learner
from ..learners.novelty import std_ratio, unseen_share, usual_std
from ..stream import Chunk, DataError, Stream

SCORE = ".9g"
PROBABILITY = ".6f"


class Batch:
    """A batch of rows to answer. Results that several columns need are computed once."""

    def __init__(self, learner: Learner, chunk: Chunk) -> None:
        self.learner, self.chunk = learner, chunk

    @cached_property
    def answers(self) -> Answers:
        """The answers of a classifier."""
        assert isinstance(self.learner, ClassLearner)
        return answer(self.learner, self.chunk)

    @cached_property
    def values(self) -> list[float]:
        """The predicted numbers of a regressor."""
        chunk = self.chunk
        scores, _ = self.learner.judge_rows(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns)
        values: list[float] = scores[:, 0].tolist()
        return values


@dataclass(frozen=True)
class Column:
    """A column of the output: its name, its cells for a batch of rows, and the format of a cell in CSV ("" for none).

    `type` gives the Arrow type of a column taken from the data, by the first batch.
    """

    name: str
    cells: Callable[[Batch], Sequence[Any]]
    shown: str = ""
    type: Callable[[Batch], Any] | None = None


def answer_columns(learner: Learner) -> list[Column]:
    """Label, score and confidence; of a regressor the value."""
    if not isinstance(learner, ClassLearner):
        return [Column("value", lambda batch: batch.values, SCORE)]
    return [
        Column("label", lambda batch: learner.classes_[batch.answers.chosen].tolist()),
        Column("score", lambda batch: batch.answers.score.tolist(), SCORE),
        Column("confidence", lambda batch: batch.answers.confidence.tolist(), PROBABILITY),
    ]


class Abstaining:
    """Leaves the labels of rows empty that are not answered, and counts them."""

    def __init__(self, learner: ClassLearner, rule: Abstention) -> None:
        self._learner, self._rule = learner, rule
        self.rows = self.answered = 0

    def labels(self, batch: Batch) -> list[Any]:
        answers = batch.answers
        answered = self._rule.answers(self._learner, answers.scores, answers.variances)
        self.rows += len(answered)
        self.answered += int(answered.sum())
        labels = self._learner.classes_[answers.chosen].tolist()
        return [label if kept else None for label, kept in zip(labels, answered.tolist(), strict=True)]

    def columns(self, columns: list[Column]) -> list[Column]:
        """The columns with these labels."""
        return [Column("label", self.labels) if column.name == "label" else column for column in columns]

    def in_words(self) -> str:
        """A sentence: the number of answered rows, or why no row was answered."""
        if self._rule.why:
            return self._rule.in_words()
        share = self.answered / max(self.rows, 1)
        return (
            f"answered {self.answered:,} of {self.rows:,} rows ({share:.1%}; in training it was "
            f"{self._rule.coverage:.1%}), the others have no label"
        )


def probability_columns(learner: ClassLearner) -> list[Column]:
    """The probability of each label."""

    def of(k: int) -> Callable[[Batch], Sequence[Any]]:
        return lambda batch: batch.answers.probabilities[:, k].tolist()

    return [Column(f"probability of {label}", of(k), PROBABILITY) for k, label in enumerate(learner.labels)]


def novelty_columns(learner: ClassLearner) -> list[Column]:
    """The columns of novelty: the share of unseen features, and the relative std if it is known."""

    def ratios(batch: Batch) -> Sequence[Any]:
        found = std_ratio(learner, batch.answers.scores, batch.answers.variances)
        return [None] * len(batch.chunk) if found is None else found.tolist()

    def unseen(batch: Batch) -> Sequence[Any]:
        chunk = batch.chunk
        shares: list[float] = unseen_share(learner, chunk.values, chunk.indices, chunk.indptr).tolist()
        return shares

    columns = [Column("unseen", unseen, PROBABILITY)]
    record = learner.model.record
    if learner.has_variances and record is not None and usual_std(record) is not None:
        columns.append(Column("std ratio", ratios, SCORE))
    return columns


def explanation_column(learner: Learner, n: int) -> Column:
    """The n features that contribute most to the score."""
    explainer = Explainer(learner)

    def explained(batch: Batch) -> list[Any]:
        chunk = batch.chunk
        return explainer.explain(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns, n=n, names=chunk.names)

    return Column("explanation", explained)


def kept_columns(names: Sequence[str], taken: Sequence[Column]) -> list[Column]:
    """Columns of the data that are handed through; "input NAME" where the output has another of that name."""
    others = {column.name for column in taken}

    def kept(name: str) -> Column:
        def cells(batch: Batch) -> Sequence[Any]:
            found = batch.chunk.kept.get(name)
            return [None] * len(batch.chunk) if found is None else found.cells

        def type(batch: Batch) -> Any:
            found = batch.chunk.kept.get(name)
            return None if found is None else found.type

        return Column(f"input {name}" if name in others else name, cells, type=type)

    return [kept(name) for name in dict.fromkeys(names)]


def row_number_column() -> Column:
    """The number of each row of DATA, from 1; lines that are no rows do not count."""

    def numbers(batch: Batch) -> Sequence[Any]:
        end = batch.chunk.end.rows
        return range(end - len(batch.chunk) + 1, end + 1)

    return Column("row", numbers)


def tag_column(source: Stream, *, strict: bool) -> Column:
    """The column of tags. Bytes that are not UTF-8 are kept, or refused if `strict`."""

    def tags(batch: Batch) -> list[str]:
        chunk = batch.chunk
        if chunk.tags is None:
            return [""] * len(chunk)
        try:
            return [tag.decode(errors="strict" if strict else "surrogateescape") for tag in chunk.tags]
        except UnicodeDecodeError as error:
            row = chunk.end.rows - len(chunk) + chunk.tags.index(error.object) + 1
            raise DataError(
                source.paths[chunk.end.file],
                f"the tag of row {row:,} is no UTF-8, which CSV alone can hold",
            ) from None

    return Column("tag", tags)
