"""Models as a flavor of MLflow, tried with MLflow itself."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sureline
from sureline.modelfile import ModelFileError

pytest.importorskip("mlflow")

# Of MLflow's own models, and of its use of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred:UserWarning"),
    pytest.mark.filterwarnings("ignore:Operation with range is deprecated"),
]


@pytest.fixture
def flavor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import mlflow

    import sureline.mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    return sureline.mlflow


@pytest.fixture
def data() -> tuple[Any, Any]:
    return sureline.datasets.make_sparse_gaussian(500, random_state=0)


def test_a_logged_model_is_the_one_that_was_given(flavor: Any, data: Any) -> None:
    import mlflow

    X, y = data
    clf = sureline.AROW().fit(X, y)
    with mlflow.start_run():
        uri = flavor.log_model(clf, name="mail", metadata={"by": "test"}).model_uri
    again = flavor.load_model(uri)
    assert again.coef_.tobytes() == clf.coef_.tobytes()
    assert mlflow.pyfunc.load_model(uri).predict(X).tolist() == clf.predict(X).tolist()


def test_a_saved_folder_has_the_model_file_and_nothing_pickled(flavor: Any, data: Any, tmp_path: Path) -> None:
    import mlflow
    import pandas as pd

    X, y = data
    frame = pd.DataFrame(np.asarray(X[:, :5].todense()) if hasattr(X, "todense") else X[:, :5], columns=list("abcde"))
    clf = sureline.SCW().fit(frame, y)
    flavor.save_model(clf, tmp_path / "m", input_example=frame[:3])
    assert sureline.load(tmp_path / "m" / "model.sureline").predict(frame).tolist() == clf.predict(frame).tolist()
    assert not list((tmp_path / "m").glob("*.pkl"))
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert loaded.predict(frame).tolist() == clf.predict(frame).tolist()
    assert [column.name for column in loaded.metadata.signature.inputs] == list("abcde")
    with pytest.raises(FileExistsError, match="exists already"):
        flavor.save_model(clf, tmp_path / "m")


def test_rows_may_be_dicts(flavor: Any, tmp_path: Path) -> None:
    import mlflow

    clf = sureline.AROW().learn_one({"pills": 1.0}, "spam").learn_one({"lunch": 1.0}, "ham")
    flavor.save_model(clf, tmp_path / "m")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert loaded.predict({"pills": 1.0}) == ["spam"]
    assert loaded.predict([{"pills": 1.0}, {"lunch": 1.0}]) == ["spam", "ham"]


def test_a_model_of_a_table_takes_data_frames_and_dicts(flavor: Any, tmp_path: Path) -> None:
    import mlflow
    import pandas as pd

    rows = [{"city": city, "n": n} for n, city in enumerate(["Rome", "Oslo"] * 50)]
    pd.DataFrame(rows).assign(label=["warm", "cold"] * 50).to_csv(tmp_path / "t.csv", index=False)
    flavor.save_model(sureline.train(tmp_path / "t.csv", "arow"), tmp_path / "m")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert loaded.predict(pd.DataFrame(rows[:2])).tolist() == ["warm", "cold"]
    assert loaded.predict(rows[:2]) == ["warm", "cold"]


class Forged:
    def __reduce__(self) -> Any:
        return os.mkdir, ("ran",)


@pytest.mark.parametrize("damage", ["pickle", "bit", "cut"])
def test_a_damaged_or_forged_file_is_refused(flavor: Any, data: Any, tmp_path: Path, damage: str) -> None:
    import mlflow

    flavor.save_model(sureline.AROW().fit(*data), tmp_path / "m")
    file = tmp_path / "m" / "model.sureline"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes({"pickle": pickle.dumps(Forged()), "bit": bytes(content), "cut": bytes(content[:-9])}[damage])
    with pytest.raises(ModelFileError, match=r"model\.sureline"):
        flavor.load_model(str(tmp_path / "m"))
    with pytest.raises(ModelFileError, match=r"model\.sureline"):
        mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert not (tmp_path / "ran").exists()


def test_a_model_of_another_flavor_is_refused(flavor: Any, data: Any, tmp_path: Path) -> None:
    flavor.save_model(sureline.AROW().fit(*data), tmp_path / "m")
    words = (tmp_path / "m" / "MLmodel").read_text()
    (tmp_path / "m" / "MLmodel").write_text(words.replace("  sureline:\n", "  other:\n"))
    with pytest.raises(ValueError, match="has no model of sureline"):
        flavor.load_model(str(tmp_path / "m"))
