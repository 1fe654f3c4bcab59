"""The protocol "shapes of data": a paper's list of data sets, and what of it there is here.

Of each set: rows, features, nonzeros and classes of what is here, counted, beside what the paper says, and the part of
the features that never come in the training rows, which the paper on sparse online learning calls sparsity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..data import Split, first_rows, load
from ..entry import DataSet, Entry
from ..outcome import Cell, Column, Findings, Missing, Row, Table, Verdict
from ..progress import Progress

_MEASURES = {
    "training rows": 0,
    "test rows": 0,
    "features": 0,
    "nonzeros": 0,
    "nonzeros a row": 2,
    "never active, %": 2,
    "negatives per positive": 2,
}
_SHAPE = ("training rows", "test rows", "features", "nonzeros a row", "negatives per positive")


@dataclass(frozen=True)
class Parameters:
    """The protocol: rows for training and testing by the name of the set; `near` is how close a count has to be."""

    rows: dict[str, tuple[int, ...]]
    near: float
    near_points: float


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    """Count what there is of every data set."""
    progress.expect(sum(sum(parameters.rows[data.name]) for data in entry.data_sets))
    made, verdicts, missing = [], [], []
    for data in entry.data_sets:
        n_train, n_test = parameters.rows[data.name]
        progress.advance(0, data.name)
        rows = load(data, folder, **({"n_samples": n_train + n_test} if data.generator else {}))
        progress.advance(n_train + n_test, data.name)
        if isinstance(rows, Missing):
            missing.append(rows)
            continue
        split = first_rows(rows, n_train, n_test)
        if data.generator is None:
            split = Split(split.X, split.y, split.X_test, split.y_test, data.stand_in)
        ours, paper = counted(split), _paper(entry, data.name)
        made += _rows(data, split, ours, paper)
        verdicts += _verdicts(data, split, ours, paper, parameters)
    columns = tuple(Column(name, compared=False) for name in _MEASURES)
    note = (
        '"Never active" are the features that no training row has, which the paper calls sparsity. The nonzeros are '
        "those of the training rows."
    )
    tables = (
        (Table("Data sets: ours and the paper's", ("data set", "whose"), columns, tuple(made), note),) if made else ()
    )
    return Findings(tables=tables, verdicts=tuple(verdicts), missing=tuple(missing), notes=(entry.note,))


def counted(split: Split) -> dict[str, float]:
    """The measures of rows for training and testing."""
    n_train, n_features = split.X.shape
    active = np.zeros(n_features, bool)
    active[split.X.indices] = True
    n_positive = int((split.y > 0).sum())
    return {
        "training rows": float(n_train),
        "test rows": float(len(split.y_test)),
        "features": float(n_features),
        "nonzeros": float(split.X.nnz),
        "nonzeros a row": split.X.nnz / n_train,
        "never active, %": 100 * (1 - float(active.mean())),
        "negatives per positive": (n_train - n_positive) / max(n_positive, 1),
    }


def _paper(entry: Entry, name: str) -> dict[str, float]:
    """The paper's measures; the nonzeros of a row follow from its others."""
    printed = {measure: entry.paper_mean(name, "paper", measure) for measure in _MEASURES}
    known = {measure: value.mean for measure, value in printed.items() if value is not None}
    return {**known, "nonzeros a row": known["nonzeros"] / known["training rows"]}


def _rows(data: DataSet, split: Split, ours: Mapping[str, float], paper: Mapping[str, float]) -> list[Row]:
    made = "generated" if data.generator else "real"
    here = "here" if split.stand_in is None else f"here: stand-in, {made}"
    return [
        Row((data.name, who), tuple(Cell(text=f"{counts[name]:,.{digits}f}") for name, digits in _MEASURES.items()))
        for who, counts in (("the paper's", paper), (here, ours))
    ]


def _verdicts(
    data: DataSet, split: Split, ours: Mapping[str, float], paper: Mapping[str, float], parameters: Parameters
) -> list[Verdict]:
    label = split.label(data.name)
    off = [name for name in _SHAPE if abs(ours[name] - paper[name]) > parameters.near * paper[name]]
    gap = ours["never active, %"] - paper["never active, %"]
    differing = "; ".join(
        f"{name} {ours[name]:,.{_MEASURES[name]}f} against {paper[name]:,.{_MEASURES[name]}f}" for name in off
    )
    return [
        Verdict(
            f"{label}: what is here has the paper's rows, features, nonzeros a row and part of positives.",
            not off,
            f"Different by more than {parameters.near:.0%}: {differing}."
            if off
            else f"All within {parameters.near:.0%}.",
        ),
        Verdict(
            f"{label}: as many features never come in the training rows (at most {parameters.near_points:g} "
            "points more or fewer).",
            abs(gap) <= parameters.near_points,
            f"{ours['never active, %']:.2f} % against {paper['never active, %']:.2f} %.",
        ),
    ]
