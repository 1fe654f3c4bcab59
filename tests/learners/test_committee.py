"""A committee of learners: its votes against a general solver, and the one model against the sum of its members."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse import csr_matrix

from sureline.datasets import make_sparse_stream
from sureline.learners.catalogue import LEARNERS
from sureline.learners.race import race as racing
from sureline.learners.race import verdict as verdicts
from sureline.learners.race.predictions import Block
from sureline.learners.race.race import Race
from sureline.learners.race.stack import (
    SHRINKAGE,
    Judged,
    Stack,
    best_of,
    losses_of,
    moved,
    options,
    scales_of,
    stacked,
)
from sureline.learners.race.verdict import outcome
from sureline.stream import Chunk

SOME = (
    ("SCW", {}),
    ("AROW", {"normalize": "none"}),
    ("FTRL", {"alpha": 0.2}),
    ("AROW", {"r": 0.25, "normalize": "row"}),
    ("FTRL", {"alpha": 1.0, "normalize": "row"}),
    ("SCW", {"C": 0.1, "covariance": "full"}),
)


def predictions(n: int, n_members: int, n_heads: int, seed: int = 0) -> Judged:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, max(n_heads, 2), n).astype(np.int32)
    truth = np.where(labels == 1, 1.0, -1.0)[:, None] if n_heads == 1 else 4 * np.eye(n_heads)[labels]
    noise = np.linspace(1, 4, n_members)[:, None] * rng.normal(size=(n, n_members, n_heads))
    scores = (truth[:, None] + noise) * 10.0 ** rng.integers(-2, 3, n_members)[:, None]
    return Judged(scores, labels, rng.uniform(0.5, 2, n))


@pytest.mark.parametrize("n_heads", [1, 4])
def test_scores_become_log_odds(n_heads: int) -> None:
    judged = predictions(2000, 5, n_heads)
    margins, scales = judged.margins(), scales_of(judged)
    for k in range(5 if n_heads == 1 else 3):  # the others are nearly noise, which the prior bounds
        best = minimize_scalar(
            lambda u, m=margins[:, k]: float(judged.weights @ np.logaddexp(0, -m * np.exp(u))),
            bounds=(-12, 12),
            method="bounded",
            options={"xatol": 1e-8},
        )
        assert scales[k] == pytest.approx(np.exp(best.x), rel=5e-2)  # but for a weak prior


@pytest.mark.parametrize("n", [60, 3000])
def test_the_votes_are_those_of_a_general_solver(n: int) -> None:
    judged = predictions(n, 10, 1)
    scales = scales_of(judged)
    order = np.argsort(judged.weights @ losses_of(judged, scales, "log_loss")).tolist()
    stack = stacked(judged, scales, order)
    assert stack.members == order[:8]
    Z = judged.of(stack.members).margins() * scales[stack.members]
    centre = np.array([1, 1, 1, 0, 0, 0, 0, 0]) / 3

    def loss(a: Any) -> Any:
        p = 1 / (1 + np.exp(Z @ a))
        value = judged.weights @ np.logaddexp(0, -(Z @ a)) + SHRINKAGE * ((a - centre) ** 2).sum()
        return value, -Z.T @ (judged.weights * p) + 2 * SHRINKAGE * (a - centre)

    found = minimize(loss, centre, jac=True, bounds=[(0, None)] * 8, options={"ftol": 1e-14, "gtol": 1e-10})
    np.testing.assert_allclose(stack.shares, found.x, atol=1e-4)
    np.testing.assert_allclose(stack.weights, stack.shares * scales[stack.members])


def test_few_predictions_make_the_mean_of_the_best_three() -> None:
    judged = predictions(3, 6, 1)
    stack = stacked(judged, np.ones(6) * 1e-3, [4, 2, 0, 1, 3, 5])
    np.testing.assert_allclose(stack.shares, [1 / 3, 1 / 3, 1 / 3, 0, 0, 0], atol=0.01)


def test_a_committee_of_classes_is_better_than_its_members() -> None:
    judged = predictions(4000, 4, 5)
    scales = scales_of(judged)
    errors = judged.weights @ judged.wrong(judged.margins()) / judged.weights.sum()
    stack = stacked(judged, scales, np.argsort(errors).tolist())
    assert stack.loss(judged, "error") < 0.95 * errors.min()
    assert (stack.shares >= 0).all()


@pytest.mark.parametrize("metric", ["error", "log_loss", "brier", "auc"])
def test_every_metric_finds_the_best_member(metric: str) -> None:
    judged = predictions(4000, 5, 1)
    losses = losses_of(judged, scales_of(judged), metric)
    assert np.argmin(judged.weights @ losses) == 0
    if metric == "auc":
        from sklearn.metrics import roc_auc_score

        even = Judged(judged.scores, judged.labels, np.ones(4000))
        losses = losses_of(even, np.ones(5), "auc")
        for k in range(5):
            area = roc_auc_score(judged.labels, judged.scores[:, k, 0])
            assert losses[judged.labels == 1, k].mean() == pytest.approx(1 - area)


# -- the race --------------------------------------------------------------------------------------------------------


def off_centre(n: int, share: float) -> Judged:
    """Two members whose margins are calibrated, and one that errs on fewer rows but is sure of its mistakes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n).astype(np.int32)
    side = np.where(labels == 1, 1.0, -1.0)[:, None]
    good = np.where(rng.random(n) < 0.25, -1.0, 1.0)
    sure = np.where(rng.random(n) < 0.25 - share, -30.0 * rng.random(n), 0.5)
    margins = np.stack([good, good + 0.1 * rng.normal(size=n), sure], axis=1)
    return Judged((side * margins)[:, :, None], labels, np.ones(n))


