"""Makes the result of a tournament."""

from __future__ import annotations

from math import hypot, isfinite
from typing import Any

import numpy as np

from ..learners.abstention import errors_by_coverage
from ..learners.origin import Origin
from ..metrics import Z95
from .candidate import Candidate
from .commands import TrainCommands
from .metric import Counts, Measures, Metric, quality, tied
from .race import RULE
from .result import CoveragePoint, Curve, Label, Run, StreamFacts, TopFeature, TournamentResult
from .tournament import Tournament

_TOP = 20
_CHOICE = (
    "Settings that were not named were chosen on the first {:,} rows. "
    "Errors over few more rows than these are slightly too low."
)


def result_of(tournament: Tournament, command: str, *, models: bool = False) -> TournamentResult:
    """The result so far; with trained estimators if wanted."""
    from .. import __version__

    shuffled = tournament.order.shuffle is not None
    as_found = tournament.order.runs is not None  # `train` decides by the same rows
    asked = None if as_found or not (shuffled or tournament.classes.runs.found) else shuffled
    commands = TrainCommands(tournament.stream, tournament.labels, tournament.batch, shuffle=asked)
    runs = [_run(tournament, candidate, commands) for candidate in tournament.candidates]
    winner = tournament.best()
    best = None if winner is None else winner.name
    return TournamentResult(
        version=__version__,
        date=tournament.date,
        command=command,
        metric=tournament.metric.name,
        seconds=round(tournament.seconds, 6),
        memory_bytes=tournament.memory_bytes,
        stream=_facts(tournament),
        choice=_CHOICE.format(tournament.chosen_by) if tournament.chosen_by else None,
        rules=None if tournament.race is None else RULE,
        runs=runs,
        best=best,
        ties=[] if best is None else _ties(tournament, best),
        models=_estimators(tournament) if models else {},
    )


def _estimators(tournament: Tournament) -> dict[str, Any]:
    """The learners that finished, as estimators."""
    from ..estimators.saving import as_estimator  # imports scikit-learn, which the command line avoids

    finished = [candidate for candidate in tournament.candidates if candidate.alive and candidate.begun]
    for candidate in finished:
        candidate.learner.origin = Origin(tournament.stream.model_options, tournament.names).copy()
    return {candidate.name: as_estimator(candidate.learner) for candidate in finished}


def _facts(tournament: Tournament) -> StreamFacts:
    labels = tournament.classes.labels
    return StreamFacts(
        paths=list(tournament.stream.paths),
        rows=tournament.rows,
        columns=tournament.columns,
        nonzeros=tournament.nonzeros,
        skipped_lines=tournament.source.faults.count,
        classes=[_plain(label) for label in labels],
        class_counts=[int(n) for n in [*tournament.seen, *[0] * len(labels)][: len(labels)]],
        complete=tournament.complete,
        problem=tournament.problem,
    )


def _plain(label: Any) -> Label:
    """A label as JSON can have it."""
    known = isinstance(label, str | int) or (isinstance(label, float) and isfinite(label))
    return label if known else str(label)


def _run(tournament: Tournament, candidate: Candidate, commands: TrainCommands) -> Run:
    learner, metric = candidate.learner, tournament.metric
    candidate.measure()
    points = min(len(candidate.mistakes), len(tournament.at))
    if tournament.has_seen_all(candidate):
        seen, mistakes = tournament.seen, candidate.mistakes_by_class()
    elif points:
        seen, mistakes = tournament.seen_at[points - 1], candidate.mistakes[points - 1]
    else:
        seen, mistakes = np.zeros(2, np.int64), np.zeros(2, np.int64)
    mistakes = np.pad(mistakes, (0, max(len(seen) - len(mistakes), 0)))[: len(seen)]
    told: dict[str, Any] = {}
    if seen.any():
        measures = Measures.of(seen, mistakes, metric)
        score, score_se = _score(candidate, measures, metric)
        told = {**measures.__dict__, "error_interval": list(measures.error_interval)}
        told |= {"score": score, "score_se": score_se}
    return Run(
        name=candidate.name,
        algorithm=type(learner).__name__,
        parameters=dict(candidate.parameters),
        all_parameters=learner.parameters(),
        normalize=getattr(learner, "normalize", None),
        status=candidate.status,
        reason=candidate.reason,
        examples=int(seen.sum()),
        mistakes=int(mistakes.sum()),
        **told,
        frozen_error=candidate.frozen.error,
        updates=candidate.n_updates,
        nonzeros=candidate.n_nonzero,
        features=candidate.n_features,
        seconds=round(candidate.seconds, 6),
        model_bytes=candidate.n_bytes,
        curve=_curve(tournament, candidate, points, seen, mistakes),
        reliability=None if candidate.reliability is None else candidate.reliability.table(),
        coverage=_coverage(candidate),
        top_features=_top(tournament, candidate),
        # None for a stream that was not read to its end: the command would read on, or fail there.
        train_command=commands.of(learner, candidate.parameters) if tournament.complete else None,
    )


