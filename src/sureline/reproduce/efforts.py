"""How much is done with each data set of an entry, and the rows that it is done with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._fields import EntryError, built
from .data import Rows, load
from .entry import DataSet, Entry
from .outcome import Missing
from .splits import Split, first_rows, imbalanced, shuffled_rows

_SPLITS = ("first", "shuffled", "imbalanced")


@dataclass(frozen=True)
class Effort:
    """What is done with one data set.

    Attributes
    ----------
    n_train, n_test : int or None
        Rows of what a generator makes, and of a file if `file_train` and `file_test` say nothing else. None, of an
        imbalanced split: two thirds of the rows, and the others.
    split : {"first", "shuffled", "imbalanced"}
        The first rows of a file are for training; or those of a random order; or see `splits.imbalanced`. What a
        generator makes is split in its order.
    ratio : int
        Of an imbalanced split: negatives for each positive.
    unit_length : bool
        Rows are divided by their length first.
    permutations, grid_step, gap, limit
        Orders of the training rows; every so many-th point of the grids; see `penalty_paths.trace`.
    levels, zoom
        The sparsities of the table, and where the second picture begins.
    """

    n_train: int | None = None
    n_test: int | None = None
    file_train: int | None = None
    file_test: int | None = None
    split: str = "first"
    split_seed: int = 0
    ratio: int = 99
    unit_length: bool = False
    permutations: int = 5
    grid_step: int = 1
    gap: float = 0.02
    limit: int = 80
    levels: tuple[float, ...] = (0.0, 0.5, 0.8, 0.9, 0.95)
    zoom: float = 0.8


def efforts(entry: Entry, common: Mapping[str, Any], sets: Mapping[str, Mapping[str, Any]]) -> dict[str, Effort]:
    """What is done with each data set, by its name: what is common to all, and over it what is its own."""
    known = [data.name for data in entry.data_sets]
    stranger = [name for name in sets if name not in known]
    if stranger:
        raise EntryError(f"{entry.name}.toml: [protocol.sets] has {stranger[0]!r}, which is no data set.")
    where = f"{entry.name}.toml: [protocol.effort] for"
    made = {name: built(Effort, {**common, **sets.get(name, {})}, f"{where} {name!r}") for name in known}
    for name, effort in made.items():
        if effort.split not in _SPLITS:
            raise EntryError(f"{where} {name!r}, 'split', must be one of {', '.join(_SPLITS)}. Got {effort.split!r}.")
    return made


def split_of(data: DataSet, effort: Effort, folder: Path | None) -> Split | Missing:
    """The rows of a data set for training and for testing, or what is missing."""
    made = {} if effort.n_train is None else {"n_samples": effort.n_train + (effort.n_test or 0)}
    rows = load(data, folder, **made)
    if isinstance(rows, Missing):
        return rows
    if data.generator is not None and (not data.files or rows.stand_in is not None):
        split = first_rows(rows, effort.n_train or len(rows.y), effort.n_test or 0)
    else:
        n_train, n_test = effort.file_train or effort.n_train, effort.file_test or effort.n_test
        # Files that stand in for another set say so, as generators do.
        rows = rows if data.generator is not None else Rows(rows.X, rows.y, data.stand_in)
        if effort.split == "imbalanced":
            split = imbalanced(rows, effort.ratio, effort.split_seed, n_train, n_test)
        elif n_train is None or n_test is None:
            raise EntryError(f"The data set {data.name!r} has no 'n_train' and 'n_test'.")
        elif effort.split == "shuffled":
            split = shuffled_rows(rows, n_train, n_test, effort.split_seed)
        else:
            split = first_rows(rows, n_train, n_test)
    return split.of_unit_length() if effort.unit_length else split
