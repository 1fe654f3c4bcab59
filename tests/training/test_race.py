"""Who is dropped from a race, and how often that is a mistake."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import sureline
from sureline.datasets import make_sparse_stream
from sureline.training.metric import Measures, Metric, tied
from sureline.training.race import ERROR, FIRST, Race, index_of, points, row_of

LENGTH = 100_000


def test_points_are_the_same_wherever_they_are_asked_from() -> None:
    every = points(0, 5000)
    assert every[:9] == [1, 2, 4, 8, 16, 32, 64, 72, 80]
    assert every == [n for a in range(0, 5000, 37) for n in points(a, min(a + 37, 5000))]
    assert [row_of(i) for i in range(len(every))] == every
    for k in range(12):
        assert every[index_of(1 << k)] == 1 << k


# -- simulated races -----------------------------------------------------------------------------------------


def race(rng: np.random.Generator, kind: str, *, total: int | None = LENGTH) -> tuple[bool, float]:
    """Whether the setting with the least loss at the end was dropped, and the share of the work that was done.

    The error of a setting falls as a + b (1 + t/t0)^-c. Settings differ by little or by much, are fast or slow ("slow"
    ones only start to learn after thousands of examples), and where curves are "crossing" the slower a setting
    starts, the better it ends. The stream is harder in some places than in others, for all settings and for each.
    """
    n_settings = 25
    at = np.array(points(0, LENGTH))
    sizes = np.diff(at, prepend=0)
    t = (at - sizes / 2)[:, np.newaxis]
    spread = rng.choice([0.0003, 0.003, 0.02, 0.06])  # near-ties, and clear cases
    a = rng.uniform(0.02, 0.25) + spread * np.abs(rng.normal(size=n_settings))
    t0 = 10 ** rng.uniform(0.5, 2.5 if kind == "fast" else 4.0, n_settings)
    if kind == "crossing":
        a = np.sort(a)[::-1][np.argsort(np.argsort(t0))]
    b = rng.uniform(0.1, 0.5, n_settings)
    error = a + b * (1 + t / t0) ** -rng.uniform(0.2, 1.0, n_settings)
    error *= np.exp(rng.normal(0, 0.1, (len(at), 1)) + rng.normal(0, 0.02, (len(at), n_settings)))
    losses = np.cumsum(rng.binomial(sizes[:, np.newaxis], np.clip(error, 1e-4, 0.9)), axis=0).astype(float)
    rule, alive, work, before = Race(n_settings), np.ones(n_settings, bool), 0.0, 0
    for n in at.tolist():
        if rule.due(n, total):
            last = index_of(n)
            window = losses[last - 16 : last + 1]
            work += (n - before) * alive.mean()
            before = n
            alive &= ~rule.behind(n, total, window, window, alive)
    work += (LENGTH - before) * alive.mean()
    winners = losses[-1] == losses[-1].min()
    return not (alive & winners).any(), work / LENGTH


def test_the_winner_of_a_thousand_races_is_hardly_ever_dropped() -> None:
    outcomes = np.array([race(np.random.default_rng(i), ["fast", "slow", "crossing"][i % 3]) for i in range(1000)])
    assert outcomes[:, 0].mean() <= 0.01
    assert outcomes[:, 1].mean() < 0.75  # and it saves something
    unknown = np.array([race(np.random.default_rng(i), "crossing", total=None) for i in range(100)])
    assert unknown[:, 0].mean() <= 0.01


def curves(*rates: Any, n: int = 4096) -> np.ndarray[Any, Any]:
    """Losses at the 17 points up to n, without chance: each setting's rate before n/4, until n/2 and until n."""
    at = np.array(points(0, n)[-17:], float)
    losses = []
    for start, before, recent in rates:
        middle = np.clip(at - n / 4, 0, n / 4)
        losses.append(start * n / 4 + before * middle + recent * np.clip(at - n / 2, 0, n / 2))
    return np.array(losses).T


def dropped(*rates: Any, n: int = 4096, total: float | None = 16384) -> list[bool]:
    window = curves(*rates, n=n)
    return list(Race(len(rates)).behind(n, total, window, window, np.ones(len(rates), bool)))


