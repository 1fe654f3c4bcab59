"""``sureline predict``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..learners.abstention import abstention_of
from ..learners.alarms import in_words
from ..learners.answers import answerable
from ..learners.learner import ClassLearner, Learner
from ..learners.saving import read_learner
from ..learners.watching import NoveltyWatch
from ..stream import DataError
from ._columns import (
    Abstaining,
    Batch,
    answer_columns,
    explanation_column,
    kept_columns,
    novelty_columns,
    probability_columns,
    row_number_column,
    tag_column,
)
from ._options import (
    endless_data,
    model_option,
    opened,
    reading_arguments,
    reading_options,
)
from ._parameters import Cost
from ._paths import FileCommand, Written
from ._signals import signals_to
from ._writing import format_of, opened_writer


@click.command(
    "predict",
    cls=FileCommand,
    short_help="Predict a label, score and confidence, or a number, for each row.",
)
@endless_data
@model_option
@click.option(
    "--output",
    type=Written(dash=True),
    default="-",
    show_default=True,
    help="File to write: .csv, .jsonl (also .gz, .bz2, .xz, .zst), .parquet or .arrow; - is standard output.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON lines instead of CSV.")
@click.option("--probabilities", is_flag=True, help="Add a column with the probability of each label.")
@click.option(
    "--max-error",
    type=float,
    help="Abstain: answer only where at most this share of answers is wrong, such as 0.01. Other labels are empty. "
    "[default: answer all]",
)
@click.option(
    "--cost",
    type=Cost(),
    help="Cost of a missed positive and of a false alarm, such as 10,1. --max-error then bounds the mean cost of an "
    "answer. [default: 1,1]",
)
@click.option(
    "--novelty",
    is_flag=True,
    help="Add the novelty of each row: the share of features never seen, and the std of its score relative to "
    "training.",
)
@click.option("--row-numbers", is_flag=True, help="Put the number of each row, from 1, before its answer.")
@click.option(
    "--explain",
    type=click.IntRange(1),
    metavar="N",
    help="Add the N features that contribute most to the score. [default: none]",
)
@click.option(
    "--keep",
    metavar="COLUMNS",
    help="Tables: columns of DATA to copy to the output, with commas between them. [default: none]",
)
@click.option(
    "--csv-safe",
    is_flag=True,
    help="For spreadsheets: put an apostrophe before labels, tags and other cells that would be taken for formulas, "
    "those that begin with = + - @, a tab or a line end. Numbers stay numbers.",
)
@reading_options(of_model=True)
def command(
    data: tuple[str, ...],
    follow: Path | None,
    model_path: Path,
    output: Path,
    as_json: bool,
    probabilities: bool,
    max_error: float | None,
    cost: Any,
    novelty: bool,
    row_numbers: bool,
    explain: int | None,
    keep: str | None,
    csv_safe: bool,
    **options: Any,
) -> None:
    """Predict label, score and confidence of each row of DATA, or the value if the model is a regressor.

    The score is that of the positive label, or with more than two labels that of the predicted one. The confidence is
    the probability that the label is right. It is calibrated on the predictions made in training before each label was
    known. Tags of VW rows come first. Labels in DATA are ignored.

    With --max-error a row has no label unless its confidence is high enough.
    """
    try:
        kind, compression = format_of(output, as_json=as_json)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if kind != "csv" and csv_safe:
        raise click.UsageError(f"--csv-safe is for CSV, and the output is {kind}.")
    model = read_learner(model_path)
    source = opened(
        data,
        dtype=str(model.learner.model.dtype),
        need_label=False,
        follow=follow,
        keep=keep or (),
        collect_names=1 if explain is not None else 0,
        **reading_arguments(options, model.input_options),
    )
    model.learner.origin.refuse_other(source)
    learner = model.learner
    if probabilities and not isinstance(learner, ClassLearner):
        raise click.UsageError(f"--probabilities is for classifiers, and {type(learner).__name__} predicts numbers.")
    if novelty and not isinstance(learner, ClassLearner):
        raise click.UsageError(f"--novelty is for classifiers, and {type(learner).__name__} predicts numbers.")
    columns = answer_columns(learner)
    if probabilities and isinstance(learner, ClassLearner):
        columns += probability_columns(learner)
    abstaining = _abstaining(learner, max_error, cost)
    if abstaining is not None:
        columns = abstaining.columns(columns)
    if novelty and isinstance(learner, ClassLearner):
        columns += novelty_columns(learner)
    watch = NoveltyWatch(learner, compact=model.compact) if isinstance(learner, ClassLearner) else None
    if explain is not None:
        columns.append(explanation_column(learner, explain))
    tag = tag_column(source, strict=kind != "csv")
    columns = [*kept_columns(source.options.keep, [row_number_column(), tag, *columns]), *columns]
    names = [column.name for column in columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise click.UsageError(f"--keep would give two columns {twice!r}.")
    if row_numbers:
        columns.insert(0, row_number_column())
    source.rows_at_once = source.endless

    def stop() -> None:
        if not source.stop_following():
            raise KeyboardInterrupt

    with signals_to(stop), opened_writer(output, kind, compression, safe=csv_safe, labels=learner.labels) as writer:
        begun = tagged = False
        for chunk in (part for whole in source for part in answerable(learner, whole)):
            batch = Batch(learner, chunk)
            if not begun:
                tagged = chunk.tags is not None or source.may_have_tags
                writer.begin([tag, *columns] if tagged else columns, batch)
                begun = True
            elif chunk.tags is not None and not tagged:
                raise DataError(
                    source.paths[chunk.end.file],
                    "rows have tags, and the output was begun without a column for them, as those before have none: "
                    "send all rows by a pipe, cat FILES | sureline predict -, and there is always one",
                )
            writer.write(batch)
            if watch is not None:
                watch.add(chunk, batch.answers)
            if source.endless:
                writer.flush()
        if not begun:
            writer.begin([tag, *columns] if source.may_have_tags else columns)
    if abstaining is not None:
        print(f"sureline predict: {abstaining.in_words()}", file=sys.stderr)
    for said in [] if watch is None else in_words(watch.alarms):
        print(f"sureline predict: {said}", file=sys.stderr)
    if source.faults.count:
        print(f"sureline predict: left out {source.faults.count:,} lines that could not be read", file=sys.stderr)


def _abstaining(learner: Learner, max_error: float | None, cost: Any) -> Abstaining | None:
    """The rule for which rows are answered; None if all are."""
    if max_error is None:
        if cost is not None:
            raise click.UsageError("--cost is what --max-error is promised on. Name both.")
        return None
    if not isinstance(learner, ClassLearner):
        raise click.UsageError(f"--max-error is for classifiers, and {type(learner).__name__} predicts numbers.")
    if cost == "balanced":
        raise click.BadParameter("a cost is two numbers here, such as 10,1.", param_hint="--cost")
    try:
        return Abstaining(learner, abstention_of(learner, max_error, cost))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--max-error") from None
