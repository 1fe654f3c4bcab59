"""ODCARegressor: equal to the reference to 1e-9, the same bits for any batches, and clear refusals."""

from __future__ import annotations

import copy
import itertools
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from catalogue import as_published
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_bad_input import CORRUPT, corrupt
from test_sklearn import REPETITION

from sureline import ODCARegressor, reference

WINDOWS: list[dict[str, Any]] = [
    {"window": "infinite"},
    {"window": "exponential", "half_life": 40.0},
    {"window": "sliding", "length": 25},
]
LOSSES: list[dict[str, Any]] = [{"loss": "squared"}, {"loss": "absolute"}, {"loss": "huber", "epsilon": 0.7}]
REGULARIZERS: list[dict[str, Any]] = [
    {"regularizer": "l2"},
    {"regularizer": "elastic_net", "delta": 0.05},
    {"regularizer": "kl"},
]
SETTINGS = [
    {"rho": 0.02, **window, **loss, **regularizer}
    for window, loss, regularizer in itertools.product(WINDOWS, LOSSES, REGULARIZERS)
]
SETTINGS += [
    {"rho": 0.02, **window, **loss, **regularizer, "smoothing": kappa}
    for (window, loss, regularizer), kappa in zip(
        itertools.product(WINDOWS, LOSSES[:2], REGULARIZERS), itertools.cycle([0.5, 0.97, 1.0]), strict=False
    )
]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
# One of each kind of state.
SHAPES = [
    {"rho": 0.01},
    {"rho": 0.01, "window": "exponential", "half_life": 30.0, "loss": "absolute"},
    {"rho": 0.01, "window": "sliding", "length": 20, "loss": "huber"},
    {"rho": 0.01, "window": "sliding", "length": 20, "regularizer": "elastic_net", "smoothing": 0.9},
    {"rho": 0.01, "regularizer": "elastic_net", "delta": 0.05, "smoothing": 1.0},
    {"rho": 0.1, "regularizer": "kl", "window": "sliding", "length": 20},
]
every_shape = pytest.mark.parametrize("settings", SHAPES, ids=lambda s: "-".join(map(str, s.values())))