def test_who_is_dropped() -> None:
    leader = (0.2, 0.1, 0.1)
    assert dropped(leader, leader) == [False, False]
    assert dropped(leader, (0.5, 0.4, 0.4)) == [False, True]
    assert dropped(leader, (0.2, 0.1, 0.105)) == [False, False]  # it may be chance
    assert dropped(leader, (0.2, 0.1, 0.105), n=1 << 24, total=1 << 25) == [False, True]  # it may not
    assert dropped(leader, (0.6, 0.5, 0.3)) == [False, False]  # it is catching up
    assert dropped(leader, (0.6, 0.5, 0.3), n=1 << 15, total=33_000) == [False, True]  # but not in so short a time
    assert dropped(leader, (0.9, 0.02, 0.01)) == [False, False]  # far behind, and better for some time
    assert dropped((0.0, 0.0, 0.0), (0.0, 0.0, 0.0005)) == [False, False]
    alive = np.array([False, True, True])
    window = curves((0.1, 0.0, 0.0), leader, (0.2, 0.1, 0.1))
    assert not Race(3).behind(4096, 16384, window, window, alive).any()  # one that is gone does not lead


def test_when_one_looks() -> None:
    rule = Race(3)
    assert not rule.due(FIRST // 2, None)
    assert rule.due(FIRST, None)
    assert not rule.due(FIRST + 1, None)
    assert not rule.due(FIRST, FIRST * 100)  # too early to save anything
    assert rule.due(FIRST, FIRST * 20)
    assert not rule.due(FIRST, FIRST)  # it is over


@pytest.mark.parametrize("metric", ["error", "cost", "balanced_accuracy"])
def test_a_race_finds_what_the_whole_tournament_finds(metric: Any) -> None:
    X, y = make_sparse_stream(17_000, 300, 10, positive=0.3, random_state=1)
    grid = {"scw": {"C": [2.0**-5, 0.5, 1.0, 32.0], "eta": [0.6, 0.8, 0.95]}, "ogd": {"eta": [0.5, 512.0]}}
    options: Any = {"metric": metric, "cost": (5.0, 1.0), "reliability": False}
    whole = sureline.tournament(grid, (X, y), **options)
    raced = sureline.tournament(grid, (X, y), race=True, **options)
    assert raced.best == whole.best
    assert whole.rules is None
    assert raced.rules is not None
    gone = [run for run in raced.runs if run.status == "dropped"]
    assert len(gone) >= 2
    for run in whole.runs:
        assert ("score" in run.curve) == (metric != "error")
        if metric == "error":
            continue
        assert run.curve["score"][-1] == pytest.approx(run.score)
        first = run.curve["error"][0]  # of one example
        assert run.curve["score"][0] == (1 - first if metric == "balanced_accuracy" else first * (5.0 if y[0] else 1.0))
    for run in gone:
        same = whole.run(run.name).curve
        assert run.examples in (2048, 4096, 8192, 16384)
        assert run.curve["error"] == same["error"][: len(run.curve["error"])]  # as it was when it was dropped
        assert run.reason is not None
        assert f"clearly behind after {run.examples:,} examples" in run.reason
        assert run.name not in raced.models
    for run in raced.runs:
        if run.status == "finished":
            assert run.mistakes == whole.run(run.name).mistakes


# -- judging -------------------------------------------------------------------------------------------------


def test_measures_and_their_standard_errors() -> None:
    rng = np.random.default_rng(0)
    seen, rates = np.array([900, 100]), np.array([0.1, 0.4])
    cost = Metric("cost", (10.0, 1.0))
    drawn = [Measures.of(seen, rng.binomial(seen, rates), cost) for _ in range(4000)]
    for name in ("balanced_accuracy", "cost"):
        values = np.array([getattr(m, name) for m in drawn])
        errors = np.array([getattr(m, name + "_se") for m in drawn])
        # The classes of the examples are held here, which the standard error of the cost does not assume.
        assert values.std() == pytest.approx(errors.mean(), rel=0.05 if name == "balanced_accuracy" else 0.3)
    one = Measures.of(seen, np.array([90, 40]), cost)
    assert (one.error, one.balanced_accuracy, one.cost) == pytest.approx((0.13, 0.75, 0.49))
    assert one.error_se == pytest.approx(np.sqrt(0.13 * 0.87 / 1000))
    assert one.score("cost") == (one.cost, one.cost_se)
    for metric in ("error", "cost", "balanced_accuracy"):
        decides = Metric(metric, (10.0, 1.0))  # type: ignore[arg-type]
        loss = float(decides.weights(seen) @ np.array([90, 40])) / 1000
        assert decides.value(loss) == pytest.approx(one.score(metric)[0])  # type: ignore[arg-type]


def test_ties_are_found_at_their_level() -> None:
    at = np.array(points(0, 20_000))
    sizes = np.diff(at, prepend=0)
    rng = np.random.default_rng(0)
    told_apart = 0
    for _ in range(1000):
        both, one, other = rng.multinomial(sizes, [0.1, 0.05, 0.05, 0.8]).T[:3]  # errors of both, and of one alone
        losses, squares = np.cumsum(one - other).astype(float), np.cumsum(2 * both + one + other).astype(float)
        told_apart += not tied(at, losses, squares)
    assert 0.025 < told_apart / 1000 < 0.085
    assert tied(at, np.zeros(len(at)), np.ones(len(at)))
    assert not tied(at, 0.02 * at, 0.3 * at)
    assert tied(at[:6], np.array([0.0, 1, 1, 1, 1, 2]), np.arange(6.0))  # few examples say nothing


def is_dropped(
    looks: int, n: int, total: float | None, losses: np.ndarray, squares: np.ndarray, k: int, leader: int
) -> bool:
    """What race.RULE says, of one setting, in other words."""
    wanted = 1 - ERROR / (looks * (looks + 1) * losses.shape[1])
    z = NormalDist().inv_cdf(wanted)
    gap = [float(a - b) for a, b in zip(losses[:, k], losses[:, leader], strict=True)]
    before, now = (gap[8] - gap[0]) / (n / 4), (gap[16] - gap[8]) / (n / 2)
    unit = max(squares[16]) / max(losses[16])
    apart = sum((squares[16, j] - squares[8, j] + unit) / (n / 2) for j in (k, leader))
    seen = [(gap[i + 1] - gap[i]) - size * lag for i, size, lag in (
        *((i, n / 32, before) for i in range(8)), *((i, n / 16, now) for i in range(8, 16)),
    )]  # fmt: skip
    found = sum(r**2 / (n / 32 if i < 8 else n / 16) for i, r in enumerate(seen)) / 14
    variance = max(apart, found)
    end = 8 * n if total is None else total
    gain, shrinking, at, octave = 0.0, 0.0, float(n), 1
    while at < end:  # octave by octave
        step = min(2 * at, end) - at
        gain, shrinking, at, octave = gain + step, shrinking + octave * step, at + step, octave + 1
    plain = gap[16] + gain * now
    changed = gap[16] + gain * now + shrinking * (now - before)
    noise = variance * (gain**2 / (n / 2) + gain)
    more = variance * ((gain + shrinking) ** 2 / (n / 2) + shrinking**2 / (n / 4) + gain)
    return plain > z * noise**0.5 and changed > z * more**0.5


@pytest.mark.parametrize("total", [None, 4096 * 4, 4096 * 5, 4096 + 500])
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_settings_are_dropped_as_the_rule_says(total: float | None, weight: float) -> None:
    n, dropped = 4096, 0
    at = np.array(points(0, n)[-17:])
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n_settings, looks = int(rng.integers(2, 6)), int(rng.integers(0, 4))
        rates = 0.1 + rng.uniform(0, 0.06) * np.arange(n_settings) + rng.uniform(-0.01, 0.01, n_settings)
        kinds = rng.uniform(0.6, 1.6, (2, n_settings))
        counts = [rng.binomial(at[0], np.minimum(rates, 1))]
        for i, size in enumerate(np.diff(at)):
            counts.append(rng.binomial(size, np.clip(rates * kinds[int(i >= 8)], 0, 1)))
        mistakes = np.cumsum(counts, axis=0).astype(float)
        losses, squares = weight * mistakes, weight**2 * mistakes
        leader = int(losses[-1].argmin())
        out = Race(n_settings, looks).behind(n, total, losses, squares, np.ones(n_settings, bool))
        for k in range(n_settings):
            told = k != leader and is_dropped(looks + 1, n, total, losses, squares, k, leader)
            assert out[k] == told, (seed, k)
            dropped += told
    assert dropped > 20
