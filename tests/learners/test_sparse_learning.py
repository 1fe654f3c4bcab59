"""Findings of the paper on sparse online learning, on small data: which learners keep their error when most weights are
zero, and what costs do for rare classes. The whole of it is what `sureline reproduce sol-figure1` does."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from sureline import CPA, CSOGD, FOBOS, FSOL, OGD, PA, PAUM, RDA, SSOL, STG, AdaFOBOS, AdaRDA, Perceptron, sparsity_path
from sureline.datasets import make_sparse_gaussian, make_sparse_stream
from sureline.metrics import balanced_accuracy

N_EFFECTIVE = 100  # of 1000 features: the right ones have a sparsity of 90 %

# Each with the penalties between which its sparsity goes from less than 50 % to more than 90 %.
TRUNCATED = {
    "STG": (STG(normalize="none"), 3, 20),
    "FOBOS": (FOBOS(normalize="none"), 4, 80),
    "AdaFOBOS": (AdaFOBOS(normalize="none"), 4, 80),
}
AVERAGED = {
    "RDA": (RDA(normalize="none"), 0.015, 0.14),
    "AdaRDA": (AdaRDA(normalize="none"), 0.013, 0.14),
    "FSOL": (FSOL(normalize="none"), 300, 4500),
    "SSOL": (SSOL(eta=8, r=1.0, schedule="1/t", normalize="none"), 6, 1000),
}


@cache
def gaussian() -> tuple[Any, Any, Any, Any]:
    X, y = make_sparse_gaussian(25_000, random_state=0)
    return X[:20_000], y[:20_000], X[20_000:], y[20_000:]


@cache
def path(name: str) -> Any:
    estimator, low, high = (TRUNCATED | AVERAGED)[name]
    X, y, X_test, y_test = gaussian()
    lams = [0, *np.geomspace(low, high, 16), 3 * high, 9 * high]
    estimator.set_params(fit_intercept=False)
    return sparsity_path(estimator, X, y, lams, X_test=X_test, y_test=y_test, keep_models=True)


def error_at(name: str, sparsity: float) -> float:
    """Between the models on both sides."""
    order = np.argsort(path(name).sparsity)
    assert path(name).sparsity[0] < 0.01
    assert 0.9 < path(name).sparsity[-1]
    return float(np.interp(sparsity, path(name).sparsity[order], path(name).test_error[order]))


@pytest.mark.parametrize("name", AVERAGED)
def test_dual_averaging_keeps_its_error_where_most_weights_are_zero(name: str) -> None:
    without = path(name).test_error[0]
    for sparsity in (0.5, 0.8, 0.85):
        assert error_at(name, sparsity) < without - 0.02
    assert error_at(name, 0.98) > error_at(name, 0.85) + 0.1  # beyond 90 % it has to leave out what decides


@pytest.mark.parametrize("name", TRUNCATED)
def test_truncated_gradient_loses_it(name: str) -> None:
    """The last examples decide its weights: their steps have to be truncated."""
    assert path(name).test_error[0] < 0.4
    for sparsity in (0.5, 0.8, 0.85, 0.9):
        assert error_at(name, sparsity) > 0.45


def test_the_second_order_is_best_above_all_where_the_sparsity_is_high() -> None:
    others = [name for name in TRUNCATED | AVERAGED if name != "SSOL"]
    assert path("SSOL").test_error[0] < min(path(name).test_error[0] for name in others)
    for sparsity in (0.5, 0.8, 0.85, 0.9):
        assert error_at("SSOL", sparsity) < min(error_at(name, sparsity) for name in others) / 1.8


def test_the_second_order_finds_the_features_that_decide() -> None:
    """The model nearest to the right sparsity has next to no others; that of truncated gradient has only others."""
    right = int(np.argmin(np.abs(path("SSOL").sparsity - 0.9)))
    (found,) = np.nonzero(path("SSOL").models[right].coef_[0])
    assert 85 <= len(found) <= 115
    assert np.mean(found < N_EFFECTIVE) > 0.9
    stg = int(np.argmin(np.abs(path("STG").sparsity - 0.9)))
    (found,) = np.nonzero(path("STG").models[stg].coef_[0])
    assert np.mean(found < N_EFFECTIVE) < 0.1


# -- one positive for 99 negatives -----------------------------------------------------------------------------------

COST_SENSITIVE = {
    "FSOL": (FSOL(eta=2, normalize="none"), FSOL(eta=2, cost="balanced", normalize="none"), 0.15),
    "FSOL with a penalty": (
        FSOL(eta=2, lam=1, normalize="none"),
        FSOL(eta=2, lam=1, cost="balanced", normalize="none"),
        0.15,
    ),
    "SSOL": (SSOL(eta=2, r=16, normalize="none"), SSOL(eta=2, r=16, cost="balanced", normalize="none"), 0.15),
    "SSOL with a penalty": (
        SSOL(eta=2, lam=1e5, r=16, schedule="1/t", normalize="none"),
        SSOL(eta=2, lam=1e5, r=16, schedule="1/t", cost="balanced", normalize="none"),
        0.15,
    ),
    "OGD": (OGD(eta=8, normalize="none"), CSOGD(eta=8, cost="balanced", normalize="none"), 0.25),
    "PA": (PA(C=32, normalize="none"), CPA(C=32, cost="balanced", normalize="none"), 0.08),
    "CPA": (CPA(C=32, normalize="none"), CPA(C=32, cost="balanced", normalize="none"), 0.05),
    "Perceptron": (Perceptron(normalize="none"), PAUM(margin_pos=4, margin_neg=0, normalize="none"), 0.02),
}


@cache
def imbalanced(seed: int) -> tuple[Any, Any, Any, Any]:
    X, y = make_sparse_stream(40_000, 5000, 30, n_informative=100, positive=0.01, noise=0, random_state=seed)
    return X[:20_000], y[:20_000], X[20_000:], y[20_000:]


@pytest.mark.parametrize("name", COST_SENSITIVE)
def test_costs_help_the_rare_class(name: str) -> None:
    """Balanced accuracy, progressive and on new examples; means over three streams."""
    plain, costs, margin = COST_SENSITIVE[name]
    gains = []
    for seed in range(3):
        X, y, X_test, y_test = imbalanced(seed)
        for estimator in (plain, costs):
            estimator.set_params(fit_intercept=False).fit(X, y)
        on_test = [balanced_accuracy(y_test, one.predict(X_test)) for one in (plain, costs)]
        progressive = [one.progressive_.balanced_accuracy for one in (plain, costs)]
        gains.append([progressive[1] - progressive[0], on_test[1] - on_test[0]])
        assert costs.progressive_.sensitivity > plain.progressive_.sensitivity
    assert np.mean(gains, axis=0).min() > margin
