"""Label budgets: the labels asked for, and that no others are used."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import sureline
from sureline.datasets import make_drift, make_sparse_gaussian
from sureline.estimators.asking import learn_asking
from sureline.evaluate import prequential
from sureline.learners.asking import Asking, certainty, certainty_below
from sureline.reference.asking import Asker

CERTAINTIES = {
    "equal": np.zeros(3000),
    "random": np.random.default_rng(0).exponential(size=3000),
    "falling": np.linspace(9, 1, 3000),
    "rising": np.linspace(1, 9, 3000),
    "few values": np.random.default_rng(1).integers(0, 3, 3000).astype(float),
    "infinite": np.where(np.random.default_rng(2).random(3000) < 0.5, np.inf, 1.0),
}


@pytest.mark.parametrize("name", CERTAINTIES)
@pytest.mark.parametrize("rate", [0.003, 0.1, 1 / 3, 0.9, 1.0])
def test_the_budget_holds_after_every_row_and_is_spent(name, rate):
    asking = Asking(rate, seed=3)
    asked = 0
    for rows, u in enumerate(CERTAINTIES[name], 1):
        p = asking.next(u)
        assert 0 <= p <= 1
        asked += p > 0
        assert asked <= rate * rows
    assert asking.asked == asked
    assert asking.rows == 3000
    if name != "rising":  # of which each row is surer than all before it: only those at random are worth a label
        assert asked >= 0.95 * rate * 3000 - 8


@pytest.mark.parametrize("name", CERTAINTIES)
@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_the_choices_are_those_of_the_reference(name, rate):
    asking, reference = Asking(rate, seed=5, random=0.125), Asker(rate, seed=5, random=0.125)
    u = CERTAINTIES[name][:1500]
    assert [asking.next(x) for x in u] == [reference.next(x) for x in u]


def test_what_was_saved_goes_on_with_the_same_choices():
    u = CERTAINTIES["random"]
    asking = Asking(0.1, seed=1)
    whole = [asking.next(x) for x in u]
    for cut in (0, 100, 1000):
        first = Asking(0.1, seed=1)
        some = [first.next(x) for x in u[:cut]]
        first.told(True, 0.5)
        again = Asking.from_dict(first.to_dict())
        assert again.to_dict() == first.to_dict()
        assert some + [again.next(x) for x in u[cut:]] == whole


@pytest.mark.parametrize(
    "change",
    [
        {"rate": 0.0},
        {"rate": float("nan")},
        {"random": 2.0},
        {"asked": 11},
        {"asked": 1 << 70},
        {"rows": -1},
        {"rows": 99},
        {"wrong": 5.0},
        {"total": float("inf")},
        {"seed": -1},
        {"seed": 1.0},
        {"latest": []},
        {"latest": ["nan"] * 100},
        {"latest": ["no"] * 100},
        {"latest": None},
        {"more": 1},
    ],
)
def test_numbers_that_cannot_have_been_are_refused(change):
    asking = Asking(0.1)
    for _ in range(100):
        asking.next(1.0)
    with pytest.raises((ValueError, OverflowError)):
        Asking.from_dict({**asking.to_dict(), **change})


LEARNERS = {
    "AROW": sureline.AROW(),
    "AROW full": sureline.AROW(covariance="full"),
    "SCW": sureline.SCW(dtype="float32"),
    "PA": sureline.PA(normalize="row"),
    "FTRL": sureline.FTRL(normalize="none"),
    "SSOL": sureline.SSOL(),
    "ODCA": sureline.ODCA(rho=0.1),
    "sliding": sureline.ODCA(rho=0.1, window="sliding", length=50),
    "costs": sureline.CSOGD(cost="balanced"),
}


def rows(n_classes, n=3000):
    X, y = make_sparse_gaussian(n, 200, n_effective=40, n_noise=20, random_state=1)
    if n_classes > 2:
        scores = X @ np.random.default_rng(0).normal(size=(X.shape[1], n_classes))
        y = np.asarray(scores).argmax(axis=1)
    return X, y


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", LEARNERS)
def test_the_model_is_that_of_the_labels_asked_for(name, n_classes):
    if name == "costs" and n_classes > 2:
        pytest.skip("costs are of two classes")
    X, y = rows(n_classes)
    classes = np.unique(y)
    one = sureline_clone(LEARNERS[name])
    _wrong, asked = learn_asking(one, Asking(0.1), X, y, classes)
    chosen = asked > 0
    assert 200 < chosen.sum() <= 300
    alone = sureline_clone(LEARNERS[name]).partial_fit(X[chosen], y[chosen], classes=classes)
    np.testing.assert_array_equal(one.coef_, alone.coef_)
    np.testing.assert_array_equal(one.intercept_, alone.intercept_)
    np.testing.assert_array_equal(one.decision_function(X), alone.decision_function(X))
    assert one.n_seen_ == chosen.sum()
    assert one.n_updates_ == alone.n_updates_

    # The labels that were not asked for may be anything.
    others = np.where(chosen, y, classes[(np.searchsorted(classes, y) + 1) % n_classes])
    same = sureline_clone(LEARNERS[name])
    _, asked_again = learn_asking(same, Asking(0.1), X, others, classes)
    np.testing.assert_array_equal(asked, asked_again)
    np.testing.assert_array_equal(same.coef_, one.coef_)
    np.testing.assert_array_equal(same.model.record, one.model.record)


def sureline_clone(estimator):
    from sklearn.base import clone

    return clone(estimator)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("name", ["AROW", "SSOL", "sliding"])
def test_batches_make_no_difference(name, dense):
    X, y = rows(2, 1200)
    X = X.toarray() if dense else X.tocsr()
    whole = prequential(LEARNERS[name], (X, y), ask=0.2)
    parts = ((X[i : i + 37], y[i : i + 37]) for i in range(0, len(y), 37))
    cut = prequential(LEARNERS[name], parts, ask=0.2, classes=np.unique(y))
    one, other = whole.estimators[whole.names[0]], cut.estimators[cut.names[0]]
    assert whole.mistakes == cut.mistakes
    assert whole.asked == cut.asked
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.model.record, other.model.record)


def test_a_budget_of_all_labels_is_none():
    X, y = rows(3, 1000)
    for learner in (sureline.AROW(), sureline.SSOL(), sureline.FTRL()):
        all_, without = (prequential(learner, (X, y), ask=ask) for ask in (1.0, None))
        one, other = all_.estimators[all_.names[0]], without.estimators[without.names[0]]
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.model.record, other.model.record)
        assert one.n_mistakes_ == other.n_mistakes_
        assert all_.asked[all_.names[0]] == 1000


def test_labels_are_asked_where_they_teach_most():
    X, y = make_sparse_gaussian(20_000, random_state=2)
    X, y, new, truth = X[:15_000], y[:15_000], X[15_000:], y[15_000:]
    errors = {}
    for learner in (sureline.AROW(), sureline.FTRL()):
        result = prequential(learner, (X, y), ask=0.1)
        clf = result.estimators[result.names[0]]
        n = result.asked[result.names[0]]
        some = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
        at_random = type(learner)().partial_fit(X[some], y[some], classes=np.unique(y))
        errors[result.names[0]] = 1 - clf.score(new, truth), 1 - at_random.score(new, truth)
    assert all(asked < 0.9 * random for asked, random in errors.values()), errors


def test_confidences_and_the_estimated_error_are_those_of_the_stream():
    """Labels that are asked for are the hardest ones. Weighted by 1 / p they are a fair sample."""
    X, y = make_drift(60_000, 20, drifts=[], noise=0.1, random_state=3)
    X, y, new, truth = X[:40_000], y[:40_000], X[40_000:], y[40_000:]
    clf, asking = sureline.AROW(), Asking(0.1)
    wrong, asked = learn_asking(clf, asking, X, y, np.unique(y))
    n = int((asked > 0).sum())
    # The labels as they are would tell of a much larger error.
    assert wrong[asked > 0].mean() > 1.5 * wrong.mean()
    weights = 1 / asked[asked > 0]
    effective = weights.sum() ** 2 / (weights**2).sum()
    assert abs(asking.error - wrong.mean()) < 4 * np.sqrt(wrong.mean() / effective)
    assert asking.error == pytest.approx(np.average(wrong[asked > 0], weights=weights))
    right = clf.predict(new) == truth
    assert abs(clf.confidence(new).mean() - right.mean()) < 0.03
    assert n < 4001


def test_other_classifiers_ask_too():
    from sklearn.linear_model import SGDClassifier
    from sklearn.naive_bayes import BernoulliNB

    X, y = rows(2, 600)
    result = prequential({"a": SGDClassifier(random_state=0), "b": BernoulliNB()}, (X, y), ask=0.2, batch=20)
    assert all(90 < n <= 120 for n in result.asked.values())
    assert "asked" in repr(result)
    assert prequential(sureline.AROW(), (X, y)).asked == {}


@pytest.mark.parametrize("ask", [0, 1.5, "much", True])
def test_a_share_that_is_none_is_refused(ask):
    with pytest.raises(ValueError, match="ask must be the share of the labels"):
        prequential(sureline.AROW(), rows(2, 50), ask=ask)


@pytest.mark.parametrize(
    "learner", [sureline.BCW(), sureline.SSOL(covariance="full"), sureline.KernelSCW(), sureline.AROW(average=True)]
)
def test_learners_that_cannot_ask_are_refused(learner):
    with pytest.raises(ValueError, match="ask"):
        prequential(learner, rows(2, 50), ask=0.5, batch=10)


# -- wants_label ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["AROW", "PA", "FTRL", "ODCA", "SSOL"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_wants_about_the_share_of_labels_that_is_asked(name, n_classes, tmp_path):
    X, y = rows(n_classes, 6000)
    clf = sureline_clone(LEARNERS[name]).fit(X[:4000], y[:4000])
    new = X[4000:]
    sure = certainty(*clf.judge(new, variances=clf.has_variances))
    shares = []
    for rate in (0.02, 0.1, 0.4):
        wants = clf.wants_label(new, rate)
        assert wants.dtype == bool
        assert wants.shape == (2000,)
        assert wants.sum() == 0 or sure[wants].max() <= sure[~wants].min()  # the least sure ones
        if name != "PA":  # whose last weights are not typical
            assert rate / 2.5 < wants.mean() < 2.5 * rate
        shares.append(wants.mean())
    assert shares == sorted(shares)
    row = new[:1]
    assert clf.wants_label(row, 0.4)[0] == clf.wants_label(new, 0.4)[0]
    as_pairs = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) if sparse.issparse(row) else row[0]
    assert clf.wants_label_one(as_pairs, 0.4) == clf.wants_label(row, 0.4)[0]
    sureline.save(clf, tmp_path / "m")
    np.testing.assert_array_equal(sureline.load(tmp_path / "m").wants_label(new), clf.wants_label(new))


def test_without_a_record_it_wants_the_least_sure_of_the_rows():
    X, y = rows(2, 400)
    clf = sureline.SBCW().fit(X, y)
    assert certainty_below(clf.model.record, 0.1) is None
    assert clf.wants_label(X, 0.1).sum() == 40
    assert clf.wants_label(X[:0] if not sparse.issparse(X) else X[:1], 0.1).sum() == 1
    assert sureline.AROW().wants_label_one({"new": 1.0})


@pytest.mark.parametrize("rate", [0, -1, 2, None])
def test_a_rate_that_is_none_is_refused(rate):
    X, y = rows(2, 50)
    clf = sureline.AROW().fit(X, y)
    with pytest.raises(ValueError, match="rate must be the share"):
        clf.wants_label(X, rate)
    with pytest.raises(ValueError, match="rate must be the share"):
        clf.wants_label_one({0: 1.0}, rate)
