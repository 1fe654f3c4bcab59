"""Speed as ratios, measured in one run: ``make bench`` or ``python benchmarks/speed.py``.

Everything is generated here and nothing is fetched. Each pair of things is timed in turns, several times over, and the
ratio is that of the shortest times, since the machine may have other work. A line ends in "ok" where the ratio is
within its limit. How time and memory depend on the width is in width.py.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ratios import compiled, failures, pointer, report, shortest
from sklearn.linear_model import SGDClassifier

import sureline
from sureline import AROW, ODCA, PA, Perceptron
from sureline._native import _core
from sureline.custom import FirstOrderLearner, Step
from sureline.datasets import make_sparse_stream, make_stream_like
from sureline.models.rows import as_rows


def compiled_floors() -> ctypes.CDLL:
    floors = compiled("floors.cpp", Path(tempfile.mkdtemp()))
    for name in ("perceptron", "pa", "arow", "fsol", "ssol", "adarda", "fobos", "ftrl"):
        getattr(floors, f"floor_{name}").restype = ctypes.c_int64
    floors.floor_traffic.restype = ctypes.c_double
    return floors


@dataclass
class Stream:
    """Rows in memory, as each of the programs wants them."""

    title: str
    X: Any
    y: Any

    def __post_init__(self) -> None:
        self.signs = (2 * self.y - 1).astype(np.int8)
        self.rows, self.labels = as_rows(self.X, "float32"), self.y.astype(np.int32)
        self.nonzeros = self.X.nnz // self.X.shape[0]  # of every row
        self.occurring = int(np.count_nonzero(np.bincount(self.X.indices, minlength=self.X.shape[1])))

    def __str__(self) -> str:
        n, d = self.X.shape
        return f"{self.title}: {n:,} x {d:,}, {self.nonzeros} nonzeros a row, one pass in memory, float32"

    def bare_loop(self, floors: ctypes.CDLL, name: str, *parameters: float) -> int:
        """The number of updates. With parameters, it is one of those that work on memory as the learner gets it."""
        X = self.X
        arguments = [*map(pointer, (X.data, X.indices, X.indptr, self.signs)), ctypes.c_int64(X.shape[0])]
        if parameters:
            state = np.zeros((X.shape[1] + 1) * (1 if name == "FSOL" else 2), np.float32)
            arguments += [pointer(state), *map(ctypes.c_double, parameters)]
        else:
            arguments.append(ctypes.c_int64(X.shape[1]))
        updates: int = getattr(floors, f"floor_{name.lower()}")(*arguments)
        return updates

    def pass_over_rows(self, model: Any) -> None:
        """What fit does between checking y and setting attributes."""
        state = model.fresh_state(self.X.shape[1], 2)
        state.learn(model.rule, self.rows, self.labels, None, None, journal=False)

    def sgd(self, **parameters: Any) -> Any:
        return SGDClassifier(loss="hinge", max_iter=1, tol=None, **parameters).fit(self.X, self.y)

    def cost(self, seconds: float) -> str:
        return f"{1e3 * seconds:6.1f} ms, {1e9 * seconds / self.X.nnz:.1f} ns/nonzero"


def dense_learners(floors: ctypes.CDLL, stream: Stream, arow_limit: float) -> None:
    """Those that give every feature a weight."""
    print(f"\n{stream}")
    X, y = stream.X, stream.y
    learners = [("AROW", AROW, arow_limit), ("Perceptron", Perceptron, 0.65), ("PA", partial(PA, C=1.0), 0.65)]
    actions: list[Callable[[], Any]] = [stream.sgd, lambda: stream.sgd(shuffle=False)]
    for name, estimator, _ in learners:
        actions.append(lambda estimator=estimator: estimator(dtype="float32", normalize="none").fit(X, y))
        actions.append(lambda estimator=estimator: stream.pass_over_rows(estimator(dtype="float32", normalize="none")))
        actions.append(lambda name=name: stream.bare_loop(floors, name))
    times = shortest(*actions)
    print(
        f"  {'SGDClassifier(loss=hinge), one epoch':<58}{1e3 * times[0]:>8.1f} ms   unshuffled {1e3 * times[1]:.1f} ms"
    )
    for i, (name, estimator, limit) in enumerate(learners):
        ours, core, floor = times[2 + 3 * i : 5 + 3 * i]
        updates = estimator(dtype="float32", normalize="none").fit(X, y).n_updates_
        detail = f"{stream.cost(ours)}, {updates / len(y):.0%} updates"
        report(f"{name} / SGDClassifier", ours / times[0], limit, detail=detail)
        print(f"  {f'{name} / SGDClassifier(shuffle=False)':<58}{ours / times[1]:>8.2f}")
        detail = f"{1e3 * core:6.1f} ms against {1e3 * floor:.1f} ms; all of fit {ours / floor:.2f}"
        report(f"{name}, the pass over the rows / bare loop", core / floor, 1.25, detail=detail)


def online_dual(stream: Stream) -> None:
    """Learners with a window, against passive-aggressive learning on the same rows."""
    print(f"\n{stream}, with a window")
    forgets = {"rho": 1e-4, "window": "exponential", "beta": 0.99998, "dtype": "float32"}
    sparse = {**forgets, "regularizer": "elastic_net", "delta": 1e-3}
    last = {"rho": 1e-4, "window": "sliding", "length": 10_000, "dtype": "float32"}
    models = [
        ("hinge, l2, exponential", ODCA(**forgets, smoothing=0.0, normalize="none"), 1.5),
        ("hinge, elastic net, exponential", ODCA(**sparse, smoothing=0.0, normalize="none"), 2.5),
        ("hinge, l2, infinite", ODCA(rho=1e-4, dtype="float32", smoothing=0.0, normalize="none"), None),
        ("hinge, l2, sliding", ODCA(**last, smoothing=0.0, normalize="none"), None),
        ("hinge, l2, exponential, smoothed", ODCA(**forgets, smoothing=0.999, normalize="none"), None),
        ("hinge, elastic net, exponential, smoothed", ODCA(**sparse, smoothing=0.999, normalize="none"), None),
    ]
    pa, *times = shortest(
        lambda: stream.pass_over_rows(PA(C=1.0, dtype="float32", normalize="none")),
        *(lambda model=model: stream.pass_over_rows(model) for _, model, _ in models),
    )
    print(f"  PA: {stream.cost(pa)}")
    for (what, model, limit), seconds in zip(models, times, strict=True):
        updates = model.fit(stream.X, stream.y).n_updates_
        detail = f"{stream.cost(seconds)}, {updates / len(stream.y):.0%} updates"
        if limit is None:
            print(f"  {f'ODCA({what}) / PA':<58}{seconds / pa:>8.2f}   {'':18}{detail}")
        else:
            report(f"ODCA({what}) / PA", seconds / pa, limit, detail=detail)


def zeros(stream: Stream, model: Any) -> str:
    return f"{1 - model.nonzero_ / stream.occurring:.0%} zeros"


def same_arithmetic(stream: Stream, floors: ctypes.CDLL, name: str, model: Any, *parameters: float) -> None:
    """The bare loop is one of the same learner: it updates as often, up to what rounding does."""
    loop, ours = stream.bare_loop(floors, name, *parameters), model.n_updates_
    if abs(loop - ours) > 0.005 * len(stream.y):
        failures.append(f"{name} makes {ours} updates and its bare loop {loop}")
        print(f"  {failures[-1]}: they do not compute the same")


def normalizations(stream: Stream) -> None:
    """What it costs to divide the rows, each by its length or each value by the scale of its feature."""
    X, y = stream.X, stream.y
    kinds = ("none", "row", "scale")
    none, *others = shortest(
        *(lambda kind=kind: AROW(dtype="float32", normalize=kind).fit(X, y) for kind in kinds)  # type: ignore[misc]
    )
    for kind, limit, seconds in zip(kinds[1:], (None, 1.3), others, strict=True):
        what = f"AROW(normalize={kind!r}) / AROW(normalize='none')"
        if limit is None:
            print(f"  {what:<58}{seconds / none:>8.2f}   {'':18}{stream.cost(seconds)}")
        else:
            report(what, seconds / none, limit, detail=stream.cost(seconds))


def averages(stream: Stream) -> None:
    """What it costs to predict with the average of the weights."""

    def fit(kind: Any, average: bool) -> Any:
        return lambda: kind(dtype="float32", normalize="none", average=average).fit(stream.X, stream.y)

    for kind in (PA, AROW, sureline.SSOL):
        last, average = shortest(fit(kind, False), fit(kind, True), rounds=3)
        what = f"{kind.__name__}(average=True) / {kind.__name__}(average=False)"
        print(f"  {what:<58}{average / last:>8.2f}   {'':18}{stream.cost(average)}")


def recording_times(stream: Stream) -> tuple[float, float]:
    """A pass of AROW over the rows, without and with predictions put on record before their labels are learned from."""
    model = AROW(dtype="float32", normalize="none")

    def learn(*, record: bool) -> None:
        state = model.fresh_state(stream.X.shape[1], 2)
        state.learn(model.rule, stream.rows, stream.labels, None, None, False, model.costs, record=record)

    without, recorded = shortest(lambda: learn(record=False), lambda: learn(record=True))
    return without, recorded


def recording(stream: Stream) -> None:
    """What calibration costs."""
    without, recorded = recording_times(stream)
    report("AROW with a record / without", recorded / without, 1.05, detail=stream.cost(recorded))


def sparse_learners(floors: ctypes.CDLL, stream: Stream, penalties: dict[str, float]) -> None:
    """Those whose penalty makes weights exactly zero, with penalties that do so for most of the features that occur."""
    print(f"\n{stream}, with a penalty")
    X, y = stream.X, stream.y

    def make(name: str) -> Any:
        published = {"eta": 1.0, **{"SSOL": {"r": 1.0}, "AdaRDA": {"delta": 1.0}}.get(name, {})}
        return getattr(sureline, name)(lam=penalties[name], **published, dtype="float32", normalize="none")

    actions: list[Callable[[], Any]] = [
        lambda: stream.sgd(penalty="l1"),
        lambda: stream.sgd(penalty="l1", shuffle=False),
    ]
    for name in penalties:
        actions.append(lambda name=name: stream.bare_loop(floors, name, penalties[name]))
        actions.append(lambda name=name: stream.pass_over_rows(make(name)))
        actions.append(lambda name=name: make(name).fit(X, y))
    shuffled, unshuffled, *rest = shortest(*actions)
    times = iter(rest)
    sgd = 1 - np.count_nonzero(stream.sgd(penalty="l1").coef_) / stream.occurring
    print(f"  SGDClassifier(loss=hinge, penalty=l1), one epoch: {stream.cost(shuffled)}, {sgd:.0%} zeros", end="")
    print(f"; unshuffled {stream.cost(unshuffled)}")
    for name in penalties:
        loop, core, ours = next(times), next(times), next(times)
        model = make(name).fit(X, y)
        same_arithmetic(stream, floors, name, model, penalties[name])
        what = f"{name}(lam={penalties[name]:g})"
        detail = f"{stream.cost(ours)}, {model.n_updates_ / len(y):.0%} updates, {zeros(stream, model)}"
        report(f"{what} / SGDClassifier(penalty=l1)", ours / shuffled, 0.6, detail=detail)
        print(f"  {f'{what} / the same with shuffle=False':<58}{ours / unshuffled:>8.2f}")
        detail = f"{1e3 * core:6.1f} ms against {1e3 * loop:.1f} ms; all of fit {ours / loop:.2f}"
        report(f"{what}, the pass / bare loop", core / loop, 1.3, detail=detail)


class VowpalWabbit:
    """Its FTRL on a stream, read from its own cache.

    The text that the cache is made from is written and parsed beforehand. The table of weights has a place for every
    feature. A second thread decodes the cache meanwhile, so on a busy machine the wall clock says little; what is
    taken for its time is the processor time of the thread that learns, which is the wall clock where both threads have
    a core of their own (tried: 38.9 of 39.0 ns a nonzero).
    """

    def __init__(self, stream: Stream, folder: Path, options: str) -> None:
        import vowpalwabbit

        bits = (stream.X.shape[1] - 1).bit_length()
        self._workspace = vowpalwabbit.Workspace
        self._options = f"--ftrl {options} --loss_function logistic -b {bits} --quiet"
        self._folder = folder
        self.learning = {"all": np.inf, "one": np.inf}  # the shortest time of each
        X, nonzeros = stream.X, stream.nonzeros
        template = " |" + " %d:%.9g" * nonzeros + "\n"
        with open(folder / "all.txt", "w") as all_rows:
            for i, sign in enumerate(stream.signs.tolist()):
                here = slice(X.indptr[i], X.indptr[i + 1])
                pairs: list[Any] = [None] * (2 * nonzeros)
                pairs[::2], pairs[1::2] = X.indices[here].tolist(), X.data[here].tolist()
                all_rows.write(str(sign) + template % tuple(pairs))
        with open(folder / "all.txt") as all_rows:
            (folder / "one.txt").write_text(all_rows.readline())
        self.run("all"), self.run("one")  # make the caches
        self.learning = dict.fromkeys(self.learning, np.inf)
        for text in ("all.txt", "one.txt"):
            (folder / text).write_text("")  # from here on there is nothing else to read
        if (rows := self.run("all")) != X.shape[0]:
            sys.exit(f"Vowpal Wabbit's cache has {rows} examples instead of {X.shape[0]}.")

    def run(self, which: str) -> int:
        """One pass over all rows, or over one of them, which is what it costs to start and to stop."""
        files = f"-d {self._folder / which}.txt --cache_file {self._folder / which}.cache"
        begin = time.thread_time()
        workspace = self._workspace(f"{self._options} {files}")
        examples = workspace.get_weighted_examples()
        workspace.finish()
        self.learning[which] = min(self.learning[which], time.thread_time() - begin)
        return int(examples)


def vowpal_wabbit(floors: ctypes.CDLL, stream: Stream, l1: float) -> None:
    """FTRL-proximal with log loss, the same four parameters on both sides. There the intercept has a penalty too."""
    alpha, beta, l2 = 1.0, 1.0, 1.0
    print(f"\n{stream.title}: FTRL(alpha={alpha:g}, beta={beta:g}, l1={l1:g}, l2={l2:g}) with log loss, one pass")

    def make() -> Any:
        return sureline.FTRL(alpha=alpha, beta=beta, l1=l1, l2=l2, dtype="float32", normalize="none")

    actions: list[Callable[[], Any]] = [
        lambda: stream.bare_loop(floors, "FTRL", alpha, beta, l1, l2),
        lambda: make().fit(stream.X, stream.y),
        lambda: stream.pass_over_rows(make()),
    ]
    with tempfile.TemporaryDirectory() as folder:
        try:
            options = f"--ftrl_alpha {alpha} --ftrl_beta {beta} --l1 {l1} --l2 {l2}"
            vw = VowpalWabbit(stream, Path(folder), options)
            actions += [lambda: vw.run("all"), lambda: vw.run("one")]
        except ImportError:
            print("  Vowpal Wabbit is not installed (pip install vowpalwabbit): its line is left out.")
            vw = None
        times = shortest(*actions)
    floor = times[0]
    print(f"  bare loop: {stream.cost(floor)}")
    if vw is not None:
        start = vw.learning["one"]
        theirs = vw.learning["all"] - start
        print(f"  Vowpal Wabbit --ftrl: {stream.cost(theirs)}; wall clock {1e3 * times[-2]:.1f} ms", end="")
        print(f"; start and stop, {1e3 * start:.1f} ms, do not count")
    ours, core = times[1:3]
    model = make().fit(stream.X, stream.y)
    same_arithmetic(stream, floors, "FTRL", model, alpha, beta, l1, l2)
    detail = f"{1e3 * core:6.1f} ms against {1e3 * floor:.1f} ms; all of fit {ours / floor:.2f}"
    print(f"  {'FTRL, the pass over the rows / bare loop':<58}{core / floor:>8.2f}{'':<19}{detail}")
    if vw is not None:
        detail = f"{stream.cost(ours)}, {zeros(stream, model)}"
        report("time of Vowpal Wabbit's FTRL / time of FTRL", theirs / ours, 3, at_least=True, detail=detail)


def full_covariance(floors: ctypes.CDLL) -> None:
    d, n = 500, 2000
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)) / np.sqrt(d), rng.integers(0, 2, n)
    square, packed = np.ones(d * d), np.ones((d + 1) * (d + 2) // 2)
    print(f"\nFull covariance: AROW on {n:,} x {d} dense rows, float64")
    updates = AROW(covariance="full", normalize="none").fit(X, y).n_updates_

    def traffic(S: Any) -> Any:
        return floors.floor_traffic(pointer(S), ctypes.c_int64(S.size), ctypes.c_int64(updates))

    ours, whole, half = shortest(
        lambda: AROW(covariance="full", normalize="none").fit(X, y),
        lambda: traffic(square),
        lambda: traffic(packed),
        rounds=5,
    )
    detail = f"{1e6 * ours / n:.1f} us an example, {updates / n:.0%} updates"
    report("speed / what the traffic of a d x d matrix allows", whole / ours, 0.8, at_least=True, detail=detail)
    print(f"  {'speed / what the traffic of its packed half allows':<58}{half / ours:>8.2f}")


TIMED = """
import time
import numpy as np
from sureline import AROW
from sureline.custom import FirstOrderLearner, Step
from sureline.datasets import make_sparse_stream, make_stream_like
rng = np.random.default_rng(0)
dense = rng.standard_normal((2000, 500)) / 22, rng.integers(0, 2, 2000)
sparse = make_stream_like("rcv1", 40_000, random_state=0)
models = (
    (AROW(covariance="full", normalize="none"), dense),
    (AROW(normalize="none"), dense),
    (AROW(dtype="float32", normalize="none"), sparse),
)
for model, (X, y) in models:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - begin)
    print(min(times))
