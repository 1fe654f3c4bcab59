"""The sparse online learning framework: rounds, lazy truncation, costs, and what must be equal to what."""

import numpy as np
import pytest
from catalogue import COST_SENSITIVE, SPARSE, Case, everything, stream
from scipy import sparse
from test_against_reference import compare

from sureline import CPA, CSOGD, FOBOS, FSOL, FTRL, OGD, PAUM, SSOL, STG, AdaFOBOS, rules
from sureline.metrics import tally

every_sparse = pytest.mark.parametrize("case", SPARSE, ids=str)


# -- rounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [1.0, 2.0, 7.0, 1000.0])
def test_schedules_of_the_threshold(t: float) -> None:
    factor = {"constant": 1.0, "1/t": 1 / t, "t": t}
    for schedule, f in factor.items():
        assert rules.FSOL(eta=0.5, lam=0.2, schedule=schedule).round(t).threshold == pytest.approx(0.1 * f)
        assert rules.SSOL(eta=0.5, lam=0.2, schedule=schedule).round(t).threshold == pytest.approx(0.2 * f)
    assert rules.FSOL(0.5, 0.2).round(t).threshold == 0.5 * 0.2  # theorem 2
    assert rules.SSOL(0.5, 0.2).round(t).threshold == 0.2 / t  # theorem 3


def test_rounds_of_dual_averaging() -> None:
    """-(sqrt(n) / gamma) soft(u / n, lam + gamma rho / sqrt(n)) after n gradients, and 0 before the first."""
    assert rules.RDA(gamma=2.0, lam=0.1, rho=0.3).round(1.0).scale == 0
    n = 9.0
    round_ = rules.RDA(gamma=2.0, lam=0.1, rho=0.3).round(n + 1)
    assert round_.scale * n == pytest.approx(np.sqrt(n) / 2)
    assert round_.threshold / n == pytest.approx(0.1 + 2 * 0.3 / np.sqrt(n))
    assert rules.AdaRDA(lam=0.1).round(n + 1).threshold == pytest.approx(0.1 * n)


def test_rounds_of_truncation() -> None:
    cuts = [rules.STG(eta=0.5, lam=0.1, K=3).round(float(t)).cut for t in range(1, 8)]
    np.testing.assert_allclose(cuts, [0, 0, 0.15, 0, 0, 0.15, 0])
    fobos = rules.FOBOS(eta=0.5, lam=0.1).round(4.0, cut=0.7)
    assert (fobos.eta, fobos.threshold, fobos.cut) == (0.25, 0.7, 0.025)
    assert rules.AdaFOBOS(eta=0.5, lam=0.1).round(4.0).cut == 0.05
    with pytest.raises(ValueError, match="schedule must be"):
        rules.FSOL(schedule="t^2")
    with pytest.raises(ValueError, match="loss must be"):
        rules.FSOL(loss="absolute")


# -- lazy truncation --------------------------------------------------------------------------------------------------


def with_gaps(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features that disappear for thousands of rows and come back, rare ones, and rows without anything."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3000, 8)) * (rng.random((3000, 8)) < 0.5)
    X[30:2900, 2] = 0
    X[1500:, 3] = 0
    X[:2500, 4] = 0
    X[:, 5] *= rng.random(3000) < 0.01
    X[rng.random(3000) < 0.1] = 0
    y = (X @ rng.standard_normal(8) + 0.3 * rng.standard_normal(3000) > 0).astype(int)
    return X, y


@every_sparse
def test_features_that_come_and_go(case: Case) -> None:
    """The weights always equal those of the eager rule, which writes every weight in every round."""
    X, y = with_gaps()
    model = case.make()
    for stop, start in ((31, 0), (1000, 31), (2899, 1000), (3000, 2899)):
        rows = sparse.csr_matrix(X[start:stop])
        model.partial_fit(rows, y[start:stop], classes=[0, 1])
        if stop in (1000, 3000):
            compare(case, model, case.reference().run(X[:stop], y[:stop]))


@every_sparse
def test_dense_rows_and_explicit_zeros_are_sparse_rows(case: Case) -> None:
    """In float32 too, where rewriting a weight in every round would lose small changes."""
    X, y = with_gaps(1)
    X = X.astype(np.float32)
    with_zeros = sparse.csr_matrix((X.ravel(), np.tile(np.arange(8), 3000), np.arange(0, 24001, 8)), shape=X.shape)
    models = [case.make(dtype="float32").fit(rows, y) for rows in (X, sparse.csr_matrix(X), with_zeros)]
    for model in models[1:]:
        assert abs(model.n_mistakes_ - models[0].n_mistakes_) <= 2
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-3, atol=1e-4 * np.abs(model.coef_).max())


