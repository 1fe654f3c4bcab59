"""``sureline predict``."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import click

from .._atomic import replacing
from ..learners.answers import answer
from ..learners.learner import ClassLearner, Learner
from ..learners.saving import read_learner
from ..stream import Chunk
from ._options import (
    data_argument,
    model_option,
    opened,
    reading_arguments,
    reading_options,
    refuse_other_columns,
    refuse_same_file,
)


@click.command("predict", short_help="Write a label, a score and a confidence, or a predicted number, for each row.")
@data_argument
@model_option
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default="-",
    show_default=True,
    help="Where to write; - is standard output.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON lines instead of CSV.")
@reading_options(of_model=True)
def command(data: tuple[str, ...], model_path: Path, output: Path, as_json: bool, **options: Any) -> None:
    """Write a row for each row of DATA: label, score, confidence; or of a regressor the predicted value.

    The score is that of the positive label, or with more than two of the predicted one. The confidence is the model's
    own probability that its label is right, not calibrated; learners without one leave it empty. Tags of VW rows come
    first. Labels in DATA are not looked at.
    """
    model = read_learner(model_path)
    if str(output) != "-":
        refuse_same_file("--output", output, [*data, str(model_path)])
    source = opened(
        data,
        dtype=str(model.learner.model.dtype),
        need_label=False,
        **reading_arguments(options, model.input_options),
    )
    refuse_other_columns(model.input_options, source)
    with _opened(output) as out:
        names = ["label", "score", "confidence"] if isinstance(model.learner, ClassLearner) else ["value"]
        write: _Csv | _Json = _Json(out, names) if as_json else _Csv(out, names)
        for chunk in source:
            tags = None if chunk.tags is None else [tag.decode(errors="replace") for tag in chunk.tags]
            write(tags, _columns(model.learner, chunk))
        write.close()
    if source.faults.count:
        print(f"sureline predict: left out {source.faults.count:,} lines that could not be read", file=sys.stderr)


def _columns(learner: Learner, chunk: Chunk) -> list[list[Any]]:
    """Columns of the output for the rows of a chunk."""
    if not isinstance(learner, ClassLearner):
        scores, _ = learner.judge_rows(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns)
        return [scores[:, 0].tolist()]
    answers = answer(learner, chunk)
    confidence = [None] * chunk.n_rows if answers.confidence is None else answers.confidence.tolist()
    return [learner.classes_[answers.chosen].tolist(), answers.score.tolist(), confidence]


class _Text:
    """Text into a file that takes bytes, some of it at a time."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._waiting: list[str] = []

    def write(self, text: str) -> None:
        self._waiting.append(text)
        if len(self._waiting) >= 4096:
            self.flush()

    def flush(self) -> None:
        self._write("".join(self._waiting).encode())
        self._waiting.clear()


@contextmanager
def _opened(path: Path) -> Iterator[_Text]:
    """Standard output, or a file that takes its place only when it is complete."""
    if str(path) == "-":
        out = _Text(sys.stdout.buffer.write)
        yield out
        out.flush()
        return
    with replacing(path) as file:
        out = _Text(file.write)
        yield out
        out.flush()


class _Csv:
    """A header, then a line for each row."""

    _FORMATS: ClassVar[dict[str, str]] = {"score": ".9g", "value": ".9g", "confidence": ".6f"}

    def __init__(self, out: _Text, names: list[str]) -> None:
        self._writer = csv.writer(out, lineterminator="\n")
        self._names = names
        self._headed = False

    def __call__(self, tags: list[str] | None, columns: list[list[Any]]) -> None:
        self._head(tags is not None)
        shown = [
            ["" if cell is None else format(cell, self._FORMATS[name]) for cell in column]
            if name in self._FORMATS
            else column
            for name, column in zip(self._names, columns, strict=True)
        ]
        self._writer.writerows(zip(*([tags] if tags is not None else []), *shown, strict=True))

    def _head(self, tagged: bool) -> None:
        if not self._headed:
            self._writer.writerow((["tag"] if tagged else []) + self._names)
            self._headed = True

    def close(self) -> None:
        self._head(False)


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
