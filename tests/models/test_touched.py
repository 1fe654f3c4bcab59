"""Pages of a wide model that were written: the core's knowledge of them, and the work it saves."""

import copy
import mmap
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from touched_pages import SIZE, pages, ranges

import sureline
from sureline._native import _core
from sureline.models.touched import Touched

HERE = Path(__file__).parent
WIDE = 2**31 - 1

linux_only = pytest.mark.skipif(
    not os.access("/proc/self/pagemap", os.R_OK), reason="nobody tells which pages there are"
)


# -- ranges --------------------------------------------------------------------------------------------------


@linux_only
@pytest.mark.parametrize("seed", range(5))
def test_the_pages_that_were_written(seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = _core.zeros_float64(SIZE)
    read = rng.integers(0, SIZE, 100)
    assert not array[read].any()
    # Where the system does not tell pages that were only read from others, those are there too, and the first one.
    assert ranges(array) in ([], pages(array, np.append(read, 0)))
    written = np.unique(np.concatenate([rng.integers(0, SIZE, 3000), np.arange(10**6, 10**6 + 5000), [0, SIZE - 1]]))
    array[written] = 1
    whole = ranges(array)
    assert whole in (pages(array, written), pages(array, np.concatenate([written, read])))
    for first, last in (
        (1, SIZE),
        (512 * 7 + 3, SIZE - 5),
        (10**6 + 77, SIZE - 511),
        (512, SIZE - 512),
        (512, SIZE - 10**5),
    ):
        inside = [(max(begin - 8 * first, 0), min(end, 8 * last) - 8 * first) for begin, end in whole]
        assert ranges(array[first:last]) == [(begin, end) for begin, end in inside if begin < end]


@linux_only
def test_narrow_arrays_and_foreign_memory_are_touched_everywhere(tmp_path: Path) -> None:
    for array in (_core.zeros_float64(1000), np.zeros(SIZE), np.zeros((4, 5), np.float32)):
        assert ranges(array) == [(0, array.nbytes)]
    # A file whose pages nobody has read yet is full of numbers all the same.
    path = tmp_path / "numbers"
    with path.open("wb") as file:
        file.truncate(8 * SIZE)
        file.seek(8 * (SIZE // 2))
        file.write(np.ones(1).tobytes())
    mapped = np.memmap(path, np.float64, "r")
    assert ranges(mapped) == [(0, 8 * SIZE)]
    assert _core.nonzero_groups(mapped, 512).tolist() == [SIZE // 2 // 512]
    # Nor do addresses say anything that were given back, and that others get then.
    array = _core.zeros_float64(SIZE)
    size = array.nbytes
    del array
    others = [np.frombuffer(mmap.mmap(-1, size), np.float64) for _ in range(3)]
    assert all(ranges(other) == [(0, size)] for other in others)


def test_an_empty_array_has_no_ranges() -> None:
    assert ranges(np.zeros(0)) == []
    assert _core.nonzero_groups(np.zeros(0), 7).tolist() == []


@pytest.mark.parametrize("size", [1, 3, 512, 1000, 10**6])
def test_groups_are_those_that_have_a_bit(size: int) -> None:
    rng = np.random.default_rng(size)
    for array in (_core.zeros_float32(2 * SIZE + 5), _core.zeros_float64(SIZE), np.zeros(5000)):
        written = rng.integers(0, len(array), 50)
        array[written] = rng.choice([1.0, -0.0, 0.0, np.nan], 50)  # -0 has a bit
        array[-1] = 1
        bits = array[np.append(written, len(array) - 1)].view(f"u{array.itemsize}")
        expected = np.unique(np.append(written, len(array) - 1)[bits != 0] // size)
        np.testing.assert_array_equal(_core.nonzero_groups(array, size), expected)
    with pytest.raises(ValueError, match="out of range"):
        _core.nonzero_groups(array, 0)


def test_touched_rows_are_those_that_have_a_bit() -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (511, 1), (512, 1), (100_000, 3, 2), (700, 999), (SIZE, 2)):
        numbers = _core.zeros_float64(int(np.prod(shape))).reshape(shape)
        rows = np.unique(rng.integers(0, len(numbers), 400))
        numbers.reshape(len(numbers), -1)[rows, -1] = rng.choice([1.0, -0.0], len(rows))  # each of which has a bit
        touched = Touched(numbers)
        np.testing.assert_array_equal(np.concatenate(list(touched.rows())), rows)
        assert touched.count() == len(rows)
        assert all(piece.size <= (1 << 17) + 1000 for piece in touched.pieces(numbers.__getitem__))


@linux_only
def test_threads_look_while_others_come_and_go() -> None:
    wrong: list[object] = []

    def look(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(30):
            array = _core.zeros_float64(SIZE)
            written = np.sort(rng.integers(512, SIZE, 20))
            array[written] = 1
            copied = _core.zeros_float64(SIZE)
            _core.copy_touched(copied, array)
            for one in (array, copied):
                found = [r for r in ranges(one) if r[0] > 0]
                if found != pages(one, written):
                    wrong.append((found, written))

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


FORKING = """
import os, sys, threading
sys.path.insert(0, {tests!r})
from touched_pages import SIZE, _core, np, pages, ranges
array = _core.zeros_float64(SIZE)
array[[0, 10_000]] = 1
stop = threading.Event()
def busy():
    while not stop.is_set():
        _core.touched_ranges(_core.zeros_float64(1 << 22))
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads: thread.start()
failed = 0
for turn in range(20):
    child = os.fork()
    if child == 0:
        array[20_000 + 1000 * turn] = 1
        good = ranges(array) == pages(array, [0, 10_000, 20_000 + 1000 * turn])
        mine = _core.zeros_float64(SIZE)
        mine[[0, 30_000]] = 1
        os._exit(0 if good and ranges(mine) == pages(mine, [0, 30_000]) else 1)
    failed += os.waitpid(child, 0)[1] != 0
stop.set()
for thread in threads: thread.join()
assert ranges(array) == pages(array, [0, 10_000])
sys.exit(failed)
"""


@linux_only
def test_a_forked_child_has_pages_of_its_own() -> None:
    program = FORKING.format(tests=str(HERE.parent))
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr


OTHER = """
import sys
sys.path.insert(0, {tests!r})
from touched_pages import SIZE, _core, np, pages, ranges
array = _core.zeros_float64(SIZE)
written = np.array([0, 600, 5000, 10**6, 10**6 + 512, SIZE - 1])
array[written] = 1
copied = _core.zeros_float64(SIZE)
_core.copy_touched(copied, array[:])
assert (np.flatnonzero(copied) == written).all()
assert (_core.nonzero_groups(array, 1) == written).all()
found, exact = ranges(array), pages(array, written)
print("exact" if found == exact else "everything" if found == [(0, array.nbytes)] else found)
"""


@linux_only
@pytest.mark.parametrize(
    ("system", "said"),
    [
        ("", "exact"),
        ("no_scan", "exact"),
        ("no_file", "exact"),
        ("only_zeros", "exact"),
        ("cut_short", ""),
        ("no_mincore", "everything"),
        ("swap", "everything"),
    ],
)
def test_systems_that_know_less(tmp_path: Path, system: str, said: str) -> None:
    found = on_another_system(tmp_path, system, OTHER)
    if said:
        assert found == said


# Page faults of all that goes over a wide model. A look at each of its pages would be four million.
LOOKING = """
import copy, pickle, resource, sys
sys.path[:0] = {folders!r}
from test_touched import few_of_many, sureline
X, y = few_of_many()
begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
model = sureline.AROW(dtype="float32").fit(X.astype("float32"), y)
assert copy.deepcopy(model).nonzero_ == pickle.loads(pickle.dumps(model)).nonzero_ == 40
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - begin)
"""


@linux_only
@pytest.mark.parametrize("system", ["no_scan", "no_file"])
def test_without_the_file_as_few_pages_are_looked_at(tmp_path: Path, system: str) -> None:
    usual = int(on_another_system(tmp_path, "", LOOKING))
    assert int(on_another_system(tmp_path, system, LOOKING)) < 2 * usual + 1000


def on_another_system(folder: Path, system: str, program: str) -> str:
    """The output of a program if the system knows less of its pages."""
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = folder / "other_pagemap.so"
    options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", library, HERE / "other_pagemap.c", "-ldl"], check=True)
    loaded = filter(None, (os.environ.get("LD_PRELOAD"), str(library)))  # a sanitizer comes first
    settings = {**os.environ, "LD_PRELOAD": ":".join(loaded)} | ({"PAGEMAP": system} if system else {})
    text = program.format(tests=str(HERE.parent), folders=[str(HERE), str(HERE.parent)])
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, env=settings)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


# -- what it spares ------------------------------------------------------------------------------------------


def few_of_many(n_rows: int = 20, n_classes: int = 2) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Rows of two features each, in 2^31 - 1 columns."""
    rng = np.random.default_rng(1)
    far = rng.integers(0, WIDE - 1, n_rows)
    indices = np.column_stack([far, far + 1]).ravel().astype(np.int64)
    values = rng.standard_normal(2 * n_rows)
    X = sparse.csr_matrix((values, indices, np.arange(0, 2 * n_rows + 1, 2)), shape=(n_rows, WIDE))
    return X, np.arange(n_rows) % n_classes


@linux_only
@pytest.mark.parametrize(
    "model",
    [
        sureline.AROW(),
        sureline.ROMMA(),
        sureline.SSOL(max_nonzero=5),
        sureline.ODCA(smoothing=0.5, regularizer="elastic_net", delta=0.1),
        sureline.ODCA(window="exponential", beta=0.5, smoothing=0.5),
        sureline.SBCW(n_features=4),
    ],
    ids=repr,
)
def test_few_features_of_two_billion_take_no_time(model, tmp_path: Path) -> None:
    """Each look at all pages would take seconds. Generous, for machines with other work."""
    X, y = few_of_many()
    begin = time.process_time()
    model.growing = True
    for start in range(0, 20, 5):
        model.partial_fit(X[start : start + 5], y[start : start + 5])
    nonzeros = model.nonzero_
    assert 0 < nonzeros <= 40
    assert model.sparse_coef_.nnz == nonzeros
    twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    sureline.save(model, tmp_path / "model")
    twins.append(sureline.load(tmp_path / "model"))
    assert time.process_time() - begin < 2
    for twin in twins:
        assert twin.nonzero_ == nonzeros
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))


@linux_only
def test_a_refused_batch_of_a_wide_model_is_taken_back() -> None:
    """Though its numbers have been folded, all of them, more than once: what is remembered is what was there."""
    X, y = few_of_many(100)
    model = sureline.ODCA(window="exponential", beta=0.5, smoothing=0.5, regularizer="elastic_net", delta=0.01)
    begin = time.process_time()
    model.partial_fit(X[:50], y[:50], classes=[0, 1])
    before = pickle.dumps(model._state)
    bad = X[50:].copy()
    bad.data[-1] = np.nan
    with pytest.raises(ValueError, match="NaN in row 49"):
        model.partial_fit(bad, y[50:])
    assert pickle.dumps(model._state) == before
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("spacing", [60, 40_000])
@pytest.mark.parametrize(
    "parameters",
    [
        {"window": "exponential", "beta": 0.8},
        {"window": "exponential", "beta": 0.8, "regularizer": "elastic_net", "delta": 0.01},
        {"window": "sliding", "length": 30, "regularizer": "elastic_net", "delta": 0.01},
    ],
    ids=str,
)
def test_folds_of_wide_models_are_those_of_narrow_ones(parameters: dict, spacing: int) -> None:
    """Where weights are wide their slots are remembered from one fold to the next, until there are too many."""
    rng = np.random.default_rng(3)
    n_rows, nonzeros, width = 500, 60, 50_000
    indices = np.sort(np.argpartition(rng.random((n_rows, 2000)), nonzeros)[:, :nonzeros] * 25, axis=1)
    indices += rng.integers(0, 25, indices.shape)
    values, starts = rng.standard_normal(indices.size), np.arange(0, indices.size + 1, nonzeros)
    narrow = sparse.csr_matrix((values, indices.ravel(), starts), shape=(n_rows, width))
    wide = sparse.csr_matrix(
        (values, indices.ravel().astype(np.int64) * spacing, starts), shape=(n_rows, width * spacing)
    )
    y = rng.integers(0, 3, n_rows)
    models = [sureline.ODCA(smoothing=0.5, **parameters).fit(X, y) for X in (narrow, wide)]
    coefs = [model.sparse_coef_.tocsr() for model in models]
    assert coefs[0].nnz > 0
    np.testing.assert_array_equal(coefs[0].indices * spacing, coefs[1].indices)
    np.testing.assert_array_equal(coefs[0].data, coefs[1].data)
    assert models[0].n_mistakes_ == models[1].n_mistakes_


# -- learners of batches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SBCW", "FGM"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_groups_of_wide_rows_are_those_of_narrow_ones(name: str, n_classes: int) -> None:
    rng = np.random.default_rng(5)
    X = sparse.random(200, 300, 0.1, "csr", random_state=rng)
    y = (X[:, :30].sum(axis=1).A1 * 10).astype(int) % n_classes
    wide = sparse.csr_matrix((X.data, X.indices.astype(np.int64) * 100_000, X.indptr), shape=(200, 30_000_000))
    narrow, broad = (getattr(sureline, name)(n_features=20, r=5, growing=True) for _ in range(2))
    for part in (slice(0, 120), slice(120, 200)):
        narrow.partial_fit(X[part], y[part])
        broad.partial_fit(wide[part], y[part])
    assert len(narrow.groups_) > 1
    for group, spread in zip(narrow.groups_, broad.groups_, strict=True):
        np.testing.assert_array_equal(group * 100_000, spread)
    np.testing.assert_array_equal(narrow.decision_function(X), broad.decision_function(wide))
    assert broad.n_features_in_ == 30_000_000
    wide.data[-1] = 1e300  # in the last row, whose last column it is
    with pytest.raises(ValueError, match=f"column {wide.indices[-1]} of X"):
        getattr(sureline, name)(n_features=20, normalize="none", C=1e100).fit(wide, y)


def test_rows_without_features_of_a_wide_model() -> None:
    nothing = sparse.csr_matrix((4, 2**30))
    model = sureline.SBCW(n_features=3).fit(nothing, [0, 1, 0, 1])
    assert model.nonzero_ == 0
    assert model.n_features_in_ == 2**30


def test_what_would_fill_more_than_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = few_of_many()
    with monkeypatch.context() as patch:
        patch.setattr("sureline.models.precision.batch.usable_memory", lambda: 2**34)
        with pytest.raises(ValueError, match="BCW keeps the weights of all features: 2147483647 of them need 64 GiB"):
            sureline.BCW().fit(X, y)
        patch.setattr("sureline.models.heads.usable_memory", lambda: 2**34)
        model = sureline.AROW(growing=True).partial_fit(X, y)
        before = pickle.dumps(model._state)
        with pytest.raises(MemoryError, match="third class has come, the variances of all 2147483647 features change"):
            model.partial_fit(X, np.full(20, 2))
        assert pickle.dumps(model._state) == before
        assert sureline.AROW().partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, np.full(20, 2)).nonzero_ > 0
    sureline.Perceptron(growing=True).partial_fit(X, y).partial_fit(X, np.full(20, 2))
