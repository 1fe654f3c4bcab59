"""The measures: by hand, against scikit-learn, and where a class is missing."""

import dataclasses
import re
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    precision_score,
    recall_score,
)

from sureline.metrics import Calibration, Tally, balanced_accuracy, tally, weighted_cost, weighted_sum, wilson

# 8 negatives, 2 of them false alarms; 4 positives, 1 of them missed.
TRUTH = [0] * 8 + [1] * 4
PREDICTED = [0] * 6 + [1] * 2 + [1] * 3 + [0]


def test_by_hand() -> None:
    counted = tally(TRUTH, PREDICTED)
    assert counted == Tally([0, 1], [8, 4], [2, 1])
    assert counted.error == 0.25
    assert (counted.sensitivity, counted.specificity) == (0.75, 0.75)
    assert tally(TRUTH, [0] * 12).weighted_sum((0.9, 0.1)) == pytest.approx(0.1)
    assert counted.weighted_cost((10, 3)) == 10 * 1 + 3 * 2
    assert counted.weighted_cost() == 3
    assert weighted_sum(TRUTH, [0] * 11 + [1], mu=(0.2, 0.8)) == pytest.approx(0.2 * 0.25 + 0.8)
    assert weighted_cost(TRUTH, PREDICTED, cost=(5, 1)) == 7


def test_the_positive_class_can_be_named() -> None:
    assert tally(TRUTH, [0] * 12).sensitivity == 0
    assert tally(TRUTH, [0] * 12, pos_label=0).sensitivity == 1
    assert tally(TRUTH, [0] * 12, pos_label=1).sensitivity == 0
    assert tally(TRUTH, [0] * 12, pos_label=0).classes.tolist() == [1, 0]
    assert weighted_sum(TRUTH, [0] * 12, mu=(0.9, 0.1), pos_label=0) == pytest.approx(0.9)
    assert weighted_cost(TRUTH, PREDICTED, cost=(10, 3), pos_label=0) == 10 * 2 + 3 * 1
    # As the estimators do: the classes are sorted, so their order in the argument names nothing.
    assert tally(["spam", "ham"], ["ham", "ham"], classes=["spam", "ham"]).sensitivity == 0


@pytest.mark.parametrize(
    "labels", [[0, 1], [-1, 1], [0, 1, 2], [5, 900_000, 7], ["a", "bc", "d"], [False, True], [0.0, 1.0]]
)
def test_against_scikit_learn(labels: list) -> None:
    rng = np.random.default_rng(0)
    truth = np.array(labels)[np.minimum(rng.geometric(0.5, 500) - 1, len(labels) - 1)]
    predicted = np.where(rng.random(500) < 0.7, truth, rng.choice(labels, 500))
    counted = tally(truth, predicted)
    assert counted.error == pytest.approx(1 - accuracy_score(truth, predicted))
    np.testing.assert_allclose(counted.recalls, recall_score(truth, predicted, average=None))
    expected = balanced_accuracy_score(truth, predicted)
    assert counted.balanced_accuracy == pytest.approx(expected)
    assert balanced_accuracy(truth, predicted, classes=labels) == pytest.approx(expected)
    assert counted.weighted_cost([2] * len(labels)) == 2 * (truth != predicted).sum()
    if len(labels) == 2:
        assert counted.weighted_sum() == pytest.approx(expected)


def test_more_classes_have_a_cost_each_in_their_order() -> None:
    counted = tally(["a", "b", "c", "c"], ["b", "b", "a", "b"])
    assert counted.mistakes.tolist() == [1, 0, 2]
    assert counted.weighted_cost((1, 10, 100)) == 201


def test_a_class_that_did_not_occur() -> None:
    """It is left out of means, and none of its examples was missed."""
    negatives = tally([0, 0, 0, 0], [0, 1, 0, 0])
    assert (negatives.sensitivity, negatives.specificity) == (1, 0.75)
    assert negatives.balanced_accuracy == negatives.weighted_sum() == negatives.weighted_sum((0.9, 0.1)) == 0.75
    assert negatives.weighted_sum((1, 0)) == 1
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        assert balanced_accuracy_score([0, 0, 0, 0], [0, 1, 0, 0]) == 0.75
    three = tally([0, 0, 2], [0, 2, 2], classes=[0, 1, 2])
    assert three.recalls.tolist() == [0.5, 1, 1]
    assert three.balanced_accuracy == 0.75
    assert tally([0], [1]).error == 1
    nothing = tally([], [], classes=[0, 1])
    assert (nothing.error, nothing.balanced_accuracy, nothing.weighted_sum(), nothing.weighted_cost()) == (0, 1, 1, 0)


