"""SDCA: its steps, its optimum, its duality gap, and its handling of any input."""

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_bad_input import CORRUPT, corrupt, other_formats
from test_sparse_dca import problem

from sureline import L1SVM, SDCA, SparseDCA, reference
from sureline._native import _core
from sureline.models.rows import as_rows, squared_norms

LOSSES = ["hinge", "squared_hinge", "log", "squared", "absolute", "huber"]
REGULARIZERS = ["l2", "elastic_net", "kl"]
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_regularizer = pytest.mark.parametrize("regularizer", REGULARIZERS)


def settings(loss: str, regularizer: str, rho: float = 0.05) -> dict:
    chosen = {"rho": rho, "loss": loss, "regularizer": regularizer}
    if regularizer == "elastic_net":
        chosen["delta"] = 0.2
    if loss == "huber":
        chosen["epsilon"] = 0.7
    return chosen


# -- the steps ------------------------------------------------------------------------------------------------


@every_loss
@every_regularizer
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("layout", ["dense", "csr", "csr64", "dense32", "csr32"])
def test_steps_are_those_of_the_reference(loss: str, regularizer: str, fit_intercept: bool, layout: str) -> None:
    X, y = problem(30, 6)
    if layout.endswith("32"):
        X = X.astype(np.float32)
    weight = np.random.default_rng(1).choice([0, 0.5, 1, 2], len(y))
    rows = sparse.csr_matrix(X) if layout.startswith("csr") else X
    if layout == "csr64":
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    chosen = settings(loss, regularizer) | {"fit_intercept": fit_intercept}
    model = SDCA(**chosen, shuffle=False, epochs=3, normalize="none").fit(rows, y, weight)
    expected = reference.SDCA(**chosen).run(X.astype(np.float64), y, [range(len(y))] * 3, weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-11)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-11)
    np.testing.assert_allclose(model.dual_gaps_, expected.dual_gaps_, atol=1e-12)
    assert model.n_iter_ == 3
    assert model.dual_gap_ == model.dual_gaps_[-1] > 1e-9  # not at the optimum, where any way is the same
    assert np.abs(model.coef_).max() > 0.1


def test_a_random_order_is_that_of_the_seed() -> None:
    X, y = problem()
    weight = (np.arange(len(y)) % 4 > 0).astype(float)
    model = SDCA(0.02, 3, random_state=5, normalize="none").fit(X, y, weight)
    rng, here = np.random.RandomState(5), np.flatnonzero(weight)
    expected = reference.SDCA(0.02).run(X, y, [rng.permutation(here) for _ in range(3)], weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-12)


# -- the optimum ----------------------------------------------------------------------------------------------


@every_loss
@every_regularizer
def test_the_gap_is_never_negative_and_goes_to_zero(loss: str, regularizer: str) -> None:
    """It bounds the distance from the least objective, which is measured in the reference."""
    X, y = problem(80, 6, seed=2)
    chosen = settings(loss, regularizer, 0.1)
    model = SDCA(**chosen, epochs=2000, tol=1e-9, random_state=0, normalize="none").fit(X, y)
    assert (model.dual_gaps_ >= 0).all()
    assert model.dual_gap_ <= 1e-9
    assert model.dual_gap_ < 1e-6 * model.dual_gaps_[0]
    least = objective(model, X, y, chosen)
    for epochs in (1, 3, 5):
        early = SDCA(**chosen, epochs=epochs, random_state=0, normalize="none").fit(X, y)
        assert -1e-9 <= objective(early, X, y, chosen) - least <= early.dual_gap_ + 1e-12
        np.testing.assert_array_equal(early.dual_gaps_, model.dual_gaps_[:epochs])


def objective(model: SDCA, X, y, chosen: dict) -> float:
    oracle = reference.SDCA(**chosen)
    w = np.append(model.intercept_, model.coef_)
    scores, signs = X @ w[1:] + w[0], np.where(y == 1, 1.0, -1.0)
    losses = [oracle.loss.Q(z, sign) for z, sign in zip(scores, signs, strict=True)]
    return float(np.mean(losses)) + chosen["rho"] * oracle.regularizer.R(w[np.newaxis])


