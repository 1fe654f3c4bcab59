"""The measures: by hand, against scikit-learn, and where a class is missing."""

import dataclasses
import re

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, precision_score, recall_score

from sureline.metrics import Tally, balanced_accuracy, tally, weighted_cost, weighted_sum

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
    with pytest.raises(ValueError, match=r"classes=\[\.\.\.\] names those that did not occur"):
        weighted_cost([0, 0], [0, 0], cost=(10, 1))
