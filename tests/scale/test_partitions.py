"""Partitions that an engine holds, and tables in shards."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import fail, succeed
from engines import started
from scipy.sparse import csr_array, csr_matrix
from stream_files import write

import sureline
from sureline import scale
from sureline.scale import learn_shard
from sureline.scale.mixing import ClassesOfShards
from sureline.scale.partitions import Held, Rows, Table, Text, train_held
from sureline.stream import DataError
from sureline.stream.arrays import rows_of
from sureline.stream.runs import LabelRunsWarning

pytestmark = pytest.mark.filterwarnings("default")  # those of the engines and their own imports


class Here:
    """An engine that holds partitions in this process."""

    def learn(self, model, shards, *, first_pass):
        for shard in shards:
            rows = shard.rows.made(*shard.rows.handles)
            yield learn_shard(model, replace(shard, rows=rows), first_pass=first_pass)

    def apply(self, function, held):
        return [function(*each) for each in held]


def held(kind: Any, *partitions: Any) -> list[Held]:
    named = [(f"partition {k + 1}", each if isinstance(each, tuple) else (each,)) for k, each in enumerate(partitions)]
    return [Held(parts, partial(kind, name), name) for name, parts in named]


def frame(n: int = 900) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    rows = pd.DataFrame({"x": draw.normal(size=n), "z": draw.normal(size=n), "c": draw.choice(list("abc"), n)})
    rows["label"] = np.where(rows.x + (rows.c == "a") > 0.3, "yes", "no")
    return rows


def lines(n: int = 900) -> list[str]:
    rows = frame(n)
    return [f"{int(x > 0)} 1:{x:.4f} 2:{z:.4f}" for x, z in zip(rows.x, rows.z, strict=True)]


def test_a_worker_learns_from_plain_blocks_without_scikit_learn() -> None:
    """It takes a process that has just started seconds to import."""
    code = """
import sys, numpy as np
from scipy.sparse import csr_matrix
from sureline.learners.catalogue import learner_named
from sureline.scale import ArrayRows, Shard, learn_shard
from sureline.scale.learning import begin
import sureline.scale.partitions
X, y = np.random.default_rng(0).standard_normal((100, 5)), np.arange(100) % 2
base = begin(learner_named("AROW")(), [0, 1])
dense, sparse = (learn_shard(base, Shard(0, 2, 0.5, ArrayRows(rows, y))) for rows in (X, csr_matrix(X)))
assert dense == sparse
assert not {"sklearn", "pandas", "pyarrow"} & set(sys.modules), "imported"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_not_plain_is_checked_as_before() -> None:
    draw = np.random.default_rng(0)
    X, y = draw.standard_normal((60, 4)), draw.integers(0, 2, 60)
    known = next(iter(rows_of((X, y), "float64", None)[0]))
    for other in (X.tolist(), np.asfortranarray(X), csr_matrix(X).tocoo(), pd.DataFrame(X), csr_array(X)):
        chunk = next(iter(rows_of((other, y), "float64", None)[0]))
        assert (chunk.X != known.X).nnz == 0
        assert chunk.y.tolist() == known.y.tolist()
    bad: list[Any] = [(X * np.nan, y), (csr_matrix(X * np.inf), y), (X, y[:-1]), (X[:0], y[:0]), (X, y * np.nan)]
    for rows, labels in [*bad, (X[0], y)]:
        with pytest.raises(ValueError, match=r"NaN|infinity|inconsistent|minimum|2D"):
            rows_of((rows, labels), "float64", None)


def test_partitions_without_a_named_learner() -> None:
    tables = frame(3000)
    parts = [tables.iloc[k : k + 750] for k in range(0, 3000, 750)]
    clf = train_held(held(Table.of, *parts), "auto", Here(), label="label")
    assert clf.n_seen_ == 3000  # those that judged as well
    assert np.mean(clf.predict(tables.drop(columns="label")) == tables.label) > 0.9
    clf = train_held(held(Rows.of, (tables[["x", "z"]], tables.label.to_numpy())), "auto", Here())
    assert clf.n_seen_ == 3000
    assert clf.feature_names_in_.tolist() == ["x", "z"]


def test_what_is_doubtful_of_partitions_is_told() -> None:
    rows = frame().assign(day="01/02/2020")
    with pytest.warns(LabelRunsWarning, match="the column 'day': '01/02/2020' may be read in two ways"):
        train_held(held(Table.of, rows[:500], rows[500:]), "arow", Here(), label="label", r=1.0)
    one = [line for line in lines() if line[0] == "1"]
    with pytest.warns(LabelRunsWarning, match="only one class came, 1: there was nothing to tell apart"):
        train_held(held(Text.of, one[:100], one[100:]), "arow", Here(), r=1.0)


