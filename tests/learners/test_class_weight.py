"""`class_weight`: scikit-learn's meaning in `fit`, counts so far along a stream, the same bits however it is cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fail, succeed
from sklearn.datasets import make_classification
from sklearn.utils.class_weight import compute_class_weight

import sureline
from sureline.learners.catalogue import EVERY_LEARNER, IN_MEMORY
from sureline.learners.class_weight import row_weights, weighing
from sureline.learners.learner import ClassLearner

KINDS = {
    "margin": lambda **p: sureline.AROW(**p),
    "theta": lambda **p: sureline.SOP(**p),
    "full": lambda **p: sureline.SCW(covariance="full", **p),
    "absorbing": lambda **p: sureline.SSOL(**p),
    "coordinates": lambda **p: sureline.FTRL(**p),
    "dual": lambda **p: sureline.ODCA(**p),
    "kernel": lambda **p: sureline.KernelSCW(**p),
}


def rows(n: int = 300, n_classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    weights = [0.85, 0.15] if n_classes == 2 else [0.7, 0.2, 0.1]
    X, y = make_classification(
        n, 8, n_informative=6, n_classes=n_classes, weights=weights, flip_y=0.1, random_state=seed
    )
    return X, y


def shares_so_far(y: Any) -> Any:
    """n / (K n_k) by the counts up to each row, written down as slowly as it is meant."""
    weights = []
    for t in range(1, len(y) + 1):
        seen = y[:t].tolist()
        weights.append(t / (len(set(seen)) * seen.count(seen[-1])))
    return np.array(weights)


WHATEVER_THE_WEIGHT = {"ROMMA", "CW", "IELLIP"}  # a step meets its constraint, whatever the weight
CLASSIFIERS = [name for name, kind in EVERY_LEARNER.items() if issubclass(kind, ClassLearner)] + [*IN_MEMORY]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_fit_weighs_classes_as_scikit_learn_does(name: str) -> None:
    X, y = rows()
    balanced = compute_class_weight("balanced", classes=np.unique(y), y=y)

    def scores(sample_weight: Any = None, **parameters: Any) -> Any:
        more = {"random_state": 0} if hasattr(getattr(sureline, name)(), "random_state") else {}
        return getattr(sureline, name)(**more, **parameters).fit(X, y, sample_weight).decision_function(X)

    by_name = scores(class_weight="balanced")
    assert np.array_equal(by_name, scores(class_weight=dict(enumerate(balanced))))
    np.testing.assert_allclose(by_name, scores(balanced[y]), rtol=1e-9, atol=1e-9)
    assert np.array_equal(by_name, scores()) == (name in WHATEVER_THE_WEIGHT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stream_is_weighed_by_the_counts_so_far(kind: str, n_classes: int) -> None:
    X, y = rows(n_classes=n_classes)
    classes = list(range(n_classes))
    own = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    expected = KINDS[kind]().partial_fit(X, y, classes, own * shares_so_far(y)).decision_function(X)
    got = KINDS[kind](class_weight="balanced").partial_fit(X, y, classes, own).decision_function(X)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 2: 4.0}])
def test_the_bits_are_the_same_however_the_stream_is_cut(kind: str, class_weight: Any) -> None:
    X, y = rows(200, n_classes=3)
    y = np.roll(y, 1)
    more = {"gamma": 0.1} if kind == "kernel" else {}
    whole = KINDS[kind](class_weight=class_weight, growing=True, **more).partial_fit(X, y)
    parts = KINDS[kind](class_weight=class_weight, growing=True, **more)
    for start in range(0, len(y), 7):
        parts.partial_fit(X[start : start + 7], y[start : start + 7])
    assert np.array_equal(parts.decision_function(X), whole.decision_function(X))
    assert whole.classes_.tolist() == parts.classes_.tolist()


@pytest.mark.parametrize("class_weight", ["balanced", {"a": 3.0, "c": 0.0}])
@pytest.mark.parametrize("kind", ["margin", "absorbing", "dual"])
def test_one_example_at_a_time_is_weighed_alike(kind: str, class_weight: Any) -> None:
    X, codes = rows(120, n_classes=3)
    y = np.array(["a", "b", "c"])[codes]
    together = KINDS[kind](class_weight=class_weight, growing=True).partial_fit(X, y)
    alone = KINDS[kind](class_weight=class_weight)
    columns = np.arange(X.shape[1])
    for x, label in zip(X, y, strict=True):
        alone.learn_one((columns, x), str(label))
    assert np.array_equal(alone.decision_function(X), together.decision_function(X))
    assert alone.n_seen_ == (len(y) if class_weight == "balanced" else int((y != "c").sum()))


def test_a_saved_model_goes_on_with_its_counts(tmp_path: Path) -> None:
    X, y = rows()
    for class_weight in ("balanced", {0: 0.25, 1: 2.0}):
        whole = sureline.SCW(class_weight=class_weight).partial_fit(X, y, [0, 1])
        first = sureline.SCW(class_weight=class_weight).partial_fit(X[:111], y[:111], [0, 1])
        sureline.save(first, tmp_path / "m.sureline")
        loaded = sureline.load(tmp_path / "m.sureline")
        assert loaded.class_weight == class_weight
        loaded.partial_fit(X[111:], y[111:])
        assert np.array_equal(loaded.decision_function(X), whole.decision_function(X))


def test_batches_are_weighed_by_all_rows_up_to_their_end() -> None:
    X, y = rows()
    counts = np.bincount(y[:200]), np.bincount(y)
    expected = sureline.BCW().partial_fit(X[:200], y[:200], [0, 1], (200 / (2 * counts[0]))[y[:200]])
    expected.partial_fit(X[200:], y[200:], sample_weight=(300 / (2 * counts[1]))[y[200:]])
    got = sureline.BCW(class_weight="balanced").partial_fit(X[:200], y[:200], [0, 1]).partial_fit(X[200:], y[200:])
    np.testing.assert_allclose(got.decision_function(X), expected.decision_function(X), rtol=1e-9, atol=1e-9)


def test_a_weight_of_zero_is_as_if_the_rows_had_not_come() -> None:
    X, y = rows(n_classes=3)
    for model in (sureline.AROW(), sureline.SSOL(), sureline.KernelSCW(), sureline.BCW()):
        model.set_params(normalize="scale")
        without = type(model)().partial_fit(X[y != 1], y[y != 1], [0, 1, 2])
        weighed = model.set_params(class_weight={1: 0}).partial_fit(X, y, [0, 1, 2])
        assert weighed.n_seen_ == without.n_seen_
        np.testing.assert_allclose(weighed.decision_function(X), without.decision_function(X), rtol=1e-12)


def test_class_weight_and_cost_multiply() -> None:
    X, y = rows()
    both = sureline.FSOL(class_weight={1: 2.0}, cost=(3.0, 1.0), eta=0.1, loss="log").fit(X, y)
    product = sureline.FSOL(cost=(6.0, 1.0), eta=0.1, loss="log").fit(X, y)
    np.testing.assert_allclose(both.coef_, product.coef_)


def test_confidences_stay_calibrated_without_the_weights() -> None:
    X, y = make_classification(8000, 10, weights=[0.9], flip_y=0.1, random_state=0)
    for make in (sureline.AROW, sureline.SSOL):
        model = make(class_weight={1: 20.0}).partial_fit(X[:6000], y[:6000], [0, 1])
        gap = model.confidence(X[6000:]).mean() - (model.predict(X[6000:]) == y[6000:]).mean()
        assert abs(gap) < 0.04, make


def test_what_is_no_weight_is_refused() -> None:
    X, y = rows(50)
    for wrong in ("balance", {0: -1.0}, {0: float("nan")}, {0: "2"}, [1, 2], 2.0):
        with pytest.raises(ValueError, match="The 'class_weight' parameter of AROW must be None, 'balanced' or a dict"):
            sureline.AROW(class_weight=wrong).fit(X, y)
    for model in (sureline.AROW(), sureline.BCW(), sureline.SDCA()):
        with pytest.raises(ValueError, match="class_weight has a weight for 7, which is not among the classes"):
            model.set_params(class_weight={7: 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight has a weight for 7"):
        sureline.AROW(class_weight={7: 2.0}).partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match="leaves examples of less than 2 classes"):
        sureline.SDCA(class_weight={1: 0.0}).fit(X, y)


def test_rows_of_weight_zero_do_not_count() -> None:
    y = np.array([0, 0, 1, 0, 1], np.int32)
    weight = np.array([1.0, 0.0, 2.0, 1.0, 1.0])
    got = row_weights(weighing("balanced", [0, 1], 2), np.zeros(2, np.int64), y, weight, whole=False)
    np.testing.assert_allclose(got, [1.0, 0.0, 2 * 2 / (2 * 1), 3 / (2 * 2), 4 / (2 * 2)])


def test_the_command_line_weighs_classes(tmp_path: Path) -> None:
    X, y = rows()
    labels = np.array(["ham", "spam"])[y]
    data = tmp_path / "data.csv"
    cells = (",".join(map(repr, row)) for row in X.tolist())
    header = "label," + ",".join(f"x{j}" for j in range(8))
    data.write_text("\n".join([header, *map(",".join, zip(labels, cells, strict=True))]) + "\n")
    train = ["train", str(data), "--algorithm", "arow", "--dtype", "float64", "--normalize", "scale", "--quiet"]
    for given, class_weight in (("balanced", "balanced"), ("spam=5,ham=0.5", {"spam": 5.0, "ham": 0.5})):
        model = tmp_path / "m.sureline"
        succeed(*train, "--class-weight", given, "--model", model)
        loaded = sureline.load(model)
        assert loaded.class_weight == class_weight
        expected = sureline.AROW(class_weight=class_weight).partial_fit(X, labels, ["ham", "spam"])
        assert loaded.n_mistakes_ == expected.n_mistakes_
        np.testing.assert_allclose(loaded.intercept_, expected.intercept_, rtol=1e-9)
    told = succeed(*train, "--class-weight", "spm=5", "--json", "--model", model)
    assert "class_weight has a weight for 'spm', which never came" in json.loads(told)["warnings"][0]
    for wrong in ("spam", "spam=x", "spam=-1", "=2,", "spam=nan"):
        told = fail(2, *train, "--class-weight", wrong, "--model", model)
        assert "is neither balanced nor labels with weights such as spam=5,ham=1" in told
