"""Threads that share a model, or change what a call reads: run by tests/promises/test_threads.py in a process of its
own, and by `make sanitize` under the sanitizers.

    python thread_stress.py answers SEED COUNT    every answer is that of one whole model, whoever teaches it meanwhile
    python thread_stress.py teachers SEED COUNT   several teach one model, and nothing of it is lost
    python thread_stress.py arrays SEED COUNT     arrays change while a call reads them: refused, or learned from whole

COUNT models are tried, of a list of all kinds that begins somewhere else for each SEED. The last line of the output
says what happened, as JSON.
"""

from __future__ import annotations

import copy
import dataclasses
import faulthandler
import functools
import inspect
import json
import pickle
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import sureline
from sureline.custom import SecondOrderLearner, Step

warnings.simplefilter("ignore")
BATCHES, ROWS, WIDTH = 8, 24, 40


@dataclass(eq=False, repr=False)
class MyAROW(SecondOrderLearner):
    """A rule in Python."""

    r: float = 1.0
    active_below = 1.0

    def step(self, m: float, v: float, weight: float) -> Step:
        beta = 1 / (v + self.r / weight)
        return Step(alpha=(1 - m) * beta, beta=beta)


@dataclass(frozen=True)
class Kind:
    """A kind of model, and the rows that it learns from."""

    make: Callable[[], Any]
    n_classes: int = 2
    dense: bool = False
    width: int = WIDTH

    def __str__(self) -> str:
        return f"{self.make()!r} {self.n_classes} {'dense' if self.dense else 'sparse'} {self.width}".replace("\n", " ")


KINDS = [
    Kind(sureline.AROW),
    Kind(lambda: sureline.AROW(normalize="none"), width=1 << 18),  # wide: a batch is learned in place
    Kind(lambda: sureline.AROW(dtype="float32"), n_classes=3, width=1 << 18),
    Kind(lambda: sureline.PA(multi_class="ovr"), n_classes=3),
    Kind(lambda: sureline.Perceptron(normalize="row"), dense=True),
    Kind(lambda: sureline.SCW(covariance="full"), dense=True),
    Kind(lambda: sureline.SOP(normalize="none")),
    Kind(lambda: sureline.AROW(growing=True)),
    Kind(lambda: sureline.FTRL(l1=0.1), n_classes=3, width=1 << 18),
    Kind(lambda: sureline.FSOL(max_nonzero=9), width=1 << 18),
    Kind(lambda: sureline.SSOL(max_nonzero=9, dtype="float32")),
    Kind(lambda: sureline.SSOL(lam=0.1, covariance="full"), dense=True),
    Kind(lambda: sureline.STG(lam=0.01), width=1 << 18),
    Kind(lambda: sureline.SOFS(n_features=7), width=1 << 18),
    Kind(lambda: sureline.FOFS(n_features=7), n_classes=3),
    Kind(lambda: sureline.ODCA(window="sliding", length=30), width=1 << 18),
    Kind(lambda: sureline.ODCA(window="exponential", beta=0.9, smoothing=0.9)),
    Kind(lambda: sureline.ODCA(regularizer="kl")),
    Kind(lambda: sureline.ODCARegressor(window="sliding", length=30), n_classes=0),
    Kind(sureline.BCW, dense=True),
    Kind(lambda: sureline.BCW(normalize="none"), n_classes=3),
    Kind(lambda: sureline.SBCW(n_features=6)),
    Kind(lambda: sureline.FGM(n_features=6, normalize="none")),
    Kind(lambda: sureline.KernelSCW(gamma=0.1)),
    Kind(lambda: sureline.KernelSCW(kernel="linear", normalize="none"), n_classes=3, dense=True),
    Kind(MyAROW),
    Kind(lambda: sureline.SDCA(epochs=3, random_state=0)),
    Kind(lambda: sureline.SDCA(epochs=3, random_state=0, regularizer="kl", normalize="none"), n_classes=3),
    Kind(lambda: sureline.SparseDCA(n_features=6, random_state=0)),
    Kind(lambda: sureline.L1SVM(C=0.1, random_state=0)),
    Kind(lambda: sureline.AROW(average=True), width=1 << 18),
    Kind(lambda: sureline.FTRL(l1=0.1, average=5.0), n_classes=3),
    Kind(sureline.AROWRegressor, n_classes=0),
    Kind(sureline.Auto),
]


# -- rows ----------------------------------------------------------------------------------------------------


