"""Room for models: how much is said, and rows in parts between which the memory is looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sureline import AROW, PA, stream
from sureline.stream.memory import PAGE
from sureline.training.room import in_steps, in_words, scale_bytes, shared_scale_bytes


@pytest.mark.parametrize(
    ("n", "words"),
    [
        *((0, "1 kB"), (499, "1 kB"), (2_499, "2 kB"), (999_499, "999 kB")),
        *((10**6, "1 MB"), (1_499_999, "1 MB"), (208 * 10**6, "208 MB"), (10**9 - 1, "1,000 MB")),
        *((10**9, "1.0 GB"), (9_940_000_000, "9.9 GB"), (10**10, "10 GB"), (4_398 * 10**9, "4,398 GB")),
    ],
)
def test_bytes_in_words(n: int, words: str) -> None:
    assert in_words(n) == words


def test_scales_are_shared_by_the_learners_of_a_dtype() -> None:
    learners = [AROW(), PA(), PA(dtype="float32"), PA(normalize="none")]
    assert shared_scale_bytes(learners, 100) == 2 * scale_bytes(100) == 3200


WIDE = 1 << 26  # so many columns that the system gives the weights small pages


class Memory:
    """A memory that notes what it is asked for."""

    def __init__(self, limit: int | None) -> None:
        self.limit, self.asked = limit, []  # type: ignore[var-annotated]

    def check(self, more: int = 0) -> None:
        self.asked.append(more)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = []
    for k in range(300):
        columns = np.unique(rng.integers(1, WIDE, rng.integers(0, 40)))
        lines.append(f"{k % 2} " + " ".join(f"{c}:1" for c in columns))
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(lines) + f"\n0 {WIDE}:1\n")
    return path


def parts_of(rows: Path, limit: int | None, start: int = 0, stop: int = 300) -> tuple[list[tuple[int, int]], Any]:
    chunk = replace(next(iter(stream.read(rows))), memory=Memory(limit))
    learner = PA(normalize="none")
    learner.partial_fit(sparse.csr_matrix((2, WIDE)), [0, 1], classes=[0, 1])
    return list(in_steps(learner, chunk, 2, start, stop)), chunk


def test_without_a_limit_rows_stay_together(rows: Path) -> None:
    assert parts_of(rows, None)[0] == [(0, 300)]
    assert parts_of(rows, 1 << 40)[0] == [(0, 300)]


def test_the_parts_follow_each_other_and_each_may_take_a_sixteenth(rows: Path) -> None:
    limit = 16 * 100 * 2 * PAGE
    for start, stop in ((0, 300), (17, 251)):
        parts, chunk = parts_of(rows, limit, start, stop)
        assert len(parts) > 3
        assert [a for a, _ in parts] == [start, *(b for _, b in parts[:-1])]
        assert parts[-1][1] == stop
        for a, b in parts:
            assert a < b
            entries = int(chunk.indptr[b] - chunk.indptr[a])
            assert entries <= 100 or b == a + 1
            if b < stop:  # no smaller than need be
                assert int(chunk.indptr[b + 1] - chunk.indptr[a]) > 100
        assert len(chunk.memory.asked) >= len(parts)
