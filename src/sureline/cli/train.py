"""``sureline train``."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from .. import stream
from ..learners.catalogue import LEARNERS, learner_named
from ..learners.learner import ClassLearner, Learner
from ..stream.shuffling import BUFFER
from ..training.advice import MEASURES
from ..training.checkpoint import Checkpointing
from ..training.choosing import AUTO, ROWS, Choice, candidates, settings_of
from ..training.commands import flag, options_of
from ..training.identity import Verify
from ..training.metric import OF_RECORD, Metric
from ..training.order import Asked, decide
from ..training.result import MetricName
from ..training.start import Start, refuse_finished
from ..training.train import Training
from ._help import Algorithm, Rare
from ._options import (
    checkpoint_every,
    data_argument,
    json_option,
    opened,
    reading_arguments,
    reading_options,
)
from ._parameters import given_parameters, make_learner, parameter_options
from ._paths import FileCommand, Read, Written, beside
from ._progress import Reporter, SlowStartNotice
from ._signals import signals_to
from ._words import labels_in_words, measures_in_words

CHECKPOINT = ".checkpoint"  # appended to the name of the model
_NOTHING_YET = "stopped, and there was nothing yet to go on from."
_MUCH_WORK = 10.0  # seconds; longer work is saved when the data turn out to be wrong


@click.command("train", cls=FileCommand, short_help="Learn from a stream and write a model.")
@data_argument
@click.option(
    "--algorithm",
    type=Algorithm(AUTO),
    default=AUTO,
    show_default=True,
    metavar="NAME",
    help="One of " + ", ".join(name.lower() for name in LEARNERS) + "; or auto, which tries settings of several on the "
    f"first {ROWS:,} rows and trains the one with the fewest mistakes.",
)
@click.option(
    "--model",
    "model_path",
    required=True,
    type=Written(CHECKPOINT),
    help="File to write the model to.",
)
@click.option(
    "--labels",
    help="All labels, separated by commas, the negative one first. Not for regressors. "
    "[default: the sorted labels of the first rows, then others as they come]",
)
@click.option(
    "--checkpoint",
    metavar="every=N",
    help="Write a checkpoint for --resume every N examples (every=1M) or every so often (every=10m). "
    "[default: only when stopped by Ctrl-C or SIGTERM]",
)
@click.option(
    "--batch",
    cls=Rare,
    type=click.IntRange(1),
    metavar="ROWS",
    help="Rows of a batch, for batch learners (bcw, sbcw, fgm). [default: 100000]",
)
@click.option("--resume", is_flag=True, help="Continue a training of this model from its checkpoint.")
@click.option(
    "--from",
    "start_path",
    type=Read(replaced_by="--model"),
    help="Model to go on from. [default: none]",
)
@click.option(
    "--metric",
    type=click.Choice(["error", *OF_RECORD]),
    default="error",
    show_default=True,
    help="Metric that chooses among settings: mistakes, or how good the probabilities are.",
)
@click.option(
    "--verify",
    cls=Rare,
    type=click.Choice(get_args(Verify)),
    default="sample",
    show_default=True,
    help="How --resume checks that the data are unchanged: by size, inode, modification time and sampled blocks of "
    "each file; or by its full content, which reads the data once more and accepts a copy.",
)
@click.option(
    "--compact",
    cls=Rare,
    is_flag=True,
    help="Keep only features with nonzero weights. Labels and scores stay the same, confidences are lower, and the "
    "model cannot be trained further.",
)
@click.option(
    "--shuffle/--no-shuffle",
    default=None,
    help="Learn from the rows in random order. [default: if labels come in runs]",
)
@click.option(
    "--shuffle-buffer",
    cls=Rare,
    type=click.IntRange(1),
    default=BUFFER,
    show_default=True,
    metavar="ROWS",
    help="Rows that are mixed at a time. Pieces of files come into this buffer in random order. Those of a pipe, a "
    "compressed file, or CSV with newlines in cells come as they are.",
)
@click.option(
    "--seed", cls=Rare, type=click.IntRange(0), default=0, show_default=True, help="Seed of the random order."
)
@click.option(
    "--names/--no-names",
    cls=Rare,
    default=True,
    show_default=True,
    help="Store the names of hashed features in the model.",
)
@click.option("--log", cls=Rare, type=Written(append=True), help="Append the progress to this file, as JSON lines.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@json_option
@reading_options()
@parameter_options()
def command(
    data: tuple[str, ...],
    algorithm: str,
    model_path: Path,
    labels: str | None,
    checkpoint: str | None,
    batch: int | None,
    metric: MetricName,
    resume: bool,
    start_path: Path | None,
    verify: Verify,
    compact: bool,
    shuffle: bool | None,
    shuffle_buffer: int,
    seed: int,
    names: bool,
    log: Path | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn from DATA and write a model. DATA are files, globs, or - for standard input.

    Rows are learned from in their order, in one pass (or --passes). Files may be compressed.
    """
    parameters = given_parameters(options)
    try:
        given = None if labels is None else [stream.from_text(label.strip()) for label in labels.split(",")]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    start = None if start_path is None else _start(start_path, algorithm, parameters, given)
    if start is not None:
        learners: Sequence[Learner] = [start.learner]
    else:
        learners = _candidates(parameters) if algorithm.lower() == AUTO else _settings(algorithm, parameters)
    learner, to_be_chosen = learners[0], len(learners) > 1
    every = checkpoint_every(checkpoint) if checkpoint else (None, None)
    trained = learner.origin.options
    source = opened(data, dtype=learner.dtype, collect_names=names, **reading_arguments(options, trained))
    learner.origin.refuse_other(source)
    path = beside(model_path, CHECKPOINT)
    going_on = resume and path.exists()
    asked: Asked = "auto" if shuffle is None else shuffle
    # The order is decided by rows too, which may be long in coming.
    notice = SlowStartNotice(source, quiet=quiet, waits=to_be_chosen and not going_on)
    try:
        with signals_to(_stop):
            look = False if going_on and shuffle is None else asked
            order = decide(source, learner, look, buffer=shuffle_buffer, seed=seed)
    except KeyboardInterrupt:
        notice.over()
        raise click.ClickException(_NOTHING_YET) from None
    try:
        training = Training(learner, source, labels=given, batch=batch, verify=verify, start=start, order=order)
    except stream.DataError:
        raise  # wrong data is no usage error
    except ValueError as error:
        raise click.UsageError(
            re.sub(r"(?<=with )labels|(?<=: )(labels|batch)(?= is for)", r"--\g<0>", str(error))
        ) from None
    if training.passes > 1 and "-" in data:
        raise click.UsageError("Standard input can be read only once: --passes needs files.")
    if resume and not path.exists():
        try:
            refuse_finished(model_path, path, None if start is None else start.name, "--from ")
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    if resume and path.exists():
        training.resume(path, candidates=learners, decided=shuffle is None)
        _say(f"Going on after {training.examples:,} examples.", quiet)
    elif resume:
        whence = "from the beginning" if start is None else f"from {start.name}"
        _say(f"There is no checkpoint {path}: starting {whence}.", quiet)
    elif path.exists():
        _say(
            f"Starting anew; {path} of an earlier training is left until it is replaced (--resume goes on with it).",
            quiet,
        )

    if training.order.notice is not None and not going_on:
        _say(training.order.notice, quiet)
    started, before = time.monotonic(), training.examples
    choice = None
    if to_be_chosen and not training.begun:
        try:
            with signals_to(training.interrupt):
                choice = training.choose(learners, Metric(metric))
        except KeyboardInterrupt:
            raise click.ClickException(_NOTHING_YET) from None
        finally:
            notice.over()
        if choice.rows > 0:
            _say(_why(choice), quiet)
    reporter = Reporter(lambda: training.learner.nonzero_, begin=training.progress(), quiet=quiet, log=log)
    checkpointing = Checkpointing(path, *every)
    try:
        with signals_to(training.interrupt):
            training.run(checkpointing=checkpointing if checkpoint else None, on_progress=reporter)
            training.save_model(model_path, compact=compact)
    except KeyboardInterrupt:
        reporter.close(stopped=True, examples=training.examples)
        if not training.can_be_saved:
            raise click.ClickException(_NOTHING_YET) from None
        training.save_checkpoint(path)
        raise click.ClickException(
            f"stopped after {training.examples:,} examples; the same command with --resume goes on from {path}."
        ) from None
    except stream.DataError as error:
        reporter.close(failed=True, examples=training.examples)
        if not training.can_be_saved or (checkpoint is None and time.monotonic() - started < _MUCH_WORK):
            raise
        training.save_checkpoint(path)
        raise click.ClickException(
            f"{error}; the {training.examples:,} examples before are not lost: --resume goes on from {path}, "
            "with --errors skip if that line is to be left out."
        ) from None
    except BaseException:
        reporter.close()
        raise
    training.done_with(path)
    seconds = time.monotonic() - started
    summary = _summary(training, model_path, seconds, training.examples - before)
    if choice is not None:
        summary["chosen"] = {**choice.to_dict(), "options": shlex.join(options_of(choice.learner) or [])}
    last = ("examples", "mistakes", "error", "loss", "nonzeros", "seconds")
    reporter.close(finished=True, **{key: summary[key] for key in last if key in summary})
    if training.warning is not None:
        _say(training.warning, quiet)
    print(json.dumps(summary) if as_json else _in_words(summary))