def solved(X, y, sample_weight=None, **parameters) -> SDCA:
    return SDCA(**{"epochs": 20_000, "tol": 1e-13, "random_state": 0, **parameters}, normalize="none").fit(
        X, y, sample_weight
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_support_vector_machines_are_those_of_liblinear(loss: str, fit_intercept: bool) -> None:
    """LIBLINEAR too has an intercept that is the weight of an always-1 feature."""
    X, y = problem(120, 6, seed=3)
    rho = 0.05
    model = solved(X, y, rho=rho, loss=loss, fit_intercept=fit_intercept)
    svm = LinearSVC(
        C=1 / (rho * len(y)),
        loss=loss,
        dual=True,
        fit_intercept=fit_intercept,
        tol=1e-10,
        max_iter=1_000_000,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, svm.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, svm.intercept_, atol=1e-4)


def test_logistic_regression() -> None:
    X, y = problem(120, 6, seed=3)
    with_ones = np.column_stack([np.ones(len(y)), X])
    expected = LogisticRegression(C=1 / (0.02 * len(y)), fit_intercept=False, tol=1e-10, max_iter=10_000)
    model = solved(X, y, rho=0.02, loss="log")
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), expected.fit(with_ones, y).coef_[0], atol=1e-5)


def test_ridge_and_elastic_net() -> None:
    X, y = problem(120, 6, seed=3)
    rho, delta, signs = 0.05, 0.6, 2.0 * y - 1
    ridge = Ridge(alpha=rho * len(y), fit_intercept=False).fit(X, signs)
    model = solved(X, y, rho=rho, loss="squared", fit_intercept=False)
    np.testing.assert_allclose(model.coef_[0], ridge.coef_, atol=1e-6)
    net = ElasticNet(alpha=rho * (1 + delta), l1_ratio=delta / (1 + delta), fit_intercept=False, tol=1e-12)
    model = solved(X, y, rho=rho, loss="squared", regularizer="elastic_net", delta=delta, fit_intercept=False)
    np.testing.assert_allclose(model.coef_[0], net.fit(X, signs).coef_, atol=1e-6)
    assert 0 < (model.coef_ == 0).sum() < 6


def test_on_the_simplex() -> None:
    X, y = problem(80, 4, seed=4)
    rho, signs = 0.1, 2.0 * y - 1
    model = solved(X, y, rho=rho, loss="log", regularizer="kl", fit_intercept=False)
    assert model.coef_.sum() == pytest.approx(1, abs=1e-12)
    found = minimize(
        lambda w: np.logaddexp(0, -signs * (X @ w)).mean() + rho * (w @ np.log(np.maximum(w, 1e-300))),
        np.full(4, 0.25),
        bounds=[(1e-12, 1)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    np.testing.assert_allclose(model.coef_[0], found.x, atol=1e-4)


@every_regularizer
def test_a_weight_is_as_many_rows(regularizer: str) -> None:
    X, y = problem(80, 6, seed=6)
    weight = np.random.default_rng(6).integers(0, 4, len(y))
    chosen = settings("log", regularizer)
    weighted = solved(X, y, weight, **chosen)
    repeated = solved(np.repeat(X, weight, axis=0), np.repeat(y, weight), **chosen)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-5)


def test_a_row_of_weight_zero_is_not_there() -> None:
    X, y = problem()
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    here = weight > 0
    one, other = (
        SDCA(0.01, random_state=0, normalize="none").fit(*data) for data in ((X, y, weight), (X[here], y[here]))
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.dual_gaps_, other.dual_gaps_)


# -- more than two classes, and the interface -----------------------------------------------------------------


def test_more_classes_are_each_against_the_rest() -> None:
    X, _ = problem(150, 8, seed=7)
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]
    model = SDCA(0.03, 7, "log", "elastic_net", delta=0.1, random_state=0, normalize="none").fit(X, y)
    assert model.coef_.shape == (3, 8)
    gaps = []
    for k, label in enumerate(model.classes_):
        alone = SDCA(0.03, 7, "log", "elastic_net", delta=0.1, random_state=0, normalize="none").fit(
            X, (y == label).astype(int)
        )
        np.testing.assert_array_equal(model.coef_[k], alone.coef_[0])
        gaps.append(alone.dual_gaps_)
    np.testing.assert_array_equal(model.dual_gaps_, np.max(gaps, axis=0))
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])


