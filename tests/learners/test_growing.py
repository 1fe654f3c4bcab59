"""Streams that open up: wider rows and new classes."""

from itertools import pairwise

import numpy as np
import pytest
from catalogue import Case, every_case_that_grows, everything, stream
from scipy import sparse
from scipy.special import ndtr

from sureline import AROW, CPA, PAUM, SCW, SSOL


@every_case_that_grows
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_how_the_stream_is_cut_does_not_matter(case: Case, multi_class: str) -> None:
    X, y = stream(n_classes=4, seed=4)
    X[:100, 6:] = 0  # half of the columns come later
    y = np.concatenate([np.zeros(20, int), y[:80] % 2, y[100:200] % 3, y[200:]])
    y = np.array([9, 3, 7, 5])[y]
    rows = sparse.csr_matrix(X)
    whole = case.make(growing=True, multi_class=multi_class).partial_fit(rows, y)
    assert whole.classes_.tolist() == [9, 3, 7, 5]  # in the order of their first rows
    for cuts in ([0, 100, 300], [0, 15, 33, 100, 101, 250, 300], [0, *range(100, 301)]):
        parts = case.make(growing=True, multi_class=multi_class)
        for start, stop in pairwise(cuts):
            width = 6 if stop <= 100 else 12
            parts.partial_fit(rows[start:stop, :width], y[start:stop])
        assert parts.classes_.tolist() == whole.classes_.tolist()
        assert parts.n_features_in_ == whole.n_features_in_ == 12
        np.testing.assert_array_equal(parts.coef_, whole.coef_)
        np.testing.assert_array_equal(parts.intercept_, whole.intercept_)
        if case.gaussian:
            np.testing.assert_array_equal(parts.covariance_, whole.covariance_)
        assert (parts.n_seen_, parts.n_mistakes_, parts.n_updates_) == (
            whole.n_seen_,
            whole.n_mistakes_,
            whole.n_updates_,
        )


@every_case_that_grows
def test_columns_that_come_later_were_zero_before(case: Case) -> None:
    X, y = stream()
    X[:150, 6:] = 0
    wide = case.make().partial_fit(X, y, classes=[0, 1])
    grown = case.make(growing=True).partial_fit(X[:150, :6], y[:150], classes=[0, 1]).partial_fit(X[150:], y[150:])
    np.testing.assert_allclose(grown.coef_, wide.coef_, rtol=1e-9, atol=1e-12)
    assert grown.n_mistakes_ == wide.n_mistakes_


@every_case_that_grows
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_a_third_class_does_not_change_what_the_two_decided(case: Case, multi_class: str) -> None:
    X, y = stream()
    model = case.make(growing=True, multi_class=multi_class).partial_fit(X, y)
    if model.multi_class == "ovr" and "max_nonzero" in case.parameters:
        pytest.skip("as many weights again, with the other sign, do not fit into the budget")
    scores = model.decision_function(X)
    proba = model.belief(X) if case.gaussian else None
    model.partial_fit(X[150:151], [2], sample_weight=[0])  # a row of weight 0 teaches nothing but its class
    after = model.decision_function(X)
    assert after.shape == (len(X), 3)
    difference = after[:, 1] - after[:, 0]
    np.testing.assert_array_equal(np.sign(difference[np.abs(scores) > 1e-9]), np.sign(scores[np.abs(scores) > 1e-9]))
    if model.multi_class == "native" and case.gaussian and case.name != "SOP":
        np.testing.assert_allclose(difference, scores, rtol=1e-9, atol=1e-12)
    if model.multi_class == "native" and case.gaussian and case.name not in ("SOP", "SSOL"):
        v = model.decision_std(X) ** 2
        sure = ndtr(np.abs(difference) / np.sqrt(v[:, 0] + v[:, 1]))
        np.testing.assert_allclose(sure, proba.max(axis=1), rtol=1e-9)


def test_rows_narrower_or_wider_than_the_model_are_judged() -> None:
    X, y = stream()
    for covariance in ("diag", "full"):
        model = SCW(growing=True, covariance=covariance, normalize="none").partial_fit(X, y)
        padded = np.column_stack([X, np.full((len(X), 2), 3.0)])
        np.testing.assert_array_equal(model.decision_function(padded), model.decision_function(X))
        np.testing.assert_allclose(model.decision_std(padded) ** 2, model.decision_std(X) ** 2 + 18.0)
        np.testing.assert_allclose(
            model.decision_std(sparse.csr_matrix(padded)) ** 2, model.decision_std(X) ** 2 + 18.0
        )
        narrow = X.copy()
        narrow[:, 8:] = 0
        np.testing.assert_allclose(
            model.decision_function(X[:, :8]), model.decision_function(narrow), rtol=1e-12, atol=1e-14
        )
        np.testing.assert_allclose(model.decision_std(X[:, :8]), model.decision_std(narrow), rtol=1e-12)
        with pytest.raises(ValueError, match="NaN in row 0, column 12"):
            model.predict(np.where(padded == 3.0, np.nan, padded))
        model.partial_fit(X[:, :8], y)
        assert model.n_features_in_ == 12


