"""The outcome of a race."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._inputs import Floats
from ..online import OnlineLearner
from .fold import Vote, folded, goes_on, record_of
from .race import Member, Race
from .stack import Judged, Stack, best_of, losses_of, options, scales_of


@dataclass(frozen=True)
class Verdict:
    """The outcome of a race: a learner with a model, and its members."""

    learner: OnlineLearner
    members: tuple[Member, ...]  # all that took part
    rows: int
    memory_bytes: int  # that their models could take
    judged: int  # predictions of each member that decided; 0 if nothing could be decided
    error: float  # on these of the model
    best: Member  # the best member
    best_error: float
    shares: dict[int, float]  # shares of the committee's members by number; they sum to 1
    shift: float = 0.0  # of its threshold, in log-odds

    def table(self) -> list[dict[str, Any]]:
        """A row for each candidate: settings, loss, when and why it left, and its share of the committee."""
        return [
            {
                "learner": type(member.learner).__name__,
                "parameters": member.learner.parameters(),
                "loss": member.loss if member.looked else None,
                "left": member.left,
                "why": member.why or None,
                "share": self.shares.get(member.number, 0.0),
            }
            for member in self.members
        ]


def outcome(race: Race) -> Verdict:
    """The model of the committee, or of the best member. The race can go on after that."""
    judged, alive = race.judged(), race.alive
    if judged is None or len(alive) == 1:
        only = alive[0]
        error = float("nan") if judged is None else _error(judged, 0)
        n = 0 if judged is None else len(judged.labels)
        return _verdict(race, only.learner, n, error, only, error, {only.number: 1.0})
    scales = scales_of(judged)
    means = judged.weights @ losses_of(judged, scales, race.metric) / float(judged.weights.sum())
    for member, mean in zip(alive, means.tolist(), strict=True):
        member.loss, member.looked = mean, True
    order = sorted(range(len(alive)), key=lambda k: (means[k], alive[k].number))
    best, n = order[0], len(judged.labels)
    best_error = _error(judged, best)
    teams = _teams(alive, order) if race.committee else []
    if not teams:
        return _verdict(race, alive[best].learner, n, best_error, alive[best], best_error, {alive[best].number: 1.0})
    threshold = race.metric == "error" and judged.scores.shape[2] == 1 and bool(alive[best].learner.fit_intercept)
    found = [(base, options(judged, scales, team, threshold=threshold)) for base, team in teams]
    if race.mixed:  # a standard error of rows from all times says nothing of the rows that come next
        found = [(base, stacks[:1]) for base, stacks in found]
    stack = best_of(judged, [stacks for _, stacks in found], race.metric, race.bounds)
    base = next(base for base, stacks in found if any(one is stack for one in stacks))
    if stack.shares.size == 1 and goes_on(alive[stack.members[0]].learner):
        base = stack.members[0]
    learner = _fold(race, judged, scales, base, stack)
    total = max(float(stack.shares.sum()), 1e-300)
    shares = {
        alive[k].number: float(share / total) for k, share in zip(stack.members, stack.shares, strict=True) if share > 0
    }
    return _verdict(race, learner, n, stack.loss(judged, "error"), alive[best], best_error, shares, stack.shift)


def _verdict(race: Race, learner: OnlineLearner, *found: Any) -> Verdict:
    return Verdict(learner, tuple(race.members), race.rows, race.memory_bytes, *found)


def _teams(alive: list[Member], order: list[int]) -> list[tuple[int, list[int]]]:
    """Members that can be folded together, the best first, each team with the member that goes on."""
    teams = []
    for by_length in (False, True):
        team = [k for k in order if (alive[k].learner.normalize == "row") == by_length]
        base = next((k for k in team if goes_on(alive[k].learner)), None)
        if base is not None:
            teams.append((base, team))
    return teams


def _fold(race: Race, judged: Judged, scales: Floats, base: int, stack: Stack) -> OnlineLearner:
    """A learner like `base` with the model of the committee."""
    alive = race.alive
    own = alive[base].learner
    unit = scales[base]
    votes = [
        Vote(alive[k].learner, float(weight / unit))
        for k, weight in zip(stack.members, stack.weights, strict=True)
        if weight > 0
    ]
    gaussian = {
        k: float(share)
        for k, share in zip(stack.members, stack.shares, strict=True)
        if share > 0 and goes_on(alive[k].learner)
    } or {base: 1.0}
    total = sum(gaussian.values())
    parts = {k: share / total * float(scales[k] / unit) for k, share in gaussian.items()}
    sizes = race.normalizers.get("scale")
    state = folded(own, votes, [Vote(alive[k].learner, part) for k, part in parts.items()], sizes, stack.shift / unit)
    blocks = [one for one in race.blocks if one.start >= race.rows // 2]
    std = np.concatenate(
        [sum(part * np.sqrt(one.variances[:, k].astype(np.float64)) for k, part in parts.items()) for one in blocks]
    )
    weights = None if (judged.weights == 1).all() else judged.weights
    state.record = record_of(state, stack.scores(judged) / unit, std**2, judged.labels, weights)
    learner = type(own)(**own.parameters())
    learner.adopt(state, own.normalizer.copy())
    learner.classes_ = own.classes_
    learner.n_features_in_ = state.n_columns
    learner.origin = own.origin
    return learner


def _error(judged: Judged, member: int) -> float:
    one = judged.of([member])
    wrong: Any = one.wrong(one.margins())[:, 0]
    return float(judged.weights @ wrong) / max(float(judged.weights.sum()), 1e-300)
