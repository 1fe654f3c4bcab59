"""Advice on which learner to use, and why, for readers who know none of them. It needs only the result."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .metric import OF_RECORD, RISING
from .result import Run, TournamentResult
from .words import count, duration, listed, number, percent, percent_range, shortened

MEASURES = {
    "error": "error",
    "cost": "cost of an example",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "brier": "Brier score",
    "auc": "AUC",
}
SHARES = ("error", "balanced_accuracy")  # measures given in per cent

# Less difference in time or size is noise, or a matter of taste.
_WORTH_NAMING = 2.0
_ALIKE = 1.5
_NOTICED = 1.0  # second; a shorter time is noise, and tries nobody's patience
_LONGEST_NAME = 60  # letters
_PRICE = 1.25  # how much more error a run may have and still be named for its speed or size


@dataclass(frozen=True)
class Advice:
    """A recommendation."""

    run: Run | None  # None without a recommendation
    headline: str  # "Use AROW(r=0.5)." or why there is no recommendation
    reasons: list[str]  # why, in sentences
    remarks: list[str] = field(default_factory=list)  # the error of guessing, and other hints

    def __str__(self) -> str:
        return " ".join([self.headline, *self.reasons, *self.remarks])


def called(run: Run) -> str:
    """The name of a run, shortened if it is too long to read."""
    return shortened(run.name, _LONGEST_NAME)


def ranked(result: TournamentResult) -> list[Run]:
    """The runs, best first: finished, then dropped by how far they came, then failed."""
    sign = -1.0 if result.metric in RISING else 1.0

    def rank(run: Run) -> tuple[int, float, float, str]:
        score = score_of(run, result.metric)
        value = math.inf if score is None else sign * score
        order = {"finished": 0, "dropped": 1, "failed": 2}[run.status]
        return order, 0.0 if order == 0 else -run.examples, value, run.name

    return sorted(result.runs, key=rank)


def chosen(result: TournamentResult) -> Run | None:
    """The run to recommend.

    It is the best one, unless a statistically tied run is cheaper by a point or more. Half the time and half the
    nonzero weights count a point each, beyond noise. So does a confidence.
    """
    finished = {run.name: run for run in result.runs if run.status == "finished" and run.examples > 0}
    if result.best not in finished:
        return None
    best = finished[result.best]
    alike = [best, *(finished[name] for name in result.ties if name in finished)]
    fastest = min(run.seconds for run in alike)
    smallest = min((run.nonzeros for run in alike if run.nonzeros is not None), default=0)

    def burden(run: Run) -> float:
        points = _halvings(max(run.seconds, _NOTICED), max(fastest, _NOTICED))
        points += _halvings(run.nonzeros or 0, smallest)
        return points - (1.0 if run.reliability else 0.0)

    order = {run.name: k for k, run in enumerate(ranked(result))}
    cheapest = min(alike, key=lambda run: (burden(run), order[run.name]))
    return cheapest if burden(best) - burden(cheapest) >= 1 else best


def advise(result: TournamentResult) -> Advice:
    """The recommendation for a result."""
    run = chosen(result)
    if run is None:
        return Advice(None, *_nothing(result))
    remarks = [*_against_guessing(result, run), *([_how_sure(run)] if run.reliability else [])]
    remarks += _smaller_or_faster(result, run)
    return Advice(run, f"Use {called(run)}.", [_how_good(result, run), *_beside_the_best(result, run)], remarks)


def guess_error(result: TournamentResult) -> float | None:
    """The error of always guessing the most frequent class."""
    counts = result.stream["class_counts"]
    total = sum(counts)
    return 1 - max(counts) / total if len(counts) > 1 and total else None


def score_in_words(value: float | None, metric: str) -> str:
    return percent(value) if metric in SHARES else number(value)


# -- sentences -----------------------------------------------------------------------------------------------


def _nothing(result: TournamentResult) -> tuple[str, list[str]]:
    stream = result.stream
    if stream["rows"] == 0:
        return "There was nothing to learn from.", ["Not one example was read, so no learner can be recommended."]
    if len(stream["classes"]) == 1:
        label = shortened(str(stream["classes"][0]), _LONGEST_NAME)
        return "There is nothing to tell apart.", [
            f"All {count(stream['rows'])} examples have the same label, “{label}”: a classifier needs at least two."
        ]
    failed = sum(run.status == "failed" for run in result.runs)
    if not result.runs:
        return "There is nothing to recommend.", ["Not one learner was entered."]
    return "There is nothing to recommend.", [
        f"None of {_kinds(result, len(result.runs))} reached the end of the data"
        + (f"; {count(failed)} failed. The reasons are in the table." if failed else ".")
    ]


def _how_good(result: TournamentResult, run: Run) -> str:
    finished = sum(other.status == "finished" for other in result.runs)
    judged = finished + sum(other.status == "dropped" for other in result.runs)
    alike = len({result.best, *result.ties})
    if finished == 1:
        place = "It is the only one that finished" if len(result.runs) > 1 else "It is the only one that was tried"
    elif run.name == result.best:
        place = f"It is the best of {_kinds(result, judged)}"
    elif alike == judged:
        place = f"It does as well as any of {_kinds(result, judged)}"
    else:
        place = f"It is one of {count(alike)} that do best among {_kinds(result, judged)}"
    wrong = f"it answered wrongly on {percent(run.error)} of {count(run.examples)} examples"
    told = f"{place}: {wrong}, each answered before it was learned from"
    if run.interval is not None:
        told += f" (95 % interval {percent_range(*run.interval)})"
    if result.metric == "balanced_accuracy":
        told += (
            f", and its balanced accuracy, in which every class counts the same, is {percent(run.balanced_accuracy)}"
        )
    elif result.metric == "cost":
        told += f", at a cost of {number(run.cost)} an example"
    elif result.metric in OF_RECORD:
        told += f", {_value(result, run)}"
    return told + "."


def _beside_the_best(result: TournamentResult, run: Run) -> list[str]:
    """The tied runs, and the advantages of this one over them."""
    alike = {result.best, *result.ties} - {run.name}
    others = [other for other in ranked(result) if other.name in alike and other.status == "finished"]
    if not others:
        finished = [other for other in ranked(result) if other.status == "finished" and other.name != run.name]
        if not finished:
            return []
        return [f"No other comes within noise of it; the next is {called(finished[0])}, {_value(result, finished[0])}."]
    names = listed([called(other) for other in others], 4)
    told = f"{names} {'does' if len(others) == 1 else 'do'} as well, as far as these data can tell"
    if run.name == result.best:
        alike_in_cost = all(_alike(run, other) for other in others)
        return [
            f"{told}, and {'costs' if len(others) == 1 else 'cost'} much the same." if alike_in_cost else f"{told}."
        ]
    return [f"{told}; this one {listed(_advantages(run, others[0]))}."]


def _alike(run: Run, other: Run) -> bool:
    """True if they cost much the same."""
    pairs = ((run.seconds, other.seconds), (run.nonzeros or 0, other.nonzeros or 0))
    return all(max(pair) <= _ALIKE * min(pair) for pair in pairs) and bool(run.reliability) == bool(other.reliability)


def _advantages(run: Run, best: Run) -> list[str]:
    """Advantages of a run over the best one, which is not significantly more accurate."""
    told = []
    if run.seconds * _ALIKE < best.seconds:
        told.append(f"learns in {duration(run.seconds)} where {called(best)} takes {duration(best.seconds)}")
    if run.nonzeros is not None and best.nonzeros is not None and run.nonzeros * _ALIKE < best.nonzeros:
        told.append(f"needs {count(run.nonzeros)} nonzero weights instead of {count(best.nonzeros)}")
    if run.reliability and not best.reliability:
        told.append("gives a confidence with each answer")
    return told


def _against_guessing(result: TournamentResult, run: Run) -> list[str]:
    guess = guess_error(result)
    if guess is None or run.error is None or result.metric == "balanced_accuracy":
        return []
    counts, labels = result.stream["class_counts"], result.stream["classes"]
    label = shortened(str(labels[counts.index(max(counts))]), _LONGEST_NAME)
    if run.error >= guess:
        return [
            f"Beware: always answering “{label}” would be wrong on {percent(guess)} only, so nothing useful was "
            "learned; judge by balanced accuracy or by cost if the other answers matter."
        ]
    if run.interval is not None and run.interval[1] >= guess:
        return [f"Beware: always answering “{label}” would be wrong on {percent(guess)}, which is not clearly worse."]
    return [f"Always answering “{label}” would be wrong on {percent(guess)}."]


def _smaller_or_faster(result: TournamentResult, run: Run) -> list[str]:
    """Runs that pay for their speed or size with a little accuracy."""
    alike = {run.name, result.best, *result.ties}
    others = [
        other
        for other in ranked(result)
        if other.status == "finished" and other.name not in alike and _near(result, other, run)
    ]
    told = []
    smaller = [o for o in others if o.nonzeros and run.nonzeros and o.nonzeros * _WORTH_NAMING <= run.nonzeros]
    if smaller:
        small = min(smaller, key=lambda o: o.nonzeros or 0)
        told.append(
            f"If the model has to be small, {called(small)} has {count(small.nonzeros)} nonzero weights "
            f"instead of {count(run.nonzeros)}, {_value(result, small)}."
        )
    faster = [o for o in others if 0 < o.seconds * _WORTH_NAMING <= run.seconds]
    if faster:
        fast = min(faster, key=lambda o: o.seconds)
        told.append(
            f"If time matters most, {called(fast)} learns in {duration(fast.seconds)} instead of "
            f"{duration(run.seconds)}, {_value(result, fast)}."
        )
    return told


def _near(result: TournamentResult, other: Run, run: Run) -> bool:
    if result.metric in RISING:
        a, b = score_of(other, result.metric), score_of(run, result.metric)
        return a is not None and b is not None and 1 - a <= _PRICE * (1 - b)
    a, b = score_of(other, result.metric), score_of(run, result.metric)
    return a is not None and b is not None and a <= _PRICE * b


def _how_sure(run: Run) -> str:
    bins = [b for b in run.reliability or [] if b["count"] > 0]
    total = sum(b["count"] for b in bins)
    if not total:
        return "It gives a confidence with each answer."
    gap = sum(b["count"] * (b["confidence"] - b["accuracy"]) for b in bins) / total
    if abs(gap) < 0.02:
        return "Its confidences are well calibrated on average."
    word = "high" if gap > 0 else "low"
    return f"Its confidences are too {word} on average."


def _value(result: TournamentResult, run: Run) -> str:
    if result.metric == "cost":
        return f"at a cost of {number(score_of(run, 'cost'))} an example"
    if result.metric == "error":
        return f"with an error of {percent(run.error)}"
    article = "an" if result.metric == "auc" else "a"
    return f"with {article} {MEASURES[result.metric]} of {score_in_words(score_of(run, result.metric), result.metric)}"


def score_of(run: Run, metric: str) -> float | None:
    """The score of a run by the metric that decides."""
    own = {"error": run.error, "cost": run.cost, "balanced_accuracy": run.balanced_accuracy}.get(metric)
    return run.score if run.score is not None else own


def _halvings(value: float, least: float) -> float:
    if value <= 0 or value <= _ALIKE * least:
        return 0.0
    return math.log2(value / least) if least > 0 else 10.0


def _kinds(result: TournamentResult, n: int) -> str:
    """The number of learners; or of settings, if a learner has several."""
    one_each = len({run.algorithm for run in result.runs}) == len(result.runs)
    return f"{n:,} {'learner' if one_each else 'setting'}{'' if n == 1 else 's'}"
