"""Entries: descriptions of tables and figures of papers, read from files and checked."""

from __future__ import annotations

import dataclasses
import re
import tomllib
import types
import typing
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from .outcome import Mean

__all__ = ["DataSet", "Entry", "EntryError", "Learner", "built", "entry", "names", "read_entry", "varied"]

T = TypeVar("T")
FOLDER = Path(__file__).parent / "entries"


@dataclass(frozen=True)
class DataSet:
    """A data set: files in the data folder, or the output of a generator of `sureline.datasets`."""

    name: str
    # LIBSVM text, one file after the other. Names go without endings (.svm, .libsvm, .txt, then .bz2, .gz, .xz, .zst),
    # and a bar separates alternative names: "a|b". Then the source of the files, and remarks.
    files: tuple[str, ...] = ()
    source: str = ""
    # Checks of the data. `rows` is for all files together; without it there must be at least `take`.
    rows: int | None = None
    features: int | None = None
    labels: tuple[float, ...] = (-1.0, 1.0)
    labels_too: tuple[float, ...] = ()  # or these, in the same order
    positive: float | tuple[float, ...] | None = None  # by default the largest label
    against: tuple[float, ...] = ()  # the negative classes, by default all others; rows of further classes are left out
    take: int | None = None  # use only this many of the first rows
    zero_based: bool = False  # the file's indices count from 0
    unscaled: tuple[str, ...] = ()  # or these files, with each column brought to the range from 0 to 1
    stand_ins: tuple[DataSet, ...] = field(default=())  # real data that are used where the files are not there
    generator: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    # The name of a stand-in for the paper's data: generated data if there are no files, or other files.
    stand_in: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Learner:
    """An algorithm of the paper: a class of sureline (or scikit-learn's LinearSVC), fixed parameters, and tuned ones.

    A grid is a list of values or, as text, powers of two: "2^-4..2^4", or every third of them: "2^-4..2^4 by 3".
    `same` has parameters that are always equal to a tuned one: ``{ C2 = "C" }``.
    """

    name: str
    estimator: str
    parameters: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, str | tuple[float, ...]] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)

    def points(self, step: int = 1) -> list[dict[str, float]]:
        """All points of the grid, of each parameter every `step`-th value."""
        axes = [values_of(values)[::step] for values in self.grid.values()]
        return [dict(zip(self.grid, values, strict=True)) for values in product(*axes)]


def values_of(grid: str | tuple[float, ...]) -> tuple[float, ...]:
    """The values of a parameter's grid."""
    if not isinstance(grid, str):
        return grid
    found = re.fullmatch(r"2\^(-?\d+)\.\.2\^(-?\d+)(?: by (\d+))?", grid)
    if found is None:
        raise EntryError(f"A grid must be a list of numbers or powers such as '2^-4..2^4'. Got {grid!r} instead.")
    return tuple(2.0**k for k in range(int(found[1]), int(found[2]) + 1, int(found[3] or 1)))


