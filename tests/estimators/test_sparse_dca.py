"""SparseDCA: its steps, its optimum, and its handling of any input."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from test_bad_input import CORRUPT, corrupt, other_formats

from sureline import SparseDCA, reference
from sureline._native import _core
from sureline.models.rows import as_rows

LOSSES = ["hinge", "squared_hinge"]


def problem(n: int = 60, d: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(0.5, 2, d)
    X[rng.random(X.shape) < 0.3] = 0
    X[3] = 0
    return X, (X[:, 0] - X[:, 1] + 0.4 + 0.5 * rng.standard_normal(n) > 0).astype(int)


def solved(X, y, sample_weight=None, **parameters) -> SparseDCA:
    settings = {"tol": 1e-12, "max_iter": 100_000, "random_state": 0, **parameters}
    return SparseDCA(**settings, normalize="none").fit(X, y, sample_weight)


# -- the steps ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("layout", ["dense", "csr", "csr64", "dense32", "csr32"])
def test_steps_are_those_of_the_reference(loss: str, fit_intercept: bool, layout: str) -> None:
    X, y = problem()
    if layout.endswith("32"):
        X = X.astype(np.float32)
    weight = np.random.default_rng(1).choice([0, 0.5, 1, 2], len(y))
    rows = sparse.csr_matrix(X) if layout.startswith("csr") else X
    if layout == "csr64":
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    model = SparseDCA(
        0.03, loss=loss, sigma=0.05, fit_intercept=fit_intercept, shuffle=False, max_iter=7, tol=1e-15, normalize="none"
    )
    model.fit(rows, y, weight)
    expected = reference.SparseDCA(0.03, loss, 0.05, fit_intercept).run(
        X.astype(np.float64), y, [range(len(y))] * 7, weight
    )
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-12)
    assert model.dual_gap_ == pytest.approx(expected.dual_gap, abs=1e-12)
    assert model.n_iter_ == 7
    assert 0 < np.count_nonzero(model.coef_) < 8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_random_order_is_that_of_the_seed() -> None:
    X, y = problem()
    model = SparseDCA(0.02, sigma=0.05, max_iter=3, tol=1e-15, random_state=5, normalize="none").fit(X, y)
    rng = np.random.RandomState(5)
    orders = [rng.permutation(len(y)) for _ in range(3)]
    expected = reference.SparseDCA(0.02, "hinge", 0.05).run(X, y, orders)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-12)


# -- the optimum ----------------------------------------------------------------------------------------------


def primal(X, y, w, b, lam, sigma, loss, s) -> float:
    xi = np.maximum(0, 1 - y * (X @ w + b))
    losses = xi**2 if loss == "squared_hinge" else xi
    return s @ losses / s.sum() + lam * np.abs(w).sum() + sigma / 2 * (w @ w + b * b)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_optimum_is_that_of_a_general_solver(loss: str, fit_intercept: bool) -> None:
    """The optimum by L-BFGS-B on the dual, which is smooth in a box."""
    X, y = problem()
    lam, sigma, s = 0.05, 0.1, np.random.default_rng(2).choice([0.5, 1, 3], len(y))
    sign = 2.0 * y - 1
    Z = sign[:, None] * np.column_stack([np.full(len(y), float(fit_intercept)), X])
    n = s.sum()

    def minus_dual(a):
        z = a @ Z / n
        cut = np.sign(z) * np.maximum(np.abs(z) - lam, 0)
        cut[0] = z[0]
        c, slope = (a**2 / (4 * s), a / (2 * s)) if loss == "squared_hinge" else (0 * a, 0 * a)
        return (cut @ cut) / (2 * sigma) - (a - c).sum() / n, (Z @ cut) / (sigma * n) - (1 - slope) / n

    bounds = [(0, None if loss == "squared_hinge" else weight) for weight in s]
    best = minimize(
        minus_dual, s / 2, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 20_000, "ftol": 0, "gtol": 0}
    )
    model = solved(X, y, s, lam=lam, sigma=sigma, loss=loss, fit_intercept=fit_intercept)
    value = primal(X, sign, model.coef_[0], model.intercept_[0], lam, sigma, loss, s)
    assert value == pytest.approx(-best.fun, abs=1e-8)
    assert model.dual_gap_ <= 1e-12


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_optimality_conditions(fit_intercept: bool) -> None:
    """0 is in the subdifferential of the objective at the weights, with the squared hinge."""
    X, y = problem(200, 12, seed=3)
    lam, sigma = 0.04, 0.02
    model = solved(X, y, lam=lam, sigma=sigma, loss="squared_hinge", fit_intercept=fit_intercept)
    w, b, sign = model.coef_[0], model.intercept_[0], 2.0 * y - 1
    xi = np.maximum(0, 1 - sign * (X @ w + b))
    gradient = -2 * (xi * sign) @ X / len(y) + sigma * w
    active = w != 0
    assert 0 < active.sum() < 12
    np.testing.assert_allclose(gradient[active], -lam * np.sign(w[active]), atol=1e-5)
    assert np.abs(gradient[~active]).max() <= lam + 1e-5
    if fit_intercept:
        assert -2 * (xi @ sign) / len(y) + sigma * b == pytest.approx(0, abs=1e-5)
    else:
        assert b == 0


def test_with_a_small_l2_penalty_it_is_the_l1_svm_of_liblinear() -> None:
    X, y = problem(150, 10, seed=4)
    lam = 0.05
    model = solved(X, y, lam=lam, sigma=1e-4, loss="squared_hinge", fit_intercept=False, tol=1e-9)
    svm = LinearSVC(
        penalty="l1", dual=False, C=1 / (lam * len(y)), fit_intercept=False, tol=1e-9, max_iter=100_000, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(model.coef_ != 0, svm.coef_ != 0)
    np.testing.assert_allclose(model.coef_, svm.coef_, atol=2e-3)


def test_the_gap_bounds_the_distance_from_the_optimum_and_falls() -> None:
    X, y = problem(100, 10, seed=5)
    settings = {"lam": 0.02, "sigma": 0.01, "random_state": 0}
    best = solved(X, y, **settings)
    least = primal(X, 2.0 * y - 1, best.coef_[0], best.intercept_[0], 0.02, 0.01, "hinge", np.ones(100))
    gaps = []
    for tol in (1e-1, 1e-2, 1e-4, 1e-6):
        model = SparseDCA(**settings, tol=tol, max_iter=100_000, normalize="none").fit(X, y)
        value = primal(X, 2.0 * y - 1, model.coef_[0], model.intercept_[0], 0.02, 0.01, "hinge", np.ones(100))
        assert -1e-12 <= value - least <= model.dual_gap_ + 1e-12
        assert model.dual_gap_ <= tol
        gaps.append(model.dual_gap_)
    assert gaps == sorted(gaps, reverse=True)


def test_the_intercept_has_no_l1_penalty() -> None:
    X, y = problem()
    y = (np.arange(len(y)) % 5 > 0).astype(int)
    model = solved(X, y, lam=1e3, sigma=0.01)
    assert model.get_support().sum() == 0
    assert model.intercept_[0] == pytest.approx(1, abs=1e-3)  # where the hinge of the larger class begins


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_is_as_many_rows(loss: str) -> None:
    X, y = problem(80, 6, seed=6)
    weight = np.random.default_rng(6).integers(0, 4, len(y))
    weighted = solved(X, y, weight, lam=0.02, sigma=0.1, loss=loss)
    repeated = solved(np.repeat(X, weight, axis=0), np.repeat(y, weight), lam=0.02, sigma=0.1, loss=loss)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-5)


def test_a_row_of_weight_zero_is_not_there() -> None:
    X, y = problem()
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    here = weight > 0
    one, other = (
        SparseDCA(0.01, random_state=0, normalize="none").fit(*data) for data in ((X, y, weight), (X[here], y[here]))
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.n_iter_ == other.n_iter_
    assert one.sigma_ == pytest.approx(other.sigma_)


# -- more than two classes, and the interface -----------------------------------------------------------------


def test_more_classes_are_each_against_the_rest() -> None:
    X, _ = problem(150, 8, seed=7)
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]
    model = solved(X, y, lam=0.03, sigma=0.05, loss="squared_hinge")
    assert model.coef_.shape == (3, 8)
    for k, label in enumerate(model.classes_):
        alone = solved(X, (y == label).astype(int), lam=0.03, sigma=0.05, loss="squared_hinge")
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-5)
    np.testing.assert_array_equal(model.get_support(), (model.coef_ != 0).any(axis=0))
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])


def test_attributes_and_answers() -> None:
    X, y = problem()
    model = SparseDCA(0.05, random_state=0, normalize="none")
    for attribute in ("coef_", "sparse_coef_"):
        with pytest.raises(AttributeError, match=f"This SparseDCA has no {attribute} before fit"):
            getattr(model, attribute)
    model.fit(X, y)
    assert sparse.issparse(model.sparse_coef_)
    np.testing.assert_array_equal(model.sparse_coef_.toarray(), model.coef_)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0], atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    columns = model.get_support(indices=True)
    np.testing.assert_array_equal(columns, np.flatnonzero(model.coef_[0]))
    for rows in (X, sparse.csr_matrix(X), sparse.csc_matrix(X)):
        kept = model.transform(rows)
        np.testing.assert_array_equal(kept.toarray() if sparse.issparse(kept) else kept, X[:, columns])
        back = model.inverse_transform(kept)
        back = back.toarray() if sparse.issparse(back) else back
        np.testing.assert_array_equal(back[:, columns], X[:, columns])
        assert not np.delete(back, columns, axis=1).any()
    assert model.lam_ == 0.05
    assert model.n_fits_ == 1
    assert model.sigma_ == pytest.approx((X**2).sum(axis=1).mean() * 0.1 / len(y))


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
    model = SparseDCA(0.01, random_state=0, normalize="none").fit(X, y)
    same = SparseDCA(0.01, random_state=0, normalize="none").fit(narrow, y)
    np.testing.assert_array_equal(model.get_support(indices=True), columns[same.get_support(indices=True)])
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(narrow))
    assert model.sparse_coef_.shape == (1, width)
    assert width - 1 in model.get_support(indices=True)
    assert time.process_time() - begin < 30


# -- what is refused, and interrupted -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CORRUPT)
def test_corrupt_csr_is_refused(kind: str) -> None:
    X, y = problem(20, 12)
    model = SparseDCA(0.01, random_state=0, normalize="none").fit(X, y)
    before = model.coef_
    for call in (
        lambda: model.fit(corrupt(kind), y),
        lambda: model.predict(corrupt(kind)),
        lambda: model.transform(corrupt(kind)),
        lambda: model.inverse_transform(corrupt(kind)),
        lambda: SparseDCA(n_features=2, normalize="none").fit(corrupt(kind), y),
    ):
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            call()
    np.testing.assert_array_equal(model.coef_, before)


def test_corrupt_matrices_of_other_formats_are_refused() -> None:
    y = problem(20, 12)[1]
    model = SparseDCA(0.01, random_state=0, normalize="none").fit(problem(20, 12)[0], y)
    for X in other_formats():
        for call in (lambda X: model.fit(X, y), model.predict, model.transform):
            with pytest.raises(ValueError, match=f"not a valid {X.format.upper()} matrix"):
                call(X)


def test_columns_in_any_order() -> None:
    X, y = problem()
    tidy = sparse.csr_matrix(X)
    messy = tidy.copy()
    for row in range(len(y)):
        part = slice(messy.indptr[row], messy.indptr[row + 1])
        messy.indices[part], messy.data[part] = messy.indices[part][::-1].copy(), messy.data[part][::-1].copy()
    model = SparseDCA(0.01, random_state=0, normalize="none").fit(tidy, y)
    again = SparseDCA(0.01, random_state=0, normalize="none").fit(messy, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    np.testing.assert_array_equal(model.predict(messy), model.predict(tidy))
    np.testing.assert_array_equal(model.transform(messy).toarray(), model.transform(tidy).toarray())


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "contains NaN in row 5, column 2"), (np.inf, "infinity in row 5, column 2"), (1e200, "Row 5 of X has a")],
)
@pytest.mark.parametrize("layout", [np.array, sparse.csr_matrix])
def test_values_that_are_not_finite(value: float, message: str, layout) -> None:
    X, y = problem()
    model = SparseDCA(0.01, random_state=0, normalize="none").fit(layout(X), y)
    before = model.coef_
    X[5, 2] = value
    with pytest.raises(ValueError, match=message):
        model.fit(layout(X), y)
    np.testing.assert_array_equal(model.coef_, before)
    if not np.isfinite(value):
        with pytest.raises(ValueError, match=message):
            model.predict(layout(X))


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_any_scale(scale: float, loss: str) -> None:
    """The weights scale with the rows, so the answers are the same; with no intercept, which does not scale."""
    X, y = problem()
    usual = SparseDCA(0.01, loss=loss, fit_intercept=False, random_state=0, normalize="none").fit(X, y)
    scaled = SparseDCA(0.01 * scale, loss=loss, fit_intercept=False, random_state=0, normalize="none").fit(X * scale, y)
    np.testing.assert_allclose(scaled.decision_function(X * scale), usual.decision_function(X), rtol=1e-9)


def test_rows_of_zeros_constant_and_repeated_columns() -> None:
    X, y = problem()
    zeros = SparseDCA(0.01, random_state=0, normalize="none").fit(np.zeros_like(X), y)
    assert zeros.get_support().sum() == 0
    assert np.isfinite(zeros.intercept_).all()
    ugly = np.column_stack([X, X[:, 0], np.ones(len(y)), np.full(len(y), -3.0)])
    model = SparseDCA(0.01, random_state=0, normalize="none").fit(ugly, y)
    assert model.coef_[0, 0] == pytest.approx(model.coef_[0, 8], abs=1e-9)  # the l2 penalty shares the weight
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam": 0.1, "n_features": 2}, "not both: the other one follows. Got lam=0.1 and n_features=2"),
        ({"lam": -1.0}, "The 'lam' parameter of SparseDCA must be a float in the range \\[0, inf\\) or None. Got -1.0"),
        ({"n_features": 0}, "The 'n_features' parameter of SparseDCA must be an int in the range \\[1, inf\\) or None"),
        ({"n_features": 9}, "'n_features' parameter of SparseDCA must be at most the number of columns of X, 8. Got 9"),
        ({"lam": 0.1, "sigma": 0.0}, "The 'sigma' parameter of SparseDCA must be a float in the range \\(0, inf\\)"),
        ({"lam": 0.1, "loss": "log"}, "The 'loss' parameter of SparseDCA must be a str among"),
        ({"lam": 0.1, "tol": 0}, "The 'tol' parameter of SparseDCA must be"),
        ({"lam": 0.1, "max_iter": 0}, "The 'max_iter' parameter of SparseDCA must be an int"),
        ({"lam": 0.1, "shuffle": "no"}, "The 'shuffle' parameter of SparseDCA must be a bool"),
    ],
)
def test_parameters_that_cannot_be(parameters, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparseDCA(**parameters, normalize="none").fit(*problem())


def test_labels_and_weights_that_cannot_be() -> None:
    X, y = problem()
    model = SparseDCA(0.01, normalize="none")
    for labels, weight, message in (
        (
            np.ones(len(y)),
            None,
            "needs examples of at least 2 classes, with a positive weight. Got one class, \\[1.0\\]",
        ),
        (y, (y == 1).astype(float), "Got one class, \\[1\\]"),
        (y, np.zeros(len(y)), "sample_weight is zero for every row"),
        (y, -np.ones(len(y)), "sample_weight must be finite and not negative. Got -1.0 for row 0"),
        (y[:-1], None, "inconsistent numbers of samples"),
        (X[:, 0], None, "Unknown label type: continuous"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, labels, weight)


def test_too_few_passes_are_warned_of() -> None:
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="stopped after 2 passes with a duality gap of .* above tol=1e-09"):
        model = SparseDCA(0.01, tol=1e-9, max_iter=2, normalize="none").fit(X, y)
    assert model.n_iter_ == 2
    assert model.dual_gap_ > 1e-9


def test_it_can_be_interrupted() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 100)), rng.integers(0, 2, 2000)
    model = SparseDCA(0.01, random_state=0, normalize="none").fit(X[:100], y[:100])
    before = model.coef_
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        model.set_params(tol=1e-15, sigma=1e-9, max_iter=10**8).fit(X, y)
    assert time.process_time() - begin < 10
    np.testing.assert_array_equal(model.coef_, before)


def test_the_core_checks_its_rows_and_weights() -> None:
    X, y = problem()
    rows, out = as_rows(X, np.float64), np.empty(len(y))
    with pytest.raises(ValueError, match="out must have 60 entries"):
        _core.squared_norms(rows, out[1:])
    with pytest.raises(ValueError, match="weights must have 9 entries"):
        _core.linear_scores(rows, np.zeros(8), out)
