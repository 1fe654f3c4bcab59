"""The charts of the live page, of what a watch has seen: the figures of reports, in the same words and colours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..evaluate.charts import Axis, Bar, Bars, Chart, Reference, Series
from ..evaluate.coverage import error_against_coverage
from ..evaluate.held_out import reliability
from ..metrics import wilson
from .movement import Moved

_MOST_MARKED = 5  # alarms in a chart
_MOST_SHADOWS = 4
_LEAST_ANSWERS = 20  # of a point of the reliability
_HEIGHT = 240.0
Seen = Mapping[str, Any]  # what `Watch.snapshot` tells


def figures_of(seen: Seen) -> dict[str, Chart | None]:
    """The charts by name; None where there is nothing to show yet."""
    labels, rows = seen["errors"]["to"], seen["along"]["to"]
    judged = {**seen["judged"], "calibration": {"bins": _large_enough(seen["judged"]["calibration"]["bins"])}}
    busy = any(seen["pace"]["rows"]) or any(seen["pace"]["labels"])
    return {
        "error": _error(seen) if labels else None,
        "answered": _answered(seen) if rows else None,
        "coverage": _coverage(judged) if judged["coverage"]["curve"] else None,
        "reliability": _reliability(judged) if judged["calibration"]["bins"] else None,
        "rate": _rate(seen["pace"]) if busy else None,
        "latency": _latency(seen["pace"]) if any(seen["pace"]["requests"]) else None,
        "novelty": _novelty(seen) if any(share is not None for share in seen["along"]["novelty"]) else None,
        "shadows": _shadows(seen) if seen["shadows"] else None,
    }


def _large_enough(bins: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in bins if row["examples"] >= _LEAST_ANSWERS]


def _coverage(judged: Mapping[str, Any]) -> Chart:
    return replace(error_against_coverage(judged), height=_HEIGHT)


def _reliability(judged: Mapping[str, Any]) -> Chart:
    """From the least confidence that there is: of two labels the one that is answered has at least a half."""
    drawn = reliability(judged)
    least = min(min(row["confidence"], row["right"]) for row in judged["calibration"]["bins"])
    limits = (max(0.0, math.floor(min(least, 0.5) * 10) / 10), 1.0)
    x, y = replace(drawn.x, limits=limits), replace(drawn.y, limits=limits, label="how often it was right")
    return replace(drawn, x=x, y=y, height=_HEIGHT)


def _error(seen: Seen) -> Chart:
    errors, promise = seen["errors"], seen["max_error"]
    pairs = list(zip(errors["wrong"], errors["labels"], strict=True))
    intervals = [wilson(wrong, n) for wrong, n in pairs]
    series = [
        Series(
            "all rows",
            errors["to"],
            [wrong / n for wrong, n in pairs],
            low=[low for low, _ in intervals],
            high=[high for _, high in intervals],
        )
    ]
    most = [high for _, high in intervals]
    references = _alarms(seen, "error")
    if promise is not None:
        of_answered = zip(errors["answered_wrong"], errors["answered"], strict=True)
        shares = [wrong / n if n else None for wrong, n in of_answered]
        series.append(Series("answered rows", errors["to"], shares, 2))
        most.append(promise)
        references = [*references, Reference(f"{promise:.1%} promised", "y", promise)]
    return Chart(
        "Error over time",
        Axis("labels learned from", whole=True),
        Axis("share of the answers that were wrong", percent=True, limits=(0.0, 1.02 * max(most))),
        series,
        references,
        height=_HEIGHT,
    )


def _alarms(seen: Seen, what: str) -> list[Reference]:
    """A line where each of the latest alarms began."""
    found = [alarm for alarm in seen["alarms"] if alarm["what"] == what][:_MOST_MARKED]
    return [Reference(alarm["says"], "x", float(alarm["first"])) for alarm in found]


def _answered(seen: Seen) -> Chart:
    along = seen["along"]
    series = [Series("mean confidence", along["to"], along["confidence"])]
    if seen["max_error"] is not None:
        series.append(Series("rows answered", along["to"], along["answered"], 2))
    return Chart(
        "Confidence and coverage",
        Axis("rows", whole=True),
        Axis("of the rows", percent=True),
        series,
        height=_HEIGHT,
    )


def _novelty(seen: Seen) -> Chart:
    along = seen["along"]
    return Chart(
        "Novelty",
        Axis("rows", whole=True),
        Axis("share of the features that the model has never seen", percent=True),
        [Series("unseen features", along["to"], along["novelty"])],
        _alarms(seen, "unseen"),
        height=_HEIGHT,
    )


def _minutes(pace: Mapping[str, Any]) -> tuple[Axis, list[float]]:
    ago = [-seconds / 60 for seconds in pace["ago"]]
    return Axis("minutes ago", limits=(0.0, max(ago)), falling=True), ago


def _rate(pace: Mapping[str, Any]) -> Chart:
    axis, ago = _minutes(pace)
    names = (("requests", "requests", 5), ("labels", "labels learned from", 2), ("rows", "rows answered", 0))
    most = max(max(pace[name]) for name, _, _ in names)
    series = [Series(words, ago, pace[name], style, markers=False) for name, words, style in names]
    return Chart("Rate", axis, Axis("a second", limits=(0.0, 1.05 * most)), series, height=_HEIGHT)


def _latency(pace: Mapping[str, Any]) -> Chart:
    axis, ago = _minutes(pace)
    series = [
        Series("99 % of the requests", ago, pace["most"], 1),
        Series("half of the requests", ago, pace["half"], 0),
    ]
    return Chart("Latency", axis, Axis("answered within", log=True, seconds=True), series, height=_HEIGHT)


def _shadows(seen: Seen) -> Chart:
    shown = list(seen["shadows"].items())[:_MOST_SHADOWS]
    errors = seen["errors"]
    lines = [("champion", errors), *((name, shadow["errors"]) for name, shadow in shown)]
    series = [
        Series(name, of["to"], [wrong / n for wrong, n in zip(of["wrong"], of["labels"], strict=True)], style)
        for style, (name, of) in enumerate(lines)
    ]
    return Chart(
        "Champion against shadow",
        Axis("labels learned from", whole=True),
        Axis("share of the answers that were wrong", percent=True),
        series,
        height=_HEIGHT,
    )


def largest_weights(features: Sequence[Moved], labels: Sequence[Any], *, several: bool) -> Bars:
    """The largest weights with their standard deviations."""
    bars = [
        Bar(one.title + (f"  [{one.weight.label}]" if several else ""), one.weight.weight, one.weight.std)
        for one in features
    ]
    left, right = map(str, labels) if not several and len(labels) == 2 else ("", "")
    sure = " ± standard deviation" if features and features[0].weight.std is not None else ""
    return Bars("Largest weights", f"weight{sure}", bars, left, right)


def contributions(n: int, labels: Sequence[Any], *, several: bool) -> Bars:
    """Bars of what features add to a score, which the page fills with an explanation."""
    bars = [Bar(str(k), value) for k, value in enumerate([-1.0, *[1.0] * (n - 1)])]
    left, right = map(str, labels) if not several and len(labels) == 2 else ("", "")
    return Bars("Contributions", "added to the score", bars, left, right)
