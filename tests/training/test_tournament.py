"""Tournaments: every learner ends as it would alone, and what went wrong is said while the others go on."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tournaments
from catalogue import ALL
from scipy import sparse
from stream_files import write_rows

import sureline
from sureline import AROW, BCW, FGM, FTRL, PA, SBCW, SCW, ODCARegressor, Perceptron, stream
from sureline.contest import Tournament, tournament
from sureline.datasets import make_sparse_stream
from sureline.learners.catalogue import LEARNERS
from sureline.models.precision.batch import BLOCK_BYTES
from sureline.stream import DataError
from sureline.stream.arrays import rows_of
from sureline.training.choosing import FirstRows, choose, settings_of
from sureline.training.grid import entries_of, every_learner, settings
from sureline.training.metric import Metric, quality
from sureline.training.room import model_bytes

X, Y = make_sparse_stream(1500, 200, 10, n_informative=40, random_state=0)
NARROW = [case for case in ALL if not case.fixed]


def growing(tmp_path: Path, n_classes: int) -> Path:
    """Rows that get wider, of classes of which some come late."""
    wide = sparse.csr_matrix(X)
    wide.data[:] = np.round(wide.data, 3)
    y = np.arange(len(Y)) // 20 % n_classes if n_classes > 2 else Y
    y = np.where(np.arange(len(Y)) < 150, np.minimum(y, 1), y)
    lines = []
    for i in range(300):
        entries = [(j, v) for j, v in zip(wide[i].indices, wide[i].data, strict=True) if j < 20 + i]
        lines.append(f"{y[i]} " + " ".join(f"{j}:{v}" for j, v in entries) + "\n")
    path = tmp_path / "growing.svm"
    path.write_text("".join(lines))
    return path


def same_model(path: Path, other: Path) -> bool:
    return path.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(("n_classes", "block"), [(2, 700), (4, 5000)])
@pytest.mark.filterwarnings("ignore::sureline.LabelRunsWarning")
def test_every_learner_ends_as_it_would_alone(tmp_path: Path, n_classes: int, block: int) -> None:
    path = growing(tmp_path, n_classes)
    kinds = ["none", "row", "scale"]
    cases = {
        str(case): case.make(dtype="float32" if i % 2 else "float64", normalize=kinds[(i + block) % 3])
        for i, case in enumerate(NARROW)
    }
    labels = [0, 1] if n_classes == 2 else [0, 1, 2, 3]
    rows = stream.read(path).with_options(block=block)
    result = tournament(cases, rows, labels=labels, shuffle=False)
    assert result.stream["complete"]
    assert {run.status for run in result.runs} == {"finished"}
    for name, learner in cases.items():
        alone = sureline.train(stream.read(path, dtype=learner.dtype), learner, labels=labels, shuffle=False)
        sureline.save(alone, tmp_path / "alone")
        sureline.save(result.models[name], tmp_path / "together")
        assert same_model(tmp_path / "alone", tmp_path / "together"), name
        run = result.run(name)
        assert run.normalize == learner.normalize
        assert (run.mistakes, run.updates, run.nonzeros) == (alone.n_mistakes_, alone.n_updates_, alone.nonzero_)


@pytest.mark.filterwarnings("ignore::sureline.LabelRunsWarning")
def test_weights_and_classes_that_come_as_they_come(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, 400)
    lines = ["label,weight,a,b\n"]
    for i in range(400):
        word = "yes" if i < 100 else ["no", "yes", "maybe"][i % 3]
        lines.append(f"{word},{weights[i]},{rng.normal():.3f},{rng.normal():.3f}\n")
    path = tmp_path / "rows.csv"
    path.write_text("".join(lines))
    names = every_learner()
    result = tournament(names, path, weight="weight")
    assert result.stream["classes"] == ["maybe", "no", "yes"]
    examples = result.runs[0].curve["examples"]
    assert examples == sorted(set(examples))
    assert examples[0] > 0
    assert sum(result.stream["class_counts"]) == np.count_nonzero(weights) == result.runs[0].examples
    assert result.stream["rows"] == 400
    for name in names:
        alone = sureline.train(path, name, weight="weight", shuffle=False)
        sureline.save(alone, tmp_path / "alone")
        sureline.save(result.models[name], tmp_path / "together")
        assert same_model(tmp_path / "alone", tmp_path / "together"), name


@pytest.mark.parametrize("metric", ["error", "balanced_accuracy"])
def test_a_name_alone_has_the_best_of_its_settings_by_the_metric(metric: Any) -> None:
    rare = np.flatnonzero((np.arange(len(Y)) % 8 == 0) | (Y == 0))
    rows, y = X[rare], Y[rare]
    result = tournament(["pa", AROW(), "fsol"], (rows, y), metric=metric)
    assert result.choice is not None
    assert f"first {len(y):,} rows" in result.choice
    for name in ("PA", "FSOL"):
        kind = LEARNERS[name]
        tried = tournament(
            {str(i): kind(**{"dtype": "float32", **one}) for i, one in enumerate(settings_of(kind, {}))},
            (rows, y),
            metric=metric,
        )
        assert tried.choice is None
        assert tried.best is not None
        best, run = tried.run(tried.best), result.run(name)
        assert (run.score, run.all_parameters) == (best.score, best.all_parameters)
        assert run.score != tried.run("0").score  # its defaults
        chosen = result.models[name].get_params()
        assert run.parameters.items() <= chosen.items()
    assert result.run("AROW").all_parameters["r"] == AROW().r


def test_choosing_keeps_to_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more models are tried at a time than there is room for; none if there is none, which is said as ever."""
    asked = []
    losses = FirstRows.losses
    monkeypatch.setattr(
        FirstRows, "losses", lambda *given, **options: asked.append(options["at_a_time"]) or losses(*given, **options)
    )
    size = model_bytes(AROW(dtype="float32"), X.shape[1], 2, len(Y), 1)
    shared = 16 * X.shape[1]
    for room, workers in ((size + shared, 1), (100 * (size + shared), 3)):
        rows, labels = rows_of((X, Y), "float32", None)
        contest = Tournament(entries_of(["arow"]), rows, labels=labels, memory=room, workers=3)
        contest.run()
        assert asked.pop() == workers
    with pytest.raises(ValueError, match="may take"):
        tournament(["arow"], (X, Y), memory=size - 1)
    assert not asked


