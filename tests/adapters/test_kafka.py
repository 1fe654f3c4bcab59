"""Topics of a real client library against its mock cluster: order, resuming, following, and what is refused."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import SURELINE, succeed
from torture import times

import sureline
from sureline import cli, stream
from sureline.stream import DataError, Position, topic

confluent_kafka = pytest.importorskip("confluent_kafka")

PARTITIONS = 4  # of every topic of a mock cluster
LEARNER = ["--algorithm", "arow", "--r", "1", "--quiet"]
Send = Callable[..., str]
Command = Callable[..., tuple[int, str, str]]


def rows(n: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        values = {column: rng.gauss(0, 1) for column in sorted(rng.sample(range(1, 200), 6))}
        label = 1 if sum(v for c, v in values.items() if c % 3 == 0) > 0 else -1
        made.append(f"{label} " + " ".join(f"{c}:{v:.5g}" for c, v in values.items()))
    return made


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Any, str]]:
    """Whoever sends to a mock cluster, and its address."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": "", "test.mock.num.brokers": 2, "linger.ms": 2, "log_level": 0}
    )
    brokers = producer.list_topics(timeout=10).brokers.values()
    yield producer, ",".join(f"{one.host}:{one.port}" for one in brokers)
    producer.flush(10)


@pytest.fixture
def send(cluster: tuple[Any, str], request: pytest.FixtureRequest) -> Send:
    """Send messages to a topic of this test, in their order by time; which partition each has is drawn."""
    producer, address = cluster
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    clock, rng = itertools.count(1_700_000_000_000), random.Random(name)

    def send(messages: Sequence[str | bytes | None], partition: int | None = None) -> str:
        for message in messages:
            number = rng.randrange(PARTITIONS) if partition is None else partition
            producer.produce(name, message, partition=number, timestamp=next(clock))
            producer.poll(0)
        assert producer.flush(20) == 0
        return f"kafka://{address}/{name}"

    return send


def labels_and_values(chunks: Any) -> list[Any]:
    return [pair for X, y in chunks for pair in zip(y.tolist(), X.data.reshape(-1, 6).tolist(), strict=True)]


