"""The memory of the live page: right sums for any calls, bounded, and the same after a restart."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from sureline.serve.sums import Seconds, Stretches
from sureline.serve.watch import Watch


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def make(max_error: float | None = None, **more: Any) -> tuple[Watch, Clock]:
    clock = Clock()
    return Watch(["ham", "spam"], max_error, clock=clock, **more), clock


def feed(watch: Watch, clock: Clock, rows: int, batch: int, seed: int = 0) -> None:
    """The same stream, in batches of any size."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 1, rows)
    right = rng.uniform(size=rows) < confidence
    other = rng.uniform(size=rows) < 0.8
    answered = confidence > 0.6
    novelty = rng.uniform(0, 0.1, rows)
    for a in range(0, rows, batch):
        part = slice(a, a + batch)
        n = len(right[part])
        clock.now = 1_000_000.0 + a // 1000
        watch.answered(
            rows=n, seconds=0.002, confidences=confidence[part], novelties=novelty[part], answered=answered[part]
        )
        watch.learned(right=right[part], confidences=confidence[part], answered=answered[part])
        watch.shadow("b", right=other[part])


def without_requests(state: dict[str, Any]) -> dict[str, Any]:
    """The part that does not depend on how rows were divided among requests; sums of floats to their last digits."""
    state = json.loads(json.dumps(state))
    for name in ("requests", "seconds"):
        state.pop(name)
    state["along"]["sums"]["values"] = [round(v, 9) for v in state["along"]["sums"]["values"]]
    for one in state["judged"]:
        one["calibration"][2]["values"] = [round(v, 9) for v in one["calibration"][2]["values"]]
    for one in state["alarms"]:
        one["noticed"] = []
    return state