@dataclass(frozen=True)
class Entry:
    """A table or figure of a paper."""

    name: str
    title: str
    paper: str  # the citation
    where: str  # in the paper
    shows: str  # its subject in a sentence
    kind: str  # the protocol, a key of `KINDS`
    protocol: dict[str, Any]  # its parameters, checked by the ``Parameters`` of the kind
    quick: dict[str, Any] = field(default_factory=dict)  # the reduced values for `--quick`
    data: tuple[Any, ...] = ()
    learner: tuple[Any, ...] = ()
    common: dict[str, Any] = field(default_factory=dict)  # parameters for all learners that have them
    # The paper's numbers: data set, row, measure, and text such as "0.294 ± 0.011" or "0.1821". The kind of mean and
    # deviation, and the number of runs.
    numbers: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    numbers_of: str = ""
    runs: int | None = None
    note: str = ""
    data_sets: tuple[DataSet, ...] = field(init=False)
    learners: tuple[Learner, ...] = field(init=False)

    def __post_init__(self) -> None:
        where = f"{self.name}.toml"
        sets = tuple(_data_set(table, f"{where}: [[data]] number {i}") for i, table in enumerate(self.data, 1))
        learners = tuple(
            built(Learner, table, f"{where}: [[learner]] number {i}") for i, table in enumerate(self.learner, 1)
        )
        for one in sets:
            if not one.files and not one.generator:
                raise EntryError(f"{where}: the data set {one.name!r} has neither 'files' nor a 'generator'.")
            if one.files and not one.source:
                raise EntryError(f"{where}: the data set {one.name!r} has files and no 'source' to get them from.")
            if one.files and one.rows is None and one.take is None:
                raise EntryError(f"{where}: the data set {one.name!r} has files and neither 'rows' nor 'take'.")
            if one.files and one.generator and not one.stand_in:
                raise EntryError(f"{where}: the data set {one.name!r} has files and a generator, and no 'stand_in'.")
        for algorithm in learners:
            for grid in algorithm.grid.values():
                values_of(grid)
            for other in algorithm.same.values():
                if other not in algorithm.grid:
                    raise EntryError(f"{where}: {algorithm.name!r} has no grid of {other!r} to be the same as.")
        for kind, named in (("data set", sets), ("learner", learners)):
            known = [item.name for item in named]
            if len(set(known)) < len(known):
                raise EntryError(f"{where}: the names of its {kind}s are not all different.")
        object.__setattr__(self, "data_sets", sets)
        object.__setattr__(self, "learners", learners)
        for data, rows in self.numbers.items():
            for row, measures in rows.items():
                for measure in measures:
                    self.paper_mean(data, row, measure)

    def parameters(self, kind: type[T], *, quick: bool) -> T:
        """The protocol as the dataclass of its kind."""
        where = f"{self.name}.toml: [protocol]" + (" with [quick]" if quick else "")
        return built(kind, {**self.protocol, **(self.quick if quick else {})}, where)

    def paper_mean(self, data: str, row: str, measure: str) -> Mean | None:
        """The paper's number; None if it has none."""
        text = self.numbers.get(data, {}).get(row, {}).get(measure)
        if text is None:
            return None
        try:
            return Mean.printed(text, self.runs)
        except ValueError as error:
            raise EntryError(f"{self.name}.toml: [numbers], {data}, {row}, {measure}: {error}") from None


def _data_set(table: Any, where: str) -> DataSet:
    """The data set of a table, or of another entry: ``of = "sbcw-table2: covtype 450k"``."""
    if not isinstance(table, dict) or "of" not in table:
        return _own_data_set(table, where)
    name, _, data = str(table["of"]).partition(": ")
    if set(table) != {"name", "of"}:
        raise EntryError(f"{where} has 'of', so that it must have a 'name' and nothing else.")
    if name not in names():
        raise EntryError(f"{where}, 'of', must be 'ENTRY: DATA SET', of an entry that there is. Got {table['of']!r}.")
    there = {one.name: one for one in entry(name).data_sets}
    if data not in there:
        raise EntryError(f"{where}, 'of': {name} has no data set {data!r}; it has {', '.join(there)}.")
    return dataclasses.replace(there[data], name=table["name"])


def _own_data_set(table: Any, where: str) -> DataSet:
    """Its stand-ins are tables ``[[data.instead]]``, which need no name."""
    if not isinstance(table, dict) or "instead" not in table:
        return built(DataSet, table, where)
    others = tuple(
        built(DataSet, {"name": table.get("name", ""), **other}, f"{where}, 'instead' number {i},")
        for i, other in enumerate(table["instead"], 1)
    )
    for other in others:
        if not (other.files and other.stand_in and (other.rows or other.take)):
            raise EntryError(f"{where}, 'instead', needs 'files', 'rows' or 'take', and a 'stand_in' to be called by.")
    own = {key: value for key, value in table.items() if key != "instead"}
    return dataclasses.replace(built(DataSet, own, where), stand_ins=others)


_RUNS = ("permutations", "orders", "draws", "repeats")
_SEEDS = ("first_seed", "seed")


