"""Models as ONNX and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fail, succeed

import sureline
from sureline.learners.catalogue import LEARNERS
from sureline.learners.exporting import to_onnx

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(300, 6)) * np.array([1, 10, 0.1, 1, 5, 1])).astype(np.float32)
BINARY = np.where(X[:, 0] + 0.1 * X[:, 1] > 0, "yes", "no")
SEVERAL = np.digitize(X[:, 0] + 0.1 * X[:, 1], [-1.0, 1.0])


def run_onnx(path: Path, **inputs: Any) -> dict[str, Any]:
    return told_by(path.read_bytes(), **inputs)


def told_by(model: bytes, **inputs: Any) -> dict[str, Any]:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return dict(zip([out.name for out in session.get_outputs()], session.run(None, inputs), strict=True))


@pytest.mark.parametrize("normalize", ["none", "row", "scale"])
@pytest.mark.parametrize("y", [BINARY, SEVERAL], ids=["text", "several"])
def test_onnxruntime_scores_as_we_do(tmp_path: Path, y: Any, normalize: str) -> None:
    pytest.importorskip("onnx")
    clf = sureline.SCW(normalize=normalize, dtype="float32").fit(X, y)
    sureline.save(clf, tmp_path / "m.sureline")
    succeed("export", tmp_path / "m.sureline", "--onnx", tmp_path / "m.onnx")
    rows = np.concatenate([X[:50], np.zeros((1, 6), np.float32)])
    told = run_onnx(tmp_path / "m.onnx", X=rows)
    np.testing.assert_allclose(told["score"], clf.decision_function(rows), rtol=1e-5, atol=1e-5)
    assert told["label"].tolist() == clf.predict(rows).tolist()


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "KernelSCW"])
def test_onnxruntime_scores_as_every_learner(name: str, several: bool) -> None:
    pytest.importorskip("onnx")
    kind = getattr(sureline, name)
    for options in ({}, {"covariance": "full"}):
        if options and "covariance" not in kind().get_params():
            continue
        dtype = {"dtype": "float32"} if options and "dtype" in kind().get_params() else {}
        clf = kind(**options, **dtype).fit(X, X[:, 0] if name.endswith("Regressor") else SEVERAL if several else BINARY)
        told = told_by(to_onnx(clf), X=X[:50].astype(dtype.get("dtype", "float64")))
        if name.endswith("Regressor"):
            np.testing.assert_allclose(told["value"], clf.predict(X[:50]), rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_allclose(told["score"], clf.decision_function(X[:50]), rtol=1e-5, atol=1e-5)
            assert told["label"].tolist() == clf.predict(X[:50]).tolist()


@pytest.mark.parametrize("algorithm", ["scw", "sop"])
def test_wide_models_take_columns_and_values(tmp_path: Path, algorithm: str) -> None:
    pytest.importorskip("onnx")
    (tmp_path / "a.txt").write_text("ham\tat noon\nspam\tfree cash\n" * 20)
    succeed("train", tmp_path / "a.txt", "--format", "text", "--algorithm", algorithm, "--normalize", "row", "--quiet",
            "--model", tmp_path / "m.sureline")  # fmt: skip
    succeed("export", tmp_path / "m.sureline", "--onnx", tmp_path / "m.onnx")
    clf = sureline.load(tmp_path / "m.sureline")
    chunk = clf.origin.chunk(["free cash now", "noon"], np.float32)
    columns, values = np.zeros((2, 3), np.int64), np.zeros((2, 3), np.float32)
    for k in range(2):
        part = slice(chunk.indptr[k], chunk.indptr[k + 1])
        n = part.stop - part.start
        columns[k, :n], values[k, :n] = chunk.indices[part], chunk.values[part]
    told = run_onnx(tmp_path / "m.onnx", columns=columns, values=values)
    np.testing.assert_allclose(told["score"], clf.decision_function(["free cash now", "noon"]), atol=1e-5)
    assert told["label"].tolist() == ["spam", "ham"]


def test_what_onnx_has_no_room_for_is_refused_at_once(tmp_path: Path) -> None:
    """A column costs room in a graph, also where it has no weight: a small file would ask for 8 GB."""
    pytest.importorskip("onnx")
    (tmp_path / "a.svm").write_text("1 2147483646:1\n0 1:1\n" * 3)
    succeed("train", tmp_path / "a.svm", "--algorithm", "pa", "--quiet", "--model", tmp_path / "m")
    said = fail(1, "export", tmp_path / "m", "--onnx", tmp_path / "m.onnx")
    assert "A file of ONNX holds at most 2,146,435,072 bytes of weights" in said
    assert not (tmp_path / "m.onnx").exists()


def test_json_is_enough_to_score_by_hand(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcdef"))
    clf = sureline.AROW(normalize="scale").fit(frame, BINARY)
    sureline.save(clf, tmp_path / "m.sureline")
    told = json.loads(succeed("export", tmp_path / "m.sureline", "--json"))
    assert told["labels"] == ["no", "yes"]
    assert told["settings"]["normalize"] == "scale"
    assert set(told["scales"]) == set(told["weights"]["yes"]) == set("abcdef")
    row = frame.iloc[3]
    score = told["intercept"]["yes"] + sum(w * row[name] for name, w in told["weights"]["yes"].items())
    assert score == pytest.approx(clf.decision_function(frame[3:4])[0], rel=1e-6)
    assert told["calibration"]["F"][0][0] < told["calibration"]["F"][-1][0]


def test_nothing_to_write(tmp_path: Path) -> None:
    sureline.save(sureline.SCW().fit(X, BINARY), tmp_path / "m.sureline")
    assert "--onnx FILE, or --json" in fail(2, "export", tmp_path / "m.sureline")
