"""The properties of learners, each by a computation: table 1 of the SCW paper.

large margin    An example that is right, but not by enough, still changes the model.
confidence      Weights that have been learned often move less than new ones.
non-separable   An example with a wrong label does not get its way: what the learner asks for is not met after the step.
adaptive margin The margin that is asked for depends on how sure the learner is of the example.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from ... import rules
from ..entry import Entry, EntryError, Learner
from ..learners import build
from ..outcome import Cell, Column, Findings, Row, Table, Verdict
from ..progress import Progress

PROPERTIES = ("large margin", "confidence", "non-separable", "adaptive margin")


@dataclass(frozen=True)
class Parameters:
    """The parameters of the protocol."""

    paper: dict[str, tuple[bool, ...]]  # for each learner, whether it has the four properties
    variances: tuple[float, ...]  # the variances x'Sx at which the required margin is computed
    rows: int  # of the separable data that the learner has seen before the example with the wrong label comes
    seed: int


@dataclass(frozen=True)
class Evidence:
    """Computed properties of one learner."""

    margins: list[float]  # asked for at each of the variances
    old: float  # change of the weight of a learned feature by one example
    new: float  # change of the weight of a new feature
    before: float  # the margin of an example with a wrong label before the step
    after: float  # and after it
    asked: float  # the required margin after it; -inf if there is none at its variance

    @property
    def has(self) -> dict[str, bool]:
        acting = [margin for margin in self.margins if margin > -math.inf]
        return {
            "large margin": max(acting) > 1e-6,
            "confidence": self.new > self.old * (1 + 1e-9),
            "non-separable": self.asked == -math.inf or self.after < self.asked - 1e-9 * max(1.0, abs(self.asked)),
            "adaptive margin": max(acting) - min(acting) > 1e-9,
        }


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    names = [one.name for one in entry.learners]
    if set(parameters.paper) != set(names) or any(len(has) != 4 for has in parameters.paper.values()):
        raise EntryError(f"{entry.name}.toml: 'paper' must say of each learner whether it has the four properties.")
    progress.expect(len(entry.learners))
    found = {}
    for one in entry.learners:
        found[one.name] = evidence(entry, one, parameters)
        progress.advance(1, one.name)
    rows = tuple(
        Row(
            (name,),
            tuple(
                Cell(text=_yes(found[name].has[what]), paper_text=_yes(paper))
                for what, paper in _said(parameters, name)
            ),
        )
        for name in names
    )
    columns = tuple(Column(what, difference=False) for what in PROPERTIES)
    return Findings(
        tables=(Table("Properties, each by a computation", ("learner",), columns, rows), _numbers(parameters, found)),
        verdicts=tuple(_verdict(what, parameters, found) for what in PROPERTIES),
        notes=(entry.note,) if entry.note else (),
    )


def _yes(has: bool) -> str:
    return "yes" if has else "no"


def _said(parameters: Parameters, name: str) -> list[tuple[str, bool]]:
    return list(zip(PROPERTIES, parameters.paper[name], strict=True))


# -- the computations -------------------------------------------------------------------------------------------------


def evidence(entry: Entry, learner: Learner, parameters: Parameters) -> Evidence:
    rule = rule_of(learner)
    old, new = movements(entry, learner)
    before, after, variance = wrong_label(entry, learner, parameters.rows, parameters.seed)
    margins = [margin_asked(rule, v) for v in parameters.variances]
    return Evidence(margins, old, new, before, after, margin_asked(rule, variance))


def rule_of(learner: Learner) -> Any:
    """The rule of a learner, on scalars. CW is SCW-I without a limit."""
    given = dict(learner.parameters)
    if "eta" in given:
        given["phi"] = float(ndtri(given.pop("eta")))
    if learner.estimator == "CW":
        return rules.SCW("I", math.inf, given["phi"])
    if learner.estimator in ("SOP", "IELLIP"):  # their memory has a and c
        given = {name: value for name, value in given.items() if name == "b"}
    return getattr(rules, learner.estimator)(**given)


def margin_asked(rule: Any, variance: float) -> float:
    """The smallest margin at which the rule makes no step; -inf if it never makes one at this variance."""

    def steps(margin: float) -> bool:
        step = rule.step(margin, variance)
        return bool(step.alpha != 0 or step.beta != 0)

    low, high = -1e6, 1e6
    if not steps(low):
        return -math.inf
    while np.nextafter(low, high) < high and high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if steps(middle) else (low, middle)
    return high


def movements(entry: Entry, learner: Learner) -> tuple[float, float]:
    """The changes by which one example moves a weight after 20 examples, and a new weight.

    The 20 rows have the first feature alone and labels in turn; the example has both features, equally large.
    """
    X = np.zeros((20, 2))
    X[:, 0] = 3
    y = np.where(np.arange(20) % 2 == 0, 1, -1)
    model = build(entry, learner).fit(X, y)
    before = model.coef_.ravel().copy()
    label = -1 if before[0] > 0 else 1
    model.partial_fit(np.array([[3.0, 3.0]]), np.array([label]))
    old, new = np.abs(model.coef_.ravel() - before)
    return float(old), float(new)


def wrong_label(entry: Entry, learner: Learner, n_rows: int, seed: int) -> tuple[float, float, float]:
    """The margin of a mislabelled example before and after it is learned, and its variance after that.

    The rows are separable by a wide gap. The example is the row with the largest margin, with the opposite label and a
    twentieth of its length, so a large change of the weights would be needed to satisfy it.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 2))
    X[:, 0] += 4 * np.sign(X[:, 0])
    y = np.sign(X[:, 0]).astype(int)
    model = build(entry, learner).fit(X, y)
    scores = model.decision_function(X) * y
    i = int(np.argmax(scores))
    x, wrong = X[i : i + 1] / 20, -y[i : i + 1]
    before = float((model.decision_function(x) * wrong)[0])
    model.partial_fit(x, wrong)
    after = float((model.decision_function(x) * wrong)[0])
    variance = float(model.decision_std(x)[0]) ** 2 if hasattr(model, "decision_std") else float((x**2).sum())
    return before, after, variance


