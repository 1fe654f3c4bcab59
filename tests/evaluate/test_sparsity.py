"""Paths of sparsity: as if each model had been trained alone, whatever the form of the data; and their pictures."""

import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from catalogue import everything, stream
from scipy import sparse
from sklearn.base import clone

from sureline import AROW, FSOL, FTRL, PA, SSOL, AdaRDA, plot_sparsity_paths, sparsity_path
from sureline._native import _core
from sureline.datasets import make_sparse_stream
from sureline.learners.parameters import NOT_NEGATIVE, Number
from sureline.metrics import Tally, tally
from sureline.sparsity import SparsityPath

LAMS = [0.0, 0.1, 0.3, 1.0]


@dataclass(eq=False, repr=False)
class Learner(AROW):
    """With a parameter that changes both the course of the learning and what counts as zero."""

    lam: float = NOT_NEGATIVE.default(0.0)
    max_nonzero: int | None = Number(1, integer=True, optional=True).default(None)

    def _rule(self) -> _core.Rule:
        return _core.AROW(self.r + self.lam)

    @property
    def nonzero_(self) -> int:
        return int((np.abs(self.coef_) > self.lam).sum())

    @property
    def sparsity_(self) -> float:
        return 1 - self.nonzero_ / self.coef_.size

    @property
    def progressive_(self) -> Tally:
        others = [0] * (len(self.classes_) - 1)
        return Tally(self.classes_, [self.n_seen_, *others], [self.n_mistakes_, *others])


@dataclass(eq=False, repr=False)
class FTRLike(Learner):
    """Its penalty has another name."""

    l1: float = 1.0


X, Y = stream(600, 15)
NAMES = np.array(["ham", "spam"])[Y]


def alone(learner: Learner, rows: Any, y: Any = NAMES, **more: Any) -> list[Learner]:
    return [clone(learner).set_params(lam=lam).fit(rows, y[:400], **more) for lam in LAMS]


def assert_as_alone(path: SparsityPath, learner: Learner, rows: Any, y: Any = NAMES, **more: Any) -> None:
    for i, model in enumerate(alone(learner, rows, y, **more)):
        assert everything(path.models[i]) == everything(model)
        assert path.sparsity[i] == model.sparsity_
        assert path.nonzero[i] == model.nonzero_
        assert path.progressive[i] == model.progressive_
        assert path.error[i] == model.n_mistakes_ / model.n_seen_
        if path.tests is not None:
            assert path.tests[i] == tally(y[400:], model.predict(X[400:]))


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
@pytest.mark.parametrize("chunk", [None, 7, 100, 10_000])
def test_each_model_is_as_if_trained_alone(n_jobs: int | None, chunk: int | None) -> None:
    learner, rows = Learner(r=0.5), sparse.csr_matrix(X[:400])
    path = sparsity_path(
        learner,
        rows,
        NAMES[:400],
        LAMS,
        X_test=sparse.csr_matrix(X[400:]),
        y_test=NAMES[400:],
        chunk=chunk,
        n_jobs=n_jobs,
        keep_models=True,
    )
    assert_as_alone(path, learner, rows)
    assert not hasattr(learner, "classes_")
    assert (path.estimator, path.parameter) == ("Learner", "lam")
    assert path.lams.tolist() == LAMS
    assert (np.diff(path.sparsity) > 0).all()
    np.testing.assert_array_equal(path.test_error, [test.error for test in path.tests])
    np.testing.assert_array_equal(path.test_balanced_accuracy, [test.balanced_accuracy for test in path.tests])


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.asfortranarray,
        np.ndarray.tolist,
        sparse.csc_matrix,
        sparse.csr_array,
        lambda X: pd.DataFrame(X, columns=[f"f{i}" for i in range(15)], index=range(7, 407)),
    ],
)
def test_forms_of_data(form) -> None:
    rows, labels = form(X[:400]), pd.Series(NAMES[:400])
    path = sparsity_path(Learner(), rows, labels, LAMS, X_test=rows, y_test=labels, chunk=90, keep_models=True)
    for i, model in enumerate(alone(Learner(), rows)):
        assert everything(path.models[i]) == everything(model)
        assert path.tests[i] == tally(labels, model.predict(rows))


def test_weights_and_more_classes() -> None:
    weight = np.random.default_rng(0).integers(0, 3, 400) / 2
    path = sparsity_path(Learner(), X[:400], NAMES[:400], LAMS, sample_weight=weight, chunk=60, keep_models=True)
    assert_as_alone(path, Learner(), X[:400], sample_weight=weight)
    thirds = np.arange(600) % 3
    path = sparsity_path(Learner(), X[:400], thirds[:400], LAMS, chunk=60, keep_models=True)
    assert_as_alone(path, Learner(), X[:400], thirds)


