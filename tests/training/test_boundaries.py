"""Behaviour exactly at boundaries, where other tests would miss a small change of the code."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sureline import cli, stream
from sureline.cli._options import checkpoint_every
from sureline.evaluate.prequential_result import Prequential
from sureline.learners.catalogue import LEARNERS
from sureline.metrics import Calibration
from sureline.stream.buffer import RowBuffer
from sureline.stream.recognise import LOOK
from sureline.stream.source import Source
from sureline.training import Training
from sureline.training.checkpoint import Checkpointing
from sureline.training.identity import facts_of
from sureline.training.metric import Metric, tied
from sureline.training.race import Race, points


def test_a_chunk_that_ends_with_a_batch_is_done(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("label,price\n" + "0,1\n1,2\n" * 20)
    chunk = next(iter(stream.read(path, collect_names=True)))
    buffer = RowBuffer()
    buffer.add(chunk)
    for batch in buffer.batches(20, last=False):
        buffer.done(batch.n_rows)
    assert (buffer.n_rows, buffer.ahead) == (0, 0)
    # Chunks that are done with bring their names into the model.
    model = str(tmp_path / "m")
    assert cli.run(["train", str(path), "--algorithm", "bcw", "--batch", "20", "--model", model, "--quiet"]) == 0
    assert cli.run(["inspect", model]) == 0
    assert "price" in capsys.readouterr().out


def test_rows_that_have_been_may_be_all_of_a_chunk(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("0 1:1\n1 2:1\n" * 5)
    chunk = next(iter(stream.read(path)))
    for ahead in (0, 9):
        assert RowBuffer(ahead).add(chunk)
    assert not RowBuffer(10).add(chunk)


def test_checkpoints_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checkpoint_every("every=10m") == (None, 600.0)
    now = 50.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    due = Checkpointing(Path("c"), *checkpoint_every("every=10m"))
    due.done(0)
    now = 649.0
    assert not due.due(10**9)
    now = 650.0
    assert due.due(1)
    due.done(1)
    assert not due.due(2)
    by_rows = Checkpointing(Path("c"), *checkpoint_every("every=2k"))
    assert [by_rows.due(n) for n in (1999, 2000)] == [False, True]


def test_other_labels_are_not_gone_on_with(tmp_path: Path) -> None:
    data, place = tmp_path / "rows.svm", tmp_path / "c"
    data.write_text("0 1:1\n1 2:1\n" * 500)

    def training(labels: list[Any]) -> Training:
        return Training(LEARNERS["PA"](), stream.read(data).with_options(block=1 << 10), labels=labels)

    begun = training([0, 1])
    begun.interrupt = lambda: None  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        begun.run(on_progress=lambda progress: setattr(begun, "_stop_asked", progress.examples > 200))
    begun.save_checkpoint(place)
    with pytest.raises(ValueError, match=r"was saved with the labels \[0, 1\], not \[1, 0\]"):
        training([1, 0]).resume(place)
    training([0, 1]).resume(place)


@pytest.mark.parametrize("at", [0, 65_535, -65_536, -1])
def test_both_ends_of_a_file_are_compared(at: int, tmp_path: Path) -> None:
    """A byte of each end of a file, of which blocks in between would be read anyway."""
    path = tmp_path / "rows.svm"
    content = bytearray(b"1 1:1\n" * 200_000)
    path.write_bytes(content)
    before = facts_of(Source(str(path)), full=False)
    content[at] ^= 1
    path.write_bytes(content)
    after = facts_of(Source(str(path)), full=False)
    assert before is not None
    assert after is not None
    assert before["sample"] != after["sample"]


def test_a_line_that_is_cut_off_does_not_count(tmp_path: Path) -> None:
    """Formats are recognised by the first bytes, which may end anywhere in a line."""
    path = tmp_path / "rows"
    for shift in range(8):
        line = b"1" + b" " * shift + b" 1:1" + b" 7:1" * (LOOK // 8) + b"\n"
        path.write_bytes(line * 4)
        assert stream.read(path).format == "libsvm"
        assert path.read_bytes()[:LOOK].count(b"\n") == 1


def test_a_class_that_did_not_come_has_no_weight() -> None:
    weights = Metric("balanced_accuracy").weights(np.array([10, 0, 30]))
    np.testing.assert_allclose(weights, [40 / (2 * 10), 0, 40 / (2 * 30)])


def test_the_earlier_lag_is_uncertain_too() -> None:
    """Whether a setting catches up follows from two lags, and chance is in both of them."""
    n, total = 4096, 16384
    at = np.array(points(0, n)[-17:], float)
    losses = []
    for before, recent in ((0.1, 0.1), (0.1, 0.13)):
        middle, last = np.clip(at - n / 4, 0, n / 4), np.clip(at - n / 2, 0, n / 2)
        losses.append(0.2 * n / 4 + before * middle + recent * last)
    window = np.array(losses).T
    assert not Race(2).behind(n, total, window, window, np.ones(2, bool)).any()


def test_blocks_of_single_examples_say_nothing_of_ties() -> None:
    at = np.array(points(0, 4096), np.int64)
    wild = np.zeros(len(at))
    wild[:7] = np.array([1, -1, 1, -1, 1, -1, 1]) * 5.0
    losses = 0.035 * at + np.cumsum(np.sin(np.arange(len(at))) * 0.5)
    squares = np.arange(len(at)) * 10.0
    assert not tied(at, losses + wild, squares)


def test_bins_of_confidences() -> None:
    calibration = Calibration()
    confidence = np.array([0.0, 0.05, 0.1, 0.15, 0.55, 0.95, 0.99, 1.0])
    calibration.add_confidence(confidence, confidence > 0.5)
    assert calibration.counts.tolist() == [2, 2, 0, 0, 0, 1, 0, 0, 0, 3]
    assert calibration.right.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0, 3]
    table = calibration.table()
    assert [row["examples"] for row in table] == [2, 2, 1, 3]
    assert [row["right"] for row in table] == [0, 0, 1, 1]
    np.testing.assert_allclose([row["confidence"] for row in table], [0.025, 0.125, 0.55, 2.94 / 3])


def test_progress_of_a_shard_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("0 1:1\n1 2:1\n" * 4000)
    for shard in stream.read(path, threads=1).shards(2):
        parts = shard.with_options(block=1 << 11)
        seen = [parts.progress for _ in parts]
        assert seen == sorted(seen)
        assert seen[0] is not None
        assert seen[0] < 0.2
        assert parts.progress == 1


def test_progress_of_several_passes(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("0 1:1\n1 2:1\n" * 4000)
    running = Training(LEARNERS["PA"](passes=2), stream.read(path, threads=1).with_options(block=1 << 12))
    seen: list[tuple[int, float]] = []
    running.run(on_progress=lambda progress: seen.append((progress.pass_number, progress.share or 0.0)))
    first, second = ([share for number, share in seen if number == k] for k in (1, 2))
    assert 0.4 < max(first) <= 0.5 <= min(second)
    assert max(second) == 1.0
    assert [share for _, share in seen] == sorted(share for _, share in seen)


def recovery(windowed: list[float], factor: float = 1.5, window: int = 10, drift: int = 20) -> float:
    errors = np.array(windowed)
    result = Prequential(
        examples=np.arange(10, 10 * len(errors) + 1, 10),
        error={"A": errors},
        windowed_error={"A": errors},
        mistakes={"A": 0},
        seconds={"A": 0.0},
        estimators={},
        window=window,
    )
    return result.recovery("A", drift, factor)


def test_recovery_at_the_boundary() -> None:
    assert recovery([0.1, 0.2, 0.9, 0.5, 0.3, 0.1]) == 30  # 0.3 is 1.5 times 0.2, and enough
    assert recovery([0.1, 0.2, 0.9, 0.5, 0.30001, 0.1]) == 40
    assert recovery([0.1, 0.2, 0.3, 0.2]) == 0  # it never went beyond
    assert recovery([0.0, 0.0, 0.0, 0.0]) == 0  # without any error, either
    assert recovery([0.0, 0.0, 0.9, 0.0]) == 20
    assert recovery([0.1, 0.2, 0.9, 0.5]) == math.inf
    assert recovery([0.1, 0.2, 0.9], window=10) == math.inf  # a window after the drift is the end itself
    assert recovery([0.1, 0.2, 0.9, 0.1], window=20) == 20  # and one before it the beginning
    with pytest.raises(ValueError, match="must have window=21 examples before it"):
        recovery([0.1, 0.2, 0.9, 0.1, 0.1], window=21)
    with pytest.raises(ValueError, match="and as many after it"):
        recovery([0.1, 0.2, 0.9], window=11)
    # Rounding does not count: 1.2 * 0.1 is a little more than 0.12, 3 * 0.1 than 0.3.
    assert recovery([0.1, 0.1, 0.9, 0.1 * 3], factor=3) == 20
    assert recovery([0.1, 0.1, 0.9, math.nextafter(0.1 * 3, 1)], factor=3) == 20