def _stop() -> None:
    raise KeyboardInterrupt


def _start(path: Path, algorithm: str, parameters: dict[str, Any], labels: Sequence[stream.Label] | None) -> Start:
    """The model to go on from. What contradicts it is a mistake in the command."""
    start = Start.read(path)
    try:
        kind = None if algorithm.lower() == AUTO else learner_named(algorithm)
        start.refuse_other(kind=kind, parameters=parameters, labels=labels)
    except ValueError as error:
        raise click.UsageError(re.sub(r"(?<=with )(\w+)(?==)", lambda found: flag(found[1]), str(error))) from None
    return start


def _settings(algorithm: str, parameters: dict[str, Any]) -> Sequence[Learner]:
    try:
        kind = learner_named(algorithm)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--algorithm") from None
    return [make_learner(kind, settings) for settings in settings_of(kind, parameters)]


def _candidates(parameters: dict[str, Any]) -> Sequence[Learner]:
    try:
        return candidates(parameters)
    except ValueError as error:
        said = re.sub(r"^(\w+)(?= is a parameter of)", lambda found: flag(found[1]), str(error))
        raise click.UsageError(said.replace("with algorithm.", "with --algorithm.")) from None


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        print(text, file=sys.stderr)


def _why(choice: Choice) -> str:
    """The chosen setting with the reason, and the options that train it without choosing."""
    options = shlex.join(options_of(choice.learner) or [])
    best = f"fewest mistakes, {choice.mistakes:,}, come"
    if choice.metric != "error":
        best = f"best {MEASURES[choice.metric]}, {choice.score:.4f}, comes"
    return f"Of {choice.tried} settings tried on the first {choice.rows:,} rows the {best} with {options}."


