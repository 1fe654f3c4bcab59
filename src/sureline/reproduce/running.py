"""Runs an entry, from its name to its outcome."""

from __future__ import annotations

import dataclasses
import datetime
import os
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from .. import __version__
from .entry import Entry, EntryError, read_entry, varied
from .entry import entry as entry_of
from .outcome import Outcome
from .progress import Progress, Step

# The kinds of protocols and the modules of `protocols` that carry them out.
KINDS = {
    "error against iterations": "iterations",
    "error against sparsity": "sparsity_curves",
    "feature selection": "feature_selection",
    "held out": "held_out",
    "kinds of learners": "kinds_of_learners",
    "online curves": "online_curves",
    "permutations": "permutations",
    "properties": "properties",
    "shapes of data": "data_shapes",
    "time against sparsity": "sparsity_times",
}


def protocol_of(entry: Entry) -> Any:
    """The module that carries out the protocol of an entry."""
    if entry.kind not in KINDS:
        raise EntryError(
            f"{entry.name}.toml: the 'kind' must be one of {', '.join(KINDS)}. Got {entry.kind!r} instead."
        )
    return import_module(f".protocols.{KINDS[entry.kind]}", __package__)


def data_folder(given: str | os.PathLike[str] | None) -> Path | None:
    """The folder with the data: the given one, otherwise that of the environment variable SURELINE_DATA."""
    named = given if given is not None else os.environ.get("SURELINE_DATA") or None
    return None if named is None else Path(named)


def run(
    name: str | Path | Entry,
    *,
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    seed: int | None = None,
    runs: int | None = None,
    on_progress: Callable[[Step], None] | None = None,
    command: str | None = None,
) -> Outcome:
    """Reproduce a table or figure of a paper.

    Parameters
    ----------
    name : str, Path or Entry
        One of `names()`, the path of a TOML file like theirs, or an entry of one's own.
    data : path or None, default=None
        The folder with the data sets; None is that of the environment variable SURELINE_DATA. Data sets that are not
        there are named in the outcome, with where to get them.
    quick : bool, default=False
        A rough version in about a minute.
    seed : int or None, default=None
        The first seed of the random orders or draws, instead of that of the entry.
    runs : int or None, default=None
        How many there are, instead of the number that the entry has.
    on_progress : callable or None, default=None
        Is called with a `Step` now and then.
    command : str or None, default=None
        What the outcome says it was made by; None is this call.

    Returns
    -------
    Outcome
    """
    entry = name if isinstance(name, Entry) else read_entry(name) if isinstance(name, Path) else entry_of(name)
    entry = varied(entry, seed=seed, runs=runs)
    given = [repr(str(name)) if isinstance(name, str | Path) else f"<an entry like {entry.name!r}>"]
    given += [f"data={str(data)!r}"] if data is not None else []
    given += ["quick=True"] if quick else []
    given += [f"{word}={value}" for word, value in (("seed", seed), ("runs", runs)) if value is not None]
    return outcome_of(
        entry,
        protocol_of(entry),
        data=data,
        quick=quick,
        on_progress=on_progress,
        command=command or f"sureline.reproduce.run({', '.join(given)})",
    )


def outcome_of(
    entry: Entry,
    protocol: Any,
    *,
    data: str | os.PathLike[str] | None,
    quick: bool,
    on_progress: Callable[[Step], None] | None,
    command: str,
) -> Outcome:
    """The outcome of an entry, produced by a module such as those of `protocols`. The rest is as in `run`."""
    parameters = entry.parameters(protocol.Parameters, quick=quick)
    folder = data_folder(data)
    if folder is not None and not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder of data.")
    began = time.monotonic()
    findings = protocol.run(entry, parameters, folder, Progress(on_progress))
    return Outcome(
        name=entry.name,
        title=entry.title,
        paper=entry.paper,
        where=entry.where,
        shows=entry.shows,
        quick=quick,
        findings=findings,
        numbers_of=entry.numbers_of,
        protocol=dataclasses.asdict(parameters),
        version=__version__,
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=command,
        seconds=round(time.monotonic() - began, 1),
    )
