"""Text tables."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(rows: Sequence[Sequence[str]], align: str = "<") -> str:
    """Rows of cells as lines of text, with each column as wide as its widest cell.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells, usually with the headings first.
    align : str, default="<"
        "<" for a column that begins at its left, ">" for one that ends at its right, as the columns beyond `align` do.

    Examples
    --------
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
