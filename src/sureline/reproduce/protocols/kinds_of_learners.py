"""The protocol "kinds of learners": table 1 of the sparse online learning paper, each entry by a computation.

order      An example that has an old feature and a new one moves both weights alike (first order) or not (second).
sparsity   A penalty leaves features without weight, or there is none. If the same gradients in another order end with
           the same weight, that is a function of their sum: dual averaging. If not, what was truncated on the way is
           lost: truncated gradient.
costs      The same rows with the rarer label end with a larger weight than with the frequent one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._inputs import Floats
from ..entry import Entry, EntryError, Learner
from ..learners import build
from ..outcome import Cell, Column, Findings, Row, Table, Verdict
from ..progress import Progress

COLUMNS = ("order", "sparsity", "costs")
FIRST, SECOND = "first order", "second order"
TRUNCATED, DUAL, NEITHER = "truncated gradient", "dual averaging", "non-sparse"


@dataclass(frozen=True)
class Parameters:
    """The parameters of the protocol."""

    paper: dict[str, tuple[str, ...]]  # for each learner the paper's order, sparsity and costs
    rows: int  # that an old feature has come in
    penalties: tuple[float, ...]  # that are tried


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    names = [one.name for one in entry.learners]
    if set(parameters.paper) != set(names) or any(len(said) != len(COLUMNS) for said in parameters.paper.values()):
        raise EntryError(f"{entry.name}.toml: 'paper' must say order, sparsity and costs of each learner.")
    progress.expect(len(names))
    found, rows = {}, []
    for one in entry.learners:
        found[one.name] = kind_of(entry, one, parameters)
        ours = type(build(entry, one))
        cells = (
            *(
                Cell(text=text, paper_text=said)
                for text, said in zip(found[one.name], parameters.paper[one.name], strict=True)
            ),
            Cell(text=f"{ours.__name__}: {ours.paper}"),
        )
        rows.append(Row((one.name,), cells))
        progress.advance(1, one.name)
    columns = (*(Column(name, difference=False) for name in COLUMNS), Column("here", compared=False))
    return Findings(
        tables=(Table("Learners, each entry by a computation", ("learner",), columns, tuple(rows)),),
        verdicts=tuple(_verdict(i, parameters, found) for i in range(len(COLUMNS))),
        notes=(entry.note,) if entry.note else (),
    )


def kind_of(entry: Entry, learner: Learner, parameters: Parameters) -> tuple[str, str, str]:
    """Order, sparsity and costs."""
    old, new = movements(entry, learner, parameters.rows)
    rare, frequent = weights_of_classes(entry, learner, parameters.rows)
    return (
        FIRST if np.isclose(old, new, rtol=1e-9) else SECOND,
        sparsity(entry, learner, parameters),
        "yes" if rare > frequent * (1 + 1e-9) else "no",
    )


def _learned(entry: Entry, learner: Learner, X: Any, y: Any, **point: Any) -> Floats:
    model = build(entry, learner, point)
    model.partial_fit(np.asarray(X, dtype=float), np.asarray(y), classes=[-1, 1])  # in the order of the rows
    weights: Floats = model.coef_[0]
    return weights


def movements(entry: Entry, learner: Learner, rows: int) -> tuple[float, float]:
    """The changes by which an example moves an old feature's weight and a new one's.

    The rows of the old feature have labels in turn, so that each of them is a step. It is compared with the same
    stream that ends with an example of a third feature: so what time does to all weights is left out.
    """
    history, turns = [[1, 0, 0]] * rows, [1, -1] * (rows // 2)
    after = _learned(entry, learner, [*history, [1, 1, 0]], [*turns, 1])
    without = _learned(entry, learner, [*history, [0, 0, 1]], [*turns, 1])
    old, new = np.abs(after - without)[:2]
    return float(old), float(new)


def sparsity(entry: Entry, learner: Learner, parameters: Parameters) -> str:
    """If a penalty leaves a rare feature without weight: whether the order of the gradients counts."""
    if "lam" not in build(entry, learner).get_params():
        return NEITHER
    sizes = np.linspace(0.1, 1, parameters.rows)
    X = np.column_stack([sizes, np.where(np.arange(parameters.rows) == 0, 0.01, 0)])
    y = np.ones(parameters.rows)  # costs of labels may depend on earlier labels
    selects, same = False, True
    for lam in parameters.penalties:
        up = _learned(entry, learner, X, y, lam=lam)
        down = _learned(entry, learner, X[::-1], y[::-1], lam=lam)
        selects |= up[0] != 0 and up[1] == 0
        same &= bool(np.isclose(up[0], down[0], rtol=1e-9, atol=1e-15))
    if not selects:
        return NEITHER
    return DUAL if same else TRUNCATED


def weights_of_classes(entry: Entry, learner: Learner, rows: int) -> tuple[float, float]:
    """The weights of a new feature whose rows have the rare label, and of one whose rows have the frequent label."""
    history, labels = [[1, 0]] * rows, [1 if t % 10 == 9 else -1 for t in range(rows)]
    rare, frequent = (
        abs(_learned(entry, learner, [*history, *([[0, 1]] * 20)], [*labels, *([label] * 20)])[1]) for label in (1, -1)
    )
    return float(rare), float(frequent)


def _verdict(i: int, parameters: Parameters, found: dict[str, tuple[str, str, str]]) -> Verdict:
    other = [
        f"{name} ({kinds[i]} here, {parameters.paper[name][i]} there)"
        for name, kinds in found.items()
        if kinds[i] != parameters.paper[name][i]
    ]
    what = {
        "order": "are of the order",
        "sparsity": "are sparse in the way",
        "costs": "know of costs, or not, in the way",
    }[COLUMNS[i]]
    n = len(found)
    return Verdict(
        f"The learners {what} that the paper says.",
        not other,
        f"{n - len(other)} of {n} do." + (f" Others: {', '.join(other)}." if other else ""),
    )
