"""normalize: what users, files, streams and the command line have of it."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import Case, everything
from scipy import sparse
from test_normalize import CASES, both_kinds, rows, scales

import sureline
from sureline import stream
from sureline.learners.catalogue import LEARNERS
from sureline.training import Training
from sureline.training.checkpoint import Checkpointing
from sureline.training.chunks import LabelledChunk, Normalizers

# -- what a user sees ----------------------------------------------------------------------------------------


def test_weights_are_in_the_units_of_x() -> None:
    X, y = rows(n_classes=3)
    X = np.pad(X, ((0, 0), (0, 2)))  # two features that never occur
    for model in (
        sureline.SCW(normalize="scale"),
        sureline.SCW(normalize="scale", covariance="full"),
        sureline.FSOL(lam=0.1, normalize="scale"),
        sureline.SBCW(n_features=6, normalize="scale"),
        sureline.KernelSCW(kernel="linear", normalize="scale"),
    ):
        model.fit(X, y)
        np.testing.assert_allclose(
            X @ model.coef_.T + model.intercept_, model.decision_function(X), rtol=1e-7, atol=1e-9
        )
        np.testing.assert_array_equal(model.coef_, model.sparse_coef_.toarray())
        assert model.scale_.shape == (12,)
        np.testing.assert_array_equal(model.scale_[10:], 1.0)
    S = sureline.AROW(normalize="scale").fit(X, y)
    v = np.einsum("ij,hj->ih", X**2, S.covariance_) + S.intercept_variance_
    np.testing.assert_allclose(np.sqrt(v), S.decision_std(X), rtol=1e-9)
    for full in (sureline.AROW(covariance="full", normalize="scale"), sureline.BCW(normalize="scale")):
        full.fit(X, y)
        C = full.covariance_ if full.covariance_.ndim == 3 else np.stack([full.covariance_] * 3)
        no_intercept = type(full)(**{**full.get_params(), "fit_intercept": False}).fit(X, y)
        D = no_intercept.covariance_
        D = D if D.ndim == 3 else np.stack([D] * 3)
        np.testing.assert_allclose(
            np.sqrt(np.einsum("ij,hjk,ik->ih", X, D, X)), no_intercept.decision_std(X), rtol=1e-6
        )
        assert C.shape == (3, 12, 12)
    assert not hasattr(sureline.AROW(normalize="row").fit(X, y), "scale_")
    assert not hasattr(sureline.AROW(normalize="scale"), "scale_")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@both_kinds
def test_files_keep_it(kind: str, dtype: str, tmp_path: Path) -> None:
    X, y = rows(200, n_classes=3)
    half = 100
    for case in [*CASES, Case("BCW"), Case("SBCW", {"n_features": 5}), Case("KernelSCW", {"gamma": 0.1})]:
        settings = {"normalize": kind, "dtype": dtype}
        model = case.make(**settings).partial_fit(X[:half], y[:half], classes=[0, 1, 2])
        sureline.save(model, tmp_path / "m")
        loaded = sureline.load(tmp_path / "m")
        assert scales(loaded) == scales(model)
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
        for one in (model, loaded):
            one.partial_fit(X[half:], y[half:])
        assert scales(loaded) == scales(model)
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
        sureline.save(model, tmp_path / "c", compact=True)
        compact = sureline.load(tmp_path / "c")
        np.testing.assert_array_equal(compact.decision_function(X), model.decision_function(X))
        if case.name in ("FSOL", "SBCW") and kind == "scale":
            assert len(compact._normalizer.arrays()[0]) == len(np.unique(model.sparse_coef_.indices))


def test_a_file_whose_scales_do_not_fit_its_parameters_is_refused(tmp_path: Path) -> None:
    from forge import canonical, put_together, take_apart

    X, y = rows()
    sureline.save(sureline.AROW(normalize="scale").fit(X, y), tmp_path / "m")
    metadata, tensors = take_apart((tmp_path / "m").read_bytes())
    for change in (
        lambda m: m["parameters"].update(normalize="row"),
        lambda m: m["parameters"].pop("normalize"),
        lambda m: m["parameters"].update(normalize="l1"),
    ):
        forged = copy.deepcopy(metadata)
        change(forged)
        (tmp_path / "m").write_bytes(put_together(canonical(forged), tensors))
        with pytest.raises(ValueError, match="does not fit together"):
            sureline.load(tmp_path / "m")
    single = {**tensors, "scale_means": ("F32", tensors["scale_means"][1], np.ones(10, "<f4").tobytes())}
    (tmp_path / "m").write_bytes(put_together(canonical(metadata), single))
    with pytest.raises(ValueError, match="does not fit together: normalize='scale' and the scales"):
        sureline.load(tmp_path / "m")


# -- streams -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "rows.svm"
    X, y = rows(400)
    X = X.astype(np.float32)
    lines = [f"{label} " + " ".join(f"{j}:{x[j]!s}" for j in np.flatnonzero(x)) for x, label in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@both_kinds
def test_a_stream_is_a_fit(kind: str, data: Path) -> None:
    X, y = rows(400)
    X = sparse.csr_matrix(X.astype(np.float32))
    for name in ("AROW", "SSOL"):
        model = sureline.train(data, name, normalize=kind, passes=2)
        whole = getattr(sureline, name)(dtype="float32", normalize=kind, passes=2).fit(X, y)
        assert everything(model) == everything(whole)
        assert scales(model) == scales(whole)
    streamed = sureline.train(data, "bcw", normalize=kind, batch=150, dtype="float64")
    batches = sureline.BCW(normalize=kind)
    for start in range(0, 400, 150):
        part = X[start : start + 150].astype(np.float64)
        batches.partial_fit(part, y[start : start + 150], classes=[0, 1])
    np.testing.assert_allclose(streamed.decision_function(X), batches.decision_function(X), rtol=1e-5)


@both_kinds
@pytest.mark.parametrize("name", ["SCW", "FTRL", "ODCA"])
def test_a_training_goes_on_from_its_checkpoint(kind: str, name: str, data: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"

    def training() -> Training:
        learner = LEARNERS[name](normalize=kind)
        return Training(learner, stream.read(data, dtype="float64").with_options(block=1 << 10), labels=[0, 1])

    straight = training()
    straight.run()

    class Crash(Exception):
        pass

    for stop in (1, 4):
        crashed = training()
        saved, save = 0, crashed.save_checkpoint

        def counted(path: Path, save: Any = save, stop: int = stop) -> None:
            nonlocal saved
            save(path)
            saved += 1
            if saved == stop:
                raise Crash

        crashed.save_checkpoint = counted  # type: ignore[method-assign]
        with pytest.raises(Crash):
            crashed.run(checkpointing=Checkpointing(place, examples=1))
        resumed = training()
        resumed.resume(place)
        resumed.run()
        assert everything(resumed.learner) == everything(straight.learner)
        assert scales(resumed.learner) == scales(straight.learner)
        other = Training(LEARNERS[name](), stream.read(data, dtype="float64"), labels=[0, 1])
        other.learner.normalize = "none"
        with pytest.raises(ValueError, match="normalize"):
            other.resume(place)


def test_learners_that_share_their_rows_learn_what_they_learn_alone(data: Path) -> None:
    kinds = [("AROW", "scale"), ("PA", "scale"), ("AROW", "row"), ("PA", "none"), ("FTRL", "scale")]
    learners = [LEARNERS[name](normalize=kind) for name, kind in kinds]
    shared, classes = Normalizers(), np.array([0, 1])
    for number, chunk in enumerate(stream.read(data, dtype="float64").with_options(block=1 << 10)):
        batch = LabelledChunk(chunk, np.array(chunk.labels[1], np.int32)[chunk.labels[0]], classes, shared)
        for learner in learners:
            batch.prepare(learner)
        for learner in learners:
            if number == 0:
                batch.begin(learner)
            batch.fit(learner, 0, chunk.n_rows // 2)
            batch.fit(learner, chunk.n_rows // 2, chunk.n_rows)
            batch.end(learner)
    assert learners[0]._normalizer is learners[1]._normalizer
    for (name, kind), learner in zip(kinds, learners, strict=True):
        alone = Training(LEARNERS[name](normalize=kind), stream.read(data, dtype="float64"))
        alone.run()
        assert everything(alone.learner) == everything(learner)
        assert scales(alone.learner) == scales(learner)


def test_the_command_line(data: Path, tmp_path: Path) -> None:
    def run(*arguments: Any) -> str:
        command = [sys.executable, "-m", "sureline", *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    model = tmp_path / "m.sureline"
    told = json.loads(run("train", data, "--normalize", "scale", "--model", model, "--quiet", "--json"))
    whole = sureline.train(data, normalize="scale")
    assert told["mistakes"] == whole.n_mistakes_
    assert everything(sureline.load(model)) == everything(whole)
    seen = json.loads(run("inspect", model, "--json"))
    weights = np.abs(whole.coef_[0] * whole.scale_)
    assert [row["feature"] for row in seen["top"]] == np.argsort(-weights, kind="stable").tolist()
    np.testing.assert_allclose([row["scale"] for row in seen["top"]], whole.scale_[np.argsort(-weights, kind="stable")])
    text = run("inspect", model)
    assert "divided by their scale" in text
    X = sparse.csr_matrix(rows(400)[0].astype(np.float32))
    run("predict", data, "--model", model, "--output", tmp_path / "scores.csv")
    lines = (tmp_path / "scores.csv").read_text().splitlines()[1:]
    np.testing.assert_allclose([float(line.split(",")[1]) for line in lines], whole.decision_function(X), rtol=1e-5)