def _summary(training: Training, path: Path, seconds: float, examples: int) -> dict[str, Any]:
    learner = training.learner
    return {
        "algorithm": type(learner).__name__,
        "examples": training.examples,
        **({} if training.since_start is None else {"since_start": training.since_start}),
        **learner.progressive_measures(),
        **({} if training.frozen.error is None else {"frozen_error": training.frozen.error}),
        "updates": learner.n_updates_,
        **({"labels": learner.classes_.tolist()} if isinstance(learner, ClassLearner) else {}),
        "features": learner.model.n_columns,
        "nonzeros": learner.nonzero_,
        "skipped_lines": training.stream.faults.count,
        "seconds": round(seconds, 3),
        "examples_per_second": round(examples / max(seconds, 1e-9)),
        "model": str(path),
        "model_bytes": path.stat().st_size,
        "order": training.order.to_dict(),
        "label_runs": training.classes.runs.to_dict(),
        "warnings": [] if training.warning is None else [training.warning],
    }


def _in_words(summary: dict[str, Any]) -> str:
    lines = [
        f"{summary['algorithm']}: {summary['examples']:,} examples, {measures_in_words(summary)}",
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


def _since_start(summary: dict[str, Any]) -> list[str]:
    since = summary.get("since_start")
    return [] if since is None else [f"of these new: {since['examples']:,} examples, {measures_in_words(since)}"]


def _frozen(summary: dict[str, Any]) -> list[str]:
    error = summary.get("frozen_error")
    return [] if error is None else [f"error of the frozen model on the next block: {error:.4f}"]