@pytest.mark.parametrize(("share", "alone"), [(0.05, True), (0.0, False)])
def test_a_member_that_is_clearly_better_than_the_committee_stands_alone(share: float, alone: bool) -> None:
    judged = off_centre(4000, share)
    scales = scales_of(judged)
    stacks = options(judged, scales, [0, 1, 2])
    found = best_of(judged, [stacks], "error", [0, 1000, 2000, 3000, 4000])
    assert (found.members == [2]) is alone
    assert (found is stacks[0]) is not alone
    assert found.loss(judged, "error") <= stacks[0].loss(judged, "error")


def test_nothing_takes_the_place_of_the_committee_of_rows_from_all_times() -> None:
    X, y = rows(3000)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 0, y)  # a threshold that is worth moving
    found = {mixed: outcome(run(Race(learners(SOME[:5]), mixed=mixed), X, y, 2)) for mixed in (False, True)}
    assert found[False].shift != 0
    assert found[True].shift == 0
    assert len(found[True].shares) > 1
    assert found[False].error < found[True].error  # on the rows that judge, which are not those that come next


def test_what_the_blocks_of_a_stream_do_not_agree_on_is_chance() -> None:
    n = 4000
    judged = off_centre(n, 0.05)
    stacks = options(judged, scales_of(judged), [0, 1, 2])
    blocks = np.arange(n) < 1000
    judged.scores[blocks, 2] = np.where(judged.labels[blocks] == 1, 1.0, -1.0)[:, None]  # right in one block alone
    worse = np.where(np.random.default_rng(1).random(n) < 0.05, -1.0, 1.0)[:, None]
    judged.scores[~blocks, 2] = (judged.scores[:, 0] * worse)[~blocks]
    gain = stacks[0].loss(judged, "error") - stacks[4].loss(judged, "error")
    assert stacks[4].members == [2]
    assert gain > 0.02  # by the rows alone that is no chance: their standard error is .008
    assert best_of(judged, [stacks], "error", [0, 1000, 2000, 3000, 4000]) is stacks[0]


