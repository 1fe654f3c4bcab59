"""KernelSCW: Lemma 1 as it is written, however it is computed; and what must hold of it whatever comes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from catalogue import as_published, stream
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel
from test_bad_input import CORRUPT, corrupt

from sureline import SCW, KernelSCW, reference

KERNELS: list[dict[str, Any]] = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.1},
    {"kernel": "poly", "gamma": 0.1, "degree": 2, "coef0": 0.5},
    {"kernel": laplacian_kernel},
]


def weighted(n: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).choice([0, 0.5, 1, 3], n)


def counters(model: Any) -> tuple[int, int, int]:
    return model.n_seen_, model.n_mistakes_, model.n_updates_


def everything(model: Any) -> list[Any]:
    """All that was learned, for comparing to the bit."""
    examples = model.examples_.toarray() if sparse.issparse(model.examples_) else model.examples_
    arrays = [examples, model.nu_, model.pi_, model._state.tally, model._state.a()]
    return [a.tobytes() for a in arrays] + [model.classes_.tolist(), model.n_features_in_]


def checkerboard(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).uniform(0, 4, (n, 2))
    return X, X.astype(int).sum(axis=1) % 2


# -- what it is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "fit_intercept", "variant"),
    [
        (np.asarray, True, "I"),
        (np.asfortranarray, False, "II"),
        (sparse.csr_matrix, True, "II"),
        (sparse.csc_array, False, "I"),
    ],
)
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "native"), (4, "native"), (4, "ovr")])
def test_linear_kernel_is_scw_with_a_full_covariance(n_classes, multi_class, form, fit_intercept, variant):
    X, y = stream(n_classes=n_classes)
    common = {"variant": variant, "C": 0.3, "multi_class": multi_class, "fit_intercept": fit_intercept}
    expected = as_published(SCW, covariance="full", **common).fit(X, y, weighted(300))
    model = KernelSCW(kernel="linear", **common, normalize="none").fit(form(X), y, weighted(300))
    for name in ("coef_", "intercept_", "covariance_", "intercept_variance_"):
        if fit_intercept or name != "intercept_variance_":
            np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-9, atol=1e-9)
    for name in ("decision_function", "decision_std", "predict_proba", "confidence"):
        ours, theirs = getattr(model, name)(form(X)), getattr(expected, name)(X)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    assert counters(model) == counters(expected)
    assert model.progressive_.mistakes.tolist() == expected.progressive_.mistakes.tolist()
    assert model.nonzero_ == expected.nonzero_
    assert model.n_examples_ == model.n_updates_


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: getattr(k["kernel"], "__name__", k["kernel"]))
@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "native"), (4, "native"), (4, "ovr")])
def test_lemma_1(n_classes, multi_class, variant, kernel) -> None:
    X, y = stream(150, 8, n_classes)
    settings = {"variant": variant, "C": 0.5, "multi_class": multi_class, **kernel}
    expected = reference.KernelSCW(**settings).run(X, y, weighted(150))
    model = KernelSCW(**settings, normalize="none").fit(X, y, weighted(150))
    assert counters(model) == counters(expected)
    scores, std = model.decision_function(X).reshape(150, -1), model.decision_std(X).reshape(150, -1)
    np.testing.assert_allclose(scores, expected.scores(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(std**2, expected.variances(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.examples_, expected.examples_)
    np.testing.assert_allclose(model.nu_, expected.nu_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.pi_, expected.pi_, rtol=1e-7, atol=1e-9)
    assert expected.born_ == [np.flatnonzero((X == x).all(axis=1))[0] for x in model.examples_]


def test_a_reference_with_a_sign_wrong_is_told_apart(monkeypatch) -> None:
    X, y = stream(100, 8)
    monkeypatch.setattr(reference.KernelSCW, "k", lambda self, A, B: np.exp(-0.11 * ((A[:, None] - B) ** 2).sum(2)) + 1)
    wrong = reference.KernelSCW(gamma=0.1).run(X, y)
    assert (
        np.abs(KernelSCW(gamma=0.1, normalize="none").fit(X, y).decision_function(X) - wrong.scores(X)[:, 0]).max()
        > 1e-3
    )


def test_more_examples_than_a_panel_has_rows() -> None:
    X, y = checkerboard(500, 0)
    expected = reference.KernelSCW(gamma=20.0).run(X, y)
    model = KernelSCW(gamma=20.0, normalize="none").fit(X, y)
    assert model.n_examples_ > 260
    assert counters(model) == counters(expected)
    np.testing.assert_allclose(model.nu_, expected.nu_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.decision_std(X) ** 2, expected.variances(X)[:, 0], rtol=1e-9)


# -- streams -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: getattr(k["kernel"], "__name__", k["kernel"]))
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "native"), (4, "native"), (4, "ovr")])
def test_cutting_a_stream_changes_no_bit(n_classes, multi_class, form, kernel) -> None:
    if form is sparse.csr_matrix and callable(kernel["kernel"]):
        kernel = {"kernel": lambda A, B: (1 + (A @ B.T).toarray()) ** 2}
    X, y = stream(120, 8, n_classes)
    weight = weighted(120)
    make = KernelSCW(multi_class=multi_class, **kernel, normalize="none")
    whole = clone(make).partial_fit(form(X), y, classes=range(n_classes), sample_weight=weight)
    for seed, n_cuts in enumerate((3, 60)):
        cuts = np.sort(np.random.default_rng(seed).integers(0, 120, n_cuts))
        parts = clone(make)
        for rows in np.split(np.arange(120), cuts):
            if len(rows):
                parts.partial_fit(form(X[rows]), y[rows], classes=range(n_classes), sample_weight=weight[rows])
        assert everything(parts) == everything(whole)


def test_growing() -> None:
    """Columns and classes that come later were zero, and were not there: as with SCW."""
    X, y = stream(240, 8, 4)
    y = np.where(np.arange(240) < 80, y % 2, y)
    for multi_class in ("native", "ovr"):
        common = {"growing": True, "multi_class": multi_class, "C": 0.5}
        expected, model, uncut = (
            as_published(SCW, covariance="full", **common),
            *(KernelSCW(kernel="linear", **common, normalize="none") for _ in range(2)),
        )
        for rows, width in ((slice(0, 50), 5), (slice(50, 120), 5), (slice(120, 240), 8)):
            for learner in (expected, model):
                learner.partial_fit(X[rows, :width], y[rows])
        for rows, width in ((slice(0, 120), 5), (slice(120, 240), 8)):
            uncut.partial_fit(X[rows, :width], y[rows])
        assert everything(uncut) == everything(model)
        assert model.classes_.tolist() == expected.classes_.tolist()
        assert counters(model) == counters(expected)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-9)
        wide = np.column_stack([X, X[:, :2]])
        for rows in (X, X[:, :6], wide, sparse.csr_matrix(wide)):
            np.testing.assert_allclose(model.decision_std(rows), expected.decision_std(rows), rtol=1e-9)
            np.testing.assert_allclose(model.decision_function(rows), expected.decision_function(rows), atol=1e-9)


def test_growing_needs_a_gamma() -> None:
    with pytest.raises(ValueError, match="'gamma' parameter of KernelSCW must be a number where growing=True"):
        KernelSCW(growing=True, normalize="none").partial_fit([[1.0]], [0])


def test_models_that_share_their_past_go_on_apart() -> None:
    X, y = stream(200, 8)
    start = KernelSCW(gamma=0.1, normalize="none").partial_fit(X[:50], y[:50], classes=[0, 1])
    twins = [copy.copy(start), copy.copy(start), pickle.loads(pickle.dumps(start)), copy.deepcopy(start)]
    before = everything(start)
    for k, twin in enumerate(twins):
        twin.partial_fit(X[50 + 30 * (k % 2) :], y[50 + 30 * (k % 2) :])
    assert everything(start) == before
    assert everything(twins[0]) == everything(twins[2]) != everything(twins[1]) == everything(twins[3])


def test_a_refused_batch_leaves_no_trace() -> None:
    X, y = stream(120, 8)
    model = KernelSCW(kernel="poly", degree=8, normalize="none").partial_fit(X[:60], y[:60], classes=[0, 1])
    before, huge = everything(model), X[60:].copy()
    huge[40] = 1e50
    for form in (np.asarray, sparse.csr_matrix):
        with pytest.raises(ValueError, match="Row 40 of X has a score or a variance beyond float64"):
            model.partial_fit(form(huge), y[60:])
    huge[40] = np.nan
    for call in (lambda: model.partial_fit(huge, y[60:]), lambda: model.predict(huge), lambda: model.fit(huge, y[60:])):
        with pytest.raises(ValueError, match=r"NaN|nan"):
            call()
    with pytest.raises(ValueError, match=r"NaN|nan"):
        model.partial_fit(X[60:], y[60:], sample_weight=np.full(60, np.nan))
    assert everything(model) == before
    model.partial_fit(X[60:], y[60:])
    assert everything(model) == everything(clone(model).partial_fit(X, y, classes=[0, 1]))


# -- numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_thousands_of_updates_on_nearly_collinear_rows(scale) -> None:
    """Labels are noise and rows hardly differ, so that every one of them moves something along one direction."""
    rng = np.random.default_rng(0)
    X = scale * (np.array([[1.0, -2.0, 3.0]]) + 1e-7 * rng.standard_normal((2500, 3)))
    y = rng.integers(0, 2, 2500)
    for kernel in ({"kernel": "linear"}, {"kernel": "rbf", "gamma": 1e-4 / scale**2}, {"kernel": "poly", "degree": 2}):
        model = KernelSCW(C=10.0, eta=0.9, **kernel, normalize="none").fit(X, y)
        assert model.n_updates_ > 1200
        std = model.decision_std(X[:500])
        assert np.isfinite(std).all()
        assert (std > 0).all()
        assert np.isfinite(model.decision_function(X)).all()
        if kernel["kernel"] == "linear" and scale == 1.0:
            full = as_published(SCW, C=10.0, eta=0.9, covariance="full").fit(X, y)
            np.testing.assert_allclose(std, full.decision_std(X[:500]), rtol=1e-3)


def test_a_variance_that_is_all_rounding_stays_positive() -> None:
    """Rows so long that 1 - x'Sx / k(x, x) is far below the resolution of float64."""
    rng = np.random.default_rng(1)
    X = 1e9 * (1 + 1e-12 * rng.standard_normal((300, 2)))
    model = KernelSCW(kernel="linear", C=1e3, eta=0.9, normalize="none").fit(X, rng.integers(0, 2, 300))
    std = model.decision_std(X)
    assert (std > 0).all()
    assert (std < 1e-3 * 1e9).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_float32_examples_give_nearly_the_same() -> None:
    X, y = stream(200, 8)
    for form in (np.asarray, sparse.csr_matrix):
        model = KernelSCW(gamma=0.1, dtype="float32", normalize="none").fit(form(X), y)
        assert model.examples_.dtype == np.float32
        double = KernelSCW(gamma=0.1, normalize="none").fit(X, y)
        assert np.abs(model.decision_function(X) - double.decision_function(X)).max() < 1e-4
        assert (model.decision_function(X) != double.decision_function(X)).any()


