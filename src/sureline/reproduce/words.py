"""An outcome as text: for the terminal, and as Markdown."""

from __future__ import annotations

from dataclasses import replace

from ..models.tables import text_table
from .outcome import Cell, Column, Outcome, Table

KEPT_HEADING = "## Where we differ and why"
ROUGH = "A rough version (--quick). "


def headings(table: Table) -> list[str]:
    """The headings of a table in which each measure has our number, the paper's, and the difference."""
    made = list(table.heads)
    for column in columns_of(table):
        made += [column.name]
        made += ["paper"] if column.compared else []
        made += ["difference"] if column.compared and column.difference else []
    return made


def columns_of(table: Table) -> list[Column]:
    """The columns of a table; columns without differences, as for a stand-in, lack that part."""
    return [
        replace(column, difference=column.difference and any(row.cells[i].difference is not None for row in table.rows))
        for i, column in enumerate(table.columns)
    ]


def cells_in_words(table: Table, *, mark: str = "*") -> list[list[str]]:
    """The rows of a table as text; the best is put between two marks."""
    return [
        [
            *row.head,
            *(
                text
                for column, cell in zip(columns_of(table), row.cells, strict=True)
                for text in cell_in_words(column, cell, mark)
            ),
        ]
        for row in table.rows
    ]


def cell_in_words(column: Column, cell: Cell, mark: str) -> list[str]:
    """Our number, the paper's and the difference, as far as the column has them; the best is put between two marks."""
    ours = cell.text or ("" if cell.ours is None else cell.ours.text(column.digits))
    if cell.best:
        ours = f"{mark}{ours}{mark}"
    if not column.compared:
        return [ours]
    digits = column.digits if column.paper_digits is None else column.paper_digits
    paper = cell.paper_text or ("" if cell.paper is None else cell.paper.text(digits))
    if not column.difference:
        return [ours, paper]
    return [ours, paper, "" if cell.difference is None else f"{cell.difference:+.1f}"]


def provenance(outcome: Outcome) -> str:
    """The command, the versions, the machine and the date, in words."""
    rough = ROUGH if outcome.quick else ""
    return f"{rough}sureline {outcome.version}, {outcome.date}, {outcome.seconds:,.0f} s."


def partly(outcome: Outcome) -> str:
    """A first paragraph if some data were missing; empty if none or all were."""
    missing = [one.data for one in outcome.findings.missing]
    if not missing or outcome.is_empty:
        return ""
    return f"Partial: without {', '.join(missing)}, for want of data (see below)."


def has_theirs(outcome: Outcome) -> bool:
    """True if the paper's numbers are there, which need an explanation."""
    return any(cell.paper is not None for cell in _cells(outcome))


def has_differences(outcome: Outcome) -> bool:
    return any(cell.difference is not None for cell in _cells(outcome))


def _cells(outcome: Outcome) -> list[Cell]:
    return [cell for table in outcome.findings.tables for row in table.rows for cell in row.cells]


def explanation(outcome: Outcome) -> str:
    """The meaning of the columns of a table with our numbers beside the paper's."""
    gap = (
        ". The difference is in standard errors of the difference of the two means, above zero where ours is larger"
        if has_differences(outcome)
        else ""
    )
    theirs = f" The paper's: {outcome.numbers_of}." if outcome.numbers_of else ""
    return (
        f"Ours and the paper's are means ± standard deviations of the runs{gap}. Marked are the best and those that a "
        f"paired t-test over the runs cannot tell from it (95 %); with one run, the best only.{theirs}"
    )


def as_text(outcome: Outcome, width: int = 120) -> str:
    """The outcome as text for the terminal."""
    parts = [f"{outcome.title}\n{outcome.paper}, {outcome.where}\n{outcome.shows}"]
    parts += [_wrapped(partly(outcome), width)] if partly(outcome) else []
    for table in outcome.findings.tables:
        parts.append(_text_table(table))
    if has_theirs(outcome):
        parts.append(_wrapped(explanation(outcome), width))
    if outcome.findings.verdicts:
        lines = [f"{verdict.word.upper()}: {verdict.claim} {verdict.evidence}" for verdict in outcome.findings.verdicts]
        parts.append("\n".join(_wrapped(line, width) for line in lines))
    parts += [_wrapped(note, width) for note in outcome.findings.notes]
    if outcome.findings.missing:
        parts.append("\n".join(["Not run, for want of data:", *(f"  {one}" for one in outcome.findings.missing)]))
    parts.append(f"{provenance(outcome)}\n{outcome.command}")
    return "\n\n".join(parts)


def _text_table(table: Table) -> str:
    text = text_table([headings(table), *cells_in_words(table)], align="<" * len(table.heads))
    title = table.title + (f"\nSTAND-IN: {table.stand_in}" if table.stand_in else "")
    return "\n".join([title, text, *([table.note] if table.note else [])])


def _wrapped(text: str, width: int) -> str:
    import textwrap

    return textwrap.fill(text, width)


def as_markdown(outcome: Outcome, pictures: list[str], kept: str = "") -> str:
    """A page in Markdown; `pictures` are its files, and `kept` the part written by hand."""
    parts = [f"# {outcome.title}", f"{outcome.paper}, {outcome.where}. {outcome.shows}", f"    {outcome.command}"]
    parts.append(provenance(outcome))
    parts += [f"**{partly(outcome)}**"] if partly(outcome) else []
    for name, picture in zip(pictures, outcome.findings.pictures, strict=True):
        parts.append(f"![{picture.title}]({name})")
        parts += [f"**Stand-in:** {picture.stand_in}"] if picture.stand_in else []
        parts += [picture.note] if picture.note else []
    for table in outcome.findings.tables:
        parts += [f"## {table.title}"] + ([f"**Stand-in:** {table.stand_in}"] if table.stand_in else [])
        head = headings(table)
        lines = [head, ["---"] * len(head), *cells_in_words(table, mark="**")]
        parts.append("\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines))
        parts += [table.note] if table.note else []
    if has_theirs(outcome):
        parts.append(explanation(outcome))
    if outcome.findings.verdicts:
        items = [f"- **{one.word}**: {one.claim}{_as_list(one.evidence)}" for one in outcome.findings.verdicts]
        parts += ["## Verdicts", "\n".join(items)]
    parts += list(outcome.findings.notes)
    if outcome.findings.missing:
        parts += ["## Not run, for want of data", "\n".join(f"- {one}" for one in outcome.findings.missing)]
    return "\n\n".join(parts) + "\n" + (f"\n{kept}" if kept else "")


def _as_list(evidence: str) -> str:
    """Evidence in Markdown: three parts or more, separated by semicolons, are a list below what comes before them."""
    first, *others = evidence.removesuffix(".").split("; ")
    if len(others) < 2:
        return f" {evidence}"
    lead, _, first = first.rpartition(". ")
    return "\n".join([f" {lead}." if lead else "", *(f"  - {part}" for part in (first, *others))])


def kept_part(old: str) -> str:
    """The part written by hand at the end of a page."""
    return old[old.index(KEPT_HEADING) :] if KEPT_HEADING in old else ""