def test_attributes_and_answers() -> None:
    X, y = problem()
    model = SDCA(0.05, regularizer="elastic_net", delta=0.5, random_state=0, normalize="none")
    for attribute in ("coef_", "sparse_coef_"):
        with pytest.raises(AttributeError, match=f"This SDCA has no {attribute} before fit"):
            getattr(model, attribute)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model.fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdefgh")
    assert 0 < model.sparse_coef_.nnz < 8
    np.testing.assert_array_equal(model.sparse_coef_.toarray(), model.coef_)
    np.testing.assert_allclose(model.decision_function(frame), X @ model.coef_[0] + model.intercept_[0], atol=1e-12)
    np.testing.assert_array_equal(model.predict(frame), (model.decision_function(frame) > 0).astype(int))
    assert SDCA(regularizer="elastic_net", normalize="none").fit(X, y).dual_gaps_.shape == (5,)


def test_defaults_that_are_none() -> None:
    X, y = problem()
    for given, none in (
        ({"regularizer": "elastic_net", "delta": 0.001}, {"regularizer": "elastic_net"}),
        ({"loss": "huber", "epsilon": 1.0}, {"loss": "huber"}),
        ({"loss": "squared"}, {"loss": "huber", "epsilon": 1e6}),
    ):
        one, other = (SDCA(0.05, **chosen, random_state=0, normalize="none").fit(X, y) for chosen in (given, none))
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-12)


def test_tol_stops_early_and_says_if_it_was_not_reached() -> None:
    X, y = problem()
    model = SDCA(0.05, 1000, tol=1e-3, random_state=0, normalize="none").fit(X, y)
    assert model.n_iter_ < 100
    assert model.dual_gaps_[-1] <= 1e-3 < model.dual_gaps_[-2]
    with pytest.warns(ConvergenceWarning, match="stopped after 2 epochs with a duality gap of .* above tol=1e-09"):
        SDCA(0.05, 2, tol=1e-9, normalize="none").fit(X, y)


def test_hundreds_of_millions_of_columns() -> None:
    """Memory and time follow the data: only columns that occur are touched."""
    rng = np.random.default_rng(0)
    width = 2**28
    columns = np.unique(np.append(rng.integers(0, width, 500), width - 1))
    dense = rng.standard_normal((300, len(columns))) * (rng.random((300, len(columns))) < 0.1)
    narrow = sparse.csr_matrix(dense)
    X = sparse.csr_matrix((narrow.data, columns[narrow.indices], narrow.indptr), shape=(300, width))
    y = (dense[:, 0] + dense[:, -1] + 0.1 * rng.standard_normal(300) > 0).astype(int)
    begin = time.process_time()
    for chosen in (settings("log", "l2"), settings("hinge", "elastic_net")):
        model, same = (SDCA(**chosen, random_state=0, normalize="none").fit(rows, y) for rows in (X, narrow))
        np.testing.assert_array_equal(model.decision_function(X), same.decision_function(narrow))
        assert model.sparse_coef_.shape == (1, width)
        assert width - 1 in model.sparse_coef_.indices
    assert time.process_time() - begin < 30


EPOCHS = "After a fixed number of epochs both fits are near the same optimum, and not within 1e-7 of each other."
FEW = (
    "The check wants the class of weight 1000 as the answer almost everywhere. Its values are around 20, so that the "
    "intercept, whose value is 1, takes more than 20 epochs to get there: 2,000 do."
)
NO_INTERCEPT = "Without intercept the boundary goes through the middle of the noise, whatever a class is worth."