def test_sums_are_those_of_the_stream() -> None:
    watch, clock = make(0.3)
    feed(watch, clock, 5000, 7)
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 5000)
    right = rng.uniform(size=5000) < confidence
    other = rng.uniform(size=5000) < 0.8
    answered = confidence > 0.6
    seen = watch.snapshot()
    assert (seen["rows"], seen["labels"], seen["requests"]) == (5000, 5000, -(-5000 // 7))
    assert seen["mistakes"] == (~right).sum() == sum(seen["errors"]["wrong"])
    assert sum(seen["errors"]["labels"]) == 5000 == seen["errors"]["to"][-1]
    assert seen["answered"] == answered.sum() == sum(seen["errors"]["answered"])
    last = slice(4000, None)
    assert seen["recent"] == {
        "labels": 1000,
        "wrong": (~right[last]).sum(),
        "answered": answered[last].sum(),
        "answered_wrong": (~right & answered)[last].sum(),
    }
    bins = seen["judged"]["calibration"]["bins"]
    assert sum(row["examples"] for row in bins) == 5000
    assert all(abs(row["right"] - row["confidence"]) < 0.06 for row in bins)
    promise = seen["judged"]["coverage"]["promises"][0]
    assert promise["answered"] == answered.sum()
    assert promise["error"] == (~right & answered).sum() / answered.sum()
    shadow = seen["shadows"]["b"]
    assert (shadow["wrong"], shadow["champion_wrong"]) == ((~other).sum(), (~right).sum())
    assert shadow["difference"] == pytest.approx(((~other).sum() - (~right).sum()) / 5000)
    spread = np.std(right.astype(float) - other) / np.sqrt(5000) * 1.959963984540054
    assert shadow["high"] - shadow["difference"] == pytest.approx(spread, rel=1e-6)
    along = seen["along"]
    assert along["confidence"][0] == pytest.approx(confidence[: along["to"][0]].mean())
    assert along["answered"][0] == pytest.approx(answered[: along["to"][0]].mean())


@pytest.mark.parametrize("batch", [1, 7, 300, 20_000])
def test_how_rows_come_makes_no_difference(batch: int) -> None:
    one, clock = make(0.1)
    feed(one, clock, 12_000, batch)
    other, clock = make(0.1)
    feed(other, clock, 12_000, 1000)
    states = [without_requests(watch.to_state()) for watch in (one, other)]
    if batch == 20_000:  # generations end where a batch ends
        for state in states:
            assert sum(sum(part["calibration"][0]["values"]) for part in state.pop("judged")) == 12_000
    elif batch != 1000:
        for state in states:
            state.pop("judged")
    assert states[0] == states[1]


def test_memory_is_bounded_and_the_table_too() -> None:
    watch, clock = make()
    rng = np.random.default_rng(1)
    sizes = []
    for k in range(60):
        right = rng.uniform(size=50_000) < 0.9
        clock.now += 7
        watch.answered(rows=50_000, seconds=0.1, confidences=np.full(50_000, 0.9), novelties=np.zeros(50_000))
        watch.learned(right=right, confidences=np.full(50_000, 0.9))
        watch.shadow(f"shadow {k}", right=right)
        for j in range(10):
            watch.worth(f"{k}-{j}", "x" * 10_000, k + j / 10)
        sizes.append(len(json.dumps(watch.to_state())))
    assert max(sizes[30:]) < 1.1 * sizes[30]
    seen = watch.snapshot()
    assert 32 <= len(seen["errors"]["to"]) <= 64
    assert len(seen["shadows"]) == 16
    assert len(seen["queue"]) == 40
    assert [one["prediction_id"] for one in seen["queue"][:3]] == ["59-9", "59-8", "59-7"]  # the best first
    assert all(len(one["text"]) == 400 for one in seen["queue"])
    assert len(json.dumps(seen)) < 60_000
    watch.labelled("59-9")
    watch.labelled("was never there")
    assert watch.snapshot()["queue"][0]["prediction_id"] == "59-8"


def test_a_restart_changes_nothing() -> None:
    whole, clock = make(0.2, expected_unseen=0.05)
    feed(whole, clock, 3000, 11)
    whole.worth("a", "text", 0.5)
    state = json.loads(json.dumps(whole.to_state()))
    again = Watch.from_state(state, clock=clock)
    assert again.to_state() == whole.to_state()
    assert again.snapshot() == whole.snapshot()
    for watch in (whole, again):
        feed(watch, clock, 25_000, 64, seed=2)
    assert again.to_state() == whole.to_state()
    assert again.labels == ["ham", "spam"]


@pytest.mark.parametrize(
    "broken",
    [
        {"errors": None},
        {"rows": -1},
        {"rows": 17},
        {"recent": "00"},
        {"recent": "xy"},
        {"judged": []},
        {"alarms": [{}, {}]},
        {"queue": {"a": [1]}},
        {"seconds": {"second": ["x"], "counts": [], "times": {}}},
    ],
    ids=lambda broken: str(next(iter(broken.items())))[:20],
)
def test_a_state_that_is_none_is_refused(broken: dict[str, Any]) -> None:
    watch, clock = make()
    feed(watch, clock, 100, 10)
    with pytest.raises(ValueError, match="cannot be read"):
        Watch.from_state(watch.to_state() | broken)


def test_alarms_are_told_with_their_time() -> None:
    watch, clock = make()
    rng = np.random.default_rng(3)
    for error, novelty in ((0.05, 0.02), (0.4, 0.3)):
        for _ in range(100):
            clock.now += 1
            watch.answered(
                rows=50, seconds=0.01, confidences=np.full(50, 0.9), novelties=(rng.uniform(size=50) < novelty) * 1.0
            )
            watch.learned(right=rng.uniform(size=50) >= error, confidences=np.full(50, 0.9))
        watch.snapshot()
    alarms = watch.snapshot()["alarms"]
    assert {alarm["what"] for alarm in alarms} == {"error", "unseen"}
    for alarm in alarms:
        assert 4500 < alarm["first"] < 5500
        assert 1_000_100 < alarm["noticed"] <= clock.now
        assert alarm["after"] > alarm["before"]


def test_rate_and_latency_of_the_latest_seconds() -> None:
    watch, clock = make()
    for second in range(20):
        for k in range(100):
            clock.now = 1_000_000.0 + second + k / 100
            watch.answered(rows=3, seconds=0.5 if k == 7 or k == 8 else 0.001, confidences=np.full(3, 0.9))
        watch.learned(right=np.ones(4, bool), confidences=np.full(4, 0.9))
    clock.now = 1_000_020.0
    now = watch.snapshot()["now"]
    assert (now["requests"], now["rows"], now["labels"]) == (100, 300, 4)
    assert now["half"] == pytest.approx(0.001, rel=0.16)
    assert now["most"] == pytest.approx(0.5, rel=0.16)
    pace = watch.snapshot()["pace"]
    assert sum(pace["rows"]) * 5 == 6000
    assert pace["rows"][-4:] == [300.0] * 4
    assert pace["half"][0] is None
    clock.now += 100
    assert watch.snapshot()["now"] == {"requests": 0, "rows": 0, "labels": 0, "half": None, "most": None}


def test_a_clock_that_is_set_back_loses_only_the_rate() -> None:
    watch, clock = make()
    watch.answered(rows=1, seconds=0.01, confidences=np.ones(1))
    clock.now -= 300  # to a second that has the same place
    watch.answered(rows=1, seconds=0.01, confidences=np.ones(1))
    assert watch.snapshot()["rows"] == 2


def test_a_shadow_is_judged_on_the_champions_rows() -> None:
    watch, _ = make()
    with pytest.raises(ValueError, match="learned last, none"):
        watch.shadow("b", right=np.ones(3, bool))
    watch.learned(right=np.ones(200, bool), confidences=np.ones(200))
    watch.learned(right=np.ones(2, bool), confidences=np.ones(2))
    with pytest.raises(ValueError, match="learned last, 2"):
        watch.shadow("b", right=np.ones(3, bool))
    watch.snapshot()
    watch.shadow("b", right=np.array([True, False]))
    shadow = watch.snapshot()["shadows"]["b"]
    assert (shadow["labels"], shadow["wrong"], shadow["champion_wrong"]) == (2, 1, 0)
    assert shadow["errors"]["to"] == [202]  # it came late
    watch.forget_shadow("b")
    assert watch.snapshot()["shadows"] == {}


def test_nothing_yet_is_no_error() -> None:
    watch, _ = make(0.1)
    seen = watch.snapshot()
    assert (seen["rows"], seen["errors"]["to"], seen["along"]["to"], seen["alarms"]) == (0, [], [], [])
    watch.learned(right=np.ones(0, bool), confidences=np.ones(0))
    watch.answered(rows=0, seconds=0.1, confidences=np.ones(0))
    json.dumps(watch.snapshot(), allow_nan=False)
    json.dumps(watch.to_state(), allow_nan=False)


def test_stretches_double() -> None:
    stretches = Stretches(1)
    values = np.random.default_rng(0).uniform(size=10_000)
    for a in range(0, 10_000, 13):
        stretches.add(values[a : a + 13])
    assert stretches.length == 128
    at_once = Stretches(1)
    at_once.add(values)
    ends, rows, sums = stretches.table()
    for one, other in zip(stretches.table(), at_once.table(), strict=True):
        assert np.allclose(one, other)
    assert rows.sum() == 10_000
    starts = ends - rows
    assert np.allclose(sums[0], [values[a:b].sum() for a, b in zip(starts, ends, strict=True)])


def test_seconds_keep_five_minutes() -> None:
    seconds = Seconds()
    for second in range(1000):
        seconds.add(second, (1, second, 0), np.array([0.001]))
    counts, _ = seconds.latest(1000, 300, 5)
    assert counts[:, 1].sum() == sum(range(700, 1000))
    assert len(seconds.counts) == 300


def test_a_clock_that_is_set_back_stops_nothing() -> None:
    now = [100_000.0]
    watch = Watch(["a", "b"], None, clock=lambda: now[0])

    def rates(seconds: int) -> list[float]:
        for _ in range(seconds):
            now[0] += 1
            watch.answered(rows=3, seconds=0.001, confidences=np.full(3, 0.9))
        now[0] += 1
        return [float(watch.snapshot()["now"]["rows"]), sum(watch.snapshot()["pace"]["rows"]) * 5]

    assert rates(20) == [3.0, 60.0]
    for back, left in ((1000, 0), (15, 5), (86_400, 0), (1, 19)):
        before = now[0]
        now[0] -= back
        latest, all_of_them = rates(20)
        assert latest == 3.0, back
        assert 60 <= all_of_them <= 60 + 3 * (left + 20), (back, before)
    watch = Watch.from_state(watch.to_state(), clock=lambda: now[0])
    now[0] -= 5000
    assert rates(20)[0] == 3.0
