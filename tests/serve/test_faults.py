"""A fault in learning leaves log and models as one: what was missed is in the log, and a restart has the same bits."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import rows_of
from service import NDJSON, Here, Settings, process, serving

import sureline
from sureline import AROW, cli
from sureline.learners.online import OnlineLearner
from sureline.serve.errors import StateError
from sureline.serve.judging import Judging
from sureline.serve.lineup import Lineup
from sureline.serve.log import Log, read_log
from sureline.serve.records import Learned, Missed, Promoted, packed, unpacked
from sureline.serve.served import Keeping, Served
from sureline.serve.service import checked
from sureline.serve.writer import Writer

LEARN, PREDICT, MODEL = "/v1/models/names/learn", "/v1/models/names/predict", "/v1/models/names/model"
OCTETS = {"Content-Type": "application/octet-stream"}
BAD = 0.625  # the value of a feature by which the injected fault knows its row


class Faulty:
    """`learn_one` that learns from a row with the value BAD and then fails, the first time or each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Exception, *, once: bool = False) -> None:
        true, self.calls = OnlineLearner.learn_one, 0

        def learn_one(learner: Any, x: Any, y: Any, sample_weight: float = 1.0) -> Any:
            told = true(learner, x, y, sample_weight)
            if BAD in abs(x[1]) and not (once and self.calls):
                self.calls += 1
                raise error
            return told

        monkeypatch.setattr(OnlineLearner, "learn_one", learn_one)


def state_of(here: Here) -> tuple[str, bytes]:
    reply = here("GET", MODEL)
    return reply.headers["x-sureline-version"], reply.body


def undisturbed(file: Path, rows: list[tuple[Any, Any]], to: Path) -> bytes:
    model = sureline.load(file)
    for row, label in rows:
        model.learn_one(row, label)
    sureline.save(model, to)
    return to.read_bytes()


@pytest.mark.parametrize(("error", "once"), [(RuntimeError("secret"), False), (MemoryError(), True)])
def test_what_a_fault_kept_from_being_learned_is_in_the_log(
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: Exception,
    once: bool,
) -> None:
    state, rows = tmp_path / "state", rows_of("names", 12)
    bad = {"red": BAD}
    answers = []

    def ask(here: Here) -> None:
        body = {"row": {"red": 1.0, "blue": 1.0}, "probabilities": True, "shadows": True}
        answers.append({"model": "names", "request": body, "answer": here("POST", PREDICT, body).json})

    with monkeypatch.context() as patch, serving(Settings(state, [("names", models["names"])])) as here:
        assert here("POST", "/v1/models/names/shadows?name=other", models["names"].read_bytes(), OCTETS).status == 201
        for row, label in rows[:5]:
            assert here("POST", LEARN, {"row": row, "label": label}).status == 200
            ask(here)
        faulty = Faulty(patch, error, once=once)
        reply = here("POST", LEARN, {"row": bad, "label": "a"})
        assert reply.status == 500
        assert "by a fault of the service" in reply.json["error"]
        ask(here)
        lines = b"".join(json.dumps({"row": row, "label": label}).encode() + b"\n" for row, label in rows[5:])
        told = here("POST", LEARN, lines, NDJSON).lines
        assert len(told) == 7
        assert not any("error" in one for one in told)
        ask(here)
        assert faulty.calls >= 1
        assert here("GET", "/readyz").status == 200
        here("POST", LEARN, {"row": {"red": 1.0}, "label": "a"})
        version, body = state_of(here)
    said = capfd.readouterr().err
    assert f"not learned from, by a fault: {type(error).__name__} at " in said
    assert "secret" not in said
    entries = [unpacked(record.payload) for record in read_log(state / "names", 0)]
    missed = [entry for entry in entries if isinstance(entry, Missed)]
    assert missed == [Missed(7, {"": [0]} if once else {"": [0], "other": [0]})]
    learned = [*rows, ({"red": 1.0}, "a")]
    assert body == undisturbed(models["names"], learned, tmp_path / "undisturbed.sureline")
    for snapshot in sorted((state / "names").glob("snapshot-*"))[1:]:  # so that the log is read from its beginning
        shutil.rmtree(snapshot)
    with serving(Settings(state)) as again:
        after, bits = state_of(again)
    assert after.rsplit(".", 1)[0] == version.rsplit(".", 1)[0]
    assert bits == body
    requests = tmp_path / "answers.jsonl"
    requests.write_text("".join(json.dumps(one) + "\n" for one in answers))
    assert cli.run(["replay", str(state), str(requests)]) == 0
    assert f"{len(answers)} of them compared and the same" in capfd.readouterr().err


