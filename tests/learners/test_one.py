"""One example at a time: the same model as from a batch, from whatever a row is written in."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from catalogue import every_case
from sklearn.base import clone
from sklearn.feature_extraction import FeatureHasher

from sureline import AROW, FSOL, PA, SCW, SSOL
from sureline._native import _core
from sureline.datasets import make_sparse_stream

X, Y = make_sparse_stream(250, 60, 8, random_state=3)
THREE = (Y + 2 * (np.arange(len(Y)) % 5 == 0)).clip(0, 2)


def row(i: int) -> tuple[Any, Any]:
    return X[i].indices, X[i].data


@pytest.mark.parametrize("labels", [Y, THREE], ids=["two classes", "three classes"])
@every_case
def test_one_by_one_is_the_batch(case: Any, labels: Any) -> None:
    classes = np.unique(labels)
    estimator = case.make()
    try:
        batch = clone(estimator).partial_fit(X, labels, classes=classes)
    except ValueError:
        pytest.skip("not for so many classes")
    one = clone(estimator).partial_fit(X[:1], labels[:1], classes=classes)
    for i in range(1, X.shape[0]):
        one.learn_one(row(i), int(labels[i]))
    assert np.array_equal(batch.coef_, one.coef_)
    assert np.array_equal(batch.intercept_, one.intercept_)
    assert (batch.n_seen_, batch.n_mistakes_, batch.n_updates_) == (one.n_seen_, one.n_mistakes_, one.n_updates_)
    assert [one.predict_one(row(i)) for i in range(20)] == batch.predict(X[:20]).tolist()
    proba = batch.predict_proba(X[:5])
    for i in range(5):
        told = one.predict_proba_one(row(i))
        assert list(told) == classes.tolist()
        assert list(told.values()) == pytest.approx(proba[i].tolist(), rel=1e-12)


def words(i: int) -> dict[str, Any]:
    named = {f"word{j}": float(v) for j, v in zip(*row(i), strict=True)}
    return {**named, "colour": ["red", "green"][i % 2], "new": i % 3 == 0}


def test_names_are_hashed_as_featurehasher_does_it() -> None:
    hashed = FeatureHasher(n_features=1 << 12).transform([words(i) for i in range(100)])
    batch = AROW(bits=12, normalize="none").partial_fit(hashed, Y[:100], classes=[0, 1])
    by_dict = AROW(bits=12, normalize="none")
    by_pairs = AROW(bits=12, normalize="none")
    for i in range(100):
        by_dict.learn_one(words(i), bool(Y[i]))
        by_pairs.learn_one(list(words(i).items()), bool(Y[i]))
    assert by_dict.coef_.shape == (1, 1 << 12)
    np.testing.assert_allclose(by_dict.coef_, batch.coef_, rtol=0, atol=1e-12)
    assert np.array_equal(by_dict.coef_, by_pairs.coef_)
    assert by_dict.n_mistakes_ == batch.n_mistakes_
    assert by_dict.predict_one({"never seen": 1.0}) in (True, False)


class Name(str):
    """Text of another type."""


class Half:
    """A number that Python code makes."""

    def __float__(self) -> float:
        return 0.5


NUMBERS: list[Any] = [0.25, -1.0, 3, True, 0, -0.0, np.float64(0.1), np.float32(0.7), np.int8(-5), Half()]


def assert_read_as_featurehasher_does_it(x: dict[Any, Any], bits: int) -> None:
    columns, values, named = _core.read_row(x, bits)
    assert named
    assert np.all(np.diff(columns) > 0)
    row = np.zeros(1 << bits)
    row[columns] = values
    numbers = {name: value if isinstance(value, str) else float(value) for name, value in x.items()}
    hashed = FeatureHasher(n_features=1 << bits).transform([numbers])
    np.testing.assert_allclose(row, hashed.toarray()[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [1, 16, 17, 100, 127, 128, 129, 255, 256, 1000, 8200, 70_000])
@pytest.mark.parametrize("bits", [3, 18])
def test_names_of_every_kind_and_number(size: int, bits: int) -> None:
    rng = np.random.default_rng(size)
    plain = {f"word{i}": value for i, value in enumerate(rng.standard_normal(size).tolist())}
    assert_read_as_featurehasher_does_it(plain, bits)
    kinds = [str, Name, np.str_, lambda name: f"naïve-{name}", lambda name: name + "漢😀"]
    mixed = {kinds[i % 5](f"{i}"): NUMBERS[j] for i, j in enumerate(rng.integers(0, len(NUMBERS), size).tolist())}
    assert_read_as_featurehasher_does_it({**mixed, "": 2.0, "colour": "blau", "größe": "weiß"}, bits)


@pytest.mark.parametrize("size", [100, 400])
def test_names_whose_hashes_are_much_the_same(size: int) -> None:
    names = [f"n{i}" for i in range(size << 8)]
    columns = FeatureHasher(n_features=1 << 18, input_type="string").transform([[name] for name in names]).indices
    alike = [name for name, column in zip(names, columns, strict=True) if column < 1 << 10]
    assert len(alike) > size / 2
    assert_read_as_featurehasher_does_it(dict.fromkeys(reversed(alike), 1.5), 18)


def test_a_value_that_empties_its_dict() -> None:
    class Emptying(Half):
        def __float__(self) -> float:
            x.clear()
            return 0.5

    x: dict[Any, Any] = {f"a name of its own {i}": 1.0 for i in range(3)}
    x[f"another name {len(x)}"] = Emptying()
    x["never read"] = 1.0
    columns, values, _ = _core.read_row(x, 18)
    assert (len(columns), sorted(map(abs, values))) == (4, [0.5, 1, 1, 1])
    x["text"], x[5] = 1.0, Emptying()
    with pytest.raises(ValueError, match="not both"):
        _core.read_row(x, 18)


def test_the_forms_of_a_row() -> None:
    forms: list[Any] = [
        (np.array([5, 2, 5]), np.array([1.0, 2.0, 0.5])),
        (np.array([9, 2, 9, 5], np.int32)[1::2].repeat(1), np.array([2.0, 1.5], np.float32)),
        {2: 2.0, 5: 1.5},
        {np.int64(5): np.float32(1.5), 2: 2},
        [(5, 1), (2, 2.0), (5, 0.5)],
    ]
    weights = [AROW(fit_intercept=False, normalize="none").learn_one(x, 1).learn_one(x, 0).coef_ for x in forms]
    for other in weights[1:]:
        assert np.array_equal(weights[0], other)
    assert AROW(normalize="none").learn_one({}, True).n_seen_ == 1
    assert AROW(normalize="none").learn_one([], True).learn_one({3: 1.0}, False).n_features_in_ == 4


def test_classes_and_columns_come_as_they_come() -> None:
    clf = AROW(normalize="none")
    assert clf.predict_one({"a": 1}) is None
    assert clf.predict_proba_one({"a": 1}) == {}
    for _ in range(3):
        clf.learn_one({0: 1.0}, "ham").learn_one({1: 1.0}, "spam").learn_one({7: 1.0}, "news")
    assert clf.classes_.tolist() == ["ham", "spam", "news"]
    assert clf.n_features_in_ == 8
    assert [clf.predict_one({k: 1.0}) for k in (0, 1, 7)] == ["ham", "spam", "news"]
    grown = AROW(growing=True, normalize="none")
    dense = np.eye(8)
    for _ in range(3):
        for k, label in ((0, "ham"), (1, "spam"), (7, "news")):
            grown.partial_fit(dense[[k], : k + 1], [label])
    assert np.array_equal(grown.coef_, clf.coef_)
    truth = PA(normalize="none").learn_one({0: 1.0}, True)
    assert truth.classes_.tolist() == [False, True]


@pytest.mark.parametrize(
    ("x", "y", "weight", "error", "message"),
    [
        (5, 1, 1.0, TypeError, "A row is a dict, a list of pairs"),
        ({"a": float("nan")}, 1, 1.0, ValueError, "The value of the feature 'a' is nan"),
        ({3: float("inf")}, 1, 1.0, ValueError, "The value of the feature 3 is inf"),
        ({"a": None}, 1, 1.0, TypeError, "The value of the feature 'a' must be a number. Got None"),
        ({"a": 10**400}, 1, 1.0, TypeError, "The value of the feature 'a' must be a number"),
        ({"a": 1, 3: 2}, 1, 1.0, ValueError, "names or column numbers, not both"),
        ({"\ud800": 1}, 1, 1.0, ValueError, "cannot be encoded as UTF-8"),
        ({-1: 1.0}, 1, 1.0, ValueError, "The column -1 is outside 0 to 2147483646"),
        ({2**70: 1.0}, 1, 1.0, ValueError, "is outside 0 to 2147483646"),
        ({1.5: 1.0}, 1, 1.0, TypeError, "A feature is named by text or by the number of its column"),
        ((np.array([1]), np.array([1.0, 2.0])), 1, 1.0, ValueError, "vectors of one length"),
        ((np.array([1.0]), np.array([1.0])), 1, 1.0, TypeError, "Columns must be int32 or int64"),
        ((np.array([1]), [1.0]), 1, 1.0, TypeError, "must both be arrays"),
        ((np.array([1]), np.array([np.nan])), 1, 1.0, ValueError, "a value that is"),
        ([(1, 2, 3)], 1, 1.0, TypeError, "pairs of a feature and its value"),
        ({1: 1.0}, "text", 1.0, ValueError, "of another type"),
        ({1: 1.0}, float("nan"), 1.0, ValueError, "nan"),
        ({1: 1.0}, [1], 1.0, ValueError, "A label must be"),
        ({1: 1.0}, 1, -1.0, ValueError, "sample_weight must be finite and not negative"),
        ({1: 1.0}, 1, float("nan"), ValueError, "sample_weight must be finite"),
        ({1: 1e300}, 1, 1.0, ValueError, "score or a step"),
    ],
)
def test_what_is_refused_leaves_no_trace(x: Any, y: Any, weight: float, error: type, message: str) -> None:
    clf = SSOL(dtype="float64", normalize="none").learn_one({1: 1.0, 4: 2.0}, 0).learn_one({1: 2.0}, 1)
    before = pickle.dumps(clf._state)
    with pytest.raises(error, match=message):
        clf.learn_one(x, y, weight)
    assert pickle.dumps(clf._state) == before
    clf.learn_one({1: 1.0}, 1)


def test_parameters_and_copies() -> None:
    clf = SSOL(lam=0.5, normalize="none").learn_one({1: 1.0}, 1).learn_one({2: 1.0}, 0)
    twin, again = copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))
    clf.learn_one({1: 5.0}, 0)
    assert twin.n_seen_ == again.n_seen_ == 2
    for other in (twin, again):
        other.learn_one({1: 5.0}, 0)
        assert np.array_equal(other.coef_, clf.coef_)
    clf.set_params(eta=-1.0)
    with pytest.raises(ValueError, match="'eta' parameter of SSOL must be"):
        clf.learn_one({1: 1.0}, 1)
    with pytest.raises(ValueError, match="unequal costs"):
        FSOL(cost=(5, 1), normalize="none").learn_one({1: 1.0}, "spam")


def test_batches_and_single_examples_mix() -> None:
    mixed, plain = SCW(normalize="none"), SCW(normalize="none").partial_fit(X, Y, classes=[0, 1])
    mixed.partial_fit(X[:100], Y[:100], classes=[0, 1])
    for i in range(100, 150):
        mixed.learn_one(row(i), int(Y[i]))
    mixed.partial_fit(X[150:200], Y[150:200])
    for i in range(200, 250):
        mixed.learn_one(row(i), int(Y[i]))
    assert np.array_equal(mixed.coef_, plain.coef_)
    assert np.array_equal(mixed.covariance_, plain.covariance_)
