"""`train` where no learner is named: a race along the whole stream, and one model at its end."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fail, run, succeed
from stream_files import libsvm_of, write_rows

import sureline
from sureline import stream
from sureline.datasets import make_sparse_stream
from sureline.learners.race import race as racing
from sureline.learners.race.candidates import CANDIDATES
from sureline.learners.saving import read_learner
from sureline.models.file import ModelFileError
from sureline.stream.shuffling import Shuffle
from sureline.training import Training
from sureline.training.choosing import candidates
from sureline.training.order import Order

X, Y = make_sparse_stream(4000, 200, 10, n_informative=40, random_state=0)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("rows")
    return [write_rows(folder / f"{k}.svm", X[k : k + 500], Y[k : k + 500]) for k in range(0, 4000, 500)]


def training(data: Any, order: Order | None = None, *, committee: bool = True, **shared: Any) -> Training:
    learners = candidates(shared)
    new = Training(learners[0], stream.read(data, dtype="float32", collect_names=True), order=order)
    new.enter(learners, committee=committee)
    return new


def model_of(one: Training, path: Path) -> bytes:
    one.run()
    one.save_model(path)
    return path.read_bytes()


@pytest.mark.parametrize("how", ["plain", "passes", "shuffled", "alone"])
def test_what_was_stopped_goes_on_to_the_same_bits(
    data: list[Path], tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(racing, "LEFT", ((1024, 8, 4), (2048, 5, 1)))
    order = Order(Shuffle(1, 700)) if how == "shuffled" else None
    shared: dict[str, Any] = {"passes": 2} if how == "passes" else {}
    options: dict[str, Any] = {"committee": how != "alone", **shared}
    whole = model_of(training(data, order, **options), tmp_path / "whole")
    for after in (100, 1500, 3000, 3800, 6000):
        one = training(data, order, **options)

        def stop(progress: Any, one: Training = one, after: int = after) -> None:
            if progress.examples >= after:
                one.interrupt()

        try:
            one.run(on_progress=stop)
        except KeyboardInterrupt:
            one.save_checkpoint(tmp_path / "c")
        else:
            assert after > 4000
            continue
        two = training(data, order, **options)
        two.resume(tmp_path / "c", candidates=candidates(shared))
        assert two.examples == one.examples
        assert model_of(two, tmp_path / "m") == whole


def test_a_race_of_rows_from_all_times_stays_one(tmp_path: Path) -> None:
    y = np.where(np.random.default_rng(0).random(4000) < 0.3, 0, Y)  # so that another threshold is better
    order = (np.argsort(y.reshape(-1, 500), axis=1, kind="stable") + 500 * np.arange(8)[:, None]).ravel()
    path, checkpoint = write_rows(tmp_path / "rows.svm", X[order], y[order]), tmp_path / "c"
    how: dict[str, Any] = {"shuffle_buffer": 500}
    saved: dict[str, Any] = {**how, "checkpoint": checkpoint, "checkpoint_every": 1}
    with pytest.warns(sureline.LabelRunsWarning):
        whole = sureline.train(path, **how)
    with pytest.warns(sureline.LabelRunsWarning), pytest.raises(KeyboardInterrupt):
        sureline.train(path, **saved, on_progress=_stop)
    again = sureline.train(path, **saved, resume=True)
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    np.testing.assert_array_equal(again.intercept_, whole.intercept_)
    asked_for = sureline.train(path, **how, shuffle=True)  # the same rows, and their order means nothing
    assert not np.array_equal(asked_for.intercept_, whole.intercept_)


def _stop(progress: Any) -> None:
    if progress.examples >= 2000:
        raise KeyboardInterrupt


def test_files_and_a_pipe_and_pieces_give_one_model(data: list[Path], tmp_path: Path) -> None:
    """The blocks of the race do not depend on how the stream is cut."""
    (tmp_path / "one.svm").write_bytes(libsvm_of(X, Y))
    parts, whole = (
        sureline.train(source, model=tmp_path / name) for source, name in ((data, "a"), (tmp_path / "one.svm", "b"))
    )
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    piped = succeed("train", "-", "--model", tmp_path / "p", "--quiet", "--json", stdin=libsvm_of(X, Y))
    assert json.loads(piped)["race"]["rows"] == 4000
    assert (tmp_path / "p").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_model_is_one_of_a_single_learner(data: list[Path], tmp_path: Path) -> None:
    clf = sureline.train(data, model=tmp_path / "m")
    assert type(clf).__name__ in {"SCW", "AROW", "CW"}
    assert clf.coef_.shape == (1, 200)
    assert clf.n_seen_ == 4000
    twin = sureline.load(tmp_path / "m")
    rows = X.astype(np.float32)
    np.testing.assert_array_equal(twin.decision_function(rows), clf.decision_function(rows))
    np.testing.assert_array_equal(twin.confidence(rows), clf.confidence(rows))
    one = X[0]
    assert twin.predict_one((one.indices, one.data.astype(float))) == clf.predict(rows[:1])[0]
    saved = read_learner(tmp_path / "m")
    assert (saved.place, dict(saved.tensors)) == (None, {})
    alone = sureline.train(data, type(clf)(**clf.get_params()))
    assert abs((tmp_path / "m").stat().st_size - _size(alone, tmp_path)) < 4096
    # Yesterday's model goes on, by the rule of the learner that it is of.
    more = sureline.train(data, start=tmp_path / "m")
    assert (more.n_seen_, type(more)) == (8000, type(clf))
    assert more.get_params() == clf.get_params()


def _size(model: Any, folder: Path) -> int:
    sureline.save(model, folder / "alone")
    return (folder / "alone").stat().st_size


def test_what_the_command_says(data: list[Path], tmp_path: Path) -> None:
    done = run("train", *data, "--model", tmp_path / "m", "--json")
    told = json.loads(done.stdout)["race"]
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"{len(CANDIDATES)} settings raced along 4,000 rows")
    assert "The model combines the best into one linear model: " in said
    assert (told["tried"], told["rows"], told["decided"]) == (len(CANDIDATES), 4000, True)
    assert sum(member["share"] for member in told["committee"]) == pytest.approx(1)
    assert len(told["members"]) == len(CANDIDATES)
    gone = [member for member in told["members"] if member["left"] is not None]
    assert gone
    assert all(member["why"] for member in gone)
    assert 0 < told["error"] <= told["best"]["error"] + 0.02
    assert told["memory_bytes"] > 0
    assert f"up to {round(told['memory_bytes'] / 1000)} kB" in said
    alone = run("train", *data, "--model", tmp_path / "alone", "--no-committee", "--json")
    assert len(json.loads(alone.stdout)["race"]["committee"]) == 1
    assert "The best is " in alone.stderr
    assert "--no-committee are for trainings that name no learner" in fail(
        2, "train", *data, "--algorithm", "pa", "--no-committee", "--model", tmp_path / "x"
    )
    assert "--C is a parameter of pa, " in fail(2, "train", *data, "--C", "1", "--model", tmp_path / "m")
    with pytest.raises(ValueError, match="C is a parameter of"):
        sureline.train(data, C=2.0)


def test_a_page_explains_the_choice(data: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = run("train", *data, "--model", tmp_path / "m", "--report", page, "--json")
    told, html = json.loads(done.stdout)["race"], unescape(page.read_text())
    assert done.stderr.splitlines()[-1] in html
    assert all(member["options"] in html for member in told["members"])
    assert all(member["why"] in html for member in told["members"] if member["why"])
    assert html.count("<svg") >= 2  # what each contributes, and who stayed
    assert all(f"{member['share']:.1%}"[:2] in html for member in told["committee"])
    assert "--report is for trainings that name no learner" in fail(
        2, "train", *data, "--algorithm", "pa", "--report", page, "--model", tmp_path / "x"
    )
    few = write_rows(tmp_path / "few.svm", X[:60], Y[:60])
    run("train", few, "--model", tmp_path / "m", "--report", page)
    assert "60 rows cannot decide between" in page.read_text()


def test_rows_that_cannot_decide_are_said_to(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.svm", X[:60], Y[:60])
    done = run("train", path, "--model", tmp_path / "m", "--json")
    assert json.loads(done.stdout)["race"]["decided"] is False
    assert f"60 rows cannot decide between {len(CANDIDATES)} settings" in done.stderr
    assert sureline.load(tmp_path / "m").get_params() == sureline.SCW(dtype="float32").get_params()


def test_a_race_is_not_gone_on_with_by_another_job(data: list[Path], tmp_path: Path) -> None:
    one = training(data)
    with pytest.raises(KeyboardInterrupt):
        one.run(on_progress=lambda progress: one.interrupt())
    one.save_checkpoint(tmp_path / "c")
    again = {"checkpoint": tmp_path / "c", "resume": True}
    with pytest.raises(ValueError, match="is of a race of learners"):
        sureline.train(data, sureline.SCW(dtype="float32"), **again)
    with pytest.raises(ValueError, match="fit_intercept"):
        sureline.train(data, fit_intercept=False, **again)
    with pytest.raises(ValueError, match="its race is for a committee, by error"):
        sureline.train(data, committee=False, **again)
    with pytest.raises(ValueError, match="its race is for a committee, by error"):
        sureline.train(data, metric="log_loss", **again)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rows", -1),
        ("candidates", 3),
        ("leader", 99),
        ("leader", 7),
        ("alive", []),
        ("alive", [{"number": 0}]),
        ("left", [[0, 0.0, 5, "gone"]]),
        ("blocks", [1, 2]),
        ("blocks", "none"),
        ("extra", 1),
        ("mixed", 1),
    ],
)
def test_a_forged_race_is_refused(data: list[Path], tmp_path: Path, field: str, value: Any) -> None:
    one = training(data)
    with pytest.raises(KeyboardInterrupt):
        one.run(on_progress=lambda progress: one.interrupt())
    assert one.racing is not None
    words = {**one.racing.words, field: value}
    two = training(data)
    assert two.racing is not None
    with pytest.raises(ModelFileError, match="race"):
        two.racing.resume(tmp_path / "c", words, one.racing.tensors, one.learner)


@pytest.mark.parametrize("name", ["0.weights", "block0.scores", "block0.labels", "scale_means"])
def test_forged_numbers_of_a_race_are_refused(data: list[Path], tmp_path: Path, name: str) -> None:
    one = training(data)
    with pytest.raises(KeyboardInterrupt):
        one.run(on_progress=lambda progress: one.interrupt())
    assert one.racing is not None
    tensors = one.racing.tensors
    found = next(full for full in tensors if full.startswith("race.") and full.endswith(name.split(".")[-1]))
    tensors[found] = np.full_like(tensors[found], -1 if tensors[found].dtype.kind == "i" else np.nan)
    two = training(data)
    assert two.racing is not None
    with pytest.raises(ModelFileError, match="race"):
        two.racing.resume(tmp_path / "c", one.racing.words, tensors, one.learner)