@pytest.mark.parametrize("algorithm", ["arow", "auto"])
def test_partitions_of_one_class_each_are_told(algorithm: str) -> None:
    rows, options = frame(3000), {"label": "label"} | ({"r": 1.0} if algorithm == "arow" else {})
    for sorted_rows in (True, False):
        given = rows.sort_values("label", kind="stable") if sorted_rows else rows
        parts = [given.iloc[k : k + 500] for k in range(0, 3000, 500)]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            train_held(held(Table.of, *parts), algorithm, Here(), **options)
        said = [str(each.message) for each in told if each.category is LabelRunsWarning]
        assert [("lies between the 6 shards" in each) for each in said] == [True] * sorted_rows


def test_classes_of_shards() -> None:
    classes = ClassesOfShards()
    classes.add(np.array([400, 0]))
    assert classes.unequal is None  # one shard
    classes.add(np.array([0, 400]))
    assert classes.unequal == 1.0
    classes = ClassesOfShards()
    for counts in ([300, 100], [100, 300]):
        classes.add(np.array(counts))
    assert classes.unequal == pytest.approx(0.25)  # the square of their correlation
    draw = np.random.default_rng(0)
    for rows in (5, 50, 5000):  # by chance shards of few rows differ much
        for _ in range(50):
            classes = ClassesOfShards()
            for _ in range(20):
                classes.add(np.bincount(draw.choice(3, rows, p=[0.6, 0.3, 0.1])))
            assert classes.unequal is None


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_tables_of_files_in_shards(tmp_path: Path, format: str) -> None:
    rows, paths = frame(), []
    for k in range(3):
        paths.append(tmp_path / f"{k}.{format}")
        part = rows[k::3]
        part.to_csv(paths[-1], index=False) if format == "csv" else part.to_parquet(paths[-1], row_group_size=100)
    options: dict[str, Any] = {"r": 1.0, "shard_size": 4000}
    clf = scale.train(paths, "arow", **options)
    assert clf.n_seen_ == 900
    assert np.mean(clf.predict(rows) == rows.label) > 0.95
    one = scale.train(paths[0], "arow", r=1.0, shard_size=1 << 30, model=tmp_path / "one")
    alone = sureline.train(paths[0], "arow", r=1.0)
    assert np.array_equal(one.model.weights, alone.model.weights)


def test_partitions_of_tables_have_the_columns_of_the_first_rows() -> None:
    rows = frame()
    rows.loc[600:, "c"] = None  # a partition whose column is all missing is still one of categories
    clf = train_held(held(Table.of, rows[:300], rows[300:300], rows[300:600], rows[600:]), "arow", Here(), r=1.0)
    assert clf.n_seen_ == 900
    assert [column["kind"] for column in clf.origin.options["schema"]["columns"]] == [
        "numeric",
        "numeric",
        "categorical",
    ]
    assert np.mean(clf.predict(rows[:600]) == rows.label[:600]) > 0.95


def test_partitions_are_shards_of_rows_in_memory() -> None:
    rows = frame()
    X, y = rows[["x", "z"]].to_numpy(), rows.label.to_numpy(str)
    weights = np.random.default_rng(1).random(900)
    cuts = [slice(0, 200), slice(200, 700), slice(700, 900)]
    dense = [(X[cut], y[cut], weights[cut]) for cut in cuts]
    sparse = [(csr_matrix(X[cut]), y[cut], weights[cut]) for cut in cuts]
    named = [(rows[["x", "z"]][cut], y[cut], weights[cut]) for cut in cuts]
    one, two, three = (train_held(held(Rows.of, *each), "arow", Here(), r=1.0) for each in (dense, sparse, named))
    assert np.array_equal(one.model.weights, two.model.weights)
    assert np.array_equal(one.model.weights, three.model.weights)
    assert three.feature_names_in_.tolist() == ["x", "z"]
    alone = train_held(held(Rows.of, (rows[["x", "z"]], y, weights)), "arow", Here(), r=1.0)
    assert np.array_equal(alone.coef_, sureline.AROW(r=1.0, dtype="float32").fit(X, y, weights).coef_)
    assert alone.feature_names_in_.tolist() == ["x", "z"]