def _coverage(candidate: Candidate) -> list[CoveragePoint] | None:
    """The error of the surest predictions; None without confidences or a record."""
    if candidate.reliability is None or not candidate.begun:
        return None
    model = candidate.learner.model
    points = errors_by_coverage(model.record, model.n_heads)
    return [CoveragePoint(coverage=coverage, error=error) for coverage, error in points] or None


def _score(candidate: Candidate, measures: Measures, metric: Metric) -> tuple[float | None, float | None]:
    """The value of the metric, and its standard error."""
    if not metric.of_record:
        return measures.score(metric.name)
    found = quality(candidate.learner.model, metric.name) if candidate.begun else None
    return (None, None) if found is None else found


def _curve(tournament: Tournament, candidate: Candidate, points: int, seen: Counts, mistakes: Counts) -> Curve:
    """The curve at its points, and at the end."""
    metric = tournament.metric
    # Rows of weight 0 are not examples, so two points may be equal.
    known = {
        at: (then, made)
        for at, then, made in zip(tournament.at[:points], tournament.seen_at, candidate.mistakes, strict=False)
        if at
    }
    if n := int(seen.sum()):
        known[n] = seen, mistakes
    curve = Curve(examples=list(known), error=[int(made.sum()) / at for at, (_, made) in known.items()])
    if metric.name != "error" and not metric.of_record:
        curve["score"] = [metric.value(metric.loss(then, made)) for then, made in known.values()]
    return curve


def _top(tournament: Tournament, candidate: Candidate) -> list[TopFeature]:
    """The largest weights of a run that finished."""
    if not (candidate.alive and candidate.begun):
        return []
    learner = candidate.learner
    several = learner.model.n_heads > 1
    return [
        TopFeature(
            {
                "name": weight.title,
                "column": weight.feature,
                "weight": weight.weight,
                "std": weight.std,
                "class": _plain(weight.label) if several else None,
            }
        )
        for weight in learner.top_weights(_TOP, tournament.names)
    ]


def _ties(tournament: Tournament, best: str) -> list[str]:
    """Finished runs that are statistically tied with the best."""
    finished = [c for c in tournament.candidates if tournament.has_seen_all(c)]
    at = np.array(tournament.at, np.int64)
    if not len(at):
        return []
    if tournament.metric.of_record:
        return _ties_of_records(tournament, finished, best)
    sums, squares = tournament.losses(finished, 0, len(at) - 1)
    first = [c.name for c in finished].index(best)
    return [
        candidate.name
        for j, candidate in enumerate(finished)
        if j != first and tied(at, sums[:, j] - sums[:, first], squares[:, j] + squares[:, first])
    ]


def _ties_of_records(tournament: Tournament, finished: list[Candidate], best: str) -> list[str]:
    """The tied runs by a probability metric: differences within both standard errors.

    The runs have the same rows, so this is conservative.
    """
    told = {c.name: quality(c.learner.model, tournament.metric.name) for c in finished}
    first = told.pop(best)
    if first is None:
        return []
    return [
        name
        for name, other in told.items()
        if other is not None and abs(other[0] - first[0]) <= Z95 * hypot(other[1], first[1])
    ]
