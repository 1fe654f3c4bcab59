"""Learners written in Python: the same models as the built-in ones of the same formulas, everywhere."""

import gc
import pickle
import subprocess
import sys
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import everything, stream
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sureline
from sureline import AROW, PA, evaluate
from sureline.custom import FirstOrderLearner, SecondOrderLearner, Step
from sureline.learners.parameters import POSITIVE


@dataclass(eq=False, repr=False)
class MyPA(FirstOrderLearner):
    """PA-I with the operations of the core."""

    C: float = 0.02

    active_below = 1.0

    def step(self, m, v, weight):
        return min(weight * self.C, (1 - m) / v)


@dataclass(eq=False, repr=False)
class MyAROW(SecondOrderLearner):
    r: float = POSITIVE.default(1.0)

    def step(self, m, v, weight):
        if m >= 1:
            return Step(0.0)
        beta = 1 / (v + self.r / weight)
        return Step((1 - m) * beta, beta)


@dataclass(eq=False, repr=False)
class Raising(FirstOrderLearner):
    limit: float = 0.5

    def step(self, m, v, weight):
        if v > self.limit:
            raise RuntimeError(f"v is {v}")
        return 0.1


@dataclass(eq=False, repr=False)
class Strange(FirstOrderLearner):
    answer: Any = "alpha"

    def step(self, m, v, weight):
        return self.answer


PAIRS = [(MyPA, PA, {}), (MyAROW, AROW, {}), (MyAROW, AROW, {"covariance": "full"})]