def test_the_default_gamma_is_one_over_the_number_of_columns() -> None:
    X, y = stream(100, 8)
    assert everything(KernelSCW(normalize="none").fit(X, y)) == everything(
        KernelSCW(gamma=1 / 8, normalize="none").fit(X, y)
    )


# -- what users pass -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": -1.0}, r"'gamma' parameter of KernelSCW must be a float in the range \(0, inf\) or None. Got -1"),
        ({"gamma": "scale"}, "The 'gamma' parameter"),
        ({"kernel": "sigmoid"}, "'kernel' parameter of KernelSCW must be a str among {'linear', 'rbf', 'poly'} or a "),
        ({"kernel": 3}, "The 'kernel' parameter"),
        ({"degree": 0}, "The 'degree' parameter"),
        ({"degree": 1.5}, "The 'degree' parameter"),
        ({"coef0": -0.5}, "The 'coef0' parameter"),
        ({"C": 0.0}, "The 'C' parameter"),
        ({"eta": 1.0}, "The 'eta' parameter"),
        ({"variant": "III"}, "The 'variant' parameter"),
    ],
)  # fmt: skip
def test_parameters_are_checked(parameters, message) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=message):
        KernelSCW(**parameters, normalize="none").fit(X, y)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda A, B: np.ones(3), r"shape \(\d+, \d+\), a row .* Got shape \(3,\) instead"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "Got nan among them"),
        (lambda A, B: "nonsense", "Got str instead"),
        (lambda A, B: None, "instead|among"),
        (lambda A, B: -np.eye(len(A), len(B)) - 1.5, "not positive definite"),
        (lambda A, B: np.exp(((A[:, None] - B) ** 2).sum(axis=2)), "not positive definite"),
        (lambda A, B: A @ np.triu(np.ones((12, 12))) @ B.T, "is not symmetric"),
    ],
)
def test_functions_that_are_no_kernels(kernel, message) -> None:
    X, y = stream(100)
    model = KernelSCW(kernel=kernel, fit_intercept=False, normalize="none")
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_parameters_of_the_model_cannot_change() -> None:
    X, y = stream(40)
    for name, value in (
        ("gamma", 2.0),
        ("kernel", "poly"),
        ("fit_intercept", False),
        ("dtype", "float32"),
    ):
        model = KernelSCW(gamma=0.1, normalize="none").partial_fit(X, y, classes=[0, 1])
        with pytest.raises(ValueError, match=f"The '{name}' parameter of KernelSCW cannot change after the first call"):
            model.set_params(**{name: value}).partial_fit(X, y)
    model = KernelSCW(gamma=0.1, normalize="none").partial_fit(X, y, classes=[0, 1])
    model.set_params(C=0.1, eta=0.9, variant="II").partial_fit(X, y)