def expected_failures(estimator) -> dict[str, str]:
    failures = {
        "check_sample_weight_equivalence_on_dense_data": EPOCHS,
        "check_sample_weight_equivalence_on_sparse_data": EPOCHS,
    }
    if not estimator.fit_intercept:
        failures["check_class_weight_classifiers"] = NO_INTERCEPT
    elif estimator.loss == "log" and estimator.normalize == "none":
        failures["check_class_weight_classifiers"] = FEW
    return failures


@parametrize_with_checks(
    [
        SDCA(),
        SDCA(rho=0.01, epochs=20, random_state=0, normalize="none"),
        SDCA(rho=0.01, epochs=20, loss="log", regularizer="elastic_net", shuffle=False, normalize="none"),
        SDCA(rho=0.1, epochs=20, loss="huber", fit_intercept=False, random_state=0, normalize="none"),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=False,
)
def test_estimator(estimator, check) -> None:
    check(estimator)


# -- what is refused, and interrupted -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CORRUPT)
@every_regularizer
def test_corrupt_csr_is_refused(kind: str, regularizer: str) -> None:
    X, y = problem(20, 12)
    model = SDCA(regularizer=regularizer, random_state=0, normalize="none").fit(X, y)
    before = model.coef_
    for call in (lambda: model.fit(corrupt(kind), y), lambda: model.predict(corrupt(kind))):
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            call()
    np.testing.assert_array_equal(model.coef_, before)


def test_corrupt_matrices_of_other_formats_are_refused() -> None:
    y = problem(20, 12)[1]
    for X in other_formats():
        with pytest.raises(ValueError, match=f"not a valid {X.format.upper()} matrix"):
            SDCA(normalize="none").fit(X, y)


def test_columns_in_any_order() -> None:
    X, y = problem()
    tidy = sparse.csr_matrix(X)
    messy = tidy.copy()
    for row in range(len(y)):
        part = slice(messy.indptr[row], messy.indptr[row + 1])
        messy.indices[part], messy.data[part] = messy.indices[part][::-1].copy(), messy.data[part][::-1].copy()
    model, again = (
        SDCA(0.01, regularizer="kl", random_state=0, normalize="none").fit(rows, y) for rows in (tidy, messy)
    )
    np.testing.assert_array_equal(model.coef_, again.coef_)
    np.testing.assert_array_equal(model.predict(messy), model.predict(tidy))


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "contains NaN in row 5, column 2"), (np.inf, "infinity in row 5, column 2"), (1e200, "Row 5 of X has a")],
)
@pytest.mark.parametrize("layout", [np.array, sparse.csr_matrix])
@every_regularizer
def test_values_that_are_not_finite(value: float, message: str, layout, regularizer: str) -> None:
    X, y = problem()
    model = SDCA(regularizer=regularizer, random_state=0, normalize="none").fit(layout(X), y)
    before = model.__dict__.copy()
    X[5, 2] = value
    with pytest.raises(ValueError, match=message):
        model.fit(layout(X), y)
    assert model.__dict__ == before


@every_loss
@every_regularizer
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e140])
def test_rows_of_any_scale(scale: float, loss: str, regularizer: str) -> None:
    """Nothing but finite weights, or a refusal that says what to do."""
    X, y = problem(30, 5)
    model = SDCA(**settings(loss, regularizer), random_state=0, normalize="none")
    try:
        model.fit(X * scale, y)
    except ValueError as error:
        assert "scale X so that its values are of the order of 1" in str(error)
        return
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.dual_gaps_).all()
    assert (model.dual_gaps_ >= 0).all()


