"""The compiled learners are the NumPy reference: weights, covariance, and counts exactly."""

import itertools

import numpy as np
import pytest
from catalogue import Case, every_case_with_reference, stream
from scipy import sparse

WEIGHTS = np.random.default_rng(7).choice([0, 0.5, 1, 2.0], 300)


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    assert ours.shape == theirs.shape
    return float(np.max(np.abs(ours - theirs)) / max(np.max(np.abs(theirs)), 1e-300))


def compare(case: Case, model, oracle) -> None:
    assert (model.n_seen_, model.n_mistakes_, model.n_updates_) == (
        oracle.n_seen_,
        oracle.n_mistakes_,
        oracle.n_updates_,
    )
    assert difference(model.coef_, oracle.coef_) < 1e-9
    if oracle.intercept_.any():
        assert difference(model.intercept_, oracle.intercept_) < 1e-9
    else:
        assert not model.intercept_.any()
    if case.gaussian:
        assert difference(model.covariance_, oracle.covariance_) < 1e-9
        assert difference(model.intercept_variance_, oracle.intercept_variance_) < 1e-9


@every_case_with_reference
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_two_classes(case: Case, intercept: bool, weighted: bool) -> None:
    X, y = stream()
    weight = WEIGHTS if weighted else None
    oracle = case.reference(fit_intercept=intercept).run(X, y, weight)
    assert oracle.n_updates_ > 20  # there is something to compare
    for rows in (X, sparse.csr_matrix(X), sparse.csr_array(X), sparse.csc_matrix(X), np.asfortranarray(X)):
        compare(case, case.make(fit_intercept=intercept).fit(rows, y, weight), oracle)


@every_case_with_reference
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_more_classes(case: Case, multi_class: str) -> None:
    X, y = stream(n_classes=4, seed=1)
    if case.needs_two_classes and multi_class == "native":
        with pytest.raises(ValueError, match=r"which needs two classes or multi_class='ovr'\. Got 4 classes"):
            case.make().set_params(multi_class="native").fit(X, y)
        return
    for intercept, weight in itertools.product((True, False), (None, WEIGHTS)):
        settings = {"fit_intercept": intercept, "multi_class": multi_class}
        oracle = case.reference(**settings).run(X, y, weight)
        compare(case, case.make(**settings).fit(X, y, weight), oracle)
        compare(case, case.make(**settings).fit(sparse.csr_matrix(X), y, weight), oracle)


@every_case_with_reference
def test_long_and_wide_streams(case: Case) -> None:
    X, y = stream(n_rows=2000, n_columns=40, seed=2)
    compare(case, case.make().fit(X, y), case.reference().run(X, y))


@every_case_with_reference
def test_badly_scaled_features(case: Case) -> None:
    """Columns that differ by six orders of magnitude."""
    if case.parameters.get("loss") == "squared_hinge":
        pytest.skip("steps along a gradient that grows with the loss diverge here, in the reference too")
    X, y = stream(seed=3)
    X = X * 10.0 ** np.linspace(-3, 3, X.shape[1])
    oracle = case.reference().run(X, y)
    model = case.make().fit(X, y)
    assert (model.n_mistakes_, model.n_updates_) == (oracle.n_mistakes_, oracle.n_updates_)
    scale = np.abs(oracle.coef_) + 1e-9 * np.abs(oracle.coef_).max()
    assert np.max(np.abs(model.coef_ - oracle.coef_) / scale) < 1e-5