def test_a_tally_is_a_value() -> None:
    counts = np.array([3, 4])
    counted = Tally(["ham", "spam"], counts, [1, 0])
    counts[0] = 99
    assert counted.seen.tolist() == [3, 4]
    with pytest.raises(ValueError, match="read-only"):
        counted.seen[0] = 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        counted.seen = counts
    assert counted != Tally(["ham", "spam"], [3, 4], [1, 1])
    assert counted != "a tally"
    assert repr(counted) == (
        "Tally(1 mistakes of 7, error 0.143, balanced accuracy 0.833; class 'ham': 1 of 3, class 'spam': 0 of 4)"
    )
    assert "and 994 classes more" in repr(Tally(range(1000), [1] * 1000, [0] * 1000))
    assert repr(Tally(range(6), [1] * 6, [0] * 6)).endswith("class 5: 0 of 1)")  # as many as are shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tally([0, 1], [0]), "one label for each example. Got 2 and 1 labels."),
        (lambda: tally([[0, 1]], [[0, 1]]), "y_true must have one dimension. Got an array of shape (1, 2)"),
        (lambda: tally([], []), "There are no labels."),
        (lambda: tally([0, 1], ["0", "1"]), "all numbers or all strings. Got both."),
        (lambda: tally([0, 1], [0, 1], classes=["0", "1"]), "all numbers or all strings. Got both."),
        (lambda: tally(np.array(["a", None]), ["a", "b"]), "of one type that can be sorted"),
        (lambda: tally([0, 3], [0, 1], classes=[0, 1]), "y_true has the label 3 in row 1, which is not among"),
        (lambda: tally([0, 1], [0, np.nan], classes=[0, 1]), "y_pred has the label nan in row 1, which is not among"),
        (lambda: tally([0, 1], [0, 1], pos_label=2), "pos_label must be one of two classes. Got 2"),
        (lambda: tally([0, 1], [0, 2], pos_label=1), "pos_label must be one of two classes. Got 1"),
        (lambda: tally([0, 1], [0, 2]).sensitivity, "sensitivity needs two classes"),
        (lambda: tally(range(20), range(20)).f1, "Got [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] instead;"),
        (lambda: weighted_sum([0, 0], [0, 0]), "weighted_sum needs two classes"),
        (lambda: weighted_sum([0, 1], [0, 1], mu=(0.5, 0.6)), "mu must add up to 1. Got (0.5, 0.6)"),
        (lambda: weighted_sum([0, 1], [0, 1], mu=(1.5, -0.5)), "mu must be 2 numbers"),
        (lambda: weighted_sum([0, 1], [0, 1], mu=0.5), "mu must be 2 numbers"),
        (lambda: weighted_cost([0, 1], [0, 1], cost=(1, float("nan"))), "cost must be 2 numbers"),
        (lambda: weighted_cost([0, 1], [0, 2], cost=(1, 2)), "cost must be 3 numbers, for each of the classes"),
        (lambda: weighted_cost([0, 1], [0, 1], cost="balanced"), "cost must be 2 numbers"),
        (lambda: Tally([0, 1], [1, 2, 3], [0, 0]), "vectors of one length"),
        (lambda: Tally([0, 1], [1, 2], [0, 3]), "mistakes must be from 0 to seen"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_precision_and_f1() -> None:
    y_true, y_pred = np.array([0] * 90 + [1] * 10), np.array([0] * 80 + [1] * 10 + [0] * 3 + [1] * 7)
    counted = tally(y_true, y_pred)
    assert counted.precision == pytest.approx(precision_score(y_true, y_pred))
    assert counted.f1 == pytest.approx(f1_score(y_true, y_pred))
    assert tally([0, 0], [0, 0], classes=[0, 1]).precision == 1
    assert tally([0, 1], [0, 0]).f1 == 0
    assert tally([1, 1, 0], [1, 0, 0]).f1 == pytest.approx(2 / 3)  # as many hits as mistakes
    with pytest.raises(ValueError, match=r"classes=\[\.\.\.\] names those that did not occur"):
        weighted_cost([0, 0], [0, 0], cost=(10, 1))


# -- intervals and calibration ----------------------------------------------------------------------------------------


def test_the_wilson_interval() -> None:
    assert wilson(0, 10) == (0.0, pytest.approx(0.2775, abs=1e-4))
    assert wilson(10, 10) == (pytest.approx(0.7225, abs=1e-4), 1.0)
    for mistakes, n in ((1, 10), (5, 10), (130, 1000)):
        for end in wilson(mistakes, n):  # the definition
            assert abs(mistakes / n - end) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / n))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 10), (10, 10), (1, 10), (130, 1000), (7, 10**6)])