def chunk_of(X: Any, y: Any, n_classes: int, dtype: str = "float64") -> Chunk:
    X = csr_matrix(X)
    labels = y.astype(np.int32), list(range(n_classes))
    return Chunk(
        X.data.astype(dtype), X.indices.astype(np.int32), X.indptr.astype(np.int32), labels, n_columns=X.shape[1]
    )


def run(race: Race, X: Any, y: Any, n_classes: int) -> Race:
    at = 0
    while at < len(y):
        stop = min(at + race.block_size, len(y))
        block = chunk_of(X[at:stop], y[at:stop], n_classes)
        race.learn(block, block.labels[0], np.arange(n_classes))
        at = stop
    return race


def rows(n: int = 3000, n_classes: int = 2) -> tuple[Any, Any]:
    X, y = make_sparse_stream(n, 80, 10, n_informative=40, random_state=1)
    X = X.astype(np.float64).tocsr()
    X.data *= 10.0 ** (X.indices % 3 - 1)
    if n_classes > 2:
        y = np.asarray(X @ np.random.default_rng(0).normal(size=(80, n_classes))).argmax(axis=1)
    return X, y


def learners(some: Any = SOME) -> list[Any]:
    return [LEARNERS[name](**settings) for name, settings in some]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_the_model_is_the_sum_of_its_members(n_classes: int, multi_class: str) -> None:
    X, y = rows(n_classes=n_classes)
    race = run(Race(learners([(n, {**s, "multi_class": multi_class}) for n, s in SOME])), X, y, n_classes)
    verdict = outcome(race)
    assert len(verdict.shares) > 1
    assert sum(verdict.shares.values()) == pytest.approx(1)
    kinds = {race.members[k].learner.normalize == "row" for k in verdict.shares}
    assert len(kinds) == 1
    row = X.data, X.indices, X.indptr, X.shape[1]
    judged = race.judged()
    assert judged is not None
    scales = dict(zip([member.number for member in race.alive], scales_of(judged), strict=True))
    total = sum(share * scales[k] * race.members[k].learner.judge_rows(*row)[0] for k, share in verdict.shares.items())
    scores, variances = verdict.learner.judge_rows(*row)
    by_one = np.stack([scores.ravel(), np.full(scores.size, float(verdict.shift != 0))], axis=1)
    line = np.linalg.lstsq(by_one, total.ravel(), rcond=None)[0]  # in the units of the one that goes on, and moved
    np.testing.assert_allclose(by_one @ line, total.ravel(), rtol=1e-6, atol=1e-6 * np.abs(total).mean())
    assert line[0] > 0
    assert variances is not None
    assert (variances > 0).all()
    assert verdict.learner.n_seen_ == len(y)
    assert verdict.error <= verdict.best_error + 0.01


