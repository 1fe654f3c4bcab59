"""Threads: any number ask a model, one teaches it and the others wait, and nobody's arrays can hurt the process."""

from __future__ import annotations

import copy
import inspect
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from thread_stress import KINDS, Kind, MyAROW, batches, begun
from torture import TORTURE, times

import sureline
from sureline import estimators
from sureline.custom import FirstOrderLearner, SecondOrderLearner
from sureline.learners.guarded import asking, teaching

pytestmark = pytest.mark.torture
STRESS = Path(__file__).parents[1] / "thread_stress.py"


def stress(what: str, seed: int, count: int) -> dict[str, int]:
    command = [sys.executable, str(STRESS), what, str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-4000:]
    happened: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return happened


# In `make test` a third of all kinds, which another third follows with the next attack.
COUNT = len(KINDS) // 3 if TORTURE == 1 else len(KINDS)


def test_every_answer_is_of_one_whole_model() -> None:
    happened = stress("answers", 0, COUNT)
    assert {"coef_ during a lesson", "save during a lesson", "pickle during a lesson"} <= happened.keys()


def test_several_teach_one_model() -> None:
    assert stress("teachers", 1, COUNT)["two teach"] >= COUNT


def test_arrays_that_change_while_they_are_read() -> None:
    happened = stress("arrays", 2, COUNT)
    for what in ("data", "indices", "indptr", "sample_weight"):
        assert happened[f"{what} refused"] > 0, happened
    assert happened["y taken"] > 0


# -- the gate itself -----------------------------------------------------------------------------------------


def declared(estimator: type) -> list[tuple[str, Any]]:
    """The names that our classes declare, each with the value in force."""
    ours = {name for cls in estimator.__mro__ if cls.__module__.startswith("sureline") for name in vars(cls)}
    return [(name, inspect.getattr_static(estimator, name)) for name in sorted(ours) if not name.startswith("_")]


# What looks at parameters, rows or numbers that are passed, or is the way of those who own a learner alone.
UNGUARDED = {
    "add_labels", "adopt", "as_recorded", "begin", "check_parameters", "chosen", "classes_with", "confidences",
    "constraint_of",
    "forget", "fresh_normalizer", "fresh_state", "fresh_target_scale", "go_on", "judge", "judge_made",
    "judge_on_device", "judge_rows", "learn_targets", "most_bytes", "parameters", "probabilities", "refuse_asking",
    "refuse_classes", "refuse_stream", "standard_deviations", "step", "take", "take_asking", "take_batch",
    "warm_up", "weighing",
}  # fmt: skip
GUARDED_INSIDE = {"fit", "partial_fit", "learn_one", "predict_one", "set_params"}
OF_PARAMETERS = {
    "belief_link", "centres_columns", "costs", "has_begun", "has_probabilities", "has_weights", "labels", "model",
    "normalizer", "origin", "recorded", "rule", "shape", "sharding", "takes_names", "target_scale",
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in estimators.__all__ if n[0].isupper()] + ["Auto", "MyAROW"])
def test_all_that_is_asked_is_guarded(name: str) -> None:
    """A method or property that is new has to be guarded, or to be named above."""
    estimator = {"Auto": sureline.Auto, "MyAROW": MyAROW}.get(name) or getattr(estimators, name)
    assert isinstance(estimator, type)
    assert hasattr(estimator, "_gate")
    for attribute, value in declared(estimator):
        if isinstance(value, property):
            is_guarded = value.fget is not None and hasattr(value.fget, "__wrapped__")
            assert is_guarded or attribute in OF_PARAMETERS, f"{name}.{attribute} is read without its gate"
        elif hasattr(value, "fn"):  # available if
            assert hasattr(value.fn, "__wrapped__"), f"{name}.{attribute} is asked without its gate"
        elif inspect.isfunction(value):
            fine = hasattr(value, "__wrapped__") or attribute in UNGUARDED | GUARDED_INSIDE
            assert fine, f"{name}.{attribute} is asked without its gate"


def in_thread(function: Any) -> tuple[threading.Thread, list[Any]]:
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(function()), daemon=True)
    thread.start()
    return thread, result


def test_who_asks_waits_for_who_teaches_and_the_other_way_round() -> None:
    X, y = batches(Kind(sureline.AROW), 1)[0]
    model = sureline.AROW().fit(X, y)
    for held, other in ((teaching, lambda: model.coef_), (asking, lambda: model.fit(X, y)), (teaching, lambda: model)):
        with held(model):
            thread, result = in_thread(other)
            thread.join(0.2)
            assert result == [] or other() is model
        thread.join(30)
        assert len(result) == 1


