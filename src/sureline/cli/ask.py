"""``sureline ask``."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..evaluate.labelling import ToLabel
from ..learners.learner import ClassLearner
from ..learners.saving import read_learner
from ..stream import Stream
from ._options import data_argument, json_option, model_option, opened, reading_arguments, reading_options
from ._paths import FileCommand

_LINES = ("libsvm", "vw", "jsonl", "text")  # formats of which a row is a line


@click.command("ask", cls=FileCommand, short_help="List the rows whose labels would teach a model most.")
@data_argument
@model_option
@click.option("--best", type=click.IntRange(1, 100_000), default=100, show_default=True, help="How many rows to list.")
@json_option
@reading_options(of_model=True)
def command(data: tuple[str, ...], model_path: Path, best: int, as_json: bool, **options: Any) -> None:
    """List the rows of DATA to label next: those that the model is least sure of, none like another.

    As CSV: the number of the row, its tag if there is one, the label that the model would give it, its confidence, how
    many standard deviations the score is from the boundary, and the line itself where a row is a line of a plain file.
    """
    model = read_learner(model_path)
    learner = model.learner
    if not isinstance(learner, ClassLearner):
        raise click.UsageError(f"Labels are for classifiers, and {type(learner).__name__} predicts numbers.")
    source = opened(
        data, dtype=str(learner.model.dtype), need_label=False, **reading_arguments(options, model.input_options)
    )
    learner.origin.refuse_other(source)
    to_label = ToLabel(learner, best)
    for chunk in source:
        to_label.add(chunk)
    rows = [asdict(row) for row in to_label.best()]
    texts = _texts(source, {row["row"] for row in rows})
    told = [{**row, **({"text": texts[row["row"]]} if texts else {})} for row in rows]
    if all(row["tag"] is None for row in told):
        told = [{name: value for name, value in row.items() if name != "tag"} for row in told]
    if as_json:
        print(json.dumps({"rows": to_label.rows, "ask": told}))
        return
    names = list(told[0]) if told else ["row", "label", "confidence", "certainty"]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    for row in told:
        writer.writerow({**row, "confidence": f"{row['confidence']:.6f}", "certainty": f"{row['certainty']:.9g}"})


def _texts(source: Stream, wanted: set[int]) -> dict[int, str]:
    """The lines of these rows; none where a row is no line of a plain file, or some lines were left out."""
    if source.format not in _LINES or source.faults.count or not all(Path(path).is_file() for path in source.paths):
        return {}
    found = {number: line for number, line in enumerate(_lines(source.paths), 1) if number in wanted}
    return found if set(found) == wanted else {}


def _lines(paths: list[str]) -> Iterator[str]:
    for path in paths:
        with open(path, "rb") as file:
            if file.peek(4)[:4].startswith((b"\x1f\x8b", b"BZh", b"\xfd7zX", b"\x28\xb5\x2f\xfd")):
                return  # compressed
            for line in file:
                text = line.decode(errors="replace").rstrip("\r\n")
                if text.strip():
                    yield text