def stream(n_rows: int = 120, n_columns: int = 9, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Half-empty rows, one of zeros among them, and targets with some noise and some that are far off."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.6)
    X[n_rows // 2] = 0
    y = X @ rng.standard_normal(n_columns) + 0.7 + 0.2 * rng.standard_normal(n_rows)
    y[::17] += 10
    return X, y


def everything(model: Any) -> list[Any]:
    """All that was learned, for comparing to the bit."""
    state = model._state
    memory = [a.tobytes() for a in (state.ascent.scalars, *state.ascent.window())]
    weights = state.weights[: state.n_columns + 1]
    return [weights.tobytes(), state.memory.tobytes(), state.tally.tolist(), memory, model.n_features_in_]


# -- the mathematics ------------------------------------------------------------------------------------------


@every_setting
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
def test_weights_are_those_of_the_reference(settings: dict[str, Any], intercept: bool) -> None:
    X, y = stream()
    for weight in (None, np.random.default_rng(7).choice([0, 0.5, 1, 2.0], len(y))):
        oracle = reference.ODCARegressor(fit_intercept=intercept, **settings).run(X, y, weight)
        assert oracle.n_updates_ > 20
        loss = _loss(settings)(oracle.scores_, y if weight is None else y[weight > 0])
        for rows in (X, sparse.csr_matrix(X), sparse.csc_matrix(X)):
            model = as_published(ODCARegressor, fit_intercept=intercept, **settings).fit(rows, y, weight)
            scale = max(np.abs(oracle.coef_).max(), np.abs(oracle.intercept_).max())
            assert np.abs(model.coef_ - oracle.coef_[0]).max() < 1e-9 * scale
            assert np.abs(model.intercept_ - oracle.intercept_).max() < 1e-9 * scale
            assert (model.n_seen_, model.n_updates_) == (oracle.n_seen_, oracle.n_updates_)
            assert model.progressive_loss_ == pytest.approx(loss.mean(), rel=1e-9)


def _loss(settings: dict[str, Any]) -> Any:
    if settings["loss"] == "squared":
        return lambda z, y: (y - z) ** 2 / 2
    if settings["loss"] == "absolute":
        return lambda z, y: np.abs(y - z)
    epsilon = settings["epsilon"]
    return lambda z, y: np.where(np.abs(y - z) <= epsilon, (y - z) ** 2 / 2, epsilon * np.abs(y - z) - epsilon**2 / 2)


def test_least_mean_squares_is_equation_37() -> None:
    X, y = stream(60, 4)
    rho, w = 0.05, np.zeros(4)
    for N, (h, gamma) in enumerate(zip(X, y, strict=True), start=1):
        lam = (gamma - (N - 1) / N * (h @ w)) / (1 + h @ h / (rho * N))  # (37a)
        w = (N - 1) / N * w + lam * h / (rho * N)  # (37b)
        model = as_published(ODCARegressor, rho=rho, fit_intercept=False).fit(X[:N], y[:N])
        np.testing.assert_allclose(model.coef_, w, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(model.predict(X), X @ w, rtol=1e-12, atol=1e-13)


def test_the_robust_losses_are_less_moved_by_targets_that_are_far_off() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4000, 5))
    w = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    y = X @ w + 0.1 * rng.standard_normal(4000)
    y[rng.random(4000) < 0.1] += 100.0
    off = {
        loss: np.abs(as_published(ODCARegressor, loss=loss, rho=0.01).fit(X, y).intercept_[0])
        for loss in ("squared", "absolute", "huber")
    }
    assert off["squared"] > 5
    assert off["absolute"] < 0.3
    assert off["huber"] < 0.3
    for loss in ("absolute", "huber"):
        scaled = ODCARegressor(loss=loss, rho=0.01, normalize="none").fit(1000 * X, 1e4 + 1000 * y)
        assert abs(scaled.intercept_[0] - 1e4) < 1000 * off["squared"] / 4


def test_windows_follow_a_relation_that_changes() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((4000, 5))
    before, after = rng.standard_normal(5), rng.standard_normal(5)
    y = np.concatenate([X[:3000] @ before, X[3000:] @ after])
    for window in ({"window": "exponential", "half_life": 100}, {"window": "sliding", "length": 200}):
        forgetful = ODCARegressor(rho=0.5, **window, normalize="none").fit(X, y)
        assert forgetful.score(X, X @ after) > 0.8
    assert ODCARegressor(rho=0.5, normalize="none").fit(X, y).score(X, X @ after) < 0.5


# -- streams --------------------------------------------------------------------------------------------------


@every_shape
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_how_the_stream_is_cut_does_not_matter(settings: dict[str, Any], dtype: str) -> None:
    X, y = stream()
    weight = np.random.default_rng(7).choice([0, 0.5, 1, 2.0], len(y))
    for rows in (X, sparse.csr_matrix(X)):
        whole = ODCARegressor(dtype=dtype, **settings, normalize="none").fit(rows, y, weight)
        for cuts in ([0, 50, 120], [0, 1, 2, 7, 60, 61, 119, 120], list(range(121))):
            parts = ODCARegressor(dtype=dtype, **settings, normalize="none")
            for start, stop in pairwise(cuts):
                parts.partial_fit(rows[start:stop], y[start:stop], weight[start:stop])
            assert everything(parts) == everything(whole)


@every_shape
def test_columns_that_come_later_were_zero_before(settings: dict[str, Any]) -> None:
    if settings.get("regularizer") == "kl":
        with pytest.raises(ValueError, match=r"cannot grow\. Got growing=True"):
            ODCARegressor(growing=True, **settings, normalize="none").partial_fit([[1.0]], [1.0])
        return
    X, y = stream()
    X[:60, 5:] = 0
    wide = ODCARegressor(**settings, normalize="none").partial_fit(X, y)
    grown = (
        ODCARegressor(growing=True, **settings, normalize="none")
        .partial_fit(X[:60, :5], y[:60])
        .partial_fit(X[60:], y[60:])
    )
    assert everything(grown) == everything(wide)
    np.testing.assert_array_equal(grown.predict(np.column_stack([X, np.ones(120)])), wide.predict(X))
    np.testing.assert_allclose(grown.predict(X[:60, :5]), wide.predict(X[:60]), rtol=1e-12)
    with pytest.raises(ValueError, match="9 features"):
        wide.partial_fit(X[:, :3], y)


@every_shape
def test_one_by_one_is_the_batch(settings: dict[str, Any]) -> None:
    X, y = stream()
    rows = sparse.csr_matrix(X)
    weight = np.random.default_rng(7).choice([0, 0.5, 1, 2.0], len(y))
    batch = ODCARegressor(**settings, normalize="none").partial_fit(rows, y, weight)
    one = ODCARegressor(**settings, normalize="none").partial_fit(rows[:1], y[:1], weight[:1])
    for i in range(1, len(y)):
        one.learn_one((rows[i].indices, rows[i].data), y[i], weight[i])
    assert everything(one) == everything(batch)
    assert [one.predict_one((rows[i].indices, rows[i].data)) for i in range(20)] == batch.predict(rows[:20]).tolist()


def test_names_are_hashed_as_featurehasher_does_it() -> None:
    X, y = stream(40)
    named = [{f"column{j}": v for j, v in enumerate(row) if v} | {"town": "Bath"} for row in X]
    batch = ODCARegressor(normalize="none").fit(FeatureHasher(n_features=1 << 10).transform(named), y)
    one = ODCARegressor(bits=10, normalize="none")
    assert one.predict_one(named[0]) is None
    for x, target in zip(named, y, strict=True):
        one.learn_one(x, target)
    np.testing.assert_allclose(one.coef_, batch.coef_, atol=1e-12)
    assert one.predict_one(named[3]) == pytest.approx(batch.predict(FeatureHasher(1 << 10).transform(named[3:4]))[0])
    grown = (
        ODCARegressor(normalize="none").learn_one({2: 1.0}, 3).learn_one({7: 1.0}, np.float32(4)).learn_one({}, True)
    )
    assert (grown.n_features_in_, grown.n_seen_) == (8, 3)
    fixed = ODCARegressor(regularizer="kl", columns=3, normalize="none").learn_one({0: 1.0}, 0.5)
    assert fixed.n_features_in_ == 3
    with pytest.raises(ValueError, match=r"set growing=True to add columns|which cannot change"):
        fixed.learn_one({5: 1.0}, 0.5)


def test_pickles_copies_and_clones() -> None:
    X, y = stream()
    for settings in SHAPES:
        model = ODCARegressor(**settings, normalize="none").partial_fit(X[:60], y[:60])
        twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
        before = everything(model)
        model.partial_fit(X[60:], y[60:])
        for twin in twins:
            assert everything(twin) == before
            assert everything(twin.partial_fit(X[60:], y[60:])) == everything(model)
        fresh = clone(model)
        assert fresh.get_params() == model.get_params()
        assert not hasattr(fresh, "_state")


# -- scikit-learn ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sureline.LabelRunsWarning")  # some checks have sorted targets
@parametrize_with_checks(
    [
        ODCARegressor(),
        ODCARegressor(normalize="none"),
        ODCARegressor(loss="huber", dtype="float32", fit_intercept=False, normalize="none"),
        ODCARegressor(loss="absolute", window="exponential", half_life=100, normalize="none"),
        ODCARegressor(regularizer="elastic_net", window="sliding", length=500, normalize="none"),
        ODCARegressor(regularizer="kl", normalize="none"),
        ODCARegressor(smoothing=0.9, passes=3, shuffle=True, random_state=0, normalize="none"),
    ],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": REPETITION,
    },
)
def test_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


