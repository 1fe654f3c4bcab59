"""Error against coverage: each point answers exactly the rows that are as sure as it says."""

import numpy as np
import pytest

from sureline.evaluate.coverage import CoverageCurve


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_a_point_answers_the_rows_that_are_at_least_so_sure(n: int) -> None:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, n) ** 0.25
    wrong = rng.random(n) > confidence
    curve = CoverageCurve()
    for part in np.array_split(np.arange(n), 3):
        curve.add(confidence[part], wrong[part])
    points = curve.table()
    assert points[-1]["coverage"] == 1
    assert points[0]["coverage"] >= 0.05
    for point in points:
        sure = confidence >= point["confidence"]
        assert point["answered"] == sure.sum() == round(point["coverage"] * n)
        assert point["error"] == wrong[sure].mean()
        assert point["low"] <= point["error"] <= point["high"]


def test_confidences_of_zero_and_one_have_their_places() -> None:
    curve = CoverageCurve()
    assert curve.table() == []
    curve.add(np.array([0.0, 1.0, 1.0]), np.array([True, False, False]))
    first, last = curve.table()
    assert (first["answered"], first["error"], last["answered"], last["error"]) == (2, 0.0, 3, 1 / 3)
    assert first["confidence"] > 0.99
    assert last["confidence"] < 0.01
