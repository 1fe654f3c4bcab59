"""Answers at a promised error on the command line: predict --max-error, and error against coverage in evaluate."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, run, succeed
from stream_files import libsvm_of

import sureline
from sureline.datasets import make_sparse_gaussian


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("abstaining")
    X, y = make_sparse_gaussian(8000, random_state=0)
    for name, part in (("train", slice(0, 5000)), ("test", slice(5000, 8000))):
        (folder / f"{name}.svm").write_bytes(libsvm_of(X[part], y[part]))
    succeed("train", folder / "train.svm", "--algorithm", "arow", "--r", "1", "--model", folder / "m.safetensors")
    return folder


def test_labels_are_empty_where_a_promise_would_not_hold(folder: Path) -> None:
    model = folder / "m.safetensors"
    done = run("predict", folder / "test.svm", "--model", model, "--max-error", "0.02")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    all_rows = list(csv.DictReader(io.StringIO(succeed("predict", folder / "test.svm", "--model", model))))
    answered = [row for row in rows if row["label"]]
    assert f"answered {len(answered):,} of 3,000 rows" in done.stderr
    assert 0.4 * len(rows) < len(answered) < len(rows)
    assert all(row["label"] in ("", whole["label"]) for row, whole in zip(rows, all_rows, strict=True))
    assert [row["score"] for row in rows] == [row["score"] for row in all_rows]
    assert min(float(row["confidence"]) for row in answered) > 0.5
    y = np.array([line.split()[0] for line in (folder / "test.svm").read_text().splitlines()], float)
    wrong = [float(row["label"]) != truth for row, truth in zip(rows, y, strict=True) if row["label"]]
    assert np.mean(wrong) <= 1.5 * 0.02  # of 2,000 answers
    lines = succeed("predict", folder / "test.svm", "--model", model, "--max-error", "0.02", "--json").splitlines()
    assert [json.loads(line)["label"] for line in lines] == [
        int(row["label"]) if row["label"] else None for row in rows
    ]
    # It is what the estimator answers.
    clf = sureline.load(model)
    assert clf.coverage(0.02) == pytest.approx(len(answered) / 3000, abs=0.1)
    few = run("predict", folder / "test.svm", "--model", model, "--max-error", "0.02", "--cost", "10,1")
    fewer = sum(1 for row in csv.DictReader(io.StringIO(few.stdout)) if row["label"])
    assert 0 < fewer < len(answered)


def test_it_says_why_nothing_is_answered(folder: Path) -> None:
    done = run("predict", folder / "test.svm", "--model", folder / "m.safetensors", "--max-error", "1e-5")
    assert done.returncode == 0
    assert all(row["label"] == "" for row in csv.DictReader(io.StringIO(done.stdout)))
    assert "An error of 1e-05 cannot be promised, so no row is answered: that takes 299,572 predictions" in done.stderr


def test_what_is_no_promise_is_refused(folder: Path) -> None:
    data, model = folder / "test.svm", folder / "m.safetensors"
    assert "max_error must be below 1" in fail(2, "predict", data, "--model", model, "--max-error", "2")
    assert "max_error must be a positive number" in fail(2, "predict", data, "--model", model, "--max-error", "0")
    assert "Name both" in fail(2, "predict", data, "--model", model, "--cost", "10,1")
    assert "two numbers" in fail(2, "predict", data, "--model", model, "--max-error", "0.1", "--cost", "balanced")
    numbers = folder / "r.safetensors"
    succeed("train", folder / "train.svm", "--algorithm", "odca-regressor", "--model", numbers)
    assert "predicts numbers" in fail(2, "predict", data, "--model", numbers, "--max-error", "0.1")


def test_evaluate_tells_the_error_of_the_surest_rows(folder: Path, tmp_path: Path) -> None:
    arguments = ("evaluate", folder / "test.svm", "--model", folder / "m.safetensors")
    told = json.loads(succeed(*arguments, "--json", "--plot", tmp_path / "both.svg"))
    curve, promises = told["coverage"]["curve"], told["coverage"]["promises"]
    assert curve[-1]["coverage"] == 1
    assert curve[-1]["error"] == pytest.approx(told["error"])
    assert curve[0]["error"] < 0.5 * told["error"]
    assert all(row["low"] <= row["error"] <= row["high"] for row in curve)
    assert [row["max_error"] for row in promises] == [0.005, 0.01, 0.02, 0.05]
    assert all(row["error"] <= 1.5 * row["max_error"] for row in promises if row["answered"] > 500)
    done = run("predict", *arguments[1:], "--max-error", "0.05")
    assert f"answered {promises[3]['answered']:,} of" in done.stderr
    picture = (tmp_path / "both.svg").read_text()
    assert "Error against coverage" in picture
    assert "Reliability of the confidences" in picture
    words = succeed(*arguments)
    assert "promised error" in words
    assert "if only the surest" in words
