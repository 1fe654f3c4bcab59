"""A model that `load` accepts, honest or forged, survives save and load: every written file can be read."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forge import canonical, change_tensor, edited, forged, put_together, seeds, take_apart, write
from hashed_rows import names_of
from scipy import sparse
from torture import times

import sureline
from sureline.learners.origin import Origin
from sureline.learners.saving import ModelFile, read_learner, write_learner
from sureline.modelfile import ModelFileError

pytestmark = pytest.mark.torture


def rows() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 6)) * (rng.random((40, 6)) < 0.7), np.arange(40)


X, K = rows()
S = sparse.csr_matrix(X)
KINDS: dict[str, list[Callable[[], Any]]] = {
    "kernel": [
        lambda: sureline.KernelSCW(kernel="linear", normalize="none").fit(X, K % 2),
        lambda: sureline.KernelSCW(gamma=0.1, dtype="float32").fit(S, K % 3),
        lambda: sureline.KernelSCW(kernel="poly", gamma=0.1, degree=2, multi_class="ovr").fit(X, K % 3),
        lambda: sureline.KernelSCW(gamma=0.2, growing=True).partial_fit(X[:5], K[:5] % 2).partial_fit(X, K % 3),
        lambda: sureline.KernelSCW().partial_fit(np.zeros((3, 2)), [0, 1, 0], classes=[0, 1]),
    ],
    "batches": [
        lambda: sureline.BCW().fit(X, K % 2),
        lambda: sureline.BCW(normalize="none", dtype="float32").fit(S, K % 3),
        lambda: sureline.BCW(fit_intercept=False).fit(S[:4], K[:4] % 2),
    ],
    "groups": [
        lambda: sureline.SBCW(n_features=4).fit(X, K % 2),
        lambda: sureline.SBCW(n_features=3, dtype="float32").fit(S, K % 3),
        lambda: sureline.FGM(n_features=3).fit(X, K % 3),
    ],
    "windows": [
        lambda: sureline.ODCA(window="sliding", length=9).fit(X, K % 2),
        lambda: sureline.ODCA(window="exponential", half_life=20, smoothing=0.5).fit(X, K % 3),
        lambda: sureline.ODCA(regularizer="kl").fit(X, K % 3),
        lambda: sureline.ODCA(window="sliding", length=9, multi_class="ovr", smoothing=0.5).fit(S, K % 3),
        lambda: sureline.ODCARegressor(window="sliding", length=9, shuffle=False).fit(X, K * 0.5),
    ],
}


def saved(models: list[Callable[[], Any]], path: Path) -> list[bytes]:
    names = names_of([{"cheap": 1.0, "pills": 2.0}], 8)
    files = []
    for k, make in enumerate(models):
        learner = make()
        learner.origin = Origin({}, names if k % 2 else None)
        write_learner(path, learner)
        files.append(path.read_bytes())
    return files


@pytest.fixture(scope="module", params=["one by one", *KINDS])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("seeds")
    return seeds(folder) if request.param == "one by one" else saved(KINDS[request.param], folder / "m")


def write_again(file: ModelFile, path: Path, *, compact: bool = False) -> bytes:
    write_learner(path, file.learner, place=file.place, compact=compact)
    return path.read_bytes()


def survives(file: ModelFile, path: Path) -> None:
    """Written and read, all of it and only the nonzeros; the second file has the bytes of the first."""
    once = write_again(file, path)
    assert write_again(read_learner(path), path) == once
    write_again(file, path, compact=True)
    read_learner(path)


def test_honest_models(files: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "m"
    for data in files:
        write(path, data)
        assert write_again(read_learner(path), path) == data
        survives(read_learner(path), path)


def test_forged_models(files: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "m"
    happened: Counter[str] = Counter()
    for seed in range(times(600)):
        rng = random.Random(seed)

        def pick(n: int, rng: random.Random = rng) -> int:
            return rng.randrange(n)

        data = files[pick(len(files))]
        if seed % 8 == 0:
            data = edited(data, pick)
        elif seed % 8 == 1:
            data = forged(data, pick)
        else:  # numbers alone, of which more are accepted
            metadata, tensors = take_apart(data)
            for _ in range(1 + pick(2)):
                change_tensor(tensors, pick)
            data = put_together(canonical(metadata), tensors)
        write(path, data)
        try:
            file = read_learner(path)
        except ModelFileError:
            happened["refused"] += 1
            continue
        happened["accepted"] += 1
        try:
            survives(file, path)
        except Exception as error:
            raise AssertionError(f"forgery {seed} of a {type(file.learner).__name__} was accepted: {error}") from error
    assert happened["accepted"] > 50, happened
    assert happened["refused"] > 50, happened
