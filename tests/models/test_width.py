"""Models far wider than their data: memory follows the features seen, time the nonzeros."""

import copy
import pickle
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from peak_memory import PEAK, needs_proc
from scipy import sparse

import sureline
from sureline import FTRL, SSOL

# One of each layout of the numbers of a weight.
LEARNERS = ["Perceptron", "AROW", "OGD", "FOBOS", "RDA", "AdaFOBOS", "AdaRDA", "FTRL", "FSOL", "SSOL", "SOFS", "FOFS"]


def far_apart(n_rows: int, width: int, nonzeros: int, seed: int = 0) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Rows with features all over the width."""
    rng = np.random.default_rng(seed)
    indices = np.sort(rng.integers(0, width, (n_rows, nonzeros)), axis=1).astype(np.int64)
    indices += np.arange(nonzeros)  # no column twice in a row
    indices = np.minimum(indices, width - nonzeros + np.arange(nonzeros))
    indptr = np.arange(n_rows + 1, dtype=np.int64) * nonzeros
    values = rng.standard_normal(n_rows * nonzeros).astype(np.float32)
    return sparse.csr_matrix((values, indices.ravel(), indptr), shape=(n_rows, width)), rng.integers(0, 2, n_rows)


# In a process of its own, whose peak is its own.
PROGRAM = """
import copy, sys
import numpy as np
sys.path[:0] = {tests!r}
from test_width import far_apart
import sureline
width = {width}
X, y = far_apart(10_000, width, 10)
model = sureline.SSOL(dtype={dtype!r}, growing={growing}, normalize="none", {penalty})
if {growing}:
    narrow = X[:, : 2**20].tocsr()
    model.partial_fit(narrow[:100], y[:100])
    model.partial_fit(X[:100, : 2**24].tocsr(), y[:100])
model.partial_fit(X[:5000], y[:5000], classes=[0, 1])
model.partial_fit(X[5000:], y[5000:])
try:
    bad = X[:10].copy()
    bad.data[-1] = np.nan
    model.partial_fit(bad, y[:10])
except ValueError as error:
    assert "NaN in row 9" in str(error)
assert model.predict(X[:100]).shape == (100,)
coef = model.sparse_coef_
assert coef.shape == (1, width) and coef.nnz == model.nonzero_ > 0
assert model.sparsity_ > 0.999
assert model.intercept_.shape == model.intercept_variance_.shape == (1,)
if {growing}:
    model.partial_fit(X[:1], [2])  # a third class
    assert model.nonzero_ > 0
else:
    assert copy.deepcopy(model).nonzero_ > 0