@every_case_that_grows
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_dense_rows_that_grow_in_both_ways(case: Case, multi_class: str) -> None:
    """A third class comes before some of the columns do: those start as if they had always been there."""
    X, y = stream(200, 7, 3, seed=8)
    X[:100, 5:] = 0
    settings = {"growing": True, "multi_class": multi_class}
    whole = case.make(**settings).partial_fit(X, y)
    parts = case.make(**settings).partial_fit(X[:100, :5], y[:100]).partial_fit(X[100:], y[100:])
    assert everything(parts)[3:] == everything(whole)[3:]
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert (np.signbit(parts.coef_) == np.signbit(whole.coef_)).all()
    if case.gaussian:
        np.testing.assert_array_equal(parts.covariance_, whole.covariance_)
        judged = np.column_stack([X[:5], np.ones(5)])
        seen = whole.decision_std(judged)
        whole.partial_fit(judged[:1], y[:1], sample_weight=[0])  # now it has the column
        np.testing.assert_allclose(whole.decision_std(judged), seen, rtol=1e-6)


def test_the_policy_of_a_model_cannot_change_once_it_has_three_classes() -> None:
    X, y = stream(60, 4, 5)
    for first, then in (("native", "ovr"), ("ovr", "native")):
        model = (
            AROW(growing=True, multi_class=first, normalize="none").partial_fit(X, y % 2).set_params(multi_class=then)
        )
        model.partial_fit(X, y % 3).set_params(multi_class=first)
        with pytest.raises(ValueError, match="'multi_class' parameter of AROW cannot change"):
            model.partial_fit(X, y)


def test_one_class_so_far() -> None:
    model = AROW(growing=True, normalize="none").partial_fit([[1.0, 0.0], [0.0, 1.0]], ["ham", "ham"])
    assert model.classes_.tolist() == ["ham"]
    assert model.predict([[1.0, 2.0]]).tolist() == ["ham"]
    np.testing.assert_array_equal(model.predict_proba([[1.0, 2.0]]), [[1.0]])
    model.partial_fit([[-1.0, 0.0]], ["spam"])
    assert model.classes_.tolist() == ["ham", "spam"]
    assert model.predict_proba([[1.0, 2.0]]).shape == (1, 2)


def test_labels_of_another_type_are_refused() -> None:
    model = AROW(growing=True, normalize="none").partial_fit([[1.0], [2.0]], [0, 1])
    before = everything(model)
    with pytest.raises(ValueError, match="another type"):
        model.partial_fit([[1.0]], ["spam"])
    assert everything(model) == before


def test_a_refused_batch_does_not_grow_the_model() -> None:
    X, y = stream(30)
    model = AROW(growing=True, normalize="none").partial_fit(X, y)
    before = everything(model)
    wide = np.column_stack([X, X])
    wide[29, 20] = np.nan
    with pytest.raises(ValueError, match="NaN in row 29, column 20"):
        model.partial_fit(wide, np.append(y[:-1], 5))
    assert everything(model) == before
    wide[29] = 1e300
    with pytest.raises(ValueError, match="ow 29"):
        model.partial_fit(wide, np.append(y[:-1], 5))
    assert everything(model) == before


def test_without_it_the_usual_contract_holds() -> None:
    X, y = stream(30)
    model = AROW(normalize="none").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="12 features"):
        model.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError, match="growing=True"):
        model.partial_fit(X, y + 1)


def test_unequal_costs_need_to_know_which_class_is_the_positive_one() -> None:
    X, y = stream()
    for model in (
        SSOL(cost=(10, 1), growing=True, normalize="none"),
        CPA(cost=(10, 1), growing=True, normalize="none"),
        PAUM(margin_pos=5, growing=True, normalize="none"),
    ):
        with pytest.raises(ValueError, match=r"needs classes=\[\.\.\.\] in the first call of partial_fit"):
            model.partial_fit(X, y)
        model.partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
        assert model.classes_.tolist() == [0, 1]
    assert SSOL(cost="balanced", growing=True, normalize="none").partial_fit(X, y).n_seen_ == len(y)


def test_as_long_as_there_is_one_class_it_is_predicted() -> None:
    model = CPA(growing=True, normalize="none").partial_fit([[1.0], [2.0]], ["only", "only"])
    assert model.predict([[-5.0], [5.0]]).tolist() == ["only", "only"]  # one of the scores is positive
    assert model.predict_one({0: -5.0}) == "only"
