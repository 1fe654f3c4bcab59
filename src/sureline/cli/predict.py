"""``sureline predict``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..learners.abstention import abstention_of
from ..learners.alarms import in_words
from ..learners.learner import ClassLearner, Learner
from ..learners.saving import read_learner
from ..learners.watching import NoveltyWatch
from ._columns import (
    Abstaining,
    Batch,
    answer_columns,
    explanation_column,
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
    short_help="Write a label, a score and a confidence, or a predicted number, for each row.",
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
@click.option("--probabilities", is_flag=True, help="Add the probability of each label, a column for each.")
@click.option(
    "--max-error",
    type=float,
    help="Answer only where at most this share of the answers is wrong, such as 0.01, and leave other labels empty. "
    "[default: answer all]",
)
@click.option(
    "--cost",
    type=Cost(),
    help="Of a missed positive and of a false alarm, such as 10,1: --max-error is then the mean cost of an answer. "
    "[default: 1,1]",
)
@click.option(
    "--novelty",
    is_flag=True,
    help="Add how new each row is: the share of features never seen, and the std as a multiple of the usual one.",
)
@click.option("--row-numbers", is_flag=True, help="Begin each row with its number in DATA, from 1.")
@click.option(
    "--explain",
    type=click.IntRange(1),
    metavar="N",
    help="Add the N features that contribute most to the score. [default: none]",
)
@click.option(
    "--csv-safe",
    is_flag=True,
    help="For spreadsheets: put an apostrophe before labels and tags that would be taken for formulas, those that "
    "begin with = + - @, a tab or a line end. Numbers stay numbers.",
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
    csv_safe: bool,
    **options: Any,
) -> None:
    """Write a row for each row of DATA: label, score, confidence; or of a regressor the predicted value.

    The score is that of the positive label, or with more than two of the predicted one. The confidence is the
    probability that the label is right, calibrated by the predictions that were made in training before each label was
    known. Tags of VW rows come first. Labels in DATA are not looked at.

    With --max-error the label of a row is empty unless it is sure enough for the promised error of all answers.
    """
    try:
        kind, compression = format_of(output, as_json=as_json)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if kind != "csv" and csv_safe:
        raise click.UsageError("--csv-safe is for CSV, and --json writes none.")
    model = read_learner(model_path)
    source = opened(
        data,
        dtype=str(model.learner.model.dtype),
        need_label=False,
        follow=follow,
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
    if row_numbers:
        columns.insert(0, row_number_column())
    tag = tag_column(source, strict=kind != "csv")
    source.rows_at_once = source.endless

    def stop() -> None:
        if not source.stop_following():
            raise KeyboardInterrupt

    with signals_to(stop), opened_writer(output, kind, compression, safe=csv_safe, labels=learner.labels) as writer:
        begun = False
        for chunk in source:
            if not begun:
                writer.begin(columns if chunk.tags is None else [tag, *columns])
                begun = True
            batch = Batch(learner, chunk)
            writer.write(batch)
            if watch is not None:
                watch.add(chunk, batch.answers)
            if source.endless:
                writer.flush()
        if not begun:
            writer.begin(columns)
    if abstaining is not None:
        print(f"sureline predict: {abstaining.in_words()}", file=sys.stderr)
    for said in [] if watch is None else in_words(watch.alarms):
        print(f"sureline predict: {said}", file=sys.stderr)
    if source.faults.count:
        print(f"sureline predict: left out {source.faults.count:,} lines that could not be read", file=sys.stderr)


def _abstaining(learner: Learner, max_error: float | None, cost: Any) -> Abstaining | None:
    """Which rows are answered, if not all are."""
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