@pytest.mark.parametrize(("mine", "ours", "parameters"), PAIRS, ids=["PA", "AROW", "AROW-full"])
@pytest.mark.parametrize("normalize", ["none", "row", "scale"])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "native"), (3, "native"), (3, "ovr")])
@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_the_same_models_as_built_in(mine, ours, parameters, normalize, n_classes, multi_class, layout) -> None:
    X, y = stream(n_classes=n_classes)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    settings = {"normalize": normalize, "multi_class": multi_class, **parameters}
    a, b = (kind(**settings).fit(layout(X), y, weight) for kind in (mine, ours))
    assert (a.n_seen_, a.n_mistakes_, a.n_updates_) == (b.n_seen_, b.n_mistakes_, b.n_updates_)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(a.predict(layout(X)), b.predict(layout(X)))
    if mine is MyAROW:
        np.testing.assert_allclose(a.covariance_, b.covariance_, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(a.confidence(layout(X)), b.confidence(layout(X)), rtol=1e-10)
    else:
        assert everything(a) == everything(b)


def test_parts_of_a_stream_and_single_examples_give_the_same_bits() -> None:
    dense, y = stream(n_classes=3)
    X = csr_matrix(dense)
    for mine in (MyPA(), MyAROW(), MyAROW(multi_class="ovr")):
        whole = clone(mine).partial_fit(X, y, classes=[0, 1, 2])
        parts, single = clone(mine), clone(mine).set_params(growing=True).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
        for start in range(0, len(y), 70):
            parts.partial_fit(X[start : start + 70], y[start : start + 70], classes=[0, 1, 2])
        for row, label in zip(dense[1:], y[1:], strict=True):
            columns = np.flatnonzero(row)
            single.learn_one((columns, row[columns]), int(label))
        assert everything(parts) == everything(whole)
        assert everything(single) == everything(whole)
        assert single.predict_one({0: 1.0}) in (0, 1, 2)


def test_streams_tournaments_and_prequential(tmp_path: Path) -> None:
    X, y = stream(400)
    result = sureline.tournament([MyAROW(), MyAROW(r=10.0), MyPA(), "arow", "perceptron"], (X, y))
    assert [run.status for run in result.runs] == ["finished"] * 5
    assert [run.name for run in result.runs][:3] == ["MyAROW", "MyAROW(r=10)", "MyPA"]
    assert result.run("MyAROW").train_command is None
    assert isinstance(result.models["MyAROW"], MyAROW)
    assert everything(result.models["MyAROW"]) == everything(MyAROW().fit(csr_matrix(X), y))

    path = tmp_path / "a.svm"
    path.write_text(
        "".join(
            f"{t} " + " ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(x) if v) + "\n"
            for x, t in zip(X, y, strict=True)
        )
    )
    mine, ours = sureline.train(path, MyAROW()), sureline.train(path, AROW())
    assert isinstance(mine, MyAROW)
    assert (mine.n_seen_, mine.n_mistakes_) == (ours.n_seen_, ours.n_mistakes_)
    np.testing.assert_allclose(mine.coef_, ours.coef_, rtol=1e-12, atol=1e-12)

    curves = evaluate.prequential({"mine": MyAROW(), "ours": AROW()}, [(X, y)], window=100)
    assert curves.mistakes["mine"] == curves.mistakes["ours"]


def test_compare_on_the_command_line(tmp_path: Path) -> None:
    X, y = stream(200)
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from sureline.custom import FirstOrderLearner\n\n"
        "@dataclass(eq=False, repr=False)\n"
        "class MyPerceptron(FirstOrderLearner):\n"
        "    def step(self, m, v, weight):\n"
        "        return weight if m <= 0 else 0.0\n"
    )
    rows = (" ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(x) if v) for x in X)
    (tmp_path / "a.svm").write_text("".join(f"{t} {row}\n" for row, t in zip(rows, y, strict=True)))
    command = [sys.executable, "-m", "sureline", "compare", "a.svm", "--quiet"]
    both = [*command, "--algorithm", "perceptron", "--normalize", "none", "--learner", "mine:MyPerceptron"]
    done = subprocess.run(both, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "MyPerceptron" in done.stdout
    for name in ("mine:Nothing", "nothing:MyPerceptron", "mine", "mine:dataclass"):
        done = subprocess.run([*command, "--learner", name], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2
        assert "--learner" in done.stderr


def test_what_a_step_raises_comes_out_and_leaves_no_trace() -> None:
    X, y = stream(100)
    small, labels = 0.01 * X, y
    for multi_class, classes in (("native", [0, 1]), ("ovr", [0, 1, 2])):
        model = Raising(multi_class=multi_class, fit_intercept=False, normalize="none")
        model.partial_fit(small, labels, classes=classes)
        before = everything(model)
        mixed = np.concatenate([small[:30], X[:30]])
        with pytest.raises(RuntimeError, match="v is "):
            model.partial_fit(mixed, np.concatenate([labels[:30], labels[:30]]))
        assert everything(model) == before
        with pytest.raises(RuntimeError, match="v is "):
            model.learn_one({0: 5.0}, 1)
        assert everything(model) == before
        model.learn_one({0: 0.1}, 1)
        assert model.n_seen_ == 101
    with pytest.raises(RuntimeError, match="v is "):
        Raising(normalize="none").fit(X, y)
    with pytest.raises(TypeError, match=r"step of Strange must return alpha, or a Step .* Got 'alpha' instead\."):
        Strange().fit(X, y)
    with pytest.raises(ValueError, match="needs a step that float64 cannot hold"):  # no error of its own
        Strange(answer=np.inf).fit(X, y)


def test_refusals_and_files(tmp_path: Path) -> None:
    X, y = stream(50)
    with pytest.raises(TypeError, match="abstract"):
        FirstOrderLearner()
    with pytest.raises(ValueError, match="The 'r' parameter of MyAROW must be a float in the range"):
        MyAROW(r=-1.0).fit(X, y)
    model = MyAROW().fit(X, y)
    with pytest.raises(ValueError, match="MyAROW is written in Python, and a model file holds no code"):
        sureline.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())
    copy = pickle.loads(pickle.dumps(model))
    assert everything(copy.partial_fit(X, y)) == everything(model.partial_fit(X, y))
    assert model.get_params()["r"] == 1.0


def test_a_learner_is_not_kept_alive_by_its_rule() -> None:
    model = MyPA().learn_one({0: 1.0}, True)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def expected_failures(estimator) -> dict[str, str]:
    reason = "A weight of 2 makes the loss count twice in the objective of one step; two rows are two steps."
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("ignore::sureline.LabelRunsWarning")  # some checks have sorted rows
@parametrize_with_checks([MyPA(), MyAROW()], expected_failed_checks=expected_failures, xfail_strict=False)
def test_scikit_learns_checks(estimator, check) -> None:
    check(estimator)
