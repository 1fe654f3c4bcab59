"""``sureline ask``: what to label next."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import sureline
from sureline import cli


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    y = (X[:, 0] > 0).astype(int)
    lines = [f"{label} " + " ".join(f"{j + 1}:{v:.5g}" for j, v in enumerate(x)) for x, label in zip(X, y, strict=True)]
    (tmp_path / "a.svm").write_text("\n".join(lines) + "\n")
    words = [
        "train",
        str(tmp_path / "a.svm"),
        "--algorithm",
        "arow",
        "--normalize",
        "none",
        "--model",
        str(tmp_path / "m"),
    ]
    assert cli.run([*words, "--quiet"]) == 0
    return tmp_path / "m"


def test_it_lists_rows_that_are_unsure_and_different(model, tmp_path, capsys):
    capsys.readouterr()
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 6))
    X[:200] = [0.0001, 1, 1, 1, 1, 1]  # copies, all of them unsure
    lines = ["0 " + " ".join(f"{j + 1}:{v:.5g}" for j, v in enumerate(x)) for x in X]
    (tmp_path / "new.svm").write_text("\n".join(lines) + "\n")
    words = ["ask", str(tmp_path / "new.svm"), "--model", str(model), "--best", "20"]
    assert cli.run(words) == 0
    told = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert list(told[0]) == ["row", "label", "confidence", "certainty", "text"]
    rows = [int(row["row"]) for row in told]
    assert len(set(rows)) == 20
    assert [row["text"] for row in told] == [lines[k - 1] for k in rows]
    assert sum(k <= 200 for k in rows) <= 1
    clf = sureline.load(model)
    scores = np.abs(clf.decision_function(np.column_stack([np.zeros(3000), X]))) if clf.n_features_in_ == 7 else None
    if scores is not None:
        assert np.mean(scores[np.array(rows) - 1]) < 0.3 * scores.mean()
    assert cli.run([*words, "--json"]) == 0
    as_json = json.loads(capsys.readouterr().out)
    assert as_json["rows"] == 3000
    assert [row["row"] for row in as_json["ask"]] == rows


def test_fewer_rows_than_asked_for_are_all_listed(model, tmp_path, capsys):
    capsys.readouterr()
    (tmp_path / "new.svm").write_text("0 1:1\n1 2:1\n")
    assert cli.run(["ask", str(tmp_path / "new.svm"), "--model", str(model)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