def batches(kind: Kind, n: int = BATCHES, seed: int = 0) -> list[tuple[Any, np.ndarray]]:
    """Rows and labels; all of the classes are in each."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        columns = np.sort(np.array([rng.choice(WIDTH, 8, replace=False) for _ in range(ROWS)]), axis=1)
        values = rng.standard_normal(columns.shape)
        spread = columns * (kind.width // WIDTH)
        X: Any = sparse.csr_matrix((values.ravel(), spread.ravel(), np.arange(ROWS + 1) * 8), shape=(ROWS, kind.width))
        y = np.arange(ROWS) % max(kind.n_classes, 2)
        found.append((X.toarray() if kind.dense else X, y * 1.5 if kind.n_classes == 0 else y))
    return found


def row_of(X: Any, i: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x = X[[i]].tocsr() if sparse.issparse(X) else sparse.csr_matrix(X[[i]])
    return x.indices.astype(np.int64), x.data.astype(np.float64)


def begun(kind: Kind) -> Any:
    X, y = batches(kind, 1, seed=9)[0]
    return kind.make().fit(X, y)


# -- what one does with a model ------------------------------------------------------------------------------


def bits(result: Any) -> bytes:
    """A result, comparable to the bit."""
    if sparse.issparse(result):
        return b"".join(a.tobytes() for a in (result.indptr, result.indices, result.data))
    if isinstance(result, list | tuple):
        return b"|".join(map(bits, result))
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return b"|".join(bits(getattr(result, field.name)) for field in dataclasses.fields(result))
    if isinstance(result, dict):
        return repr(sorted(result.items())).encode()
    if isinstance(result, np.ndarray):
        return result.tobytes() if result.dtype != object else repr(result.tolist()).encode()
    if hasattr(result, "seen"):  # a tally
        return bits([result.seen, result.mistakes])
    return repr(result).encode()


def says(model: Any, X: Any) -> bytes:
    """A copy of the model, comparable to the bit."""
    ask = getattr(model, "decision_function", model.predict)
    parts = [ask(X)]
    if hasattr(model, "n_seen_"):
        parts.append(model.n_seen_)
    return bits(parts)


OF_ROWS = (
    "predict", "predict_proba", "decision_function", "decision_std", "confidence", "transform", "belief", "explain",
    "novelty", "predict_std", "wants_label",
)  # fmt: skip
OF_ONE_ROW = (
    "predict_one", "predict_proba_one", "explain_one", "novelty_one", "predict_std_one", "wants_label_one",
)  # fmt: skip


def questions(model: Any, X: Any, folder: Path) -> dict[str, Callable[[Any], bytes]]:
    """All questions to a model: the attributes and methods of its class, and the ways to a copy."""
    found: dict[str, Callable[[Any], bytes]] = {}
    for name in sorted(dir(type(model))):
        if name.startswith("_") or name in ("get_params", "set_params", "get_metadata_routing", "set_output"):
            continue
        attribute = inspect.getattr_static(type(model), name)
        if isinstance(attribute, property):
            if name.endswith("_") or name == "total_loss":
                found[name] = lambda m, name=name: bits(getattr(m, name))
        elif name in OF_ROWS:
            found[name] = lambda m, name=name: bits(getattr(m, name)(X))
        elif name in OF_ONE_ROW:
            found[name] = lambda m, name=name: bits(getattr(m, name)(row_of(X)))
        elif name in ("predict_or_abstain", "coverage"):
            rows = (X,) if name == "predict_or_abstain" else ()
            found[name] = lambda m, name=name, rows=rows: bits(getattr(m, name)(*rows, max_error=0.4))
        elif name in ("get_support", "selected_columns", "progressive_measures"):
            found[name] = lambda m, name=name: bits(getattr(m, name)())
        elif name == "top_weights":
            found[name] = lambda m: bits(m.top_weights(5))
    numbers = iter(range(1 << 30))

    def saved(m: Any, **options: Any) -> bytes:
        path = folder / f"m{next(numbers)}"
        sureline.save(m, path, **options)
        read = sureline.load(path)
        path.unlink()
        return says(read, X)

    found["save"] = saved
    found["save compact"] = functools.partial(saved, compact=True)
    found["pickle"] = lambda m: says(pickle.loads(pickle.dumps(m)), X)
    found["deepcopy"] = lambda m: says(copy.deepcopy(m), X)
    found["copy"] = lambda m: says(copy.copy(m), X)
    found["repr"] = lambda m: bits(repr(m))
    fine = {}
    for name, ask in found.items():
        try:
            ask(model)
        except (AttributeError, TypeError, ValueError):
            continue  # not of this kind of model
        fine[name] = ask
    return fine


Lesson = Callable[[Any, int], Any]


def lessons(kind: Kind) -> dict[str, Lesson]:
    """The ways to teach a model; each takes the model and the number of the lesson."""
    data = batches(kind)
    more = batches(kind, seed=3)

    def set_parameter(m: Any, i: int) -> None:
        m.set_params(normalize=m.normalize)
        m.fit(*more[i])

    ways: dict[str, Lesson] = {
        "fit": lambda m, i: m.fit(*data[i]),
        "set_params": set_parameter,
    }
    model = kind.make()
    if hasattr(model, "partial_fit"):
        ways["partial_fit"] = lambda m, i: m.partial_fit(*data[i])
        ways["partial_fit of a row"] = lambda m, i: m.partial_fit(data[i][0][:1], data[i][1][:1])
    if hasattr(model, "learn_one"):
        ways["learn_one"] = lambda m, i: [m.learn_one(row_of(data[i][0], k), data[i][1][k]) for k in range(1)]
    if getattr(model, "growing", False):
        ways["growing"] = lambda m, i: m.partial_fit(sparse.csr_matrix(([1.0], ([0], [WIDTH + 9 * i]))), [7 + i])
        ways["growing by one"] = lambda m, i: m.learn_one((np.array([WIDTH + 9 * i]), np.array([1.0])), 7 + i)
    return ways


class Threads:
    """Run functions at the same time; the first decides when to stop. Their exceptions are raised."""

    def __init__(self, first: Callable[[], None], *others: Callable[[Callable[[], bool]], None]) -> None:
        self.over, self.errors = threading.Event(), []
        self._begin = threading.Barrier(1 + len(others))
        self._threads = [threading.Thread(target=self._run, args=(self._first, first))]
        self._threads += [threading.Thread(target=self._run, args=(other, self.over.is_set)) for other in others]
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _first(self, first: Callable[[], None]) -> None:
        try:
            first()
        finally:
            self.over.set()

    def _run(self, function: Callable[[Any], None], argument: Any) -> None:
        try:
            self._begin.wait()
            function(argument)
        except BaseException as error:
            self.errors.append(error)
            self.over.set()


# -- what must hold ------------------------------------------------------------------------------------------


def answers(kind: Kind, folder: Path) -> Iterator[str]:
    """Each answer is that of the model after some lesson."""
    X = batches(kind, 1, seed=5)[0][0]
    for way, teach in lessons(kind).items():
        model = begun(kind)
        asked = questions(model, X, folder)
        expected: dict[str, set[bytes]] = {name: {ask(model)} for name, ask in asked.items()}
        for i in range(BATCHES):
            teach(model, i)
            for name, ask in asked.items():
                expected[name].add(ask(model))
        shared = begun(kind)

        def learn(teach: Lesson = teach, shared: Any = shared) -> None:
            for i in range(BATCHES):
                time.sleep(0.001)
                teach(shared, i)

        def ask_all(
            over: Callable[[], bool],
            asked: dict[str, Callable[[Any], bytes]] = asked,
            expected: dict[str, set[bytes]] = expected,
            shared: Any = shared,
            way: str = way,
        ) -> None:
            rng = np.random.default_rng(threading.get_ident() % 1000)
            names = list(asked)
            while True:
                last = over()
                for k in rng.permutation(len(names)):
                    name = names[k]
                    assert asked[name](shared) in expected[name], f"{kind}: {name} during {way} is of no model"
                    if over() and not last:
                        break
                if last:
                    return

        Threads(learn, ask_all, ask_all)
        yield from (f"{name} during a lesson" for name in asked)


def teachers(kind: Kind, folder: Path) -> Iterator[str]:
    """Two and three teach at once: all was learned, in some order, and the model can be used."""
    X = batches(kind, 1, seed=5)[0][0]
    ways = lessons(kind)
    for way, other in [(a, b) for a in ways for b in ways if a <= b]:
        shared = begun(kind)
        before = getattr(shared, "n_seen_", 0)

        def learn(teach: Lesson, shared: Any = shared) -> None:
            for i in range(BATCHES):
                teach(shared, i)

        Threads(
            functools.partial(learn, ways[way]),
            lambda _, other=other, learn=learn: learn(ways[other]),
            lambda over, shared=shared: [copy.deepcopy(shared) for _ in iter(lambda: not over(), False)],
        )
        rows = {"fit": 0, "partial_fit": ROWS}
        if all(name in ("partial_fit", "partial_fit of a row", "learn_one") for name in (way, other)):
            n = sum(BATCHES * rows.get(name, 1) for name in (way, other))
            assert shared.n_seen_ == before + n, f"{kind}: {way} and {other} lost {before + n - shared.n_seen_} rows"
        assert says(pickle.loads(pickle.dumps(shared)), X) == says(shared, X)
        finite(shared, X)
        yield "two teach"


def finite(model: Any, X: Any) -> None:
    scores = np.asarray(getattr(model, "decision_function", model.predict)(X), float)
    assert np.isfinite(scores).all()
    if getattr(model, "has_weights", True) and hasattr(model, "sparse_coef_"):
        assert np.isfinite(model.sparse_coef_.data).all()


def arrays(kind: Kind, folder: Path) -> Iterator[str]:
    """Arrays of the caller change while they are read: one clear error that leaves the model as it was, or a model."""
    n_rows = 400
    parts = batches(kind, n_rows // ROWS + 1, seed=1)
    y = np.concatenate([part[1] for part in parts])[:n_rows]
    X = (np.concatenate if kind.dense else sparse.vstack)([part[0] for part in parts])[:n_rows]
    if not kind.dense:
        X = sparse.csr_matrix(X)
    asked = batches(kind, 1, seed=5)[0][0]
    weight = np.ones(n_rows)
    targets: dict[str, tuple[np.ndarray, Any]] = {"y": (y, y[::-1].copy()), "sample_weight": (weight, np.nan)}
    if kind.dense:
        targets["X"] = X, np.nan
    else:
        targets["data"] = X.data, np.nan
        targets["indices"] = X.indices, np.int32((1 << 31) - 1)
        targets["indices below 0"] = X.indices, np.int32(-(1 << 30))
        targets["indptr"] = X.indptr, np.int32((1 << 31) - 1)
        targets["indices and indptr"] = X.indices, X.indices[::-1].copy()
    model = begun(kind)
    calls: dict[str, Callable[[Any], Any]] = {"fit": lambda m: m.fit(X, y, sample_weight=weight)}
    if hasattr(model, "partial_fit"):
        calls["partial_fit"] = lambda m: m.partial_fit(X, y, sample_weight=weight)
    if hasattr(model, "learn_one"):
        one = (X.indices[:8], X.data[:8]) if not kind.dense else (np.arange(WIDTH), X[0])
        calls["learn_one"] = lambda m: [m.learn_one(one, y[0]) for _ in range(200)]
    for name in ("predict", "decision_std", "transform"):
        if hasattr(model, name):
            calls[name] = lambda m, name=name: getattr(m, name)(X)
    for what, (array, bad) in targets.items():
        good = array.copy()
        for name, call in calls.items():

            def attack(over: Callable[[], bool], array: Any = array, bad: Any = bad, good: Any = good) -> None:
                rng = np.random.default_rng(0)
                while not over():
                    at = slice(int(rng.integers(len(array))), None)
                    array[at] = bad if np.ndim(bad) == 0 else bad[at]
                    time.sleep(0)
                    array[at] = good[at]

            outcomes: Counter[str] = Counter()

            def use(call: Any = call, name: str = name, outcomes: Any = outcomes) -> None:
                for _ in range(6):
                    m = copy.deepcopy(model)
                    before = says(m, asked)
                    try:
                        call(m)
                        outcomes["taken"] += 1
                    except (ValueError, OverflowError):
                        outcomes["refused"] += 1
                        if name != "learn_one":
                            assert says(m, asked) == before, f"{kind}: {name} was refused and left traces"
                    finite(m, asked)

            Threads(use, attack)
            array[...] = good
            yield from (f"{what} {outcome}" for outcome in outcomes)


def main(arguments: list[str]) -> None:
    what, seed, count = arguments[0], int(arguments[1]), int(arguments[2])
    faulthandler.enable()
    faulthandler.dump_traceback_later(1200, exit=True)  # a deadlock
    check = {"answers": answers, "teachers": teachers, "arrays": arrays}[what]
    happened: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            kind = KINDS[(seed * 7 + i) % len(KINDS)]
            print(kind, file=sys.stderr, flush=True)
            happened.update(check(kind, Path(folder)))
    print(json.dumps(happened))


if __name__ == "__main__":
    sys.setswitchinterval(1e-4)
    main(sys.argv[1:])
