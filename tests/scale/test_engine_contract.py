"""The contract of every engine: the bits of the shards merged by hand, whoever dies, hangs or starts anew."""

import hashlib
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import SURELINE, succeed
from engines import ENGINES, UnderContract, started
from stream_files import write, write_rows
from torture import times

from sureline import datasets, scale
from sureline.scale import learn_shard, merge, shards_of
from sureline.scale.train import learners_of
from sureline.stream import DataError, read

SIZE = 60_000  # bytes of a shard
ROWS = 1000
OPTIONS: dict[str, Any] = {"r": 1.0, "shard_size": SIZE, "rounds": 3}
COMMAND = ("--algorithm", "arow", "--r", 1, "--shard-size", SIZE, "--rounds", 3)

pytestmark = pytest.mark.filterwarnings("default")  # those of the engines and their own imports


def on(name: str, *more: Any) -> Any:
    """A parameter for an engine. Dask is in `make test`, the others in `make test-engines`."""
    marks = [pytest.mark.xdist_group(name), *([] if name == "dask" else [pytest.mark.engines])]
    return pytest.param(name, *more, marks=marks, id="-".join(map(str, (name, *more))))


every_engine = pytest.mark.parametrize("engine", [on(name) for name in ENGINES], indirect=True)


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[UnderContract]:
    with started(request.param) as running:
        yield running


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = datasets.make_stream_like("rcv1", ROWS, random_state=2)
    return write_rows(tmp_path_factory.mktemp("contract") / "rows.svm", X, y)


@pytest.fixture(scope="module")
def by_hand(data: Path) -> str:
    """The checksum of the model, from the pure functions alone."""
    learner = learners_of("arow", {"r": 1.0})[0]
    stream = read(data, dtype=learner.dtype, collect_names=True)
    model = scale.start(learner, stream, None)
    for shards in shards_of(stream, SIZE, 3):
        model = merge(model, [learn_shard(model, shard) for shard in shards])
    return hashlib.sha256(model).hexdigest()


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def trained(engine: UnderContract, data: Path, path: Path, **options: Any) -> str:
    """The checksum of the model that an engine makes."""
    engine.train(data, "arow", model=path, **{**OPTIONS, **options})
    return checksum(path)


@every_engine
def test_the_bits_are_those_of_shards_merged_by_hand(
    engine: UnderContract, data: Path, by_hand: str, tmp_path: Path
) -> None:
    told: list[scale.Progress] = []
    assert trained(engine, data, tmp_path / "m", on_progress=told.append) == by_hand
    assert [each.examples for each in told] == sorted(each.examples for each in told)
    assert told[-1].examples == ROWS
    assert {each.round for each in told} == {1, 2, 3}
    assert len(told) == sum(each.of for each in told if each.shards == each.of)
    assert 0 < told[-1].error < 0.5


@pytest.mark.parametrize(
    ("engine", "kills"), [on("dask", times(4)), *(on(name, 50) for name in ENGINES if name != "dask")],
    indirect=["engine"],
)  # fmt: skip
@pytest.mark.torture
def test_killed_workers_change_no_bit(
    engine: UnderContract, kills: int, data: Path, by_hand: str, tmp_path: Path
) -> None:
    kill_at_random(engine, kills, data, by_hand, tmp_path)


@pytest.mark.parametrize("engine", [pytest.param("dask", marks=pytest.mark.engines)], indirect=True)
def test_fifty_killed_workers_of_dask_change_no_bit(
    engine: UnderContract, data: Path, by_hand: str, tmp_path: Path
) -> None:
    kill_at_random(engine, 50, data, by_hand, tmp_path)


def kill_at_random(engine: UnderContract, kills: int, data: Path, expected: str, folder: Path) -> None:
    """Train again and again while workers are killed at random moments."""
    draw, killed, over = random.Random(kills), [], threading.Event()

    def kill() -> None:
        while len(killed) < kills and not over.wait(draw.uniform(0.02, 0.7)):
            pids = engine.workers()
            if pids:
                pid = draw.choice(pids)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        while True:
            still_killing = killer.is_alive()
            assert trained(engine, data, folder / "m") == expected
            if not still_killing:
                break
    finally:
        over.set()
        killer.join()
    assert len(killed) == kills


@every_engine
def test_a_damaged_line_is_told_soon_and_the_cluster_goes_on(
    engine: UnderContract, data: Path, by_hand: str, tmp_path: Path
) -> None:
    bad = write(tmp_path / "bad.svm", data.read_text() + "1 3:x\n" + data.read_text())
    began = time.monotonic()
    with pytest.raises(DataError) as error:
        trained(engine, bad, tmp_path / "m")
    assert time.monotonic() - began < 10
    assert (error.value.file, error.value.line, error.value.column) == (str(bad), ROWS + 1, 5)
    assert not (tmp_path / "m").exists()
    assert trained(engine, data, tmp_path / "m") == by_hand


@every_engine
def test_slow_workers_change_no_bit(engine: UnderContract, data: Path, by_hand: str, tmp_path: Path) -> None:
    stopped: list[int] = []

    def stop(progress: scale.Progress) -> None:
        if not stopped:
            stopped.append(engine.workers()[0])
            os.kill(stopped[0], signal.SIGSTOP)
            threading.Timer(1.5, os.kill, (stopped[0], signal.SIGCONT)).start()

    assert trained(engine, data, tmp_path / "m", on_progress=stop) == by_hand
    assert stopped


@every_engine
def test_a_killed_driver_is_replaced_by_another(
    engine: UnderContract, data: Path, by_hand: str, tmp_path: Path
) -> None:
    model = tmp_path / "m"
    command = ("train", data, *COMMAND, *engine.command, "--model", model)
    driver = subprocess.Popen([*SURELINE, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    checkpoint = Path(f"{model}.checkpoint")
    try:
        limit = time.monotonic() + 100
        while not checkpoint.exists() and driver.poll() is None and time.monotonic() < limit:
            time.sleep(0.001)
    finally:
        driver.kill()
        said = driver.communicate()[1]
    assert driver.returncode == -signal.SIGKILL, said
    assert checkpoint.exists(), said
    assert not model.exists()
    said = succeed(*command, "--resume")
    assert said.startswith("AROW: 1,000 examples")
    assert checksum(model) == by_hand
    assert not checkpoint.exists()


@every_engine
def test_two_clients_at_once(engine: UnderContract, data: Path, by_hand: str, tmp_path: Path) -> None:
    model = tmp_path / "other"
    command = ("train", data, *COMMAND, *engine.command, "--model", model, "--quiet")
    with subprocess.Popen([*SURELINE, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as other:
        while other.poll() is None:
            assert trained(engine, data, tmp_path / "m") == by_hand
        assert other.wait() == 0, other.stderr.read() if other.stderr else ""
    assert checksum(model) == by_hand
