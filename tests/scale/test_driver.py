"""Rounds of shards of files, on whatever engine."""

import hashlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fail, succeed
from forge import canonical, put_together, take_apart
from scipy.sparse import csr_matrix
from stream_files import write, write_rows

import sureline
from sureline import datasets, scale
from sureline.learners.catalogue import learner_named
from sureline.scale import learn_shard, learning
from sureline.scale.team import Team
from sureline.scale.train import learners_of
from sureline.stream import DataError, read
from sureline.stream.runs import LabelRunsWarning

SIZE = 60_000  # bytes of a shard


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = datasets.make_stream_like("rcv1", 1500, random_state=2)
    return write_rows(tmp_path_factory.mktemp("scale") / "rows.svm", X, y)


def trained(data: Path, path: Path, **options: Any) -> str:
    """The checksum of the model."""
    scale.train(data, "arow", r=1.0, model=path, **{"shard_size": SIZE, **options})
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_model_does_not_depend_on_the_engine(data: Path, tmp_path: Path) -> None:
    class Backwards:
        def learn(self, model, shards, *, first_pass):
            for shard in reversed(shards):
                yield learn_shard(model, shard, first_pass=first_pass)

    alone = trained(data, tmp_path / "a")
    assert trained(data, tmp_path / "b", engine=Backwards()) == alone
    assert trained(data, tmp_path / "c", rounds=2) != alone
    assert trained(data, tmp_path / "d", shard_size=2 * SIZE) != alone


def test_rows_are_counted_once_where_a_round_has_one_shard(data: Path) -> None:
    told: list[scale.Progress] = []
    model = scale.train(data, "arow", r=1.0, shard_size=1 << 30, passes=3, on_progress=told.append)
    assert [one.examples for one in told] == [1500, 3000, model.n_seen_]
    assert told[-1].mistakes == model.n_mistakes_


def test_what_is_doubtful_is_told(tmp_path: Path) -> None:
    lines = "".join(f"01/02/2020,{k % 7},{k % 2}\n02/01/2020,{k % 5},{k % 2}\n" for k in range(200))
    path = write(tmp_path / "a.csv", "day,x,label\n" + lines)
    with pytest.warns(LabelRunsWarning, match="the column 'day': '01/02/2020' may be read in two ways"):
        scale.train(path, "arow", r=1.0)


def test_a_checkpoint_is_of_one_metric(data: Path) -> None:
    stream = read(data, dtype="float32", collect_names=True)
    plan = scale.Plan.of(stream, size=SIZE)
    members = tuple(scale.start(learner_named(name)(), stream, None) for name in ("AROW", "PA"))
    assert len({plan.checksum(Team(members, metric).to_bytes()) for metric in ("error", "auc")}) == 2


def test_one_shard_is_the_file_of_train(data: Path, tmp_path: Path) -> None:
    for name, passes in (("arow", 1), ("ftrl", 1), ("pa", 2)):
        sureline.train(data, name, normalize="scale", passes=passes, model=tmp_path / "alone")
        scale.train(data, name, normalize="scale", passes=passes, model=tmp_path / "shard", shard_size=1 << 30)
        ours, theirs = (sureline.load(tmp_path / each) for each in ("shard", "alone"))
        assert np.array_equal(ours.model.weights, theirs.model.weights)
        assert np.array_equal(ours.model.record, theirs.model.record)
        assert ours.progressive_.mistakes.tolist() == theirs.progressive_.mistakes.tolist()


@pytest.mark.parametrize(("name", "options"), [("bcw", {"C": 0.1}), ("arow", {"covariance": "full", "r": 1.0})])
def test_one_shard_is_the_file_of_train_with_a_full_covariance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, Any]
) -> None:
    """Batches end after as many rows, wherever the blocks of the file do."""
    draw = np.random.default_rng(0)
    X = csr_matrix(draw.standard_normal((600, 20)) * (draw.random((600, 20)) < 0.5))
    path = write_rows(tmp_path / "few.svm", X, (X.sum(axis=1).A1 > 0).astype(int))
    monkeypatch.setattr(learning, "BATCH", 250)
    batch = {"batch": 250} if name == "bcw" else {}
    sureline.train(path, name, model=tmp_path / "alone", **batch, **options)
    scale.train(path, name, model=tmp_path / "shard", shard_size=1 << 30, **options)
    assert (tmp_path / "shard").read_bytes() == (tmp_path / "alone").read_bytes()


@pytest.mark.parametrize("compression", ["", ".gz"])
def test_shards_have_every_row_once(data: Path, tmp_path: Path, compression: str) -> None:
    lines = data.read_text().splitlines(keepends=True)
    for k in range(3):
        write(tmp_path / f"part{k}.svm", "".join(lines[k::3]), compression)
    stream = read(str(tmp_path / "part*"))
    rounds = scale.shards_of(stream, SIZE, 2)
    assert len(rounds) == 2
    assert sum(len(shards) for shards in rounds) == 3 if compression else sum(map(len, rounds)) > 6
    rows = sum(chunk.n_rows for shards in rounds for shard in shards for chunk in shard.rows.chunks("float32"))
    assert rows == len(lines)
    assert all(abs(sum(shard.share for shard in shards) - 1) < 1e-9 for shards in rounds if shards)


