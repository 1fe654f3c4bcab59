"""``sureline train``."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .. import stream
from ..evaluate.inspection import progressive_measures
from ..learners.catalogue import LEARNERS, learner_named
from ..learners.learner import ClassLearner, Learner
from ..stream.classes import times
from ..training.checkpoint import Checkpointing, done_with
from ..training.choosing import AUTO, ROWS, Choice, candidates, settings_of
from ..training.commands import flag, options_of
from ..training.train import Training
from ._options import (
    checkpoint_every,
    data_argument,
    json_option,
    opened,
    reading_arguments,
    reading_options,
    refuse_same_file,
    refuse_unwritable,
)
from ._parameters import given_parameters, make_learner, parameter_options
from ._progress import Reporter, SlowStartNotice
from ._signals import signals_to
from ._words import labels_in_words, measures_in_words

_NOTHING_YET = "stopped, and there was nothing yet to go on from."
_MUCH_WORK = 10.0  # seconds: what has taken longer is saved when the data turn out to be wrong


@click.command("train", short_help="Learn from a stream and write a model.")
@data_argument
@click.option(
    "--algorithm",
    default=AUTO,
    show_default=True,
    metavar="NAME",
    help="One of " + ", ".join(name.lower() for name in LEARNERS) + "; auto tries settings of several of them on the "
    f"first rows, at most {ROWS:,}, and trains the one with the fewest mistakes. Of one that is named without any of "
    "its own parameters or --normalize, some settings are tried likewise.",
)
@click.option(
    "--model",
    "model_path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the model.",
)
@click.option(
    "--labels",
    help="All labels, separated by commas, the negative one first; not for a regressor, to which they are numbers. "
    "[default: those of the first rows in ascending order, then as they come]",
)
@click.option(
    "--checkpoint",
    metavar="every=N",
    help="Save, every N examples (every=1M) or after some time (every=10m), what --resume needs. [default: only when "
    "stopped by Ctrl-C]",
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    metavar="ROWS",
    help="For the learners that take batches (bcw, sbcw, fgm): how many rows one has. [default: 100000]",
)
@click.option("--resume", is_flag=True, help="Go on where a training of this model was stopped.")
@click.option(
    "--compact",
    is_flag=True,
    help="Keep only the features with nonzero weights in the model: the same labels and scores, but less sure of "
    "itself, and not for going on with training.",
)
@click.option("--names/--no-names", default=True, show_default=True, help="Keep names of hashed features in the model.")
@click.option("--log", type=click.Path(path_type=Path, dir_okay=False), help="Write the progress as JSON lines.")
@click.option("--quiet", is_flag=True, help="No progress.")
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
    resume: bool,
    compact: bool,
    names: bool,
    log: Path | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn from DATA, files, globs or - for standard input, and write a model.

    Rows are learned from in their order, once (or --passes times). Text may be compressed.
    """
    parameters = given_parameters(options)
    learners = _candidates(parameters) if algorithm.lower() == AUTO else _settings(algorithm, parameters)
    learner, to_be_chosen = learners[0], len(learners) > 1
    every = checkpoint_every(checkpoint) if checkpoint else (None, None)
    refuse_unwritable("--model", model_path)
    refuse_same_file("--model", model_path, data)
    if log is not None:
        refuse_same_file("--log", log, data)
    source = opened(data, dtype=learner.dtype, collect_names=names, **reading_arguments(options))
    try:
        given = None if labels is None else [stream.from_text(label.strip()) for label in labels.split(",")]
        training = Training(learner, source, labels=given, batch=batch)
    except stream.DataError:
        raise  # what is wrong with the data is no mistake in the command
    except ValueError as error:
        raise click.UsageError(
            re.sub(r"(?<=with )labels|(?<=: )(labels|batch)(?= is for)", r"--\g<0>", str(error))
        ) from None
    if training.passes > 1 and "-" in data:
        raise click.UsageError("Standard input can be read only once: --passes needs files.")
    path = model_path.with_name(model_path.name + ".checkpoint")
    if resume and path.exists():
        training.resume(path, candidates=learners)
        _say(f"Going on after {training.examples:,} examples.", quiet)
    elif resume:
        _say(f"There is no checkpoint {path}: starting from the beginning.", quiet)
    elif path.exists():
        _say(
            f"Starting anew; {path} of an earlier training is left until it is replaced (--resume goes on with it).",
            quiet,
        )

    started, before = time.monotonic(), training.examples
    choice = None
    if to_be_chosen and not training.begun:
        notice = SlowStartNotice(source, quiet=quiet)
        try:
            with signals_to(training.interrupt):
                choice = training.choose(learners)
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
    done_with(path)
    seconds = time.monotonic() - started
    summary = _summary(training, model_path, seconds, training.examples - before)
    if choice is not None:
        summary["chosen"] = {**choice.to_dict(), "options": shlex.join(options_of(choice.learner) or [])}
    last = ("examples", "mistakes", "error", "loss", "nonzeros", "seconds")
    reporter.close(finished=True, **{key: summary[key] for key in last if key in summary})
    if training.looks_sorted:
        _say(
            f"The label changed only {times(training.classes.changes)} in {training.examples:,} rows. A pass over "
            "rows that are sorted by label ends with the last label alone: shuffle them before (shuf FILE).",
            quiet,
        )
    print(json.dumps(summary) if as_json else _in_words(summary))


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
    """Why a setting was chosen, with the options that make the same model without choosing."""
    options = shlex.join(options_of(choice.learner) or [])
    return (
        f"Of {choice.tried} settings tried on the first {choice.rows:,} rows the fewest mistakes, {choice.mistakes:,}, "
        f"come with {options}."
    )


def _summary(training: Training, path: Path, seconds: float, examples: int) -> dict[str, Any]:
    learner = training.learner
    return {
        "algorithm": type(learner).__name__,
        "examples": training.examples,
        **progressive_measures(learner),
        "updates": learner.n_updates_,
        **({"labels": learner.classes_.tolist()} if isinstance(learner, ClassLearner) else {}),
        "features": learner.model.n_columns,
        "nonzeros": learner.nonzero_,
        "skipped_lines": training.stream.faults.count,
        "seconds": round(seconds, 3),
        "examples_per_second": round(examples / max(seconds, 1e-9)),
        "model": str(path),
        "model_bytes": path.stat().st_size,
    }


def _in_words(summary: dict[str, Any]) -> str:
    lines = [
        f"{summary['algorithm']}: {summary['examples']:,} examples, {measures_in_words(summary)}",
        f"{summary['seconds']:.2f} s, {summary['examples_per_second']:,} examples/s",
        *([f"labels: {labels_in_words(summary['labels'])}"] if "labels" in summary else []),
        f"columns: {summary['features']:,}, nonzero weights: {summary['nonzeros']:,}",
        f"model: {summary['model']}, {summary['model_bytes']:,} bytes",
    ]
    if summary["skipped_lines"]:
        lines.append(f"lines that could not be read and were left out: {summary['skipped_lines']:,}")
    return "\n".join(lines)