def test_a_row_that_fails_when_its_log_is_read_again_is_noted_and_passed_over(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    state, rows = tmp_path / "state", rows_of("names", 6)
    taught = [*rows[:3], ({"red": BAD}, "a"), *rows[3:]]
    with serving(Settings(state, [("names", models["names"])])) as here:
        for row, label in taught:
            assert here("POST", LEARN, {"row": row, "label": label}).status == 200
    for snapshot in sorted((state / "names").glob("snapshot-*"))[1:]:
        shutil.rmtree(snapshot)
    expected = undisturbed(models["names"], rows, tmp_path / "undisturbed.sureline")
    with monkeypatch.context() as patch:
        Faulty(patch, MemoryError())  # which says nothing about the row, and the label was acknowledged
        served, writer = Served.open(state / "names", Keeping()), Writer(lambda outcomes: None)
        with pytest.raises(StateError, match="the log cannot be applied: there is too little memory"):
            served.begin(writer, print)
        writer.close()
    for error in (RuntimeError(), None):
        with monkeypatch.context() as patch:
            if error is not None:
                Faulty(patch, error)
            with serving(Settings(state)) as here:
                assert here("GET", MODEL).body == expected
                assert here("GET", "/v1/models/names").json["version"].split(".")[1] == "8"
        for snapshot in sorted((state / "names").glob("snapshot-*"))[1:]:
            shutil.rmtree(snapshot)
    assert "rows of record 4 were not learned from, by a fault: RuntimeError" in capfd.readouterr().err


def test_where_a_fault_cannot_be_recorded_learning_ends(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Log.append

    def full(log: Log, payloads: list[bytes]) -> int:
        if any(b"missed" in payload for payload in payloads):
            raise OSError(28, "No space left on device")
        return append(log, payloads)

    with serving(Settings(tmp_path / "state", [("names", models["names"])])) as here:
        with monkeypatch.context() as patch:
            Faulty(patch, RuntimeError())
            patch.setattr(Log, "append", full)
            assert here("POST", LEARN, {"row": {"red": BAD}, "label": "a"}).status == 500
        reply = here("POST", LEARN, {"row": {"red": 1.0}, "label": "a"})
        assert reply.status == 503
        assert "learns no more until the service is restarted" in reply.json["error"]
        assert here("GET", "/readyz").status == 503
        assert here("POST", PREDICT, {"row": {"red": 1.0}}).status == 200


def test_a_fault_of_the_page_keeps_nothing_from_being_learned(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(Judging, "_judge", broken)
    with serving(Settings(tmp_path / "state", [("names", models["names"])])) as here:
        assert here("POST", LEARN, {"row": {"red": 1.0}, "label": "a"}).json["learned"] == 1
        body = here("GET", MODEL).body
    assert body == undisturbed(models["names"], [({"red": 1.0}, "a")], tmp_path / "undisturbed.sureline")


def test_a_change_that_fails_is_not_made_and_the_log_says_so(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, file = tmp_path / "state", models["names"].read_bytes()
    change = Lineup.change

    def broken(lineup: Lineup, seq: int, entry: Any, learner: Any = None) -> None:
        if isinstance(entry, Promoted):
            raise MemoryError
        change(lineup, seq, entry, learner)

    with serving(Settings(state, [("names", models["names"])])) as here:
        assert here("POST", "/v1/models/names/shadows?name=other", file, OCTETS).status == 201
        with monkeypatch.context() as patch:
            patch.setattr(Lineup, "change", broken)
            assert here("POST", "/v1/models/names/shadows/other/promote").status == 500
        assert here("POST", LEARN, {"row": {"red": 1.0}, "label": "a"}).status == 200
        before = here("GET", "/v1/models/names").json
        assert [one["name"] for one in before["shadows"]] == ["other"]
    for snapshot in sorted((state / "names").glob("snapshot-*"))[1:]:
        shutil.rmtree(snapshot)
    with serving(Settings(state)) as here:
        after = here("GET", "/v1/models/names").json
        assert [one["name"] for one in after["shadows"]] == ["other"]
        assert after["version"].split(".")[1] == before["version"].split(".")[1] == "4"


def test_labels_that_were_read_before_a_promotion_are_learned_as_the_new_champion_reads_them(
    models: dict[str, Path], tmp_path: Path
) -> None:
    small = AROW(bits=5)
    for row, label in rows_of("names", 50, seed=5):
        small.learn_one(row, label)
    sureline.save(small, tmp_path / "small.sureline")
    state = tmp_path / "state"
    with serving(Settings(state, [("names", models["names"])])) as here:
        file = (tmp_path / "small.sureline").read_bytes()
        assert here("POST", "/v1/models/names/shadows?name=small", file, OCTETS).status == 201
        house = here.running.house
        served = house.get("names")
        loop, outcomes = house._loop, []
        assert loop is not None
        there = threading.Event()

        async def both() -> None:
            promoted = asyncio.create_task(served.change(Promoted("small")))
            await asyncio.sleep(0)  # it is on its way to the disk, and the champion is the old one yet
            for row, label in rows_of("names", 20, seed=6):
                entry = Learned([row], [label])
                read = checked(served, entry, house.limits)
                outcomes.append(asyncio.create_task(served.learn(entry, read)))
            await asyncio.gather(promoted, *outcomes)
            there.set()

        asyncio.run_coroutine_threadsafe(both(), loop).result(60)
        assert there.is_set()
        body = here("GET", MODEL).body
    expected = undisturbed(tmp_path / "small.sureline", rows_of("names", 20, seed=6), tmp_path / "expected.sureline")
    assert body == expected
    for snapshot in sorted((state / "names").glob("snapshot-*"))[1:]:
        shutil.rmtree(snapshot)
    with serving(Settings(state)) as again:
        assert again("GET", MODEL).body == expected


def test_a_log_that_names_what_cannot_be_is_refused(models: dict[str, Path], tmp_path: Path) -> None:
    state = tmp_path / "state"
    with serving(Settings(state, [("names", models["names"])])):
        pass
    log = Log(state / "names", 1, "fsync", 1 << 16)
    log.append([packed(Missed(0, {"../x": [0]}))])
    log.close()
    with process("--state", state) as there:
        assert there.process.wait(60) == 1
        assert "record 1 of the log cannot be read: it names a model that cannot be" in " ".join(there.said)