@every_loss
@every_regularizer
def test_rows_of_zeros(loss: str, regularizer: str) -> None:
    X, y = problem(30, 5)
    model = SDCA(**settings(loss, regularizer), fit_intercept=False, random_state=0, normalize="none").fit(
        np.zeros_like(X), y
    )
    assert (model.coef_ == (0.2 if regularizer == "kl" else 0.0)).all()
    assert model.intercept_[0] == 0
    assert model.dual_gap_ == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rho": 0.0}, "The 'rho' parameter of SDCA must be a float in the range \\(0, inf\\). Got 0.0"),
        ({"epochs": 0}, "The 'epochs' parameter of SDCA must be an int in the range \\[1, 1e\\+09\\]. Got 0"),
        ({"loss": "log_loss"}, "The 'loss' parameter of SDCA must be a str among {'hinge', 'squared_hinge', 'log'"),
        ({"regularizer": "l1"}, "The 'regularizer' parameter of SDCA must be a str among {'l2', 'elastic_net', 'kl'}"),
        ({"regularizer": "elastic_net", "delta": -1}, "The 'delta' parameter of SDCA must be a float in the range"),
        ({"delta": 0.1}, "The 'delta' parameter of SDCA goes with regularizer='elastic_net'. Got delta=0.1 with reg"),
        (
            {"loss": "huber", "epsilon": 0.0},
            "The 'epsilon' parameter of SDCA must be a float in the range",
        ),
        (
            {"epsilon": 1.0},
            "The 'epsilon' parameter of SDCA goes with loss='huber'. Got epsilon=1.0 with loss='hinge'",
        ),
        ({"tol": -1e-3}, "The 'tol' parameter of SDCA must be a float in the range \\[0, inf\\)"),
        ({"shuffle": 1}, "The 'shuffle' parameter of SDCA must be a bool"),
        ({"fit_intercept": "yes"}, "The 'fit_intercept' parameter of SDCA must be a bool"),
    ],
)
def test_parameters_that_cannot_be(parameters, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SDCA(**parameters, normalize="none").fit(*problem())


def test_labels_and_weights_that_cannot_be() -> None:
    X, y = problem()
    for labels, weight, message in (
        (np.ones(len(y)), None, "SDCA needs examples of at least 2 classes, with a positive weight"),
        (y, np.zeros(len(y)), "sample_weight is zero for every row"),
        (y, -np.ones(len(y)), "sample_weight must be finite and not negative. Got -1.0 for row 0"),
        (y[:-1], None, "inconsistent numbers of samples"),
        (X[:, 0], None, "Unknown label type: continuous"),
    ):
        with pytest.raises(ValueError, match=message):
            SDCA(normalize="none").fit(X, labels, weight)


def test_it_can_be_interrupted() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 100)), rng.integers(0, 2, 2000)
    model = SDCA(0.01, random_state=0, normalize="none").fit(X[:100], y[:100])
    before = model.__dict__.copy()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        model.set_params(rho=1e-9, epochs=10**8).fit(X, y)
    assert time.process_time() - begin < 10
    assert {name: model.__dict__[name] for name in before if name.endswith("_")} == {
        name: value for name, value in before.items() if name.endswith("_")
    }


# -- the core -------------------------------------------------------------------------------------------------


def exact(loss: str = "hinge", rho: float = 0.1, regularizer: str = "l2", **more) -> _core.SdcaObjective:
    kinds = {"loss": _core.Loss[loss], "regularizer": _core.Regularizer[regularizer]}
    return _core.SdcaObjective(rho=rho, **kinds, **more)


