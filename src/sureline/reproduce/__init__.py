"""The tables and figures of the papers, made again: ours beside theirs, with a verdict that can be negative.

An entry (``entries/NAME.toml``) is data: what a table or figure of a paper shows, the data sets with where to get them
and what they must look like, the protocol, and the paper's numbers. What a protocol of some kind does with that is a
module of `protocols`, named in `KINDS`. It has a frozen dataclass ``Parameters``, which says what the entry's
``[protocol]`` consists of, and a function ``run(entry, parameters, folder, progress)`` that returns `Findings`.

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
