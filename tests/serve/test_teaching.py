"""Labels that come in one turn of the event loop: one record, and an outcome for each of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from conftest import rows_of
from service import Here, Settings, serving

import sureline
from sureline.serve.errors import Refused
from sureline.serve.log import Log, read_log
from sureline.serve.records import Learned, unpacked
from sureline.serve.served import Keeping, Learnt, Served
from sureline.serve.teaching import Teaching

MODEL = "/v1/models/names/model"
Turn = Callable[[Served, Teaching], list[Any]]


def outcomes_of(here: Here, turn: Turn) -> list[Any]:
    """The outcomes of labels that are handed over in one turn."""
    served = here.running.house.get("names")
    loop = here.running.house._loop
    assert loop is not None

    async def run() -> list[Any]:
        return await asyncio.gather(*turn(served, Teaching(served)), return_exceptions=True)

    told: Coroutine[Any, Any, list[Any]] = run()
    return asyncio.run_coroutine_threadsafe(told, loop).result(60)


def entries_of(folder: Path) -> list[Learned]:
    found = [unpacked(record.payload) for record in read_log(folder, 0)]
    assert all(isinstance(entry, Learned) for entry in found)
    return found  # type: ignore[return-value]


def test_labels_that_come_together_are_one_record(models: dict[str, Path], tmp_path: Path) -> None:
    rows = rows_of("names", 20)
    weights = [0.5 if k % 3 == 0 else None for k in range(20)]
    with serving(Settings(tmp_path / "state", [("names", models["names"])])) as here:

        def turn(served: Served, teaching: Teaching) -> list[Any]:
            several = zip(rows, weights, strict=True)
            return [teaching.learn(Learned([x], [y], None if w is None else [w])) for (x, y), w in several]

        outcomes = outcomes_of(here, turn)
        body = here("GET", MODEL).body
        assert here.running.house.get("names").waiting == 0
    assert all(isinstance(one, Learnt) and one.refused == [None] for one in outcomes)
    [entry] = entries_of(tmp_path / "state" / "names")
    assert list(zip(entry.x, entry.y, strict=True)) == rows
    assert entry.w == [1.0 if weight is None else weight for weight in weights]
    model = sureline.load(models["names"])
    for (row, label), weight in zip(rows, weights, strict=True):
        model.learn_one(row, label, 1.0 if weight is None else weight)
    sureline.save(model, tmp_path / "alone.sureline")
    assert body == (tmp_path / "alone.sureline").read_bytes()


def test_one_that_is_refused_keeps_none_of_the_others_from_being_learned(
    models: dict[str, Path], tmp_path: Path
) -> None:
    with serving(Settings(tmp_path / "state", [("names", models["names"])])) as here:

        def turn(served: Served, teaching: Teaching) -> list[Any]:
            given: list[Any] = [{"red": 1.0}, {"red": [1.0]}, {"blue": 1.0}, 7]
            return [teaching.learn(Learned([row], ["a"])) for row in given]

        outcomes = outcomes_of(here, turn)
        assert here.running.house.get("names").waiting == 0
    assert [type(one) for one in outcomes] == [Learnt, Refused, Learnt, Refused]
    assert [one.status for one in outcomes[1::2]] == [422, 422]
    rows = [row for entry in entries_of(tmp_path / "state" / "names") for row in entry.x]
    assert rows == [{"red": 1.0}, {"blue": 1.0}]


def test_a_prediction_takes_one_label_even_in_one_turn(models: dict[str, Path], tmp_path: Path) -> None:
    with serving(Settings(tmp_path / "state", [("names", models["names"])])) as here:
        asked = [here("POST", "/v1/models/names/predict", {"row": {"red": 1.0}}).json for _ in "ab"]
        ids = [one["prediction_id"] for one in asked]

        def turn(served: Served, teaching: Teaching) -> list[Any]:
            predictions, found = served.predictions, []
            assert predictions is not None
            for one in ids:
                found.append(teaching.learn(Learned([predictions.find(one)[1]], ["a"], None, [one])))
                with pytest.raises(Refused, match="has a label already"):
                    predictions.find(one)
            return [*found, teaching.learn(Learned([{"blue": 1.0}], ["b"]))]

        assert all(isinstance(one, Learnt) for one in outcomes_of(here, turn))
        for one in ids:
            body = {"prediction_id": one, "label": "a"}
            assert here("POST", "/v1/models/names/learn", body).status == 409
    alone, by_prediction = entries_of(tmp_path / "state" / "names")
    assert (alone.x, alone.p) == ([{"blue": 1.0}], None)
    assert by_prediction.p == ids


def test_what_cannot_be_logged_is_learned_by_nobody(models: dict[str, Path], tmp_path: Path) -> None:
    with serving(Settings(tmp_path / "state", [("names", models["names"])])) as here:
        asked = here("POST", "/v1/models/names/predict", {"row": {"red": 1.0}}).json["prediction_id"]

        def turn(served: Served, teaching: Teaching) -> list[Any]:
            served.closed = True
            return [
                teaching.learn(Learned([{"red": 1.0}], ["a"])),
                teaching.learn(Learned([{"red": 1.0}], ["a"], None, [asked])),
            ]

        outcomes = outcomes_of(here, turn)
        served = here.running.house.get("names")
        served.closed = False
        assert served.waiting == 0
        assert here("POST", "/v1/models/names/learn", {"prediction_id": asked, "label": "a"}).status == 200
    assert [one.status for one in outcomes] == [503, 503]


@pytest.mark.parametrize(("durability", "records"), [("fsync", 2), ("none", 5)])
def test_labels_that_come_while_the_disk_is_busy_are_one_record(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str, records: int
) -> None:
    append = Log.append

    def slow(log: Log, payloads: list[bytes]) -> int:
        time.sleep(0.3)
        return append(log, payloads)

    monkeypatch.setattr(Log, "append", slow)
    settings = Settings(tmp_path / "state", [("names", models["names"])], keeping=Keeping(durability))
    with serving(settings) as here:

        def turn(served: Served, teaching: Teaching) -> list[Any]:
            async def later(k: int) -> Learnt:
                for _ in range(5 * k):
                    await asyncio.sleep(0)
                return await teaching.learn(Learned([{"red": float(k)}], ["a"]))

            return [later(k) for k in range(5)]

        outcomes = outcomes_of(here, turn)
        assert all(isinstance(one, Learnt) for one in outcomes)
        assert here.running.house.get("names").waiting == 0
    entries = entries_of(tmp_path / "state" / "names")
    assert len(entries) == records
    assert [row["red"] for entry in entries for row in entry.x] == [0.0, 1.0, 2.0, 3.0, 4.0]