def test_rounds_and_passes_over_partitions() -> None:
    some = lines()
    parts = held(Text.of, *(some[k : k + 150] for k in range(0, 900, 150)))
    told: list[scale.Progress] = []
    clf = train_held(parts, "arow", Here(), r=1.0, rounds=4, passes=2, on_progress=told.append)
    assert clf.n_seen_ == 1800
    assert [each.of for each in told if each.shards == each.of] == [2, 2, 1, 1] * 2


def test_dicts_are_read_as_json_lines(tmp_path: Path) -> None:
    rows = frame().to_dict("records")
    text = write(tmp_path / "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    clf = train_held(held(Text.of, rows), "arow", Here(), r=1.0)
    assert np.array_equal(clf.model.weights, sureline.train(text, "arow", r=1.0).model.weights)
    assert clf.predict(rows[:3]).tolist() == sureline.train(text, "arow", r=1.0).predict(rows[:3]).tolist()


def test_what_partitions_cannot_do() -> None:
    good = lines()
    with pytest.raises(DataError, match="partition 2:901:5: the value 'x'"):
        train_held(held(Text.of, good, [*good, "1 3:x"]), "arow", Here(), r=1.0)
    with pytest.raises(TypeError, match=r"Items of partition 2 must be lines of text or dicts\. Got a int"):
        train_held(held(Text.of, good, [5]), "arow", Here(), r=1.0)
    with pytest.raises(ValueError, match="no rows"):
        train_held(held(Text.of, []), "arow", Here(), r=1.0)
    with pytest.raises(ValueError, match="rounds and passes must be integers from 1"):
        train_held(held(Text.of, good), "arow", Here(), rounds=0)
    for name in ("checkpoint", "shard_size"):
        with pytest.raises(ValueError, match=f"{name} is for files"):
            train_held(held(Text.of, good), "arow", Here(), **{name: 1})
    with pytest.raises(ValueError, match="pass header=False"):
        train_held(held(Text.of, ["a,label", "1,2", "2,1"]), "arow", Here(), r=1.0, format="csv")
    with pytest.raises(TypeError, match="bits has no meaning for arrays"):
        train_held(held(Rows.of, (np.eye(2), [0, 1])), "arow", Here(), r=1.0, bits=4)
    with pytest.raises(ValueError, match="A data frame in memory is not cut"):
        scale.train(sureline.stream.read(frame()), "arow", r=1.0)


def test_lines_that_are_left_out_are_counted(tmp_path: Path) -> None:
    text = lines(6000)
    for k in (7, 2000, 4000):
        text[k] = "1 3:x"
    path = write(tmp_path / "rows.svm", "\n".join(text) + "\n")
    told: list[scale.Progress] = []
    how: dict[str, Any] = {"r": 1.0, "errors": "skip", "shard_size": 40_000, "rounds": 2, "passes": 2}

    class Stops(Exception):
        pass

    def stop(progress: scale.Progress) -> None:
        if progress.round == 2:
            raise Stops

    clf = scale.train(path, "arow", on_progress=told.append, **how)
    assert (clf.n_seen_, told[-1].skipped) == (2 * 5997, 3)
    kept = tmp_path / "kept"
    with pytest.raises(Stops):
        scale.train(path, "arow", on_progress=stop, checkpoint=kept, **how)
    scale.train(path, "arow", on_progress=told.append, checkpoint=kept, resume=True, **how)
    assert told[-1].skipped == 3
    assert 0 < told[-1].before < 5997


# -- Dask -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with started("dask") as running:
        yield running.client


@pytest.mark.xdist_group("dask")
def test_dask_collections(client: Any) -> None:
    bag = pytest.importorskip("dask.bag")
    frames = pytest.importorskip("dask.dataframe")
    from sureline.dask import Distributed, predict, train

    rows = frame()
    table = frames.from_pandas(rows, npartitions=3)
    clf = train(table, "arow", client=client, r=1.0)
    by_hand = train_held(held(Table.of, *(rows[k : k + 300] for k in (0, 300, 600))), "arow", Here(), r=1.0)
    assert np.array_equal(clf.model.weights, by_hand.model.weights)
    answers = predict(clf, table)
    assert answers.npartitions == 3
    assert np.mean(answers.compute() == rows.label) > 0.95
    sure = predict(clf, table, probabilities=True).compute()
    assert sure.columns.tolist() == ["no", "yes"]
    assert sure.index.equals(rows.index)
    np.testing.assert_allclose(sure.sum(axis=1), 1)

    model = Distributed(sureline.AROW(r=1.0), client).fit(table[["x", "z"]], table["label"])
    assert model.estimator_.feature_names_in_.tolist() == ["x", "z"]
    assert np.mean(model.predict(table[["x", "z"]]).compute() == rows.label) > 0.7
    assert model.get_params()["estimator__r"] == 1.0

    some = lines()
    clf = train(bag.from_sequence(some, npartitions=3), "pa", client=client, C=0.1)
    assert clf.n_seen_ == 900
    assert predict(clf, bag.from_sequence(some[:5], npartitions=2)).compute() == clf.predict(some[:5]).tolist()
    clf = train(bag.from_sequence(rows.to_dict("records"), npartitions=4), "arow", client=client, r=1.0)
    assert np.mean(clf.predict(rows.to_dict("records")) == rows.label) > 0.95
    with pytest.raises(DataError, match=r"partition 4:1:5: "):
        train(bag.from_sequence([*some, "1 3:x"], npartitions=3), "arow", client=client, r=1.0)


@pytest.mark.xdist_group("dask")
def test_dask_arrays_with_sparse_blocks(client: Any, tmp_path: Path) -> None:
    da = pytest.importorskip("dask.array")
    from sureline.dask import predict, train

    rows = frame()
    X, y = rows[["x", "z"]].to_numpy(), rows.label.to_numpy(str)
    dense, labels = da.from_array(X, chunks=(400, 2)), da.from_array(y, chunks=250)
    sparse, weights = dense.map_blocks(csr_matrix), da.ones(900, chunks=300)
    one, two = (train((each, labels, weights), "arow", client=client, r=1.0) for each in (dense, sparse))
    assert np.array_equal(one.model.weights, two.model.weights)
    assert predict(one, sparse).compute().tolist() == predict(one, dense).compute().tolist() == one.predict(X).tolist()
    with pytest.raises(ValueError, match="An array has no labels"):
        train(dense, "arow", client=client)
    with pytest.raises(ValueError, match="rechunk"):
        train((dense.rechunk((400, 1)), labels), "arow", client=client)
    with pytest.raises(ValueError, match="must have the same partitions"):
        train((dense.map_blocks(csr_matrix)[dense[:, 0] > 0], labels[:100]), "arow", client=client)


# -- Ray --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with started("ray"):
        yield pytest.importorskip("ray")


@pytest.mark.engines
@pytest.mark.xdist_group("ray")
def test_ray_datasets(ray: Any, tmp_path: Path) -> None:
    import ray.data

    from sureline.ray import predict, train

    rows, found = frame(), []
    parts = held(Table.of, *(rows[k : k + 250] for k in range(0, 900, 250)))
    by_hand = train_held(parts, "arow", Here(), r=1.0)
    for blocks in (1, 5):
        data = ray.data.from_pandas(rows).repartition(blocks)
        clf = train(data, "arow", r=1.0, shard_rows=250, model=tmp_path / "m")
        assert clf.n_seen_ == 900
        assert np.array_equal(clf.model.weights, by_hand.model.weights)
        found.append(checksum(tmp_path / "m"))
    assert found[0] == found[1]
    answers = predict(clf, data, probabilities=True).to_pandas()
    assert answers.label.tolist() == clf.predict(rows).tolist()  # in the order of the rows
    assert np.mean(answers.label == rows.label) > 0.95
    np.testing.assert_allclose(answers["probability of no"] + answers["probability of yes"], 1)
    with pytest.raises(ValueError, match="shard_rows must be"):
        train(data, "arow", shard_rows=0)
    with pytest.raises(ValueError, match="shard_rows is for Datasets"):
        train("rows.svm", "arow", shard_rows=5)


@pytest.mark.engines
@pytest.mark.xdist_group("ray")
def test_ray_on_the_command_line(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.svm", "\n".join(lines()) + "\n")
    command = ("train", path, "--algorithm", "pa", "--model", tmp_path / "m", "--engine", "ray")
    assert "There is no cluster of Ray at 127.0.0.1:9: " in fail(1, *command, "--address", "127.0.0.1:9")


def test_the_command_on_lines_that_are_left_out(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    path = write(tmp_path / "rows.svm", "\n".join([*lines(), "1 3:x"]) + "\n")
    said = succeed(
        "train", path, "--algorithm", "pa", "--C", 1, "--errors", "skip", "--workers", 1, "--model", tmp_path / "m"
    )
    assert "lines that could not be read and were left out: 1" in said