"""


def instruction_sets() -> None:
    """What the wider instruction sets are worth, each in a process of its own."""
    print("\nInstruction sets: speed relative to the first that this build has (AROW)")
    print(f"  {'':<20}{'full, dense':>14}{'diagonal, dense':>18}{'diagonal, sparse':>18}")
    first = None
    for name in ("baseline", "avx2", "avx512"):
        environment = {**os.environ, "SURELINE_INSTRUCTION_SET": name}
        run = subprocess.run([sys.executable, "-c", TIMED], env=environment, capture_output=True, text=True)
        if run.returncode:
            print(f"  {name:<20}{'not on this machine, or not in this build':>14}")
            continue
        times = np.array([float(line) for line in run.stdout.split()])
        first = times if first is None else first
        full, diagonal, sparse = first / times
        print(f"  {name:<20}{full:>14.2f}{diagonal:>18.2f}{sparse:>18.2f}", flush=True)


def river() -> None:
    try:
        from river import linear_model
    except ImportError:
        print("\nRiver is not installed (pip install river): its line is left out.")
        return
    rows = 400
    X, y = make_stream_like("rcv1", 20_000, random_state=0)
    examples = [
        (dict(zip(X[i].indices.tolist(), X[i].data.tolist(), strict=True)), bool(y[i])) for i in range(rows)
    ]  # made beforehand: only learning is timed

    def loop() -> None:
        model = linear_model.PAClassifier(C=1.0, mode=1)
        for x, label in examples:
            model.predict_one(x)
            model.learn_one(x, label)

    theirs, ours = shortest(loop, lambda: PA(C=1.0, dtype="float32", normalize="none").fit(X, y), rounds=3)
    print(f"\nRiver, one example at a time: PA-I, {X.nnz // X.shape[0]} nonzeros a row")
    ratio = (theirs / rows) / (ours / X.shape[0])
    detail = f"{1e6 * theirs / rows:.0f} us against {1e6 * ours / X.shape[0]:.2f} us an example"
    report("time of River's PAClassifier / time of PA", ratio, 100, at_least=True, detail=detail)


def one_by_one() -> None:
    """learn_one against River's, on the same dicts of a hundred named features, and on arrays."""
    try:
        from river import linear_model
    except ImportError:
        return
    rng = np.random.default_rng(0)
    n, passes, words = 2000, 5, [f"word{i}" for i in range(5000)]
    columns = [np.sort(rng.choice(len(words), 100, replace=False)).astype(np.int32) for _ in range(n)]
    values = [rng.random(100) for _ in range(n)]
    w = rng.standard_normal(len(words))
    labels = [bool(v @ w[c] > 0) for c, v in zip(columns, values, strict=True)]
    dicts = [dict(zip([words[j] for j in c], v.tolist(), strict=True)) for c, v in zip(columns, values, strict=True)]
    arrays = list(zip(columns, values, strict=True))

    def learn(model: Any, rows: list[Any]) -> Callable[[], None]:
        def loop() -> None:
            learn_one = model().learn_one
            for _ in range(passes):
                for x, y in zip(rows, labels, strict=True):
                    learn_one(x, y)

        return loop

    theirs = {
        learner.__name__: learn(learner, dicts)
        for learner in (linear_model.LogisticRegression, linear_model.PAClassifier, linear_model.Perceptron)
    }
    published = [partial(learner, normalize="none") for learner in (Perceptron, partial(PA, C=1.0), AROW)]
    ours = [learn(learner, rows) for learner in published for rows in (dicts, arrays)]
    times = shortest(*theirs.values(), *ours, rounds=5)
    fastest = int(np.argmin(times[: len(theirs)]))
    print("\nOne example at a time: 100 named features of 5,000")
    for name, seconds in zip(theirs, times, strict=False):
        print(f"  River's {name}.learn_one: {1e6 * seconds / n / passes:.1f} us")
    names = [(name, what) for name in ("Perceptron", "PA", "AROW") for what in ("dict", "arrays")]
    for (name, what), seconds in zip(names, times[len(theirs) :], strict=True):
        what_is_it = f"River's fastest / {name}.learn_one on {'a dict' if what == 'dict' else 'two arrays'}"
        limit = 4 if what == "dict" else 20
        detail = f"{1e6 * seconds / n / passes:.2f} us"
        report(what_is_it, times[fastest] / seconds, limit, at_least=True, detail=detail)


