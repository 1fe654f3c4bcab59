"""Learners of batches beyond a call of fit: streams, model files, the command line, scikit-learn's tools."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from stream_files import write_rows

import sureline
from sureline import BCW, stream
from sureline.cli import run as run_command
from sureline.learners.catalogue import learner_named
from sureline.modelfile import ModelFileError
from sureline.models.precision import state as _gaussian_batch
from sureline.training import Training
from sureline.training.checkpoint import Checkpointing

CASES: list[tuple[str, dict[str, Any]]] = [
    ("bcw", {"C": 0.5}),
    ("bcw", {"q": 2, "multi_class": "ovr"}),
    ("sbcw", {"C": 2.0, "n_features": 12, "r": 3}),
]
every_case = pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)


def rows(n_rows: int = 700, n_columns: int = 40, n_classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.3)
    X = np.round(X, 3)
    y = (X @ rng.standard_normal((n_columns, n_classes)) + rng.standard_normal((n_rows, n_classes))).argmax(axis=1)
    return X, y


def bits(model: Any, path: Path) -> bytes:
    sureline.save(model, path)
    return path.read_bytes()


@every_case
@pytest.mark.parametrize("block", [1 << 9, 1 << 12, 1 << 22])
def test_batches_are_as_large_as_they_should_be_wherever_chunks_end(
    tmp_path: Path, name: str, parameters: dict[str, Any], block: int
) -> None:
    X, y = rows(n_classes=3)
    source = stream.read(write_rows(tmp_path / "x.svm", X, y), dtype="float64").with_options(block=block)
    trained = sureline.train(
        source, getattr(sureline, name.upper())(normalize="none", **parameters), labels=[0, 1, 2], batch=150
    )
    expected = getattr(sureline, name.upper())(growing=True, normalize="none", **parameters)
    for start in range(0, 700, 150):
        part = X[start : start + 150]
        width = int(np.flatnonzero(part.any(axis=0)).max()) + 1  # a file says no more of its width
        expected.partial_fit(sparse.csr_matrix(part[:, :width]), y[start : start + 150], classes=[0, 1, 2])
    np.testing.assert_allclose(trained.coef_, expected.coef_, rtol=1e-10, atol=1e-12)
    assert (trained.n_seen_, trained.n_mistakes_) == (expected.n_seen_, expected.n_mistakes_)


class Crash(Exception):
    pass


@every_case
@pytest.mark.parametrize("packing", ["plain", "gz"])
def test_resumed_at_any_batch_it_ends_in_the_same_bits(
    tmp_path: Path, name: str, parameters: dict[str, Any], packing: str
) -> None:
    X, y = rows(n_classes=3)
    data = write_rows(tmp_path / "x.svm", X, y)
    if packing == "gz":
        data.write_bytes(gzip.compress(data.read_bytes()))
    place = tmp_path / "c"

    def training() -> Training:
        return Training(learner_named(name)(**parameters), stream.read(data).with_options(block=1 << 11), batch=90)

    straight = training()
    straight.run()
    straight.save_model(tmp_path / "straight")
    for stop_after in range(1, 7):
        stopped, saved = training(), 0
        original = stopped.save_checkpoint

        def save(path: Path) -> None:
            nonlocal saved
            original(path)  # noqa: B023
            saved += 1
            if saved == stop_after:  # noqa: B023
                raise Crash

        stopped.save_checkpoint = save  # type: ignore[method-assign]
        with pytest.raises(Crash):
            stopped.run(checkpointing=Checkpointing(place, examples=90))
        resumed = training()
        resumed.resume(place)
        assert 0 < resumed.examples < 700
        assert resumed.examples % 90 == 0
        resumed.run()
        resumed.save_model(tmp_path / "resumed")
        assert (tmp_path / "resumed").read_bytes() == (tmp_path / "straight").read_bytes()
    other = Training(learner_named(name)(**parameters), stream.read(data), batch=91)
    with pytest.raises(ValueError, match="saved with batches of 90 rows"):
        other.resume(place)


@every_case
@pytest.mark.parametrize("n_classes", [2, 3])
def test_saved_and_loaded_it_is_the_same_and_goes_on(
    tmp_path: Path, name: str, parameters: dict[str, Any], n_classes: int
) -> None:
    X, y = rows(n_classes=n_classes)
    labels = np.array(["ham", "spam", "other"])[y]
    model = getattr(sureline, name.upper())(normalize="none", **parameters).fit(X[:500], labels[:500])
    again = [
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ]
    sureline.save(model, tmp_path / "m")
    again.append(sureline.load(tmp_path / "m"))
    before = bits(model, tmp_path / "a")
    for twin in again:
        assert bits(twin, tmp_path / "b") == before
        np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    after = bits(model.partial_fit(X[500:], labels[500:]), tmp_path / "a")
    for twin in again:
        assert bits(twin.partial_fit(X[500:], labels[500:]), tmp_path / "b") == after


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_few_rows_of_many_columns_are_saved_as_rows(tmp_path: Path, form: Any, monkeypatch: Any) -> None:
    X, y = rows(60, 400)
    monkeypatch.setattr(_gaussian_batch, "NARROW", 50)
    model = BCW(normalize="none").fit(form(X), y)
    sureline.save(model, tmp_path / "m")
    loaded = sureline.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.decision_std(X), model.decision_std(X))
    np.testing.assert_array_equal(loaded.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, None])
def test_a_state_that_does_not_fit_together_is_refused(tmp_path: Path, form: Any, monkeypatch: Any) -> None:
    """Tensors that a checksum was made for, but not by us."""
    if form is not None:
        monkeypatch.setattr(_gaussian_batch, "NARROW", 50)
    X, y = rows(60, 400 if form is not None else 20)
    model = BCW(normalize="none").fit(X if form is None else form(X), y)
    state = model._state
    original = sureline.models.file.codec.arrays_of
    arrays = original(state)
    for name, array in arrays.items():
        wrong: list[Any] = [array.astype(np.float32), array.reshape(-1, 1, 1), None]
        if name != "rows":  # of which there may be any number
            wrong += [array[:-1], np.concatenate([array, array])]
        if array.dtype == np.float64:
            bad = array.copy()
            bad.flat[0] = np.nan
            wrong.append(bad)
        else:
            low, high = array.copy(), array.copy()
            low[0] = -1
            high[-1] = 1 << 40
            wrong += [low, high, array[::-1].copy()]
        for replacement in wrong:
            forged = {**arrays, name: replacement}
            forged = {key: value for key, value in forged.items() if value is not None}
            monkeypatch.setattr(sureline.models.file.codec, "arrays_of", lambda _, forged=forged: forged)
            sureline.save(model, tmp_path / "m")
            with pytest.raises(ModelFileError):
                sureline.load(tmp_path / "m")
    monkeypatch.setattr(sureline.models.file.codec, "arrays_of", original)
    sureline.save(model, tmp_path / "m")
    assert sureline.load(tmp_path / "m").n_seen_ == 60


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: Any) -> tuple[int, str, str]:
        status = run_command([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    X, y = rows()
    data, model = write_rows(tmp_path / "x.svm", X, y), tmp_path / "m.sureline"
    status, out, err = run(
        "train", data, "--algorithm", "bcw", "--C", "0.5", "--q", 2, "--batch", 200, "--model", model, "--json"
    )
    assert status == 0, err
    summary = json.loads(out)
    assert (summary["algorithm"], summary["examples"], summary["features"]) == ("BCW", 700, 40)
    loaded = sureline.load(model)
    assert (loaded.C, loaded.q, loaded.dtype) == (0.5, 2, "float32")
    assert run("predict", data, "--model", model, "--output", tmp_path / "scores.csv")[0] == 0
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert lines[0] == "label,score,confidence"
    assert len(lines) == 701
    assert run("evaluate", data, "--model", model)[0] == 0
    shown = json.loads(run("inspect", model, "--json", "--top", 3)[1])
    assert [row["std"] > 0 for row in shown["top"]] == [True] * 3
    small = tmp_path / "small.sureline"
    options = ("--features", 12, "--r", 3, "--pick", "covariance", "--C2", 0.01, "--max-memory", 50)
    status, out, err = run("train", data, "--algorithm", "sbcw", *options, "--batch", 300, "--model", small, "--json")
    assert status == 0, err
    selected = sureline.load(small)
    assert (selected.r, selected.n_features, selected.C2, len(selected.groups_)) == (3, 12, 0.01, 4)
    assert 0 < json.loads(out)["nonzeros"] <= 12
    assert run("evaluate", data, "--model", small)[0] == 0
    status, _, err = run("train", data, "--algorithm", "sbcw", "--r", 2.5, "--model", small)
    assert status == 2
    assert "The 'r' parameter of SBCW must be an int in the range [1, inf) or None. Got 2.5 instead." in err
    status, _, err = run("train", data, "--algorithm", "arow", "--batch", 200, "--model", model)
    assert status == 2
    assert "AROW learns from one row after the other: --batch is for learners of batches" in err
    status, _, err = run("train", data, "--algorithm", "bcw", "--passes", 2, "--model", model)
    assert status == 2
    assert "--passes is no parameter of BCW" in err
