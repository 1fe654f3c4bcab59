"""Progressive evaluation: the curves are those of a literal loop, whatever the learner, the source and its cuts."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import Case, stream
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB

import sureline
from sureline import AROW, BCW, CPA, PA, SSOL, KernelSCW
from sureline.evaluate import Prequential, prequential

LEARNERS = [
    Case("Perceptron"),
    Case("PA", {"variant": "II", "C": 0.5}),
    Case("ALMA"),
    Case("AROW", {"r": 0.5, "covariance": "diag"}),
    Case("SCW", {"C": 0.3, "covariance": "full"}),
    Case("CPA", {"cost": (4.0, 0.5)}),
    Case("FTRL", {"alpha": 0.3, "l1": 0.5}),
    Case("SSOL", {"covariance": "diag", "max_nonzero": 7}),
    Case("SOFS", {"n_features": 5}),
    Case("ODCA", {"rho": 0.1, "window": "exponential", "half_life": 50}),
    Case("ODCA", {"rho": 0.1, "window": "sliding", "length": 40, "regularizer": "elastic_net", "delta": 0.01}),
]


def literally(estimator: Any, X: Any, y: np.ndarray, batch: int = 1, weight: np.ndarray | None = None) -> np.ndarray:
    """True for examples that a model of all earlier examples predicts wrongly.

    SSOL takes the row, without its label, into its covariance before it predicts: it is asked by its counter.
    """
    classes = np.unique(y)
    wrong: list[bool] = []
    for start in range(0, len(y), batch):
        rows = slice(start, start + batch)
        fitted = hasattr(estimator, "classes_")
        predicted = estimator.predict(X[rows]) if fitted else np.full(len(y[rows]), classes[0])
        before = estimator.n_mistakes_ if fitted and isinstance(estimator, SSOL) else 0
        more = {} if weight is None else {"sample_weight": weight[rows]}
        estimator.partial_fit(X[rows], y[rows], **({} if fitted else {"classes": classes}), **more)
        counted = [estimator.n_mistakes_ > before] if isinstance(estimator, SSOL) else predicted != y[rows]
        wrong += list(counted)
    return np.array(wrong)


def assert_curves(result: Prequential, name: str, wrong: np.ndarray, *, end: bool = True) -> None:
    """The curves are those of these mistakes; `end` says whether that holds for the last window too."""
    assert result.n_examples == len(wrong)
    assert result.mistakes[name] == wrong.sum()
    np.testing.assert_array_equal(result.error[name], [wrong[:n].mean() for n in result.examples])
    windowed = [wrong[max(0, n - result.window) : n].mean() for n in result.examples]
    stop = None if end else -1
    np.testing.assert_array_equal(result.windowed_error[name][:stop], windowed[:stop])


@pytest.mark.parametrize("case", LEARNERS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_curves_are_those_of_a_literal_loop(case: Case, n_classes: int) -> None:
    X, y = stream(150, n_classes=n_classes)
    learned = case.make()
    wrong = literally(learned, X, y)
    result = prequential({"x": case.make()}, (X, y), window=20, every=7, drifts=[75])
    assert result.examples.tolist() == sorted([*range(7, 150, 7), 75, 150])
    assert_curves(result, "x", wrong)
    assert np.array_equal(result.estimators["x"].coef_, learned.coef_)
    assert result.estimators["x"].n_mistakes_ == wrong.sum()


@pytest.mark.parametrize(("window", "every"), [(1, 1), (1, 10), (20, 20), (21, 20), (20, 21), (1000, 9), (7, None)])
def test_windows_of_any_length(window: int, every: int | None) -> None:
    X, y = stream(150)
    wrong = literally(AROW(normalize="none"), X, y)
    result = prequential(AROW(normalize="none"), (X, y), window=window, every=every)
    assert result.examples[0] == (every or 1)
    assert_curves(result, "AROW", wrong)


def cut(X: Any, y: np.ndarray, at: list[int]) -> list[tuple[Any, np.ndarray]]:
    return [(X[a:b], y[a:b]) for a, b in pairwise([0, *at, len(y)])]


def test_how_the_stream_comes_makes_no_difference(tmp_path: Path) -> None:
    X, y = stream(160, n_classes=3)
    wrong = literally(AROW(normalize="none"), X, y)
    file = tmp_path / "a.svm"
    lines = [
        f"{label} " + " ".join(f"{j}:{float(value)!r}" for j, value in enumerate(row) if value)
        for row, label in zip(X, y, strict=True)
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    settings = {"window": 30, "every": 8, "classes": [0, 1, 2]}
    sources = [
        (X, y),
        (sparse.csr_matrix(X), y),
        (sparse.coo_array(X), y.tolist()),
        (X.tolist(), y),
        cut(X, y, [1, 2, 3, 50, 50, 97]),
        tuple(cut(X, y, [64])),
        iter(cut(sparse.csr_array(X), y, list(range(1, 160)))),
        [(X, y, None)],
        file,
        str(file),
        [file],
        sureline.stream.read(file),
        (chunk for chunk in sureline.stream.read(file)),
        iter([chunk.part(a, b) for chunk in sureline.stream.read(file) for a, b in [(0, 100), (100, 160)]]),
    ]
    for source in sources:
        result = prequential(AROW(normalize="none"), source, **settings)
        assert result.examples.tolist() == list(range(8, 161, 8))
        assert_curves(result, "AROW", wrong)


def test_files_are_as_wide_as_their_rows_and_have_classes_as_they_come(tmp_path: Path) -> None:
    """Chunk by chunk there are more columns and classes, as there are from row to row."""
    rng = np.random.default_rng(0)
    X = np.tril(np.ones((60, 60))) * rng.standard_normal((60, 60))
    y = np.minimum(np.arange(60) // 20, rng.integers(3, size=60))
    names = np.array(["b", "a", "c"])[y]
    single = PA(growing=True, normalize="none")
    rows = [sparse.csr_matrix(X[i : i + 1, : i + 1]) for i in range(60)]
    wrong = [single.partial_fit(rows[i], names[i : i + 1]).n_mistakes_ for i in range(60)]
    wrong = np.diff(wrong, prepend=0)
    file = tmp_path / "a.svm"
    for i in range(60):
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{names[i]} " + " ".join(f"{j}:{float(X[i, j])!r}" for j in range(i + 1)) + "\n")
    chunks = list(sureline.stream.read(file))
    cut_up = [chunks[0].part(a, a + 5) for a in range(0, 60, 5)]
    narrow = [sureline.stream.Chunk(c.values, c.indices, c.indptr, c.labels, int(c.indices.max()) + 1) for c in cut_up]
    for source in (file, narrow):
        result = prequential([PA(normalize="none"), AROW(normalize="none")], source, window=10, every=4)
        assert_curves(result, "PA", wrong)
        trained = result.estimators["PA"]
        assert np.array_equal(trained.coef_, single.coef_)
        assert trained.classes_.tolist() == ["b", "a", "c"]
        assert trained.growing is False
    with pytest.raises(ValueError, match=r"'PA' failed on the rows .* X has 10 columns, and 5 in the rows before"):
        prequential(PA(normalize="none"), [(c.X, c.y) for c in narrow], every=4)
    grown = prequential(PA(growing=True, normalize="none"), [(c.X, c.y) for c in narrow], window=10, every=4)
    assert_curves(grown, "PA", wrong)
    assert grown.estimators["PA"].growing is True


def test_the_end_of_a_stream_that_nobody_knew() -> None:
    """Its window begins where a slice began."""
    X, y = stream(150)
    wrong = literally(PA(normalize="none"), X, y)
    result = prequential(PA(normalize="none"), iter([(X, y)]), window=20, every=7, classes=[0, 1])
    assert result.examples[-2:].tolist() == [147, 150]
    assert_curves(result, "PA", wrong, end=False)
    assert result.windowed_error["PA"][-1] == wrong[127:].mean()  # 127 is 147 less 20, the latest before 130


def test_curves_of_long_streams_are_thinned() -> None:
    X, y = stream(2500)
    model = PA(normalize="none")
    counts = [model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1]).n_mistakes_ for i in range(2500)]
    wrong = np.diff(counts, prepend=0)
    for window in (3, 50):
        result = prequential(
            PA(normalize="none"), iter(cut(X, y, [1, 2000, 2001])), window=window, drifts=[1, 777], classes=[0, 1]
        )
        assert 500 <= len(result.examples) <= 1003
        assert {1, 777, 2500} <= set(result.examples.tolist())
        assert np.diff(result.examples).max() <= 10
        assert_curves(result, "PA", wrong)
    assert len(prequential(PA(normalize="none"), (X, y)).examples) == 500


def test_weights_count_for_learning_and_rows_without_do_not_count() -> None:
    X, y = stream(120)
    weight = np.random.default_rng(0).integers(0, 3, 120).astype(float)
    kept = weight > 0
    result = prequential(
        {"a": AROW(normalize="none"), "b": GaussianNB(), "c": BCW(normalize="none")},
        (X, y, weight),
        window=20,
        every=10,
        batch=10,
        drifts=[33],
    )
    assert_curves(result, "a", literally(AROW(normalize="none"), X[kept], y[kept], weight=weight[kept]))
    for name, estimator in (("b", GaussianNB()), ("c", BCW(normalize="none"))):
        assert_curves(result, name, literally(estimator, X[kept], y[kept], 10, weight[kept]))
    assert not np.array_equal(
        result.error["a"], prequential(AROW(normalize="none"), (X[kept], y[kept]), every=10).error["AROW"]
    )


@pytest.mark.parametrize("batch", [None, 1, 13, 200])
def test_classifiers_that_do_not_count_are_asked(batch: int | None) -> None:
    X, y = stream(110, n_classes=3)
    names = np.array(["b", "a", "c"])[y]
    settings = {"window": 20, "every": 7, "batch": batch, "classes": ["a", "b", "c"]}
    for rows in (X, sparse.csr_matrix(X)):  # of which scikit-learn makes different models
        wrong = literally(SGDClassifier(random_state=0), rows, names, batch or 1)
        source = (rows, names) if rows is X else cut(rows, names, [3, 50])
        result = prequential(SGDClassifier(random_state=0), source, **settings)
        assert_curves(result, "SGDClassifier", wrong, end=isinstance(source, tuple))


def test_learners_of_batches_learn_in_batches() -> None:
    X, y = stream(110)
    trained = BCW(normalize="none")
    wrong = literally(trained, X, y, 25)
    for source in ((X, y), cut(X, y, [10, 60]), cut(sparse.csr_matrix(X), y, [10, 60])):
        result = prequential(
            {"bcw": BCW(normalize="none"), "pa": PA(normalize="none")},
            source,
            window=20,
            every=10,
            batch=25,
            classes=[0, 1],
        )
        assert_curves(result, "bcw", wrong)
        np.testing.assert_allclose(result.estimators["bcw"].coef_, trained.coef_, rtol=1e-12)
        assert result.estimators["bcw"].n_seen_ == 110
    with pytest.raises(ValueError, match="'BCW', a BCW, learns from batches: batch must say"):
        prequential(BCW(normalize="none"), (X, y))


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = stream(60)
    frame = pandas.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    result = prequential(
        [AROW(normalize="none"), SGDClassifier(random_state=0)], (frame, pandas.Series(y)), every=9, batch=8
    )
    assert_curves(result, "AROW", literally(AROW(normalize="none"), X, y))
    assert_curves(result, "SGDClassifier", literally(SGDClassifier(random_state=0), X, y, 8))
    for estimator in result.estimators.values():
        assert estimator.feature_names_in_[3] == "f3"


def test_learners_are_copied_and_fitted_ones_go_on() -> None:
    X, y = stream(120)
    fresh, fitted = AROW(normalize="none"), AROW(normalize="none").fit(X[:50], y[:50])
    sgd = SGDClassifier(random_state=0).fit(X[:50], y[:50])
    before = (fitted.coef_.tobytes(), fitted.n_seen_, sgd.coef_.tobytes())
    result = prequential({"fresh": fresh, "fitted": fitted, "sgd": sgd}, (X[50:], y[50:]), every=10, window=20)
    assert not hasattr(fresh, "classes_")
    assert (fitted.coef_.tobytes(), fitted.n_seen_, sgd.coef_.tobytes()) == before
    wrong = literally(AROW(normalize="none"), X, y)[50:]
    assert_curves(result, "fitted", wrong)
    assert result.estimators["fitted"].n_seen_ == 120
    assert_curves(result, "sgd", literally(sgd, X[50:], y[50:]))
    # Also where the rows to go on with do not have all classes.
    one = y[50:] == 1
    assert_curves(prequential(fitted, (X[50:][one], y[50:][one])), "AROW", literally(fitted, X[50:][one], y[50:][one]))


def test_names() -> None:
    X, y = stream(30)

    def names(estimators: Any) -> list[str]:
        return prequential(estimators, (X, y)).names

    assert names(AROW(normalize="none")) == ["AROW"]
    assert names((AROW(normalize="none"), PA(normalize="none"))) == ["AROW", "PA"]
    assert names([PA(C=0.1, normalize="none"), AROW(normalize="none"), PA(C=10.0, normalize="none")]) == [
        "PA(C=0.1)",
        "AROW",
        "PA(C=10.0)",
    ]
    assert names([PA(C=1.0), PA(C=0.5), PA(C=1.0, variant="II")]) == [
        "PA(C=1.0, variant='I')",
        "PA(C=0.5, variant='I')",
        "PA(C=1.0, variant='II')",
    ]
    assert names({"one": AROW(normalize="none"), 2: AROW(normalize="none")}) == ["one", "2"]
    with pytest.raises(ValueError, match=r"Two of the estimators are both PA\(C=1.0\): give them names"):
        names([PA(C=1.0), PA(C=1.0), PA(C=0.5)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": 0}, "window must be an integer of at least 1. Got 0 instead."),
        ({"window": 2.5}, "window must be an integer"),
        ({"every": True}, "every must be an integer of at least 1. Got True"),
        ({"batch": -1}, "batch must be an integer of at least 1"),
        ({"drifts": [5, -1]}, "drifts must be numbers of examples, integers from 0. Got -1 among them."),
        ({"estimators": []}, "at least one learner"),
        ({"estimators": AROW}, "must be a classifier with partial_fit, such as AROW"),
        ({"estimators": "arow"}, "must be a classifier with partial_fit"),
        ({"estimators": LinearRegression()}, "must be a classifier with partial_fit"),
        ({"estimators": SGDRegressor()}, "'SGDRegressor' must be a classifier, such as AROW"),
        ({"estimators": sureline.L1SVM(normalize="none")}, "must be a classifier with partial_fit"),
        ({"classes": [1]}, "classes must name at least two classes"),
        ({"classes": [0, 2]}, r"Row \d+ of the stream has the label 1, which is not among classes=\[0, 2\]"),
        ({"classes": ["a", "b", "c"]}, r"Row 0 of the stream has the label \d, which is not among classes=\['a', 'b'"),
        ({"classes": ["a", "b"]}, r"Row 0 of the stream has the label \d, which is not among classes=\['a', 'b'\]"),
        ({"stream": np.ones((3, 2))}, r"stream must be a pair \(X, y\).*Got a ndarray instead"),
        ({"stream": 7}, "stream must be a pair"),
        ({"stream": []}, "The stream has no examples"),
        ({"stream": (np.empty((0, 2)), [])}, "The stream has no examples"),
        ({"stream": [np.ones((3, 2)), [0, 1, 0]]}, "Each batch must be a pair .* Got a ndarray for batch 0"),
        ({"stream": (np.ones((3, 2)), [0, 1])}, r"y must have one label a row. Got 3 rows and labels of shape \(2,\)"),
        ({"stream": (np.ones(3), [0, 1, 0])}, "X must have two dimensions"),
        ({"stream": (np.ones((2, 2)), [0, 1], [1, -1])}, "In stream: sample_weight must be finite and not negative"),
        ({"stream": (np.ones((2, 2)), [0.5, 0.25])}, "Unknown label type: continuous"),
        ({"stream": (np.ones((2, 2)), np.array([1, "a"], object))}, "labels must all be of one type|Unknown label"),
        (
            {"estimators": CPA(cost=(2, 1), normalize="none"), "stream": [(np.ones((2, 2)), [0, 1])]},
            "'CPA' failed on .*classes=",
        ),
        ({"estimators": SGDClassifier(), "stream": [(np.ones((2, 2)), [0, 1])]}, "classes must name all classes for"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    X, y = stream(20)
    arguments: dict[str, Any] = {"estimators": AROW(normalize="none"), "stream": (X, y), **change}
    with pytest.raises(ValueError, match=message):
        prequential(**arguments)


def test_bad_rows_are_named() -> None:
    X, y = stream(40)
    X[23, 4] = np.nan
    with pytest.raises(
        ValueError, match=r"'PA' failed on the rows from 20 to 24 of the stream: .*NaN in row 3, .*from row 20"
    ):
        prequential(PA(normalize="none"), (X, y), every=5, window=5)
    with pytest.raises(ValueError, match=r"'SGDClassifier' failed on the rows from 20 to 24 of the stream: .*NaN"):
        prequential(SGDClassifier(), (X, y), every=5, window=5)
    X[23, 4] = 0
    for damage in ({"indices": np.array([0, 99, 1], np.int32)}, {"indptr": np.array([0, 500, 3], np.int32)}):
        corrupt = sparse.csr_matrix(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))
        for name, array in damage.items():
            setattr(corrupt, name, array)
        for estimator in (PA(normalize="none"), SGDClassifier()):
            with pytest.raises(ValueError, match=r"In stream: .*(not a valid CSR matrix|[Rr]ow)"):
                prequential(estimator, (corrupt, [0, 1]))
            with pytest.raises(ValueError, match=r"In batch 1 of the stream: .*(not a valid CSR|[Rr]ow)"):
                prequential(estimator, [(X[:, :3], y), (corrupt, [0, 1])], classes=[0, 1])


def test_the_catalogue_is_taken() -> None:
    """Every classifier of the package with partial_fit has its curve."""
    X, y = stream(60)
    estimators = [getattr(sureline, name)() for name in sureline.__all__ if isinstance(getattr(sureline, name), type)]
    learners = {type(e).__name__: e for e in estimators if hasattr(e, "partial_fit") and is_classifier(e)}
    assert {"AROW", "BCW", "FTRL", "SSOL"} <= set(learners)
    result = prequential(learners, (X, y), every=10, window=20, batch=15)
    for name in learners:
        assert 0 < result.mistakes[name] < 60
        assert result.estimators[name].n_seen_ == 60


def test_a_learner_with_a_kernel_counts_its_own_mistakes() -> None:
    X, y = stream(120, 4)
    result = prequential(KernelSCW(gamma=0.5, normalize="none"), (X, y), window=30)
    assert result.mistakes["KernelSCW"] == KernelSCW(gamma=0.5, normalize="none").fit(X, y).n_mistakes_