def test_the_intercept_is_never_truncated() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 5)), (rng.random(500) < 0.9).astype(int)
    for estimator in (
        STG(0.3, 1e3, normalize="none"),
        FOBOS(0.3, 1e3, normalize="none"),
        AdaFOBOS(0.3, 1e3, normalize="none"),
        FSOL(0.3, 1e5, normalize="none"),
        SSOL(0.3, 1e5, normalize="none"),
        FTRL(l1=1e5, normalize="none"),
    ):
        model = estimator.fit(X, y)
        assert model.nonzero_ == 0
        assert model.sparsity_ == 1
        assert model.intercept_[0] > 0


def test_parameters_take_effect_with_the_next_call() -> None:
    X, y = stream()
    model = FSOL(eta=0.1, lam=1.0, normalize="none").fit(X, y)
    coef, scores = model.coef_, model.decision_function(X)
    model.set_params(lam=1e6)
    np.testing.assert_array_equal(model.coef_, coef)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    model.partial_fit(X[:1], y[:1])
    assert model.nonzero_ == 0
    for estimator, change in (
        (STG(theta=1.0, normalize="none"), {"theta": 2.0}),
        (AdaFOBOS(delta=1.0, normalize="none"), {"delta": 2.0}),
    ):
        estimator.partial_fit(X, y, classes=[0, 1]).set_params(**change)
        with pytest.raises(ValueError, match=f"The '{next(iter(change))}' parameter of .* cannot change"):
            estimator.partial_fit(X, y)


# -- what must be equal to what ---------------------------------------------------------------------------------------


def test_special_cases() -> None:
    X, y = stream(600)

    def same(a, b) -> None:
        a, b = a.fit(X, y), b.fit(X, y)
        assert (a.n_mistakes_, a.n_updates_) == (b.n_mistakes_, b.n_updates_)
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9, atol=1e-12)

    same(FOBOS(eta=0.3, normalize="none"), OGD(eta=0.3, normalize="none"))
    same(STG(eta=0.3, normalize="none"), OGD(eta=0.3, power_t=0, normalize="none"))
    same(FSOL(eta=0.3, normalize="none"), OGD(eta=0.3, power_t=0, normalize="none"))
    same(CSOGD(eta=0.3, normalize="none"), OGD(eta=0.3, normalize="none"))
    same(CSOGD(eta=0.3, form="margin", cost=(1, 1), normalize="none"), OGD(eta=0.3, normalize="none"))
    same(
        PAUM(eta=0.3, normalize="none"), OGD(eta=0.3, power_t=0, normalize="none")
    )  # a margin of exactly 1 does not occur
    # A that takes in next to nothing stays the identity.
    same(
        SSOL(eta=1.0, r=1e15, lam=2.0, schedule="constant", normalize="none"), FSOL(eta=1.0, lam=2.0, normalize="none")
    )
    same(
        SSOL(eta=1.0, r=1e15, lam=2.0, schedule="constant", covariance="full", normalize="none"),
        FSOL(eta=1.0, lam=2.0, normalize="none"),
    )


def test_a_cost_is_a_weight_of_the_gradient() -> None:
    X, y = stream(600)
    pair = FSOL(eta=0.1, lam=1.0, cost=(3.0, 0.5), normalize="none").fit(X, y)
    weighted = FSOL(eta=0.1, lam=1.0, normalize="none").fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.5))
    assert everything(pair)[0] == everything(weighted)[0]
    # S absorbs an example once, whatever its cost, and with r / s, whatever its gradient.
    assert (
        SSOL(cost=(3.0, 0.5), normalize="none").fit(X, y).covariance_ == SSOL(normalize="none").fit(X, y).covariance_
    ).all()