def varied(entry: Entry, *, seed: int | None = None, runs: int | None = None) -> Entry:
    """The entry with another first seed, and another number of random orders, draws or repetitions.

    Raises
    ------
    ValueError
        If the protocol of the entry has no such thing.
    """
    protocol, quick = dict(entry.protocol), dict(entry.quick)
    for keys, value, what in ((_SEEDS, seed, "seed"), (_RUNS, runs, "number of runs")):
        if value is None:
            continue
        found = [key for key in keys if key in protocol]
        if not found and not (what != "seed" and "effort" in protocol):
            raise ValueError(f"{entry.name} has no {what}: nothing in it is random.")
        for table in (protocol, quick):
            table.update({key: value for key in found if table is protocol or key in table})
            if what != "seed" and "effort" in table:
                table["effort"] = {**table["effort"], "permutations": value}
            if what != "seed" and "sets" in table:
                table["sets"] = {name: {**one, "permutations": value} for name, one in table["sets"].items()}
    return dataclasses.replace(entry, protocol=protocol, quick=quick)


def names() -> list[str]:
    """The names of all entries, in the order of papers, tables and figures."""
    return sorted((path.stem for path in FOLDER.glob("*.toml")), key=_order)


_PAPERS = ("scw", "sol", "sbcw", "odca")


def _order(name: str) -> tuple[int, str]:
    paper = name.partition("-")[0]
    return (_PAPERS.index(paper) if paper in _PAPERS else len(_PAPERS), name)


def entry(name: str) -> Entry:
    """The entry of that name.

    Raises
    ------
    ValueError
        If there is none, or its file is not as it should be.
    """
    if name not in names():
        raise ValueError(f"There is no entry {name!r}; there are {', '.join(names())}.")
    return read_entry(FOLDER / f"{name}.toml")


def read_entry(path: Path) -> Entry:
    """An entry from a file, checked."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EntryError(f"{path.name}: {error}") from None
    made = built(Entry, table, path.name)
    if made.name != path.stem:
        raise EntryError(f"{path.name}: the 'name' must be {path.stem!r}. Got {made.name!r} instead.")
    return made


# -- tables of TOML as dataclasses ------------------------------------------------------------------------------------


class EntryError(ValueError):
    """Raised for an invalid entry. The message names the file and the key."""


def built(kind: type[T], table: Any, where: str) -> T:
    """The dataclass `kind` with the values of `table`, where lists become tuples and whole numbers may be floats."""
    if not isinstance(table, dict):
        raise EntryError(f"{where} must be a table. Got {table!r} instead.")
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    unknown = [key for key in table if key not in fields]
    if unknown:
        raise EntryError(f"{where} has a key {unknown[0]!r}, which is not one of {', '.join(fields)}.")
    needed = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    missing = [name for name in needed if name not in table]
    if missing:
        raise EntryError(f"{where} has no {missing[0]!r}.")
    return kind(**{key: _fitted(value, hints[key], f"{where}, {key!r},") for key, value in table.items()})


def _fitted(value: Any, hint: Any, where: str) -> Any:
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin is types.UnionType or origin is typing.Union:
        for one in of:
            try:
                return _fitted(value, one, where)
            except EntryError:
                continue
    elif origin is tuple and isinstance(value, list | tuple):
        return tuple(_fitted(one, of[0], where) for one in value)
    elif origin is dict and isinstance(value, dict):
        return {key: _fitted(one, of[1], where) for key, one in value.items()}
    elif isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return built(hint, value, where.removesuffix(","))
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif isinstance(hint, type) and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise EntryError(f"{where} must be {_in_words(hint)}. Got {value!r} instead.")


_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "left out"}


def _in_words(hint: Any) -> str:
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType or origin is typing.Union:
        return " or ".join(_in_words(one) for one in of)
    if origin is tuple:
        return f"a list, each of {_in_words(of[0])}"
    if origin is dict:
        return f"a table, each value of {_in_words(of[1])}"
    return _WORDS.get(hint, "a value")
