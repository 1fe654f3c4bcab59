"""SBCW and FGM: the paper's Algorithms 2 and 3, and invariants of every step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from sureline import FGM, SBCW, reference
from sureline._native import _core
from sureline.learners.cutting_planes import greedy
from sureline.models.groups import shares
from sureline.models.rows import as_rows
from sureline.reference.sparse_batch import grad_Omega_star

LITERAL = {"C2": 0.05, "final_passes": 0}


def data(n: int = 120, d: int = 25, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Half-empty rows, one of them all zeros, with labels by a third of the columns and some noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    X[n // 2] = 0
    w = rng.standard_normal((d, n_classes)) * (np.arange(d) % 3 == 0)[:, np.newaxis]
    return X, (X @ w + 0.7 * rng.standard_normal((n, n_classes))).argmax(axis=1)


def batches(X: Any, y: Any, *sizes: int) -> list[tuple[Any, ...]]:
    ends = np.cumsum(sizes)
    return [(X[end - size : end], y[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def learn(model: Any, parts: list[Any], classes: Any) -> Any:
    for X, y, *weight in parts:
        model.partial_fit(X, y, classes=classes, sample_weight=weight[0] if weight else None)
    return model


def assert_same(model: Any, expected: Any, tolerance: float = 1e-9) -> None:
    assert [group.tolist() for group in model.groups_] == [group.tolist() for group in expected.groups_]
    assert (model.n_iter_, model.stopped_by_) == (expected.n_iter_, expected.stopped_by_)
    counters = [(m.n_seen_, m.n_mistakes_, m.n_updates_) for m in (model, expected)]
    assert counters[0] == counters[1]
    pairs = [(model.theta_, expected.theta_), (model.coef_, expected.coef_), (model.intercept_, expected.intercept_)]
    if isinstance(model, SBCW):
        pairs += list(zip(model.block_covariance_, expected.block_covariance_, strict=True))
        if model.fit_intercept:
            pairs.append((model.intercept_variance_[:1], np.array([expected.intercept_variance_])))
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


# -- the gradient of the conjugate ------------------------------------------------------------------------------


def Omega(t: np.ndarray, sigma: float) -> float:
    return float(sigma / 2 * (t**2).sum() + t.sum() ** 2 / 2)


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize(
    "a",
    [
        [3.0],
        [3.0, 2.9, 0.1],
        [1.0, 1.0, 1.0],
        [2.0, 2.0, 1.0, 1.0, 0.0],
        [0.0, 5.0, 0.0],
        [0.0, 0.0],
        [1e-140, 1e-140],
        [1e150, 2e150],
        np.linspace(0, 1, 40).tolist(),
    ],
    ids=lambda a: f"{len(a)} of {a[0]:g}",
)
def test_the_gradient_of_the_conjugate_is_the_maximiser(a: list[float], sigma: float) -> None:
    """|w_k| = t_k with a_k - sigma t_k - sum t = 0 where t_k > 0, and <= 0 elsewhere: the problem is convex."""
    rng = np.random.default_rng(0)
    directions = [u / np.linalg.norm(u) for u in rng.standard_normal((len(a), 3))]
    with np.errstate(under="ignore"):
        w = grad_Omega_star([a_k * u for a_k, u in zip(a, directions, strict=True)], sigma)
        c = shares(np.array(a), sigma)
    t = np.array([float(np.linalg.norm(w_k)) for w_k in w])
    np.testing.assert_allclose(c * np.array(a), t, rtol=1e-9, atol=1e-12 * max(a))
    slack = np.array(a) - sigma * t - t.sum()
    scale = max(*a, 1e-250)
    assert (np.abs(slack[t > 0]) < 1e-9 * scale).all()
    assert (slack[t == 0] < 1e-9 * scale).all()
    if len(a) == 1:
        np.testing.assert_allclose(t, np.array(a) / (1 + sigma), rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_of_the_conjugate_beats_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, sigma = rng.random(6) ** 3, float(rng.choice([0.01, 0.3, 2.0]))
    t = shares(a, sigma) * a
    found = minimize(lambda t: Omega(t, sigma) - a @ t, np.ones(6), bounds=[(0, None)] * 6, options={"ftol": 1e-15})
    assert Omega(t, sigma) - a @ t <= found.fun + 1e-12
    np.testing.assert_allclose(t, found.x, atol=1e-3 / sigma)


# -- the reference ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("sizes", [(120,), (50, 70), (1, 30, 2, 87)], ids=str)
def test_as_the_paper_has_it(sizes: tuple[int, ...], q: int, fit_intercept: bool, form: Any) -> None:
    X, y = data()
    settings = {"C": 0.3, "C2": 0.02, "q": q, "n_features": 11, "r": 3, "fit_intercept": fit_intercept, "sigma": 0.3}
    parts = batches(X, y, *sizes)
    expected = reference.SBCW(**settings).run(parts, [0, 1])
    assert expected.n_updates_ > 20
    model = learn(SBCW(**settings, final_passes=0, normalize="none"), [(form(X), y) for X, y in parts], [0, 1])
    assert_same(model, expected)
    assert sum(map(len, model.groups_)) == 11


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("passes", [{"inner_passes": 3}, {"final_passes": 4}], ids=str)
def test_exact_steps(q: int, fit_intercept: bool, passes: dict[str, int]) -> None:
    X, y = data(60, 20)
    settings = {"C": 2.0, "C2": 0.01, "q": q, "r": 3, "max_iter": 3, "sigma": 0.1, "fit_intercept": fit_intercept}
    settings |= {"final_passes": 0, **passes}
    parts = batches(X, y, 35, 25)
    assert_same(
        learn(SBCW(**settings, normalize="none"), parts, [0, 1]), reference.SBCW(**settings).run(parts, [0, 1]), 1e-8
    )


@pytest.mark.parametrize("q", [1, 2])
def test_fgm(q: int) -> None:
    X, y = data(50, 20)
    settings = {"C": 0.5, "q": q, "n_features": 8, "r": 3, "inner_passes": 4}
    expected = reference.FGM(**settings).run([(X, y)], [0, 1])
    model = FGM(**settings, normalize="none").fit(sparse.csr_matrix(X), y)
    assert_same(model, expected, 1e-8)
    assert not hasattr(model, "belief")
    assert not hasattr(model, "block_covariance_")


@pytest.mark.parametrize("pick", ["score", "covariance"])
def test_more_than_two_classes_share_their_groups(pick: str) -> None:
    X, y = data(n_classes=4)
    settings = {"C": 0.5, "r": 4, "max_iter": 3, "pick": pick, "pool": 9, **LITERAL}
    parts = batches(X, y, 70, 50)
    model = learn(SBCW(**settings, normalize="none"), parts, range(4))
    assert_same(model, reference.SBCW(**settings).run(parts, range(4)))
    assert model.coef_.shape == (4, 25)


@pytest.mark.parametrize("pool", [None, 5, 100])
def test_picked_with_the_covariance_in_place(pool: int | None) -> None:
    X, y = data(80, 30)
    X = np.column_stack([X, X[:, :10] + 0.01 * np.random.default_rng(1).standard_normal((80, 10))])
    settings = {"C": 1.0, "r": 4, "max_iter": 3, "pick": "covariance", "pool": pool, **LITERAL}
    model = SBCW(**settings, normalize="none").fit(X, y)
    assert_same(model, reference.SBCW(**settings).run([(X, y)], [0, 1]))
    by_score = SBCW(**{**settings, "pick": "score"}, normalize="none").fit(X, y)
    pairs = [sum(j + 30 in group for j in group) for group in (by_score.groups_[0], model.groups_[0])]
    assert pairs[0] > 0 or pool == 5
    assert pairs[1] == 0  # of two columns that say the same one is enough


def test_the_greedy_choice_is_the_best_next_one() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((50, 12))
    P, s = np.eye(12) + Z.T @ Z, rng.standard_normal((3, 12))

    def value(A: list[int]) -> float:
        return float(sum(s_h[A] @ np.linalg.solve(P[np.ix_(A, A)], s_h[A]) for s_h in s))

    chosen = greedy(P, s, 5).tolist()
    for i in range(5):
        others = [j for j in range(12) if j not in chosen[:i]]
        assert value(chosen[: i + 1]) >= max(value([*chosen[:i], j]) for j in others) - 1e-12
    assert greedy(np.eye(4), np.ones((1, 4)), 2).tolist() == [0, 1]
    assert greedy(np.eye(2), np.ones((1, 2)), 5).tolist() == [0, 1]


def test_sample_weights_multiply_both_Cs() -> None:
    X, y = data()
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    settings = {"C": 0.5, "C2": 0.02, "r": 3, "max_iter": 4}
    parts = [(X[:70], y[:70], weight[:70]), (X[70:], y[70:], weight[70:])]
    model = learn(SBCW(**settings, final_passes=0, normalize="none"), parts, [0, 1])
    assert_same(model, reference.SBCW(**settings).run(parts, [0, 1]))
    left_out = [(X[weight > 0], y[weight > 0], weight[weight > 0]) for X, y, weight in parts]
    np.testing.assert_array_equal(
        learn(SBCW(**settings, normalize="none"), left_out, [0, 1]).coef_,
        learn(SBCW(**settings, normalize="none"), parts, [0, 1]).coef_,
    )


# -- the subproblem ----------------------------------------------------------------------------------------------


class Subproblem:
    """Problem (16) for three groups of some rows, in the hands of the core."""

    def __init__(self, q: int, intercept: bool, covariance: bool = True, sigma: float = 0.2) -> None:
        X, y = data(40, 9)
        self.rows, self.labels, self.X = as_rows(X, X.dtype), y.astype(np.int32), X
        self.y, self.C = np.where(y == 1, 1.0, -1.0), np.linspace(0.5, 2, 40)
        self.q, self.sigma, self.P_b = q, sigma, 7.0 if intercept else None
        self.selection = _core.GroupRows(self.rows)
        self.selection.add_groups(self.rows, self.C, np.arange(9), [2, 3, 4], None)
        self.S = []
        for k, size in enumerate((2, 3, 4)):
            self.S.append(np.linalg.inv(np.eye(size) + self.selection.gram(k, self.C)) if covariance else np.eye(size))
            self.selection.set_covariance(self.S[-1] if covariance else None)
        self.alpha, self.z, self.z_b = np.zeros(40), np.zeros(9), np.zeros(1)

    def arguments(self, alpha: Any, z: Any, z_b: Any) -> tuple[Any, ...]:
        problem = _core.GroupProblem(self.C, self.labels, 1, sigma=self.sigma, q=self.q, P_b=self.P_b)
        return (problem, alpha, z, z_b)

    def dual(self, alpha: np.ndarray) -> float:
        """The definition, computed directly."""
        z = self.X.T @ (self.C * alpha * self.y)
        a = np.sqrt([z[g] @ S @ z[g] for g, S in zip((slice(0, 2), slice(2, 5), slice(5, 9)), self.S, strict=True)])
        t = shares(a, self.sigma) * a
        b = float((self.C * alpha * self.y).sum() ** 2 / self.P_b) if self.P_b else 0.0
        return float((self.C * (alpha - (self.q - 1) * alpha**2 / 4)).sum() - (a @ t - Omega(t, self.sigma)) - b / 2)

    def sweep(self) -> None:
        self.selection.sweep(*self.arguments(self.alpha, self.z, self.z_b), exact=True)

    def value(self) -> tuple[float, float, float]:
        return self.selection.value(*self.arguments(self.alpha, self.z, self.z_b), gap=True)


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("covariance", [True, False])
@pytest.mark.parametrize("sigma", [0.02, 1.0])
def test_the_dual_ascends_to_its_maximum(q: int, intercept: bool, covariance: bool, sigma: float) -> None:
    problem = Subproblem(q, intercept, covariance, sigma)
    before = 0.0
    for _ in range(3000):
        problem.sweep()
        dual, theta, gap = problem.value()
        np.testing.assert_allclose(dual, problem.dual(problem.alpha), rtol=1e-10)
        assert dual >= before - 1e-12 * abs(dual)
        assert gap >= 0
        assert theta <= dual + 1e-12
        before = dual
        if gap < 1e-7 * dual:
            break
    assert gap < 1e-7 * dual
    assert (problem.alpha >= 0).all()
    assert q == 2 or (problem.alpha <= 1).all()
    bounds = [(0.0, 1.0 if q == 1 else None)] * 40
    best, at = 0.0, np.full(40, 0.5)
    for _ in range(20):  # the general solver stops short of the maximum, and starts again from there
        found = minimize(lambda alpha: -problem.dual(alpha), at, bounds=bounds, options={"maxfun": 100_000})
        best, at, gain = -found.fun, found.x, -found.fun - best
        if gain < 1e-5 * best:
            break
    assert best - 1e-6 * dual <= dual <= best + 1e-3 * dual


@pytest.mark.parametrize("q", [1, 2])
def test_an_exact_step_is_the_best_along_its_row(q: int) -> None:
    problem = Subproblem(q, True)
    for i in range(40):  # one row after the other, by leaving the others out
        problem.sweep()
        alpha = problem.alpha.copy()
        C = problem.C.copy()
        problem.C[np.arange(40) != i] = 0
        problem.sweep()
        problem.C = C
        at = problem.alpha[i]
        np.testing.assert_array_equal(np.delete(problem.alpha, i), np.delete(alpha, i))
        best = problem.dual(problem.alpha)
        for other in np.clip(
            np.concatenate([at + np.array([-1e-4, 1e-4]), np.linspace(0, 2, 30)]), 0, 1 if q == 1 else 9
        ):
            moved = problem.alpha.copy()
            moved[i] = other
            assert problem.dual(moved) <= best + 1e-11


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["sbcw", "paper", "fgm"])
def test_theta_never_increases(q: int, fit_intercept: bool, kind: str) -> None:
    """Theorem 1, for solved subproblems. The objective includes the small sigma, theta does not."""
    X, y = data(200, 40)
    settings = {"q": q, "r": 3, "max_iter": 10, "sigma": 0.1, "inner_passes": 2000, "inner_tol": 1e-6}
    settings |= {"fit_intercept": fit_intercept}
    model = (
        FGM(**settings, normalize="none")
        if kind == "fgm"
        else SBCW(**settings, C2=1.0 if kind == "paper" else 0.01, final_passes=0, normalize="none")
    )
    theta = model.fit(X, y).theta_
    assert len(theta) == 10
    assert (np.diff(theta) <= 5e-4 * np.abs(theta[:-1])).all()
    assert kind == "paper" or theta[-1] < 0.8 * theta[0]


def test_rows_that_no_group_has_count_in_full() -> None:
    """Without an intercept a row may have no selected column: its loss is 1 whatever the weights."""
    X, y = np.zeros((40, 3)), np.arange(40) % 2
    X[:30, 0] = 2.0 * y[:30] - 1
    X[30:, 1] = 2.0 * y[30:] - 1
    X[:, 2] = 0.1 * X[:, 0]
    model = SBCW(r=1, max_iter=2, C=100.0, C2=1.0, fit_intercept=False, final_passes=0, q=1, normalize="none").fit(X, y)
    assert [group.tolist() for group in model.groups_] == [[0], [1]]
    assert model.score(X, y) == 1


# -- the search --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ({"n_features": 31}, [3] * 10 + [1]),
        ({"n_features": 7}, [1] * 7),
        ({"n_features": 15}, [1] * 15),
        ({"n_features": 16}, [2] * 8),
        ({"n_features": 10, "r": 4}, [4, 4, 2]),
        ({"n_features": 10, "max_iter": 3}, [4, 4, 2]),
        ({"n_features": 10, "r": 2, "max_iter": 3}, [2, 2, 2]),
        ({"r": 2, "max_iter": 3}, [2, 2, 2]),
        ({"r": 2}, [2] * 15),
        ({"max_iter": 2}, [10, 10]),
        ({}, [10, 10, 10, 10]),
        ({"n_features": 100}, [7] * 5 + [5]),
    ],
    ids=str,
)
def test_how_many_features(settings: dict[str, int], sizes: list[int]) -> None:
    X, y = data(100, 40)
    model = SBCW(**settings, normalize="none").fit(X, y)
    assert [len(group) for group in model.groups_] == sizes
    n, most = settings.get("n_features"), settings.get("max_iter", 15)
    reason = "n_features" if sum(sizes) == n else "no_features" if sum(sizes) == 40 else "max_iter"
    assert model.stopped_by_ == reason
    assert len(sizes) <= most or n is not None
    assert len(model.theta_) == model.n_iter_ == len(sizes)
    chosen = np.concatenate(model.groups_)
    assert len(np.unique(chosen)) == len(chosen)
    np.testing.assert_array_equal(model.get_support(indices=True), np.sort(chosen))
    assert model.get_support().sum() == len(chosen)
    np.testing.assert_array_equal(model.transform(X), X[:, np.sort(chosen)])
    assert model.nonzero_ <= len(chosen)
    assert not model.coef_[:, ~model.get_support()].any()


def test_the_search_ends_when_theta_changes_little() -> None:
    X, y = data(200, 40)
    settings = {"r": 2, "max_iter": 20, "inner_passes": 200}
    everything = SBCW(**settings, tol=0.0, normalize="none").fit(X, y)
    change = np.abs(np.diff(everything.theta_)) / np.abs(everything.theta_[1:])
    tol = float(np.sort(change)[2])
    model = SBCW(**settings, tol=tol, normalize="none").fit(X, y)
    assert model.stopped_by_ == "tol"
    assert model.n_iter_ == int(np.argmax(change <= tol)) + 2
    np.testing.assert_array_equal(model.theta_, everything.theta_[: model.n_iter_])
    assert SBCW(**settings, tol=None, normalize="none").fit(X, y).n_iter_ == everything.n_iter_


def test_the_search_ends_before_it_takes_too_much_memory() -> None:
    X, y = data(2000, 200)
    everything = SBCW(r=10, max_iter=20, normalize="none").fit(X, y)
    sizes = []
    for megabytes in (3, 1.0, 0.6):
        model = SBCW(r=10, max_iter=20, max_memory=megabytes, normalize="none").fit(X, y)
        assert model.stopped_by_ == ("max_iter" if megabytes == 3 else "memory")
        sizes.append(len(model.groups_))
        assert [g.tolist() for g in model.groups_] == [g.tolist() for g in everything.groups_[: sizes[-1]]]
    assert sizes[0] == 20 > sizes[1] > sizes[2] > 0
    with pytest.raises(ValueError, match=r"no room for a first group: with 10 columns .* takes 1 MiB"):
        SBCW(r=10, max_memory=0.01, normalize="none").fit(X, y)
    with pytest.raises(ValueError, match=r"no room for a first group: with 100 columns .* takes 2 MiB"):
        SBCW(r=10, max_memory=1.0, pick="covariance", normalize="none").fit(X, y)
    model = SBCW(r=10, max_iter=20, max_memory=1.7, pick="covariance", normalize="none").fit(X, y)
    assert model.stopped_by_ == "memory"
    assert 0 < len(model.groups_) < 20


def test_ties_and_columns_that_say_nothing() -> None:
    X, y = data(100, 6)
    X[:, 5] = 0
    X = np.column_stack([X, X, X])
    model = SBCW(r=4, max_iter=10, normalize="none").fit(X, y)
    assert model.stopped_by_ == "no_features"
    assert set(np.concatenate(model.groups_).tolist()) == set(range(18)) - {5, 11, 17}
    best = np.abs(X[:, :6].T @ (np.where(y == 1, 1, -1) / np.bincount(y)[y])).argsort()[::-1]
    assert set(model.groups_[0].tolist()) == {best[0], best[0] + 6, best[0] + 12, best[1]}  # of equal ones the first
    nothing = SBCW(normalize="none").fit(np.zeros((10, 3)), np.arange(10) % 3 == 0)
    assert (nothing.groups_, nothing.stopped_by_, nothing.nonzero_) == ([], "no_features", 0)
    assert nothing.intercept_[0] < 0
    assert SBCW(fit_intercept=False, normalize="none").fit(np.zeros((10, 3)), np.arange(10) % 2).predict(
        np.zeros((1, 3))
    ) == [0]


def test_a_rare_class_does_not_make_frequent_features_look_good() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.1).astype(int)
    X = np.column_stack([np.ones((4000, 5)), (rng.random((4000, 5)) < 0.1 + 0.3 * y[:, np.newaxis])]).astype(float)
    assert SBCW(r=5, max_iter=1, normalize="none").fit(X, y).groups_[0].tolist() == [5, 6, 7, 8, 9]
    assert SBCW(r=5, max_iter=1, fit_intercept=False, normalize="none").fit(X, y).groups_[0].tolist() == [0, 1, 2, 3, 4]
