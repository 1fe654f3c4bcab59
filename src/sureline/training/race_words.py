"""The outcome of a race in words: for a terminal, and for JSON."""

from __future__ import annotations

import shlex
from typing import Any

from ..learners.learner import Learner
from ..learners.race.race import FEWEST, RULE
from ..learners.race.verdict import Verdict
from .commands import options_of
from .room import in_words


def to_dict(verdict: Verdict, metric: str) -> dict[str, Any]:
    """The candidates, when and why dropped ones left, and the share of each survivor."""
    decided = verdict.judged > 0
    return {
        "tried": len(verdict.members),
        "rows": verdict.rows,
        "rule": RULE,
        "metric": metric,
        "decided": decided,
        "judged": verdict.judged,
        "error": verdict.error if decided else None,
        "best": {"options": _options(verdict.best.learner), "error": verdict.best_error if decided else None},
        "committee": [
            {"options": _options(verdict.members[number].learner), "share": share}
            for number, share in _largest_first(verdict)
        ],
        "shift": verdict.shift,
        "learner": _options(verdict.learner),
        "members": [
            {
                "options": _options(member.learner),
                "loss": member.loss if member.looked else None,
                "left": member.left,
                "why": member.why or None,
                "share": verdict.shares.get(member.number, 0.0),
            }
            for member in verdict.members
        ],
        "memory_bytes": verdict.memory_bytes,
    }


def paragraph(verdict: Verdict) -> str:
    """The same in a few sentences."""
    tried, rows = len(verdict.members), f"{verdict.rows:,}"
    if verdict.judged == 0:
        return (
            f"{rows} rows cannot decide between {tried} settings (it takes {FEWEST} predictions, and two classes "
            f"among them): the model is that of {_options(verdict.learner)}."
        )
    left = sum(member.alive for member in verdict.members)
    dropped = f"; {tried - left} were dropped" if left < tried else ""
    found = f"{tried} settings raced along {rows} rows{dropped} (their models: up to {in_words(verdict.memory_bytes)})."
    rows_judged = f"{verdict.judged:,} late predictions, each made before its row was learned from"
    goes_on = f"Further training uses {_options(verdict.learner)}."
    if verdict.shift:
        goes_on = f"Its intercept is shifted by {verdict.shift:+.3g} of log-odds for fewer mistakes. {goes_on}"
    shares = _largest_first(verdict)
    if len(shares) == 1 and verdict.learner is verdict.best.learner:
        return f"{found} The best is {_options(verdict.learner)}: {verdict.error:.2%} of {rows_judged}, are wrong."
    if len(shares) == 1:
        alone = _options(verdict.members[shares[0][0]].learner)
        return (
            f"{found} The model is that of {alone} alone, which is clearly better than their committee: it is wrong "
            f"on {verdict.error:.2%} of {rows_judged}. {goes_on}"
        )
    told = ", ".join(f"{share:.0%} {_options(verdict.members[number].learner)}" for number, share in shares)
    return (
        f"{found} The model combines the best into one linear model: {told}. It is wrong on {verdict.error:.2%} of "
        f"{rows_judged}; the best single one, {_options(verdict.best.learner)}, on {verdict.best_error:.2%}. "
        f"{goes_on}"
    )


def _largest_first(verdict: Verdict) -> list[tuple[int, float]]:
    return sorted(verdict.shares.items(), key=lambda one: -one[1])


def _options(learner: Learner) -> str:
    return shlex.join((options_of(learner) or [])[1:])
