"""Model files: a saved model is read back to the bit."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import Case, every_case, every_case_that_grows, stream
from forge import take_apart
from hypothesis import given, settings
from hypothesis import strategies as st
from peak_memory import PEAK, needs_proc
from scipy import sparse
from test_width import far_apart

import sureline
from sureline import PA, SSOL
from sureline.modelfile import ModelContents, read_model, write_model
from sureline.models.numbers import Shape
from sureline.models.state import State

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
SPECIFICATION = (ROOT / "docs" / "model-file.md").read_text(encoding="utf-8")


def save(model: Any, path: Path, **more: Any) -> None:
    write_model(
        path,
        class_name=type(model).__name__,
        parameters=model.get_params(),
        labels=model.classes_,
        state=model._state,
        **more,
    )


def made_of(contents: ModelContents) -> Any:
    """The estimator that the file is of."""
    model = getattr(sureline, contents.class_name)(**contents.parameters)
    model.classes_ = np.array(contents.labels)
    model.n_features_in_ = contents.state.n_columns
    model._state = contents.state
    return model


def reloaded(model: Any, path: Path) -> Any:
    save(model, path)
    return made_of(read_model(path))


def parts(state: State) -> list[Any]:
    """All of a state, for comparing to the bit, but for room that was made ahead of more columns."""
    n = state.n_columns + 1
    arrays = [state.weights[:n], state.memory, state._fresh_memory, state.tally, state.prior]
    arrays += [] if state.factors is None else [state.factors]
    words = [state.shape.name, state.dtype.name, state.n_columns, state.n_heads, state.intercept, state.policy.name]
    budget = None if state.budget is None else state.budget.__getstate__()
    rounds = None if state.rounds is None else [tuple(round_) for round_ in state.rounds.tolist()]
    return [(a.dtype.name, a.shape, a.tobytes()) for a in arrays] + [*words, budget, rounds]


# -- round trips ---------------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "native"), (4, "native"), (4, "ovr")])
def test_every_learner_comes_back(case: Case, dtype: str, n_classes: int, multi_class: str, tmp_path: Path) -> None:
    X, y = stream(n_classes=n_classes)
    model = case.make(dtype=dtype, multi_class=multi_class).partial_fit(X[:150], y[:150], classes=range(n_classes))
    twin = reloaded(model, tmp_path / "model")
    assert parts(twin._state) == parts(model._state)
    assert twin.get_params() == model.get_params()
    assert twin.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
    model.partial_fit(X[150:], y[150:])
    twin.partial_fit(X[150:], y[150:])
    assert parts(twin._state) == parts(model._state)


@every_case_that_grows
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_growing_models_go_on_growing(case: Case, multi_class: str, tmp_path: Path) -> None:
    X, y = stream(n_classes=4, seed=4)
    y = np.concatenate([np.zeros(20, int), y[:80] % 2, y[100:200] % 3, y[200:]])
    rows = sparse.csr_matrix(X)
    model = case.make(growing=True, multi_class=multi_class)
    twin = case.make(growing=True, multi_class=multi_class)
    for start, stop, width in [(0, 15, 4), (15, 100, 6), (100, 200, 9), (200, 300, 12)]:
        model.partial_fit(rows[start:stop, :width], y[start:stop])
        twin.partial_fit(rows[start:stop, :width], y[start:stop])
        twin = reloaded(twin, tmp_path / "model")
        assert parts(twin._state) == parts(model._state)
        assert twin.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["PA", "AROW", "FTRL", "AdaFOBOS", "SSOL", "SOFS", "FOFS"])
def test_numbers_at_the_edge(name: str, dtype: str, tmp_path: Path) -> None:
    # What the loops can be driven to, rows 30 orders of magnitude apart, must not be refused afterwards.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6)) * 10.0 ** rng.integers(-15, 15, (400, 1))
    y = rng.integers(0, 2, 400)
    model = getattr(sureline, name)(dtype=dtype, normalize="none")
    for start in range(0, 400, 10):
        try:
            model.partial_fit(X[start : start + 10], y[start : start + 10], classes=[0, 1])
        except ValueError as refused:
            assert "needs a step" in str(refused) or "a score" in str(refused)
    assert model.n_updates_ > 10
    assert parts(reloaded(model, tmp_path / "model")._state) == parts(model._state)


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [-1, 1], ["ham", "spam"], [False, True], [0.5, 2.5], [-math.inf, 3], ["", "\ud800 \n\x7f\0üλ𝄞\"\\"],
     [1, "one"], [2**63, 2**64 - 1], np.array([3, 7], np.uint8), np.array(["a", "bc"]), np.array([0.1], np.float32)],
    ids=str,
)  # fmt: skip
def test_labels_keep_their_type(labels: Any, tmp_path: Path) -> None:
    write_model(
        tmp_path / "m", class_name="PA", parameters={}, labels=labels, state=State(Shape.identity, "f8", 3, True)
    )
    back = read_model(tmp_path / "m").labels
    expected = labels.tolist() if isinstance(labels, np.ndarray) else labels
    assert [(type(label), label) for label in back] == [(type(label), label) for label in expected]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=5).filter(lambda key: not key.startswith("$")), inner, max_size=3)
    ),
    max_leaves=10,
)
arrays = st.sampled_from(["f8", "f4", "i8", "i4", "u8", "u4", "u1"]).flatmap(
    lambda dtype: st.lists(st.integers(0, 100), max_size=9).map(lambda numbers: np.array(numbers, dtype))
)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.from_regex("[a-zA-Z_]{1,9}", fullmatch=True), values, max_size=4),
    st.dictionaries(st.text(max_size=5).filter(lambda key: not key.startswith("$")), values, max_size=4),
    st.dictionaries(st.from_regex("[a-z0-9_.]{1,9}", fullmatch=True), arrays, max_size=4),
)
def test_parameters_and_extras_come_back(tmp_path_factory: Any, parameters: Any, metadata: Any, tensors: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "extras"
    state = State(Shape.identity, "f4", 2, True)
    more = {"extra_metadata": metadata, "extra_tensors": tensors, "kind": "checkpoint"}
    write_model(path, class_name="PA", parameters=parameters, labels=[0, 1], state=state, **more)
    back = read_model(path)
    assert (back.class_name, back.kind, back.library) == ("PA", "checkpoint", f"sureline {sureline.__version__}")
    assert repr(back.parameters) == repr(dict(sorted_deeply(parameters)))
    assert repr(back.metadata) == repr(dict(sorted_deeply(metadata)))
    assert back.tensors.keys() == tensors.keys()
    for name, array in tensors.items():
        assert back.tensors[name].dtype == array.dtype
        np.testing.assert_array_equal(back.tensors[name], array)


def sorted_deeply(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_deeply(value[key]) for key in sorted(value)}
    return type(value)(map(sorted_deeply, value)) if isinstance(value, list | tuple) else value


def test_special_numbers_and_shapes(tmp_path: Path) -> None:
    parameters = {"a": math.inf, "b": -math.inf, "c": -0.0, "d": 5e-324, "e": 1, "f": 1.0, "g": True, "h": (1, [2.0])}
    parameters |= {"i": np.float32(0.1), "j": np.int64(7), "k": np.float64(0.1), "l": np.True_, "m": 0.1 + 0.2}
    tensors = {"scalar": np.array(3.5), "empty": np.zeros((0, 4, 2)), "cube": np.arange(24.0).reshape(2, 3, 4)[:, ::2]}
    state = State(Shape.identity, "f8", 3, True)
    path = tmp_path / "m"
    write_model(path, class_name="PA", parameters=parameters, labels=[0, 1], state=state, extra_tensors=tensors)
    back = read_model(path)
    assert repr(back.parameters) == repr({**parameters, "i": float(np.float32(0.1)), "j": 7, "k": 0.1, "l": True})
    assert math.copysign(1, back.parameters["c"]) == -1
    for name, array in tensors.items():
        assert back.tensors[name].shape == array.shape
        np.testing.assert_array_equal(back.tensors[name], array)
    write_model(path, class_name="PA", parameters={"x": math.nan}, labels=[0, 1], state=state)
    assert math.isnan(read_model(path).parameters["x"])


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            {"parameters": {"random_state": np.random.RandomState(0)}},
            "The parameter 'random_state' is of type RandomState",
        ),
        ({"parameters": {"a": 1j}}, "The parameter 'a' is of type complex"),
        ({"parameters": {"a": 2**64}}, "integers of 64 bits"),
        ({"parameters": {"a": {"$float": "inf"}}}, "begin with"),
        ({"parameters": {"a": {1: 2}}}, "has the key 1"),
        ({"parameters": {"a b": 1}}, "'a b' is not a name"),
        ({"parameters": {"a": "\ud83d" + "\ude00"}}, "half a character"),
        ({"parameters": {"a": b"bytes"}}, "of type bytes"),
        ({"class_name": "a.b"}, "'a.b' is not a name"),
        ({"kind": ""}, "'' is not a name"),
        ({"labels": [0, 0]}, "A label is there twice"),
        ({"labels": [1, True]}, "A label is there twice"),
        ({"labels": [math.nan, 1]}, "A label is there twice, or is not a number"),
        ({"labels": [b"a", b"b"]}, "A label is of type bytes"),
        ({"labels": [None, 1]}, "A label is not text"),
        ({"extra_tensors": {"A": np.zeros(2)}}, "no room for an array 'extra.A'"),
        ({"extra_tensors": {"a": np.zeros(2, "c8")}}, "no room for an array"),
        ({"extra_tensors": {"a": np.array(["x"])}}, "no room for an array"),
        ({"extra_metadata": {"names": ["x" * 100] * 700_000}}, "more than the 67108864"),
        ({"state": State(Shape.identity, "f4", 2**31 + 1, True)}, "at most 2147483648 columns"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_file_cannot_hold(what: dict[str, Any], message: str, tmp_path: Path) -> None:
    good = {"class_name": "PA", "parameters": {}, "labels": [0, 1], "state": State(Shape.identity, "f8", 3, True)}
    write_model(tmp_path / "m", **good)
    before = (tmp_path / "m").read_bytes()
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        write_model(tmp_path / "m", **{**good, **what})
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


def test_what_is_nested_too_deeply_is_not_written(tmp_path: Path) -> None:
    value: Any = 1
    state = State(Shape.identity, "f8", 3, True)
    written = 0
    for depth in range(30):
        value = [value] if depth % 2 else (value,)
        try:
            write_model(tmp_path / "m", class_name="PA", parameters={"a": value}, labels=[0, 1], state=state)
        except ValueError as refused:
            assert "nested too deeply" in str(refused)
        else:
            assert depth == written
            written += 1
            assert read_model(tmp_path / "m").parameters["a"] == value
    assert 5 < written < 16


def test_a_state_that_changes_meanwhile_is_not_written(tmp_path: Path) -> None:
    state = State(Shape.identity, "f8", 1000, True)
    state.weights[5] = 1

    class Changing(dict[str, Any]):
        def items(self) -> Any:  # after the tensors of the state were counted
            state.weights[7] = 1
            return super().items()

    with pytest.raises(RuntimeError, match="changed while it was being written"):
        write_model(
            tmp_path / "m",
            class_name="PA",
            parameters={},
            labels=[0, 1],
            state=state,
            extra_tensors=Changing(a=np.ones(1)),
        )
    assert os.listdir(tmp_path) == []


# -- small files, large models -------------------------------------------------------------------------------


def test_a_sparse_model_is_a_small_file(tmp_path: Path) -> None:
    X, y = far_apart(200, 2**20, 10)
    model = SSOL(lam=1e-3, dtype="float32", normalize="none").fit(X, y)
    save(model, tmp_path / "m")
    n_touched = len(np.unique(X.indices)) + 1
    assert 0 < (tmp_path / "m").stat().st_size - 12 * n_touched < 2500  # 4 bytes of place, 8 of theta and S
    one_of_many = State(Shape.identity, "f8", 1000, True, n_classes=100)
    one_of_many.weights[17, 23] = 1  # nonzeros only, not all heads of a slot
    labels = list(range(100))
    write_model(tmp_path / "m", class_name="PA", parameters={}, labels=labels, state=one_of_many)
    assert (tmp_path / "m").stat().st_size < 5000
    np.testing.assert_array_equal(read_model(tmp_path / "m").state.weights, one_of_many.weights)


@pytest.mark.parametrize("n_columns", [0, 1, 255, 256, 511, 512, 70_000])
@pytest.mark.parametrize("shape", [Shape.identity, Shape.diagonal, Shape.adaptive_truncated])
def test_every_share_of_touched_weights(n_columns: int, shape: Shape, tmp_path: Path) -> None:
    rng = np.random.default_rng(n_columns)
    layouts = set()
    for share in (0, 0.001, 0.1, 0.5, 0.7, 0.9, 1):
        state = State(shape, "float32", n_columns, True)
        state.refresh(sureline._core.AdaFOBOS())
        touched = rng.random(n_columns + 1) < share
        state.weights[touched] = rng.random(state.weights[touched].shape, np.float32)
        write_model(tmp_path / "m", class_name="X", parameters={}, labels=[0, 1], state=state)
        layouts.add("places" in take_apart((tmp_path / "m").read_bytes())[1])
        assert parts(read_model(tmp_path / "m").state) == parts(state)
    assert layouts == {True, False} or n_columns == 0


@needs_proc
def test_two_billion_columns(tmp_path: Path) -> None:
    width = 2**31 - 1
    X, y = far_apart(300, width, 10)
    model = PA(dtype="float32", normalize="none").fit(X, y)
    save(model, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 30_000
    script = (
        "import sys\n" + PEAK + "from sureline.modelfile import read_model\n"
        "before = peak()\n"
        "state = read_model(sys.argv[1]).state\n"
        "print(state.n_columns, peak() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "m"], capture_output=True, text=True, check=True)
    n_columns, megabytes = done.stdout.split()
    assert int(n_columns) == width
    assert float(megabytes) < 50  # a page for each of 3000 features, and not 8 GB
    twin = made_of(read_model(tmp_path / "m"))
    np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))


@needs_proc
def test_saving_takes_no_copy_of_the_model(tmp_path: Path) -> None:
    script = (
        "import sys\n" + PEAK + "from sureline.models.state import Shape, State\n"
        "from sureline.modelfile import write_model\n"
        "state = State(Shape.diagonal, 'float64', 4_000_000, True)\n"
        "state.weights[:: int(sys.argv[2]), :, 0] = 0.5\n"
        "before = peak()\n"
        "write_model(sys.argv[1], class_name='AROW', parameters={}, labels=[0, 1], state=state)\n"
        "print(peak() - before)\n"
    )
    for step in ("1", "2"):  # all of them, and places and values
        command = [sys.executable, "-c", script, tmp_path / "m", step]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert float(done.stdout) < 20  # of 61 MB
    assert (tmp_path / "m").stat().st_size > 40e6
