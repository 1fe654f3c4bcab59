"""Shards that several learners learn side by side, which rows that were held back make one model of."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stream_files import write_rows

import sureline
from sureline import datasets, scale
from sureline.learners.saving import read_learner
from sureline.models.file import ModelFileError
from sureline.scale import Delta, DeltaError, learn_shard, merge
from sureline.scale.team import HELD, HeldBack, Team, members_of
from sureline.scale.train import begun_by, learners_of
from sureline.stream import read

SIZE = 150_000  # bytes of a shard
ROWS, REST = 6000, 4000


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    return datasets.make_stream_like("rcv1", ROWS + REST, random_state=5)


@pytest.fixture(scope="module")
def data(rows: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("team") / "rows.svm", rows[0][:ROWS], rows[1][:ROWS])


def start_of(data: Path) -> tuple[bytes, scale.Plan]:
    """A team, and its shards."""
    stream = read(data, dtype="float32", collect_names=True)
    team = scale.start(begun_by(stream, None, learners_of("auto", {}), "error"), stream, None)
    return team, scale.Plan.of(stream, size=SIZE)


class Backwards:
    def learn(self, model: bytes, shards: Sequence[scale.Shard], *, first_pass: bool) -> Any:
        for shard in reversed(shards):
            yield learn_shard(model, shard, first_pass=first_pass)


def test_the_model_is_that_of_the_functions_by_hand(data: Path, tmp_path: Path) -> None:
    team, plan = start_of(data)
    shards = plan.rounds[0][0]
    merged = Team.of(merge(team, [learn_shard(team, shard) for shard in shards]))
    assert merged is not None
    scale.train(data, "auto", shard_size=SIZE, model=tmp_path / "a")
    scale.train(data, "auto", shard_size=SIZE, model=tmp_path / "b", engine=Backwards())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == merged.model()


def test_rows_that_are_held_back_are_learned_at_the_end_alone(data: Path) -> None:
    team, plan = start_of(data)
    shards = plan.rounds[0][0]
    assert len(shards) > 4
    merged = Team.of(merge(team, [learn_shard(team, shard) for shard in shards]))
    assert merged is not None
    assert merged.held is not None
    held = len(merged.held.codes)
    assert ROWS / 40 < held < ROWS / 10
    for member in merged.members:
        assert read_learner(member).learner.n_seen_ == ROWS - held
    assert read_learner(merged.model()).learner.n_seen_ == ROWS


def test_a_member_of_a_team_learns_as_it_does_alone(data: Path) -> None:
    team, plan = start_of(data)
    bare = [replace(shard, judging=0) for shard in plan.rounds[0][0]]  # nothing is held back
    together = members_of(merge(team, [learn_shard(team, shard) for shard in bare]))
    for one, merged in zip(members_of(team), together, strict=True):
        alone = read_learner(merge(one, [learn_shard(one, shard) for shard in bare])).learner
        learner = read_learner(merged).learner
        assert np.array_equal(alone.model.weights, learner.model.weights)
        assert np.array_equal(alone.model.record, learner.model.record)


def test_the_model_is_as_good_as_its_best_member(data: Path, rows: tuple[Any, Any]) -> None:
    def error(model: Any) -> float:
        X, y = rows[0][ROWS:], rows[1][ROWS:]
        scores, _ = model.judge_rows(X.data.astype(np.float32), X.indices, X.indptr, X.shape[1])
        return float(np.mean(model.chosen(scores) != y))

    team, plan = start_of(data)
    merged = Team.of(merge(team, [learn_shard(team, shard) for shard in plan.rounds[0][0]]))
    assert merged is not None
    best = min(error(read_learner(member).learner) for member in merged.members)
    assert error(read_learner(merged.model()).learner) < 1.03 * best


def test_rounds_passes_and_a_new_driver(data: Path, tmp_path: Path) -> None:
    class Stops(Backwards):
        left = 40

        def learn(self, model: bytes, shards: Sequence[scale.Shard], *, first_pass: bool) -> Any:
            for data in super().learn(model, shards, first_pass=first_pass):
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
                yield data

    how: dict[str, Any] = {"shard_size": SIZE, "rounds": 2, "passes": 2}
    clf = scale.train(data, "auto", model=tmp_path / "whole", **how)
    assert 1.9 * ROWS < clf.n_seen_ < 2 * ROWS  # what judges is learned from once
    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        scale.train(data, "auto", model=tmp_path / "m", checkpoint=checkpoint, engine=Stops(), **how)
    assert checkpoint.exists()
    scale.train(data, "auto", model=tmp_path / "m", checkpoint=checkpoint, resume=True, **how)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_labels_that_shards_meet(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    X = draw.standard_normal((4000, 8))
    y = np.array(["a", "b", "c"])[np.where(np.arange(4000) < 3000, X[:, 0] > 0, 2 * (X[:, 1] > 0))]
    path = tmp_path / "rows.csv"
    lines = [",".join([label, *(f"{x:.5g}" for x in row)]) for label, row in zip(y, X, strict=True)]
    path.write_text("\n".join(["label," + ",".join(f"x{j}" for j in range(8)), *lines]) + "\n")
    clf = scale.train(path, "auto", shard_size=60_000)
    assert sorted(clf.classes_.tolist()) == ["a", "b", "c"]
    assert clf.n_seen_ == 4000
    alone = scale.train(path, "auto", shard_size=1 << 30)
    assert alone.n_seen_ == 4000


def test_how_many_rows_are_held_back(rows: tuple[Any, Any]) -> None:
    from sureline.stream.arrays import rows_of

    X, y = rows
    for most in (0, 1, 100, HELD):
        back, learned = HeldBack(most), 0
        stream, _ = rows_of((X, y), "float32", None)
        for chunk in stream:
            for start in range(0, len(chunk), 777):  # wherever chunks end
                part = chunk.part(start, min(start + 777, len(chunk)))
                rest, codes = back.split(part, part.labels[0])
                assert rest.n_rows == len(codes)
                learned += rest.n_rows
        held = 0 if back.rows is None else len(back.rows.codes)
        assert held + learned == ROWS + REST
        assert held == min(most, (ROWS + REST) // 64 * 4)


def test_what_does_not_fit(data: Path) -> None:
    team, plan = start_of(data)
    shards = plan.rounds[0][0]
    deltas = [learn_shard(team, shard) for shard in shards]
    first = Delta.of(deltas[0])
    held = first.held
    assert held is not None
    with pytest.raises(DeltaError, match="not learned what the members"):
        merge(team, [replace(first, parts=first.parts[:1]).to_bytes(), *deltas[1:]])
    with pytest.raises(DeltaError, match="of another model"):
        merge(team, [replace(first, parts=first.parts[::-1]).to_bytes(), *deltas[1:]])
    wrong = replace(held, codes=held.codes + 2)
    with pytest.raises(DeltaError, match="do not fit the team"):
        merge(team, [replace(first, held=wrong).to_bytes(), *deltas[1:]])
    for bad in (
        {"codes": held.codes[:-1]},
        {"codes": -held.codes - 1},
        {"indices": held.indices + held.n_columns},
        {"indptr": held.indptr[::-1].copy()},
        {"values": held.values * np.float32(np.nan)},
        {"weights": -held.weights},
        {"values": held.values[:-1]},
    ):
        with pytest.raises(DeltaError, match="holds rows back that are none"):
            Delta.of(replace(first, held=replace(held, **bad)).to_bytes())
    with pytest.raises(DeltaError, match="does not fit the model: it has no change"):
        merge(
            members_of(team)[0], [replace(Delta.of(d), base=Delta.of(first.parts[0]).base).to_bytes() for d in deltas]
        )
    damaged = bytearray(team)
    damaged[-3] ^= 1
    with pytest.raises(ModelFileError, match="the bytes of a team"):
        learn_shard(bytes(damaged), shards[0])


def test_names_of_columns_are_kept(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.standard_normal((3000, 4)), columns=["age", "size", "price", "speed"])
    frame["label"] = np.where(frame["age"] > 0, "old", "new")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    clf = scale.train(tmp_path / "rows.csv", "auto", label="label", shard_size=40_000)
    sureline.save(clf, tmp_path / "m")
    assert "age" in str(sureline.load(tmp_path / "m").explain(frame.iloc[:1].drop(columns="label")))
