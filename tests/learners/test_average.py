"""Averages of the weights along a stream: cases that the catalogue does not have."""

import pickle

import numpy as np
import pytest
from catalogue import AVERAGED, Case, everything, stream
from scipy import sparse

import sureline
from sureline.learners.catalogue import LEARNERS
from sureline.learners.online import OnlineLearner

every_average = pytest.mark.parametrize("case", [case for case in AVERAGED if case.name != "ODCA"], ids=str)


def last_weights(model) -> bytes:
    return model._state.weights.tobytes() + model._state.memory.tobytes()


@every_average
def test_learning_goes_on_from_the_last_weights(case: Case) -> None:
    X, y = stream(n_classes=3)
    plain = {name: value for name, value in case.parameters.items() if name != "average"}
    assert last_weights(case.make().fit(X, y)) == last_weights(Case(case.name, plain).make().fit(X, y))


@pytest.mark.parametrize("average", [True, 25.0])
@pytest.mark.parametrize("name", [name for name, kind in LEARNERS.items() if issubclass(kind, OnlineLearner)])
def test_every_online_learner_has_the_average_of_the_reference(name: str, average: float) -> None:
    case = Case(name, {"average": average})
    if name in ("SOFS", "FOFS"):
        with pytest.raises(ValueError, match="bounds the number of nonzero weights"):
            case.make().fit(*stream())
        return
    for n_classes in (2, 3):
        X, y = stream(n_classes=n_classes)
        oracle, model = case.reference().run(X, y), case.make().fit(X, y)
        assert model.n_mistakes_ == oracle.n_mistakes_
        np.testing.assert_allclose(model.coef_, oracle.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("average", [True, 500.0])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("RDA", {"gamma": 2.0, "lam": 0.002, "rho": 0.1}),
        ("FSOL", {"eta": 0.125, "lam": 100.0, "schedule": "1/t"}),
        ("STG", {"eta": 0.1, "lam": 0.02, "K": 1}),
        ("ALMA", {"alpha": 0.8}),
        ("ROMMA", {"aggressive": True}),
    ],
)
def test_long_streams(name: str, parameters: dict, average: float) -> None:
    """More rounds than are kept apart: the past begins anew, and nothing is lost."""
    X, y = stream(3000, 6, seed=2)
    case = Case(name, {**parameters, "average": average})
    oracle, model = case.reference().run(X, y), case.make().fit(X, y)
    assert model.n_mistakes_ == oracle.n_mistakes_
    np.testing.assert_allclose(model.coef_, oracle.coef_, rtol=1e-9, atol=1e-12)


def test_weights_that_have_shrunk_are_averaged_exactly() -> None:
    """kappa of some steps is tiny. Without care the average is then lost in the rounding of what the scale was."""
    rng = np.random.default_rng(0)
    settings = {"aggressive": True, "fit_intercept": False, "normalize": "none"}
    plain, averaged = sureline.ROMMA(**settings), sureline.ROMMA(**settings, average=True)
    sums, scales = np.zeros(5), []
    for t in range(1, 301):
        x = rng.standard_normal(5)
        if t % 20 > 12:  # half along w, and as long as makes kappa 4e-3
            w = plain.coef_[0]
            across = x - (x @ w) / (w @ w) * w
            x = (w * 0.5 + across / np.linalg.norm(across) * np.linalg.norm(w) * np.sqrt(0.251)) / (w @ w)
        y = int(x[0] > 0)
        for model in (plain, averaged):
            model.partial_fit([x], [y], classes=[0, 1])
        sums += plain.coef_[0]
        scales.append(plain._state.memory[0, 0])
        np.testing.assert_allclose(averaged.coef_[0], sums / t, rtol=0, atol=1e-11 * np.abs(sums / t).max())
    assert min(scales) < 1e-9


@every_average
def test_a_refused_batch_leaves_the_average_as_it_was(case: Case) -> None:
    X, y = stream(400, 12)
    wide = sparse.csr_matrix((X.shape[0], 40_000))
    wide = sparse.hstack([X, wide], format="csr") if "full" not in case.parameters.values() else sparse.csr_matrix(X)
    model = case.make().partial_fit(wide[:300], y[:300], classes=[0, 1])
    before, coef = everything(model), model.coef_.tobytes()
    bad = wide[300:].copy()
    bad.data[-1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y[300:])
    assert everything(model) == before
    assert model.coef_.tobytes() == coef
    model.partial_fit(wide[300:], y[300:])
    assert everything(model) == everything(case.make().partial_fit(wide, y, classes=[0, 1]))


