"""Text tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def text_table(rows: Sequence[Sequence[str]], align: str = "<") -> str:
    """Rows of cells as lines of text, with each column as wide as its widest cell.

    In `align`, "<" is for a column that begins at its left, and ">" for one that ends at its right, as those beyond do.

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