def test_the_wilson_interval_is_that_of_scipy(successes: int, n: int, confidence: float) -> None:
    known = binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert wilson(successes, n, confidence) == pytest.approx((known.low, known.high), rel=1e-12, abs=1e-15)


def test_the_wilson_interval_at_its_ends() -> None:
    assert wilson(0, 50)[0] == 0
    assert wilson(50, 50)[1] == 1
    assert wilson(0, 0) == (0, 1)  # nothing is known
    assert wilson(130, 1000) == (0.1105637746248419, 0.15226802665446887)  # to the bit
    for successes, n, confidence, words in [
        (-1, 5, 0.95, "successes must be from 0 to n. Got -1 of 5 instead."),
        (6, 5, 0.95, "successes must be from 0 to n. Got 6 of 5 instead."),
        (1, 5, 1.0, "confidence must be a number in the range (0, 1). Got 1.0 instead."),
        (1, 5, float("nan"), "confidence must be a number in the range (0, 1). Got nan instead."),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            wilson(successes, n, confidence)


@pytest.mark.parametrize("low", [0.0, 0.5])
def test_calibration_is_that_of_scikit_learn(low: float) -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(2000)
    truth = (rng.random(2000) < positive**2).astype(np.int32)
    probabilities = np.column_stack([1 - positive, positive])
    best, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    calibration = Calibration(low=low)
    for part in np.array_split(np.arange(2000), 3):
        calibration.add(probabilities[part], best[part], truth[part], right[part])
    table = calibration.table()
    edges = np.linspace(low, 1, 11)
    inside = [(best >= a) & ((best < b) | (b == 1)) for a, b in pairwise(edges)]
    inside = [rows for rows in inside if rows.any()]
    assert len(table) == (5 if low == 0 else 10)
    assert [row["examples"] for row in table] == [int(rows.sum()) for rows in inside]
    assert [row["confidence"] for row in table] == pytest.approx([best[rows].mean() for rows in inside])
    assert [row["right"] for row in table] == pytest.approx([right[rows].mean() for rows in inside])
    assert [row["from"] for row in table] == pytest.approx(edges[-1 - len(table) : -1])
    assert [row["to"] for row in table] == pytest.approx(edges[-len(table) :])
    if low == 0:
        share, confidence = calibration_curve(right, best, n_bins=10)
        assert [row["right"] for row in table] == pytest.approx(share)
        assert [row["confidence"] for row in table] == pytest.approx(confidence)
    assert calibration.n == 2000
    assert calibration.brier == pytest.approx(brier_score_loss(truth, positive))
    assert calibration.log_loss == pytest.approx(log_loss(truth, positive))
    gaps = [row["examples"] * abs(row["confidence"] - row["right"]) for row in table]
    assert calibration.expected_error == pytest.approx(sum(gaps) / 2000)


def test_calibration_of_nothing() -> None:
    empty = Calibration()
    assert empty.table() == []
    assert (empty.n, empty.brier, empty.log_loss, empty.expected_error) == (0, 0, 0, 0)


def test_calibration_of_a_single_example() -> None:
    one = Calibration()
    one.add(np.array([[0.2, 0.8]]), np.array([0.8]), np.array([0], np.int32), np.array([False]))
    assert one.n == 1
    assert (one.brier, one.log_loss, one.expected_error) == pytest.approx((0.64, -np.log(0.2), 0.8))