def test_streams_are_read_once_and_need_no_memory_of_their_past() -> None:
    weight = np.arange(400) % 3 / 2

    def batches():
        for start in range(0, 400, 100):
            part = slice(start, start + 100)
            yield X[part], NAMES[part], weight[part]

    options = {"X_test": X[400:], "y_test": NAMES[400:], "keep_models": True}
    path = sparsity_path(Learner(), batches(), lams=LAMS, classes=["spam", "ham"], chunk=30, **options)
    assert_as_alone(path, Learner(), X[:400], sample_weight=weight)
    growing = sparsity_path(Learner(growing=True), ([rows, y] for rows, y, _ in batches()), None, LAMS, **options)
    model = Learner(growing=True).partial_fit(X[:400], NAMES[:400])
    assert everything(growing.models[0]) == everything(model)


def test_the_parameter_may_have_another_name() -> None:
    assert sparsity_path(FTRLike(), X, Y, [0.5], parameter="l1").parameter == "l1"
    assert sparsity_path(FTRLike(), X, Y, [0.5]).parameter == "lam"
    path = sparsity_path(Learner(max_nonzero=5), X, Y, [3, 7], parameter="max_nonzero", keep_models=True)
    assert [model.max_nonzero for model in path.models] == [3, 7]


def test_tables() -> None:
    path = sparsity_path(Learner(), X[:400], Y[:400], LAMS, X_test=X[400:], y_test=Y[400:])
    assert path.models is None
    table = pd.DataFrame(path.to_dict())
    assert table.shape == (4, 8)
    assert table["lam"].tolist() == LAMS
    assert table["test_error"].tolist() == path.test_error.tolist()
    lines = repr(path).splitlines()
    assert lines[0] == "SparsityPath of Learner"
    assert lines[1].split() == list(table.columns[1:])
    assert len({len(line) for line in lines[1:]}) == 1
    untested = sparsity_path(Learner(), X, Y, LAMS)
    assert untested.test_error is untested.test_balanced_accuracy is None
    assert "test_error" not in untested.to_dict()


def test_refusals_of_rows_say_where_they_are_counted_from() -> None:
    bad = X.copy()
    bad[450, 3] = np.nan
    with pytest.raises(ValueError, match=re.escape("NaN in row 50, column 3. Rows are counted from row 400 of X.")):
        sparsity_path(Learner(), bad, Y, LAMS, chunk=100)
    with pytest.raises(ValueError, match=re.escape("NaN in row 50, column 3. Rows are counted from row 0 of batch 1.")):
        sparsity_path(Learner(), [(bad[:400], Y[:400]), (bad[400:], Y[400:])], None, LAMS, classes=[0, 1])
    with pytest.raises(ValueError, match=r"Got -1 instead\.$"):
        sparsity_path(Learner(r=-1), [(X, Y)], None, LAMS, classes=[0, 1])
    with pytest.raises(ValueError, match=r"NaN in row 450, column 3\.$"):
        sparsity_path(Learner(), bad, Y, LAMS)
    corrupt = sparse.csr_matrix(X)
    corrupt.indptr = corrupt.indptr[:-5]
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        sparsity_path(Learner(), corrupt, Y, LAMS, chunk=100)
    corrupt = sparse.csr_matrix(X)
    corrupt.indptr[150] = 10**6
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        sparsity_path(Learner(), corrupt, Y, LAMS, chunk=100)