def test_balanced_costs_follow_the_stream() -> None:
    rng = np.random.default_rng(0)
    X, y = stream(500)
    y = y * (rng.random(500) < 0.3)  # rare positives
    positive, negative = np.cumsum(y == 1), np.cumsum(y == 0)
    c = np.where((y == 1) & (negative > 0), negative / np.maximum(positive, 1), 1.0)
    balanced = FSOL(eta=0.1, cost="balanced", normalize="none").fit(X, y)
    by_hand = FSOL(eta=0.1, normalize="none").fit(X, y, sample_weight=c)
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, rtol=1e-12)
    assert balanced.n_mistakes_ == by_hand.n_mistakes_
    parts = FSOL(eta=0.1, cost="balanced", normalize="none")
    for start in range(0, 500, 7):  # the counts live in the model
        parts.partial_fit(X[start : start + 7], y[start : start + 7], classes=[0, 1])
    assert everything(parts) == everything(balanced)


def test_balanced_costs_of_more_classes() -> None:
    X, y = stream(400, n_classes=3)
    seen = np.cumsum(np.eye(3)[y], axis=0)
    c = seen.sum(axis=1) / ((seen > 0).sum(axis=1) * seen[np.arange(400), y])
    balanced, by_hand = (
        FSOL(eta=0.1, cost="balanced", normalize="none").fit(X, y),
        FSOL(eta=0.1, normalize="none").fit(X, y, sample_weight=c),
    )
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, rtol=1e-12)


@pytest.mark.parametrize("cost", [(1,), (1, 2, 3), (0, 1), (1, -1), "equal", (1, np.inf), ("a", 1), 2.0, (10**400, 1)])
def test_costs_that_make_no_sense(cost) -> None:
    X, y = stream()
    for estimator in (FSOL, SSOL, CSOGD, CPA):
        with pytest.raises(ValueError, match=f"The 'cost' parameter of {estimator.__name__} must be None, 'balanced'"):
            estimator(cost=cost).fit(X, y)


@pytest.mark.parametrize("case", [c for c in SPARSE + COST_SENSITIVE if c.name != "SSOL"], ids=str)
def test_progressive_counts_are_those_of_predicting_first(case: Case) -> None:
    X, y = stream(200)
    model, predicted = case.make(), []
    for row in range(len(y)):
        if row:
            predicted.append(int(model.predict(X[row : row + 1])[0]))
        else:
            predicted.append(0)  # a score of 0
        model.partial_fit(X[row : row + 1], y[row : row + 1], classes=[0, 1])
    assert model.progressive_ == tally(y, predicted)
    assert model.progressive_.weighted_cost((2, 1)) == tally(y, predicted).weighted_cost((2, 1))
    whole = case.make().fit(X, y)
    assert whole.progressive_ == model.progressive_
    assert whole.progressive_.mistakes.sum() == whole.n_mistakes_


def test_sparse_weights_are_the_dense_ones() -> None:
    X, y = stream(300, 30, n_classes=4)
    for case in SPARSE:
        model = case.make().fit(X, y)
        coef = model.sparse_coef_
        assert coef.format == "csr"
        assert coef.has_sorted_indices
        assert coef.dtype == model.coef_.dtype
        np.testing.assert_array_equal(coef.toarray(), model.coef_)
        assert model.nonzero_ == np.count_nonzero(model.coef_) == coef.nnz
        assert model.sparsity_ == pytest.approx((model.coef_ == 0).mean())


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_of_log_loss(n_classes: int) -> None:
    X, y = stream(600, n_classes=n_classes)
    for estimator in (
        FTRL(alpha=1.0, l1=0.1, normalize="none"),
        FSOL(eta=0.1, loss="log", normalize="none"),
        OGD(loss="log", normalize="none"),
        CSOGD(loss="log", normalize="none"),
    ):
        model = estimator.fit(X, y)
        assert model.predict_proba(X).shape == (600, n_classes)
        # What the log loss learns, of which the calibrated probabilities are made.
        proba = model.belief_link.probabilities(*model.judge(X, variances=False), n_classes)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
        if n_classes == 2:
            np.testing.assert_allclose(np.log(proba[:, 1] / proba[:, 0]), model.decision_function(X), rtol=1e-6)
