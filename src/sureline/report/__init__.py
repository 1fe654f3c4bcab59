"""HTML reports and charts: the report of a tournament, and building blocks of other pages.

``write_report(result, path)`` makes the page of a tournament. For pages of one's own there are `page` and `write_page`
with the blocks of `sureline.report.blocks` (sections, paragraphs, tables, verdicts, figures; its docstring has an
example) and the figures of `sureline.evaluate.charts`, which also save themselves as files (.png, .svg, .pdf, .html).
Pages need jinja2, and figures need Altair: ``pip install 'sureline[report]'``.
"""

from ..evaluate.charts import Axis, Bar, Bars, Chart, HeatMap, MapCell, Reference, Series
from .blocks import (
    Badge,
    Cell,
    Code,
    Column,
    Command,
    Fact,
    Facts,
    Folded,
    Interval,
    Link,
    Notice,
    Paragraph,
    Picture,
    Pictures,
    Row,
    Section,
    Strong,
    Table,
    Verdict,
)
from .pages import page, write_page
from .tournament import report, write_report

__all__ = [
    "Axis",
    "Badge",
    "Bar",
    "Bars",
    "Cell",
    "Chart",
    "Code",
    "Column",
    "Command",
    "Fact",
    "Facts",
    "Folded",
    "HeatMap",
    "Interval",
    "Link",
    "MapCell",
    "Notice",
    "Paragraph",
    "Picture",
    "Pictures",
    "Reference",
    "Row",
    "Section",
    "Series",
    "Strong",
    "Table",
    "Verdict",
    "page",
    "report",
    "write_page",
    "write_report",
]
