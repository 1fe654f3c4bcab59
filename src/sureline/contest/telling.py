"""From a tournament to its result."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from ..inspection import top_weights
from ..persistence import ModelFile, as_estimator
from .commands import TrainCommands
from .contestant import Contestant
from .judge import Counts, Measures, tied
from .race import RULE
from .result import Curve, Label, Run, StreamFacts, TopFeature, TournamentResult
from .running import Tournament

_TOP = 20
_CHOICE = (
    "Each learner whose settings were not named took part with those that did best on the first {:,} rows. "
    "Errors over hardly more rows than these are a little too good."
)


def result_of(tournament: Tournament, command: str, *, models: bool = False) -> TournamentResult:
    """All that is known by now; with the trained estimators, if they are asked for."""
    from .. import __version__

    commands = TrainCommands(tournament.stream, tournament.labels, tournament.batch)
    runs = [_run(tournament, contestant, commands) for contestant in tournament.contestants]
    winner = tournament.best()
    best = None if winner is None else winner.name
    return TournamentResult(
        version=__version__,
        date=tournament.date,
        command=command,
        metric=tournament.judge.metric,
        seconds=round(tournament.seconds, 6),
        memory_bytes=tournament.memory_bytes,
        stream=_facts(tournament),
        choice=_CHOICE.format(tournament.chosen_by) if tournament.chosen_by else None,
        rules=None if tournament.race is None else RULE,
        runs=runs,
        best=best,
        ties=[] if best is None else _ties(tournament, best),
        models={c.name: as_estimator(c.learner) for c in tournament.contestants if c.alive and c.begun}
        if models
        else {},
    )


def _facts(tournament: Tournament) -> StreamFacts:
    labels = tournament.classes.labels
    return StreamFacts(
        paths=list(tournament.stream.paths),
        rows=tournament.rows,
        columns=tournament.columns,
        nonzeros=tournament.nonzeros,
        skipped_lines=tournament.stream.faults.count,
        classes=[_plain(label) for label in labels],
        class_counts=[int(n) for n in [*tournament.seen, *[0] * len(labels)][: len(labels)]],
        complete=tournament.complete,
        problem=tournament.problem,
    )


def _plain(label: Any) -> Label:
    """A label as JSON can have it."""
    known = isinstance(label, str | int) or (isinstance(label, float) and isfinite(label))
    return label if known else str(label)


def _run(tournament: Tournament, contestant: Contestant, commands: TrainCommands) -> Run:
    learner, judge = contestant.learner, tournament.judge
    contestant.tell()
    points = min(len(contestant.mistakes), len(tournament.at))
    if tournament.has_seen_all(contestant):
        seen, mistakes = tournament.seen, contestant.mistakes_by_class()
    elif points:
        seen, mistakes = tournament.seen_at[points - 1], contestant.mistakes[points - 1]
    else:
        seen, mistakes = np.zeros(2, np.int64), np.zeros(2, np.int64)
    mistakes = np.pad(mistakes, (0, max(len(seen) - len(mistakes), 0)))[: len(seen)]
    told: dict[str, Any] = {}
    if seen.any():
        measures = Measures.of(seen, mistakes, judge)
        score, score_se = measures.score(judge.metric)
        told = {**measures.__dict__, "error_interval": list(measures.error_interval)}
        told |= {"score": score, "score_se": score_se}
    return Run(
        name=contestant.name,
        algorithm=type(learner).__name__,
        parameters=dict(contestant.parameters),
        all_parameters=learner.parameters(),
        normalize=getattr(learner, "normalize", None),
        status=contestant.status,
        reason=contestant.reason,
        examples=int(seen.sum()),
        mistakes=int(mistakes.sum()),
        **told,
        updates=contestant.n_updates,
        nonzeros=contestant.n_nonzero,
        features=contestant.n_features,
        seconds=round(contestant.seconds, 6),
        model_bytes=contestant.n_bytes,
        curve=_curve(tournament, contestant, points, seen, mistakes),
        reliability=None if contestant.reliability is None else contestant.reliability.table(),
        top_features=_top(tournament, contestant),
        # Of a stream that was not read whole there is none: it would read on, or fail where this one did.
        train_command=commands.of(learner, contestant.parameters) if tournament.complete else None,
    )


def _curve(tournament: Tournament, contestant: Contestant, points: int, seen: Counts, mistakes: Counts) -> Curve:
    """At the points, and at the end."""
    judge = tournament.judge
    # Rows of weight 0 are no examples, so that nothing may have come from one point to the next.
    known = {
        at: (then, made)
        for at, then, made in zip(tournament.at[:points], tournament.seen_at, contestant.mistakes, strict=False)
        if at
    }
    if n := int(seen.sum()):
        known[n] = seen, mistakes
    curve = Curve(examples=list(known), error=[int(made.sum()) / at for at, (_, made) in known.items()])
    if judge.metric != "error":
        curve["score"] = [judge.value(judge.loss(then, made)) for then, made in known.values()]
    return curve


def _top(tournament: Tournament, contestant: Contestant) -> list[TopFeature]:
    """The largest weights of a run that finished."""
    if not (contestant.alive and contestant.begun):
        return []
    learner = contestant.learner
    several = learner._state.n_heads > 1
    labels = learner.classes_.tolist()
    model = ModelFile(learner, labels, tournament.names, {}, None, "")
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
        for weight in top_weights(model, _TOP)
    ]


def _ties(tournament: Tournament, best: str) -> list[str]:
    """The other runs that finished and cannot be told from the best."""
    finished = [c for c in tournament.contestants if tournament.has_seen_all(c)]
    at = np.array(tournament.at, np.int64)
    if not len(at):
        return []
    sums, squares = tournament.losses(finished, 0, len(at) - 1)
    first = [c.name for c in finished].index(best)
    return [
        contestant.name
        for j, contestant in enumerate(finished)
        if j != first and tied(at, sums[:, j] - sums[:, first], squares[:, j] + squares[:, first])
    ]
