"""The results of a reproduction: our numbers and the paper's in tables, pictures, verdicts, and missing data."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

from ..report.blocks import Verdict as Verdict
from ..training.result import plain


@dataclass(frozen=True)
class Mean:
    """A mean over runs, with the standard deviation if there were several. `unit` is the last printed digit."""

    mean: float
    sd: float | None = None
    count: int | None = None
    unit: float = 0.0

    @classmethod
    def printed(cls, text: str, count: int | None) -> Mean:
        """A number as printed in a paper, such as "0.294 ± 0.011" or "0.1821"."""
        found = re.fullmatch(r"(-?\d+(?:\.(\d+))?)(?: ± (\d+(?:\.\d+)?))?", text)
        if found is None:
            raise ValueError(f"a number must be written as '0.294 ± 0.011' or '0.1821'. Got {text!r} instead.")
        sd = None if found[3] is None else float(found[3])
        return cls(float(found[1]), sd, count, 10.0 ** -len(found[2] or ""))

    def text(self, digits: int) -> str:
        return f"{self.mean:.{digits}f}" + ("" if self.sd is None else f" ± {self.sd:.{digits}f}")


@dataclass(frozen=True)
class Cell:
    """Ours and the paper's, and how many standard errors of the difference of the two means ours is above it.

    `best` marks the best of its group by a paired t-test over the runs. A cell without numbers has a `text`, and the
    paper's in `paper_text`.
    """

    ours: Mean | None = None
    paper: Mean | None = None
    difference: float | None = None
    best: bool = False
    text: str | None = None
    paper_text: str | None = None


@dataclass(frozen=True)
class Column:
    """A measure, with its decimals.

    `compared` is False without numbers of the paper, `difference` False if differences mean nothing.
    """

    name: str
    digits: int = 4
    paper_digits: int | None = None
    compared: bool = True
    difference: bool = True


@dataclass(frozen=True)
class Row:
    """The subject of a row, such as data set and learner, and its cells."""

    head: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table. `heads` are the headings of its first columns; `stand_in` names data that are not the paper's.

    The title names a stand-in, since a table may be read out of context.
    """

    title: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    stand_in: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", _with_stand_in(self.title, self.stand_in))


@dataclass(frozen=True)
class Series:
    """A curve, with a band if `low` and `high` are given. A `faint` curve is grey, in the background."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    faint: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture of curves. `name` is a part of the file's name; `stand_in`, also in the title, as in tables."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    points: bool = False
    note: str = ""
    stand_in: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", _with_stand_in(self.title, self.stand_in))


def labelled(name: str, stand_in: str | None) -> str:
    """The full name of a data set, which marks stand-ins."""
    return f"{name} (stand-in)" if stand_in else name


def _with_stand_in(title: str, stand_in: str | None) -> str:
    return title if "(stand-in)" in title else labelled(title, stand_in)


@dataclass(frozen=True)
class Missing:
    """Missing or invalid data, and advice."""

    data: str
    problem: str

    def __str__(self) -> str:
        return f"{self.data}: {self.problem}"


@dataclass(frozen=True)
class Findings:
    """The return value of a protocol."""

    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The findings, with their command, versions and time."""

    # Of the entry.
    name: str
    title: str
    paper: str
    where: str
    shows: str
    quick: bool  # whether this was a rough version
    findings: Findings
    numbers_of: str = ""
    protocol: dict[str, Any] = field(default_factory=dict)  # the parameters of this run
    version: str = ""  # of sureline
    date: str = ""  # of this run (UTC)
    command: str = ""  # makes it again
    seconds: float = 0.0

    @property
    def is_empty(self) -> bool:
        """Nothing could be run."""
        return not self.findings.tables and not self.findings.pictures

    def to_dict(self) -> dict[str, Any]:
        """A dict for JSON. Each verdict has its word next to it."""
        made: dict[str, Any] = plain(dataclasses.asdict(self))
        for table, verdict in zip(made["findings"]["verdicts"], self.findings.verdicts, strict=True):
            table["word"] = verdict.word
        return made
