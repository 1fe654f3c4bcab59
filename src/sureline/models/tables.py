"""Results as tables: text, data frames, CSV and LaTeX."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from csv import DictWriter
from io import StringIO
from pathlib import Path
from typing import Any


def text_table(rows: Sequence[Sequence[str]], align: str = "<") -> str:
    """Rows of cells as lines of text, with each column as wide as its widest cell.

    In `align`, "<" means left-aligned and ">" right-aligned, which is the default for further columns.

    >>> print(text_table([["learner", "error"], ["AROW", "0.125"]]))
    learner  error
    AROW     0.125
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = align.ljust(len(widths), ">")
    lines = (
        "  ".join(
            cell.ljust(width) if side == "<" else cell.rjust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def text_of_rows(rows: Sequence[Mapping[str, Any]], formats: Mapping[str, str]) -> str:
    """Rows by the names of their columns, below these names; numbers with four decimals unless a format is given."""
    cells = [[formats.get(name, "{:.4f}").format(value) for name, value in row.items()] for row in rows]
    return text_table([list(rows[0]), *cells])


class Tabular(ABC):
    """Base of results that are tables: also as a data frame, CSV or LaTeX."""

    @abstractmethod
    def table(self) -> list[dict[str, Any]]:
        """The rows, as dicts of the same columns."""

    def _data(self) -> list[dict[str, Any]]:
        """The rows of data frames and CSV; by default those of the table."""
        return self.table()

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame. Needs pandas."""
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install pandas. to_csv works without it.") from None
        return pandas.DataFrame(self._data())

    def to_csv(self, path: str | Path | None = None) -> str:
        """The rows as CSV, with column names first; also written to `path` if given."""
        rows, out = self._data(), StringIO()
        writer = DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return _kept(out.getvalue(), path)

    def to_latex(self, path: str | Path | None = None) -> str:
        """The table as a LaTeX tabular with booktabs rules; also written to `path` if given."""
        rows = self.table()
        names = list(rows[0]) if rows else []
        sides = "".join("l" if any(isinstance(row[name], str) for row in rows) else "r" for name in names)
        lines = [[_latex(name) for name in names], *([_latex(row[name]) for name in names] for row in rows)]
        heading, *body = (" & ".join(line) + r" \\" for line in lines)
        text = [
            rf"\begin{{tabular}}{{{sides}}}",
            r"\toprule",
            heading,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return _kept("\n".join(text) + "\n", path)


def _latex(value: Any) -> str:
    """A cell with LaTeX's special characters escaped."""
    if value is None:
        return "--"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    escaped = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(escaped.get(c, rf"\{c}" if c in "&%$#_{}" else c) for c in text)


def _kept(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
