"""Rows whose labels come in runs: noticed, said, and learned from in random order."""

from __future__ import annotations

import gzip
import json
import shlex
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fail, run, succeed
from scipy.sparse import csr_matrix
from scipy.stats import hypergeom
from sklearn.datasets import load_digits, load_iris
from stream_files import write_rows

import sureline
from sureline import LabelRunsWarning, stream
from sureline.learners.catalogue import LEARNERS
from sureline.stream.runs import RATE, LabelRuns, tail
from sureline.stream.shuffling import Shuffle, can_be_cut, sampled_runs
from sureline.training import Training
from sureline.training.checkpoint import Checkpointing
from sureline.training.order import Order, decide

# -- the statistic -------------------------------------------------------------------------------------------------


def test_the_bound_is_above_the_exact_tail() -> None:
    for rows, n in ((20, 5), (30, 15), (50, 2), (60, 58), (200, 40)):
        for r in range(1, n + 1):
            exact = hypergeom(rows, rows - n + 1, n).cdf(r)  # of the number of runs of a label, in random order
            if r > rows - n + 1:
                break
            assert tail(rows, n, r) >= exact * (1 - 1e-9)
            if exact < 1e-3:
                assert tail(rows, n, r) <= 1.5 * exact


def test_runs_have_that_distribution() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [12, 5, 3])
    counts = Counter(int(LabelRuns.of(rng.permutation(y)).runs[1]) for _ in range(4000))
    for r, count in counts.items():
        assert count / 4000 == pytest.approx(hypergeom(20, 16, 5).pmf(r), abs=0.03)
    expected = np.mean([LabelRuns.of(rng.permutation(y)).changes for _ in range(4000)])
    assert LabelRuns.of(y).expected == pytest.approx(expected, abs=0.1)


def test_random_orders_raise_no_alarm() -> None:
    rng = np.random.default_rng(0)
    for shares in ([0.5, 0.5], [0.9, 0.1], [0.997, 0.003], [0.4, 0.3, 0.2, 0.1]):
        for n_rows in (30, 300, 3000):
            for _ in range(100):
                assert not LabelRuns.of(rng.choice(len(shares), n_rows, p=shares)).found
    rare = np.zeros(1000, int)
    rare[[200, 201, 800]] = 1  # two of three side by side, which happens in one of 170 orders
    assert not LabelRuns.of(rare).found
    assert not LabelRuns.of(np.zeros(1000, int)).found
    assert not LabelRuns.of(np.arange(1000) % 2).found  # more changes than in random order
    assert RATE == 1e-6


@pytest.mark.parametrize("runs", [[50, 50, 50], [48270, 1479], [1, 500, 1, 300], [20, 20], [100] * 30])
def test_runs_are_found(runs: list[int]) -> None:
    y = np.concatenate([np.full(n, k % 3) for k, n in enumerate(runs)])
    assert LabelRuns.of(y).found
    in_parts, whole = LabelRuns(), LabelRuns.of(y)
    for part in np.array_split(y, 7):
        in_parts.add(part)
    assert in_parts.runs.tolist() == whole.runs.tolist()
    assert in_parts.to_dict() == whole.to_dict()
    assert whole.changes == len(runs) - 1


@pytest.mark.parametrize(("runs", "by_label"), [([50, 60, 70], True), ([500, 500], True), ([90, 80, 70, 60], False)])
def test_rows_sorted_by_label_are_no_stream(runs: list[int], by_label: bool, tmp_path: Path) -> None:
    y = np.concatenate([np.full(n, k % 3) for k, n in enumerate(runs)])
    assert LabelRuns.of(y).by_label is by_label
    X = np.random.default_rng(0).standard_normal((len(y), 4)) + y[:, None]
    data = write_rows(tmp_path / "rows.svm", csr_matrix(X), y)
    order = decide(stream.read(data), sureline.SCW(), "auto")
    assert order.mixes_times is not by_label
    with pytest.warns(LabelRunsWarning):
        auto = sureline.Auto().fit(X, y)
    assert auto._race.mixed is not by_label
    assert not sureline.Auto(shuffle=True).fit(X, y)._race.mixed  # who asks for it knows


