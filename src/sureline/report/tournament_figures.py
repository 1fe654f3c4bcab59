"""The pictures of a tournament."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from ..evaluate.charts import Axis, Bar, Bars, Chart, HeatMap, MapCell, Reference, Series
from ..metrics import Z95, wilson
from ..training.advice import MEASURES, SHARES, called, guess_error, ranked, score_in_words, score_of
from ..training.metric import RISING
from ..training.result import Run, TopFeature, TournamentResult
from ..training.words import compact, count, duration, percent
from .blocks import Picture

_MOST_IN_COLOUR = 6
_MOST_NAMED = 16  # number of points above which only coloured ones are named
_FIRST_EXAMPLES = 16  # a mean of fewer says nothing
_MOST_BARS = 14
_DESCRIPTIONS = {
    "error": "The share of wrong answers",
    "cost": "The mean cost of an example",
    "balanced_accuracy": "The balanced accuracy",
}
_BETTER = {"error": "Down is more accurate", "cost": "Down is cheaper", "balanced_accuracy": "Up is more accurate"}
_BETTER |= {"log_loss": "Down is better", "brier": "Down is better", "auc": "Up is better"}


class Figures:
    """Facts that all pictures of a result share: which runs are in colour."""

    def __init__(self, result: TournamentResult, recommended: Run | None) -> None:
        self.result = result
        self.runs = ranked(result)
        self.recommended = recommended
        self.keys = {run.name: f"run-{k + 1}" for k, run in enumerate(self.runs)}
        self.styles = {run.name: k for k, run in enumerate(_in_colour(self.runs, recommended))}

        self.metric = result.metric
        self.measure = MEASURES[result.metric]
        self.heading = self.measure.capitalize()
        self.rises = result.metric in RISING  # the more, the better

    def style(self, run: Run) -> int | None:
        return self.styles.get(run.name)

    # -- what decides along the stream -----------------------------------------------------------------------

    def curves(self) -> Picture | None:
        shown = [run for run in self.runs if len(run.curve["examples"]) > 1]
        if not shown:
            return None
        metric = self.metric if all("score" in run.curve for run in shown) else "error"
        measure, rises = MEASURES[metric], metric in RISING
        longest = max(run.curve["examples"][-1] for run in shown)
        first = max(_FIRST_EXAMPLES, longest // 2000) if longest > 20 * _FIRST_EXAMPLES else 1
        series = [self._curve(run, first, metric) for run in reversed(shown)]
        values = [v for s in series for v in s.y if v]
        ends = [_curve_of(run, metric)[-1] for run in shown]
        log = not rises and bool(values) and min(ends) > 0 and max(values) / min(values) > 3
        guess = self._guess(metric)
        references = []
        if guess and values and min(values) / (1.5 if rises else 1.0) <= guess <= 1.5 * max(values):
            references.append(Reference(f"Always the most frequent answer: {percent(guess)}", "y", guess))
        chart = Chart(
            f"{measure.capitalize()} along the stream",
            Axis("examples", log=longest > 50, whole=True),
            Axis(f"{measure} so far" + (" (log scale)" if log else ""), log=log, percent=metric in SHARES),
            series,
            references,
            description=f"{_DESCRIPTIONS[metric]} after so many examples, a line for each run.",
            height=360.0,
        )
        caption = self._curve_caption(shown, metric)
        if references:
            caption += f" Dotted: always the most frequent answer, {percent(guess)}."
        return Picture(chart, "", caption, True)

    def _guess(self, metric: str) -> float | None:
        """The measure of always guessing the most frequent class; None if it is unknown."""
        if metric == "error":
            return guess_error(self.result)
        came = sum(n > 0 for n in self.result.stream["class_counts"])
        return 1 / came if metric == "balanced_accuracy" and came > 1 else None

    def _curve(self, run: Run, first: int, metric: str) -> Series:
        curve = zip(run.curve["examples"], _curve_of(run, metric), strict=True)
        points = [(n, value) for n, value in curve if n >= first and _known(value)]
        style, key = self.style(run), self.keys[run.name]
        x, y = [float(n) for n, _ in points], [value for _, value in points]
        if metric == "error" and self._is_recommended(run):
            intervals = [wilson(round(e * n), n) for n, e in points]
            low, high = [a for a, _ in intervals], [b for _, b in intervals]
            return Series(run.name, x, y, style, low=low, high=high, key=key)
        return Series(run.name, x, y, style, markers=style is not None, label=style is not None, key=key)

    def _is_recommended(self, run: Run) -> bool:
        return self.recommended is not None and run.name == self.recommended.name

    def _curve_caption(self, shown: list[Run], metric: str) -> str:
        told = "Each example is answered first and learned from afterwards, so every answer counts as a test."
        if metric != self.metric:
            told += f" These lines are of the error, though the {self.measure} decides."
        if metric == "error" and self.recommended is not None and self.recommended in shown:
            told += f" The band is the 95 % interval of {called(self.recommended)}."
        rest = sum(self.style(run) is None for run in shown)
        if rest:
            told += f" The {count(rest)} grey {'line is another run' if rest == 1 else 'lines are the other runs'}."
        if any(run.status == "dropped" for run in shown):
            told += " Lines that end early are of runs that were dropped."
        return told

    # -- one measure against another -------------------------------------------------------------------------

    def against_sparsity(self) -> Picture | None:
        runs = [run for run in self._finished() if run.nonzeros is not None]
        points = {run.name: float(run.nonzeros or 0) for run in runs}
        if len(runs) < 2 or not any(points.values()):
            return None
        notes = {run.name: f"{count(run.nonzeros)} of {count(self.result.weights(run))} weights" for run in runs}
        axis = Axis("nonzero weights" + _if_log(points), log=_spreads(points), whole=True)
        return Picture(
            self._scatter(f"{self.heading} against sparsity", axis, runs, points, notes),
            f"{self.heading} against the size of the model",
            f"{_BETTER[self.metric]}, left is smaller. On the thin line are the runs that no other beats in both."
            + self._whisker(),
        )

    def against_time(self) -> Picture | None:
        runs = [run for run in self._finished() if run.seconds > 0]
        if len(runs) < 2:
            return None
        points = {run.name: run.seconds for run in runs}
        notes = {run.name: duration(run.seconds) for run in runs}
        axis = Axis("time of learning" + _if_log(points), log=_spreads(points), seconds=True)
        return Picture(
            self._scatter(f"{self.heading} against time", axis, runs, points, notes),
            f"{self.heading} against time",
            f"{_BETTER[self.metric]}, left is faster. Times are of learning alone, and vary from one day to the next.",
        )

    def _whisker(self) -> str:
        if self.recommended is None or self._interval(self.recommended) is None:
            return ""
        return " The upright line is the 95 % interval of the one to use."

    def _value(self, run: Run) -> float | None:
        return score_of(run, self.metric)

    def _interval(self, run: Run) -> tuple[float, float] | None:
        """The 95 % interval of the deciding measure."""
        value = self._value(run)
        if self.metric == "error" or value is None or run.score_se is None:
            return run.interval if self.metric == "error" else None
        low, high = max(value - Z95 * run.score_se, 0.0), value + Z95 * run.score_se
        return low, high if self.metric in ("cost", "log_loss") else min(high, 1.0)

    def _finished(self) -> list[Run]:
        return [run for run in self.runs if run.status == "finished" and _known(self._value(run))]

    def _scatter(self, title: str, x: Axis, runs: list[Run], points: dict[str, float], notes: dict[str, str]) -> Chart:
        few = len(runs) <= _MOST_NAMED
        values = {run.name: self._value(run) or 0.0 for run in runs}
        series = []
        for run in reversed(runs):
            style, value = self.style(run), values[run.name]
            low, high = self._interval(run) or (None, None)
            whiskers = self._is_recommended(run) and low is not None
            series.append(
                Series(
                    run.name,
                    [points[run.name]],
                    [value],
                    style,
                    line=False,
                    low=[low] if whiskers else None,
                    high=[high] if whiskers else None,
                    label=few or style is not None,
                    notes=[f"{run.name}: {self.measure} {score_in_words(value, self.metric)}, {notes[run.name]}"],
                    key=self.keys[run.name],
                )
            )
        least, most = min(values.values()), max(values.values())
        log = not self.rises and least > 0 and most / least > 4
        y = Axis(self.measure + (" (log scale)" if log else ""), log=log, percent=self.metric in SHARES)
        sign = -1.0 if self.rises else 1.0
        frontier = [(n, sign * v) for n, v in _frontier([(points[run.name], sign * values[run.name]) for run in runs])]
        return Chart(title, x, y, series, frontier=frontier)

    # -- features --------------------------------------------------------------------------------------------

    def features(self) -> Picture | None:
        run = self.recommended
        if run is None or not run.top_features:
            return None
        classes = self.result.stream["classes"]
        several = len(classes) > 2
        bars = [
            Bar(
                f"{feature_name(f)} [{f['class']}]" if several and f["class"] is not None else feature_name(f),
                f["weight"],
                f["std"],
            )
            for f in run.top_features[:_MOST_BARS]
        ]
        sure = any(bar.std is not None for bar in bars)
        left, right = map(str, classes) if len(classes) == 2 else ("", "")
        caption = "The largest weights. A bar says how much a feature speaks for an answer"
        caption += ", in brackets which." if several else ", its side for which."
        caption += (
            " The whisker is one standard deviation of the weight: how unsure the learner still is of it."
            if sure
            else " This learner does not know how sure it is of a weight."
        )
        label = "weight" + (" ± standard deviation" if sure else "")
        return Picture(
            Bars("The features that matter", label, bars, left, right),
            f"What {called(run)} looks at",
            caption,
        )

    # -- grids -----------------------------------------------------------------------------------------------

    def grids(self) -> list[Picture]:
        """A map for each algorithm that was entered with a grid of two parameters."""
        by_algorithm: dict[str, list[Run]] = defaultdict(list)
        for run in self.runs:
            by_algorithm[run.algorithm].append(run)
        maps = (self._grid(name, runs) for name, runs in by_algorithm.items())
        return [made for made in maps if made is not None]

    def _grid(self, algorithm: str, runs: list[Run]) -> Picture | None:
        found = _two_that_vary(runs)
        if found is None:
            return None
        (x_name, xs), (y_name, ys) = found
        metric = self.result.metric
        cells: dict[tuple[int, int], MapCell] = {}
        best: tuple[int, int] | None = None
        for run in runs:
            at = xs.index(_setting(run, x_name)), ys.index(_setting(run, y_name))
            value = run.score if run.score is not None else run.error
            where = f"{x_name}={xs[at[0]]:g}, {y_name}={ys[at[1]]:g}"
            if run.status == "finished" and value is not None:
                cells[at] = MapCell(value, f"{where}: {MEASURES[metric]} {score_in_words(value, metric)}")
                best = at if best is None else best  # the runs come in the order of their scores
            else:
                cells[at] = MapCell(None, f"{where}: {run.status}. {run.reason or ''}".strip())
        if best is None:
            return None
        gone = sum(cell.value is None for cell in cells.values())
        caption = f"Each field is a setting, with its {MEASURES[metric]}" + (" in per cent" if metric in SHARES else "")
        caption += "; the framed one is the best."
        if gone:
            caption += f" {count(gone)} {'was' if gone == 1 else 'were'} dropped or failed: dashed."
        heat = HeatMap(
            f"{algorithm}: {MEASURES[metric]} over {x_name} and {y_name}",
            x_name,
            y_name,
            _written(xs),
            _written(ys),
            cells,
            best,
            MEASURES[metric],
            metric in RISING,
            percent=metric in SHARES,
        )
        return Picture(heat, f"{algorithm}: how {x_name} and {y_name} matter", caption, True)


def feature_name(feature: TopFeature) -> str:
    """The name of a feature; without one, its number in words."""
    name, number = feature["name"], str(feature["column"])
    return name if name not in ("", number) else f"column {number}"


def _in_colour(runs: list[Run], recommended: Run | None) -> list[Run]:
    """All runs if there are few; otherwise the recommended one, the best of each algorithm, and the best others."""
    able = [run for run in runs if run.status != "failed" or run.curve["examples"]]
    first = [recommended] if recommended is not None else []
    if len(able) > _MOST_IN_COLOUR:
        leaders: dict[str, Run] = {}
        for run in able:
            leaders.setdefault(run.algorithm, run)
        order = first + [run for run in leaders.values() if run.status == "finished"] + able
        able = [run for k, run in enumerate(order) if run not in order[:k]][:_MOST_IN_COLOUR]
    return first + [run for run in able if run not in first]


def _curve_of(run: Run, metric: str) -> list[float]:
    return run.curve["error"] if metric == "error" else run.curve["score"]


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _spreads(points: dict[str, float]) -> bool:
    above = [v for v in points.values() if v > 0]
    return bool(above) and len(above) == len(points) and max(above) / min(above) > 4


def _if_log(points: dict[str, float]) -> str:
    return " (log scale)" if _spreads(points) else ""


def _frontier(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points that no other point beats in both measures, left to right."""
    kept: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if not kept or y < kept[-1][1]:
            kept.append((x, y))
    return kept


