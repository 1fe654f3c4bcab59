"""The tables and figures of the papers, made again: ours beside theirs, with a verdict that can be negative.

An entry (``entries/NAME.toml``) is data: a description of the table or figure, the data sets with their sources and
checks, the protocol, and the paper's numbers. Each kind of protocol is a module of `protocols`, named in `KINDS`. It
has a frozen dataclass ``Parameters``, which defines the keys of the entry's ``[protocol]``, and a function ``run(entry,
parameters, folder, progress)`` that returns `Findings`.

>>> from sureline import reproduce
>>> "scw-table3" in reproduce.names()
True
>>> reproduce.entry("scw-table3").where
'table 3'
"""

from __future__ import annotations

from .entry import Entry, EntryError, entry, names, read_entry, varied
from .outcome import Cell, Column, Findings, Mean, Missing, Outcome, Picture, Row, Series, Table, Verdict
from .progress import Progress, Step
from .running import KINDS, data_folder, run

__all__ = [
    "KINDS",
    "Cell",
    "Column",
    "Entry",
    "EntryError",
    "Findings",
    "Mean",
    "Missing",
    "Outcome",
    "Picture",
    "Progress",
    "Row",
    "Series",
    "Step",
    "Table",
    "Verdict",
    "data_folder",
    "entry",
    "names",
    "read_entry",
    "run",
    "varied",
]
