"""``sureline tune``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..learners.catalogue import learner_named
from ..learners.learner import Learner
from ..learners.origin import Origin
from ..learners.parameters import Constraint, Flag, Number
from ..learners.saving import write_learner
from ..training.advice import ranked
from ..training.grid import Entry, settings
from ..training.result import TournamentResult
from ..training.tournament import Tournament
from ._help import Algorithm, Rare
from ._parameters import LEFT_OUT
from ._paths import FileCommand, Written
from ._tournament import TournamentCommand, advice, table, tournament_options

_SHOWN = 10


@click.command("tune", cls=FileCommand, short_help="Find the best parameters in one reading of the data.")
@click.option(
    "--algorithm",
    type=Algorithm(several=True),
    metavar="NAMES",
    default="scw",
    show_default=True,
    help="Learners whose parameters to try, separated by commas.",
)
@click.option(
    "--grid",
    "grids",
    multiple=True,
    metavar="NAME=VALUES",
    help="Values of a parameter to try, such as C=0.1,1,10. Repeat for several. [default: the papers' grids]",
)
@click.option(
    "--race/--no-race",
    cls=Rare,
    default=True,
    show_default=True,
    help="Drop settings that are clearly behind and not catching up.",
)
@click.option(
    "--model",
    "model_path",
    type=Written(),
    help="File to write the best model to. [default: none]",
)
@tournament_options()
def command(
    data: tuple[str, ...],
    algorithm: str,
    grids: tuple[str, ...],
    race: bool,
    model_path: Path | None,
    **options: Any,
) -> int:
    """Train many settings on DATA at once, in one reading, and find the best.

    Every combination of values takes part: C, r and the like from 2^-5 to 2^5, learning rates from 2^-9 to 2^9, eta of
    scw and cw from 0.55 to 0.95. The search_space of each class has the exact values.

    Penalties (lam, l1) are not tried, since the least error would always choose none. Set them with --grid lam=0.001.

    Settings that are clearly behind are dropped on the way. The rule drops the eventual winner in at most 1 of 100
    races.
    """
    asked = TournamentCommand(data, **options)
    try:
        kinds = [learner_named(name.strip()) for name in algorithm.split(",")]
        if len(set(kinds)) < len(kinds):
            raise ValueError("An algorithm comes twice.")
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--algorithm") from None
    entries = _entries(kinds, grids, asked)
    tournament = asked.run(entries, race=race)
    return asked.tell(
        tournament, _in_words, None if model_path is None else partial(_write, tournament, model_path, asked.quiet)
    )


def _entries(kinds: list[type[Learner]], grids: tuple[str, ...], asked: TournamentCommand) -> list[Entry]:
    given: dict[str, str] = {}
    for grid in grids:
        name, equals, values = grid.partition("=")
        if not equals or not values:
            raise click.BadParameter(
                f"{grid!r} is not a parameter with its values, such as C=0.1,1,10.", param_hint="--grid"
            )
        if name in given:
            raise click.BadParameter(
                f"{name} comes twice: all of its values go together, as in {name}={given[name]},{values}.",
                param_hint="--grid",
            )
        given[name] = values
    entries: list[Entry] = []
    try:
        for name in given:
            if name in LEFT_OUT or not any(name in kind.__dataclass_fields__ for kind in kinds):
                raise ValueError(f"{name!r} is no parameter of {', '.join(kind.__name__ for kind in kinds)}.")
        for kind in kinds:
            own = {name: text for name, text in given.items() if name in kind.__dataclass_fields__}
            chosen = {name: _values(kind, name, text) for name, text in own.items()}
            entries += settings(kind, {**kind.search_space, **chosen}, **asked.parameters(kind))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--grid") from None
    return entries


def _values(kind: type[Learner], name: str, text: str) -> list[Any]:
    constraint = kind.constraint_of(name)
    return [_value(kind, name, constraint, part.strip()) for part in text.split(",")]


def _value(kind: type[Learner], name: str, constraint: Constraint | None, text: str) -> Any:
    try:
        if isinstance(constraint, Number):
            if text == "none" and constraint.optional:
                return None
            return int(text) if constraint.integer else float(text)
        if isinstance(constraint, Flag):
            return {"true": True, "false": False}[text.lower()]
    except (KeyError, ValueError):
        raise ValueError(
            f"The {name!r} parameter of {kind.__name__} must be {constraint}. Got {text!r} instead."
        ) from None
    return text


def _write(tournament: Tournament, path: Path, quiet: bool, result: TournamentResult) -> None:
    """Write the model of the best settings; an error unless all data were read."""
    best = tournament.best()
    if not result.stream["complete"] or best is None:
        what = "there is no best one" if result.stream["complete"] else "the data were not read whole"
        why = " ".join((result.stream["problem"] or "no learner finished").split())
        raise click.ClickException(f"{path} was not written, since {what}: {why}.")
    best.learner.origin = Origin(tournament.stream.model_options, tournament.names)
    write_learner(path, best.learner)
    if not quiet:
        print(f"{path}: the model of {best.name}, the best.", file=sys.stderr)


def _in_words(result: TournamentResult) -> str:
    if result.stream["rows"] == 0:
        return "\n".join(advice(result))
    runs = ranked(result)
    finished = [run for run in runs if run.status == "finished"]
    dropped = sum(run.status == "dropped" for run in runs)
    failed = [run for run in runs if run.status == "failed"]
    lines = [table(result, finished[:_SHOWN])]
    rest = []
    if len(finished) > _SHOWN:
        came = "finished" if result.stream["complete"] else f"came as far, to {result.stream['rows']:,} rows"
        rest.append(f"{len(finished) - _SHOWN} more {came}")
    rest += [f"{dropped} dropped on the way"] if dropped else []
    if rest:
        lines.append(f"... {', '.join(rest)}, of {len(runs)} settings")
    lines += [f"{run.name} failed: {run.reason}" for run in failed[:3]]
    if len(failed) > 3:
        lines.append(f"and {len(failed) - 3} more failed")
    return "\n".join([*lines, "", *advice(result)])
