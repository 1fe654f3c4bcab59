"""Training with a label budget: from files, in chunks, stopped and resumed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sureline
from sureline import cli, stream
from sureline.datasets import make_sparse_stream
from sureline.estimators.asking import learn_asking
from sureline.learners.asking import Asking
from sureline.learners.catalogue import LEARNERS
from sureline.stream.chunk import joined
from sureline.training import Training
from sureline.training.checkpoint import Checkpointing


def text_of(X, y) -> str:
    lines = []
    for i, label in enumerate(y):
        row = X[i]
        pairs = sorted(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        lines.append(f"{label} " + " ".join(f"{j + 1}:{v:.6g}" for j, v in pairs))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = make_sparse_stream(4000, 500, 10, random_state=0)
    path = tmp_path_factory.mktemp("ask") / "rows.svm"
    path.write_text(text_of(X.tocsr(), y))
    return path


def learner():
    return LEARNERS["AROW"](dtype="float32")


class Stop(Exception):
    pass


def test_train_asks_as_the_estimator_does(data, tmp_path, capsys):
    assert cli.run(["train", str(data), "--ask", "0.1", "--model", str(tmp_path / "m"), "--quiet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == 4000
    assert told["asked"] == told["examples"] <= 400
    assert 0 < told["error"] < 0.5
    X, y = joined(list(stream.read(data, dtype="float32")))
    clf, asking = sureline.AROW(dtype="float32"), Asking(0.1)
    learn_asking(clf, asking, X, y, np.unique(y))
    assert (asking.asked, asking.error) == (told["asked"], told["error"])
    model = sureline.load(tmp_path / "m")
    np.testing.assert_array_equal(model.coef_, clf.coef_)
    np.testing.assert_array_equal(model.model.record, clf.model.record)
    in_one_call = sureline.train(data, ask=0.1)
    np.testing.assert_array_equal(in_one_call.coef_, clf.coef_)
    assert cli.run(["train", str(data), "--ask", "0.1", "--model", str(tmp_path / "m"), "--quiet"]) == 0
    assert f"4,000 rows, {told['asked']:,} labels asked for" in capsys.readouterr().out


@pytest.mark.parametrize("block", [1 << 10, 1 << 14])
def test_stopped_and_resumed_it_is_the_same(block, data, tmp_path):
    def source():
        return stream.read(data, dtype="float32").with_options(block=block)

    straight = Training(learner(), stream.read(data, dtype="float32"), ask=Asking(0.1, 7))
    straight.run()
    assert straight.frozen.error is None  # which would look at other labels

    place = tmp_path / "place"

    def stop(progress):
        if progress.examples > 2100:
            raise Stop

    running = Training(learner(), source(), ask=Asking(0.1, 7))
    with pytest.raises(Stop):
        running.run(checkpointing=Checkpointing(place, examples=500), on_progress=stop)
    again = Training(learner(), source(), ask=Asking(0.1, 7))
    again.resume(place)
    assert 500 <= again.rows < 4000
    again.run()
    assert again.asking.to_dict() == straight.asking.to_dict()
    np.testing.assert_array_equal(again.learner.coef_, straight.learner.coef_)
    np.testing.assert_array_equal(again.learner.model.record, straight.learner.model.record)
    for other in (None, Asking(0.2, 7), Asking(0.1, 8)):
        with pytest.raises(ValueError, match=r"was saved with ask=0\.1 and seed 7"):
            Training(learner(), source(), ask=other).resume(place)


def test_other_labels_decide_nothing(data, tmp_path):
    """Labels that were not asked for are changed: neither the settings, nor the order, nor the model follow them."""
    X, y = joined(list(stream.read(data, dtype="float32")))
    clf = sureline.AROW(dtype="float32")
    _, asked = learn_asking(clf, Asking(0.1), X, y, np.unique(y))
    others = np.sort(y)  # in runs, which would be noticed
    others[asked > 0] = y[asked > 0]
    (tmp_path / "rows.svm").write_text(text_of(X[:, 1:], others))
    for path in (data, tmp_path / "rows.svm"):
        model = sureline.train(path, ask=0.1, labels=np.unique(y).tolist())
        np.testing.assert_array_equal(model.coef_, clf.coef_)
        np.testing.assert_array_equal(model.model.record, clf.model.record)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ask", "0"], "'--ask': 0.0 is not in the range"),
        (["--ask", "0.1", "--algorithm", "bcw"], "--ask is for classifiers that learn from one row after the other"),
        (["--ask", "0.1", "--algorithm", "odca-regressor"], "and ODCARegressor is none"),
        (["--ask", "0.1", "--passes", "2"], "--ask is for one pass"),
        (["--ask", "0.1", "--algorithm", "ssol", "--covariance", "full"], "cannot ask for labels"),
    ],
)
def test_what_cannot_ask_is_refused(words, said, data, tmp_path, capsys):
    assert cli.run(["train", str(data), "--model", str(tmp_path / "m"), *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
