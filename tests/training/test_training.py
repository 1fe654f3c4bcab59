"""Streams into models from Python, and how good they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fail, succeed
from scipy.special import expit
from sklearn.linear_model import Perceptron as OtherPerceptron
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, roc_auc_score
from stream_files import write_rows

import sureline
from sureline import AROW, PA, SSOL, ODCARegressor, stream
from sureline.datasets import make_sparse_stream
from sureline.evaluate import RankingCurve, evaluate
from sureline.learners.catalogue import LEARNERS
from sureline.stream import DataError
from sureline.training import Progress

X, Y = make_sparse_stream(1500, 200, 10, n_informative=40, random_state=0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.svm", X, Y)


def test_train_is_fit(data: Path, tmp_path: Path) -> None:
    trained = sureline.train(
        data, SSOL(lam=0.5, cost="balanced", passes=2, normalize="none"), labels=[0, 1], model=tmp_path / "m"
    )
    fitted = SSOL(lam=0.5, cost="balanced", passes=2, normalize="none").fit(X, Y)
    assert isinstance(trained, SSOL)
    assert np.array_equal(trained.coef_, fitted.coef_[:, : trained.n_features_in_])
    assert (trained.n_seen_, trained.n_mistakes_) == (3000, fitted.n_mistakes_)
    loaded = sureline.load(tmp_path / "m")
    assert np.array_equal(loaded.coef_, trained.coef_)
    assert loaded.get_params() == trained.get_params()
    assert np.array_equal(loaded.predict(X[:, : loaded.n_features_in_]), fitted.predict(X))
    loaded.partial_fit(X[:10, : loaded.n_features_in_], Y[:10])

    by_name = sureline.train(data, "arow", r=2.0, normalize="none")
    assert by_name.dtype == "float32"
    assert np.array_equal(
        by_name.coef_, AROW(r=2.0, dtype="float32", normalize="none").fit(X.astype(np.float32), Y).coef_
    )


def test_what_train_refuses(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no algorithm 'svm'"):
        sureline.train(data, "svm", normalize="none")
    with pytest.raises(TypeError, match="a name or an estimator of sureline"):
        sureline.train(data, OtherPerceptron())
    with pytest.raises(TypeError, match="r must be set on the estimator"):
        sureline.train(data, AROW(normalize="none"), r=2.0)
    with pytest.raises(ValueError, match="labels must name at least two classes"):
        sureline.train(data, "pa", labels=[1], normalize="none")
    with pytest.raises(ValueError, match="resume needs the path of a checkpoint"):
        sureline.train(data, "pa", resume=True, normalize="none")
    with pytest.raises(DataError, match="is not among those given: 1,2"):
        sureline.train(data, "pa", labels=[1, 2], normalize="none")
    with pytest.raises(TypeError, match="model must be an estimator of sureline"):
        sureline.save(OtherPerceptron(), tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="before fit"):
        sureline.save(AROW(normalize="none"), tmp_path / "x")
    assert not (tmp_path / "x").exists()
    (tmp_path / "tag.vw").write_text("1 | a\n| b\n")
    with pytest.raises(DataError, match="label"):
        sureline.train(tmp_path / "tag.vw", "pa", normalize="none")


def test_progress_is_told_at_powers_of_two(data: Path) -> None:
    told: list[Progress] = []
    clf = sureline.train(data, "pa", on_progress=told.append, normalize="none")
    assert [p.examples for p in told] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1500]
    assert told[-1].mistakes == clf.n_mistakes_
    assert told[-1].share == 1.0
    for progress in told[4:]:
        n = progress.examples
        assert (
            progress.mistakes
            == PA(dtype="float32", normalize="none").partial_fit(X[:n], Y[:n], classes=[0, 1]).n_mistakes_
        )


def test_a_class_that_comes_late(tmp_path: Path) -> None:
    late = Y.copy()
    late[1000:] += 2 * (np.arange(500) % 3 == 0)
    late[late > 2] = 2
    path = write_rows(tmp_path / "late.svm", X, late)
    source = stream.read(path, dtype="float64").with_options(block=1 << 12)
    for algorithm in (
        AROW(normalize="none"),
        SSOL(lam=0.1, normalize="none"),
        AROW(multi_class="ovr", normalize="none"),
    ):
        clf = sureline.train(source, algorithm)
        grown = type(algorithm)(**{**algorithm.get_params(), "growing": True})
        for start in range(0, 1500, 100):
            grown.partial_fit(X[start : start + 100], late[start : start + 100], classes=[0, 1] if start == 0 else None)
        assert clf.classes_.tolist() == [0, 1, 2]
        assert np.array_equal(clf.coef_, grown.coef_[:, : clf.n_features_in_])
        assert clf.n_mistakes_ == grown.n_mistakes_


def test_save_and_load_keep_what_an_estimator_has(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :5].toarray(), columns=list("abcde"))
    clf = AROW(normalize="none").fit(frame, np.where(Y, "spam", "ham"))
    sureline.save(clf, tmp_path / "m")
    loaded = sureline.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == list("abcde")
    assert np.array_equal(loaded.predict(frame), clf.predict(frame))
    truth = PA(normalize="none").fit(X, Y.astype(bool))
    sureline.save(truth, tmp_path / "m")
    assert sureline.load(tmp_path / "m").classes_.tolist() == [False, True]
    one = AROW(normalize="none").learn_one({"casino": 1.0}, "spam").learn_one({"lunch": 1.0}, "ham")
    sureline.save(one, tmp_path / "m")
    loaded = sureline.load(tmp_path / "m")
    assert loaded.predict_one({"casino": 1.0}) == "spam"
    assert np.array_equal(loaded.learn_one({"x": 1.0}, "ham").coef_, one.learn_one({"x": 1.0}, "ham").coef_)
    for name in LEARNERS:
        assert type(sureline.load(_saved(name, tmp_path))).__name__ == name


def _saved(name: str, tmp_path: Path) -> Path:
    sureline.save(getattr(sureline, name)().fit(X, Y), tmp_path / name)
    return tmp_path / name


def test_evaluation_is_scikit_learns(data: Path, tmp_path: Path) -> None:
    clf = sureline.train(data, "scw", dtype="float64", C=0.1, normalize="none")
    told = evaluate(clf, stream.read(data), cost=(3.0, 0.5))
    narrow = X[:, : clf.n_features_in_]
    proba, guess = clf.predict_proba(narrow)[:, 1], clf.predict(narrow)
    assert told["error"] == pytest.approx((guess != Y).mean())
    assert told["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(Y, guess))
    assert told["auc"] == pytest.approx(roc_auc_score(Y, clf.decision_function(narrow)))
    assert told["calibration"]["brier"] == pytest.approx(brier_score_loss(Y, proba))
    assert told["calibration"]["log_loss"] == pytest.approx(log_loss(Y, proba))
    assert told["cost_per_example"] == pytest.approx(
        (3.0 * ((guess == 0) & (Y == 1)).sum() + 0.5 * ((guess == 1) & (Y == 0)).sum()) / len(Y)
    )
    three = np.where(Y, 1, np.arange(len(Y)) % 2 * 2)
    many = AROW(normalize="none").fit(X, three)
    told = evaluate(many, stream.read(write_rows(tmp_path / "three.svm", X, three)))
    assert told["error"] == pytest.approx((many.predict(X) != three).mean())
    assert told["calibration"]["log_loss"] == pytest.approx(log_loss(three, many.predict_proba(X)))
    unknown = write_rows(tmp_path / "unknown.svm", X[:10], np.full(10, 7))
    told = evaluate(clf, stream.read(unknown))
    assert (told["error"], told["unknown_labels"]) == (1.0, {"7": 10})


def test_the_ranking_curve_of_many_scores() -> None:
    rng = np.random.default_rng(0)
    few, many = RankingCurve(), RankingCurve()
    scores = np.round(rng.standard_normal(5000), 2)  # with ties
    positive = rng.random(5000) < 1 / (1 + np.exp(-scores))
    few.add(scores[:2000], positive[:2000])
    few.add(scores[2000:], positive[2000:])
    assert few.area == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
    assert few.uncertainty == 0
    scores = rng.standard_normal(1_500_000) * 10.0 ** rng.integers(-3, 4, 1_500_000)
    positive = rng.random(len(scores)) < expit(scores)
    for start in range(0, len(scores), 400_000):
        many.add(scores[start : start + 400_000], positive[start : start + 400_000])
    assert 0 < many.uncertainty < 1e-3
    assert many.area == pytest.approx(roc_auc_score(positive, scores), abs=many.uncertainty)
    assert RankingCurve().area is None


@pytest.mark.parametrize(
    "clf",
    [
        SSOL(lam=2.0, normalize="none"),
        SSOL(max_nonzero=15, normalize="none"),
        sureline.SOFS(n_features=15, normalize="none"),
        SSOL(lam=2.0, multi_class="ovr", normalize="none"),
        sureline.FTRL(normalize="none"),
        sureline.STG(lam=0.01, normalize="none"),
        PA(normalize="none"),
    ],
    ids=str,
)
def test_compact_models_score_the_same(clf: Any, tmp_path: Path) -> None:
    for labels in (Y, (Y + np.arange(len(Y)) % 2) % 3):
        clf.fit(X, labels)
        sureline.save(clf, tmp_path / "all")
        sureline.save(clf, tmp_path / "compact", compact=True)
        small = sureline.load(tmp_path / "compact")
        assert np.array_equal(small.coef_, clf.coef_)
        assert np.array_equal(small.decision_function(X), clf.decision_function(X))
        if clf.nonzero_ < 50:
            assert (tmp_path / "compact").stat().st_size < (tmp_path / "all").stat().st_size
        small.partial_fit(X, labels)


def test_compact_models_keep_the_names_of_what_they_keep(tmp_path: Path) -> None:
    from sureline.demo import write_mail
    from sureline.learners.saving import read_learner
    from sureline.training import Training

    write_mail(tmp_path, 3000)
    learner = LEARNERS["SSOL"](lam=20.0, schedule="constant", r=1000.0, dtype="float32", normalize="none")
    training = Training(learner, stream.read(tmp_path / "mail.txt.zst", dtype="float32", collect_names=True))
    training.run()
    training.save_model(tmp_path / "all")
    training.save_model(tmp_path / "compact", compact=True)
    whole, small = read_learner(tmp_path / "all"), read_learner(tmp_path / "compact")
    assert (tmp_path / "compact").stat().st_size < (tmp_path / "all").stat().st_size / 5
    assert [w.names for w in small.learner.top_weights(20, small.names)] == [
        w.names for w in whole.learner.top_weights(20, whole.names)
    ]


@pytest.mark.parametrize("learner", [PA(normalize="none"), ODCARegressor(normalize="none", loss="squared")])
def test_a_row_that_overflows_is_told_by_its_place_in_the_stream(learner: Any, tmp_path: Path) -> None:
    good, bad = b"1 1:1\n-1 2:1\n" * 500, b"1 1:1e300 2:-1e300\n-1 1:1e300\n"
    (tmp_path / "rows.svm").write_bytes(good + bad)
    for block in (1 << 22, 600):
        source = stream.read(tmp_path / "rows.svm").with_options(block=block)
        with pytest.raises(ValueError, match=r"Row 1,00[12] of the stream .* rows (and labels )?so that their values"):
            sureline.train(source, learner)


@pytest.mark.parametrize(
    ("learner", "way"),
    [
        (SSOL(dtype="float32"), ": number the columns without gaps, or have fewer classes."),
        (PA(), r': use dtype="float32" \(--dtype float32\), number'),
    ],
    ids=repr,
)
def test_a_model_that_no_file_can_hold_is_refused_before_it_is_learned(learner: Any, way: str, tmp_path: Path) -> None:
    from sureline.training import Training

    rows = "".join(f"{label} {1 + label}:1 {2**31 - 2}:1\n" for label in range(600))
    (tmp_path / "rows.svm").write_text(rows)
    training = Training(learner, stream.read(tmp_path / "rows.svm", dtype=learner.dtype))
    with pytest.raises(ValueError, match=rf"rows\.svm: .* 2,147,483,64\d columns and 600 classes, .* 4,398 GB .*{way}"):
        training.run()
    assert not training.begun


def test_a_model_that_becomes_too_large_for_a_file_is_refused_at_once(tmp_path: Path) -> None:
    """By classes that come late, beside columns that came early."""
    from sureline.training import Training

    early = f"0 {2**31 - 2}:1\n1 1:1\n2 1:1\n" * 100
    (tmp_path / "rows.svm").write_text(early + "".join(f"{label} 1:1\n" for label in range(600)))
    source = stream.read(tmp_path / "rows.svm", dtype="float32").with_options(block=1000)
    training = Training(SSOL(dtype="float32"), source)
    with pytest.raises(ValueError, match=r"2,147,483,64\d columns and"):
        training.run()
    assert 0 < training.examples < 900


def test_rows_of_weight_0_are_nothing_to_learn_from(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("label,x,w\n" + "0,1,0\n1,2,0\n" * 20)
    for algorithm in ("auto", "arow", "scw", "bcw"):
        with pytest.raises(DataError, match="every row has the weight 0, so there is nothing to learn from"):
            sureline.train(path, algorithm, weight="w", model=tmp_path / "m", bits=10)
        assert not (tmp_path / "m").exists()
    result = sureline.tournament([AROW()], path, weight="w")
    assert not result.stream["complete"]
    assert "every row has the weight 0" in (result.stream["problem"] or "")


def test_a_full_covariance_of_hashed_columns_is_refused_with_what_helps(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("y,x,city\n" + "0.5,1,Rome\n1.5,2,Oslo\n" * 20)
    words = ["train", path, "--label", "y", "--algorithm", "arowregressor", "--quiet", "--model", tmp_path / "m"]
    said = fail(1, *words)
    assert "a full covariance of 1,048,576 columns takes" in said
    assert "(--covariance diag) takes some bytes a column, and fewer --bits give fewer columns" in said
    succeed(*words, "--covariance", "diag")
    succeed(*words, "--bits", "6")