class Stops:
    """An engine that dies after so many shards."""

    def __init__(self, shards: int) -> None:
        self.left = shards

    def learn(self, model, shards, *, first_pass):
        for shard in shards:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            yield learn_shard(model, shard, first_pass=first_pass)


def test_a_new_driver_goes_on_to_the_same_bits(data: Path, tmp_path: Path) -> None:
    rounds = {"rounds": 3, "passes": 2, "shard_size": SIZE // 2}
    whole = trained(data, tmp_path / "whole", **rounds)
    checkpoint = tmp_path / "model.checkpoint"
    for shards in (1, 40, 50):
        with pytest.raises(KeyboardInterrupt):
            trained(data, tmp_path / "model", engine=Stops(shards), checkpoint=checkpoint, resume=True, **rounds)
    assert checkpoint.exists()
    other = write(tmp_path / "other.svm", data.read_bytes()[:-1000])
    with pytest.raises(ValueError, match="is of other data"):
        trained(other, tmp_path / "model", checkpoint=checkpoint, resume=True, **rounds)
    with pytest.raises(ValueError, match="is of other data"):
        trained(data, tmp_path / "model", checkpoint=checkpoint, resume=True, **{**rounds, "passes": 3})
    for another in ({"algorithm": "pa"}, {"r": 2.0}, {"labels": [1, 0]}):
        how = {"algorithm": "arow", **({} if "algorithm" in another else {"r": 1.0}), **another}
        with pytest.raises(ValueError, match="of another learner, metric or parameters"):
            scale.train(data, checkpoint=checkpoint, resume=True, **rounds, **how)
    assert trained(data, tmp_path / "model", checkpoint=checkpoint, resume=True, **rounds) == whole
    assert not checkpoint.exists()
    checkpoint.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"model\.checkpoint is"):
        trained(data, tmp_path / "model", checkpoint=checkpoint, resume=True, **rounds)


def test_a_checkpoint_of_another_training_is_left_alone(data: Path, tmp_path: Path) -> None:
    """A training of one round writes none, and removes none."""
    checkpoint = write(tmp_path / "model.checkpoint", b"of another training")
    trained(data, tmp_path / "model", checkpoint=checkpoint)
    assert checkpoint.read_bytes() == b"of another training"