def test_learners_of_batches_are_asked_before_they_learn(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.svm", X[:1000], Y[:1000])
    grid = {
        "bcw": BCW(dtype="float32", normalize="scale"),
        "sbcw": SBCW(n_features=20),
        "fgm": FGM(n_features=20, normalize="row"),
        "arow": AROW(),
    }
    rows = stream.read(path).with_options(block=4000)
    result = tournament(grid, rows, batch=150, race=True)
    for name in ("bcw", "sbcw", "fgm"):
        learner = grid[name]
        data = stream.read(path, dtype=learner.dtype)
        alone = sureline.train(data, learner, batch=150)
        sureline.save(alone, tmp_path / "alone")
        sureline.save(result.models[name], tmp_path / "together")
        assert same_model(tmp_path / "alone", tmp_path / "together"), name
        run, mistakes = result.run(name), int((Y[:150] != 0).sum())
        model, numbers = type(learner)(**learner.get_params()), X[:1000].astype(learner.dtype)
        curve = [mistakes]
        for start in range(150, 1000, 150):
            model.partial_fit(numbers[start - 150 : start], Y[start - 150 : start], classes=[0, 1])
            stop = min(start + 150, 1000)
            mistakes += int((model.predict(numbers[start:stop]) != Y[start:stop]).sum())
            curve.append(mistakes)
        assert run.mistakes == mistakes
        assert run.examples == 1000
        assert "in batches of 150 rows; each was predicted whole" in str(run.reason)
        assert run.curve["examples"] == result.run("arow").curve["examples"]
        assert run.reliability is not None
        assert sum(each["count"] for each in run.reliability) == 850
    assert result.stream["complete"]


def test_rows_in_memory() -> None:
    weight = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    labels = np.array(["ham", "spam"])[Y]
    for data in ((X, labels), (sparse.csr_matrix(X.toarray()), labels, weight)):
        result = tournament([AROW(), SCW(dtype="float32")], data)
        for name, model in (("AROW", AROW()), ("SCW", SCW(dtype="float32"))):
            fitted = model.fit(*data)
            assert np.array_equal(result.models[name].coef_, fitted.coef_)
            assert result.run(name).mistakes == fitted.n_mistakes_
            assert result.run(name).train_command is None
        assert result.stream["classes"] == ["ham", "spam"]


def test_names_of_columns() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:300, :30].toarray(), columns=[f"column {j}!" for j in range(30)])
    result = tournament([AROW(), SCW(growing=True), BCW()], (frame, Y[:300]), batch=100)
    assert result.models["AROW"].feature_names_in_.tolist() == list(frame.columns)
    assert result.models["AROW"].predict(frame).shape == (300,)
    assert not hasattr(result.models["SCW(growing=True)"], "feature_names_in_")
    for name in ("AROW", "BCW"):
        top = result.run(name).top_features[0]
        assert top["name"] == f"column {top['column']}!"
        assert np.array_equal(result.models[name].n_features_in_, 30)


