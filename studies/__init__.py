"""Studies of why a number differs from the paper's: a table or figure again, where one thing is changed.

They are entries of the same form as those of `sureline.reproduce`, with protocols of their own. They are run from a
checkout (see README.md) and are no part of the package.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sureline.reproduce import Entry, Outcome, Step
from sureline.reproduce.entry import read_entry
from sureline.reproduce.running import outcome_of

from . import conditions, sparsity_conditions

FOLDER = Path(__file__).parent
KINDS = {"other conditions": conditions, "sparsity under other conditions": sparsity_conditions}


def names() -> list[str]:
    """The names of all studies."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def entry(name: str) -> Entry:
    """The entry of a study."""
    if name not in names():
        raise ValueError(f"There is no study {name!r}; there are {', '.join(names())}.")
    return read_entry(FOLDER / f"{name}.toml")


def run(
    name: str | Entry,
    *,
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    on_progress: Callable[[Step], None] | None = None,
    command: str | None = None,
) -> Outcome:
    """Carry out a study, as `sureline.reproduce.run` does an entry."""
    study = entry(name) if isinstance(name, str) else name
    made_by = command or f"python -m studies {study.name}"
    return outcome_of(study, KINDS[study.kind], data=data, quick=quick, on_progress=on_progress, command=made_by)
