"""The blocks of pages: sections of paragraphs, notices, tables, verdicts, figures and commands.

A page is a list of `Section`, each a list of blocks. Words are a string, or a list of strings and of `Strong`, `Code`
and `Link`. Whatever they hold is shown as it is, never taken for HTML.

    from sureline.report import Axis, Cell, Chart, Column, Paragraph, Picture, Section, Series, Table, Verdict, page

    html = page(
        "Table 3",
        [
            Section(
                "Mistakes",
                [
                    Paragraph(["Ours beside ", Strong("the paper's"), "."]),
                    Verdict("SCW makes the fewest mistakes.", True, "8 of 8 data sets"),
                    Table([Column("data"), Column("ours", numeric=True)], [["a9a", Cell("15.2 %", 0.152, best=True)]]),
                    Picture(Chart("Error", Axis("examples", log=True), Axis("error"), [Series("SCW", x, y)])),
                ],
            )
        ],
    )
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..evaluate.charts import Figure


@dataclass(frozen=True)
class Strong:
    """Emphasised words."""

    text: str


@dataclass(frozen=True)
class Code:
    """Inline code."""

    text: str


@dataclass(frozen=True)
class Link:
    """A link within the page: `anchor` is the id of its target."""

    text: str
    anchor: str


Words = str | Sequence[str | Strong | Code | Link]
Tone = Literal["plain", "good", "bad", "warn"]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph. `lead` makes it prominent, `quiet` a remark."""

    words: Words
    lead: bool = False
    quiet: bool = False
    kind: ClassVar[str] = "paragraph"


@dataclass(frozen=True)
class Notice:
    """A highlighted notice."""

    words: Words
    tone: Tone = "warn"
    kind: ClassVar[str] = "notice"


@dataclass(frozen=True)
class Verdict:
    """A claim, its verdict (None if undecided), and the evidence."""

    claim: str
    holds: bool | None
    evidence: str = ""
    kind: ClassVar[str] = "verdict"

    @property
    def word(self) -> str:
        return {True: "holds", False: "does not hold", None: "cannot be told"}[self.holds]

    @property
    def badge(self) -> Badge:
        tones: dict[bool | None, Tone] = {True: "good", False: "bad", None: "warn"}
        return Badge(self.word, tones[self.holds])


@dataclass(frozen=True)
class Badge:
    """One or two words on a coloured background."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Fact:
    """A number with its meaning and a remark."""

    label: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class Facts:
    """Facts side by side. `large` for the most important ones."""

    facts: Sequence[Fact]
    large: bool = False
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Interval:
    """A value and its interval, drawn in a cell. All cells of a column share the same scale."""

    value: float
    low: float
    high: float
    limits: tuple[float, float]

    @property
    def shares(self) -> tuple[float, float, float]:
        """The places of low, value and high, in per cent of the width."""
        start, stop = self.limits
        length = (stop - start) or 1.0
        low, value, high = (100 * min(max((v - start) / length, 0.0), 1.0) for v in (self.low, self.value, self.high))
        return low, value, high


@dataclass(frozen=True)
class Column:
    """A column of a table. `hint` is shown below its name."""

    name: str
    numeric: bool = False
    hint: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    words: Words
    sort: float | str | None = None  #: the sort key; by default the text. Cells with None come last.
    best: bool = False  #: marked as the best of its row or column
    remark: str = ""  #: in small letters below
    badge: Badge | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class Row:
    """A row of a table: cells, and the key of its series in a chart. `pale` rows do not count."""

    cells: Sequence[Cell | str]
    key: str | None = None
    style: int | None = None
    marked: bool = False
    pale: bool = False


@dataclass(frozen=True)
class Table:
    """A table that scrolls if it is too wide.

    `sortable` puts a button into each heading; `sorted_by` is the column by which the rows are in order already. The
    first cell of a row is its heading.
    """

    columns: Sequence[Column]
    rows: Sequence[Row | Sequence[Cell | str]]
    caption: str = ""
    sortable: bool = False
    sorted_by: int | None = None
    descending: bool = False
    kind: ClassVar[str] = "table"

    @property
    def filled(self) -> list[Row]:
        """The rows, with plain text turned into cells."""
        rows = [row if isinstance(row, Row) else Row(row) for row in self.rows]
        return [
            Row(
                [cell if isinstance(cell, Cell) else Cell(cell) for cell in row.cells],
                row.key,
                row.style,
                row.marked,
                row.pale,
            )
            for row in rows
        ]


@dataclass(frozen=True)
class Picture:
    """A chart with heading and description. `wide` takes the whole width of the page."""

    figure: Figure
    heading: str = ""
    caption: Words = ""
    wide: bool = False
    kind: ClassVar[str] = "picture"


@dataclass(frozen=True)
class Pictures:
    """Charts next to each other, if there is room."""

    pictures: Sequence[Picture]
    kind: ClassVar[str] = "pictures"


@dataclass(frozen=True)
class Command:
    """A command line, or a few lines of code."""

    text: str
    label: str = ""
    kind: ClassVar[str] = "command"


@dataclass(frozen=True)
class Folded:
    """Blocks that can be unfolded. They are all printed."""

    summary: Words
    blocks: Sequence[Block]
    anchor: str | None = None
    kind: ClassVar[str] = "folded"


Block = Paragraph | Notice | Verdict | Facts | Table | Picture | Pictures | Command | Folded


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading; the first part may have none."""

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    anchor: str | None = None
