"""The entries of the paper on online dual coordinate ascent: their contents, and their protocol on small data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sureline import reproduce
from sureline.datasets import make_sparse_stream
from sureline.reproduce.data import Rows, Split, first_rows
from sureline.reproduce.entry import entry
from sureline.reproduce.learners import build
from sureline.reproduce.protocols import iterations


def small_split() -> Split:
    X, y = make_sparse_stream(400, 60, 8, noise=0.05, random_state=0)
    return first_rows(Rows(X.astype(np.float64), np.where(y > 0, 1, -1)), 300, 100)


def comparable(outcome: reproduce.Outcome) -> dict[str, Any]:
    return {**outcome.to_dict(), "date": None, "seconds": None}


@pytest.mark.parametrize("quick", [False, True])
def test_windows_are_the_papers(quick: bool) -> None:
    for name, rho, beta, mu in (("odca-figure1", 1e-3, 0.99995, 0.05), ("odca-figure2", 1e-4, 0.99998, 0.2)):
        parameters = entry(name).parameters(iterations.Parameters, quick=quick)
        assert (parameters.rho, parameters.beta, parameters.epochs) == (rho, beta, 5)
        assert parameters.mu == pytest.approx(mu)
        assert parameters.kappas[0] == 0
        assert parameters.kappas[-1] == parameters.beta
        model = build(entry(name), entry(name).learners[0]).get_params()
        assert [model[key] for key in ("window", "regularizer", "loss")] == ["exponential", "l2", "hinge"]
        assert (model["fit_intercept"], model["normalize"]) == (False, "none")


def test_without_data_it_says_what_is_missing() -> None:
    outcome = reproduce.run("odca-figure1")
    assert outcome.is_empty
    assert "a9a" in str(outcome.findings.missing[0])


def test_error_against_iterations() -> None:
    of = entry("odca-figure2")
    data = {**of.data[0], "arguments": {"n_features": 100, "n_nonzero": 8, "random_state": 0}}
    protocol = {**of.protocol, "orders": 2, "looks": 5, "n_train": 300, "n_test": 200, "rho": 0.01, "beta": 0.99}
    protocol["kappas"] = [0.0, 0.99]
    small_one = replace(of, data=(data,), protocol=protocol, quick={})
    outcome = reproduce.run(small_one)
    errors, by_kappa = outcome.findings.tables
    assert [row.head[0] for row in errors.rows] == [*list(_CURVES), "LinearSVC"]
    ends = {row.head[0]: row.cells[-1].ours for row in errors.rows}
    assert by_kappa.rows[0].cells[0].ours == ends["O-DCA"]
    assert by_kappa.rows[1].cells[1].ours == ends["smooth SGD"]
    assert len(outcome.findings.verdicts) == 7
    assert all(one.claim.startswith("(stand-in) ") for one in outcome.findings.verdicts)
    assert all("(stand-in)" in one.title for one in (*outcome.findings.tables, *outcome.findings.pictures))
    assert comparable(reproduce.run(small_one)) == comparable(outcome)


_CURVES = ("O-DCA", "smooth O-DCA", "S-DCA (1/5)", "SGD", "smooth SGD")


def parameters_of(rho: float, beta: float) -> iterations.Parameters:
    return iterations.Parameters(rho, beta, (0.0, 0.9), 5, 1, 0, 3, 0.01, 300, 100)


def test_the_sub_gradient_method_is_equation_46() -> None:
    split = small_split()
    parameters = parameters_of(0.01, 0.999)
    order = np.random.default_rng(0).permutation(300)
    found = iterations.sub_gradient(parameters, split, order, np.array([100, 300]))
    X, mu = split.X.toarray(), 0.001 / 0.01
    w, weights = np.zeros(60), []
    for i in order:
        step = mu * split.y[i] * X[i] * (1 - split.y[i] * (X[i] @ w) >= 0)
        w = (1 - mu * 0.01) * w + step
        weights.append(w)
    powers = 0.9 ** np.arange(299, -1, -1)
    smoothed = powers @ np.array(weights) / powers.sum()
    for k, end in enumerate((w, smoothed)):
        errors = np.where(split.X_test @ end > 0, 1, -1) != split.y_test
        assert found[k, -1] == np.mean(errors)


def test_the_finite_method_solves_the_problem_of_its_part() -> None:
    split = small_split()
    parameters = replace(parameters_of(0.01, 0.999), epochs=30)
    order = np.random.default_rng(0).permutation(300)
    (error,) = iterations.finite(parameters, split, order, np.array([300]))
    part = replace(split, X=split.X[order[:10]], y=split.y[order[:10]])  # a thirtieth of the rows, thirty times
    exact = iterations._batch(entry("odca-figure2"), parameters, part)
    assert error == pytest.approx(iterations._error(split, exact), abs=0.02)


def test_what_the_orders_do_not_decide_cannot_be_told() -> None:
    looks, parameters = np.array([1, 2]), parameters_of(0.01, 0.9)
    level = np.array([[0.3, 0.2], [0.2, 0.3], [0.3, 0.2], [0.2, 0.3]])
    near = level + np.array([[0.01], [-0.01], [0.012], [-0.009]])  # the mean is higher, by chance
    for other, holds in ((near, None), (level + 0.1, True), (level - 0.1, False)):
        faster = iterations._faster("", "both", level, other, looks, 0.2, parameters)
        better = iterations._more_accurate("", "both", level, other)
        assert (faster.holds, better.holds) == (holds, holds)


def test_when_a_curve_stays_below_a_bound() -> None:
    curve = np.array([[0.5, 0.1, 0.3, 0.1], [0.5, 0.1, 0.3, 0.1]])
    looks = np.array([10, 20, 30, 40])
    assert iterations._first_near(curve, looks, 0.2) == 40
    assert iterations._first_near(curve, looks, 0.6) == 10
    assert iterations._first_near(curve, looks, 0.05) == np.inf