def _setting(run: Run, name: str) -> Any:
    return run.all_parameters.get(name, run.parameters.get(name))


def _two_that_vary(runs: list[Run]) -> tuple[tuple[str, list[float]], tuple[str, list[float]]] | None:
    """The two parameters of a grid with their values, the longer one first; None if the runs form no grid."""
    names = list(dict.fromkeys(name for run in runs for name in (*run.all_parameters, *run.parameters)))
    varied = []
    for name in names:
        values = [_setting(run, name) for run in runs]
        if any(value != values[0] for value in values):
            if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
                return None
            varied.append((name, sorted({float(v) for v in values})))
    if len(varied) != 2 or min(len(values) for _, values in varied) < 2:
        return None
    places = {(_setting(run, varied[0][0]), _setting(run, varied[1][0])) for run in runs}
    if len(places) < len(runs) or len(runs) < 0.5 * len(varied[0][1]) * len(varied[1][1]):
        return None
    first, second = sorted(varied, key=lambda entry: -len(entry[1]))
    return first, second


def _written(values: list[float]) -> list[str]:
    """Values of a parameter: as powers of two, if they all are and go far."""
    if all(v > 0 and math.log2(v).is_integer() for v in values) and max(abs(math.log2(v)) for v in values) > 3:
        return [f"2{str(int(math.log2(v))).translate(_RAISED)}" for v in values]
    return [compact(float(f"{v:.4g}")) for v in values]


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
