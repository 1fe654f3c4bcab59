"""``sureline predict``."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import click

from .._atomic import replacing
from .._inputs import printable
from ..learners.answers import answer
from ..learners.learner import ClassLearner, Learner
from ..learners.saving import read_learner
from ..stream import Chunk, DataError, Stream
from ._options import (
    data_argument,
    model_option,
    opened,
    reading_arguments,
    reading_options,
)
from ._paths import FileCommand, Written

_AT_ONCE = 1 << 18  # characters
_FORMULAS = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "\uff1d",
    "\uff0b",
    "\uff0d",
    "\uff20",
)  # the last four are wide ones
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@click.command(
    "predict",
    cls=FileCommand,
    short_help="Write a label, a score and a confidence, or a predicted number, for each row.",
)
@data_argument
@model_option
@click.option(
    "--output",
    type=Written(dash=True),
    default="-",
    show_default=True,
    help="Where to write; - is standard output.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON lines instead of CSV.")
@click.option("--probabilities", is_flag=True, help="Add the probability of each label, a column for each.")
@click.option(
    "--csv-safe",
    is_flag=True,
    help="For spreadsheets: put an apostrophe before labels and tags that would be taken for formulas, those that "
    "begin with = + - @, a tab or a line end. Numbers stay numbers.",
)
@reading_options(of_model=True)
def command(
    data: tuple[str, ...],
    model_path: Path,
    output: Path,
    as_json: bool,
    probabilities: bool,
    csv_safe: bool,
    **options: Any,
) -> None:
    """Write a row for each row of DATA: label, score, confidence; or of a regressor the predicted value.

    The score is that of the positive label, or with more than two of the predicted one. The confidence is the
    probability that the label is right, calibrated by the predictions that were made in training before each label was
    known. Tags of VW rows come first. Labels in DATA are not looked at.
    """
    if as_json and csv_safe:
        raise click.UsageError("--csv-safe is for CSV, and --json writes none.")
    model = read_learner(model_path)
    source = opened(
        data,
        dtype=str(model.learner.model.dtype),
        need_label=False,
        **reading_arguments(options, model.input_options),
    )
    model.learner.origin.refuse_other(source)
    learner = model.learner
    if probabilities and not isinstance(learner, ClassLearner):
        raise click.UsageError(f"--probabilities is for classifiers, and {type(learner).__name__} predicts numbers.")
    with _opened(output) as out:
        names = ["label", "score", "confidence"] if isinstance(learner, ClassLearner) else ["value"]
        if probabilities:
            names += [f"probability of {label}" for label in learner.labels]
        write: _Csv | _Json = _Json(out, names) if as_json else _Csv(out, names, safe=csv_safe)
        for chunk in source:
            write(_tags(chunk, source, strict=as_json), _columns(learner, chunk, probabilities=probabilities))
        write.close()
    if source.faults.count:
        print(f"sureline predict: left out {source.faults.count:,} lines that could not be read", file=sys.stderr)


def _columns(learner: Learner, chunk: Chunk, *, probabilities: bool) -> list[list[Any]]:
    """Columns of the output for the rows of a chunk."""
    if not isinstance(learner, ClassLearner):
        scores, _ = learner.judge_rows(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns)
        return [scores[:, 0].tolist()]
    answers = answer(learner, chunk)
    columns = [learner.classes_[answers.chosen].tolist(), answers.score.tolist(), answers.confidence.tolist()]
    return columns + (answers.probabilities.T.tolist() if probabilities else [])


def _tags(chunk: Chunk, source: Stream, *, strict: bool) -> list[str] | None:
    """The tags of the rows. Bytes that are no UTF-8 stay as they are, unless that is `strict`."""
    if chunk.tags is None:
        return None
    try:
        return [tag.decode(errors="strict" if strict else "surrogateescape") for tag in chunk.tags]
    except UnicodeDecodeError as error:
        row = chunk.end.rows - len(chunk) + chunk.tags.index(error.object) + 1
        raise DataError(
            source.paths[chunk.end.file], f"the tag of row {row:,} is no UTF-8, and JSON holds nothing else; CSV does"
        ) from None


class _Text:
    """Text into a file that takes bytes, some of it at a time."""

    def __init__(self, write: Callable[[bytes], object], *, terminal: bool = False) -> None:
        self._write, self._terminal = write, terminal
        self._waiting: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        self._waiting.append(text)
        self._size += len(text)
        if self._size >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        text = "".join(self._waiting)
        if self._terminal:
            text = printable(text, but="\n\t")
        self._write(text.encode(errors="surrogateescape"))
        self._waiting.clear()
        self._size = 0


@contextmanager
def _opened(path: Path) -> Iterator[_Text]:
    """Standard output, or a file that takes its place only when it is complete."""
    if str(path) == "-":
        out = _Text(sys.stdout.buffer.write, terminal=sys.stdout.isatty())
        yield out
        out.flush()
        return
    with replacing(path) as file:
        out = _Text(file.write)
        yield out
        out.flush()


class _Csv:
    """A header, then a line for each row."""

    _FORMATS: ClassVar[dict[str, str]] = {"label": "", "score": ".9g", "value": ".9g"}
    _OF_PROBABILITIES = ".6f"

    def __init__(self, out: _Text, names: list[str], *, safe: bool = False) -> None:
        self._out = out
        self._writer = csv.writer(self)  # which puts what has either end of a line into quotes, by its own, CRLF
        self._names, self._safe = names, safe
        self._headed = False

    def __call__(self, tags: list[str] | None, columns: list[list[Any]]) -> None:
        self._head(tags is not None)
        formats = [self._FORMATS.get(name, self._OF_PROBABILITIES) for name in self._names]
        shown = [
            [format(cell, how) for cell in column] if how else column
            for how, column in zip(formats, columns, strict=True)
        ]
        cells = ([tags] if tags is not None else []) + shown
        if self._safe:
            cells = [[_safe(cell) for cell in column] for column in cells]
        self._writer.writerows(zip(*cells, strict=True))

    def write(self, row: str) -> None:
        """A row of the writer, with an end of line as on Unix."""
        self._out.write(row.removesuffix("\r\n") + "\n")

    def _head(self, tagged: bool) -> None:
        if not self._headed:
            self._writer.writerow((["tag"] if tagged else []) + self._names)
            self._headed = True

    def close(self) -> None:
        self._head(False)


def _safe(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    formula = isinstance(cell, str) and cell.startswith(_FORMULAS) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if formula else cell


class _Json:
    """An object for each row."""

    def __init__(self, out: _Text, names: list[str]) -> None:
        self._out = out
        self._names = names

    def __call__(self, tags: list[str] | None, columns: list[list[Any]]) -> None:
        for k, cells in enumerate(zip(*columns, strict=True)):
            row = dict(zip(self._names, cells, strict=True))
            self._out.write(json.dumps(row if tags is None else {"tag": tags[k], **row}) + "\n")

    def close(self) -> None:
        """Nothing is left to say."""
