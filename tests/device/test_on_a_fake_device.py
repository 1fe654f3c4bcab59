"""All that happens on a CUDA device, with the kernels as they are, run by the host: see fake_cupy.py."""

from __future__ import annotations

import pickle
import shutil
import sys
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from device_cases import REFUSED, assert_answers_alike, assert_same, data, taught_alike
from fake_cupy import FakeArray, OnFakeDevice, build, modules
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import sureline
from sureline import AROW, BCW
from sureline.models.device import cuda
from sureline.models.device.precision import SpanThere, TriangleThere
from sureline.models.precision.triangle import Triangle
from sureline.stream.runs import LabelRunsWarning

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: Any) -> None:
    if COMPILER is None:
        pytest.skip("the kernels are compiled for the host by a C++ compiler, and there is none")
    build(tmp_path_factory.mktemp("kernels"), COMPILER)


@pytest.fixture
def device(kernels: None, monkeypatch: Any) -> Any:
    """The function that puts an array on the device."""
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    cuda.cuda_space.cache_clear()
    yield OnFakeDevice
    cuda.cuda_space.cache_clear()


def values_of(answers: Any) -> np.ndarray:
    assert isinstance(answers, OnFakeDevice)
    return answers.values.get()


@pytest.mark.parametrize("seed", range(30))
def test_drawn_configurations_give_the_model_of_the_host(seed: int, device: Any) -> None:
    there, here = taught_alike(seed, device, [2, 3, 31, 32, 40, 65], [1, 20, 256, 300, 520])
    assert_same(there, here)
    assert_answers_alike(there, here, device, values_of)


def test_answers_that_are_lists_come_to_the_host(device: Any) -> None:
    X, y = data(2000, 6)
    there, here = BCW().fit(device(X), y), BCW().fit(X, y)
    answers = there.predict_or_abstain(device(X), max_error=0.3)
    assert answers.tolist() == here.predict_or_abstain(X, max_error=0.3).tolist()
    np.testing.assert_array_equal(there.wants_label(device(X)), here.wants_label(X))


def test_the_precision_stays_there_until_it_is_asked_for(device: Any) -> None:
    X, y = data(300, 20)
    model = BCW().fit(device(X), y)
    precision: Any = model.model.precision
    assert isinstance(precision, TriangleThere)
    model.partial_fit(device(X), y).predict(device(X))
    assert "R" not in model.model.precision.__dict__
    assert model.covariance_.shape == (20, 20)
    assert "R" in model.model.precision.__dict__
    for other in (pickle.loads(pickle.dumps(model)), deepcopy(model)):
        assert type(other.model.precision) is Triangle
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


def test_models_move_between_machines(device: Any, tmp_path: Any) -> None:
    X, y = data(400, 10)
    there, here = BCW().fit(device(X), y), BCW().fit(X, y)
    sureline.save(there, tmp_path / "there")
    back = sureline.load(tmp_path / "there")
    np.testing.assert_array_equal(back.coef_, there.coef_)
    back.partial_fit(X, y)
    assert_same(back, here.partial_fit(X, y))
    sureline.save(BCW(device="cuda").fit(X, y), tmp_path / "cuda")
    sureline.load(tmp_path / "cuda").partial_fit(X, y)  # wherever it is now
    assert sureline.load(tmp_path / "cuda").device == "auto"
    # A model of the host goes on there.
    model = BCW().fit(X, y)
    model.partial_fit(device(X), y)
    assert_same(model, here)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("room", [0, 1 << 40])
def test_rows_of_the_host_cross(dense: bool, room: int, device: Any, monkeypatch: Any) -> None:
    X, y = data(900, 12)
    monkeypatch.setattr("sureline.models.device.rows._PART_BYTES", 8 * 12 * 300)
    monkeypatch.setattr(cuda.CudaSpace, "has_room", lambda space, n_bytes: n_bytes < room)
    model = BCW(device="cuda").fit(X if dense else sparse.csr_matrix(X), y)
    assert isinstance(model.model.precision, TriangleThere)
    assert_same(model, BCW().fit(X, y))
    assert isinstance(model.predict(X), np.ndarray)
    X[17, 3] = np.inf
    with pytest.raises(ValueError, match="row 17"):
        model.partial_fit(X, y)


def test_fewer_rows_than_features(device: Any) -> None:
    X, y = data(700, 600, 3)
    there, here = BCW(), BCW()
    for rows in (slice(0, 40), slice(40, 290)):
        there.partial_fit(device(X[rows]), y[rows], classes=range(3))
        here.partial_fit(X[rows], y[rows], classes=range(3))
    assert isinstance(there.model.precision, SpanThere)
    assert_same(there, here)
    np.testing.assert_allclose(values_of(there.decision_std(device(X))), here.decision_std(X), rtol=1e-7, atol=1e-9)
    loaded = pickle.loads(pickle.dumps(there))
    assert_same(loaded.partial_fit(device(X[290:]), y[290:]), here.partial_fit(X[290:], y[290:]), 1e-8)


def test_float32_products(device: Any) -> None:
    X, y = data(1000, 40)
    X = X.astype(np.float32)
    single, double = BCW(dtype="float32").fit(device(X), y), BCW().fit(X, y)
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-4)
    assert np.abs(single.coef_ - double.coef_).max() > 1e-9


def test_text_for_classes_and_other_dtypes_of_rows(device: Any) -> None:
    X, y = data(300, 5)
    names = np.array(["no", "yes"])[y]
    model = BCW().fit(device(X), names)
    assert model.predict(device(X)).tolist() == BCW().fit(X, names).predict(X).tolist()
    whole = (10 * X).astype(np.int32)
    assert_same(BCW().fit(device(whole), y), BCW().fit(whole, y))
    half = X.astype(np.float16)
    assert_same(BCW().fit(device(half), y), BCW().fit(half, y))
    model = BCW().fit(device(X), y.astype(bool))
    assert values_of(model.predict(device(X))).dtype == bool


