"""``sureline ask``."""

from __future__ import annotations

import csv
import json
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
from ._writing import UnixLines, has_half, opened_text, refuse_halves, safe

_LINES = ("libsvm", "vw", "jsonl", "text")  # formats with one row per line


@click.command("ask", cls=FileCommand, short_help="List the rows whose labels would help a model most.")
@data_argument
@model_option
@click.option("--best", type=click.IntRange(1, 100_000), default=100, show_default=True, help="How many rows to list.")
@json_option
@click.option("--csv-safe", is_flag=True, help="For spreadsheets: put an apostrophe before what looks like a formula.")
@reading_options(of_model=True)
def command(data: tuple[str, ...], model_path: Path, best: int, as_json: bool, csv_safe: bool, **options: Any) -> None:
    """List the rows of DATA to label next: those that the model is least sure of, without near duplicates.

    The output is CSV: the number of the row, its tag if there is one, the predicted label, its confidence, the distance
    of the score from the boundary in standard deviations, and the line itself if the file is plain text.
    """
    if as_json and csv_safe:
        raise click.UsageError("--csv-safe is for CSV, and the output is JSON.")
    model = read_learner(model_path)
    learner = model.learner
    if not isinstance(learner, ClassLearner):
        raise click.UsageError(f"Labels are for classifiers, and {type(learner).__name__} predicts numbers.")
    if not as_json:
        refuse_halves(learner.labels, "CSV cannot hold it; JSON can (--json)")
    source = opened(
        data, dtype=str(learner.model.dtype), need_label=False, **reading_arguments(options, model.input_options)
    )
    learner.origin.refuse_other(source)
    to_label = ToLabel(learner, best)
    for chunk in source:
        to_label.add(chunk)
    rows = [asdict(row) for row in to_label.best()]
    texts = _texts(source, {row["row"] for row in rows}, to_label.rows)
    errors = "replace" if as_json else "surrogateescape"  # of bytes that are no UTF-8: CSV has them as they are
    told = [{**row, **({"text": texts[row["row"]].decode(errors=errors)} if texts else {})} for row in rows]
    if all(row["tag"] is None for row in told):
        told = [{name: value for name, value in row.items() if name != "tag"} for row in told]
    if as_json:
        for row in told:
            if has_half(row.get("tag")):
                raise click.ClickException(f"the tag of row {row['row']:,} is no UTF-8, which CSV alone can hold.")
        print(json.dumps({"rows": to_label.rows, "ask": told}))
        return
    names = list(told[0]) if told else ["row", "label", "confidence", "certainty"]
    with opened_text(Path("-")) as out:
        writer = csv.DictWriter(UnixLines(out), names)
        writer.writeheader()
        for row in told:
            cells = {**row, "confidence": f"{row['confidence']:.6f}", "certainty": f"{row['certainty']:.9g}"}
            writer.writerow({name: safe(cell) for name, cell in cells.items()} if csv_safe else cells)


def _texts(source: Stream, wanted: set[int], n_rows: int) -> dict[int, bytes]:
    """The lines of these rows; empty if rows are not lines of a plain file."""
    if source.format not in _LINES or source.faults.count or not all(Path(path).is_file() for path in source.paths):
        return {}
    found, number = {}, 0
    for number, line in enumerate(_lines(source.paths), 1):
        if number in wanted:
            found[number] = line
    return found if number == n_rows else {}


def _lines(paths: list[str]) -> Iterator[bytes]:
    for path in paths:
        with open(path, "rb") as file:
            if file.peek(4)[:4].startswith((b"\x1f\x8b", b"BZh", b"\xfd7zX", b"\x28\xb5\x2f\xfd")):
                return  # compressed
            for line in file:
                text = line.rstrip(b"\r\n")
                if text.strip():
                    yield text
