"""``sureline compare``."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from ..learners.catalogue import learner_named
from ..learners.learner import Learner
from ..training.advice import ranked
from ..training.grid import Entry, entries_of, every_learner
from ..training.result import TournamentResult
from ._help import Algorithm
from ._paths import FileCommand, Module
from ._tournament import TournamentCommand, advice, table, tournament_options


@click.command(
    "compare",
    cls=FileCommand,
    short_help="Compare many learners in one reading of the data.",
)
@click.option(
    "--algorithm",
    type=Algorithm(several=True),
    metavar="NAMES",
    help="Learners to compare, separated by commas. "
    f"[default: the {len(every_learner())} classifiers that learn row by row]",
)
@click.option(
    "--learner",
    "learners",
    metavar="MODULE:CLASS",
    multiple=True,
    type=Module(),
    help="A learner written in Python with sureline.custom. The module may be in the working directory. Repeat for "
    "several. Without --algorithm only these are compared.",
)
@tournament_options()
def command(
    data: tuple[str, ...],
    algorithm: str | None,
    learners: tuple[str, ...],
    **options: Any,
) -> int:
    """Train many learners on DATA at once and compare them. DATA are files, globs, or - for standard input.

    The data are read once. Each example is predicted before it is learned from. Each learner gets the best of a few
    settings on the first rows, and ends with the model that sureline train gives.

    Batch learners take part only if they are named: bcw needs memory for the square of the number of features or rows,
    whichever is smaller; sbcw and fgm make many passes over each batch. Regressors cannot take part. Use sureline tune
    to try other parameters.
    """
    asked = TournamentCommand(data, **options)
    names = [] if learners else every_learner()
    if algorithm is not None:
        names = [name.strip() for name in algorithm.split(",")]
    entries: list[Entry] = []
    try:
        for name in names:
            entries += entries_of([name], **asked.parameters(learner_named(name)))
        if len({entry.name for entry in entries}) < len(entries):
            raise ValueError("An algorithm comes twice.")
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--algorithm") from None
    entries += [_entry(name, asked) for name in learners]
    return asked.tell(asked.run(entries, race=False), _in_words)


def _entry(name: str, asked: TournamentCommand) -> Entry:
    """A learner written in Python, by the names of its module and class."""
    module, _, kind_name = name.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        kind = getattr(import_module(module), kind_name)
        if not issubclass(kind, Learner):
            raise TypeError(f"{kind_name} is no learner of sureline.custom.")
        [entry] = entries_of([kind(**{"dtype": kind.stream_dtype, **asked.parameters(kind)})])
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise click.BadParameter(f"{name}: {error}", param_hint="--learner") from None
    finally:
        sys.path.remove(os.getcwd())
    return entry


def _in_words(result: TournamentResult) -> str:
    if result.stream["rows"] == 0:
        return "\n".join(advice(result))
    return "\n".join([table(result, ranked(result)), "", *advice(result), *([result.choice] if result.choice else [])])
