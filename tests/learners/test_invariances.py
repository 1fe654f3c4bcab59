"""Changes that must not affect the result: storage, batches, and order of visits."""

import os
import pickle
import platform
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import numpy as np
import pytest
from catalogue import ALL, Case, every_case, everything, stream
from scipy import sparse
from sklearn.base import clone

from sureline import AROW, PA, SCW
from sureline._native import _core


@every_case
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_chunks_equal_one_call_to_the_bit(case: Case, n_classes: int, as_rows) -> None:
    X, y = stream(n_classes=n_classes)
    classes = np.arange(n_classes)
    whole = case.make().partial_fit(as_rows(X), y, classes=classes)
    for sizes in ([1] * 300, [7, 100, 1, 192]):
        parts, at = case.make(), 0
        for size in sizes:
            parts.partial_fit(as_rows(X[at : at + size]), y[at : at + size], classes=classes)
            at += size
        assert everything(parts) == everything(whole)
    assert everything(case.make().fit(as_rows(X), y)) == everything(whole)


@every_case
def test_index_types_and_order_of_columns_do_not_matter(case: Case) -> None:
    X, y = stream()
    plain = sparse.csr_matrix(X)
    expected = everything(case.make().fit(plain, y))
    wide = plain.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert everything(case.make().fit(wide, y)) == expected
    rng = np.random.default_rng(0)
    shuffled = plain.copy()
    for row in range(plain.shape[0]):
        span = slice(*plain.indptr[row : row + 2])
        order = rng.permutation(span.stop - span.start)
        shuffled.indices[span], shuffled.data[span] = plain.indices[span][order], plain.data[span][order]
    before = shuffled.indices.copy()
    assert everything(case.make().fit(shuffled, y)) == expected
    np.testing.assert_array_equal(shuffled.indices, before)  # what was passed is not tidied up in place


def test_a_column_that_comes_twice_in_a_row_counts_as_its_sum() -> None:
    twice = sparse.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    once = np.array([[3.0, 0.0], [0.0, 4.0]])
    assert everything(AROW(normalize="none").fit(twice, [0, 1])) == everything(
        AROW(normalize="none").fit(once, [0, 1])
    ) or np.allclose(
        AROW(normalize="none").fit(twice, [0, 1]).coef_, AROW(normalize="none").fit(once, [0, 1]).coef_, rtol=1e-12
    )


@every_case
def test_float32_is_near_float64(case: Case) -> None:
    X, y = stream(n_rows=150, seed=5)
    X = X.astype(np.float32)
    single, double = case.make(dtype="float32").fit(X, y), case.make(dtype="float64").fit(X, y)
    assert single.coef_.dtype == np.float32
    assert abs(single.n_mistakes_ - double.n_mistakes_) <= 3
    assert np.abs(single.coef_ - double.coef_).max() < 2e-3 * np.abs(double.coef_).max()


@every_case
def test_pickled_models_go_on_learning_as_the_original(case: Case) -> None:
    X, y = stream(n_classes=3)
    model = case.make().partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    twin = pickle.loads(pickle.dumps(model))
    assert everything(twin) == everything(model)
    model.partial_fit(X[100:], y[100:])
    twin.partial_fit(X[100:], y[100:])
    assert everything(twin) == everything(model)
    fresh = clone(model)
    assert not hasattr(fresh, "coef_")
    assert everything(fresh.fit(X, y)) == everything(model)


@every_case
def test_weight_zero_is_as_if_the_row_had_not_come(case: Case) -> None:
    X, y = stream()
    weight = np.random.default_rng(0).integers(0, 2, len(y)).astype(float)
    assert everything(case.make().fit(X, y, weight)) == everything(case.make().fit(X[weight > 0], y[weight > 0]))


def test_two_threads_give_the_same_bits_as_one_after_the_other() -> None:
    X, y = stream(n_rows=20_000, n_columns=50)
    rows = sparse.csr_matrix(X)
    cases = [case for case in ALL if case.name in ("AROW", "ROMMA", "SCW", "PA")]
    alone = [everything(case.make().fit(rows, y)) for case in cases]
    together: dict[int, list] = {}

    def work(first: int) -> None:
        for i in range(first, len(cases), 2):
            together[i] = everything(cases[i].make().fit(rows, y))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[i] for i in range(len(cases))] == alone


def test_the_loop_lets_other_threads_run() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4000, 300)), rng.integers(0, 2, 4000)
    ticks, done = 0, threading.Event()

    def learn() -> None:
        AROW(covariance="full", normalize="none").fit(X, y)
        done.set()

    worker = threading.Thread(target=learn)
    worker.start()
    while not done.wait(0.001):
        ticks += 1
    worker.join()
    assert ticks > 10  # with the GIL held this thread would wake up once or twice


