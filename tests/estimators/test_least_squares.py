"""AROWRegressor, and targets on a common scale: ridge regression in one pass, standard deviations, the same bits."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import as_published
from command_line import fail, succeed
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine, make_friedman1
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_sklearn import REPETITION

import sureline
from sureline import AROWRegressor, ODCARegressor, reference

MODELS = {
    "full": lambda **p: AROWRegressor(**p),
    "diag": lambda **p: AROWRegressor(covariance="diag", **p),
    "squared": lambda **p: ODCARegressor(**p),
    "huber": lambda **p: ODCARegressor(loss="huber", **p),
    "absolute": lambda **p: ODCARegressor(loss="absolute", fit_intercept=False, **p),
    "elastic net": lambda **p: ODCARegressor(regularizer="elastic_net", delta=0.01, **p),
}
every_model = pytest.mark.parametrize("name", MODELS)


def rows(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) * [1, 10, 0.1, 1, 1, 1] * (rng.random((n, 6)) < 0.8)
    return X, 2e5 + 3e3 * (X @ [1, 0.1, 10, 0, -1, 2]) + 1e3 * rng.standard_normal(n)


@pytest.mark.parametrize("covariance", ["full", "diag"])
@pytest.mark.parametrize("intercept", [True, False])
def test_weights_are_those_of_the_reference(covariance: str, intercept: bool) -> None:
    X, y = rows()
    for weight in (None, np.random.default_rng(1).choice([0, 0.5, 1, 2.0], len(y))):
        settings: dict[str, Any] = {"r": 0.5, "covariance": covariance, "fit_intercept": intercept}
        oracle = reference.AROWRegressor(**settings).run(X, y, weight)
        residuals = (y if weight is None else y[weight > 0]) - oracle.scores_
        for given in (X, sparse.csr_matrix(X)):
            model = as_published(AROWRegressor, **settings).fit(given, y, weight)
            np.testing.assert_allclose(model.coef_, oracle.coef_, rtol=1e-9)
            np.testing.assert_allclose(model.intercept_, [oracle.intercept_], rtol=1e-9)
            assert model.noise_variance_ == pytest.approx(oracle.squares / oracle.n)
            assert model.progressive_loss_ == pytest.approx((residuals**2 / 2).mean())
            S = oracle.S[1:, 1:] * (model.noise_variance_ / model.r)
            np.testing.assert_allclose(model.covariance_, S if covariance == "full" else S.diagonal(), rtol=1e-8)


def test_a_full_covariance_is_ridge_regression_of_all_rows() -> None:
    X, y = rows()
    model = AROWRegressor(r=0.3, normalize="none").partial_fit(X[:90], y[:90]).partial_fit(X[90:], y[90:])
    A = np.column_stack([np.ones(len(X)), X])
    w = np.linalg.solve(A.T @ A + 0.3 * np.eye(7), A.T @ (y - y[0]))
    np.testing.assert_allclose(model.coef_, w[1:], rtol=1e-8)
    np.testing.assert_allclose(model.intercept_, [w[0] + y[0]], rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), A @ w + y[0], rtol=1e-12)


def test_one_pass_is_as_good_as_ridge_regression() -> None:
    """Tables whose columns have many units and offsets."""
    wine = load_wine().data
    tables = [load_diabetes(return_X_y=True), load_diabetes(return_X_y=True, scaled=False)]
    tables += [make_friedman1(600, 10, noise=1.0, random_state=0), (wine[:, :-1], wine[:, -1]), rows(600)]
    for X, y in tables:
        order = np.random.default_rng(0).permutation(len(y))
        scores = [
            cross_val_score(model, X[order], y[order], cv=5).mean()
            for model in (make_pipeline(StandardScaler(), Ridge()), AROWRegressor())
        ]
        assert scores[1] > 0.95 * scores[0]


def test_targets_far_from_zero_are_no_harder() -> None:
    X, y = load_diabetes(return_X_y=True)
    for loss, least in (("squared", 0.4), ("huber", 0.4), ("absolute", 0.35)):
        model = ODCARegressor(loss=loss, random_state=0)
        score = cross_val_score(model, X, y, cv=5).mean()
        assert score > least
        assert cross_val_score(model, X, 1e6 + 1000 * y, cv=5).mean() == pytest.approx(score, abs=0.02)
    many = ODCARegressor(passes=20, shuffle=True, random_state=0)
    assert cross_val_score(many, X, y, cv=5).mean() > 0.45


def test_standard_deviations_are_those_of_the_targets() -> None:
    X, y = rows(3000)
    model = AROWRegressor().fit(X[:1000], y[:1000])
    prediction, std = model.predict(X[1000:], return_std=True)
    assert np.array_equal(std, model.predict_std(X[1000:]))
    assert (np.abs(y[1000:] - prediction) < 2 * std).mean() == pytest.approx(0.954, abs=0.02)
    assert model.noise_variance_ == pytest.approx(1e6, rel=0.1)
    few = AROWRegressor().fit(X[:10], y[:10])
    assert (few.predict_std(X[1000:]) / np.sqrt(few.noise_variance_)).mean() > 1.1  # little is known
    columns = np.arange(6)
    assert model.predict_std_one((columns, X[0])) == pytest.approx(model.predict_std(X[:1])[0])


@every_model
def test_bits_do_not_depend_on_how_a_stream_is_cut(name: str, tmp_path: Path) -> None:
    X, y = rows()
    weight = np.random.default_rng(1).choice([0, 0.5, 1, 2.0], len(y))
    whole = MODELS[name]().partial_fit(X, y, weight)
    parts, alone, stored = MODELS[name](), MODELS[name](), MODELS[name]()
    for start in range(0, len(y), 7):
        part = slice(start, start + 7)
        parts.partial_fit(X[part], y[part], weight[part])
    columns = np.arange(6)
    for x, target, s in zip(X, y, weight, strict=True):
        alone.learn_one((columns, x), target, s)
    stored.partial_fit(X[:50], y[:50], weight[:50])
    sureline.save(stored, tmp_path / "m.sureline")
    stored = sureline.load(tmp_path / "m.sureline").partial_fit(X[50:], y[50:], weight[50:])
    np.testing.assert_allclose(alone.predict(X), whole.predict(X), rtol=1e-9)  # sums of sparse rows differ in rounding
    assert alone.target_scale == whole.target_scale
    for other in (parts, stored, pickle.loads(pickle.dumps(whole))):
        assert np.array_equal(other.predict(X), whole.predict(X))
        assert other.progressive_loss_ == whole.progressive_loss_
        assert other.target_scale == whole.target_scale
    np.testing.assert_allclose(whole.predict(X), X @ whole.coef_ + whole.intercept_, rtol=1e-9)
    np.testing.assert_allclose(whole.sparse_coef_.toarray()[0], whole.coef_)
    assert whole.predict_one((columns, X[3])) == pytest.approx(whole.predict(X[3:4])[0], rel=1e-12)
    top = whole.top_weights(1)[0]
    assert top.weight == pytest.approx((whole.coef_ * whole.scale_)[top.feature])


@every_model
def test_a_refused_batch_leaves_no_trace_in_the_scale(name: str) -> None:
    X, y = rows()
    model = MODELS[name]().partial_fit(X[:50], y[:50])
    before, scale = model.predict(X), model.target_scale
    bad = X[50:60].copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"Row 7|row 7|NaN"):
        model.partial_fit(bad, 1e9 * y[50:60])
    assert model.target_scale == scale
    assert np.array_equal(model.predict(X), before)


@every_model
def test_predictions_are_judged_before_their_targets_are_known(name: str) -> None:
    X, y = rows(60)
    model, losses = MODELS[name](normalize="none"), []
    loss = {"squared": lambda e: e**2 / 2, "absolute": np.abs}.get(getattr(model, "loss", "squared"))
    for t in range(len(y)):
        prediction = model.predict(X[t : t + 1])[0] if t else 0.0
        losses.append(loss(y[t] - prediction) if loss else 0.0)
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    if loss:
        assert model.progressive_loss_ == pytest.approx(np.mean(losses))


def test_without_an_intercept_predictions_go_through_the_origin() -> None:
    X, y = rows()
    for name in ("full", "diag", "squared", "huber"):
        model = MODELS[name](fit_intercept=False).fit(X, y - 2e5)
        assert model.predict(np.zeros((1, 6))) == [0.0]
        assert model.intercept_ == [0.0]


def test_a_full_covariance_of_too_many_columns_is_refused() -> None:
    X = sparse.csr_matrix(([1.0, 2.0], [5, 99_999], [0, 1, 2]), shape=(2, 100_000))
    with pytest.raises(ValueError, match=r"takes up to 20,000 columns.*covariance='diag'.*Got 100,000 columns"):
        AROWRegressor().fit(X, [1.0, 2.0])
    assert AROWRegressor(covariance="diag").fit(X, [1.0, 2.0]).predict(X).shape == (2,)


def test_the_command_line_trains_and_evaluates_it(tmp_path: Path) -> None:
    X, y = rows(300)
    data = tmp_path / "data.svm"
    lines = (
        " ".join([repr(t), *(f"{j + 1}:{v!r}" for j, v in enumerate(x))])
        for x, t in zip(X.tolist(), y.tolist(), strict=True)
    )
    data.write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.sureline"
    succeed("train", data, "--algorithm", "arow-regressor", "--quiet", "--model", model)
    found = json.loads(succeed("evaluate", data, "--model", model, "--json"))
    assert found["r2"] > 0.9
    expected = AROWRegressor().partial_fit(X, y)
    as_read = np.column_stack([np.zeros(len(X)), X])  # columns count from 0
    np.testing.assert_allclose(sureline.load(model).predict(as_read), expected.predict(X), rtol=1e-9)
    wrong = fail(2, "train", data, "--algorithm", "arow", "--scale-target", "--model", model)
    assert "--scale-target is no parameter of AROW" in wrong


@pytest.mark.filterwarnings("ignore::sureline.LabelRunsWarning")
@parametrize_with_checks(
    [AROWRegressor(), AROWRegressor(covariance="diag", dtype="float32"), ODCARegressor(loss="huber")],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": REPETITION,
    },
    xfail_strict=False,
)
def test_estimator(estimator, check) -> None:
    check(estimator)
