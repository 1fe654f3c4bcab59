"""An outcome as a page (HTML), and as files to keep: numbers (JSON), a page (Markdown) and pictures (SVG)."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .._atomic import WriteError, replacing, why
from ..evaluate import charts
from ..report import blocks, page, write_page
from ..report.blocks import Block, Command, Folded, Notice, Paragraph, Section
from .outcome import Cell, Column, Outcome, Picture, Table
from .words import (
    ROUGH,
    as_markdown,
    cell_in_words,
    explanation,
    has_differences,
    has_theirs,
    kept_part,
    partly,
    provenance,
)


def chart_of(picture: Picture) -> charts.Chart:
    """The chart of a picture; its title marks stand-ins."""
    in_front = [one.name for one in picture.series if not one.faint]
    return charts.Chart(
        picture.title,
        charts.Axis(picture.x_label, log=picture.x_log),
        charts.Axis(picture.y_label, log=picture.y_log),
        [
            charts.Series(
                one.name,
                one.x,
                one.y,
                style=None if one.faint else in_front.index(one.name),
                line=not picture.points,
                markers=picture.points or not one.faint,
                low=one.low,
                high=one.high,
            )
            for one in sorted(picture.series, key=lambda one: not one.faint)
        ],
        description=picture.note,
    )


def write_report(outcome: Outcome, path: Path) -> None:
    """Write the HTML page of an outcome, self-contained in one file."""
    write_page(path, page_of(outcome))


def page_of(outcome: Outcome) -> str:
    """The page as text."""
    findings = outcome.findings
    first: list[Block] = [Paragraph(outcome.shows, lead=True)]
    if outcome.quick:
        first.append(Notice("This is a rough version (--quick): fewer runs, fewer rows or fewer data sets."))
    if partly(outcome):
        first.append(Notice(partly(outcome)))
    if outcome.is_empty:
        first.append(Notice("Nothing could be run, for want of data: see below."))
    sections = [
        Section("", first),
        Section("Verdicts", findings.verdicts),
        Section(
            "Pictures", [blocks.Pictures([_picture(one) for one in findings.pictures])] if findings.pictures else []
        ),
        Section("Ours and the paper's" if _has_theirs(outcome) else "Numbers", _tables(outcome)),
        Section("Remarks", [Paragraph(note) for note in findings.notes]),
        Section("Not run, for want of data", [Notice(str(one)) for one in findings.missing]),
        Section("How this was made", [Command(outcome.command), _settings(outcome)]),
    ]
    return page(
        outcome.title,
        [section for section in sections if section.blocks],
        kicker=f"sureline · reproduced: {outcome.name}",
        subtitle=f"{outcome.paper}, {outcome.where}.",
        footer=provenance(outcome),
    )


def _picture(picture: Picture) -> blocks.Picture:
    parts = [f"Stand-in: {picture.stand_in}."] if picture.stand_in else []
    return blocks.Picture(
        chart_of(picture), picture.title, " ".join([*parts, *([picture.note] if picture.note else [])])
    )


def _has_theirs(outcome: Outcome) -> bool:
    return any(column.compared for table in outcome.findings.tables for column in table.columns)


def _tables(outcome: Outcome) -> list[Block]:
    below = f"In small letters below ours are the paper's{' and the difference' if has_differences(outcome) else ''}."
    blocks: list[Block] = [Paragraph(f"{explanation(outcome)} {below}", quiet=True)] if has_theirs(outcome) else []
    for table in outcome.findings.tables:
        if table.stand_in:
            blocks.append(Notice(f"Stand-in: {table.stand_in}."))
        blocks.append(_table(table))
        blocks += [Paragraph(table.note, quiet=True)] if table.note else []
    return blocks


def _table(table: Table) -> blocks.Table:
    """Ours with the paper's in small letters below it, so that a table is no wider than a page."""
    heads = [blocks.Column(name) for name in table.heads]
    columns = [blocks.Column(one.name, numeric=True) for one in table.columns]
    rows = [
        blocks.Row([*row.head, *(_cell(column, one) for column, one in zip(table.columns, row.cells, strict=True))])
        for row in table.rows
    ]
    return blocks.Table([*heads, *columns], rows, caption=table.title, sortable=len(rows) > 1)


def _cell(column: Column, cell: Cell) -> blocks.Cell:
    ours, *others = cell_in_words(column, cell, mark="")
    remark = ", ".join(text for text in others if text)
    differs = cell.paper_text is not None and cell.paper_text != cell.text
    return blocks.Cell(
        ours,
        ours if cell.ours is None else cell.ours.mean,
        best=cell.best,
        remark=remark,
        badge=blocks.Badge("not so", "bad") if differs else None,
    )


def _settings(outcome: Outcome) -> Folded:
    columns = [blocks.Column("parameter"), blocks.Column("value")]
    rows = [[name, _plain(value)] for name, value in outcome.protocol.items()]
    return Folded("The parameters of the protocol", [blocks.Table(columns, rows)])


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# -- files ------------------------------------------------------------------------------------------------------------


def prepare(folder: Path, name: str, *, quick: bool) -> None:
    """Make the folder and see whether the files of an entry can be written there: before hours of work, not after them.

    Raises
    ------
    OSError
        If nothing can be written there.
    ValueError
        If there is a full run that a quick one would replace, or a page whose part by hand could not be kept.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WriteError(error.errno or 0, why(error), str(folder), "cannot be written") from None
    page, numbers = folder / f"{name}.md", folder / f"{name}.json"
    full = page.exists() and ROUGH not in _page_text(page)
    full = full or (numbers.exists() and b'"quick": true' not in numbers.read_bytes())
    if quick and full:
        raise ValueError(f"{folder} has a full run of {name}, which --quick would replace: name another folder.")


def write_files(
    outcome: Outcome, folder: Path | None = None, report: Path | None = None
) -> tuple[list[Path], list[str]]:
    """Write a page (HTML), and NAME.json, NAME.md and NAME-PICTURE.svg into a folder, each tried by itself.

    What was written by hand at the end of NAME.md is kept. Returns what was written, and what went wrong in sentences.
    """
    steps: dict[Path, Callable[[], None]] = {}
    if report is not None:
        steps[report] = lambda: write_report(outcome, report)
    if folder is not None:
        steps |= _files(outcome, folder)
    written, failed = [], []
    for path, write in steps.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write()
        except (WriteError, ValueError) as error:
            failed.append(str(error))
        except OSError as error:
            failed.append(f"{path} could not be written: {why(error)}")
        else:
            written.append(path)
    return written, failed


def _files(outcome: Outcome, folder: Path) -> dict[Path, Callable[[], None]]:
    numbers, text = folder / f"{outcome.name}.json", folder / f"{outcome.name}.md"
    pictures = {folder / f"{outcome.name}-{_file_name(one.name)}.svg": one for one in outcome.findings.pictures}

    def write_numbers() -> None:
        with replacing(numbers) as out:
            out.write((json.dumps(outcome.to_dict(), indent=1, ensure_ascii=False) + "\n").encode())

    def write_text() -> None:
        kept = kept_part(_page_text(text)) if text.exists() else ""
        with replacing(text) as out:
            out.write(as_markdown(outcome, [path.name for path in pictures], kept).encode())

    drawn = {path: partial(chart_of(one).save, path) for path, one in pictures.items()}
    return {numbers: write_numbers, text: write_text, **drawn}


def _page_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} is not text in UTF-8, so that what was written there by hand cannot be kept: repair it or move it."
        ) from None


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