def test_many_ask_at_once() -> None:
    model = begun(KINDS[0])
    X = batches(KINDS[0], 1)[0][0]
    with asking(model):
        thread, result = in_thread(lambda: model.predict(X))
        thread.join(30)
        assert len(result) == 1
        assert model.coef_.shape == (1, X.shape[1])  # and within each other


def test_who_teaches_is_not_kept_waiting_for_ever() -> None:
    model = begun(KINDS[0])
    X, y = batches(KINDS[0], 1)[0]
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            model.coef_  # noqa: B018

    threads = [in_thread(ask)[0] for _ in range(4)]
    for _ in range(50):
        model.partial_fit(X, y)
    over.set()
    for thread in threads:
        thread.join(30)


def test_a_wait_can_be_interrupted() -> None:
    model = begun(KINDS[0])
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with teaching(model):
            held.set()
            done.wait(30)

    thread, _ = in_thread(hold)
    held.wait(30)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        model.predict(batches(KINDS[0], 1)[0][0])
    done.set()
    thread.join(30)
    assert model.coef_ is not None


@dataclass(eq=False, repr=False)
class Curious(SecondOrderLearner):
    """Asks and teaches itself, as no rule can."""

    what: str = "predict"

    def step(self, m: float, v: float, weight: float) -> float:
        x = np.ones((1, 4))
        match self.what:
            case "predict":
                self.predict(x)
            case "predict_one":
                self.predict_one({1: 1.0})
            case "learn_one":
                self.learn_one({1: 1.0}, 1)
            case "partial_fit":
                self.partial_fit(x, [1])
            case "coef_":
                self.coef_  # noqa: B018
            case "pickle":
                pickle.dumps(self)
        return 0.1


@pytest.mark.parametrize("what", ["predict", "predict_one", "learn_one", "partial_fit", "coef_", "pickle"])
def test_a_rule_that_asks_its_own_model_gets_an_error(what: str) -> None:
    X, y = np.ones((6, 4)), [0, 1, 0, 1, 0, 1]
    model = Curious(what="nothing").fit(X, y)
    before = model.coef_.tobytes(), model.n_seen_
    model.what = what
    for call in (
        lambda: model.fit(X, y),
        lambda: model.partial_fit(X, y),
        lambda: model.learn_one({1: 1.0}, 1),
    ):
        with pytest.raises(RuntimeError, match="is learning, and was asked by the call that it learns in"):
            call()
        assert (model.coef_.tobytes(), model.n_seen_) == before
    model.what = "nothing"
    assert model.learn_one({1: 1.0}, 1).partial_fit(X, y).n_seen_ == 13


def test_a_rule_may_teach_another_model() -> None:
    other = sureline.PA()

    @dataclass(eq=False, repr=False)
    class Teacher(FirstOrderLearner):
        def step(self, m: float, v: float, weight: float) -> float:
            other.learn_one({0: m}, bool(m > 0))
            return 0.1

    X, y = np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1]
    assert Teacher().fit(X, y).n_seen_ == other.n_seen_ == 6


def test_a_kernel_cannot_teach_the_model_that_asks_it() -> None:
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    teach = False

    def kernel(A: Any, B: Any) -> Any:
        if teach:
            model.partial_fit(X, y)
        return A @ B.T

    model = sureline.KernelSCW(kernel=kernel, normalize="none").fit(X, y)
    teach = True
    with pytest.raises(RuntimeError, match="is answering, and cannot learn before it has"):
        model.predict(X)
    teach = False
    assert len(model.predict(X)) == 6


def test_a_copy_is_a_model_of_its_own() -> None:
    """Not one whose gate is another's: both go on, and neither sees the other."""
    for kind in KINDS:
        model = begun(kind)
        X, y = batches(kind, 1)[0]
        ask = getattr(model, "decision_function", model.predict)
        before = ask(X).tobytes()
        for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert getattr(twin, "decision_function", twin.predict)(X).tobytes() == before
            getattr(twin, "partial_fit", twin.fit)(X, y)
            assert ask(X).tobytes() == before, kind
        assert not clone(model).__sklearn_is_fitted__() if hasattr(model, "has_begun") else True


