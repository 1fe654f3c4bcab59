"""KernelSCW in model files: training continues to the bit, and forged files are refused or usable."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import stream
from forge import CODES, canonical, edited, forged, put_together, reason_for, take_apart, write
from scipy import sparse
from stream_files import libsvm_of
from test_kernel import everything, weighted
from torture import times

import sureline
from sureline import KernelSCW
from sureline.cli import run
from sureline.modelfile import ModelFileError

SETTINGS: list[dict[str, Any]] = [
    {"kernel": "linear", "n_classes": 2, "form": np.asarray},
    {"kernel": "rbf", "gamma": 0.1, "n_classes": 4, "form": sparse.csr_matrix, "dtype": "float32"},
    {"kernel": "poly", "gamma": 0.1, "degree": 2, "n_classes": 4, "form": np.asarray, "multi_class": "ovr"},
]
kinds = pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s["kernel"])


def fitted(settings: dict[str, Any], n_rows: int = 77) -> tuple[KernelSCW, Any, np.ndarray]:
    parameters = {k: v for k, v in settings.items() if k not in ("n_classes", "form")}
    X, y = stream(200, 8, settings["n_classes"])
    X = settings["form"](X)
    model = KernelSCW(**parameters, normalize="none")
    model.partial_fit(X[:n_rows], y[:n_rows], range(settings["n_classes"]), weighted(n_rows))
    return model, X, y


@kinds
@pytest.mark.parametrize("compact", [False, True])
def test_a_model_goes_on_from_a_file_as_if_nothing_had_been(settings, compact, tmp_path: Path) -> None:
    model, X, y = fitted(settings)
    sureline.save(model, tmp_path / "m", compact=compact)
    read = sureline.load(tmp_path / "m")
    assert type(read) is KernelSCW
    assert read.get_params() == model.get_params()
    assert everything(read) == everything(model)
    for name in ("decision_function", "decision_std", "predict_proba"):
        assert getattr(read, name)(X).tobytes() == getattr(model, name)(X).tobytes()
    assert everything(read.partial_fit(X[77:], y[77:])) == everything(model.partial_fit(X[77:], y[77:]))


def test_a_model_that_has_seen_nothing_to_keep(tmp_path: Path) -> None:
    model = KernelSCW(fit_intercept=False, kernel="linear", normalize="none")
    model.partial_fit(np.zeros((3, 2)), [0, 1, 0], classes=[0, 1])
    assert model.n_examples_ == 0
    sureline.save(model, tmp_path / "m")
    assert everything(sureline.load(tmp_path / "m").partial_fit([[1.0, 2.0]], [1])) == everything(
        model.partial_fit([[1.0, 2.0]], [1])
    )


def test_a_function_is_not_saved(tmp_path: Path) -> None:
    X, y = stream(20)
    model = KernelSCW(kernel=lambda A, B: A @ B.T, normalize="none").fit(X, y)
    with pytest.raises(TypeError, match="The parameter 'kernel' is of type function; a model file holds"):
        sureline.save(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


@kinds
def test_the_command_line_answers_but_does_not_train(settings, tmp_path: Path, capsys) -> None:
    model, X, y = fitted(settings)
    sureline.save(model, tmp_path / "m")
    (tmp_path / "rows.svm").write_bytes(libsvm_of(sparse.csr_matrix(X)[100:], y[100:]))

    def told(*arguments: Any) -> tuple[int, str]:
        return run([str(argument) for argument in arguments]), capsys.readouterr().out

    status, answers = told("predict", tmp_path / "rows.svm", "--model", tmp_path / "m")
    assert status == 0
    assert [line.split(",")[0] for line in answers.splitlines()[1:]] == [str(label) for label in model.predict(X[100:])]
    summary = json.loads(told("inspect", tmp_path / "m", "--json")[1])
    assert summary["stored"] == model.n_examples_
    assert (summary["nonzeros"] is None) == (settings["kernel"] != "linear")
    assert f"stored examples: {model.n_examples_}" in told("inspect", tmp_path / "m")[1]
    drawn = told("inspect", tmp_path / "m", "--plot", tmp_path / "p.png")[0]
    assert drawn == (0 if settings["kernel"] == "linear" else 1)
    assert told("train", tmp_path / "rows.svm", "--algorithm", "kernelscw", "--model", tmp_path / "t")[0] == 2


# -- what was made up ----------------------------------------------------------------------------------------


def numbers(tensors: Any, name: str, change: Any) -> None:
    code, shape, content = tensors[name]
    array = np.frombuffer(content, CODES[code]).reshape(shape).copy()
    change(array)
    tensors[name] = code, shape, array.tobytes()


def setting(at: Any, value: Any) -> Any:
    return lambda array: array.__setitem__(at, value)


EXACT, SPARSE = 0, 1
COLUMNS = "the examples do not have the columns of the model, or are not finite"
FORGERIES = [
    (EXACT, "kernel", setting(0, 3.0), "the kernel is not one, or its numbers are out of range"),
    (EXACT, "kernel", setting(1, -1.0), "the kernel is not one, or its numbers are out of range"),
    (EXACT, "kernel", setting(2, 2.5), "the kernel is not one, or its numbers are out of range"),
    (EXACT, "kernel", setting(3, np.nan), "the kernel is not one, or its numbers are out of range"),
    (EXACT, "examples", setting((0, 0), np.inf), COLUMNS),
    (SPARSE, "example_columns", setting(0, 99), COLUMNS),
    (SPARSE, "example_columns", setting(0, -1), COLUMNS),
    (SPARSE, "example_starts", setting(1, 10**9), COLUMNS),
    (SPARSE, "example_values", setting(0, np.nan), COLUMNS),
    (EXACT, "bounds", setting(0, 0.5), "a bound of the precision is not a number from 1 on"),
    (EXACT, "prior", setting(0, 0.0), "a prior variance is not a positive number"),
    (EXACT, "born", setting(0, -1), "the examples do not come in their order, or not from the rows that were seen"),
    (EXACT, "born", setting(-1, 10**9), "the examples do not come in their order, or not from the rows that were seen"),
    (EXACT, "born", setting(3, 0), "the examples do not come in their order, or not from the rows that were seen"),
    (EXACT, "begun", setting(0, -1), "the examples do not come in their order, or not from the rows that were seen"),
    (EXACT, "begun", setting(0, 10**9), "the examples do not come in their order, or not from the rows that were seen"),
    (EXACT, "sizes", setting(0, -1), "a head has a number of examples that there are not"),
    (EXACT, "sizes", setting(0, 2**62), "a head has a number of examples that there are not"),
    (EXACT, "sizes", setting(0, 3), "the tensor members is missing, or its type or shape does not fit the others"),
    (EXACT, "members", setting(0, 5), "the examples of a head do not ascend, or are out of range"),
    (EXACT, "members", setting(-1, 999), "the examples of a head do not ascend, or are out of range"),
    (EXACT, "roots", setting(0, 0.0), "a root is not a positive number"),
    (EXACT, "z", setting(0, np.inf), "a number that the weights are made of is not finite"),
    (EXACT, "triangles", setting(1, np.nan), "a number that the weights are made of is not finite"),
    (EXACT, "triangles", setting(2, -1.0), "a triangle does not have a positive diagonal"),
]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[bytes]:
    folder, found = tmp_path_factory.mktemp("kernel"), []
    for settings in SETTINGS:
        sureline.save(fitted(settings, 40)[0], folder / "m")
        found.append((folder / "m").read_bytes())
    return found


@pytest.mark.parametrize(("which", "name", "change", "reason"), FORGERIES, ids=range(len(FORGERIES)))
def test_forgeries(which, name, change, reason, files, tmp_path: Path) -> None:
    metadata, tensors = take_apart(files[which])
    assert reason_for(put_together(canonical(metadata), tensors), tmp_path / "m") is None
    numbers(tensors, name, change)
    assert reason_for(put_together(canonical(metadata), tensors), tmp_path / "m") == reason


def test_files_from_the_time_of_a_budget(files, tmp_path: Path) -> None:
    """One with budget=None is read, one with a bound is refused in a sentence."""
    metadata, tensors = take_apart(files[EXACT])
    metadata["parameters"]["budget"] = None
    write(tmp_path / "m", put_together(canonical(metadata), tensors))
    model = sureline.load(tmp_path / "m")
    assert everything(model) == everything(fitted(SETTINGS[EXACT], 40)[0])
    metadata["parameters"]["budget"] = 6
    metadata["state"] |= {"shape": "projection", "budget": {"max": 6, "active": 6}}
    assert (
        reason_for(put_together(canonical(metadata), tensors), tmp_path / "m")
        == "is a KernelSCW with a budget of examples, which is not supported any more"
    )


def test_forged_budgets_and_parameters(files, tmp_path: Path) -> None:
    metadata, tensors = take_apart(files[EXACT])
    metadata["state"]["budget"] = {"max": 3, "active": 1}
    reason = reason_for(put_together(canonical(metadata), tensors), tmp_path / "m")
    assert reason == "the budget is not one, or the shape has none"
    for which, name, value in ((EXACT, "kernel", "rbf"), (SPARSE, "gamma", 0.2)):
        metadata, tensors = take_apart(files[which])
        metadata["parameters"][name] = value
        write(tmp_path / "m", put_together(canonical(metadata), tensors))
        with pytest.raises(ModelFileError, match=f"does not fit together: The '{name}' parameter of KernelSCW"):
            sureline.load(tmp_path / "m")


@pytest.mark.torture
def test_forged_models_are_refused_or_can_be_used(files, tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    X, _ = stream(40, 8)
    for seed in range(times(1500)):
        rng = random.Random(seed)
        change = edited if seed % 4 == 0 else forged
        write(tmp_path / "m", change(files[rng.randrange(len(files))], lambda n, rng=rng: rng.randrange(n)))
        try:
            model: Any = sureline.load(tmp_path / "m")
        except ModelFileError as refused:
            outcomes[re.sub(r"\d+", "N", refused.reason)] += 1
            continue
        outcomes["used"] += 1
        n_columns = model.n_features_in_
        rows = np.resize(X, (40, n_columns)) if n_columns < 100 else None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for step in (
                lambda model=model, rows=rows: model.predict_proba(rows),
                lambda model=model, rows=rows: model.partial_fit(rows, np.resize(model.classes_, 40)),
                lambda model=model, rows=rows: model.decision_std(rows),
            ):
                try:
                    if rows is not None:
                        step()
                except (ValueError, MemoryError) as refused:
                    assert "\n" not in str(refused)
    assert outcomes["used"] > 80
    assert len(outcomes) > 30