def test_forged_checkpoints(data: Path, tmp_path: Path) -> None:
    rounds = {"rounds": 3, "shard_size": SIZE // 2}
    checkpoint = tmp_path / "model.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        trained(data, tmp_path / "model", engine=Stops(40), checkpoint=checkpoint, **rounds)
    words, tensors = take_apart(checkpoint.read_bytes())
    code, _, content = tensors["model"]
    half = (code, [len(content) // 2], content[: len(content) // 2])
    forged: list[tuple[dict[str, Any], dict[str, Any]]] = [({**words, name: value}, tensors) for name, value in (
        ("done", -1), ("done", 3), ("done", True), ("done", 1.0), ("skipped", -5), ("skipped", "1"), ("format", 2),
        ("plan", None), ("more", 1),
    )]  # fmt: skip
    forged += [
        (words, more) for more in ({}, {"model": half}, {**tensors, "other": half}, {"model": ("F64", [], b"\0" * 8)})
    ]
    for metadata, arrays in forged:
        checkpoint.write_bytes(put_together(canonical(metadata), arrays))
        with pytest.raises(ValueError, match=r"^(?!.*internal).*(checkpoint|bytes of a model)"):
            trained(data, tmp_path / "model", checkpoint=checkpoint, resume=True, **rounds)
        assert not (tmp_path / "model").exists()


def test_what_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="CW with these parameters cannot be learned in shards"):
        scale.train(data, "cw")
    with pytest.raises(ValueError, match="is read, and must not be written over"):
        scale.train(data, "arow", model=data)
    with pytest.raises(ValueError, match="rounds must be"):
        scale.train(data, "arow", rounds=0)
    bad = write(tmp_path / "bad.svm", data.read_text() + "1 3:x\n" + data.read_text())
    with pytest.raises(DataError) as error:
        trained(bad, tmp_path / "m")
    assert (error.value.file, error.value.line) == (str(bad), 1501)


def test_auto_chooses_among_those_that_can_be_merged(data: Path, tmp_path: Path) -> None:
    tried = learners_of("auto", {})
    assert {type(learner).__name__ for learner in tried} >= {"SCW", "AROW", "FTRL", "SSOL", "AdaFOBOS"}
    assert not {"CW", "SOFS", "ODCA"} & {type(learner).__name__ for learner in tried}
    clf = scale.train(data, "Auto", shard_size=SIZE)
    assert clf.n_seen_ == 1500  # those that were held back as well
    said = succeed("train", data, "--workers", 1, "--shard-size", SIZE, "--model", tmp_path / "m")
    assert said.startswith(f"{type(clf).__name__}: 1,500 examples")
    scale.train(data, "auto", shard_size=SIZE, model=tmp_path / "other")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "other").read_bytes()
    with pytest.raises(ValueError, match="r is a parameter of "):
        scale.train(data, "auto", r=1.0)


def test_rows_that_are_sorted_by_label(data: Path, tmp_path: Path) -> None:
    lines = sorted(data.read_text().splitlines(keepends=True), key=lambda line: line[0])
    with pytest.warns(LabelRunsWarning, match="Shards of such rows have one class each"):
        trained(write(tmp_path / "sorted.svm", "".join(lines)), tmp_path / "m")


# -- Dask -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed")
    from sureline.dask import local_client

    with local_client(2) as client:
        yield client


pytestmark = pytest.mark.filterwarnings("default")  # those of Dask and its own imports


@pytest.mark.xdist_group("dask")
def test_dask_gives_the_same_bits_whoever_dies(data: Path, tmp_path: Path, client: Any) -> None:
    import sureline.dask

    alone = trained(data, tmp_path / "a", rounds=2)
    options = {"shard_size": SIZE, "rounds": 2, "r": 1.0, "client": client, "model": tmp_path / "b"}
    sureline.dask.train(data, "arow", **options)
    assert hashlib.sha256((tmp_path / "b").read_bytes()).hexdigest() == alone
    killed = []

    def kill(progress: scale.Progress) -> None:
        if not killed and progress.round == 2:
            pids = [worker.pid for worker in client.cluster.workers.values()]
            killed.extend(pids)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    sureline.dask.train(data, "arow", on_progress=kill, **options)
    assert killed
    assert hashlib.sha256((tmp_path / "b").read_bytes()).hexdigest() == alone


@pytest.mark.xdist_group("dask")
def test_dask_says_where_a_line_is_damaged_and_goes_on(data: Path, tmp_path: Path, client: Any) -> None:
    import sureline.dask

    bad = write(tmp_path / "bad.svm", data.read_text() + "1 3:x\n")
    with pytest.raises(DataError) as error:
        sureline.dask.train(bad, "arow", r=1.0, client=client, shard_size=SIZE)
    assert (error.value.line, error.value.column) == (1501, 5)
    clf = sureline.dask.train(data, "arow", r=1.0, client=client, shard_size=SIZE)
    assert clf.n_seen_ == 1500


@pytest.mark.xdist_group("dask")
def test_two_clients_at_once(data: Path, tmp_path: Path, client: Any) -> None:
    from distributed import Client

    import sureline.dask

    found = {}

    def work(name: str, own: Any) -> None:
        options = {"r": 1.0, "client": own, "shard_size": SIZE, "model": tmp_path / name}
        sureline.dask.train(data, "arow", **options)
        found[name] = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()

    with Client(client.scheduler.address) as other:
        threads = [threading.Thread(target=work, args=each) for each in (("a", client), ("b", other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found["a"] == found["b"] == trained(data, tmp_path / "c")


@pytest.mark.xdist_group("dask")
def test_dask_arrays(client: Any) -> None:
    import dask.array as da

    from sureline.dask import Distributed, predict

    X = np.random.default_rng(0).standard_normal((3000, 10))
    y = np.array(["no", "yes"])[(X[:, 0] + X[:, 1] > 0).astype(int)]
    lazy_X, lazy_y = da.from_array(X, chunks=(800, 10)), da.from_array(y, chunks=500)
    model = Distributed(sureline.AROW(), client).fit(lazy_X, lazy_y)
    assert model.estimator_.n_seen_ == 3000
    assert np.mean(model.predict(lazy_X).compute() == y) > 0.95
    answers = predict(model.estimator_, lazy_X, probabilities=True)
    assert answers.shape == (3000, 2)
    np.testing.assert_array_equal(answers.compute(), model.estimator_.predict_proba(X))


@pytest.mark.xdist_group("dask")
def test_the_command_on_workers(data: Path, tmp_path: Path, client: Any) -> None:
    model = tmp_path / "m.sureline"
    alone = trained(data, tmp_path / "a")
    to = ("--scheduler", client.scheduler.address, "--shard-size", SIZE)
    said = succeed("train", data, "--algorithm", "arow", "--r", "1", *to, "--model", model)
    assert said.startswith("AROW: 1,500 examples")
    assert hashlib.sha256(model.read_bytes()).hexdigest() == alone
    named = ("train", data, "--workers", "2", "--model", model, "--algorithm")
    assert "CW with these parameters cannot" in fail(2, *named, "cw")
    assert "--compact has no meaning" in fail(2, *named, "arow", "--compact")
    assert "There is no scheduler" in fail(
        1, "train", data, "--algorithm", "pa", "--model", model, "--scheduler", "tcp://127.0.0.1:9"
    )


def test_a_damaged_line_ends_the_command_soon(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    bad = write(tmp_path / "bad.svm", data.read_text() + "1 3:x\n")
    began = time.process_time()
    said = fail(1, "train", bad, "--algorithm", "arow", "--workers", 1, "--model", tmp_path / "m")
    assert "bad.svm:1501:5" in said
    assert time.process_time() - began < 10