def test_attributes() -> None:
    X, y = stream()
    model = ODCARegressor(rho=0.01, regularizer="elastic_net", delta=5.0, normalize="none")
    for attribute in ("coef_", "intercept_", "progressive_loss_", "n_seen_", "nonzero_"):
        with pytest.raises(AttributeError, match=f"no {attribute} before fit"):
            getattr(model, attribute)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y)
    assert is_regressor(model)
    assert model.coef_.shape == (9,)
    assert model.intercept_.shape == (1,)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-12)
    assert model.score(X, y) == pytest.approx(1 - ((y - model.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert 0 < model.nonzero_ == np.count_nonzero(model.coef_) < 9
    assert model.sparsity_ == 1 - model.nonzero_ / 9
    np.testing.assert_array_equal(model.sparse_coef_.toarray(), [model.coef_])
    for missing in ("classes_", "n_mistakes_", "progressive_", "multi_class", "predict_proba", "decision_function"):
        assert not hasattr(model, missing)
    with pytest.raises(TypeError, match="multi_class"):
        ODCARegressor(multi_class="ovr", normalize="none")
    search = GridSearchCV(ODCARegressor(normalize="none"), {"rho": [1e-4, 10.0]}).fit(X, X @ np.arange(9.0))
    assert search.best_params_ == {"rho": 1e-4}


def test_every_parameter_and_attribute_is_documented() -> None:
    text = ODCARegressor.__doc__ or ""
    for name in [
        *ODCARegressor(normalize="none").get_params(),
        "coef_",
        "intercept_",
        "progressive_loss_",
        "n_seen_",
        "n_updates_",
    ]:
        assert f"    {name} : " in text
    assert "{" not in text.replace('{"', "")
    assert "classes_" not in text


def test_data_frames() -> None:
    X, y = stream(50, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ODCARegressor(normalize="none").fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.coef_, ODCARegressor(normalize="none").fit(X, y).coef_)
    np.testing.assert_array_equal(
        model.coef_, ODCARegressor(normalize="none").fit(frame, pd.Series(y, dtype="Float64")).coef_
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))


# -- what is refused ------------------------------------------------------------------------------------------

X_GOOD, Y_GOOD = stream(30)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(np.arange(30) == 4, np.nan, Y_GOOD), r"^y must be finite numbers\. Got nan in row 4 instead\.$"),
        (np.where(np.arange(30) == 9, -np.inf, Y_GOOD), r"^y must be finite numbers\. Got -inf in row 9 instead\.$"),
        (np.array(["ham"] * 30), r"^y must be finite numbers\. Got 'ham' in row 0 instead\.$"),
        (np.array([1.0] * 29 + ["ham"], object), r"^y must be finite numbers\. Got 'ham' in row 29 instead\.$"),
        (np.array([1.0] * 29 + [None], object), r"^y must be finite numbers\. Got None in row 29 instead\.$"),
        (np.array([1] * 29 + [10**400], object), r"^y must be finite numbers\. Got 10{400} in row 29 instead\.$"),
        (Y_GOOD + 1j, r"^Complex data not supported: y must be real numbers\.$"),
        (Y_GOOD[:29], r"inconsistent numbers of samples: \[30, 29\]"),
        (np.column_stack([Y_GOOD, Y_GOOD]), r"^y should be a 1d array, got an array of shape \(30, 2\) instead\.$"),
        (None, r"requires y to be passed"),
    ],
)
@every_shape
def test_bad_targets_leave_the_model_as_it_was(settings: dict[str, Any], y: Any, message: str) -> None:
    model = ODCARegressor(**settings, normalize="none").fit(X_GOOD, Y_GOOD)
    before = everything(model)
    for learn in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match=message):
            learn(X_GOOD, y)
        assert everything(model) == before


