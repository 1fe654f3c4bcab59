"""The outcome of ``sureline train``, in words and for JSON."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from ..learners.learner import ClassLearner
from ..stream import Stream
from ..training.advice import MEASURES
from ..training.choosing import Choice
from ..training.commands import options_of
from ..training.train import Training
from ._words import labels_in_words, measures_in_words


def summary_of(training: Training, path: Path, seconds: float, examples: int) -> dict[str, Any]:
    """The outcome of a training, for JSON."""
    learner, asking = training.learner, training.asking
    measures = learner.progressive_measures()
    if asking is not None:  # labels that were asked for belong to hard rows, so measures over all rows are estimates
        measures = {"rows": asking.rows, "asked": asking.asked, "error": asking.error}
    return {
        "algorithm": type(learner).__name__,
        "examples": training.examples,
        **({} if training.since_start is None or asking is not None else {"since_start": training.since_start}),
        **measures,
        **({} if training.frozen.error is None else {"frozen_error": training.frozen.error}),
        "updates": learner.n_updates_,
        **({"labels": learner.classes_.tolist()} if isinstance(learner, ClassLearner) else {}),
        "features": learner.model.n_columns,
        "nonzeros": learner.nonzero_,
        "skipped_lines": training.source.faults.count,
        "seconds": round(seconds, 3),
        "examples_per_second": round(examples / max(seconds, 1e-9)),
        "model": str(path),
        "model_bytes": path.stat().st_size,
        **({} if training.stream.schema is None else {"schema": training.stream.schema.to_dict()}),
        "order": training.order.to_dict(),
        **({"label_runs": training.classes.runs.to_dict()} if asking is None else {}),
        "warnings": [said for said in (training.order.found, training.warning) if said is not None],
        "alarms": [alarm.to_dict() for alarm in training.rises.alarms],
    }


def in_words(summary: dict[str, Any]) -> str:
    """The same for a terminal."""
    lines = [
        f"{summary['algorithm']}: {_first_words(summary)}",
        *_since_start(summary),
        *_frozen(summary),
        f"{summary['seconds']:.2f} s, {summary['examples_per_second']:,} examples/s",
        *([f"labels: {labels_in_words(summary['labels'])}"] if "labels" in summary else []),
        f"columns: {summary['features']:,}, nonzero weights: {summary['nonzeros']:,}",
        f"model: {summary['model']}, {summary['model_bytes']:,} bytes",
    ]
    if summary["skipped_lines"]:
        lines.append(f"lines that could not be read and were left out: {summary['skipped_lines']:,}")
    return "\n".join(lines)


def _first_words(summary: dict[str, Any]) -> str:
    if "asked" not in summary:
        return f"{summary['examples']:,} examples, {measures_in_words(summary)}"
    share = summary["asked"] / max(summary["rows"], 1)
    error = "" if summary["error"] is None else f"; error {summary['error']:.4f}, estimated from these labels"
    return f"{summary['rows']:,} rows, {summary['asked']:,} labels asked for ({share:.1%}){error}"


def _since_start(summary: dict[str, Any]) -> list[str]:
    since = summary.get("since_start")
    return [] if since is None else [f"of these new: {since['examples']:,} examples, {measures_in_words(since)}"]


def _frozen(summary: dict[str, Any]) -> list[str]:
    error = summary.get("frozen_error")
    return [] if error is None else [f"error of the frozen model on the next block: {error:.4f}"]


def why(choice: Choice) -> str:
    """The chosen setting with the reason, and the options that train it without choosing."""
    options = shlex.join(options_of(choice.learner) or [])
    best = f"fewest mistakes, {choice.mistakes:,}, come"
    if choice.metric != "error":
        best = f"best {MEASURES[choice.metric]}, {choice.score:.4f}, comes"
    return f"Of {choice.tried} settings tried on the first {choice.rows:,} rows the {best} with {options}."


def stopped(examples: int | None, path: Path) -> click.ClickException:
    """The exception for a stopped training; `examples` are those in its checkpoint, if it has one."""
    if examples is None:
        return click.ClickException("stopped, and there was nothing yet to go on from.")
    return click.ClickException(
        f"stopped after {examples:,} examples; the same command with --resume goes on from {path}."
    )


def columns_in_words(source: Stream) -> str:
    """A line for each column of a table."""
    options, schema = source.options, source.schema
    assert schema is not None
    lines = schema.lines(options.label, options.weight)
    return "\n".join([f"The columns of {source.paths[0]}, by its first rows:", *lines])