def test_the_result_can_be_kept() -> None:
    result = tournament({"scw": {"C": [0.1, 1.0], "eta": 0.9}, "perceptron": None}, (X, Y))
    told = json.loads(json.dumps(result.to_dict()))
    assert tournaments.read(told) == result
    run = result.run("SCW(C=0.1, eta=0.9)")
    assert run.parameters == {"C": 0.1, "eta": 0.9}
    assert run.all_parameters["variant"] == "I"
    assert run.curve["examples"][:8] == [1, 2, 4, 8, 16, 32, 64, 72]
    assert run.curve["examples"][-1] == 1500
    assert run.curve["error"][-1] == run.error == run.mistakes / 1500
    assert run.reliability is not None
    assert all(0 <= each["confidence"] <= 1 and 0 <= each["accuracy"] <= 1 for each in run.reliability)
    assert result.run("Perceptron").reliability is not None
    assert told["stream"]["classes"] == [0, 1]
    assert len(run.top_features) == 20
    assert abs(run.top_features[0]["weight"]) >= abs(run.top_features[1]["weight"])


def test_curves_do_not_depend_on_the_chunks(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.svm", X, Y)
    curves = []
    for block in (500, 5000, 1 << 22):
        result = tournament(["arow"], stream.read(path, dtype="float32").with_options(block=block), labels=[0, 1])
        curves.append(result.runs[0].curve)
    assert curves[0] == curves[1] == curves[2]


# -- what goes wrong -----------------------------------------------------------------------------------------


def test_a_learner_that_diverges_fails_alone(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.svm", X, Y)
    result = tournament(
        {
            "wild": PA(variant="hard", dtype="float32"),
            "arow": AROW(),
            "ogd": sureline.OGD(eta=1e308),
            "narrow": sureline.OGD(eta=1e300, dtype="float32"),
        },
        path,
    )
    assert 'or take dtype="float64" (--dtype float64), which goes further' in str(result.run("narrow").reason)
    wild = result.run("ogd")
    assert "dtype=" not in str(wild.reason)
    assert wild.status == "failed"
    assert wild.reason is not None
    assert "scale the rows" in wild.reason
    assert wild.examples < 1500
    assert result.run("arow").mistakes == sureline.train(path, AROW()).n_mistakes_
    assert result.best in ("arow", "wild")
    assert "ogd" not in result.models


def test_streams_with_something_wrong(tmp_path: Path) -> None:
    (tmp_path / "one.svm").write_text("1 1:1\n1 2:1\n" * 50)
    one = tournament(["arow", "pa"], tmp_path / "one.svm", format="libsvm")
    assert one.stream["complete"]
    assert one.stream["problem"] is not None
    assert "only one class came, 1" in one.stream["problem"]
    assert (one.best, one.ties) == (None, [])
    assert one.runs[0].examples == 100

    (tmp_path / "none.svm").write_text("\n")
    none = tournament(["arow", "pa"], tmp_path / "none.svm", format="libsvm")
    assert not none.stream["complete"]
    assert none.stream["problem"] is not None
    assert "there are no examples" in none.stream["problem"]
    assert none.runs[0].error is None
    assert none.best is None

    good = "".join(f"{i % 2} {1 + i % 7}:1 {8 + i % 2}:2\n" for i in range(3000))
    (tmp_path / "bad.svm").write_text(good + "1 2:x\n" + good)
    bad = tournament(["arow", "pa"], tmp_path / "bad.svm")
    assert not bad.stream["complete"]
    assert bad.stream["problem"] is not None
    assert "bad.svm:3001" in bad.stream["problem"].replace(" ", "")
    assert bad.runs[0].examples == 3000
    skipped = tournament(["arow", "pa"], tmp_path / "bad.svm", errors="skip")
    assert skipped.stream["complete"]
    assert (skipped.stream["skipped_lines"], skipped.runs[0].examples) == (1, 6000)

    unknown = tournament(["arow"], tmp_path / "bad.svm", labels=[1, 2])
    assert unknown.stream["problem"] is not None
    assert "the label 0 is not among those given" in unknown.stream["problem"]
    assert unknown.runs[0].examples == 0


@pytest.mark.parametrize("kind", ["svm", "vw"])
def test_rows_before_a_label_that_was_not_named_count(tmp_path: Path, kind: str) -> None:
    bar = "| " if kind == "vw" else ""
    rows = [f"{i % 2} {bar}{1 + i % 7}:1 {8 + (i + i // 5) % 2}:2" for i in range(800)]
    rows[700] = rows[700].replace("0", "7", 1)
    (tmp_path / f"strange.{kind}").write_text("\n".join(rows) + "\n")
    (tmp_path / f"good.{kind}").write_text("\n".join(rows[:700]) + "\n")
    grid = {"narrow": AROW(dtype="float32"), "wide": AROW(), "bcw": BCW()}
    options: Any = {"batch": 50} | ({"bits": 8} if kind == "vw" else {})
    strange = tournament(grid, tmp_path / f"strange.{kind}", labels=[0, 1], **options)
    good = tournament(grid, tmp_path / f"good.{kind}", labels=[0, 1], **options)
    assert "the label 7 is not among those given: 0,1 (row 701)" in str(strange.stream["problem"])
    assert (strange.stream["rows"], strange.stream["class_counts"]) == (700, [350, 350])
    assert not strange.stream["complete"]
    for name in grid:
        assert strange.run(name).mistakes == good.run(name).mistakes > 0
        assert np.array_equal(strange.models[name].coef_, good.models[name].coef_)


def test_memory_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 models of 200 columns may take 6 kB, and the limit is 1 kB"):
        tournament(["arow", "pa"], (X, Y), memory=1000)
    narrow = "".join(f"{i % 2} {1 + i % 7}:1\n" for i in range(2000))
    (tmp_path / "wider.svm").write_text(narrow + "1 100000:1\n" + narrow)
    rows = stream.read(tmp_path / "wider.svm", dtype="float32").with_options(block=5000)
    learners = {kind.__name__: kind(dtype="float32", normalize="none") for kind in (PA, SCW, Perceptron)}
    result = tournament(learners, rows, memory=1_500_000)
    assert [run.status for run in result.runs] == ["finished", "failed", "finished"]
    scw = result.run("SCW")
    assert scw.reason is not None
    assert "more than the limit of 2 MB; this one would have taken 800 kB" in scw.reason
    assert result.stream["complete"]
    assert 1000 < scw.examples <= 2000


def test_who_is_let_go_where_memory_is_short(tmp_path: Path) -> None:
    """Of equal size the worst so far; and what only those needed that have gone counts no longer."""
    rng = np.random.default_rng(0)
    narrow = "".join(f"{i % 2} {1 + i % 2}:1 {3 + rng.integers(5)}:1\n" for i in range(2000))
    (tmp_path / "wider.svm").write_text(narrow + "1 100000:1\n" + narrow)
    rows = stream.read(tmp_path / "wider.svm", dtype="float32").with_options(block=5000)
    learners = [PA(C=1e-9, dtype="float32"), PA(C=1.0, dtype="float32"), PA(C=1e-8, dtype="float32")]
    named = dict(zip(["slow", "good", "slower"], learners, strict=True))
    result = tournament(named, rows, memory=1_600_000 + 450_000)
    assert [run.status for run in result.runs if run.name != "good"] == ["failed", "failed"]
    assert result.best == "good"
    reason = result.run("slow").reason
    assert reason is not None
    assert "2 MB of it to put rows on a common scale" in reason

    both = {"wide": AROW(dtype="float64"), **named}
    result = tournament(both, rows, memory=1_600_000 + 3 * 450_000)
    assert [run.status for run in result.runs] == ["failed", "finished", "finished", "finished"]
    alone = tournament(named, rows)
    assert [run.mistakes for run in result.runs[1:]] == [run.mistakes for run in alone.runs]


def test_what_a_tournament_refuses() -> None:
    for grid, sentence in (
        ([ODCARegressor()], "ODCARegressor predicts numbers: it cannot take part"),
        ({"odca-regressor": None}, "ODCARegressor predicts numbers"),
        ([AROW(), AROW()], "Two learners are both AROW"),
        ([], "at least one learner"),
        ([3], "must be a list of estimators"),
        ({"arow": 3}, "must have an estimator for 'arow'"),
        ({"arow": {"C": [1]}}, "AROW has no parameter 'C'"),
        ({"arow": {"r": []}}, "no value for 'r'"),
        ({"arow": {"r": [1, 2.0, 1.0]}}, "The grid has 1 more than once for 'r' of AROW"),
        ({"arow": {"r": [-1.0]}}, "The 'r' parameter of AROW must be"),
        ([AROW(passes=2)], "reads its stream once"),
        (["svm"], "There is no algorithm 'svm'"),
        ([sureline.KernelSCW()], "for data that is in memory"),
        ([sureline.CPA(cost=(2.0, 1.0))], "must know which class is the positive one"),
    ):
        path = "nowhere.svm"
        with pytest.raises((ValueError, FileNotFoundError), match=sentence):
            tournament(grid, path if "both" in sentence else (X, Y) if "positive" not in sentence else _chunks())
    with pytest.raises(ValueError, match="The metric must be one of"):
        tournament(["arow"], (X, Y), metric="accuracy")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="The cost must be a pair"):
        tournament(["arow"], (X, Y), metric="cost", cost=(0, 1))
    with pytest.raises(ValueError, match="The cost must be a pair"):
        tournament(["arow"], (X, Y), metric="cost", cost=("10", 1))  # type: ignore[arg-type]
    for nothing in (None, 5, X, [X, Y], ("rows.svm", None)):
        with pytest.raises(
            TypeError, match=r"^The stream must be a path, a list of paths, a sureline.stream.Stream, or"
        ):
            tournament(["arow"], nothing)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one file"):
        tournament(["arow"], ())
    with pytest.raises(TypeError, match=r"^What to read must be a path, or several in a list. Got None instead.$"):
        stream.read(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no parameter 'speed'"):
        tournament(["arow"], (X, Y), speed=3)


def _chunks() -> Any:
    from sureline.stream.arrays import ArrayStream

    return ArrayStream(X, Y.astype(np.int32), [0, 1], None, "float64")


# -- grids ---------------------------------------------------------------------------------------------------


def test_search_spaces_are_valid() -> None:
    for name, kind in LEARNERS.items():
        if name.endswith("Regressor"):
            continue
        for parameter, values in kind.search_space.items():
            assert parameter in kind.__dataclass_fields__
            assert len(set(values)) == len(values) > 1
        for entry in settings(kind, None):
            entry.learner.check_parameters()
    assert len(settings(LEARNERS["SCW"], None)) == 99
    assert len(every_learner()) == 26


def test_names_of_settings() -> None:
    entries = entries_of({"scw": {"C": [2**-5, 1.0], "variant": "II"}, "mine": AROW(r=0.1)})
    assert [entry.name for entry in entries] == ["SCW(variant='II', C=0.03125)", "SCW(variant='II', C=1)", "mine"]
    assert entries[0].learner.dtype == "float32"
    assert entries[2].learner.dtype == "float64"
    tried = entries_of({"arow": {"dtype": ["float32", "float64"], "r": np.array([0.123456789])}}, normalize="row")
    assert [entry.name for entry in tried] == [
        "AROW(dtype='float32', r=0.123456789)",
        "AROW(dtype='float64', r=0.123456789)",
    ]
    shared = entries_of(["arow", "fsol"], normalize="row", fit_intercept=False)
    assert [entry.name for entry in shared] == ["AROW", "FSOL"]
    assert shared[0].parameters == {"normalize": "row", "fit_intercept": False}


# -- two kinds of numbers ------------------------------------------------------------------------------------


def test_numbers_of_two_kinds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{i % 2} | a:{rng.normal():.9f} b:{rng.normal():.9f} a:{rng.normal():.9f} c{i % 5}" for i in range(300)]
    (tmp_path / "twice.vw").write_text("\n".join(rows) + "\n")
    grid = {"narrow": AROW(dtype="float32"), "wide": AROW()}
    result = tournament(grid, tmp_path / "twice.vw", bits=3)
    wide = stream.read(tmp_path / "twice.vw", bits=3, dtype="float64")
    narrow = stream.read(tmp_path / "twice.vw", bits=3, dtype="float32")
    assert any(
        not np.array_equal(a.values.astype(np.float32), b.values) for a, b in zip(wide, narrow, strict=True)
    )  # or it would be no test
    for name, data in (("narrow", narrow), ("wide", wide)):
        alone = sureline.train(data, grid[name])
        assert np.array_equal(alone.coef_, result.models[name].coef_)

    for name, rows in (("large.svm", "1 1:1\n0 2:1\n1 1:1e300\n"), ("large.vw", "1 | a\n-1 | b\n1 | a:1e300\n")):
        (tmp_path / name).write_text(rows)
        result = tournament({"a": AROW(dtype="float32"), "b": PA()}, tmp_path / name)
        assert result.run("a").status == "failed"
        assert 'float32 cannot hold; dtype="float64" (--dtype float64) can' in str(result.run("a").reason)
        assert result.run("b").status == "finished"
        with pytest.raises(DataError):
            sureline.train(tmp_path / name, AROW(dtype="float32"))


# -- memory of the learners of batches -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "rows", "columns"),
    [(BCW(), 400, 1 << 20), (BCW(), 900, 700), (SBCW(n_features=90), 400, 1 << 18), (FGM(), 400, 1 << 18)],
)
def test_what_a_model_may_take_is_more_than_it_takes(learner: Any, rows: int, columns: int) -> None:
    data, y = make_sparse_stream(rows, columns, 20, random_state=0)
    learner.fit(data[:40], y[:40])  # imports what it needs
    tracemalloc.start()
    for part in np.array_split(np.arange(rows), 2):
        learner.partial_fit(data[part], y[part], classes=[0, 1]) if part[0] else learner.fit(data[part], y[part])
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    stated = model_bytes(learner, columns, 2, rows, rows // 2)
    not_counted = 10 * (data.data.nbytes + data.indices.nbytes) + 100 * rows * 8 + BLOCK_BYTES
    assert learner._state.nbytes <= stated + not_counted
    assert 0.2 * stated < taken <= stated + not_counted


def test_learners_of_batches_over_hashed_text(tmp_path: Path) -> None:
    words = np.array([f"word{i}" for i in range(500)])
    rng = np.random.default_rng(0)
    rows = [f"{i % 2} | {' '.join(rng.choice(words[i % 2 :: 2], 20))}" for i in range(300)]
    (tmp_path / "rows.vw").write_text("\n".join(rows) + "\n")
    result = tournament(["bcw", "sbcw", "fgm", "arow"], tmp_path / "rows.vw", batch=100, memory=200_000_000)
    assert {run.status for run in result.runs} == {"finished"}
    assert result.stream["columns"] == 1 << 20
    assert max(run.model_bytes for run in result.runs) < result.memory_bytes < 200_000_000
    with pytest.raises(
        ValueError, match=r"2 models of 1,048,576 columns may take .* \(BCW alone .*\), and the limit is"
    ):
        tournament(["pa", "bcw"], tmp_path / "rows.vw", memory=30_000)
    # Where the length is not known, it takes more with each chunk, until that is too much.
    lines = stream.read(tmp_path / "rows.vw", dtype="float32", bits=12).with_options(block=3000)
    lines.__class__ = _OfUnknownLength
    late = tournament(["bcw", "pa"], lines, batch=50, memory=1_000_000)
    assert late.memory_bytes < 1_000_000
    assert [run.status for run in late.runs] == ["failed", "finished"]
    assert "the models would have taken" in str(late.run("BCW").reason)


class _OfUnknownLength(stream.Stream):
    """As from a pipe."""

    @property
    def progress(self) -> float | None:
        return None


@pytest.mark.parametrize("metric", ["log_loss", "brier", "auc"])
def test_probabilities_can_decide(metric: Any) -> None:
    result = tournament([AROW(), SCW(), PA(C=1e-6)], (X, Y), metric=metric)
    scores = {run.name: run.score for run in result.runs}
    worst = max if metric == "auc" else min
    assert result.best == worst(scores, key=lambda name: scores[name])
    for run in result.runs:
        found = quality(result.models[run.name].model, metric)
        assert found is not None
        assert (run.score, run.score_se) == found
        assert 0 < run.score_se < 0.1
    # By the predictions on record, about what the last third of the rows would have shown.
    model = SCW().fit(X[:1000], Y[:1000])
    proba, truth = model.predict_proba(X[1000:])[:, 1], Y[1000:]
    measured = {
        "log_loss": -np.log(np.where(truth == 1, proba, 1 - proba)).mean(),
        "brier": ((proba - truth) ** 2).mean(),
        "auc": (proba[truth == 1][:, np.newaxis] > proba[truth == 0]).mean(),
    }[metric]
    value, error = quality(model.model, metric)  # type: ignore[misc]
    assert abs(value - measured) < 6 * error + 0.03


def test_probabilities_decide_the_choice_of_settings() -> None:
    rows, labels = rows_of((X, Y), "float64", None)
    learners = [AROW(), SCW(), FTRL()]
    choice = choose(rows, labels, learners, metric=Metric("log_loss"))
    losses = [quality(type(one)().fit(X, Y).model, "log_loss") for one in learners]
    assert choice.score == pytest.approx(min(loss[0] for loss in losses if loss is not None), rel=1e-6)
    assert choice.to_dict() == {"tried": 3, "rows": 1500, "log_loss": choice.score}