# -- what is said of them ---------------------------------------------------------------------------------------------


def _numbers(parameters: Parameters, found: dict[str, Evidence]) -> Table:
    variances = ", ".join(f"{v:g}" for v in parameters.variances)
    columns = (
        Column(f"margin asked for at variances {variances}", compared=False),
        Column("old weight moves", compared=False),
        Column("new weight moves", compared=False),
        Column("wrong label: margin before", 3, compared=False),
        Column("after", 3, compared=False),
        Column("asked for", 3, compared=False),
    )
    rows = []
    for name, one in found.items():
        margins = ", ".join(_margin(margin) for margin in one.margins)
        numbers = (f"{one.old:.5f}", f"{one.new:.5f}", f"{one.before:.3f}", f"{one.after:.3f}", _margin(one.asked))
        rows.append(Row((name,), tuple(Cell(text=text) for text in (margins, *numbers))))
    return Table("The numbers behind it", ("learner",), columns, tuple(rows))


def _margin(margin: float) -> str:
    return "none" if margin == -math.inf else f"{margin:.3f}"


_CLAIMS = {
    "large margin": "have large margins (an example that is right, but not by enough, still changes the model)",
    "confidence": "weigh by confidence (weights that have been learned often move less than new ones)",
    "non-separable": "handle data that are not separable (an example with a wrong label does not get its way)",
    "adaptive margin": "have adaptive margins (what is asked for depends on the variance of the example)",
}


def _verdict(what: str, parameters: Parameters, found: dict[str, Evidence]) -> Verdict:
    said = {name: dict(_said(parameters, name))[what] for name in found}
    yes, no = (", ".join(name for name, has in said.items() if has is wanted) for wanted in (True, False))
    differ = [name for name, one in found.items() if one.has[what] != said[name]]
    shown = "; ".join(f"{name}: {_shown(what, found[name])}" for name in differ or found)
    lead = f"It is otherwise for {', '.join(differ)}. " if differ else ""
    return Verdict(f"{yes} {_CLAIMS[what]}; {no or 'none'} do not.", not differ, f"{lead}{shown}.")


def _shown(what: str, one: Evidence) -> str:
    if what == "confidence":
        return f"an old weight moves by {one.old:.4f}, a new one by {one.new:.4f}"
    if what == "non-separable":
        return f"margin {one.before:.3f} before the step, {one.after:.3f} after it, asked for {_margin(one.asked)}"
    acting = [margin for margin in one.margins if margin > -math.inf]
    margins = f"{min(acting):.3f}" if max(acting) - min(acting) < 1e-9 else f"{min(acting):.3f} to {max(acting):.3f}"
    return f"asks for {margins}"
