"""ODCARegressor from streams and in files: trained, saved, resumed, and on the command line."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SURELINE, fail, run, succeed
from forge import CODES, Tensors, canonical, put_together, reason_for, take_apart
from scipy import sparse
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
from stream_files import libsvm_of
from test_regressor import SHAPES, every_shape, everything, stream
from test_resume import Crash, killed_after_a_checkpoint
from test_resume import run as train_until

import sureline
from sureline import ODCA, ODCARegressor
from sureline.datasets import make_sparse_stream
from sureline.evaluate import evaluate, prequential
from sureline.learners.catalogue import LEARNERS
from sureline.modelfile import ModelFileError
from sureline.stream import DataError, read
from sureline.training import Progress, Training

X, Y = stream(400, 30)
ROWS = sparse.csr_matrix(X)


def for_streams(settings: dict[str, Any]) -> dict[str, Any]:
    """A stream does not tell how wide it will be."""
    return {**settings, "columns": 30} if settings.get("regularizer") == "kl" else settings


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("regressor") / "houses.svm"
    path.write_bytes(libsvm_of(ROWS, Y))
    return path


# -- model files ----------------------------------------------------------------------------------------------


@every_shape
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_saved_comes_back_to_the_bit(settings: dict[str, Any], dtype: str, tmp_path: Path) -> None:
    model = ODCARegressor(dtype=dtype, **settings, normalize="none").fit(X[:200], Y[:200])
    sureline.save(model, tmp_path / "m")
    metadata, _ = take_apart((tmp_path / "m").read_bytes())
    assert (metadata["labels"], metadata["state"]["policy"]) == ([], "regression")
    loaded = sureline.load(tmp_path / "m")
    assert isinstance(loaded, ODCARegressor)
    assert loaded.get_params() == model.get_params()
    assert everything(loaded) == everything(model)
    assert loaded.progressive_loss_ == model.progressive_loss_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert not hasattr(loaded, "classes_")
    assert everything(loaded.partial_fit(X[200:], Y[200:])) == everything(model.partial_fit(X[200:], Y[200:]))
    one = (np.array([0, 3]), np.array([1.0, 2.0]))
    assert everything(loaded.learn_one(one, 5.0)) == everything(model.learn_one(one, 5.0))
    sureline.save(model, tmp_path / "compact", compact=True)
    np.testing.assert_array_equal(sureline.load(tmp_path / "compact").predict(X), model.predict(X))


def _words(**fields: Any) -> Callable[[dict[str, Any], Tensors], Any]:
    return lambda metadata, _: metadata.update(fields)


def _state(**fields: Any) -> Callable[[dict[str, Any], Tensors], Any]:
    return lambda metadata, _: metadata["state"].update(fields)


def _loss(value: float) -> Callable[[dict[str, Any], Tensors], Any]:
    def change(_: dict[str, Any], tensors: Tensors) -> None:
        code, shape, content = tensors["ascent"]
        numbers = np.frombuffer(content, CODES[code]).copy()
        numbers[-1] = value
        tensors["ascent"] = code, shape, numbers.tobytes()

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_words(labels=[0, 1]), "a regression has labels, or another shape than those of its learners"),
        (_state(shape="identity", window=0), "the description of the state does not have the fields it should have"),
        (_state(n_heads=2), "the policy does not fit the number of heads"),
        (_state(counters=[[400, 3, 400], [0, 0, 0]]), "the counters are not three integers for each class"),
        (_state(counters=[[200, 0, 200], [200, 0, 200]]), "the counters are not three integers for each class"),
        (_loss(-1.0), "a scalar of the window is out of range"),
        (_loss(np.nan), "a scalar of the window is out of range"),
        (_loss(np.inf), "a scalar of the window is out of range"),
    ],
)
def test_forged_files_are_refused(change: Any, reason: str, tmp_path: Path) -> None:
    sureline.save(ODCARegressor(normalize="none").fit(X, Y), tmp_path / "m")
    metadata, tensors = take_apart((tmp_path / "m").read_bytes())
    change(metadata, tensors)
    assert (reason_for(put_together(canonical(metadata), tensors), tmp_path / "forged") or "").startswith(reason)


def test_classes_and_targets_are_not_taken_for_each_other(tmp_path: Path) -> None:
    sureline.save(ODCARegressor(loss="squared", normalize="none").fit(X, Y), tmp_path / "numbers")
    sureline.save(ODCA(loss="squared", normalize="none").fit(X, Y > 0), tmp_path / "classes")
    files = [take_apart((tmp_path / name).read_bytes()) for name in ("numbers", "classes")]
    for (metadata, tensors), change, reason in (
        (files[0], {"class": "ODCA"}, "has no labels, or is no checkpoint where it says so"),
        (files[1], {"class": "ODCARegressor"}, "has labels, and ODCARegressor predicts numbers"),
        (files[1], {"class": "ODCARegressor", "labels": []}, "does not fit together: ODCARegressor.*no parameter|does"),
    ):
        (tmp_path / "forged").write_bytes(put_together(canonical(metadata | change), tensors))
        with pytest.raises(ModelFileError, match=reason):
            sureline.load(tmp_path / "forged")
    metadata, tensors = files[1]
    del metadata["parameters"]["multi_class"]
    (tmp_path / "forged").write_bytes(
        put_together(canonical(metadata | {"class": "ODCARegressor", "labels": []}), tensors)
    )
    with pytest.raises(ModelFileError, match="ODCARegressor with these parameters has no state like that"):
        sureline.load(tmp_path / "forged")
    metadata, tensors = files[0]
    metadata["state"]["policy"] = "binary"
    del metadata["parameters"]["scale_target"]
    (tmp_path / "forged").write_bytes(put_together(canonical(metadata | {"class": "ODCA", "labels": [0, 1]}), tensors))
    assert sureline.load(tmp_path / "forged").classes_.tolist() == [0, 1]  # which is a classifier, if a useless one


# -- streams --------------------------------------------------------------------------------------------------


@every_shape
def test_train_is_fit(settings: dict[str, Any], data: Path, tmp_path: Path) -> None:
    settings = for_streams(settings)
    trained = sureline.train(data, ODCARegressor(passes=2, **settings, normalize="none"), model=tmp_path / "m")
    fitted = ODCARegressor(passes=2, **settings, normalize="none").fit(ROWS, Y)
    assert isinstance(trained, ODCARegressor)
    assert everything(trained) == everything(fitted)
    assert everything(sureline.load(tmp_path / "m")) == everything(trained)


def test_train_by_name_tells_the_loss(data: Path) -> None:
    told: list[Progress] = []
    model = sureline.train(data, "odca-regressor", rho=0.01, on_progress=told.append, normalize="none")
    assert model.dtype == "float64"
    assert [p.examples for p in told] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 400]
    assert told[-1].loss == model.progressive_loss_
    assert (told[-1].mistakes, told[-1].error) == (None, None)
    for progress in told[4:]:
        part = ODCARegressor(rho=0.01, normalize="none").fit(ROWS[: progress.examples], Y[: progress.examples])
        assert progress.loss == part.progressive_loss_


def test_targets_come_from_every_format(tmp_path: Path) -> None:
    rows = [(1.5, 2.0, "x"), (-3, 0.25, "y"), (1e-3, -1.0, "x")] * 5
    (tmp_path / "a.csv").write_text("label,a,b\n" + "".join(f"{y},{a},{b}\n" for y, a, b in rows))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"label": y, "a": a, "b": b}) + "\n" for y, a, b in rows))
    (tmp_path / "a.vw").write_text("".join(f"{y} |f a:{a} b={b}\n" for y, a, b in rows))
    (tmp_path / "a.txt").write_text("".join(f"{y}\tword{b} again\n" for y, a, b in rows))
    models = {}
    for name, options in (("a.csv", {}), ("a.jsonl", {}), ("a.vw", {}), ("a.txt", {"format": "text"})):
        models[name] = sureline.train(tmp_path / name, ODCARegressor(normalize="none"), bits=10, **options)
        assert models[name].n_seen_ == 15
    assert everything(models["a.csv"]) == everything(models["a.jsonl"])
    y = [label for label, _, _ in rows]
    dicts = [{"a": a, "b": b} for _, a, b in rows]
    one = ODCARegressor(bits=10, normalize="none")
    for x, target in zip(dicts, y, strict=True):
        one.learn_one(x, target)
    np.testing.assert_array_equal(models["a.csv"].coef_, one.coef_)


def test_what_train_refuses(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^ODCARegressor predicts numbers: labels is for learners of classes\.$"):
        sureline.train(data, "odcaregressor", labels=[0, 1], normalize="none")
    with pytest.raises(ValueError, match="batch is for learners of batches"):
        sureline.train(data, "odcaregressor", batch=10, normalize="none")
    bad = tmp_path / "bad.svm"
    bad.write_bytes(libsvm_of(ROWS[:5], Y[:5]) + b"dear 1:1\n")
    with pytest.raises(DataError, match=r"bad\.svm: row 6 has the label 'dear', which is no number to be predicted$"):
        sureline.train(bad, "odcaregressor", normalize="none")
    later = read(tmp_path / "bad.svm", dtype="float32").with_options(block=1 << 8)  # in a later chunk
    with pytest.raises(DataError, match="row 6 has the label 'dear'"):
        sureline.train(later, "odcaregressor", normalize="none")
    (tmp_path / "real.svm").write_text("".join(f"{i / 7} 1:1\n" for i in range(1200)))
    with pytest.raises(DataError, match=r"cannot be meant; ODCARegressor predicts numbers$"):
        sureline.train(tmp_path / "real.svm", "pa", normalize="none")
    (tmp_path / "no.vw").write_text("1 | a\n| b\n")
    with pytest.raises(DataError, match="label"):
        sureline.train(tmp_path / "no.vw", "odcaregressor", normalize="none")
    with pytest.raises(ValueError, match=r"which a stream does not tell: give columns=N"):
        sureline.train(data, ODCARegressor(regularizer="kl", normalize="none"))
    with pytest.raises(ValueError, match="must be a classifier"):
        prequential(ODCARegressor(normalize="none"), (X, Y))


@every_shape
def test_it_goes_on_from_its_checkpoint(settings: dict[str, Any], data: Path, tmp_path: Path) -> None:
    def training() -> Training:
        return Training(
            LEARNERS["ODCARegressor"](**for_streams(settings), normalize="none"), read(data).with_options(block=1 << 12)
        )

    straight = training()
    straight.run()
    straight.save_model(tmp_path / "straight")
    for stop_after in (1, 7):
        with pytest.raises(Crash):
            train_until(training(), tmp_path / "c", stop_after)
        resumed = training()
        resumed.resume(tmp_path / "c")
        assert 0 < resumed.examples < 400
        resumed.run()
        resumed.save_model(tmp_path / "resumed")
        assert (tmp_path / "resumed").read_bytes() == (tmp_path / "straight").read_bytes()
    with pytest.raises(ValueError, match="was saved by ODCARegressor, and cannot be gone on with by ODCA"):
        Training(LEARNERS["ODCA"](normalize="none"), read(data)).resume(tmp_path / "c")


def test_kill_and_resume(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows, _ = make_sparse_stream(20_000, 2000, 20, random_state=0)
    path = tmp_path / "rows.svm"
    path.write_bytes(libsvm_of(rows, rows @ rng.standard_normal(2000)))
    settings = ["--algorithm", "odca-regressor", "--window", "sliding", "--length", "500", "--passes", "2", "--quiet"]

    def command(model: str) -> list[str]:
        return [*SURELINE, "train", str(path), "--model", str(tmp_path / model), "--checkpoint", "every=2k", *settings]

    subprocess.run(command("straight"), check=True, stdout=subprocess.DEVNULL)
    process = subprocess.Popen([*command("m"), "--resume"], stdout=subprocess.DEVNULL)
    assert killed_after_a_checkpoint(process, tmp_path / "m.checkpoint", 0.02)
    process.wait()
    subprocess.run([*command("m"), "--resume"], check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "straight").read_bytes()


# -- how good it is -------------------------------------------------------------------------------------------


def test_evaluation_is_scikit_learns(data: Path, tmp_path: Path) -> None:
    model = ODCARegressor(normalize="none").fit(ROWS[:300], Y[:300])
    for path, y in ((data, Y), (tmp_path / "far.svm", Y + 1e8)):  # where sums of squares would cancel
        path.write_bytes(libsvm_of(ROWS, y))
        told = evaluate(model, read(path).with_options(block=1 << 12))
        predicted = model.predict(ROWS)
        assert told["examples"] == 400
        assert told["mean_squared_error"] == pytest.approx(mean_squared_error(y, predicted), rel=1e-12)
        assert told["root_mean_squared_error"] == pytest.approx(np.sqrt(mean_squared_error(y, predicted)), rel=1e-12)
        assert told["mean_absolute_error"] == pytest.approx(mean_absolute_error(y, predicted), rel=1e-12)
        assert told["r2"] == pytest.approx(r2_score(y, predicted), rel=1e-8)
    (tmp_path / "one.svm").write_text("5 1:1\n")
    assert evaluate(model, tmp_path / "one.svm")["r2"] is None
    with pytest.raises(ValueError, match="cost is for classifiers: ODCARegressor predicts numbers"):
        evaluate(model, data, cost=(1.0, 1.0))
    (tmp_path / "words.svm").write_text("5 1:1\nham 1:1\n")
    with pytest.raises(DataError, match=r"words\.svm: row 2 has the label 'ham'"):
        evaluate(model, tmp_path / "words.svm")
    (tmp_path / "some.vw").write_text("5 | 1:1\n | 1:1\n7 | 2:1\n")
    some = read(tmp_path / "some.vw", need_label=False)
    assert evaluate(ODCARegressor(normalize="none").fit(ROWS, Y), some)["examples"] == 2


# -- the command line -----------------------------------------------------------------------------------------


def test_train_predict_evaluate_inspect(data: Path, tmp_path: Path) -> None:
    data.write_bytes(libsvm_of(ROWS, Y))
    model, settings = (
        tmp_path / "m.sureline",
        ["--algorithm", "odca-regressor", "--loss", "huber", "--normalize", "none", "--dtype", "float64"],
    )
    done = run("train", data, *settings, "--model", model, "--json", "--log", tmp_path / "log")
    told = json.loads(done.stdout)
    reg = ODCARegressor(loss="huber", normalize="none").fit(ROWS, Y)
    assert told["loss"] == reg.progressive_loss_
    assert (told["algorithm"], told["examples"], told["updates"]) == ("ODCARegressor", 400, reg.n_updates_)
    assert not {"labels", "mistakes", "error", "balanced_accuracy"} & set(told)
    head, *lines = done.stderr.splitlines()
    assert head.split() == ["examples", "loss", "since", "last", "nonzeros", "examples/s"]
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [entry["examples"] for entry in log] == [*(1 << k for k in range(9)), 400]
    for line, entry, before in zip(lines, log, [{"examples": 0, "loss": 0.0}, *log], strict=False):
        n = entry["examples"]
        assert entry["loss"] == pytest.approx(
            ODCARegressor(loss="huber", normalize="none").fit(ROWS[:n], Y[:n]).progressive_loss_
        )
        recent = (entry["loss"] * n - before["loss"] * before["examples"]) / (n - before["examples"])
        assert entry["loss_since_last"] == pytest.approx(recent)
        assert [float(cell) for cell in line.split()[1:3]] == pytest.approx([entry["loss"], recent], rel=1e-3)
    assert (log[-1]["finished"], log[-1]["loss"]) == (True, reg.progressive_loss_)
    assert f"400 examples, mean loss {reg.progressive_loss_:.6g}\n" in succeed(
        "train", data, *settings, "--model", model
    )

    lines = succeed("predict", data, "--model", model).splitlines()
    assert lines[0] == "value"
    np.testing.assert_allclose([float(line) for line in lines[1:]], reg.predict(ROWS), rtol=1e-8)
    as_lines = [json.loads(line) for line in succeed("predict", data, "--model", model, "--json").splitlines()]
    assert as_lines == [{"value": value} for value in reg.predict(ROWS)]

    told = json.loads(succeed("evaluate", data, "--model", model, "--json"))
    assert told["r2"] == pytest.approx(reg.score(ROWS, Y), rel=1e-12)
    words = succeed("evaluate", data, "--model", model)
    for name in ("mean squared error", "its root", "mean absolute error", "R2"):
        assert name in words

    told = json.loads(succeed("inspect", model, "--top", "3", "--json", "--plot", tmp_path / "p.png"))
    assert (told["loss"], told["examples"]) == (reg.progressive_loss_, 400)
    assert not {"labels", "mistakes", "error"} & set(told)
    assert [row["feature"] for row in told["top"]] == np.argsort(-np.abs(reg.coef_))[:3].tolist()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    words = succeed("inspect", model)
    assert re.match(r"ODCARegressor\((normalize='none', )?loss='huber'\), ", words)
    assert "examples: 400, mean loss " in words
    assert "label" not in words


def test_what_a_careless_user_is_told(data: Path, tmp_path: Path) -> None:
    new, settings = tmp_path / "new.sureline", ["--algorithm", "odca_regressor", "--quiet"]
    told = fail(2, "train", data, *settings, "--model", new, "--labels", "0,1")
    assert told == "sureline train: ODCARegressor predicts numbers: --labels is for learners of classes.\n"
    told = fail(2, "train", data, *settings, "--model", new, "--multi-class", "ovr")
    assert "--multi-class is no parameter of ODCARegressor, which has" in told
    assert "must be a str among {'squared'" in fail(2, "train", data, *settings, "--model", new, "--loss", "hinge")
    (tmp_path / "bad.svm").write_text("1 1:1\nham 1:1\n")
    told = fail(1, "train", tmp_path / "bad.svm", *settings, "--model", new)
    assert told.endswith("bad.svm: row 2 has the label 'ham', which is no number to be predicted\n")
    assert not new.exists()
    succeed("train", data, *settings, "--model", new)
    assert "a cost is for classifiers" in fail(2, "evaluate", data, "--model", new, "--cost", "5,1")
    assert "row 2 has the label 'ham'" in fail(1, "evaluate", tmp_path / "bad.svm", "--model", new)
    (tmp_path / "empty.svm").write_text("")
    told = fail(1, "evaluate", tmp_path / "empty.svm", "--format", "libsvm", "--model", new)
    assert "there are no labelled rows" in told
    (tmp_path / "same.svm").write_text("1 1:1\n1 2:1\n")
    assert "R2 is not defined" in succeed("evaluate", tmp_path / "same.svm", "--model", new)


def test_tags_come_first(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("".join(f"{i % 3} 'house{i}|f rooms:{i % 3}\n" for i in range(9)))
    succeed("train", tmp_path / "a.vw", "--algorithm", "odca-regressor", "--model", tmp_path / "m", "--quiet")
    lines = succeed("predict", tmp_path / "a.vw", "--model", tmp_path / "m").splitlines()
    assert lines[0] == "tag,value"
    assert lines[3].startswith("house2,")


def test_settings_of_every_shape_are_options(data: Path, tmp_path: Path) -> None:
    for settings in SHAPES:
        options = [f"--{name.replace('_', '-')}={value}" for name, value in for_streams(settings).items()]
        model = tmp_path / "m"
        succeed("train", data, "--algorithm", "odca-regressor", *options, "--model", model, "--quiet")
        assert sureline.load(model).get_params().items() >= settings.items()