def test_passes_and_shuffling() -> None:
    X, y = stream()
    twice = AROW(passes=2, normalize="none").fit(X, y)
    again = AROW(normalize="none").partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    assert everything(twice) == everything(again)
    assert twice.n_seen_ == 2 * len(y)
    a, b, c = (SCW(shuffle=True, random_state=seed, normalize="none").fit(X, y) for seed in (0, 0, 1))
    assert everything(a) == everything(b) != everything(c)
    order = np.random.RandomState(0).permutation(len(y))
    assert everything(a) == everything(SCW(normalize="none").fit(X[order], y[order]))


def test_a_model_mapped_read_only_goes_on_learning() -> None:
    X, y = stream(n_columns=6)
    for name in ("weights", "memory", "factors"):
        model = AROW(covariance="full", normalize="none").partial_fit(X, y, classes=[0, 1])
        twin = pickle.loads(pickle.dumps(model))
        getattr(model._state, name).flags.writeable = False
        assert everything(model.partial_fit(X[:1], y[:1])) == everything(twin.partial_fit(X[:1], y[:1]))


def test_an_interrupted_call_leaves_weights_and_counters_that_agree() -> None:
    """A signal is handled after the loop; whatever it raises, the model is the one before or the one after."""
    n, width = 20_000, 400_000
    X = sparse.csr_matrix(
        (np.ones(n), np.arange(n, dtype=np.int32), np.arange(n + 1, dtype=np.int32)), shape=(n, width)
    )
    y = np.arange(n) % 2

    class Interrupted(Exception):
        pass

    def interrupt(*_) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in np.linspace(1e-4, 4e-3, 30):
            model = AROW(normalize="none").partial_fit(X[:10], y[:10], classes=[0, 1])
            with suppress(Interrupted):  # which may also come just when the call is over
                signal.setitimer(signal.ITIMER_REAL, delay)
                try:
                    model.partial_fit(X, y)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            assert model.n_seen_ in (10, n + 10)
            assert np.count_nonzero(model.coef_) == (10 if model.n_seen_ == 10 else n)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_shuffling_unsorted_rows_draws_once() -> None:
    X, y = stream()
    rows = sparse.csr_matrix(X)
    shuffled = rows.copy()
    last = slice(*rows.indptr[-2:])
    shuffled.indices[last], shuffled.data[last] = rows.indices[last][::-1].copy(), rows.data[last][::-1].copy()
    a, b = (
        SCW(shuffle=True, random_state=np.random.RandomState(0), normalize="none").fit(X_, y) for X_ in (rows, shuffled)
    )
    assert everything(a) == everything(b)


def test_fit_forgets() -> None:
    X, y = stream()
    model = PA(normalize="none").fit(X, y)
    before = everything(model)
    assert everything(model.fit(X, y)) == before


PROGRAM = """
import sys; sys.path.insert(0, {tests!r})
from catalogue import ALL, everything, stream
from scipy import sparse
import hashlib
digest = hashlib.sha256()
for case in ALL:
    for dtype in ("float32", "float64"):
        for n_classes in (2, 3):
            X, y = stream(n_columns=37, n_classes=n_classes)
            for rows in (X, sparse.csr_matrix(X)):
                model = case.make(dtype=dtype).fit(rows, y)
                digest.update(repr(everything(model)).encode())
                digest.update(model.decision_function(rows).tobytes())
from sureline._native import _core
print(_core.instruction_set(), digest.hexdigest())
"""


def with_instruction_set(name: str, program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SURELINE_INSTRUCTION_SET": name}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)


def instruction_sets_of_this_build() -> list[str]:
    run = with_instruction_set("none", "from sureline import _core")
    assert "ImportError" in run.stderr
    refusal = re.search(
        "SURELINE_INSTRUCTION_SET is 'none', which this machine or this build does not have; this build has (.*)[.]",
        run.stderr,
    )
    assert refusal
    return refusal[1].split(", ")


def test_every_instruction_set_gives_the_same_bits() -> None:
    """A wheel has several, on x86-64; a build from source has the one of its machine."""
    names = instruction_sets_of_this_build()
    if "SURELINE_TEST_WHEEL" in os.environ:
        x86 = platform.machine() in ("x86_64", "AMD64")
        assert names == (["baseline", "avx2", "avx512"] if x86 else ["baseline"])
    digests = {}
    for name in names:
        run = with_instruction_set(name, PROGRAM.format(tests=os.path.dirname(os.path.dirname(__file__))))
        if run.returncode:  # a machine without the wider ones compares what it has
            assert f"SURELINE_INSTRUCTION_SET is '{name}', which this machine" in run.stderr
            assert name != "baseline"
        else:
            used, digests[name] = run.stdout.split()
            assert used == name
    assert len(set(digests.values())) == 1
    assert _core.instruction_set() in digests