def imports() -> None:
    """In processor time, which other work on the machine disturbs least."""

    def of(name: str, module: str) -> float:
        statement = f"from {module} import {name}"  # modules may load their names when they are asked for
        program = f"import time; begin = time.process_time(); {statement}; print(time.process_time() - begin)"
        return float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)

    times = np.array([[of("AROW", "sureline"), of("SGDClassifier", "sklearn.linear_model")] for _ in range(11)])
    ours, theirs = times.min(axis=0)
    print("\nImport, processor time")
    detail = f"{ours:.2f} s against {theirs:.2f} s"
    report("import of AROW / import of SGDClassifier", ours / theirs, 1.0, detail=detail)


def start_up() -> None:
    """The command line, from its start to its end, wall clock."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.svm"
        data.write_text("1 1:1 2:0.5\n-1 2:1 3:0.5\n" * 5)
        sureline = [sys.executable, "-m", "sureline"]
        training = [*sureline, "train", data, "--algorithm", "arow", "--model", f"{folder}/m.sureline", "--quiet"]
        commands = {"sureline --version": [*sureline, "--version"], "sureline train of ten rows": training}
        run = partial(subprocess.run, check=True, capture_output=True)
        times = shortest(*(partial(run, command) for command in commands.values()))
    print("\nStart-up, wall clock")
    for what, seconds in zip(commands, times, strict=True):
        print(f"  {what:<58}{seconds:>8.2f} s")


@dataclass(eq=False, repr=False)
class PythonPA(FirstOrderLearner):
    """PA-I as a learner of `sureline.custom`."""

    C: float = 1.0
    active_below = 1.0

    def step(self, m: float, v: float, weight: float) -> Step:
        return Step(alpha=min(self.C * weight, (1 - m) / v))


def rule_in_python() -> None:
    """What it costs to write a rule in Python, on short rows and on long ones."""
    print("\nPA-I with its step in Python, against the same in C++")
    for n_rows, nonzeros in ((20_000, 20), (5_000, 1000)):
        X, y = make_sparse_stream(n_rows, 50_000, nonzeros, random_state=0)
        ours, theirs = (partial(kind(C=1.0, normalize="none").fit, X, y) for kind in (PythonPA, PA))
        slow, fast = shortest(ours, theirs)
        steps = PA(C=1.0, normalize="none").fit(X, y).n_updates_
        detail = f"{1e6 * (slow - fast) / steps:.1f} us for each of {steps:,} steps"
        print(f"  {f'in Python / in C++, {nonzeros:,} nonzeros a row':<58}{slow / fast:>8.2f}   {'':18}{detail}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed as ratios, measured in one run.")
    parser.add_argument("--rows", type=int, default=160_000, help="rows of the sparse matrices (default: %(default)s)")
    options = parser.parse_args()
    if options.rows < 1000:
        parser.error(f"--rows must be at least 1000. Got {options.rows} instead.")
    floors = compiled_floors()
    print(f"instruction set: {_core.instruction_set()}")
    stream = Stream("rcv1-like", *make_stream_like("rcv1", options.rows, random_state=0))
    dense_learners(floors, stream, 0.9)
    normalizations(stream)
    averages(stream)
    recording(stream)
    online_dual(stream)
    sparse_learners(floors, stream, {"FSOL": 0.5, "SSOL": 8e4, "AdaRDA": 3e-6, "FOBOS": 1e-4})
    vowpal_wabbit(floors, stream, l1=0.3)
    stream = Stream("url-like", *make_stream_like("url", options.rows, random_state=0))
    dense_learners(floors, stream, 1.2)
    normalizations(stream)
    averages(stream)
    recording(stream)
    online_dual(stream)
    sparse_learners(floors, stream, {"FSOL": 0.1, "SSOL": 2e4, "AdaRDA": 1e-6, "FOBOS": 3e-6})
    vowpal_wabbit(floors, stream, l1=0.1)
    stream = Stream("webspam-like", *make_stream_like("webspam", options.rows // 40, random_state=0))
    sparse_learners(floors, stream, {"FSOL": 0.01, "SSOL": 5e2, "AdaRDA": 1e-6, "FOBOS": 3e-6})
    full_covariance(floors)
    instruction_sets()
    river()
    one_by_one()
    rule_in_python()
    imports()
    start_up()
    print(f"\n{len(failures)} limits not met{': ' + ', '.join(failures) if failures else '.'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
