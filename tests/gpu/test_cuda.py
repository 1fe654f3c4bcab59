"""BCW on a CUDA device: ``make test-gpu``. The same models as on the host, and the same errors."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_cases import REFUSED, assert_answers_alike, assert_same, data, taught_alike

import sureline
from sureline import BCW, reference
from sureline.models.device.cuda import NoDevice, cuda_space
from sureline.models.device.precision import SpanThere, TriangleThere

try:
    cuda_space()
except NoDevice as why:
    pytest.skip(str(why), allow_module_level=True)

cupy = pytest.importorskip("cupy")


def with_torch(values: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(np.ascontiguousarray(values)).cuda()


def with_cupy(values: Any) -> Any:
    return cupy.asarray(values)


def with_dlpack(values: Any) -> Any:
    jax = pytest.importorskip("jax")
    if np.asarray(values).dtype.itemsize == 8:
        jax.config.update("jax_enable_x64", True)
    return jax.device_put(values, jax.devices("gpu")[0])


LIBRARIES = {"torch": with_torch, "cupy": with_cupy, "jax": with_dlpack}


def values_of(answers: Any) -> np.ndarray:
    assert not isinstance(answers, np.ndarray)
    return answers.cpu().numpy() if hasattr(answers, "cpu") else cupy.asarray(answers).get()


@pytest.mark.parametrize("seed", range(200))
def test_drawn_configurations_give_the_model_of_the_host(seed: int) -> None:
    device = with_torch if seed % 2 else with_cupy
    there, here = taught_alike(seed, device, [2, 5, 31, 32, 63, 64, 129, 300], [1, 20, 256, 300, 1000, 3001])
    assert_same(there, here)
    if seed < 60:
        assert_answers_alike(there, here, device, values_of)


@pytest.mark.parametrize("library", LIBRARIES)
def test_arrays_of_every_library(library: str) -> None:
    device = LIBRARIES[library]
    X, y = data(3000, 50, 3)
    there, here = BCW().fit(device(X), device(y)), BCW().fit(X, y)
    assert_same(there, here)
    answers = there.predict_proba(device(X))
    assert type(answers) is type(device(X))
    assert_answers_alike(there, here, device, values_of)


@pytest.mark.parametrize("form", ["transposed", "every second column", "every second row", "from the middle"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32])
def test_views_of_every_form(dtype: Any, form: str) -> None:
    X, y = data(1200, 40)
    X = (4 * X).astype(dtype)
    views: dict[str, Any] = {
        "transposed": lambda X: X[:600].T.copy().T if isinstance(X, np.ndarray) else cupy.asfortranarray(X[:600]),
        "every second column": lambda X: X[:600, ::2],
        "every second row": lambda X: X[::2],
        "from the middle": lambda X: X[300:900, 7:20],
    }
    view = views[form]
    there, here = BCW().fit(view(cupy.asarray(X)), y[:600]), BCW().fit(view(X), y[:600])
    assert_same(there, here)


@pytest.mark.parametrize("q", [1, 2])
def test_it_is_what_the_paper_says(q: int) -> None:
    X, y = data(3000, 40)
    expected = reference.BCW(C=0.3, q=q).run([(X[:1000], y[:1000]), (X[1000:], y[1000:])], [0, 1])
    model = BCW(C=0.3, q=q, normalize="none")
    for rows in (slice(0, 1000), slice(1000, None)):
        model.partial_fit(with_cupy(X[rows]), y[rows], classes=[0, 1])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-9)
    assert (model.n_mistakes_, model.n_updates_) == (expected.n_mistakes_, expected.n_updates_)


@pytest.mark.parametrize("shape", [(20_001, 300), (5000, 2000), (70_000, 54), (3000, 1024), (9000, 4096)], ids=str)
def test_large_batches(shape: tuple[int, int]) -> None:
    X, y = data(*shape)
    there = BCW().fit(with_torch(X.astype(np.float32)), y)
    here = BCW().fit(X.astype(np.float32), y)
    assert_same(there, here)


def test_chunks_beside_each_other_are_exact_and_give_the_same_bits_every_time(monkeypatch: Any) -> None:
    monkeypatch.setattr("sureline.models.device.space._CHUNK_BYTES", 1 << 22)
    for n, d in ((30_000, 100), (20_100, 1024)):
        X, y = data(n, d)
        rows, labels, here = cupy.asarray(X), cupy.asarray(y), BCW(normalize="none").fit(X, y)
        first = BCW(normalize="none").fit(rows, labels)
        assert_same(first, here)
        for _ in range(5):
            np.testing.assert_array_equal(BCW(normalize="none").fit(rows, labels).coef_, first.coef_)


@pytest.mark.parametrize("d", [2, 600, 8192])
def test_few_rows_and_the_widest(d: int) -> None:
    X, y = data(300, d)
    there, here = BCW(), BCW()
    for rows in (slice(0, 120), slice(120, 300)):
        there.partial_fit(with_cupy(X[rows]), y[rows], classes=[0, 1])
        here.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert isinstance(there.model.precision, TriangleThere if d == 2 else SpanThere) or d == 600
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-8, atol=1e-9)
    assert (there.n_mistakes_, there.n_updates_) == (here.n_mistakes_, here.n_updates_)
    np.testing.assert_allclose(values_of(there.decision_std(with_cupy(X))), here.decision_std(X), rtol=1e-7, atol=1e-9)


def test_the_widest_by_its_triangle() -> None:
    rng = np.random.default_rng(0)
    X = cupy.asarray(rng.standard_normal((9000, 8192), np.float32))
    y = rng.integers(0, 2, len(X))
    model = BCW(normalize="none").fit(X, y)
    assert isinstance(model.model.precision, TriangleThere)
    R = model.model.precision.there
    P = cupy.eye(8193) + cupy.pad(X.astype("f8"), ((0, 0), (0, 1)), constant_values=1).T @ cupy.pad(
        X.astype("f8"), ((0, 0), (0, 1)), constant_values=1
    )
    assert float(abs(R.T @ R - P).max() / abs(P).max()) < 1e-12
    with pytest.raises(ValueError, match="at most 8,192 features"):
        BCW().fit(cupy.zeros((10, 8193)), np.arange(10) % 2)


def test_long_rows_by_rotations() -> None:
    X, y = data(500, 30)
    X *= 1e5
    there, here = BCW(normalize="none").fit(with_cupy(X), y), BCW(normalize="none").fit(X, y)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6)


def test_float32_products() -> None:
    X, y = data(20_000, 300)
    single = BCW(dtype="float32").fit(with_cupy(X.astype(np.float32)), y)
    np.testing.assert_allclose(single.coef_, BCW().fit(X, y).coef_, atol=1e-3)


@pytest.mark.parametrize("room", [True, False])
def test_rows_of_the_host_cross(room: bool, monkeypatch: Any) -> None:
    X, y = data(50_000, 60)
    monkeypatch.setattr("sureline.models.device.rows._PART_BYTES", 8 * 60 * 5000)
    if not room:
        monkeypatch.setattr("sureline.models.device.rows._SPARE", 1 << 40)
    model = BCW(device="cuda").fit(X, y)
    assert isinstance(model.model.precision, TriangleThere)
    assert_same(model, BCW().fit(X, y))


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("normalize", ["none", "scale"])
def test_what_is_refused_has_the_error_of_the_host(kind: str, normalize: str) -> None:
    X, y = data(60, 6)
    if kind == "too long" and normalize == "scale":
        return  # that is what scales are for
    there, here = BCW(normalize=normalize).fit(with_cupy(X), y), BCW(normalize=normalize).fit(X, y)
    before = there.coef_.copy(), there.model
    bad, labels = REFUSED[kind](X, y)
    with pytest.raises(ValueError) as of_host:  # noqa: PT011
        here.partial_fit(bad, labels)
    with pytest.raises(ValueError) as of_device:  # noqa: PT011
        there.partial_fit(with_cupy(bad), labels)
    assert str(of_device.value) == str(of_host.value)
    assert there.model is before[1]
    np.testing.assert_array_equal(there.coef_, before[0])


def test_out_of_memory_is_told_and_changes_nothing() -> None:
    X, y = data(300, 30)
    model = BCW().fit(with_cupy(X), y)
    before, pool = model.model, cupy.get_default_memory_pool()
    big = cupy.random.standard_normal((100_000, 30))
    pool.free_all_blocks()
    pool.set_limit(pool.total_bytes() + (1 << 20))
    try:
        with pytest.raises(MemoryError, match="not enough memory on CUDA device 0"):
            model.partial_fit(big, np.arange(100_000) % 2)
    finally:
        pool.set_limit(size=0)
    assert model.model is before
    model.partial_fit(big, np.arange(100_000) % 2)


def test_a_tensor_with_a_gradient_and_one_that_cannot_be_read() -> None:
    torch = pytest.importorskip("torch")
    X, y = data(300, 6)
    tensor = with_torch(X).requires_grad_()
    assert_same(BCW().fit(tensor, y), BCW().fit(X, y))
    with pytest.raises(TypeError, match="convert it to float32 first"):
        BCW().fit(with_torch(X).to(torch.bfloat16), y)


def test_models_move_between_machines(tmp_path: Path) -> None:
    X, y = data(2000, 30)
    there = BCW().fit(with_torch(X), y)
    sureline.save(there, tmp_path / "model")
    here = sureline.load(tmp_path / "model")
    np.testing.assert_array_equal(here.predict_proba(X), there.predict_proba(X))
    assert_same(here.partial_fit(with_torch(X), y), pickle.loads(pickle.dumps(there)).partial_fit(X, y))


def test_the_command_line(tmp_path: Path) -> None:
    pytest.importorskip("click")
    X, y = data(3000, 20)
    rows = np.column_stack([y, X])
    header = ",".join(["label", *(f"x{k}" for k in range(20))])
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header=header, comments="")
    for device in ("auto", "cuda"):
        command = [sys.executable, "-m", "sureline", "train", "rows.csv", "--algorithm", "bcw", "--label", "label"]
        more = ["--bits", "8", "--batch", "700", "--dtype", "float64", "--device", device]
        done = subprocess.run(
            [*command, *more, "--model", f"{device}.sureline"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    there, here = (sureline.load(tmp_path / f"{device}.sureline") for device in ("cuda", "auto"))
    assert_same(there, here)