def bound(loss: str = "hinge", rho: float = 0.1, regularizer: str = "elastic_net", **more) -> _core.SdcaObjective:
    return exact(loss, rho, regularizer, step=_core.SdcaStep.bound, **more)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rho": 0.0}, "rho must be positive and finite"),
        ({"rho": np.inf}, "rho must be positive and finite"),
        ({"epsilon": 0.0}, "epsilon must be positive and finite"),
        ({"regularizer": "elastic_net", "threshold": -1.0}, "threshold must be finite and must not be negative"),
        ({"regularizer": "elastic_net", "threshold": np.nan}, "threshold must be finite and must not be negative"),
        ({"threshold": 1.0}, "threshold must be 0 but for the elastic net"),
        ({"loss": "log", "step": _core.SdcaStep.bound}, "With the bound the loss must be hinge or squared_hinge"),
        ({"regularizer": "kl", "step": _core.SdcaStep.bound}, "With the bound .* the regularizer l2 or elastic_net"),
    ],
)
def test_the_core_checks_its_parameters(parameters: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        exact(**parameters)


@pytest.mark.parametrize("settings", [exact(), bound()], ids=["exact", "bound"])
def test_the_core_checks_sizes_and_orders(settings: _core.SdcaObjective) -> None:
    X, y = problem()
    rows, labels, ones = as_rows(X, np.float64), y.astype(np.int32), np.ones(len(y))
    for bad, message in (
        ((rows, labels[:-1], 1, ones, ones), "labels must have 60 entries, not 59"),
        ((rows, labels, 1, ones[:-1], ones), "sample_weight must have"),
        ((rows, labels, 1, ones, ones[:-1]), "norms must have"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.Sdca(*bad, settings)
    with pytest.raises(TypeError):
        _core.Sdca("rows", labels, 1, ones, ones, settings)
    core = _core.Sdca(rows, labels, 1, ones, ones, settings)
    duals, v = np.zeros(len(y)), np.zeros(9)
    for call, message in (
        (lambda: core.ascend(duals[:-1], v, None), "duals must have 60 entries, not 59"),
        (lambda: core.ascend(duals, v[:-1], None), "v must have 9 entries, not 8"),
        (lambda: core.ascend(duals, v, np.array([0, 60])), "order names a row that is not there"),
        (lambda: core.gap(duals[1:], v), "duals must have"),
        (lambda: setattr(core, "threshold", -0.1), "threshold must be finite and must not be negative"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_model_that_is_not_finite_is_refused() -> None:
    X, y = problem()
    data = as_rows(X, np.float64), y.astype(np.int32), 1, np.ones(len(y)), np.ones(len(y))
    for settings in (*(exact(regularizer=regularizer) for regularizer in REGULARIZERS), bound()):
        with pytest.raises(_core.Refused) as refused:
            _core.Sdca(*data, settings).ascend(np.zeros(len(y)), np.full(9, np.inf), None)
        assert refused.value.reason is _core.Reason.score
    with pytest.raises(_core.Refused) as refused:
        _core.Sdca(*data, bound()).ascend(np.full(len(y), np.nan), np.zeros(9), None)
    assert refused.value.reason is _core.Reason.step


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("regularizer", "delta"), [("l2", 0.0), ("elastic_net", 0.4)])
def test_both_steps_lead_to_the_same_optimum(loss: str, regularizer: str, delta: float) -> None:
    X, y = problem()
    weight = np.random.default_rng(1).choice([0, 0.5, 1, 2], len(y))
    rows = as_rows(X, np.float64)
    data = rows, y.astype(np.int32), 1, weight, squared_norms(rows)
    rho, found = 0.05, []
    for settings, delta_of_step in (
        (exact(loss, rho, regularizer, threshold=delta), delta),
        (bound(loss, rho, regularizer, threshold=rho * delta), rho * delta),
    ):
        core, duals, v = _core.Sdca(*data, settings), np.zeros(len(y)), np.zeros(9)
        assert core.threshold == delta_of_step
        passes = 0
        while passes < 20_000 and (passes == 0 or core.gap(duals, v) > 1e-13):
            core.ascend(duals, v, None)
            passes += 1
        if settings.scale == 1:
            duals = weight * duals
        found.append((duals, v / settings.scale, core.gap(np.zeros(len(y)), np.zeros(9)), passes))
    (a, w, at_zero, exact_passes), (b, z, same, bound_passes) = found
    np.testing.assert_allclose(w, z, atol=1e-5)
    if loss == "squared_hinge":  # whose dual optimum is one point
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert at_zero == same == 1
    assert exact_passes <= bound_passes < 20_000
    if regularizer == "l2":  # where the bound is no bound but D itself
        assert abs(exact_passes - bound_passes) <= 1


@pytest.mark.parametrize("model", [SDCA(), SDCA(loss="log"), L1SVM(), SparseDCA()], ids=str)
def test_no_confidences_where_no_prediction_precedes_its_label(model: Any) -> None:
    X, y = problem()
    model.fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "confidence")
