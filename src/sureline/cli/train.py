"""``sureline train``."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from .. import stream
from ..learners.alarms import in_words as alarms_in_words
from ..learners.asking import Asking
from ..learners.catalogue import LEARNERS, learner_named
from ..learners.learner import Learner
from ..learners.online import OnlineLearner
from ..stream.shuffling import BUFFER
from ..training.checkpoint import Checkpointing
from ..training.choosing import AUTO, candidates, settings_of
from ..training.commands import flag, options_of
from ..training.identity import Verify
from ..training.live import LiveTraining, beginning_of
from ..training.metric import OF_RECORD, Metric
from ..training.order import Asked, decide
from ..training.result import MetricName
from ..training.start import Start, refuse_finished, twin
from ..training.train import Training
from ._help import Algorithm, Rare
from ._options import (
    checkpoint_every,
    endless_data,
    json_option,
    opened,
    reading_arguments,
    reading_options,
)
from ._parameters import given_parameters, make_learner, parameter_options
from ._paths import FileCommand, Read, Written, beside
from ._progress import Reporter, SlowStartNotice
from ._race import check_race, report_option, told_of_race
from ._signals import signals_to
from ._trained import columns_in_words, in_words, stopped, summary_of, why
from ._workers import on_engine, on_workers, workers_options

CHECKPOINT = ".checkpoint"  # appended to the name of the model
_MUCH_WORK = 10.0  # seconds; longer work is saved when the data turn out to be wrong


@click.command("train", cls=FileCommand, short_help="Learn from a stream and write a model.")
@endless_data
@click.option(
    "--algorithm",
    type=Algorithm(AUTO),
    default=AUTO,
    show_default=True,
    metavar="NAME",
    help="One of " + ", ".join(name.lower() for name in LEARNERS) + "; or auto, a race "
    "of settings whose best become one model.",
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
    help="All labels, the negative one first: ham,spam. [default: of first rows, sorted]",
)
@click.option(
    "--checkpoint",
    metavar="every=N",
    help="Write a checkpoint for --resume every N examples (every=1M) or at intervals (every=10m). "
    "[default: when stopped]",
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
    help="Model to continue from. [default: none]",
)
@click.option(
    "--metric",
    type=click.Choice(["error", *OF_RECORD]),
    default="error",
    show_default=True,
    help="Metric that chooses among settings.",
)
@click.option(
    "--committee/--no-committee",
    cls=Rare,
    default=None,
    help="With auto: combine the best learners into one model, or keep the best one alone. [default: combine]",
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
    help="Rows that are shuffled together. Pieces of files enter this buffer in random order. Those of a pipe, a "
    "compressed file, or CSV with newlines in cells enter in their order.",
)
@click.option(
    "--seed", cls=Rare, type=click.IntRange(0), default=0, show_default=True, help="Seed of the random order."
)
@click.option(
    "--ask",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Learn from at most this share of the labels. [default: all]",
)
@click.option(
    "--names/--no-names",
    cls=Rare,
    default=True,
    show_default=True,
    help="Store the names of hashed features in the model.",
)
@click.option("--log", cls=Rare, type=Written(append=True), help="Append progress to this file, as JSON lines.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@report_option
@json_option
@workers_options()
@reading_options()
@parameter_options()
def command(
    data: tuple[str, ...],
    follow: Path | None,
    algorithm: str,
    model_path: Path,
    labels: str | None,
    checkpoint: str | None,
    batch: int | None,
    metric: MetricName,
    committee: bool | None,
    report: Path | None,
    resume: bool,
    start_path: Path | None,
    verify: Verify,
    compact: bool,
    shuffle: bool | None,
    shuffle_buffer: int,
    seed: int,
    ask: float | None,
    names: bool,
    log: Path | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn from DATA and write a model. DATA are files, globs, or - for standard input.

    Training makes one pass over the rows in their order (or --passes). Files may be compressed. Columns of tables are
    guessed; --numeric, --categorical, --text override that.
    """
    shuffle = bool(shuffle) if options["as_published"] else shuffle
    parameters = given_parameters(options, algorithm)
    try:
        given = None if labels is None else [stream.from_text(label.strip()) for label in labels.split(",")]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if on_engine(options):
        return on_workers(click.get_current_context(), given, parameters)
    start = None if start_path is None else _start(start_path, algorithm, parameters, given)
    racers = _candidates(parameters) if start is None and ask is None and algorithm.lower() == AUTO else []
    check_race(bool(racers), committee, report)
    learners: Sequence[Learner] = racers or _learners(start, algorithm, parameters, ask)
    learner, to_be_chosen = learners[0], len(learners) > 1 and not racers
    every = checkpoint_every(checkpoint) if checkpoint else (None, None)
    trained = learner.origin.options
    source = opened(
        data, dtype=learner.dtype, collect_names=names, follow=follow, **reading_arguments(options, trained)
    )
    learner.origin.refuse_other(source)
    columns = columns_in_words(source) if start is None and source.schema is not None and not resume else None
    path = beside(model_path, CHECKPOINT)
    beginning = beginning_of(path) if resume and path.exists() else None
    earlier = path.exists()
    going_on = resume and earlier and beginning is None
    asked: Asked = "auto" if shuffle is None else shuffle
    checkpointing = Checkpointing(path, *every) if checkpoint else None

    def rehearsed(rows: stream.Stream) -> Training:
        """A training for the first rows, set up as one of a file would be."""
        tried = [type(one)(**one.parameters()) for one in learners]
        going_on_from = None if start is None else Start(start.name, twin(start.learner, type(start.learner)))
        rehearsal = Training(
            tried[0],
            rows,
            labels=given,
            batch=batch,
            start=going_on_from,
            order=decide(rows, tried[0], asked if ask is None else False, buffer=shuffle_buffer, seed=seed),
            ask=None if ask is None else Asking(ask, seed),
        )
        if len(racers) > 1:
            own = [one for one in tried if isinstance(one, OnlineLearner)]
            rehearsal.enter(own, metric, committee=committee is not False)
        elif to_be_chosen:
            rehearsal.choose(tried, Metric(metric))
        return rehearsal

    live = None
    if source.endless:
        if getattr(learner, "passes", 1) > 1:
            raise click.UsageError("What is no file can be read only once: --passes needs files.")
        live = LiveTraining(source, path, rehearsed, checkpointing, quick=len(learners) == 1)
        if beginning is not None:
            source.look = partial(beginning.check, file=source.paths[0])
    interrupt = _stop if live is None else live.interrupt
    # The first rows also decide the order, and may be long in coming.
    notice = SlowStartNotice(source, quiet=quiet, waits=to_be_chosen and not going_on)
    try:
        with signals_to(interrupt):
            look = False if (going_on or ask is not None) and shuffle is None else asked
            order = decide(source, learner, look, buffer=shuffle_buffer, seed=seed)
    except KeyboardInterrupt:
        notice.over()
        raise stopped(None if live is None else live.saved, path) from None
    if columns is not None:  # after a look at the rows, which fails at once if there is no column of labels
        _say(columns, quiet)
    try:
        budget = None if ask is None else Asking(ask, seed)
        training = Training(
            learner, source, labels=given, batch=batch, verify=verify, start=start, order=order, ask=budget
        )
    except stream.DataError:
        raise  # wrong data is no usage error
    except ValueError as error:
        raise click.UsageError(
            re.sub(r"(?<=with )labels|(?<=: )(labels|batch)(?= is for)|^ask(?= is for)", r"--\g<0>", str(error))
        ) from None
    if len(racers) > 1:
        training.enter(racers, metric, committee=committee is not False)
    if resume and not path.exists():
        try:
            refuse_finished(model_path, path, None if start is None else start.name, "--from ")
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    if beginning is not None:
        training.own_checkpoints.add(path)
        _say(f"The first {beginning.rows:,} rows, after which {path} was saved, are read again.", quiet)
    elif going_on:
        training.resume(path, candidates=learners, decided=shuffle is None)
        _say(f"Going on after {training.rows:,} examples.", quiet)
    elif resume:
        whence = "from the beginning" if start is None else f"from {start.name}"
        _say(f"There is no checkpoint {path}: starting {whence}.", quiet)
    elif earlier:
        _say(
            f"Starting anew; {path} of an earlier training is left until it is replaced (--resume goes on with it).",
            quiet,
        )

    if training.order.notice is not None and not going_on:
        _say(training.order.notice, quiet)
    started, before = time.monotonic(), training.rows
    choice = None
    if to_be_chosen and not training.begun:
        try:
            with signals_to(training.interrupt if live is None else live.interrupt):
                choice = training.choose(learners, Metric(metric))
        except KeyboardInterrupt:
            raise stopped(None if live is None else live.saved, path) from None
        finally:
            notice.over()
        if choice.rows > 0:
            _say(why(choice), quiet)

    def reached() -> Training:
        return training if live is None or live.reached is None else live.reached

    reporter = Reporter(lambda: reached().learner.nonzero_, begin=training.progress(), quiet=quiet, log=log)
    try:
        with signals_to(training.interrupt if live is None else live.interrupt):
            if live is None:
                training.run(checkpointing=checkpointing, on_progress=reporter)
            else:
                live.run(training, reporter)
            if beginning is not None:
                beginning.refuse_missing(source.paths[0])
            training.save_model(model_path, compact=compact)
    except KeyboardInterrupt:
        saved = None if live is None else live.saved
        if saved is None and training.can_be_saved:
            training.save_checkpoint(path)
            saved = training.rows
        reporter.close(stopped=True, examples=saved or 0)
        raise stopped(saved, path) from None
    except stream.DataError as error:
        reporter.close(failed=True, examples=training.rows)
        if not training.can_be_saved or (checkpoint is None and time.monotonic() - started < _MUCH_WORK):
            raise
        training.save_checkpoint(path)
        raise click.ClickException(
            f"{error}; the {training.rows:,} examples before are not lost: --resume goes on from {path}, "
            "with --errors skip if that line is to be left out."
        ) from None
    except BaseException:
        reporter.close()
        raise
    training.done_with(path)
    seconds = time.monotonic() - started
    summary = summary_of(training, model_path, seconds, training.rows - before)
    if training.verdict is not None:
        paragraph, summary["race"] = told_of_race(training.verdict, metric, report, summary["warnings"])
        _say(paragraph, quiet)
    if choice is not None:
        summary["chosen"] = {**choice.to_dict(), "options": shlex.join(options_of(choice.learner) or [])}
    last = ("examples", "mistakes", "error", "loss", "nonzeros", "seconds")
    reporter.close(finished=True, **{key: summary[key] for key in last if key in summary})
    for said in [*([] if training.warning is None else [training.warning]), *alarms_in_words(training.rises.alarms)]:
        _say(said, quiet)
    print(json.dumps(summary) if as_json else in_words(summary))