# -- fit -----------------------------------------------------------------------------------------------------------


def rows_of_two_classes(n_rows: int, seed: int = 0, n_columns: int = 10) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    y = (X @ rng.standard_normal(n_columns) + rng.standard_normal(n_rows) > 0.8).astype(int)
    return X, y


@pytest.mark.parametrize("name", ["SCW", "AROW", "FTRL", "PA", "KernelSCW"])
def test_fit_shuffles_iris(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(LabelRunsWarning, match="changes 2 times in 150 rows, where it would about 100 times"):
        clf = getattr(sureline, name)().fit(X, y)
    with pytest.warns(LabelRunsWarning):
        again = getattr(sureline, name)().fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
    with pytest.warns(LabelRunsWarning):
        other = getattr(sureline, name)(random_state=3).fit(X, y)
    assert not np.array_equal(other.decision_function(X), clf.decision_function(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_they_are = getattr(sureline, name)(shuffle=False).fit(X, y)
        getattr(sureline, name)(shuffle=True, random_state=0).fit(X, y)
        in_order = getattr(sureline, name)().partial_fit(X, y, classes=[0, 1, 2])  # which never reorders
    np.testing.assert_array_equal(as_they_are.decision_function(X), in_order.decision_function(X))
    assert as_they_are.score(X, y) < 0.4
    assert clf.score(X, y) > 0.6


def test_copies_of_rare_classes_at_the_end() -> None:
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    keep = rng.permutation(len(y))
    keep = keep[(y[keep] == 0) | (rng.random(len(y)) < 0.3)]
    most = np.bincount(y[keep]).max()
    copies = [rng.choice(keep[y[keep] == k], most - (y[keep] == k).sum()) for k in range(10)]  # as an oversampler does
    rows = np.concatenate([keep, *copies])
    with pytest.warns(LabelRunsWarning):
        clf = sureline.AROW().fit(X[rows], y[rows])
    assert sureline.AROW(shuffle=False).fit(X[rows], y[rows]).score(X[rows], y[rows]) < 0.8
    assert clf.score(X[rows], y[rows]) > 0.95


def test_rows_in_random_order_stay_in_it() -> None:
    X, y = rows_of_two_classes(500)
    for name in ("SCW", "SSOL", "BCW", "FGM", "KernelSCW"):
        kind = getattr(sureline, name)
        plain, kept = kind().fit(X, y), kind(shuffle=False).fit(X, y)
        np.testing.assert_array_equal(plain.decision_function(X), kept.decision_function(X))
    with pytest.raises(ValueError, match="must be a bool or 'auto'"):
        sureline.SCW(shuffle="yes").fit(X, y)


def test_sorted_targets_of_a_regressor() -> None:
    X, _ = rows_of_two_classes(400)
    target = X[:, 0]
    order = np.argsort(target)
    with pytest.warns(LabelRunsWarning, match="The target crosses its median once in 400 rows"):
        sureline.ODCARegressor().fit(X[order], target[order])
    plain, kept = (sureline.ODCARegressor(shuffle=s).fit(X, target) for s in ("auto", False))
    np.testing.assert_array_equal(plain.coef_, kept.coef_)


# -- train ---------------------------------------------------------------------------------------------------------


def sorted_file(folder: Path, format: str = "svm", n_rows: int = 6000) -> Path:
    X, y = rows_of_two_classes(n_rows)
    order = np.argsort(y, kind="stable")
    names = [f"c{j}" for j in range(X.shape[1])]
    lines = [",".join(["label", *names])] if format == "csv" else []
    for i in order:
        x, label = X[i], int(y[i])
        if format == "svm":
            lines.append(f"{label} " + " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(x)))
        elif format == "vw":
            lines.append(f"{label + 1} | " + " ".join(f"c{j}:{v:.6g}" for j, v in enumerate(x)))
        elif format == "jsonl":
            lines.append(json.dumps({"label": label, **dict(zip(names, x.tolist(), strict=True))}))
        else:
            lines.append(",".join([str(label), *(f"{v:.6g}" for v in x)]))
    path = folder / f"sorted.{format}"
    path.write_text("\n".join(lines) + "\n")
    return path


def error_of(model: Path, data: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(succeed("evaluate", data, "--model", model, "--json"))
    return told


@pytest.mark.parametrize("format", ["svm", "vw", "csv", "jsonl"])
def test_a_sorted_file_is_learned_from_in_random_order(format: str, tmp_path: Path) -> None:
    data, model = sorted_file(tmp_path, format), tmp_path / "m"
    words = ["train", data, "--model", model, "--algorithm", "pa", "--normalize", "scale"]
    done = run(*words, "--json")
    told = json.loads(done.stdout)
    assert "The label changes once in 6,000 rows" in done.stderr
    assert "learned from in random order (seed 0); --no-shuffle keeps" in done.stderr
    assert told["order"]["shuffled"] == "files"
    assert told["order"]["runs"]["found"]
    assert not told["label_runs"]["found"]  # in the order of learning
    assert len(told["warnings"]) == 1
    assert told["warnings"][0] in done.stderr
    assert told["examples"] == 6000
    good = error_of(model, data)["balanced_accuracy"]
    first = model.read_bytes()
    succeed(*words, "--quiet")
    assert model.read_bytes() == first
    succeed(*words, "--quiet", "--shuffle")
    assert model.read_bytes() == first
    succeed(*words, "--quiet", "--seed", "1")
    assert model.read_bytes() != first
    done = run(*words, "--json", "--no-shuffle")
    told = json.loads(done.stdout)
    assert told["order"]["shuffled"] is None
    assert told["label_runs"]["found"]
    assert "The progressive error flatters" in done.stderr
    assert told["warnings"][0] in done.stderr
    assert error_of(model, data)["balanced_accuracy"] < good - 0.1


def test_files_by_class_a_large_one_and_a_setting_to_choose(tmp_path: Path) -> None:
    whole = sorted_file(tmp_path, "svm", 60_000)  # large enough for a look at some places only
    lines = whole.read_text().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if line.startswith("1"))
    (tmp_path / "0.svm").write_text("".join(lines[:cut]))
    (tmp_path / "1.svm").write_text("".join(lines[cut:]))
    files = [tmp_path / "0.svm", tmp_path / "1.svm"]
    runs = sampled_runs(stream.read(files))
    assert runs.found
    assert 1000 < runs.rows < 60_000
    told = json.loads(succeed("train", *files, "--model", tmp_path / "m", "--quiet", "--json"))
    assert told["race"]["rows"] == 60_000
    assert told["examples"] == 60_000
    assert error_of(tmp_path / "m", whole)["balanced_accuracy"] > 0.75


def test_what_is_not_sorted_is_learned_from_as_it_is(tmp_path: Path) -> None:
    lines = sorted_file(tmp_path).read_text().splitlines(keepends=True)
    np.random.default_rng(0).shuffle(lines)
    (tmp_path / "mixed.svm").write_text("".join(lines))
    words = ["train", tmp_path / "mixed.svm", "--algorithm", "scw", "--quiet"]
    told = json.loads(succeed(*words, "--model", tmp_path / "a", "--json"))
    succeed(*words, "--model", tmp_path / "b", "--no-shuffle")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert told["order"]["shuffled"] is None
    assert not told["order"]["runs"]["found"]


def test_what_cannot_be_cut_has_a_buffer(tmp_path: Path) -> None:
    data = sorted_file(tmp_path)
    packed, model = tmp_path / "sorted.svm.gz", tmp_path / "m"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    done = run("train", packed, "--model", model, "--algorithm", "scw", "--json")
    assert "in random order within a buffer of 100,000 (seed 0)" in done.stderr
    assert "A buffer cannot mix runs longer than itself" in done.stderr
    assert json.loads(done.stdout)["order"]["shuffled"] == "buffer"
    assert error_of(model, data)["balanced_accuracy"] > 0.75
    # Of a pipe; and with a buffer that is too small for its runs.
    raw = data.read_bytes()
    done = run("train", "-", "--model", model, "--algorithm", "scw", "--shuffle", "--json", stdin=raw)
    assert json.loads(done.stdout)["order"]["shuffled"] == "buffer"
    more = b"".join(sorted(raw.splitlines(keepends=True) * 20, key=lambda line: line[:1]))
    done = run("train", "-", "--model", model, "--algorithm", "scw", "--shuffle-buffer", "500", "--shuffle", stdin=more)
    assert "a file that is not compressed can be learned from in random order" in done.stderr


def test_cells_with_newlines(tmp_path: Path) -> None:
    plain = tmp_path / "plain.csv"
    plain.write_text("label,a\n" + '0,"x, y"\n' * 300 + '1,"z ""q"""\n' * 300)
    lines = tmp_path / "lines.csv"
    lines.write_text("label,a\n" + '0,"x\ny"\n' * 300 + "1,z\n" * 300)
    assert can_be_cut(stream.read(plain))
    assert not can_be_cut(stream.read(lines))
    for path, how in ((plain, "files"), (lines, "buffer")):
        told = json.loads(succeed("train", path, "--model", tmp_path / "m", "--json", "--quiet"))
        assert (told["order"]["shuffled"], told["examples"]) == (how, 600)


@pytest.mark.parametrize("format", ["svm", "csv"])
def test_every_row_once(format: str, tmp_path: Path) -> None:
    source = stream.read(sorted_file(tmp_path, format, 3000)).with_options(block=1 << 12)
    shuffle = Shuffle(5, 500)
    pieces = shuffle.pieces(source)
    assert len(pieces.paths) > 20
    chunks = list(shuffle.chunks(pieces, stream.Position(), 1))

    def rows(chunk: Any) -> list[tuple[Any, ...]]:
        X, y = chunk.X.toarray() if chunk.n_columns < 100 else chunk.X, chunk.y
        if format == "csv":
            return [(*sorted(zip(X[i].indices.tolist(), X[i].data.tolist(), strict=True)), y[i]) for i in range(len(y))]
        return [(*X[i][:11].tolist(), y[i]) for i in range(len(y))]

    original = [row for chunk in source for row in rows(chunk)]
    mixed = [row for chunk in chunks for row in rows(chunk)]
    assert len(original) == 3000
    assert Counter(mixed) == Counter(original)
    assert mixed != original
    assert len(chunks) > 3
    labels = np.concatenate([chunk.y for chunk in chunks])
    assert not LabelRuns.of(labels).found


class Stop(Exception):
    pass


@pytest.mark.parametrize(("name", "passes"), [("SCW", 1), ("PA", 2), ("BCW", 1)])
def test_stopped_and_resumed(name: str, passes: int, tmp_path: Path) -> None:
    data = sorted_file(tmp_path, "svm", 3000)

    def training() -> Training:
        more = {"passes": passes} if passes > 1 else {}
        learner = LEARNERS[name](dtype="float32", **more)
        source = stream.read(data, dtype="float32").with_options(block=1 << 12)
        order = decide(source, learner, "auto", buffer=400)
        assert order.shuffle == Shuffle(0, 400)
        return Training(learner, source, order=order, batch=300 if name == "BCW" else None)

    whole = training()
    whole.run()
    whole.save_model(tmp_path / "whole")
    for stop_after in (1, 2, 4):
        running, left = training(), stop_after
        save = running.save_checkpoint

        def counted(path: Path, save: Any = save) -> None:
            nonlocal left
            save(path)
            left -= 1
            if left == 0:
                raise Stop

        running.save_checkpoint = counted  # type: ignore[method-assign]
        with pytest.raises(Stop):
            running.run(checkpointing=Checkpointing(tmp_path / "c", examples=1))
        again = training()
        again.resume(tmp_path / "c", decided=True)
        assert 0 < again.examples < 3000 * passes
        again.run()
        again.save_model(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()
        assert again.frozen == whole.frozen
        assert again.classes.runs.to_dict() == whole.classes.runs.to_dict()
    other = training()
    other.order = Order(Shuffle(1, 400))
    with pytest.raises(ValueError, match="random order by seed 0 and a buffer of 400 rows, and cannot be gone on with"):
        other.resume(tmp_path / "c")


def test_resuming_on_the_command_line(tmp_path: Path) -> None:
    data, model = sorted_file(tmp_path), tmp_path / "m"
    words = ["train", data, "--algorithm", "scw", "--normalize", "none", "--quiet"]
    succeed(*words, "--model", tmp_path / "whole")
    learner = LEARNERS["SCW"](dtype="float32", normalize="none")
    source = stream.read(data, dtype="float32", collect_names=True)
    running = Training(learner, source, order=decide(source, learner, "auto"))
    running.run()
    running.save_checkpoint(tmp_path / "m.checkpoint")
    assert "read in random order by seed 0" in fail(1, *words, "--model", model, "--resume", "--no-shuffle")
    assert "cannot be gone on with in random order by seed 7" in fail(
        1, *words, "--model", model, "--resume", "--shuffle", "--seed", "7"
    )
    succeed(*words, "--model", model, "--resume")
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()


def test_from_python(tmp_path: Path) -> None:
    data = sorted_file(tmp_path)
    with pytest.warns(LabelRunsWarning, match=r"in random order \(seed 0\); shuffle=False keeps"):
        clf = sureline.train(data, "scw")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = sureline.train(data, "scw", shuffle=True)
    np.testing.assert_array_equal(clf.coef_, same.coef_)
    with pytest.warns(LabelRunsWarning, match="The progressive error flatters"):
        sureline.train(data, "scw", shuffle=False)


def test_the_next_day_may_be_sorted(tmp_path: Path) -> None:
    data = sorted_file(tmp_path)
    words = ["--quiet", "--json"]
    succeed("train", data, "--model", tmp_path / "m", "--algorithm", "scw", *words)
    done = run("train", data, "--from", tmp_path / "m", "--model", tmp_path / "m", "--json")
    told = json.loads(done.stdout)
    assert told["order"]["shuffled"] == "files"
    assert "learned from in random order (seed 0)" in done.stderr
    assert (told["examples"], told["since_start"]["examples"]) == (12_000, 6000)


# -- the frozen model ----------------------------------------------------------------------------------------------


def test_the_error_of_the_frozen_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.full(2000, k % 2) for k in range(20)])
    noise = "".join(f"{y} {1 + rng.integers(5)}:1 6:1\n" for y in labels)  # nothing but runs of labels
    (tmp_path / "runs.svm").write_text(noise)
    learner = LEARNERS["PA"](dtype="float32")
    seen = []
    training = Training(learner, stream.read(tmp_path / "runs.svm", dtype="float32").with_options(block=1 << 14))
    training.run(on_progress=lambda progress: seen.append(progress.frozen_error))
    progress = training.progress()
    assert progress.error is not None
    assert progress.error < 0.1
    assert progress.frozen_error is not None
    assert progress.frozen_error > 0.3
    assert seen[0] is None
    X, y = rows_of_two_classes(4000)
    rows = [f"{y[i]} " + " ".join(f"{j + 1}:{v:.5g}" for j, v in enumerate(X[i])) for i in range(4000)]
    (tmp_path / "fair.svm").write_text("\n".join(rows) + "\n")
    out = run("train", tmp_path / "fair.svm", "--model", tmp_path / "m", "--algorithm", "arow", "--json")
    told = json.loads(out.stdout)
    assert told["frozen_error"] == pytest.approx(told["error"], abs=0.05)
    words = succeed("train", tmp_path / "fair.svm", "--model", tmp_path / "m", "--algorithm", "arow", "--quiet")
    assert f"error of the frozen model on the next block: {told['frozen_error']:.4f}" in words
    told = json.loads(
        succeed(
            "train",
            tmp_path / "fair.svm",
            "--model",
            tmp_path / "m",
            "--quiet",
            "--json",
            "--algorithm",
            "bcw",
            "--batch",
            "500",
        )
    )
    assert told["frozen_error"] == pytest.approx(told["error"], abs=0.05)


# -- evaluate and compare --------------------------------------------------------------------------------------------


def test_a_class_that_is_never_predicted(tmp_path: Path) -> None:
    data, model = sorted_file(tmp_path), tmp_path / "m"
    lines = data.read_text().splitlines(keepends=True)
    (tmp_path / "train.svm").write_text("".join(lines[:2000]) + lines[-1])
    succeed("train", tmp_path / "train.svm", "--model", model, "--algorithm", "perceptron", "--quiet", "--no-shuffle")
    (tmp_path / "few.svm").write_text("0 1:0\n" * 3 + "1 1:0\n" * 2)  # of rows of zeros the intercept decides
    told = error_of(model, tmp_path / "few.svm")
    one_way = [c["label"] for c in told["classes"] if c["predicted"] == 0]
    assert told["never_predicted"] == one_way
    assert len(one_way) == 1
    words = succeed("evaluate", tmp_path / "few.svm", "--model", model)
    n = 2 if one_way == [1] else 3
    assert f"the model never predicts {one_way[0]}: all {n} rows with that label are mistakes" in words
    if one_way == [1]:
        assert told["precision"] is None
        assert "precision                     none" in words


@pytest.mark.parametrize("format", ["svm", "csv"])
def test_a_tournament_takes_such_rows_in_random_order(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = sorted_file(tmp_path, format)
    with pytest.warns(LabelRunsWarning, match=r"in random order \(seed 0\); shuffle=False keeps"):
        result = sureline.tournament(["arow", "odca"], data)  # of float32 and of float64
    assert "the label changes once in 6,000 rows" in (result.stream["problem"] or "")
    monkeypatch.chdir(tmp_path)
    for each in result.runs:
        assert each.frozen_error is not None
        assert each.error is not None
        assert each.frozen_error < 1.5 * each.error
        assert "shuffle" not in (each.train_command or "")
        succeed(*shlex.split(each.train_command or "")[1:], "--quiet")
        alone = sureline.load(tmp_path / f"{each.algorithm.lower()}.sureline")
        np.testing.assert_array_equal(alone.coef_, result.models[each.name].coef_)


def test_compare_and_tune_take_them_as_train_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, model = sorted_file(tmp_path), tmp_path / "best"
    words = ["tune", data, "--algorithm", "pa", "--grid", "C=0.1,1", "--json", "--quiet"]
    done = run(*words, "--model", model)
    told = json.loads(done.stdout)
    assert "learned from in random order (seed 0); --no-shuffle keeps" in done.stderr
    command = next(each["train_command"] for each in told["runs"] if each["name"] == told["best"])
    monkeypatch.chdir(tmp_path)
    succeed(*shlex.split(command)[1:], "--quiet")
    assert (tmp_path / "pa.sureline").read_bytes() == model.read_bytes()

    for option, said in (("--no-shuffle", "The progressive error flatters"), ("--shuffle", "")):
        done = run("compare", data, "--algorithm", "pa,arow", "--json", "--quiet", option)
        told = json.loads(done.stdout)
        assert said in done.stderr
        for each in told["runs"]:
            assert option in each["train_command"]
            flatters = each["frozen_error"] > 3 * each["error"]
            assert flatters == (option == "--no-shuffle")


def test_the_page_about_a_race_says_so(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    page = tmp_path / "race.html"
    succeed("train", sorted_file(tmp_path), "--quiet", "--model", tmp_path / "m", "--report", page)
    assert "The label changes once in 6,000 rows" in page.read_text()


def test_a_tournament_over_arrays_takes_them_as_fit_does() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(LabelRunsWarning, match="label changes 2 times in 150 rows"):
        result = sureline.tournament([sureline.AROW()], (X, y))
    with pytest.warns(LabelRunsWarning):
        alone = sureline.AROW().fit(X, y)
    np.testing.assert_array_equal(result.models["AROW"].coef_, alone.coef_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_order = sureline.tournament([sureline.AROW(shuffle=False)], (X, y), shuffle=False)
    assert "The progressive error flatters" in (in_order.stream["problem"] or "")
    with pytest.raises(ValueError, match="The 'shuffle' parameter of tournament must be a bool or 'auto'"):
        sureline.tournament([sureline.AROW()], (X, y), shuffle="yes")  # type: ignore[arg-type]


def test_lines_that_are_left_out_are_counted_in_any_order(tmp_path: Path) -> None:
    data = sorted_file(tmp_path)
    data.write_text(data.read_text() + "1 junk\n" * 3)
    words = ["train", data, "--algorithm", "pa", "--model", tmp_path / "m", "--errors", "skip", "--quiet", "--json"]
    for option in ("--shuffle", "--no-shuffle"):
        assert json.loads(succeed(*words, option))["skipped_lines"] == 3