@pytest.mark.parametrize("kind", ["none", "row", "scale"])
def test_a_threshold_is_moved_by_the_intercept(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(600)
    race = run(Race(learners([("SCW", {"normalize": kind}), ("FTRL", {"normalize": kind})])), X, y, 2)

    def moved_by(shift: float) -> Any:
        monkeypatch.setattr(
            verdicts, "options", lambda *about, threshold: [replace(stacked(*about), shift=shift if threshold else 0.0)]
        )
        return outcome(race.copy())

    plain, moved = moved_by(0.0), moved_by(0.7)
    row = X.data, X.indices, X.indptr, X.shape[1]
    apart = moved.learner.judge_rows(*row)[0] - plain.learner.judge_rows(*row)[0]
    np.testing.assert_allclose(apart, apart[0, 0], rtol=1e-6)
    judged = race.judged()
    assert judged is not None
    scale = scales_of(judged)[[member.number for member in race.alive].index(0)]
    assert apart[0, 0] == pytest.approx(0.7 / scale)
    np.testing.assert_array_equal(moved.learner.coef_, plain.learner.coef_)
    for other in ({"metric": "log_loss"}, {}):
        without = [("SCW", {"normalize": kind, "fit_intercept": bool(other)}), ("FTRL", {"fit_intercept": bool(other)})]
        race = run(Race(learners(without), **other), X, y, 2)
        assert moved_by(0.7).shift == 0  # where there is no intercept, or not the error is what is judged


def test_the_threshold_is_that_with_the_fewest_mistakes() -> None:
    rng = np.random.default_rng(0)
    labels = (rng.random(20_000) < 0.3).astype(np.int32)
    f = 4 * (np.where(labels == 1, 0.5, -0.5) + 0.5 * rng.normal(size=len(labels))) - 2  # log-odds but for a shift
    judged = Judged(f[:, None, None], labels, np.ones(len(labels)))
    one = Stack([0], np.ones(1), np.ones(1))
    found = moved(judged, one)
    tried = [replace(one, shift=float(shift)).loss(judged, "error") for shift in np.arange(-1.5, 1.5, 0.05)]
    assert found.loss(judged, "error") <= min(tried) + 0.002
    assert found.loss(judged, "error") < one.loss(judged, "error") - 0.01
    stacks = options(judged, np.ones(1), [0], threshold=True)
    best = best_of(judged, [stacks], "error", [0, 5000, 10_000, 15_000, 20_000])
    assert best.shift > 0
    assert best.loss(judged, "error") < one.loss(judged, "error") - 0.01


def test_the_variances_are_those_of_the_gaussian_members() -> None:
    X, y = rows()
    race = run(Race(learners([("SCW", {}), ("SCW", {"C": 0.1}), ("AROW", {"normalize": "none"})])), X, y, 2)
    verdict = outcome(race)
    members = [race.members[k].learner for k in verdict.shares]
    own = np.sqrt(verdict.learner.covariance_[0])
    # A mean of positive parts: each weight is as uncertain as some combination of those of the members.
    parts = np.array([np.sqrt(one.covariance_[0]) for one in members])
    found, *_ = np.linalg.lstsq(parts.T, own, rcond=None)
    assert (found > -1e-6).all()
    np.testing.assert_allclose(parts.T @ found, own, rtol=1e-4)


def test_confidences_are_calibrated_by_predictions_that_preceded_their_rows() -> None:
    X, y = rows(8000)
    verdict = outcome(run(Race(learners()), X[:6000], y[:6000], 2))
    Z = X[6000:]
    scores, variances = verdict.learner.judge_rows(Z.data, Z.indices, Z.indptr, Z.shape[1])
    confidence = verdict.learner.confidences(scores, variances)
    right = verdict.learner.chosen(scores) == y[6000:]
    assert confidence.mean() == pytest.approx(right.mean(), abs=0.03)


def test_it_can_go_on_learning() -> None:
    X, y = rows(6000)
    learner = outcome(run(Race(learners()), X[:3000], y[:3000], 2)).learner
    before = learner.n_mistakes_
    for i in range(3000, 6000):
        here = slice(X.indptr[i], X.indptr[i + 1])
        learner.learn_one((X.indices[here], X.data[here]), int(y[i]))
    assert learner.n_seen_ == 6000
    assert learner.n_mistakes_ - before < 0.4 * 3000


def test_those_behind_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(racing, "LEFT", ((512, 7, 2), (1024, 3, 1)))
    X, y = rows()
    bad = ("SCW", {"C": 2.0**-20, "eta": 0.51})
    twin = ("AROW", {"normalize": "none", "shuffle": False})
    race = run(Race(learners([*SOME, bad, twin])), X, y, 2)
    assert len(race.alive) <= 3
    gone = {member.number: member for member in race.members if not member.alive}
    assert "loss" in gone[6].why
    assert any("clearly behind: loss" in member.why for member in gone.values())
    assert any("the same predictions as number" in member.why for member in gone.values())
    assert all(member.left in (512, 1024, 2048) for member in gone.values())
    assert any(racing.goes_on(member.learner) for member in race.alive)
    one = run(Race(learners(), committee=False), X, y, 2)
    assert one.over
    assert outcome(one).learner is one.alive[0].learner


def test_who_is_behind_after_a_change_alone_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(racing, "LEFT", ((1024, 9, 9),))
    ahead, behind, changed = (np.full((8, 64), loss) for loss in (1.0, 1.5, 0.9))
    changed[4:] = 2.0
    losses = np.stack([x.ravel() for x in (ahead, behind, changed)], axis=1)
    race = Race(learners(SOME[:3]))
    race.rows = 1024
    labels, empty = np.zeros(64, np.int32), np.zeros((64, 3, 1), np.float32)
    race.blocks = [Block(512 + 64 * k, labels, np.ones(64), empty, empty) for k in range(8)]
    monkeypatch.setattr(racing, "losses_of", lambda *_: losses)
    monkeypatch.setattr(race, "judged", lambda: Judged(np.zeros((512, 3, 1)), np.zeros(512, np.int32), np.ones(512)))
    monkeypatch.setattr(racing, "FIRST", 1)
    race._look()
    assert [member.number for member in race.alive] == [0, 2]
    assert "clearly behind" in race.members[1].why


def test_there_is_room_for_some() -> None:
    X, y = rows(500)
    most = sum(one.most_bytes(80, 2) for one in learners()) + 16 * 80
    assert run(Race(learners(), limit=most), X, y, 2).memory_bytes == most
    race = run(Race(learners(), limit=6000), X, y, 2)
    assert 0 < len(race.alive) < len(SOME)
    assert race.memory_bytes <= 6000
    assert "there is no room for it among 80 columns" in {member.why for member in race.members}


def test_a_full_covariance_is_for_narrow_tables() -> None:
    wide = csr_matrix((np.ones(200), (np.arange(200), np.arange(200) % 150)), shape=(200, 150))
    race = run(Race(learners()), wide, np.arange(200) % 2, 2)
    assert [member.why for member in race.members if not member.alive] == ["its covariance is for at most 100 columns"]


def test_a_full_covariance_rests_along_a_long_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(racing, "LEFT", ((512, 9, 9), (1024, 9, 9)))
    X, y = rows()
    race = run(Race(learners([SOME[0], SOME[5]]), long=True), X, y, 2)
    assert race.members[1].learner.n_seen_ == 1024
    assert race.leader.learner.n_seen_ == outcome(race).learner.n_seen_ == 3000
    alone = run(Race(learners([SOME[5], ("SCW", {"C": 1e-6}), SOME[5]]), long=True, committee=False), X, y, 2)
    assert [member.number for member in alone.alive] == [1]  # however good the others were
    assert {member.left for member in alone.members if not member.alive} == {512}


def test_a_class_that_comes_later() -> None:
    X, y = rows(3000, 3)
    y = np.where((y == 2) & (np.arange(3000) < 700), 0, y)
    race, at = Race(learners()), 0
    while at < 3000:
        stop = min(at + race.block_size, 3000)
        n_classes = max(int(y[:stop].max()) + 1, 2)
        block = chunk_of(X[at:stop], y[at:stop], n_classes)
        race.learn(block, block.labels[0], np.arange(n_classes))
        at = stop
    verdict = outcome(race)
    assert verdict.learner.model.n_heads == 3
    assert verdict.judged > 500


def test_a_member_that_overflows_leaves_and_the_others_go_on() -> None:
    X, y = rows(600)
    huge = X.copy()
    huge.data[: huge.indptr[1]] *= 1e200
    race = run(Race(learners()), huge, y, 2)
    assert race.members[1].why
    assert race.members[0].alive


def test_too_few_rows_decide_nothing() -> None:
    X, y = rows(60)
    verdict = outcome(run(Race(learners()), X, y, 2))
    assert verdict.judged == 0
    assert verdict.learner.parameters() == learners()[0].parameters()