def test_growing_columns_and_classes(device: Any) -> None:
    X, y = data(400, 12, 3)
    there, here = BCW(growing=True), BCW(growing=True)
    for model, form in ((there, device), (here, np.asarray)):
        model.partial_fit(form(X[:100, :8]), y[:100] == 1)
        model.partial_fit(form(X[100:300]), y[100:300] == 1)
    assert_same(there, here)
    wide = np.pad(X, ((0, 0), (0, 3)), constant_values=2.0)
    for rows in (X[:, :5], X, wide):
        np.testing.assert_allclose(values_of(there.decision_std(device(rows))), here.decision_std(rows), rtol=1e-8)


def test_rows_in_order_of_labels_are_shuffled_as_on_the_host(device: Any) -> None:
    X, y = data(400, 6)
    order = np.argsort(y, kind="stable")
    with pytest.warns(LabelRunsWarning):
        there = BCW().fit(device(X[order]), y[order])
    with pytest.warns(LabelRunsWarning):
        here = BCW().fit(X[order], y[order])
    assert_same(there, here)


def test_streams_cross_batch_by_batch(device: Any, tmp_path: Any) -> None:
    X, y = data(900, 5)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"))
    how: dict[str, Any] = {"batch": 400, "dtype": "float64"}
    there, here = (sureline.train(tmp_path / "rows.svm", "bcw", device=where, **how) for where in ("cuda", "auto"))
    assert isinstance(there.model.precision, TriangleThere)
    assert_same(there, here)


def test_a_checkpoint_is_gone_on_with_wherever_one_is(device: Any, tmp_path: Any) -> None:
    X, y = data(900, 5)
    sureline.save(BCW(device="cuda").fit(X, y), tmp_path / "first")
    model = sureline.load(tmp_path / "first")
    assert_same(model.partial_fit(X, y), BCW().fit(X, y).partial_fit(X, y))


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("normalize", ["none", "scale"])
def test_what_is_refused_has_the_error_of_the_host(kind: str, normalize: str, device: Any) -> None:
    X, y = data(60, 6)
    there, here = BCW(normalize=normalize).fit(device(X), y), BCW(normalize=normalize).fit(X, y)
    before = there.coef_.copy(), there.model, there.n_seen_
    bad, labels = REFUSED[kind](X, y)
    if kind == "too long" and normalize == "scale":
        return  # that is what scales are for
    with pytest.raises(ValueError) as of_host:  # noqa: PT011
        here.partial_fit(bad, labels)
    with pytest.raises(ValueError) as of_device:  # noqa: PT011
        there.partial_fit(device(bad), labels)
    assert str(of_device.value) == str(of_host.value)
    assert there.model is before[1]
    np.testing.assert_array_equal(there.coef_, before[0])
    if kind in ("a value", "one dimension", "other columns"):
        with pytest.raises(ValueError) as of_host:  # noqa: PT011
            here.predict(bad)
        with pytest.raises(ValueError) as of_device:  # noqa: PT011
            there.predict(device(bad))
        assert str(of_device.value) == str(of_host.value)


def test_out_of_memory_is_told_and_changes_nothing(device: Any, monkeypatch: Any) -> None:
    X, y = data(300, 20)
    model = BCW().fit(device(X), y)
    before = model.model

    def full(*arguments: Any) -> Any:
        raise sys.modules["cupy"].cuda.memory.OutOfMemoryError("Out of memory allocating 1 bytes")

    monkeypatch.setattr(cuda.CudaSpace, "learn_chunk", full)
    with pytest.raises(MemoryError, match=r"not enough memory on CUDA device 0 .* pass fewer rows at a time"):
        model.partial_fit(device(X), y)
    assert model.model is before


def test_numbers_that_numpy_does_not_know_are_refused(device: Any) -> None:
    with pytest.raises(TypeError, match="convert it to float32 first"):
        BCW().fit(device(np.zeros((3, 2), "V2")), [0, 1, 0])


def test_too_many_features_are_refused(device: Any) -> None:
    X = np.zeros((2, 8193), np.float32)
    with pytest.raises(ValueError, match=r"at most 8,192 features\. Got 8,193"):
        BCW().fit(device(X), [0, 1])
    X = np.zeros((2, 8192), np.float32)
    X[0] = 1
    BCW().fit(device(X), [0, 1])


def test_other_learners_take_no_rows_of_a_device(device: Any) -> None:
    X, y = data(20, 3)
    with pytest.raises((TypeError, ValueError)):
        AROW().fit(device(X), y)


def test_without_a_device_it_is_said_what_is_missing(kernels: None, monkeypatch: Any) -> None:
    X, y = data(20, 3)
    cuda.cuda_space.cache_clear()
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ValueError, match="through CuPy, which is not installed: pip install"):
        BCW(device="cuda").fit(X, y)
    for name, module in modules(n_devices=0).items():
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(ValueError, match=r"needs a CUDA device, and there is none: cudaErrorNoDevice"):
        BCW(device="cuda").fit(X, y)
    with pytest.raises(ValueError, match=r"'device' parameter of BCW must be a str among \{'auto', 'cuda'\}"):
        BCW(device="cpu").fit(X, y)


def test_arrays_of_the_fake_do_not_mix_with_those_of_the_host() -> None:
    there = np.ones(3).view(FakeArray)
    with pytest.raises(TypeError, match="Unsupported"):
        there + np.ones(3)
    with pytest.raises(TypeError, match="Unsupported"):
        there[np.array([0])]
