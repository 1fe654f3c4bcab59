"""A budget of nonzero weights: the bound holds at the end of every call, and the model is worth having."""

import copy
import pickle
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from catalogue import BUDGETED, everything, stream
from scipy import sparse
from stream_files import write_rows

import sureline
from sureline import FSOL, SSOL, AdaRDA
from sureline.datasets import make_sparse_gaussian, make_sparse_stream
from sureline.stream.runs import LabelRunsWarning

every_budget = pytest.mark.parametrize("case", BUDGETED, ids=str)


@every_budget
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
@pytest.mark.parametrize("max_nonzero", [1, 2, 9, 13, 10_000])
def test_the_bound_holds_after_every_call(case, n_classes: int, multi_class: str, max_nonzero: int) -> None:
    X, y = stream(400, 40, n_classes)
    model = case.make(multi_class=multi_class, max_nonzero=max_nonzero)
    largest = 0
    for start, stop in [(0, 1), (1, 2), (2, 10), *((i, i + 30) for i in range(10, 400, 30))]:
        model.partial_fit(X[start:stop], y[start:stop], classes=np.arange(n_classes))
        assert model.nonzero_ == np.count_nonzero(model.coef_) == model.sparse_coef_.nnz <= max_nonzero
        assert model._state.budget.active == model.nonzero_
        largest = max(largest, model.nonzero_)
    assert largest >= min(0.7 * max_nonzero, 20)  # what is allowed is also used


@every_budget
def test_equal_sizes_at_the_border(case) -> None:
    """Features that occur equally often have equal weights; none or all of them can be kept."""
    X = np.tile(np.eye(12), (10, 1))
    y = np.tile(np.arange(12) % 2, 10)
    model = case.make(max_nonzero=5, fit_intercept=False)
    for row in range(len(X)):
        model.partial_fit(X[row : row + 1], y[row : row + 1], classes=[0, 1])
        assert model.nonzero_ <= 5


@pytest.mark.parametrize(
    "estimator",
    [FSOL(eta=1.0, normalize="none"), AdaRDA(eta=1.0, normalize="none"), SSOL(eta=8.0, normalize="none")],
    ids=repr,
)
def test_as_good_as_a_penalty_of_the_same_sparsity(estimator) -> None:
    X, y = make_sparse_gaussian(24_000, random_state=0)
    train, test = slice(0, 20_000), slice(20_000, None)
    everything_allowed = copy.copy(estimator).fit(X[train], y[train])
    budgeted = copy.copy(estimator).set_params(max_nonzero=100).fit(X[train], y[train])
    assert 75 <= budgeted.nonzero_ <= 100
    relevant = budgeted.sparse_coef_.indices < 100  # the columns that say something, a tenth of all
    assert relevant.mean() > 0.4
    assert budgeted.score(X[test], y[test]) > everything_allowed.score(X[test], y[test]) - 0.02


def test_a_penalty_besides_is_refused() -> None:
    X, y = stream()
    for estimator in (FSOL, SSOL, AdaRDA):
        with pytest.raises(ValueError, match=r"'lam' must be 0 with it\. Got max_nonzero=5 and lam=0\.1"):
            estimator(max_nonzero=5, lam=0.1).fit(X, y)
    with pytest.raises(ValueError, match="The 'max_nonzero' parameter of FSOL must be"):
        FSOL(max_nonzero=0, normalize="none").fit(X, y)


@every_budget
def test_it_can_change_between_calls(case) -> None:
    X, y = stream(400, 40)
    model = case.make(max_nonzero=20).partial_fit(X[:200], y[:200], classes=[0, 1])
    before = everything(model)
    twin = pickle.loads(pickle.dumps(model))
    assert everything(twin) == before
    model.set_params(max_nonzero=4).partial_fit(X[200:210], y[200:210])
    assert 0 < model.nonzero_ <= 4
    with pytest.raises(ValueError, match="NaN"):
        twin.set_params(max_nonzero=4).partial_fit(np.full((1, 40), np.nan), [0])
    assert everything(twin.set_params(max_nonzero=20)) == before
    model.set_params(max_nonzero=None).partial_fit(X[210:], y[210:])
    assert model.nonzero_ > 20


def test_a_refused_batch_takes_the_budget_back() -> None:
    X, y = make_sparse_stream(300, 5000, 20, random_state=0)
    for estimator in (
        FSOL(max_nonzero=50, normalize="none"),
        SSOL(max_nonzero=50, normalize="none"),
        AdaRDA(max_nonzero=50, normalize="none"),
    ):
        model = estimator.partial_fit(X[:200], y[:200], classes=[0, 1])
        before = everything(model)
        bad = X[200:].astype(np.float64)
        bad.data[-1] = np.inf
        with pytest.raises(ValueError, match="infinity in row 99"):
            model.partial_fit(bad, y[200:])
        assert everything(model) == before


def test_wide_rows_cost_no_more_than_their_nonzeros() -> None:
    """A million untouched features around the same rows change neither the model nor its list."""
    X, y = make_sparse_stream(2000, 3000, 30, random_state=1)
    wide = sparse.csr_matrix((X.data, X.indices * 300, X.indptr), shape=(len(y), 300 * 3000))
    for estimator in (FSOL, AdaRDA, SSOL):
        narrow, broad = (
            estimator(max_nonzero=100, normalize="none").fit(X, y),
            estimator(max_nonzero=100, normalize="none").fit(wide, y),
        )
        np.testing.assert_array_equal(narrow.sparse_coef_.indices * 300, broad.sparse_coef_.indices)
        np.testing.assert_array_equal(narrow.sparse_coef_.data, broad.sparse_coef_.data)
        assert narrow.n_mistakes_ == broad.n_mistakes_


@pytest.mark.parametrize("kind", [FSOL, SSOL, AdaRDA, partial(SSOL, covariance="full"), partial(SSOL, schedule="1/t")])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_penalty_that_cuts_nothing_is_told(kind, n_classes: int, tmp_path: Path) -> None:
    X, y = stream(400, 40, n_classes)
    rows = write_rows(tmp_path / "a.svm", X, y)
    sums = kind(lam=1e-7).partial_fit(X, y, classes=np.arange(n_classes))
    without = np.count_nonzero(sums._state.weights.reshape(41, -1, sums._state.shape.width)[1:, :, 0])
    with pytest.warns(
        LabelRunsWarning, match=rf"lam=1e-07 left \d+ of {without} weights nonzero: .* \(--max-nonzero N"
    ):
        sureline.train(rows, kind(lam=1e-7, dtype="float64"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for quiet in (kind(lam=1e4), kind(), kind(max_nonzero=5)):
            sureline.train(rows, quiet)


def test_one_step_is_the_unit_of_a_penalty() -> None:
    """A feature that came once has a weight of about eta, or of eta times 1 in the unit of FSOL's penalty."""
    X, y = sparse.identity(50, format="csr"), np.arange(50) % 2
    for kind, step in ((SSOL, 0.18), (FSOL, 1.0)):
        left = [kind(lam=by * step, fit_intercept=False).fit(X, y).nonzero_ for by in (0.9, 1.1)]
        assert left == [50, 0]