print(np.unique(X.indices).size, peak())
"""


@needs_proc
@pytest.mark.parametrize(
    ("dtype", "growing", "penalty", "width"),
    [
        ("float32", False, "lam=1e-3", 2**31 - 1),
        ("float64", False, "lam=1e-3", 2**31 - 1),
        ("float32", True, "lam=1e-3", 2**28),
        ("float32", False, "max_nonzero=500", 2**28),
    ],
    ids=["float32", "float64", "growing", "budget"],
)
def test_indices_up_to_two_billion(dtype: str, growing: bool, penalty: str, width: int) -> None:
    program = PEAK + PROGRAM.format(
        tests=[str(folder) for folder in Path(__file__).parents[:2]],
        dtype=dtype,
        growing=growing,
        penalty=penalty,
        width=width,
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    features, peak = map(float, run.stdout.split())
    assert features > 99_000
    # MiB, with Python, its libraries and the rows. For a third class the old and the new numbers are there at once.
    assert peak < (1536 if growing else 1024)


@pytest.mark.parametrize("name", LEARNERS)
def test_untouched_features_change_nothing(name: str) -> None:
    """The same rows with their columns spread over a width a thousand times as large."""
    X, y = far_apart(500, 2000, 12)
    spread = sparse.csr_matrix((X.data, X.indices * 1000, X.indptr), shape=(500, 2_000_000))
    narrow = getattr(sureline, name)(dtype="float32", normalize="none").fit(X, y)
    broad = getattr(sureline, name)(dtype="float32", normalize="none").fit(spread, y)
    assert (narrow.n_mistakes_, narrow.n_updates_) == (broad.n_mistakes_, broad.n_updates_)
    np.testing.assert_array_equal(narrow.sparse_coef_.data, broad.sparse_coef_.data)
    np.testing.assert_array_equal(narrow.sparse_coef_.indices * 1000, broad.sparse_coef_.indices)
    np.testing.assert_array_equal(narrow.coef_, narrow.sparse_coef_.toarray())
    np.testing.assert_array_equal(narrow.decision_function(X), broad.decision_function(spread))
    again = copy.deepcopy(broad)
    assert again.partial_fit(spread[:5], y[:5]).n_seen_ == 505


def test_sixteen_million_features_in_under_160_mebibytes() -> None:
    width = 16_000_000
    columns = np.random.default_rng(0).permutation(width).astype(np.int32)
    X = sparse.csr_matrix((np.ones(width, np.float32), columns, np.arange(0, width + 1, 4000)), shape=(4000, width))
    X.sort_indices()
    model = SSOL(lam=1e-3, dtype="float32", normalize="none").fit(X, np.arange(4000) % 2)
    assert model._state.nbytes < 160 * 2**20
    assert model.nonzero_ > 0.4 * width  # they were all there
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    assert abs(model.sparsity_ - (1 - model.nonzero_ / width)) < 1e-12
    assert time.process_time() - begin < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # counting takes no copy


@pytest.mark.parametrize(
    "estimator", [SSOL(lam=1.0, dtype="float32", normalize="none"), FTRL(dtype="float32", normalize="none")], ids=repr
)
def test_a_row_costs_the_same_at_any_width(estimator) -> None:
    """Rows that use the same 4096 columns, spread over 2^16 and over 2^24, and not in step with the sets of the cache.

    Generous, for machines with other work.
    """
    X, y = far_apart(20_000, 4096, 40)
    times = {}
    for spacing in (2**4 - 1, 2**12 - 1):
        wide = sparse.csr_matrix((X.data, X.indices * spacing, X.indptr), shape=(20_000, 4096 * spacing))
        model = estimator.fit(wide, y)
        shortest = np.inf
        for _ in range(7):
            begin = time.process_time()
            model.partial_fit(wide, y)
            shortest = min(shortest, time.process_time() - begin)
        times[spacing] = shortest
    assert times[2**12 - 1] < 3 * times[2**4 - 1]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_pickle_has_the_features_seen(name: str) -> None:
    X, y = far_apart(50, 2**24, 10)
    model = getattr(sureline, name)(dtype="float32", normalize="none").fit(X, y)
    pickled = pickle.dumps(model)
    assert len(pickled) < 40_000
    twin = pickle.loads(pickled)
    assert twin._state.weights.tobytes() == model._state.weights.tobytes()
    np.testing.assert_array_equal(
        twin.partial_fit(X, y).decision_function(X), model.partial_fit(X, y).decision_function(X)
    )


def test_wide_indices_are_learned_from_as_narrow_ones() -> None:
    X = sparse.random(60, 40, 0.2, format="csr", random_state=0)
    wide, y = X.copy(), np.arange(60) % 3
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert (sureline.SCW().fit(wide, y).decision_function(wide) == sureline.SCW().fit(X, y).decision_function(X)).all()


@pytest.mark.parametrize("normalize", ["none", "scale"])
@pytest.mark.parametrize("column", [2**32 + 1, -(2**32) + 1, 2**31 + 1])
def test_a_column_that_would_be_another_one_in_32_bits_is_refused(column: int, normalize: str) -> None:
    X = sparse.csr_matrix(np.eye(4))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    X.indices[2] = column
    with pytest.raises(ValueError, match=f"row 2 has column index {column}, which is outside 0 to 3"):
        sureline.AROW(normalize=normalize).fit(X, [0, 1, 0, 1])


def test_more_columns_than_a_model_file_holds_are_refused() -> None:
    X = sparse.csr_matrix((np.ones(2), np.array([0, 2**31], np.int64), np.arange(3)), shape=(2, 2**31 + 1))
    with pytest.raises(ValueError, match="X has 2147483649 columns; there may be 2147483648 at most"):
        sureline.AROW().fit(X, [0, 1])
