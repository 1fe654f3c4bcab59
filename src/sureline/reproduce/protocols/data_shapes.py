"""The protocol "shapes of data": a paper's list of data sets, compared with the data here.

For each set the paper's measures are counted: rows, features, nonzeros, classes, and the share of features absent from
the training rows, which the paper on sparse online learning calls sparsity.
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
# The measures of a set's shape, and their names in claims.
_SHAPE = {
    "training rows": "rows",
    "test rows": "rows",
    "features": "features",
    "nonzeros a row": "nonzeros a row",
    "negatives per positive": "part of positives",
}


@dataclass(frozen=True)
class Parameters:
    """The protocol: rows for training and testing by the name of the set; `near` is how close a count has to be."""

    rows: dict[str, tuple[int, ...]]
    near: float
    near_points: float = 5.0


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    """Measure every data set that is here."""
    progress.expect(sum(sum(parameters.rows[data.name]) for data in entry.data_sets))
    made, verdicts, missing = [], [], []
    paper = {data.name: _paper(entry, data.name) for data in entry.data_sets}
    listed = [name for name in _MEASURES if any(name in known for known in paper.values())]
    for data in entry.data_sets:
        n_train, n_test = parameters.rows[data.name]
        progress.advance(0, data.name)
        rows = load(data, folder, **({"n_samples": n_train + n_test} if data.generator else {}))
        progress.advance(n_train + n_test, data.name)
        if isinstance(rows, Missing):
            missing.append(rows)
            continue
        split = first_rows(rows, n_train, n_test)
        ours = counted(split)
        here = "here" if rows.stand_in is None else f"here: stand-in, {'real' if rows.sizes else 'generated'}"
        made += [_row(data.name, "the paper's", paper[data.name], listed), _row(data.name, here, ours, listed)]
        verdicts += _verdicts(data, split, ours, paper[data.name], parameters)
    columns = tuple(Column(name, compared=False) for name in listed)
    notes = [
        '"Never active" are the features that no training row has, which the paper calls sparsity.'
        if "never active, %" in listed
        else "",
        "The nonzeros are those of the training rows." if "nonzeros a row" in listed else "",
    ]
    note = " ".join(filter(None, notes))
    tables = (
        (Table("Data sets: ours and the paper's", ("data set", "whose"), columns, tuple(made), note),) if made else ()
    )
    return Findings(tables=tables, verdicts=tuple(verdicts), missing=tuple(missing), notes=(entry.note,))


def counted(split: Split) -> dict[str, float]:
    """The measures of rows for training and testing."""
    from scipy import sparse

    X = sparse.csr_matrix(split.X)
    n_train, n_features = X.shape
    active = np.zeros(n_features, bool)
    active[X.indices] = True
    n_positive = int((split.y > 0).sum())
    return {
        "training rows": float(n_train),
        "test rows": float(len(split.y_test)),
        "features": float(n_features),
        "nonzeros": float(X.nnz),
        "nonzeros a row": X.nnz / n_train,
        "never active, %": 100 * (1 - float(active.mean())),
        "negatives per positive": (n_train - n_positive) / max(n_positive, 1),
    }


def _paper(entry: Entry, name: str) -> dict[str, float]:
    """The paper's measures; the nonzeros per row follow from the others."""
    printed = {measure: entry.paper_mean(name, "paper", measure) for measure in _MEASURES}
    known = {measure: value.mean for measure, value in printed.items() if value is not None}
    if "nonzeros" in known:
        known["nonzeros a row"] = known["nonzeros"] / known["training rows"]
    return known


def _row(data: str, whose: str, counts: Mapping[str, float], listed: list[str]) -> Row:
    return Row((data, whose), tuple(Cell(text=_in_words(name, counts) if name in counts else "") for name in listed))


def _in_words(measure: str, counts: Mapping[str, float]) -> str:
    return f"{counts[measure]:,.{_MEASURES[measure]}f}"


def _verdicts(
    data: DataSet, split: Split, ours: Mapping[str, float], paper: Mapping[str, float], parameters: Parameters
) -> list[Verdict]:
    label = split.label(data.name)
    known = [name for name in _SHAPE if name in paper]
    words = list(dict.fromkeys(_SHAPE[name] for name in known))
    shape = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    off = [name for name in known if abs(ours[name] - paper[name]) > parameters.near * paper[name]]
    differing = "; ".join(f"{name} {_in_words(name, ours)} against {_in_words(name, paper)}" for name in off)
    made = [
        Verdict(
            f"{label}: what is here has the paper's {shape}.",
            not off,
            f"These differ by more than {parameters.near:.0%}. {differing}."
            if off
            else f"All within {parameters.near:.0%}.",
        )
    ]
    if "never active, %" in paper:
        gap = ours["never active, %"] - paper["never active, %"]
        made.append(
            Verdict(
                f"{label}: as many features never come in the training rows (at most {parameters.near_points:g} "
                "points more or fewer).",
                abs(gap) <= parameters.near_points,
                f"{ours['never active, %']:.2f} % against {paper['never active, %']:.2f} %.",
            )
        )
    return made
