"""Pictures of how sure the learners of a tournament are: their reliability, and error against coverage."""

from __future__ import annotations

import math

from ..evaluate.charts import Axis, Chart, Reference, Series
from ..metrics import wilson
from ..training.result import Run
from ..training.words import count, percent
from .blocks import Picture
from .tournament_figures import Figures

_LEAST_ANSWERS = 20  # of a point of the reliability
_MOST_SHOWN = 4


def reliability(figures: Figures) -> Picture | None:
    """The share of right answers by confidence, for each learner."""
    able = [
        run
        for run in figures.runs
        if run.status == "finished" and any(b["count"] >= _LEAST_ANSWERS for b in run.reliability or [])
    ]
    shown = _shown(figures, able)
    if not shown:
        return None
    series = []
    for run in reversed(shown):
        bins = [b for b in run.reliability or [] if b["count"] >= _LEAST_ANSWERS]
        notes = [
            f"{run.name}: {count(b['count'])} answers of confidence {percent(b['confidence'])}, "
            f"{percent(b['accuracy'])} of them right"
            for b in bins
        ]
        intervals = [wilson(round(b["accuracy"] * b["count"]), b["count"]) for b in bins]
        series.append(
            Series(
                run.name,
                [b["confidence"] for b in bins],
                [b["accuracy"] for b in bins],
                figures.style(run) or 0,
                low=[low for low, _ in intervals],
                high=[high for _, high in intervals],
                notes=notes,
                key=figures.keys[run.name],
            )
        )
    low = min([0.5, *(v for s in series for v in (*s.x, *s.y) if v is not None)])
    limits = (max(0.0, math.floor(low * 10) / 10), 1.0)
    chart = Chart(
        "Reliability of the confidences",
        Axis("confidence", percent=True, limits=limits),
        Axis("accuracy", percent=True, limits=limits),
        series,
        [Reference("Calibrated", "diagonal")],
    )
    return Picture(
        chart,
        "Can the confidences be trusted?",
        "On the dotted line, answers with 80 % confidence are right 80 % of the time. Below it the learner is "
        f"overconfident, above it underconfident. A point has at least {_LEAST_ANSWERS} answers, and the band is its "
        "95 % interval.",
    )


def coverage(figures: Figures) -> Picture | None:
    """The error of the surest answers of each learner, by their share."""
    shown = _shown(figures, [run for run in figures.runs if run.status == "finished" and run.coverage])
    if not shown:
        return None
    series = []
    for run in reversed(shown):
        points = run.coverage or []
        notes = [
            f"{run.name}: of the surest {percent(p['coverage'])} of the answers {percent(p['error'])} are wrong"
            for p in points
        ]
        series.append(
            Series(
                run.name,
                [p["coverage"] for p in points],
                [p["error"] for p in points],
                figures.style(run) or 0,
                notes=notes,
                key=figures.keys[run.name],
            )
        )
    chart = Chart(
        "Error against coverage",
        Axis("coverage: share of rows answered", percent=True, limits=(0.0, 1.0)),
        Axis("error of the answers", percent=True),
        series,
    )
    return Picture(
        chart,
        "What if only sure answers are given?",
        "From right to left, the least certain rows are left unanswered. Lower is better. predict --max-error chooses "
        "the coverage at which an error is kept.",
    )


def _shown(figures: Figures, able: list[Run]) -> list[Run]:
    """The runs in colour, and the recommended one."""
    shown = [run for run in able if figures.style(run) is not None][:_MOST_SHOWN] or able[:1]
    if figures.recommended is not None and figures.recommended in able and figures.recommended not in shown:
        shown = [figures.recommended, *shown[: _MOST_SHOWN - 1]]
    return shown