def _stop() -> None:
    raise KeyboardInterrupt


def _start(path: Path, algorithm: str, parameters: dict[str, Any], labels: Sequence[stream.Label] | None) -> Start:
    """The model to continue from. Contradicting options are usage errors."""
    start = Start.read(path)
    try:
        kind = None if algorithm.lower() == AUTO else learner_named(algorithm)
        start.refuse_other(kind=kind, parameters=parameters, labels=labels)
    except ValueError as error:
        raise click.UsageError(re.sub(r"(?<=with )(\w+)(?==)", lambda found: flag(found[1]), str(error))) from None
    return start


def _learners(start: Start | None, algorithm: str, parameters: dict[str, Any], ask: float | None) -> Sequence[Learner]:
    """The model to continue from, the learner that chooses, or the settings of a named learner."""
    if start is not None:
        return [start.learner]
    if ask is not None:
        return [make_learner(_kind("arow" if algorithm.lower() == AUTO else algorithm), parameters)]
    kind = _kind(algorithm)
    return [make_learner(kind, settings) for settings in settings_of(kind, parameters)]


def _kind(algorithm: str) -> type[Learner]:
    try:
        return learner_named(algorithm)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--algorithm") from None


def _candidates(parameters: dict[str, Any]) -> Sequence[OnlineLearner]:
    try:
        return candidates(parameters)
    except ValueError as error:
        said = re.sub(r"^(\w+)(?= is a parameter of)", lambda found: flag(found[1]), str(error))
        raise click.UsageError(said.replace("with algorithm.", "with --algorithm.")) from None


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        print(text, file=sys.stderr)