def test_a_test_set_that_does_not_fit_is_refused_early() -> None:
    def batches():
        yield X[:300], Y[:300]
        raise AssertionError("went on")

    with pytest.raises(ValueError, match="X has 14 features"):
        sparsity_path(Learner(), batches(), None, LAMS, classes=[0, 1], X_test=X[:, :-1], y_test=Y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sparsity_path(Learner(), X, Y, []), "lams must be one or more numbers. Got [] instead."),
        (lambda: sparsity_path(Learner(), X, Y), "lams must be one or more numbers."),
        (lambda: sparsity_path(Learner(), X, Y, 0.1), "lams must be one or more numbers. Got 0.1 instead."),
        (lambda: sparsity_path(Learner(), X, Y, ["a"]), "lams must be one or more numbers. Got ['a'] instead."),
        (lambda: sparsity_path(Learner(), X, Y, [0, -1]), "lams must be finite and not negative. Got -1 among them."),
        (lambda: sparsity_path(Learner(), X, Y, [np.nan]), "lams must be finite and not negative. Got nan among them."),
        (lambda: sparsity_path(Learner, X, Y, [0]), "estimator must be an estimator of sureline"),
        (lambda: sparsity_path(PA(normalize="none"), X, Y, [0]), "PA has neither a parameter 'lam' nor 'l1'"),
        (lambda: sparsity_path(Learner(), X, Y, [0], parameter="l2"), "Learner has no parameter 'l2'. It has "),
        (lambda: sparsity_path(Learner(max_nonzero=9), X, Y, [0]), "max_nonzero=9 of Learner takes the place of 'lam'"),
        (lambda: sparsity_path(Learner(passes=2), X, Y, [0]), "Learner must have passes=1, shuffle=False."),
        (lambda: sparsity_path(Learner(shuffle=True), X, Y, [0]), "Learner must have passes=1, shuffle=False."),
        (lambda: sparsity_path(Learner(r=-1), X, Y, [0]), "The 'r' parameter of Learner must be"),
        (lambda: sparsity_path(Learner(), X, Y, [0], chunk=0), "chunk must be None or an integer of at least 1. Got 0"),
        (lambda: sparsity_path(Learner(), X, Y, [0], n_jobs=0), "n_jobs must be None, -1 or an integer of at least 1."),
        (lambda: sparsity_path(Learner(), X, Y, [0], X_test=X), "X_test and y_test must be given together."),
        (lambda: sparsity_path(Learner(), X, Y, [0], X_test=X, y_test=Y[1:]), "inconsistent numbers of samples"),
        (lambda: sparsity_path(Learner(), X, Y[1:], [0]), "inconsistent numbers of samples"),
        (lambda: sparsity_path(Learner(), X, X[:, 0], [0]), "Unknown label type"),
        (lambda: sparsity_path(Learner(), X, np.zeros(600), [0]), "classes must name at least 2 classes. Got [0.0]"),
        (lambda: sparsity_path(Learner(), X[:0], Y[:0], [0]), "0"),
        (lambda: sparsity_path(Learner(), X[0], Y[:15], [0]), "Expected 2D array, got 1D array instead"),
        (
            lambda: sparsity_path(Learner(), X, None, [0]),
            "X must be an iterable of batches (X, y). Got a ndarray instead.",
        ),
        (lambda: sparsity_path(Learner(), 5, None, [0]), "X must be an iterable of batches (X, y). Got a int instead."),
        (lambda: sparsity_path(Learner(), [(X, Y)], None, [0]), "classes must name all classes, unless growing=True."),
        (lambda: sparsity_path(Learner(), [], None, [0], classes=[0, 1]), "X must have at least one batch. Got none."),
        (
            lambda: sparsity_path(Learner(), [(X, Y), X], None, [0], classes=[0, 1]),
            "Each batch must be a pair (X, y) or a triple (X, y, sample_weight). Got a ndarray for batch 1 instead.",
        ),
        (lambda: sparsity_path(Learner(), [], None, [0], sample_weight=[1]), "sample_weight is the third of each"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


# -- pictures --------------------------------------------------------------------------------------------------------


def made_up(name: str, sparsity: list[float], *, tests: bool = True) -> SparsityPath:
    n = len(sparsity)
    tallies = tuple(Tally([0, 1], [500, 500], [50 + 10 * i, 60]) for i in range(n))
    values = np.array(sparsity)
    nonzero = (1000 * (1 - values)).astype(np.int64)
    return SparsityPath(name, "lam", np.arange(n, dtype=float), values, nonzero, tallies, tallies if tests else None)


def panels(chart) -> list:
    return chart.to_dict()["hconcat"]


def test_a_path_draws_itself() -> None:
    path = made_up("FSOL", [0.5, 0.1, 0.9])
    chart = path.plot().to_dict()
    rows = chart["data"]["values"]
    np.testing.assert_allclose([row["x"] for row in rows], [0.1, 0.5, 0.9])  # by sparsity, not by lambda
    np.testing.assert_allclose([row["y"] for row in rows], [0.12, 0.11, 0.13])
    assert (chart["title"]["text"], chart["title"]["subtitle"]) == ("FSOL", "test error")
    assert chart["layer"][0]["encoding"]["x"]["axis"]["title"] == "sparsity"
    rows = path.plot(metric="balanced_accuracy").to_dict()["data"]["values"]
    np.testing.assert_allclose([row["y"] for row in rows], [0.88, 0.89, 0.87])
    without = made_up("FSOL", [0.5], tests=False).plot().to_dict()
    assert without["title"]["subtitle"] == "progressive error"


def test_paths_side_by_side(tmp_path) -> None:
    names = ["STG", "FOBOS", "Ada-FOBOS", "Ada-RDA", "FSOL", "SSOL", "CS-FSOL", "CS-SSOL", "FTRL"]
    paths = {name: made_up(name, [0.1, 0.6, 0.82 + i / 100, 0.95]) for i, name in enumerate(names)}
    chart = plot_sparsity_paths(paths, title="synthetic", baselines={"CPA": 0.2, "PAUM": 0.3})
    whole, close = panels(chart)
    for panel in (whole, close):
        lines = next(layer["encoding"] for layer in panel["layer"] if "strokeDash" in layer["encoding"])
        looks = zip(lines["color"]["scale"]["range"], map(tuple, lines["strokeDash"]["scale"]["range"]), strict=True)
        assert len(set(looks)) == 11
        assert lines["color"]["legend"]["values"] == [*names, "CPA", "PAUM"]
    assert close["layer"][0]["encoding"]["x"]["scale"]["domain"][0] == 0.8
    chart.save(tmp_path / "paths.png")
    assert len(panels(plot_sparsity_paths(paths, zoom=None))) == 1
    assert len(panels(plot_sparsity_paths([made_up("STG", [0.1, 0.7])]))) == 1  # nothing to zoom in on
    assert len(panels(plot_sparsity_paths(made_up("STG", [0.5, 0.9]), metric="test_balanced_accuracy"))) == 2
    without_tests = [made_up("STG", [0.1, 0.9]), made_up("FSOL", [0.1, 0.9], tests=False)]
    assert panels(plot_sparsity_paths(without_tests))[0]["title"]["text"] == "progressive error"
    for call, message in [
        (lambda: plot_sparsity_paths([]), "There are no paths to plot."),
        (lambda: plot_sparsity_paths(paths, metric="cost"), "metric must be one of 'test_error', 'error'"),
        (
            lambda: plot_sparsity_paths(without_tests, metric="test_error"),
            "pass X_test and y_test to sparsity_path for FSOL.",
        ),
        (lambda: plot_sparsity_paths(paths, zoom=1.0), "zoom must be None or a number from 0 to less than 1. Got 1.0"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            call()


@pytest.mark.parametrize(
    "learner",
    [FSOL(normalize="none"), SSOL(cost="balanced", normalize="none"), AdaRDA(normalize="none"), FTRL(normalize="none")],
    ids=repr,
)
def test_the_sparse_learners_as_if_alone(learner) -> None:
    X, y = make_sparse_stream(2000, 3000, 20, random_state=0)
    lams = [0.0, 1e-4, 0.1, 5.0]
    path = sparsity_path(learner, X, y, lams, chunk=300, X_test=X, y_test=y, keep_models=True)
    parameter = "l1" if learner.__class__ is FTRL else "lam"
    assert path.parameter == parameter
    for i, lam in enumerate(lams):
        alone = clone(learner).set_params(**{parameter: lam}).fit(X, y)
        assert everything(path.models[i]) == everything(alone)
        assert path.nonzero[i] == alone.nonzero_
        assert path.progressive[i] == alone.progressive_
        assert path.test_error[i] == pytest.approx(1 - alone.score(X, y))
    assert path.nonzero[0] > path.nonzero[-1]


def test_models_that_are_almost_all_zero_are_drawn_by_their_nonzeros() -> None:
    X, y = make_sparse_stream(500, 20_000, 10, random_state=0)
    path = sparsity_path(FSOL(normalize="none"), X, y, [0, 1, 3, 1000])
    assert path.sparsity.min() > 0.8
    (panel,) = panels(plot_sparsity_paths([path]))
    x = panel["layer"][0]["encoding"]["x"]
    assert x["axis"]["title"] == "nonzero weights"
    assert x["scale"]["reverse"]
    assert x["scale"]["type"] == "symlog"
    assert x["axis"]["values"][:3] == [0, 1, 10]
    with pytest.raises(ValueError, match="x must be 'sparsity' or 'nonzero'"):
        path.plot(x="width")
    with pytest.raises(TypeError, match=r"paths must be what sparsity_path returns\. Got FSOL\("):
        plot_sparsity_paths([FSOL(normalize="none")])


def test_without_altair_there_is_a_clear_word(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    path = made_up("FSOL", [0.1, 0.9])
    for draw in (path.plot, lambda: plot_sparsity_paths([path])):
        with pytest.raises(ImportError, match=re.escape("pip install 'sureline[plot]'")):
            draw()
