"""The classifiers as models of River, tried with River itself."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sureline

pytest.importorskip("river")

from river import checks, compose, datasets, evaluate, feature_extraction, metrics, multiclass, preprocessing

from sureline.river import Learner

MODELS = {
    "arow": lambda: Learner("arow"),
    "estimator": lambda: Learner(sureline.SSOL(dtype="float32", multi_class="ovr")),
    "two classes": lambda: Learner("ssol", cost=(5.0, 1.0)),
}


def every_check() -> list[Any]:
    return [
        pytest.param(MODELS[name], k, id=f"{name}-{check.__name__}-{k}")
        for name in MODELS
        for k, check in enumerate(checks.yield_checks(MODELS[name]()))
    ]


@pytest.mark.parametrize(("make", "k"), every_check())
def test_every_check_of_river_passes(make: Callable[[], Learner], k: int) -> None:
    model = make()
    check = list(checks.yield_checks(model))[k]
    assert check.__name__ not in model._unit_test_skips()
    check(model.clone())


def test_only_learners_of_two_classes_say_so() -> None:
    assert Learner("arow")._multiclass
    assert not Learner("ssol", cost=(5.0, 1.0))._multiclass
    assert Learner("ssol", cost=(5.0, 1.0), multi_class="ovr")._multiclass


def images(n: int = 400) -> list[tuple[dict[str, float], str]]:
    return list(datasets.ImageSegments().take(n))


def test_it_answers_as_the_estimator_does() -> None:
    ours, theirs = sureline.AROW(r=0.5), Learner("arow", r=0.5)
    for x, y in images():
        assert theirs.predict_proba_one(x) == ours.predict_proba_one(x)
        assert theirs.predict_one(x) == ours.predict_one(x)
        ours.learn_one(x, y)
        theirs.learn_one(x, y)
    assert theirs.model.coef_.tobytes() == ours.coef_.tobytes()
    assert set(theirs.predict_proba_one(images()[0][0])) == {y for _, y in images()}


def test_it_learns_in_a_pipeline_of_river() -> None:
    model = preprocessing.StandardScaler() | Learner("scw")
    score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert score.get() > 0.85


def test_a_learner_of_two_classes_can_be_one_of_many_in_river() -> None:
    model = multiclass.OneVsRestClassifier(Learner("ssol", cost=(2.0, 1.0)))
    score = evaluate.progressive_val_score(images(), model, metrics.Accuracy())
    assert score.get() > 0.5


def test_names_need_not_be_text() -> None:
    learner = Learner("arow")
    words = compose.Pipeline(feature_extraction.BagOfWords(ngram_range=(1, 2)), learner)
    for _ in range(3):
        words.learn_one("cheap pills today", True)
        words.learn_one("see you at lunch", False)
    assert words.predict_one("cheap pills") is True
    assert words.predict_one("lunch") is False
    learner.learn_one({3: 1.0, ("a", "b"): 2.0, "a": "text", None: 1.0}, True)
    with pytest.raises(ValueError, match=r"3 and '3', which are the same as text"):
        learner.learn_one({3: 1.0, "3": 2.0}, True)


def test_data_frames_are_learned_row_by_row() -> None:
    pd = pytest.importorskip("pandas")
    one, many = Learner("arow"), Learner("arow")
    rows = images()
    for x, y in rows:
        one.learn_one(x, y)
    X, y = pd.DataFrame([x for x, _ in rows], index=range(1000, 1400)), pd.Series([y for _, y in rows])
    for start in range(0, 400, 70):
        many.learn_many(X[start : start + 70], y[start : start + 70])
    assert many.model.coef_.tobytes() == one.model.coef_.tobytes()
    labels, chances = many.predict_many(X), many.predict_proba_many(X)
    assert labels.tolist() == [one.predict_one(x) for x, _ in rows]
    assert labels.index.tolist() == chances.index.tolist() == list(range(1000, 1400))
    assert chances.to_dict("records") == [one.predict_proba_one(x) for x, _ in rows]
    assert Learner("arow").predict_many(X[:3]).tolist() == [None] * 3
    with pytest.raises(ValueError, match="shorter"):
        many.learn_many(X, y[:3])


def test_a_cell_that_is_missing_is_a_feature_less() -> None:
    pd = pytest.importorskip("pandas")
    one, many = Learner("pa"), Learner("pa")
    rows = [({"a": 1.0, "c": "red"}, "x"), ({"b": 2.0}, "y"), ({"a": 0.5, "b": 1.0, "c": "blue"}, "z")] * 3
    for x, y in rows:
        one.learn_one(x, y)
    frame = pd.DataFrame([x for x, _ in rows])
    assert frame.isna().to_numpy().any()
    many.learn_many(frame, pd.Series([y for _, y in rows]))
    assert many.model.coef_.tobytes() == one.model.coef_.tobytes()


def test_clones_are_fresh_and_copies_are_not() -> None:
    rows = images(100)
    given = sureline.AROW(r=0.5)
    learner = Learner(given)
    for x, y in rows:
        learner.learn_one(x, y)
    assert not hasattr(given, "classes_")
    clone = learner.clone()
    assert clone.predict_one(rows[0][0]) is None
    assert clone.model.r == 0.5
    assert learner.clone({"algorithm": "pa"}).model.__class__ is sureline.PA
    for other in (pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        assert [other.predict_proba_one(x) for x, _ in rows] == [learner.predict_proba_one(x) for x, _ in rows]
        for x, y in rows:
            other.learn_one(x, y)
        assert other.model.n_seen_ == 200
        assert learner.model.n_seen_ == 100


def test_a_model_that_was_trained_goes_on(tmp_path: Path) -> None:
    rows = images(200)
    first = Learner("arow")
    for x, y in rows[:100]:
        first.learn_one(x, y)
    sureline.save(first.model, tmp_path / "images.sureline")
    second = Learner(sureline.load(tmp_path / "images.sureline"))
    for x, y in rows[100:]:
        first.learn_one(x, y)
        second.learn_one(x, y)
    assert second.model.coef_.tobytes() == first.model.coef_.tobytes()
    assert second.clone().model.n_seen_ == 100


def test_labels_may_be_anything_of_one_type() -> None:
    for labels in ([True, False], [np.True_, np.False_], [3, 1, 7], ["a", "b", "c"], [0.5, 1.5]):
        learner = Learner("arow")
        for _ in range(10):
            for k, label in enumerate(labels):
                learner.learn_one({f"x{k}": 1.0}, label)
        assert [learner.predict_one({f"x{k}": 1.0}) for k in range(len(labels))] == labels
    learner = Learner("arow")
    learner.learn_one({"x": 1.0}, "a")
    with pytest.raises(ValueError, match="another type"):
        learner.learn_one({"x": 1.0}, 3)
    assert learner.predict_proba_one({"x": 1.0}) == {"a": 1.0}


@pytest.mark.parametrize(
    ("algorithm", "parameters", "error", "words"),
    [
        ("no such", {}, ValueError, "There is no algorithm 'no such'"),
        ("bcw", {}, TypeError, "one row after the other"),
        ("arowregressor", {}, TypeError, "must be a classifier of sureline"),
        (3, {}, TypeError, "Got 3 instead"),
        (sureline.AROW(), {"r": 2.0}, TypeError, "r must be set on the estimator"),
        ("arow", {"r": -1.0}, ValueError, "-1.0"),
        ("arow", {"nothing": 1}, TypeError, "nothing"),
    ],
)
def test_wrong_parameters_are_refused(algorithm: Any, parameters: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Learner(algorithm, **parameters)


def test_without_river_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['river'] = None; import sureline.river"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: sureline.river needs River: pip install 'sureline[river]'." in done.stderr