def test_a_column_of_targets_is_taken_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = ODCARegressor(normalize="none").fit(X_GOOD, Y_GOOD[:, np.newaxis])
    np.testing.assert_array_equal(model.coef_, ODCARegressor(normalize="none").fit(X_GOOD, Y_GOOD).coef_)


@pytest.mark.filterwarnings("ignore::sureline.LabelRunsWarning")  # a row of 200 equal targets
@every_shape
def test_bad_rows_leave_the_model_as_it_was(settings: dict[str, Any]) -> None:
    wide = sparse.random(200, 4000, 0.01, "csr", random_state=0)  # so that a journal is kept, not a copy
    for X, y in ((X_GOOD, Y_GOOD), (wide, np.arange(200.0))):
        model = ODCARegressor(**settings, normalize="none").fit(X, y)
        before = everything(model)
        for value, message in ((np.nan, "NaN in row 2"), (np.inf, "infinity in row 2"), (1e300, "ow 2 ")):
            if value == 1e300 and settings.get("loss", "squared") != "squared":
                continue  # its loss is one that a float holds, and the best step 0
            bad = X[:5].copy()
            if sparse.issparse(bad):
                bad.data[bad.indptr[2]] = value
            else:
                bad[2, 1] = value
            with pytest.raises(ValueError, match=message):
                model.partial_fit(bad, y[:5])
            assert everything(model) == before
        for weight in (-1.0, np.nan):
            with pytest.raises(ValueError, match="sample_weight must be finite and not negative"):
                model.partial_fit(X, y, np.full(len(y), weight))
        assert everything(model) == before


@every_shape
def test_a_loss_that_no_double_holds_is_refused(settings: dict[str, Any]) -> None:
    """Otherwise the summed loss would stay infinite, and no file could hold it."""
    model = ODCARegressor(**settings, normalize="none").fit(X_GOOD, Y_GOOD)
    before = everything(model)
    y = np.where(np.arange(30) == 7, 1.7e308, Y_GOOD)
    y[8] = -1.7e308
    with pytest.raises(ValueError, match=r"a prediction or a loss beyond float64|targets are too large"):
        model.partial_fit(X_GOOD, y)
    assert everything(model) == before
    one = ODCARegressor(**settings, normalize="none").partial_fit(X_GOOD[:1], Y_GOOD[:1])
    with pytest.raises(ValueError, match=r"a score or a step that the model cannot hold|targets are too large"):
        one.learn_one({0: 1.0}, 1.7e308).learn_one({0: 1.0}, -1.7e308)
    assert np.isfinite(one.progressive_loss_)