def test_a_dict_that_changes_while_it_is_read() -> None:
    x: dict[Any, float] = {f"f{i}": 1.0 for i in range(300)}
    model = sureline.AROW().learn_one(x, True)
    over = threading.Event()

    def change() -> None:
        rng = np.random.default_rng(0)
        while not over.is_set():
            name = f"f{rng.integers(600)}"
            x[name] = 2.0
            x.pop(f"f{rng.integers(600)}", None)

    thread, _ = in_thread(change)
    for i in range(times(300)):
        model.learn_one(x, bool(i % 2))
        model.predict_one(x)
    over.set()
    thread.join(30)
    assert np.isfinite(model.sparse_coef_.data).all()
    assert model.n_seen_ == times(300) + 1


class Mischief:
    """A number that changes the row, or asks the model, when it is read."""

    def __init__(self, act: Any) -> None:
        self.act = act

    def __float__(self) -> float:
        self.act()
        return 1.0


def test_a_value_that_does_mischief_when_it_is_read() -> None:
    x: dict[Any, Any] = {f"f{i}": 1.0 for i in range(200)}
    model = sureline.AROW().learn_one(x, True).learn_one({"a": 1.0}, False)
    x["g"] = Mischief(x.clear)
    model.learn_one(x, True)
    for ask in (lambda: model.learn_one({"a": 1.0}, True), lambda: model.fit([[1.0], [2.0]], [0, 1])):
        with pytest.raises(TypeError, match="must be a number"):  # as whatever __float__ raises
            model.learn_one({"b": Mischief(ask)}, True)
    seen = model.n_seen_
    long = {f"f{i}": 1.0 for i in range(5000)}
    assert model.predict_one({"b": Mischief(lambda: model.predict_one(long)), "a": 1.0}) in (True, False)
    assert model.n_seen_ == seen


def test_a_process_that_is_forked_off_meanwhile(tmp_path: Path) -> None:
    """The child has no other threads: it says so if one of them was teaching, and otherwise goes on."""
    code = """
import os, sys, threading, time
import numpy as np, sureline
from sureline.learners.guarded import asking, teaching
X, y = np.eye(4), [0, 1, 0, 1]
for hold, works in ((asking, True), (teaching, False)):
    model = sureline.AROW().fit(X, y)
    held, done = threading.Event(), threading.Event()
    def run():
        with hold(model):
            held.set()
            done.wait(30)
    thread = threading.Thread(target=run)
    thread.start()
    held.wait(30)
    pid = os.fork()
    if pid == 0:
        try:
            model.predict(X)
            model.fit(X, y)
            os._exit(0 if works else 1)
        except RuntimeError as error:
            os._exit(0 if not works and "forked" in str(error) else 2)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    done.set()
    thread.join()
    assert status == 0, (hold, status)
    model.fit(X, y)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_without_the_lock_of_the_interpreter_it_is_refused() -> None:
    code = "import sys; sys._is_gil_enabled = lambda: False; import sureline; sureline.AROW()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "ImportError: sureline needs Python's global interpreter lock" in done.stderr
    assert "take a build of Python that is not free-threaded" in done.stderr


def test_sparse_rows_with_columns_that_change_between_the_look_and_the_use() -> None:
    """The crash of old: scales are looked up and written at columns that were right a moment ago."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, 5000, (2000, 60)), axis=1)
    columns += np.arange(60)  # none twice
    X = sparse.csr_matrix((rng.random(columns.size), columns.ravel(), np.arange(2001) * 60), shape=(2000, 5060))
    y, good = np.arange(2000) % 2, X.indices.copy()
    over = threading.Event()

    def attack() -> None:
        while not over.is_set():
            X.indices[:] = 2**31 - 1
            X.indices[:] = good

    thread, _ = in_thread(attack)
    model = sureline.AROW()
    for _ in range(times(30)):
        try:
            model.partial_fit(X, y, classes=[0, 1])
        except ValueError as error:
            assert "X" in str(error)
    over.set()
    thread.join(30)
    X.indices[:] = good
    assert np.isfinite(model.partial_fit(X, y, classes=[0, 1]).decision_function(X)).all()


def test_a_copy_has_names_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mail.tsv"
    path.write_text("spam\tfree cash\nham\tlunch today\n" * 20)
    model = sureline.train(str(path), "arow", r=1.0, format="text")
    for made in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        before = made.origin.names.total
        model.learn_one("free lunch", "spam")
        assert model.origin.names.total == before + 2
        assert made.origin.names.total == before
        model = made
