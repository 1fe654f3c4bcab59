"""States of a service that were made up: logs and facts are refused with one sentence, or gone on with."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import rows_of
from forge import JUNK
from service import Settings, serving
from torture import times

from sureline.serve.errors import StateError
from sureline.serve.limits import Limits
from sureline.serve.log import Log, encoded, read_segment, segments
from sureline.serve.models import House
from sureline.serve.replay import model_at
from sureline.serve.served import Keeping, Served
from sureline.serve.snapshots import snapshot_path, snapshots

pytestmark = pytest.mark.torture


@pytest.fixture(scope="module")
def state(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with records of all kinds after its only snapshot."""
    state = tmp_path_factory.mktemp("forged") / "state"
    with serving(Settings(state, [("many", models["many"])])) as service:
        for row, label in rows_of("many", 20):
            assert service("POST", "/v1/models/many/learn", {"row": row, "label": label}).status == 200
        body, octets = models["many"].read_bytes(), {"Content-Type": "application/octet-stream"}
        assert service("POST", "/v1/models/many/shadows?name=other", body, octets).status < 300
        shutil.copytree(state, state.with_name("whole"))
    return state.with_name("whole")


def records(folder: Path) -> list[bytes]:
    return [record.payload for first, path in segments(folder) for record in read_segment(path, first)[0]]


def write_log(folder: Path, payloads: list[bytes]) -> None:
    for _, path in segments(folder):
        path.unlink()
    log = Log(folder, 1, "none", 1 << 30)
    log.append(payloads)
    log.close()


def forged(payload: bytes, rng: random.Random) -> bytes:
    """Another record, mostly one that can be read."""
    if rng.random() < 0.2:
        changed = bytearray(payload)
        changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    record: dict[str, Any] = msgspec.msgpack.decode(payload)
    key = rng.choice([*record, "w", "p", "digest", "name", "k"])
    junk = [*JUNK, "../../x", ["a"], [1.0, 2.0], [None], "promote", "unshadow", "learn", -1.5, [float("nan")]]
    value = record.get(key)
    if isinstance(value, list) and value and rng.random() < 0.7:
        value[rng.randrange(len(value))] = rng.choice(junk)
    elif rng.random() < 0.2:
        record.pop(key, None)
    else:
        record[key] = rng.choice(junk)
    try:
        return msgspec.msgpack.encode(record)
    except (TypeError, ValueError, OverflowError):
        return payload[:-1]


def test_forged_logs(state: Path, tmp_path: Path) -> None:
    payloads, happened = records(state / "many"), Counter[str]()
    assert len(payloads) == 21
    for seed in range(times(150)):
        rng = random.Random(seed)
        folder = tmp_path / str(seed) / "many"
        shutil.copytree(state / "many", folder)
        some = list(payloads)
        for _ in range(1 + rng.randrange(2)):
            at = rng.randrange(len(some))
            some[at] = forged(payloads[at], rng)
        write_log(folder, some)
        try:
            served = Served.open(folder, Keeping())
            served.recover()
            model_at(folder.parent, "many", served.version)
            happened["gone on with"] += 1
        except StateError as error:
            assert "\n" not in str(error)
            happened["refused"] += 1
        shutil.rmtree(folder.parent)
    assert min(happened["refused"], happened["gone on with"]) > 5, happened


def pieces(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in what JSON told."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from pieces(value[key])


@pytest.mark.parametrize("file", ["facts.json", "name.json"])
def test_forged_facts(file: str, state: Path, tmp_path: Path) -> None:
    for seed in range(times(60)):
        rng = random.Random(seed)
        folder = tmp_path / str(seed) / "many"
        shutil.copytree(state / "many", folder)
        path = folder / file if file == "name.json" else snapshot_path(folder, snapshots(folder)[0]) / file
        facts = json.loads(path.read_text())
        parent, key = rng.choice(list(pieces(facts)))
        parent[key] = rng.choice([*JUNK, {"../../victim": 3}, {"a": None}])
        try:
            path.write_text(json.dumps(facts))
        except (TypeError, ValueError):
            continue
        try:
            served = Served.open(folder, Keeping())
            served.recover()
        except StateError as error:
            assert "\n" not in str(error)
        shutil.rmtree(folder.parent)


def test_a_state_is_not_cleared_of_what_others_have_put_there(tmp_path: Path) -> None:
    """What a crash has left goes, and nothing else does: the folder may be somebody's home."""
    kept = [".config.new", ".some thing.gone", ".b.new", ".c.gone"]
    for name in kept:
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.tex").write_text("years of work")
    for name in (".many.new", ".many.gone"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name.json").write_text("{}")
        (tmp_path / name / ".name.json.0123456789abcdef.tmp").write_text("{")  # a crash while it was written
    house = House(tmp_path, Keeping(), Limits(), lambda text: None)
    house.take([])
    house.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "lock"])
    assert all((tmp_path / name / "thesis.tex").exists() for name in kept)


def test_a_length_that_was_made_up_asks_for_no_memory(tmp_path: Path) -> None:
    log = Log(tmp_path, 1, "none", 1 << 30)
    log.append([b"a"])
    log.close()
    _, path = segments(tmp_path)[0]
    record = bytearray(encoded(2, b"b", 0))
    record[4:8] = (1 << 30).to_bytes(4, "little")
    path.write_bytes(path.read_bytes() + bytes(record))
    found, torn = read_segment(path, 1)
    assert len(found) == 1
    assert torn is not None
