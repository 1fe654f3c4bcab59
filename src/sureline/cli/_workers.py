"""``sureline train --workers N``: shards of files, learned by processes of this machine or of a cluster."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

# The options of train that mean something with --workers, besides those of reading and parameters of learners.
_MEANT = {
    *("data", "algorithm", "model_path", "labels", "metric", "resume", "quiet", "as_json", "names"),
    *("workers", "scheduler", "shard_size", "rounds", *READING),
}


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
                "--scheduler",
                cls=Rare,
                metavar="ADDRESS",
                help="Learn shards on the Dask cluster at this address, such as tcp://host:8786. [default: none]",
            ),
            click.option(
                "--shard-size",
                cls=Rare,
                type=Count(1),
                metavar="BYTES",
                help="Bytes of a shard, such as 64M. The model depends on it, and not on --workers. [default: 268M]",
            ),
            click.option(
                "--rounds",
                cls=Rare,
                type=click.IntRange(1),
                help="Merge the shards so many times in a pass. [default: 1]",
            ),
        ]
    )


def on_workers(ctx: click.Context, given: Sequence[Label] | None, parameters: dict[str, Any]) -> None:
    """Run the command on workers."""
    options = ctx.params
    _refuse_others(ctx)
    if options["algorithm"].lower() == "auto":
        raise click.UsageError("--workers needs the name of an algorithm: --algorithm arow, scw, pa, ftrl or ssol.")
    path: Path = options["model_path"]
    checkpoint = path.with_name(path.name + ".checkpoint")
    passes = parameters.pop("passes", 1)
    reading = reading_arguments(dict(options))
    reading.pop("fallback")
    try:
        from .. import dask
        from ..scale import SHARD_SIZE, DeltaError
        from ..scale.learning import mergeable
        from ..scale.train import learners_of
        from ..stream.runs import LabelRunsWarning
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    size = SHARD_SIZE if options["shard_size"] is None else options["shard_size"]
    rounds = options["rounds"] or 1
    try:
        mergeable(learners_of(options["algorithm"], dict(parameters))[0])
    except (TypeError, ValueError) as error:  # before processes are started
        raise click.UsageError(str(error)) from None
    line = LiveLine(_parts, at=lambda progress: progress.shards == progress.of, quiet=options["quiet"])
    started = time.monotonic()
    try:
        with signals_to(_stop), _client(options) as client, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", LabelRunsWarning)
            model: Any = dask.train(
                list(options["data"]),
                options["algorithm"],
                client=client,
                model=path,
                labels=given,
                shard_size=size,
                rounds=rounds,
                passes=passes,
                metric=options["metric"],
                checkpoint=checkpoint if rounds * passes > 1 else None,
                resume=options["resume"] and rounds * passes > 1,
                on_progress=line,
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
    except ImportError as error:
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
        "seconds": round(seconds, 3),
        "examples_per_second": round(model.n_seen_ / max(seconds, 1e-9)),
        "model": str(path),
        "model_bytes": path.stat().st_size,
        "warnings": [str(warning.message) for warning in said],
    }
    print(json.dumps(summary) if options["as_json"] else _in_words(summary))


@contextmanager
def _client(options: dict[str, Any]) -> Iterator[Any]:
    """A client of the cluster at --scheduler, or of processes on this machine."""
    from .. import dask

    if options["scheduler"] is None:
        with dask.local_client(options["workers"]) as client:
            yield client
        return
    try:
        client = dask.connected(options["scheduler"])
    except OSError as error:
        raise click.ClickException(f"There is no scheduler at {options['scheduler']}: {error}") from None
    with client:
        yield client


def _refuse_others(ctx: click.Context) -> None:
    """Raise UsageError for an option that does nothing here."""
    for param in ctx.command.params:
        name = param.name or ""
        source = ctx.get_parameter_source(name)
        typed = source is click.core.ParameterSource.COMMANDLINE and not isinstance(param, OfLearner)
        if typed and name not in _MEANT:
            why = "a checkpoint is written after each round" if name == "checkpoint" else "shards are learned apart"
            raise click.UsageError(f"{param.opts[0]} has no meaning with --workers or --scheduler: {why}.")
    if "-" in ctx.params["data"]:
        raise click.UsageError("Standard input cannot be cut into shards: --workers needs files.")


def _stop() -> None:
    raise KeyboardInterrupt


def _parts(progress: Progress) -> list[str]:
    rate = progress.examples / max(progress.seconds, 1e-9)
    return [
        f"round {progress.round} of {progress.rounds}",
        f"shard {progress.shards} of {progress.of}",
        f"{progress.examples:,} examples",
        f"{rate:,.0f}/s",
        f"error {progress.error:.4f}",
    ]


def _in_words(summary: dict[str, Any]) -> str:
    return "\n".join(
        [
            f"{summary['algorithm']}: {summary['examples']:,} examples, {measures_in_words(summary)}",
            "of the models of the shards, each before it was merged",
            f"{summary['seconds']:.2f} s, {summary['examples_per_second']:,} examples/s",
            f"labels: {labels_in_words(summary['labels'])}",
            f"columns: {summary['features']:,}, nonzero weights: {summary['nonzeros']:,}",
            f"model: {summary['model']}, {summary['model_bytes']:,} bytes",
        ]
    )