def test_a_refused_batch_in_which_the_past_began_anew() -> None:
    """With a journal: many rows, each of which has a threshold of its own, and folds of g."""
    X, y = stream(3000, 6, seed=2)
    wide = sparse.hstack([X, sparse.csr_matrix((3000, 1_000_000))], format="csr")
    for average in (True, 2.0):
        model = sureline.RDA(0.5, lam=0.002, normalize="none", average=average)
        model.partial_fit(wide[:700], y[:700], classes=[0, 1])
        before = everything(model)
        bad = wide[700:].copy()
        bad.data[-1] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            model.partial_fit(bad, y[700:])
        assert everything(model) == before


def test_a_class_is_averaged_over_the_rows_since_it_came() -> None:
    X, y = stream(300, 8, n_classes=3, seed=5)
    first = 120
    y[:first] %= 2
    y[first] = 2
    for multi_class in ("native", "ovr"):
        model = sureline.PA(normalize="none", growing=True, multi_class=multi_class, average=True)
        plain = sureline.PA(normalize="none", growing=True, multi_class=multi_class)
        sums = np.zeros(8)
        for row in range(300):
            model.partial_fit(X[row : row + 1], y[row : row + 1])
            plain.partial_fit(X[row : row + 1], y[row : row + 1])
            if row >= first:
                sums += plain.coef_[2]
        np.testing.assert_allclose(model.coef_[2], sums / (300 - first), rtol=1e-9)


def test_progressive_mistakes_are_those_of_the_answers() -> None:
    X, y = stream(200, 8, n_classes=3)
    model = sureline.AROW(average=20.0)
    wrong = 0
    for row in range(200):
        if row:
            wrong += int(model.predict(X[row : row + 1])[0] != y[row])
        else:
            wrong += int(y[row] != 0)
        model.partial_fit(X[row : row + 1], y[row : row + 1], classes=[0, 1, 2])
    assert model.n_mistakes_ == wrong


def test_one_example_at_a_time() -> None:
    examples = [({"cheap": 1.0, "pills": 1.0}, "spam"), ({"lunch": 1.0}, "ham"), ({"cheap": 1.0, "lunch": 2.0}, "ham")]
    one = sureline.SCW(average=True)
    for x, y in examples * 5:
        one.learn_one(x, y)
    assert one.predict_one({"pills": 1.0}) == "spam"
    assert one.predict_one({"lunch": 1.0}) == "ham"
    plain = sureline.SCW()
    for x, y in examples * 5:
        plain.learn_one(x, y)
    assert np.abs(one.coef_).max() < np.abs(plain.coef_).max()


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (sureline.SOFS(average=True), "n_features=100"),
        (sureline.FSOL(max_nonzero=7, average=10), "max_nonzero=7"),
    ],
)
def test_a_bound_on_the_nonzero_weights_has_no_average(learner, words: str) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=words) as caught:
        learner.fit(X, y)
    assert f"average={learner.average}" in str(caught.value)


@pytest.mark.parametrize("wrong", [0, -1.0, "yes", float("inf"), float("nan"), None])
def test_what_is_no_average(wrong) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=r"The 'average' parameter of AROW must be a bool or a float in the range"):
        sureline.AROW(average=wrong).fit(X, y)


def test_it_cannot_change_under_a_model() -> None:
    X, y = stream(50)
    model = sureline.AROW(average=True).partial_fit(X, y, classes=[0, 1])
    for other in (False, 10.0):
        with pytest.raises(ValueError, match="'average' parameter of AROW cannot change"):
            model.set_params(average=other).partial_fit(X, y)


@every_average
def test_a_pickled_average_goes_on_to_the_same_bits(case: Case) -> None:
    X, y = stream(400, 12, n_classes=3)
    model = case.make().partial_fit(X[:150], y[:150], classes=[0, 1, 2])
    copy = pickle.loads(pickle.dumps(model))
    assert copy.coef_.tobytes() == model.coef_.tobytes()
    for each in (model, copy):
        each.partial_fit(X[150:], y[150:])
    assert everything(copy) == everything(model)
    assert copy.coef_.tobytes() == case.make().partial_fit(X, y, classes=[0, 1, 2]).coef_.tobytes()
