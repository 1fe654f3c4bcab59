"""``sureline train --workers N`` or ``--engine NAME``: shards of files, learned by this machine or a cluster."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..stream import READING, DataError, Label
from ._help import OfLearner, Rare
from ._options import Count, all_of, reading_arguments
from ._progress import LiveLine
from ._signals import signals_to
from ._words import labels_in_words, measures_in_words

if TYPE_CHECKING:
    from ..scale import Progress

F = TypeVar("F", bound=Callable[..., Any])

# The options of train that work with --workers, besides reading options and parameters of learners.
_MEANT = {
    *("data", "algorithm", "model_path", "labels", "metric", "resume", "quiet", "as_json", "names"),
    *("workers", "engine", "scheduler", "address", "master", "shard_size", "rounds", *READING),
}

# The option that says where an engine is.
_WHERE = {"dask": "scheduler", "ray": "address", "spark": "master"}
_PLACE = {"dask": "scheduler", "ray": "cluster of Ray", "spark": "master of Spark"}


def workers_options() -> Callable[[F], F]:
    """The options of training on workers."""
    return all_of(
        [
            click.option(
                "--workers",
                cls=Rare,
                type=click.IntRange(1, 1024),
                metavar="N",
                help="Learn shards of the files on N processes, and merge them. [default: one pass on this process]",
            ),
            click.option(
                "--engine",
                cls=Rare,
                type=click.Choice(list(_WHERE)),
                help="Learn shards on a cluster of Dask, Ray or Spark. [default: dask, if --scheduler is given]",
            ),
            click.option(
                "--scheduler",
                cls=Rare,
                metavar="ADDRESS",
                help="Address of Dask's scheduler, such as tcp://host:8786. [default: none]",
            ),
            click.option(
                "--address",
                cls=Rare,
                metavar="ADDRESS",
                help="Address of a Ray cluster, such as host:6379; auto for one on this machine. [default: none]",
            ),
            click.option(
                "--master",
                cls=Rare,
                metavar="ADDRESS",
                help="Address of Spark's master, such as spark://host:7077, or local[4]. [default: none]",
            ),
            click.option(
                "--shard-size",
                cls=Rare,
                type=Count(1),
                metavar="BYTES",
                help="Bytes of a shard, such as 64M. The model depends on it, but not on --workers. [default: 268M]",
            ),
            click.option(
                "--rounds",
                cls=Rare,
                type=click.IntRange(1),
                help="Merges of the shards per pass. [default: 1]",
            ),
        ]
    )


def on_engine(options: Mapping[str, Any]) -> bool:
    """True if shards are to be learned somewhere else than in this process."""
    return any(options[name] is not None for name in ("workers", "engine", *_WHERE.values()))


def on_workers(ctx: click.Context, given: Sequence[Label] | None, parameters: dict[str, Any]) -> None:
    """Run the command on workers."""
    options = ctx.params
    _refuse_others(ctx)
    engine = _engine_of(options)
    path: Path = options["model_path"]
    checkpoint = path.with_name(path.name + ".checkpoint")
    passes = parameters.pop("passes", 1)
    reading = reading_arguments(dict(options))
    reading.pop("fallback")
    from ..scale import SHARD_SIZE, DeltaError
    from ..scale.learning import mergeable
    from ..scale.train import learners_of
    from ..stream.runs import LabelRunsWarning

    size = SHARD_SIZE if options["shard_size"] is None else options["shard_size"]
    rounds = options["rounds"] or 1
    try:
        mergeable(learners_of(options["algorithm"], dict(parameters))[0])
    except (TypeError, ValueError) as error:  # before processes are started
        raise click.UsageError(str(error)) from None
    line = LiveLine(_parts, at=lambda progress: progress.shards == progress.of, quiet=options["quiet"])
    skipped, before = 0, 0

    def show(progress: Progress) -> None:
        nonlocal skipped, before
        skipped, before = progress.skipped, progress.before
        line(progress)

    started = time.monotonic()
    try:
        with signals_to(_stop), _training(engine, options) as train, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", LabelRunsWarning)
            model: Any = train(
                list(options["data"]),
                options["algorithm"],
                model=path,
                labels=given,
                shard_size=size,
                rounds=rounds,
                passes=passes,
                metric=options["metric"],
                checkpoint=checkpoint if rounds * passes > 1 else None,
                resume=options["resume"] and rounds * passes > 1,
                on_progress=show,
                **{"collect_names": options["names"], **reading},
                **parameters,
            )
    except KeyboardInterrupt:
        line.close()
        kept = f"the same command with --resume goes on from {checkpoint}" if checkpoint.exists() else "nothing is kept"
        raise click.ClickException(f"stopped; {kept}.") from None
    except (DataError, DeltaError):
        line.close()
        raise
    except (ImportError, RuntimeError) as error:
        line.close()
        raise click.ClickException(str(error)) from None
    except ValueError as error:
        line.close()
        raise click.UsageError(str(error)) from None
    line.close()
    for warning in said:
        line.say(str(warning.message))
    seconds = time.monotonic() - started
    summary = {
        "algorithm": type(model).__name__,
        "examples": model.n_seen_,
        **model.progressive_measures(),
        "updates": model.n_updates_,
        "labels": model.classes_.tolist(),
        "features": model.n_features_in_,
        "nonzeros": model.nonzero_,
        "skipped_lines": skipped,
        "seconds": round(seconds, 3),
        "examples_per_second": round((model.n_seen_ - before) / max(seconds, 1e-9)),
        "model": str(path),
        "model_bytes": path.stat().st_size,
        "warnings": [str(warning.message) for warning in said],
    }
    print(json.dumps(summary) if options["as_json"] else _in_words(summary))


def _engine_of(options: Mapping[str, Any]) -> str:
    """The name of the engine. UsageError if its address is missing, or given for another engine."""
    engine: str = options["engine"] or "dask"
    own = _WHERE[engine]
    for name, where in _WHERE.items():
        if where != own and options[where] is not None:
            raise click.UsageError(f"--{where} is for --engine {name}, and the engine is {engine}.")
    if options["workers"] is not None and (engine != "dask" or options[own] is not None):
        raise click.UsageError(
            f"--workers starts processes on this machine, and --{own} uses a cluster that is there: name one of them."
        )
    if options["workers"] is None and options[own] is None:
        more = ", or how many processes to start: --workers 4" if engine == "dask" else ""
        raise click.UsageError(f"--engine {engine} needs the place of its cluster: --{own} ADDRESS{more}.")
    return engine


def _asked_by(options: Mapping[str, Any]) -> str:
    """The option that asked for workers."""
    return next(f"--{name}" for name in ("workers", "engine", *_WHERE.values()) if options[name] is not None)


@contextmanager
def _training(engine: str, options: dict[str, Any]) -> Iterator[Callable[..., Any]]:
    """The `train` of an engine, connected to its cluster."""
    where = options[_WHERE[engine]]
    with ExitStack() as stack:
        try:
            if engine == "spark":
                from .. import spark

                train: Callable[..., Any] = partial(spark.train, session=stack.enter_context(spark.connected(where)))
            elif engine == "ray":
                from .. import ray

                stack.enter_context(ray.connected(where))
                train = ray.train
            else:
                from .. import dask

                client = dask.local_client(options["workers"]) if where is None else dask.connected(where)
                train = partial(dask.train, client=stack.enter_context(client))
        except OSError as error:
            raise click.ClickException(f"There is no {_PLACE[engine]} at {where}: {error}") from None
        yield train


def _refuse_others(ctx: click.Context) -> None:
    """Raise UsageError for an option that does nothing here."""
    for param in ctx.command.params:
        name = param.name or ""
        source = ctx.get_parameter_source(name)
        typed = source is click.core.ParameterSource.COMMANDLINE and not isinstance(param, OfLearner)
        if typed and name not in _MEANT:
            why = "a checkpoint is written after each round" if name == "checkpoint" else "shards are learned apart"
            raise click.UsageError(f"{param.opts[0]} has no meaning with {_asked_by(ctx.params)}: {why}.")
    if "-" in ctx.params["data"]:
        raise click.UsageError(f"Standard input cannot be cut into shards: {_asked_by(ctx.params)} needs files.")


def _stop() -> None:
    raise KeyboardInterrupt


def _parts(progress: Progress) -> list[str]:
    return [
        f"round {progress.round} of {progress.rounds}",
        f"shard {progress.shards} of {progress.of}",
        f"{progress.examples:,} examples",
        f"{progress.rate:,.0f}/s",
        f"error {progress.error:.4f}",
    ]


def _in_words(summary: dict[str, Any]) -> str:
    lines = [
        f"{summary['algorithm']}: {summary['examples']:,} examples, {measures_in_words(summary)}",
        "of the models of the shards, each before it was merged",
        f"{summary['seconds']:.2f} s, {summary['examples_per_second']:,} examples/s",
        f"labels: {labels_in_words(summary['labels'])}",
        f"columns: {summary['features']:,}, nonzero weights: {summary['nonzeros']:,}",
        f"model: {summary['model']}, {summary['model_bytes']:,} bytes",
    ]
    if summary["skipped_lines"]:
        lines.append(f"lines that could not be read and were left out: {summary['skipped_lines']:,}")
    return "\n".join(lines)