def file_of(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process; returns its status and output."""

    def command(*words: object) -> tuple[int, str, str]:
        capfd.readouterr()
        return cli.run([str(word) for word in words]), *capfd.readouterr()

    return command


def test_a_topic_gives_the_model_of_a_file_in_the_order_of_the_timestamps(
    send: Send, tmp_path: Path, command: Command
) -> None:
    lines = rows(3000)
    url, file = send(lines), file_of(tmp_path / "rows.svm", lines)
    for data, model in ((url, "topic"), (file, "file")):
        assert command("train", data, *LEARNER, "--passes", 2, "--model", tmp_path / model)[0] == 0
    assert (tmp_path / "topic").read_bytes() == (tmp_path / "file").read_bytes()
    answers = command("predict", url, "--model", tmp_path / "topic")
    assert answers[1].count("\n") == 3001
    assert answers == command("predict", file, "--model", tmp_path / "topic")


def test_equal_timestamps_come_in_the_order_of_the_partitions(cluster: tuple[Any, str]) -> None:
    producer, address = cluster
    for number in (3, 1, 0, 2):
        for k in range(2):
            producer.produce("equal", f"{number} 1:{k}", partition=number, timestamp=1_700_000_000_000)
    assert producer.flush(20) == 0
    chunk = stream.read(f"kafka://{address}/equal").head(100)
    assert chunk is not None
    assert chunk.X.toarray()[:, -1].tolist() == [0, 1] * 4
    assert chunk.y.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_reading_goes_on_after_any_block_although_more_has_come(send: Send) -> None:
    lines = rows(2500)
    source = stream.read(send(lines)).with_options(block=1 << 13)
    whole = labels_and_values(source)
    assert len(whole) == len(lines)
    ends = [chunk.end for chunk in source]
    send(rows(200, seed=1))
    assert len(ends) > 10
    for end in ends[:: max(1, len(ends) // 4)]:
        position = Position.from_dict(json.loads(json.dumps(end.to_dict())))
        assert position.places == end.places
        assert labels_and_values(source.read_from(position)) == whole[end.rows :]


def test_a_partition_that_is_ahead_is_paused(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "_AHEAD", 1 << 12)
    lines = rows(2000)
    for part, number in ((lines[:900], 0), (lines[900:1000], 1), (lines[1000:], 0)):
        url = send(part, partition=number)
    paused: list[int] = []
    pause = topic.Client.pause
    monkeypatch.setattr(topic.Client, "pause", lambda self, k: (paused.append(k), pause(self, k))[1])
    chunks = list(stream.read(url).with_options(block=1 << 13))
    assert [label for chunk in chunks for label in chunk.y.tolist()] == [int(line.split()[0]) for line in lines]
    assert paused


@pytest.mark.torture
def test_killed_and_resumed_while_more_messages_come(send: Send, tmp_path: Path) -> None:
    lines = rows(40_000)
    url, file = send(lines), file_of(tmp_path / "rows.svm", lines)
    succeed("train", file, *LEARNER, "--model", tmp_path / "straight")
    model, checkpoint = tmp_path / "m", tmp_path / "m.checkpoint"
    # A reader that is slow leaves time to be killed.
    slow = (
        "import sys, time; from sureline.stream import topic; from sureline.__main__ import main\n"
        "topic._LINES = 1 << 15; fill = topic.RawTopic._fill\n"
        "topic.RawTopic._fill = lambda self, s: (time.sleep(0.01), fill(self, s))[1]\n"
        "import sureline.stream.options as o; o.BLOCK = 1 << 17\n"
        "sys.argv[0] = 'sureline'; main()"
    )
    command = [sys.executable, "-c", slow, "train", url, *LEARNER, "--model", str(model), "--checkpoint", "every=1k"]
    killed = 0
    while killed < times(2):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else None
        with subprocess.Popen([*command, "--resume"], stdout=subprocess.DEVNULL) as process:
            while process.poll() is None:
                if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                    process.kill()
                    process.wait()
                    killed += 1
                    break
                time.sleep(0.002)
        if process.returncode == 0:
            model.unlink()
        send(rows(50, seed=killed))
    if checkpoint.exists():
        succeed("train", url, *LEARNER, "--model", model, "--resume")
    else:
        pytest.fail("every training came to its end")
    assert model.read_bytes() == (tmp_path / "straight").read_bytes()


def test_following_and_killed(send: Send, tmp_path: Path) -> None:
    """One partition, so that the order is that of the messages, however they come."""
    lines = rows(3000)
    url = send(lines[:1000], partition=2)
    model, checkpoint = tmp_path / "m", tmp_path / "m.checkpoint"
    command = [*SURELINE, "train", "--follow", url, "--format", "libsvm", *LEARNER, "--model", str(model)]
    command += ["--checkpoint", "every=1", "--labels", "-1,1"]

    def learned() -> int:
        return sureline.load(checkpoint).n_seen_ if checkpoint.exists() else 0

    def wait_for(n: int) -> None:
        until = time.monotonic() + 30
        while learned() < n and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        if learned() != n:
            process.kill()
        assert learned() == n

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(1000)
        send(lines[1000:1750], partition=2)
        wait_for(1750)
        send(lines[1750:2500], partition=2)
        process.kill()
    with subprocess.Popen([*command, "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        wait_for(2500)
        send(lines[2500:], partition=2)
        wait_for(3000)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert "--resume" in process.stderr.read().decode()
    assert process.returncode == 1
    straight = tmp_path / "straight"
    succeed("train", file_of(tmp_path / "rows.svm", lines), *LEARNER, "--labels", "-1,1", "--model", straight)
    ours, theirs = sureline.load(checkpoint), sureline.load(straight)
    assert ours.n_seen_ == theirs.n_seen_ == 3000
    assert ours.coef_.tobytes() == theirs.coef_.tobytes()
    assert ours.intercept_.tobytes() == theirs.intercept_.tobytes()


def test_messages_that_are_no_rows(send: Send) -> None:
    pretty = json.dumps({"label": "spam", "a": 1.5}, indent=2)
    url = send([pretty, None, "", '{"label": "ham", "a": 2}\n', '{"label": "ham", "a": }'], partition=1)
    with pytest.raises(DataError, match=rf"{url}: partition 1, offset 4: "):
        list(stream.read(url))
    source = stream.read(url, errors="skip", max_error_share=0.5)
    assert [label for chunk in source for label in chunk.y.tolist()] == ["spam", "ham"]
    assert source.faults.count == 1
    url = send(["1 | a\n-1 | b"])
    with pytest.raises(DataError, match="has a line break inside"):
        list(stream.read(url, format="vw"))


def test_another_message_where_reading_was_to_go_on(send: Send) -> None:
    source = stream.read(send(rows(1500))).with_options(block=1 << 13)
    end = next(iter(source)).end
    assert end.places is not None
    wrong = Position.from_dict(end.to_dict() | {"places": [(offset, 7) for offset, _ in end.places]})
    with pytest.raises(DataError, match="is not the one that was read before reading stopped"):
        list(source.read_from(wrong))
    beyond = Position.from_dict(end.to_dict() | {"places": [(10**6, 7)] * PARTITIONS})
    assert list(source.read_from(beyond)) == []  # whatever lies there came later
    with pytest.raises(DataError, match="4 partitions, and reading was to go on in 1"):
        list(source.read_from(Position.from_dict(end.to_dict() | {"places": [(3, 7)]})))


def test_a_topic_that_was_made_anew_is_refused(send: Send, tmp_path: Path) -> None:
    url = send(rows(300))
    source = stream.read(url)
    extent = source.sources[0].extent
    assert extent is not None
    assert sum(end - begin for begin, end in extent) == 300
    assert source.sources[0].go_on_with([[0, end + 5] for _, end in extent]) == (
        "it has fewer messages than then: it was made anew"
    )
    assert source.sources[0].go_on_with([[0, 1]] * 5) == "it has 4 partitions, and had 5"
    # A training that was killed goes on with what was there when it began.
    assert source.sources[0].go_on_with([[0, 1]] * 4) is None
    assert sum(len(chunk) for chunk in source) == 4


def test_errors_are_one_sentence(
    send: Send, cluster: tuple[Any, str], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, model = send(rows(5)), tmp_path / "m"

    def said(status: int, *words: object) -> str:
        found, _, told = command("train", *words, "--model", model)
        assert found == status, told
        assert told.startswith("sureline")
        assert told.count("\n") == 1
        return told

    assert "The brokers have no such topic" in said(1, f"kafka://{cluster[1]}/no-such")
    assert "a topic is named kafka://BROKER:PORT/TOPIC" in said(2, "kafka://broker/a/b")
    assert "messages of a topic are libsvm, vw, jsonl, text" in said(2, url, "--format", "csv")
    monkeypatch.setenv("SURELINE_KAFKA_CONFIG", str(file_of(tmp_path / "c", ["nonsense"])))
    assert f"{tmp_path / 'c'}:1: a line of SURELINE_KAFKA_CONFIG is name=value" in said(2, url)
    monkeypatch.setenv("SURELINE_KAFKA_CONFIG", str(file_of(tmp_path / "d", ["# names", "no.such.setting=1"])))
    assert "no.such.setting" in said(2, url)


def test_a_broker_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sureline.stream.kafka._ANSWER", 0.3)
    with pytest.raises(OSError, match="The brokers do not answer") as caught:
        stream.read("kafka://127.0.0.1:1/rows")
    assert caught.value.filename == "kafka://127.0.0.1:1/rows"


def test_without_the_client_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ValueError, match=r"needs confluent-kafka: pip install 'sureline\[kafka\]'"):
        stream.read("kafka://127.0.0.1:1/rows")