@pytest.mark.parametrize("damage", CORRUPT)
def test_corrupt_matrices(damage: Any) -> None:
    model = ODCARegressor(normalize="none").fit(X_GOOD, Y_GOOD)
    with pytest.raises(ValueError, match="X"):
        model.partial_fit(corrupt(damage), Y_GOOD)
    with pytest.raises(ValueError, match="X"):
        model.predict(corrupt(damage))


@pytest.mark.parametrize("y", [float("nan"), float("inf"), "3.5", None, [1.0], 10**400, 1j])
def test_targets_of_single_examples(y: Any) -> None:
    model = ODCARegressor(normalize="none").learn_one({1: 1.0}, 2.0)
    before = everything(model)
    with pytest.raises(ValueError, match=r"y must be a finite number\. Got"):
        model.learn_one({1: 1.0}, y)
    assert everything(model) == before
    fresh = ODCARegressor(normalize="none")
    with pytest.raises(ValueError, match=r"y must be a finite number\. Got"):
        fresh.learn_one({1: 1.0}, y)
    assert fresh.predict_one({1: 1.0}) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"loss": "hinge"},
            r"'loss' parameter of ODCARegressor must be a str among \{'squared', 'absolute', 'huber'\}",
        ),
        ({"rho": 0}, "'rho' parameter of ODCARegressor must be a float in the range"),
        ({"epsilon": 1.0}, "'epsilon' parameter of ODCARegressor goes with loss='huber'"),
        ({"beta": 0.9, "half_life": 3, "window": "exponential"}, "ODCARegressor takes beta or half_life, not both"),
    ],
)
def test_bad_parameters(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ODCARegressor(**settings, normalize="none").fit(X_GOOD, Y_GOOD)
    model = ODCARegressor(window="sliding", normalize="none").fit(X_GOOD, Y_GOOD)
    for changed in ({"window": "infinite"}, {"dtype": "float32"}, {"fit_intercept": False}, {"smoothing": 0.0}):
        name = next(iter(changed))
        with pytest.raises(ValueError, match=f"{name!r} parameter of ODCARegressor cannot change"):
            clone(model).set_params(window="sliding").partial_fit(X_GOOD, Y_GOOD).set_params(**changed).partial_fit(
                X_GOOD, Y_GOOD
            )


@pytest.mark.parametrize("settings", [{}, {"smoothing": 0.0}, {"loss": "huber"}, {"window": "exponential"}], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_fit_centres_dense_columns(settings: dict[str, Any], dtype: str) -> None:
    """Columns may lie anywhere: predictions are those of centred ones, and training goes on from them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[:, 3] = 0  # a constant
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * rng.normal(size=400)
    weight = rng.choice([0, 0.5, 2], 400)
    centred = X - np.average(X, axis=0, weights=weight)
    far = X * [1, 1, 10, 1] + [5, -50, 300, 7]
    close = 1e-3 if dtype == "float32" else 1e-9
    for given in (far, pd.DataFrame(far), np.asfortranarray(far)):
        model = ODCARegressor(shuffle=False, dtype=dtype, **settings).fit(given, y, weight)
        plain = ODCARegressor(shuffle=False, dtype=dtype, **settings).fit(centred, y, weight)
        np.testing.assert_allclose(model.predict(given), plain.predict(centred), atol=close)
        np.testing.assert_allclose(far @ model.coef_ + model.intercept_, model.predict(given), atol=10 * close)
        assert model.score(given, y) > 0.95
        np.testing.assert_allclose(model.scale_, np.abs(far[weight > 0]).mean(axis=0), rtol=1e-5)
        stream = ODCARegressor(dtype=dtype, **settings).partial_fit(given, y).partial_fit(given, y)
        assert model.partial_fit(given, y).score(given, y) > stream.score(given, y) - 0.01
    assert ODCARegressor(regularizer="elastic_net", **settings).fit(X, y).score(X, y) > 0.8


def test_columns_too_large_for_a_mean_are_left_as_they_are() -> None:
    X = np.array([[1.5e308], [1.6e308], [1.7e308]])
    model = ODCARegressor(shuffle=False).fit(X, [0.0, 1.0, 2.0])
    assert np.isfinite(model.predict(X)).all()
