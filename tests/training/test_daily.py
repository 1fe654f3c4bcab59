"""Daily updates: a model goes on learning from the next file, and answers in the words of its files."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SURELINE, fail, run, succeed
from test_resume import rows_as_text

import sureline
from sureline import stream
from sureline.datasets import make_mail
from sureline.learners.saving import read_learner

WORDS = ["cash", "free", "lunch", "meeting", "now", "prize", "report", "see", "win", "you"]


def texts(n_rows: int, seed: int, *, more: bool = False) -> list[tuple[str, str]]:
    """Labels and texts; of another day with words and a class that are new."""
    rng = np.random.default_rng(seed)
    words = [*WORDS, "urgent", "invoice"] if more else WORDS
    rows = []
    for _ in range(n_rows):
        spam = rng.random() < 0.5
        weights = np.array([3.0 if (k % 2 == 0) == spam else 1.0 for k in range(len(words))])
        chosen = rng.choice(len(words), 4, p=weights / weights.sum())
        label = "spam" if spam else "ham"
        rows.append(("work" if more and rng.random() < 0.2 else label, " ".join(words[k] for k in chosen)))
    return rows


def written(folder: Path, format: str) -> tuple[Path, Path]:
    """Two days in a format; the second has features and a class that the first has not."""
    days = []
    for day, more in ((1, False), (2, True)):
        rows = texts(300, day, more=more)
        if format == "svm":
            columns = {word: k + 1 for k, word in enumerate([*WORDS, "urgent", "invoice"])}
            code = {"ham": -1, "spam": 1, "work": 3}
            lines = [
                f"{code[y]} " + " ".join(f"{j}:{t.split().count(w)}" for w, j in columns.items() if w in t.split())
                for y, t in rows
            ]
        elif format == "vw":
            code = {"ham": 1, "spam": 2, "work": 3}
            lines = [f"{code[y]} |a {t} |n length:{len(t)}" for y, t in rows]
        elif format == "csv":
            columns_of_day = "label,first,second,length" if not more else "length,label,second,first,third"
            lines = [columns_of_day]
            for y, t in rows:
                a, b, c, *_ = t.split()
                lines.append(f"{y},{a},{b},{len(t)}" if not more else f"{len(t)},{y},{b},{a},{c}")
        else:
            lines = [f"{y}\t{t}" for y, t in rows]
        path = folder / f"day{day}.{format}"
        path.write_text("\n".join(lines) + "\n")
        days.append(path)
    return days[0], days[1]


FORMATS = {"svm": [], "vw": [], "csv": [], "txt": ["--format", "text"]}


@pytest.mark.parametrize("format", FORMATS)
def test_two_days_are_one_training(format: str, tmp_path: Path) -> None:
    one, two = written(tmp_path, format)
    for algorithm in ("scw", "ssol", "ftrl", "odca", "sofs"):
        words = ["--algorithm", algorithm, "--normalize", "scale", "--quiet", *FORMATS[format]]
        both, first, second = (tmp_path / name for name in ("both", "first", "second"))
        succeed("train", one, two, "--model", both, *words)
        succeed("train", one, "--model", first, *words)
        out = succeed("train", two, "--from", first, "--model", second, "--quiet", "--json", *FORMATS[format])
        assert second.read_bytes() == both.read_bytes(), algorithm
        told = json.loads(out)
        assert told["examples"] == 600
        assert told["since_start"]["examples"] == 300
        before = json.loads(succeed("inspect", first, "--json"))["mistakes"]
        assert told["since_start"]["mistakes"] == told["mistakes"] - before
        assert len(told["labels"]) == 3


def test_batches_end_where_they_end(tmp_path: Path) -> None:
    one, two = written(tmp_path, "svm")
    words = ["--algorithm", "bcw", "--batch", "100", "--quiet"]
    succeed("train", one, two, "--model", tmp_path / "both", *words)
    succeed("train", one, "--model", tmp_path / "first", *words)
    succeed("train", two, "--from", tmp_path / "first", "--model", tmp_path / "second", "--batch", "100", "--quiet")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "both").read_bytes()


def test_numbers_are_gone_on_with_too(tmp_path: Path) -> None:
    for day in (1, 2):
        rows = np.random.default_rng(day).standard_normal((200, 3))
        (tmp_path / f"{day}.svm").write_text("".join(f"{a + 2 * b} 1:{a} 2:{b} 3:{c}\n" for a, b, c in rows))
    words = ["--algorithm", "odca-regressor", "--quiet"]
    succeed("train", tmp_path / "1.svm", tmp_path / "2.svm", "--model", tmp_path / "both", *words)
    succeed("train", tmp_path / "1.svm", "--model", tmp_path / "m", *words)
    out = succeed("train", tmp_path / "2.svm", "--from", tmp_path / "m", "--model", tmp_path / "m", "--quiet")
    assert "of these new: 200 examples, mean loss" in out
    assert (tmp_path / "m").read_bytes() == (tmp_path / "both").read_bytes()


def test_labels_of_two_kinds_are_known_again(tmp_path: Path) -> None:
    for day, labels in ((1, "1b"), (2, "1bc2")):
        (tmp_path / f"{day}.svm").write_text("".join(f"{labels[i % len(labels)]} {i % 7}:1\n" for i in range(50)))
    words = ["--algorithm", "pa", "--quiet"]
    succeed("train", tmp_path / "1.svm", tmp_path / "2.svm", "--model", tmp_path / "both", *words)
    succeed("train", tmp_path / "1.svm", "--model", tmp_path / "first", *words)
    succeed("train", tmp_path / "2.svm", "--from", tmp_path / "first", "--model", tmp_path / "second", "--quiet")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "both").read_bytes()


def test_a_model_takes_its_own_place_when_all_is_done(tmp_path: Path) -> None:
    one, two = written(tmp_path, "svm")
    model = tmp_path / "m.sureline"
    words = ["--algorithm", "arow", "--normalize", "none", "--quiet"]
    succeed("train", one, two, "--model", tmp_path / "both", *words)
    succeed("train", one, "--model", model, *words)
    link = tmp_path / "link.sureline"
    link.symlink_to(model)
    assert "is read" in fail(2, "train", two, "--from", model, "--model", tmp_path / "x", "--log", model)
    assert "is read" in fail(2, "train", two, "--from", link, "--model", tmp_path / "x", "--log", model)
    succeed("train", two, "--from", model, "--model", model, "--quiet")
    assert model.read_bytes() == (tmp_path / "both").read_bytes()


def test_what_contradicts_the_model(tmp_path: Path) -> None:
    one, two = written(tmp_path, "svm")
    vw, _ = written(tmp_path, "vw")
    model, other = tmp_path / "m", tmp_path / "other"
    succeed("train", one, "--model", model, "--algorithm", "arow", "--r", "2", "--quiet")
    succeed("train", vw, "--model", other, "--algorithm", "arow", "--bits", "12", "--quiet")

    def said(*words: Any, status: int = 2, start: Path = model, data: Path = two) -> str:
        return fail(status, "train", data, "--from", start, "--model", tmp_path / "x", "--quiet", *words)

    assert "is a model of AROW, and cannot be gone on with by SCW" in said("--algorithm", "scw")
    assert "was trained with --r=2.0, and cannot be gone on with --r=1.0" in said("--r", "1")
    assert "was trained with --dtype='float32'" in said("--dtype", "float64")
    assert "AROW, which has no parameter 'eta'" in said("--eta", "0.9")
    assert "has the labels [-1, 1], not [1, -1]" in said("--labels", "1,-1")
    assert "the label 3 is not among those given" in said("--labels=-1,1", status=1)
    assert "columns are hashed as Vowpal Wabbit does it" in said(status=1, data=vw)
    assert "are hashed to 2^10 columns" in said("--bits", "10", status=1, start=other, data=vw)
    succeed("train", two, "--from", model, "--model", tmp_path / "x", "--passes", "2", "--r", "2", "--quiet")
    succeed("train", one, "--model", tmp_path / "small", "--algorithm", "arow", "--compact", "--quiet")
    assert "small is compact" in said(status=1, start=tmp_path / "small")
    (tmp_path / "empty.svm").write_text("")
    assert "there are no examples" in said("--format", "libsvm", status=1, data=tmp_path / "empty.svm")


def test_resuming_what_is_finished_is_refused(tmp_path: Path) -> None:
    one, two = written(tmp_path, "svm")
    model = tmp_path / "m"
    succeed("train", one, "--model", model, "--algorithm", "arow", "--quiet", "--resume")
    before = model.read_bytes()
    said = fail(2, "train", two, "--model", model, "--algorithm", "arow", "--resume")
    assert f"--from {model} goes on learning from it" in said
    assert model.read_bytes() == before
    with pytest.raises(ValueError, match="start="):
        sureline.train(two, "arow", model=model, checkpoint=tmp_path / "c", resume=True)
    assert "starting from" in run("train", two, "--from", model, "--model", model, "--resume").stderr


def test_killed_and_resumed(tmp_path: Path) -> None:
    days = [tmp_path / "1.svm", tmp_path / "2.svm"]
    for day, path in enumerate(days):
        path.write_bytes(rows_as_text(12_000, day))
    words = ["--algorithm", "ssol", "--lam", "0.05", "--cost", "balanced", "--quiet"]
    succeed("train", *days, "--model", tmp_path / "both", *words)
    first, model, place = tmp_path / "first", tmp_path / "m", tmp_path / "m.checkpoint"
    succeed("train", days[0], "--model", first, *words)
    job = ["train", str(days[1]), "--from", str(first), "--model", str(model), "--quiet", "--checkpoint", "every=1k"]
    while not place.exists():  # again, if it came to its end before it was killed
        model.unlink(missing_ok=True)
        process = subprocess.Popen([*SURELINE, *job], stdout=subprocess.DEVNULL)
        while process.poll() is None and not place.exists():
            time.sleep(0.002)
        process.kill()
        process.wait()
    other = tmp_path / "other"
    succeed("train", days[0], "--model", other, *words, "--passes", "2")
    assert "from another model" in fail(1, *_with(job, "--from", other), "--resume", "--passes", "1")
    assert "began from a model" in fail(1, *job[:2], *job[4:], *words[:-1], "--resume")
    succeed(*job, "--resume")
    assert model.read_bytes() == (tmp_path / "both").read_bytes()


def _with(job: list[str], option: str, value: Any) -> list[str]:
    at = job.index(option)
    return [*job[: at + 1], str(value), *job[at + 2 :]]


def test_every_place_to_stop_at(tmp_path: Path) -> None:
    """After each chunk of the second day."""
    from sureline.learners.catalogue import LEARNERS
    from sureline.training import Training
    from sureline.training.checkpoint import Checkpointing
    from sureline.training.start import Start

    one, two = written(tmp_path, "svm")
    sureline.train(one, "arow", r=1.0, model=tmp_path / "first")
    whole = sureline.train([one, two], "arow", r=1.0, model=tmp_path / "both")
    assert type(whole).__name__ in LEARNERS

    class Stop(Exception):
        pass

    for stop_after in (1, 3, 5):
        place, left = tmp_path / "c", stop_after

        def training() -> Training:
            start = Start.read(tmp_path / "first")
            source = stream.read(two, dtype="float32").with_options(block=1 << 10)
            return Training(start.learner, source, start=start)

        running = training()
        save = running.save_checkpoint

        def counted(path: Path, save: Any = save) -> None:
            nonlocal left
            save(path)
            left -= 1
            if left == 0:
                raise Stop

        running.save_checkpoint = counted  # type: ignore[method-assign]
        with pytest.raises(Stop):
            running.run(checkpointing=Checkpointing(place, examples=1))
        again = training()
        again.resume(place)
        assert 300 < again.examples < 600
        again.run()
        again.save_model(tmp_path / "second")
        assert (tmp_path / "second").read_bytes() == (tmp_path / "both").read_bytes()


@pytest.mark.filterwarnings("ignore:third of .*day2.csv is not a column of the model")
def test_from_python(tmp_path: Path) -> None:
    one, two = written(tmp_path, "csv")
    with pytest.warns(UserWarning, match=r"third of .*day2\.csv is not a column of the model"):
        sureline.train([one, two], "scw", C=0.5)
    whole = sureline.train([one, two], "scw", C=0.5)
    first = sureline.train(one, "scw", C=0.5, model=tmp_path / "m")
    weights = first.coef_.copy()
    starts: list[Any] = [tmp_path / "m", str(tmp_path / "m"), first, sureline.load(tmp_path / "m")]
    starts.append(read_learner(tmp_path / "m").learner)
    for start in starts:
        second = sureline.train(two, start=start)
        np.testing.assert_array_equal(second.coef_, whole.coef_)
        assert second.classes_.tolist() == whole.classes_.tolist()
        assert second.n_seen_ == 600
    np.testing.assert_array_equal(first.coef_, weights)  # it stays as it was
    sureline.train(two, start=tmp_path / "m", model=tmp_path / "m")
    np.testing.assert_array_equal(sureline.load(tmp_path / "m").coef_, whole.coef_)
    with pytest.raises(ValueError, match=r"trained with C=0\.5"):
        sureline.train(two, start=first, C=1.0)
    with pytest.raises(ValueError, match="model of SCW, and cannot be gone on with by AROW"):
        sureline.train(two, "arow", start=first)
    with pytest.raises(ValueError, match=r"trained with C=0\.5"):
        sureline.train(two, sureline.SCW(dtype="float32", C=2.0), start=first)
    with pytest.raises(stream.DataError, match="hashed to"):
        sureline.train(two, start=first, bits=10)
    with pytest.raises(ValueError, match="has not"):
        sureline.train(two, start=sureline.SCW())
    with pytest.raises(TypeError, match="start must be"):
        sureline.train(two, start=3)


def test_a_model_of_files_takes_rows_of_any_width(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, width in (("train", 113), ("narrow", 112), ("wide", 120)):
        X = rng.integers(0, 2, (200, width))
        X[:, -1] = 1
        y = 2 * (X[:, 1] + X[:, 2] > X[:, 3]) - 1
        rows = [f"{y[i]} " + " ".join(f"{j}:1" for j in np.flatnonzero(X[i]) if j) for i in range(200)]
        (tmp_path / f"{name}.svm").write_text("\n".join(rows) + "\n")
    for algorithm in ("arow", "bcw"):
        words = ["--algorithm", algorithm, "--quiet"]
        succeed("train", tmp_path / "train.svm", "--model", tmp_path / "m", *words)
        clf = sureline.load(tmp_path / "m")
        assert clf.n_features_in_ == 113
        for name, width in (("narrow", 112), ("wide", 120)):
            data = tmp_path / f"{name}.svm"
            X, y = next(iter(stream.read(data, dtype="float32")))
            assert X.shape == (200, width)
            told = json.loads(succeed("evaluate", data, "--model", tmp_path / "m", "--json"))
            assert told["error"] == pytest.approx(np.mean(clf.predict(X) != y))
            rows = succeed("predict", data, "--model", tmp_path / "m", "--json").splitlines()
            assert [json.loads(row)["label"] for row in rows] == clf.predict(X).tolist()
            assert [json.loads(row)["score"] for row in rows] == clf.decision_function(X).tolist()
            more = sureline.load(tmp_path / "m").partial_fit(X, y)
            succeed("train", data, "--from", tmp_path / "m", "--model", tmp_path / "n", "--quiet")
            np.testing.assert_array_equal(more.coef_, sureline.load(tmp_path / "n").coef_)
            assert more.n_features_in_ == max(width, 113)
    one = sureline.load(tmp_path / "m") if algorithm == "arow" else sureline.train(tmp_path / "train.svm", "arow")
    one.learn_one({119: 1.0}, 1)
    assert one.n_features_in_ == 120
    fitted = sureline.AROW().fit(rng.standard_normal((20, 5)), np.arange(20) % 2)
    with pytest.raises(ValueError, match="features"):
        fitted.predict(rng.standard_normal((20, 4)))
    with pytest.raises(ValueError, match="features"):
        fitted.partial_fit(rng.standard_normal((20, 6)), np.arange(20) % 2)


def test_load_learn_save_keeps_names_and_format(tmp_path: Path) -> None:
    one, _ = written(tmp_path, "txt")
    succeed("train", one, "--format", "text", "--model", tmp_path / "m", "--algorithm", "arow", "--quiet")
    before = json.loads(succeed("inspect", tmp_path / "m", "--json"))
    clf = sureline.load(tmp_path / "m")
    for text in ("free cash txt", "txt txt now"):
        clf.learn_one(text, "spam")
    clf.partial_fit(["lunch txt", "win prize"], ["ham", "spam"])
    sureline.save(clf, tmp_path / "m2")
    after = json.loads(succeed("inspect", tmp_path / "m2", "--json"))
    assert after["input"] == before["input"] == {"format": "text", "bits": 20}
    assert after["names"]["kept"] == before["names"]["kept"] + 1
    assert "txt" in {name for weight in after["top"] for name in weight["names"]}
    # The same rows from a file, with names and all.
    more = tmp_path / "more.txt"
    more.write_text("spam\tfree cash txt\nspam\ttxt txt now\nham\tlunch txt\nspam\twin prize\n")
    succeed("train", more, "--format", "text", "--from", tmp_path / "m", "--model", tmp_path / "m3", "--quiet")
    assert json.loads(succeed("inspect", tmp_path / "m3", "--json"))["top"] == after["top"]
    fitted = clf.fit(np.eye(4), [0, 1, 0, 1])
    sureline.save(fitted, tmp_path / "m4")
    assert json.loads(succeed("inspect", tmp_path / "m4", "--json"))["input"] == {}


EXAMPLES: dict[str, list[Any]] = {
    "txt": ["free cash", "lunch Meeting\tnow\nsee", "", "nothing known"],
    "vw": ["|a free cash |n length:3", {"a^free": 1.0, "a^cash": 1.0, "n^length": 3.0}, {"plain": 2.0}, "1 |a see"],
    "csv": [{"first": "free", "second": "cash", "length": 9}, {"first": "see", "length": np.float32(0.5)}, {}],
    "svm": ["1:1 3:2", "12:1", "-1 2:1", "3:0.5 40:1"],
}
AS_LINES = {
    "txt": ["\tfree cash", "\tlunch Meeting now see", "\t", "\tnothing known"],
    "vw": ["|a free cash |n length:3", "|a free cash |n length:3", "| plain:2", "1 |a see"],
    "csv": ["first,second,length", "free,cash,9", "see,,0.5", ",,"],
    "svm": ["1 1:1 3:2", "1 12:1", "-1 2:1", "1 3:0.5 40:1"],
}


@pytest.mark.parametrize("format", FORMATS)
def test_answers_in_python_are_those_of_the_command(format: str, tmp_path: Path) -> None:
    one, two = written(tmp_path, format)
    data = tmp_path / f"ask.{format}"
    data.write_text("\n".join(AS_LINES[format]) + "\n")
    asked = EXAMPLES[format]
    for files, algorithm in (([one], "scw"), ([one, two], "arow")):
        succeed("train", *files, "--model", tmp_path / "m", "--algorithm", algorithm, "--quiet", *FORMATS[format])
        rows = succeed("predict", data, "--model", tmp_path / "m", "--json", *FORMATS[format]).splitlines()
        answers = [json.loads(row) for row in rows]
        clf = sureline.load(tmp_path / "m")
        assert clf.predict(asked).tolist() == [a["label"] for a in answers]
        assert [clf.predict_one(x) for x in asked] == [a["label"] for a in answers]
        assert clf.confidence(asked).tolist() == [a["confidence"] for a in answers]
        scores = clf.decision_function(asked)
        best = scores if scores.ndim == 1 else scores.max(axis=1)
        assert best.tolist() == [a["score"] for a in answers]
        proba = clf.predict_proba(asked)
        for k, x in enumerate(asked):
            assert list(clf.predict_proba_one(x).values()) == proba[k].tolist()
    assert clf.predict(np.array(asked, object)).tolist() == [a["label"] for a in answers]


def test_tables_of_pandas_are_tables(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    one, _ = written(tmp_path, "csv")
    clf = sureline.train(one, "arow")
    frame = pandas.DataFrame({"first": ["free", None], "second": ["cash", "see"], "length": [9.0, np.nan]})
    alone = [{"first": "free", "second": "cash", "length": 9.0}, {"second": "see"}]
    assert clf.decision_function(frame).tolist() == clf.decision_function(alone).tolist()


def test_examples_that_are_none(tmp_path: Path) -> None:
    text, _ = written(tmp_path, "txt")
    vw, _ = written(tmp_path, "vw")
    csv, _ = written(tmp_path, "csv")
    of_text, of_vw, of_csv = (
        sureline.train(text, "arow", format="text"),
        *(sureline.train(f, "arow") for f in (vw, csv)),
    )
    with pytest.raises(TypeError, match="must be a text: the model was trained from text"):
        of_text.predict_one({"free": 1.0})
    with pytest.raises(TypeError, match="must be a dict of the columns of the table"):
        of_csv.predict(["free cash"])
    with pytest.raises(ValueError, match="Example 1 has the name 'b c'"):
        of_vw.predict([{"a^x": 1.0}, {"b c": 1.0}])
    with pytest.raises(ValueError, match="Example 0 cannot be read as vw"):
        of_vw.predict_one("|a x:1:2:3")
    with pytest.raises(ValueError, match="it is 2 rows"):
        of_vw.predict_one("|a x\n|a y")
    with pytest.raises(TypeError, match="must be a dict of the columns of the table"):
        of_csv.predict_one("free cash")
    for no_number in (float("inf"), "long"):
        with pytest.raises(ValueError, match=r"Example 0 cannot be read as csv: .* is not a number"):
            of_csv.predict_one({"length": no_number})
    missing = of_csv.decision_function([{"length": float("nan")}, {"length": None}])  # in a table NaN is no fault
    assert missing[0] == missing[1]
    before = of_text.coef_.copy()
    with pytest.raises(ValueError, match="not among the classes"):
        of_text.partial_fit(["free"], ["other"])
    np.testing.assert_array_equal(of_text.coef_, before)


def test_an_estimator_of_text_can_be_pickled_and_copied(tmp_path: Path) -> None:
    import copy
    import pickle

    path = tmp_path / "mail.txt"
    mail, kinds = make_mail(300, random_state=0)
    path.write_text("".join(f"{kind}\t{text}\n" for text, kind in zip(mail, kinds, strict=True)))
    clf = sureline.train(path, "arow", format="text")
    for twin in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert twin.predict_one("free cash now") == clf.predict_one("free cash now")
        sureline.save(twin, tmp_path / "m")
        assert read_learner(tmp_path / "m").names is not None