@pytest.mark.parametrize("kind", CORRUPT)
def test_corrupt_csr_is_refused(kind: str) -> None:
    X, y = stream(20)
    model = KernelSCW(normalize="none").partial_fit(sparse.csr_matrix(X), y, classes=[0, 1])
    before = everything(model)
    for call in (
        lambda: model.partial_fit(corrupt(kind), y),
        lambda: model.fit(corrupt(kind), y),
        lambda: model.predict(corrupt(kind)),
        lambda: model.decision_std(corrupt(kind)),
    ):
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            call()
    assert everything(model) == before


def test_columns_that_do_not_ascend_are_put_in_order() -> None:
    X, y = stream(60)
    shuffled = sparse.csr_matrix(X)
    for a, b in zip(shuffled.indptr[:-1], shuffled.indptr[1:], strict=True):
        shuffled.indices[a:b], shuffled.data[a:b] = shuffled.indices[a:b][::-1].copy(), shuffled.data[a:b][::-1].copy()
    shuffled.has_sorted_indices = False
    assert everything(KernelSCW(normalize="none").fit(shuffled, y)) == everything(
        KernelSCW(normalize="none").fit(sparse.csr_matrix(X), y)
    )


def test_dense_and_sparse_rows_may_alternate() -> None:
    X, y = stream(100)
    whole = KernelSCW(normalize="none").fit(X, y)
    for first, second in ((np.asarray, sparse.csr_matrix), (sparse.csr_matrix, np.asarray)):
        model = (
            KernelSCW(normalize="none")
            .partial_fit(first(X[:50]), y[:50], classes=[0, 1])
            .partial_fit(second(X[50:]), y[50:])
        )
        assert sparse.issparse(model.examples_) == (first is sparse.csr_matrix)
        np.testing.assert_allclose(model.nu_, whole.nu_, rtol=1e-9, atol=1e-12)


def test_weights_of_features_are_of_the_linear_kernel() -> None:
    X, y = stream(60)
    model = KernelSCW(normalize="none").fit(X, y)
    for name in ("coef_", "sparse_coef_", "nonzero_", "sparsity_", "covariance_"):
        assert not hasattr(model, name)
    assert model.intercept_ == pytest.approx(model.nu_.sum())
    assert 0 < model.intercept_variance_[0] < 1
