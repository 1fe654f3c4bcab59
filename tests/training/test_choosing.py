"""The learner that is used where none is named, and looking at the first rows of a stream without losing them."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fail, run
from scipy.sparse import csr_matrix, hstack
from stream_files import libsvm_of, write_rows

import sureline
from sureline import stream
from sureline.cli import _progress
from sureline.datasets import make_sparse_stream
from sureline.learners.catalogue import LEARNERS
from sureline.learners.race.candidates import CANDIDATES
from sureline.stream import DataError, Position
from sureline.stream.runs import LabelRunsWarning
from sureline.training import Training, choosing
from sureline.training.choosing import candidates, choose, settings_of
from sureline.training.grid import every_learner

X, Y = make_sparse_stream(1500, 200, 10, n_informative=40, random_state=0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.svm", X, Y)


def fewest(X: Any, y: Any, **shared: Any) -> tuple[str, dict[str, Any], int]:
    """The candidate with the fewest mistakes, each fitted by itself."""
    found = []
    for name, settings in CANDIDATES:
        clf = getattr(sureline, name)(**{"dtype": "float32", **settings, **shared})
        found.append((clf.fit(X.astype(np.float32), y).n_mistakes_, name, clf.get_params()))
    mistakes, name, parameters = min(found, key=lambda one: one[0])
    return name, parameters, mistakes


@pytest.mark.parametrize("shared", [{}, {"normalize": "row"}, {"fit_intercept": False, "dtype": "float64"}])
def test_it_is_the_one_with_the_fewest_mistakes(data: Path, shared: dict[str, Any]) -> None:
    choice = choose(stream.read(data, dtype=shared.get("dtype", "float32")), None, candidates(shared))
    name, parameters, mistakes = fewest(X, Y, **shared)
    assert (type(choice.learner).__name__, choice.mistakes, choice.rows) == (name, mistakes, 1500)
    assert choice.learner.parameters() == parameters
    assert not hasattr(choice.learner, "_state")


def test_only_the_first_rows_decide(tmp_path: Path) -> None:
    """Candidates are told apart by rows that are noise from some row on, and by all of them."""
    rng = np.random.default_rng(0)
    wide = csr_matrix(rng.normal(size=(3000, 5)) * 10.0 ** np.arange(-2, 3))
    y = (np.asarray(wide @ 10.0 ** -np.arange(-2, 3)) > 0).astype(int)
    y[400:] = rng.integers(0, 2, 2600)
    path = write_rows(tmp_path / "rows.svm", wide, y)
    choice = choose(stream.read(path, dtype="float32"), None, candidates({}), rows=400)
    name, parameters, mistakes = fewest(wide[:400], y[:400])
    assert (type(choice.learner).__name__, choice.mistakes, choice.rows) == (name, mistakes, 400)
    assert choice.learner.parameters() == parameters


def test_columns_that_do_not_occur_cost_nothing(tmp_path: Path) -> None:
    """A model of 2^30 columns is not made to see which learner fits; the columns in between change nothing."""
    far = write_rows(tmp_path / "far.svm", hstack([csr_matrix((1500, 2**30)), X], format="csr"), Y)
    near = write_rows(tmp_path / "near.svm", X, Y)
    one, other = (choose(stream.read(path, dtype="float32"), None, candidates({})) for path in (far, near))
    assert one.mistakes == other.mistakes
    assert one.learner.parameters() == other.learner.parameters()


def test_many_classes_look_at_fewer_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide, _ = make_sparse_stream(1500, 20_000, 10, n_informative=40, random_state=0)
    path = write_rows(tmp_path / "rows.svm", wide, np.arange(1500) % 50)
    few = candidates({})[:4]
    assert choose(stream.read(path, dtype="float32"), None, few).rows == 1500
    monkeypatch.setattr(choosing, "WEIGHTS", 50 * 2000)
    rows = choose(stream.read(path, dtype="float32"), None, few).rows
    assert len(np.unique(wide[:rows].indices)) <= 2000 < len(np.unique(wide[: 2 * rows].indices))
    monkeypatch.setattr(choosing, "ENTRIES", 20_000)
    assert choose(stream.read(path, dtype="float32"), None, few).rows == 160


@pytest.mark.parametrize("what", ["few rows", "one class", "nothing", "wrong label"])
def test_where_the_first_rows_cannot_decide(tmp_path: Path, what: str) -> None:
    n = {"few rows": 60, "nothing": 0}.get(what, 1500)
    y = np.ones(n, int) if what == "one class" else Y[:n]
    path = write_rows(tmp_path / "rows.svm", X[:n], y)
    if what == "nothing":
        with pytest.raises(DataError, match="there are no examples"):
            sureline.train(path, format="libsvm")
        return
    labels = [5, 6] if what == "wrong label" else None
    choice = choose(stream.read(path, dtype="float32"), labels, candidates({}))
    assert (type(choice.learner).__name__, choice.rows) == (CANDIDATES[0][0], 0)
    if what == "wrong label":
        with pytest.raises(DataError, match="is not among those given"):
            sureline.train(path, labels=labels)


def test_what_is_tried() -> None:
    tried = candidates({})
    assert len(tried) == len(CANDIDATES)
    assert {type(learner).__name__ for learner in tried} <= set(LEARNERS)
    assert {learner.normalize for learner in candidates({"normalize": "row"})} == {"row"}
    with pytest.raises(ValueError, match=r"r is a parameter of arow, .*: name the one that is meant with algorithm"):
        candidates({"r": 1.0})
    with pytest.raises(ValueError, match="There is no parameter 'nonsense'"):
        candidates({"nonsense": 1})
    with pytest.raises(ValueError, match="'passes' parameter"):
        candidates({"passes": 0})


# -- a learner that is named, and nothing of it -----------------------------------------------------------------------

EVERY = every_learner()


@pytest.mark.parametrize("name", EVERY)
def test_what_is_tried_of_a_learner(name: str) -> None:
    """Some settings besides its defaults, no two of them the same, and all of them parameters that it may have."""
    kind = LEARNERS[name]
    settings = settings_of(kind, {})
    assert settings[0] == {}
    learners = [kind(**one) for one in settings]
    for learner in learners:
        learner.check_parameters()
    assert 2 < len({tuple(map(repr, learner.parameters().values())) for learner in learners}) == len(settings) < 8


def test_what_is_named_is_not_chosen() -> None:
    shared = {"dtype": "float64", "passes": 2, "fit_intercept": False}
    assert all(shared.items() <= settings.items() for settings in settings_of(sureline.SCW, shared))
    assert len(settings_of(sureline.SCW, shared)) == len(sureline.SCW.settings_to_try) + 1
    for named in ({"C": 1.0}, {"normalize": "scale"}, {"variant": "II", **shared}):
        assert settings_of(sureline.SCW, named) == [named]
    for learner in (sureline.BCW, sureline.ODCARegressor):
        assert settings_of(learner, {}) == [{}]


@pytest.mark.parametrize("name", ["AROW", "FSOL", "ODCA", "Perceptron"])
def test_a_learner_that_is_named_has_the_best_of_its_settings(data: Path, tmp_path: Path, name: str) -> None:
    kind, dtype = getattr(sureline, name), LEARNERS[name].stream_dtype
    numbers = X.astype(dtype)
    tried = [kind(**{"dtype": dtype, **settings}).fit(numbers, Y) for settings in settings_of(kind, {})]
    assert len({clf.n_mistakes_ for clf in tried}) > 1
    best = min(tried, key=lambda clf: clf.n_mistakes_)
    clf = sureline.train(data, name.lower(), model=tmp_path / "m")
    assert (clf.get_params(), clf.n_mistakes_) == (best.get_params(), best.n_mistakes_)
    sureline.train(data, kind(**best.get_params()), model=tmp_path / "alone")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "alone").read_bytes()
    sureline.train(data, name, model=tmp_path / "named", normalize="scale")
    assert sureline.load(tmp_path / "named").n_mistakes_ == tried[0].n_mistakes_


def test_settings_are_told_and_gone_on_with(data: Path, tmp_path: Path) -> None:
    told = run("train", data, "--algorithm", "arow", "--model", tmp_path / "m")
    first = told.stderr.splitlines()[0]
    assert first.startswith("Of 6 settings tried on the first 1,500 rows the fewest mistakes, ")
    options = first.removesuffix(".").partition(" come with ")[2].split()
    assert options[:2] == ["--algorithm", "arow"]
    assert "--normalize" in options
    alone = run("train", data, *options, "--model", tmp_path / "alone", "--json")
    assert "chosen" not in alone.stdout
    assert (tmp_path / "m").read_bytes() == (tmp_path / "alone").read_bytes()

    learners = [sureline.AROW(dtype="float32", **settings) for settings in settings_of(sureline.AROW, {})]
    training = Training(learners[0], stream.read(data, dtype="float32", collect_names=True))
    training.choose(learners)
    with pytest.raises(KeyboardInterrupt):
        training.run(on_progress=lambda progress: training.interrupt())
    place = tmp_path / "m.checkpoint"
    training.save_checkpoint(place)
    assert "was saved by AROW" in fail(1, "train", data, "--algorithm", "pa", "--model", tmp_path / "m", "--resume")
    assert "was saved with " in fail(
        1, "train", data, "--algorithm", "arow", "--r", "7", "--model", tmp_path / "m", "--resume"
    )
    told = run("train", data, "--algorithm", "arow", "--model", tmp_path / "m", "--resume")
    assert told.stderr.startswith("Going on after ")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "alone").read_bytes()


@pytest.mark.parametrize(
    ("name", "parameters", "algorithm", "said"),
    [
        ("AROW", {"r": 7.0}, "arow", "AROW with normalize='scale', r=7.0, which is not among the settings"),
        ("AROW", {"r": 7.0}, "auto", "AROW with normalize='scale', r=7.0, which is not among the settings"),
        ("PA", {}, "auto", "PA with normalize='scale', which is not among the settings"),
        ("PA", {}, "arow", "PA, and cannot be gone on with by AROW"),
        ("AROW", {"dtype": "float64"}, "arow", "dtype='float64', and cannot be gone on with dtype='float32'"),
        ("AROW", {"passes": 2}, "arow", "passes=2, and cannot be gone on with passes=1"),
    ],
)
def test_what_was_named_is_not_gone_on_with_as_if_it_had_been_chosen(
    data: Path, tmp_path: Path, name: str, parameters: dict[str, Any], algorithm: str, said: str
) -> None:
    """Otherwise the model would differ from that of the same call made from the beginning."""
    learner = LEARNERS[name](**{"dtype": "float32", **parameters})
    training = Training(learner, stream.read(data, dtype=learner.dtype))
    with pytest.raises(KeyboardInterrupt):
        training.run(on_progress=lambda progress: training.interrupt())
    training.save_checkpoint(tmp_path / "c")
    with pytest.raises(ValueError, match=f"was saved (by|with) {re.escape(said)}"):
        sureline.train(data, algorithm, checkpoint=tmp_path / "c", resume=True)


def test_a_slow_pipe_is_told_what_is_waited_for(tmp_path: Path) -> None:
    content = libsvm_of(X[:300], Y[:300])
    command = [sys.executable, "-c", "from sureline.cli import _progress; _progress._SLOW_START = 0.2; "]
    command[-1] += "from sureline.cli import main; main()"
    for arguments in (["train", "-", "--algorithm", "pa", "--model", str(tmp_path / "m")], ["compare", "-"]):
        with subprocess.Popen(
            [*command, *arguments, "--format", "libsvm"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write(content)
            process.stdin.flush()
            assert b"Waiting for the first 20,000 rows, or the end, to choose settings by" in process.stderr.readline()
            out, err = process.communicate()
            assert process.returncode == 0, err
            assert b"300" in out + err


def test_what_has_come_is_not_waited_for(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """However long trying the settings takes."""
    monkeypatch.setattr(_progress, "_SLOW_START", 0.01)
    rows = stream.read(data)
    for looks in (False, True):
        if looks:
            rows.peek(10, 10)
        notice = _progress.SlowStartNotice(rows, quiet=False)
        time.sleep(0.2)
        notice.over()
        assert ("Waiting for" in capsys.readouterr().err) != looks


# -- looking at the first rows -------------------------------------------------------------------------------


def rows_of(chunks: Any) -> tuple[list[bytes], list[Position]]:
    content, ends = [], []
    for chunk in chunks:
        content.append(chunk.values.tobytes() + chunk.indices.tobytes() + chunk.y.tobytes())
        ends.append(chunk.end)
    return content, ends


def test_what_was_looked_at_comes_again(data: Path) -> None:
    many = stream.read([data] * 5)
    before = rows_of(many)
    assert len(before[0]) == 5
    for rows, entries, expected in ((1, 10**9, 1), (1501, 10**9, 2), (10**9, 1, 1), (10**9, 10**9, 5), (0, 1, 0)):
        looked = many.peek(rows, entries)
        assert len(looked) == expected
        again = many.peek(rows, entries)
        assert rows_of(again) == rows_of(looked)
        assert rows_of(pickle.loads(pickle.dumps(many))) == before
        assert rows_of(many) == before
        assert rows_of(many) == before  # also the next time
    many.peek(1, 1)
    assert rows_of(many.read_from(before[1][2])) == (before[0][3:], before[1][3:])
    assert rows_of(many) == before


def test_progress_is_that_of_the_rows_that_came(data: Path) -> None:
    """Not of those that were looked at before: how long the stream is, and what it takes, is told by it."""
    many = stream.read([data] * 5)
    before = [many.progress for _ in many]
    assert before == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    for rows in (1, 1501, 10**9):
        many.peek(rows, 10**9)
        many.peek(1, 10**9)
        assert [many.progress for _ in many] == before


def test_nothing_of_a_pipe_is_lost(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    content = libsvm_of(X, Y)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(content))
    writer.start()
    pipe = stream.read(tmp_path / "pipe", format="libsvm")
    assert pipe.peek(10, 10)
    assert sum(len(chunk) for chunk in pipe) == 1500
    writer.join()


def test_what_cannot_be_read_is_said_in_its_turn(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_bytes(libsvm_of(X[:300], Y[:300]) + b"1 3:x\n" + libsvm_of(X, Y))
    some = stream.read(tmp_path / "rows.svm")
    assert sum(len(chunk) for chunk in some.peek(10**9, 10**9)) == 300
    chunks = iter(some)
    assert len(next(chunks)) == 300
    with pytest.raises(DataError, match=r"rows\.svm:301:5"):
        next(chunks)


def test_what_is_mistyped_is_named_with_what_may_be_meant(tmp_path: Path) -> None:
    data = tmp_path / "a.csv"
    data.write_text("label,x\n" + "1,2\n0,3\n" * 20)
    for algorithm, error in (("auto", ValueError), ("arow", TypeError)):
        with pytest.raises(error, match=r"There is no parameter 'lable'.* \(did you mean 'label'\?\)\."):
            sureline.train(data, algorithm, lable="x")
        with pytest.raises(error, match=r"\(did you mean 'shuffle'\?\)"):
            sureline.train(data, algorithm, shufle=True)
    with pytest.raises(ValueError, match=r"'shuffle' parameter must be True, False or 'auto'\. Got 'yes'"):
        sureline.train(data, "arow", shuffle="yes")
    with pytest.raises(TypeError, match="a data frame is read by itself, and fit takes arrays"):
        sureline.train((np.zeros((3, 2)), [0, 1, 0]), "arow")


def test_a_table_without_features_is_told(tmp_path: Path) -> None:
    data = tmp_path / "a.csv"
    data.write_text("label,id\n" + "".join(f"{k % 2},{k}\n" for k in range(40)))
    with pytest.warns(LabelRunsWarning, match="there are no columns of features: all rows look the same to the model"):
        sureline.train(data, "arow", r=1, shuffle=False)
