"""Streams that drift: where they say, as much as they say, and the same rows however long they are."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sureline import AROW
from sureline.datasets import make_drift

SHAPES = [{"n_features": 12}, {"n_features": 3000, "n_nonzero": 40}]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=["dense", "sparse"])


def dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X


def fitted_on(X: Any, y: np.ndarray, rows: slice) -> AROW:
    """The direction that these rows teach; without noise and with dense rows it is their concept."""
    return AROW(r=0.1, fit_intercept=False, passes=5, normalize="none").fit(X[rows], y[rows])


@each_shape
def test_shape_and_balance(shape: dict[str, int]) -> None:
    X, y, drifts = make_drift(20_000, **shape, random_state=0, return_drifts=True)
    assert X.shape == (20_000, shape["n_features"])
    assert drifts == (10_000,)
    assert y.dtype == np.int64
    for part in (y[:10_000], y[10_000:]):
        assert abs(part.mean() - 0.5) < 0.02  # four standard deviations
    if "n_nonzero" in shape:
        assert X.dtype == np.float32
        assert X.has_canonical_format
        assert (np.diff(X.indptr) == 40).all()
        np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
        counts = np.sort(np.bincount(X.indices, minlength=3000))
        assert counts[-1] > 10_000
        assert np.median(counts) < 200
    else:
        assert X.mean() == pytest.approx(0, abs=0.01)
        assert X.std() == pytest.approx(1, abs=0.01)


@each_shape
def test_seeds(shape: dict[str, int]) -> None:
    X, y = make_drift(500, **shape, random_state=1)
    again, labels = make_drift(500, **shape, random_state=np.random.RandomState(1))
    other, other_labels = make_drift(500, **shape, random_state=2)
    np.testing.assert_array_equal(dense(again), dense(X))
    np.testing.assert_array_equal(labels, y)
    assert (dense(other) != dense(X)).any()
    assert (other_labels != y).any()


@each_shape
@pytest.mark.parametrize("how", [{}, {"width": 700}, {"width": 700, "transition": "turn"}, {"n_concepts": 2}])
def test_the_first_rows_do_not_depend_on_what_follows(shape: dict[str, int], how: dict[str, Any]) -> None:
    drifts = [300, 1500, 3000, 8000]
    X, y = make_drift(9000, **shape, drifts=drifts, **how, random_state=0)
    for n in (1, 1000, 4096, 4097, 8999):
        head, labels = make_drift(n, **shape, drifts=drifts, **how, random_state=0)
        np.testing.assert_array_equal(dense(head[-5:]), dense(X[max(0, n - 5) : n]))
        np.testing.assert_array_equal(labels, y[:n])
        fewer = [drift for drift in drifts if drift < n]
        np.testing.assert_array_equal(make_drift(n, **shape, drifts=fewer, **how, random_state=0)[1], labels)


@each_shape
def test_rows_are_the_same_for_every_drift_and_noise(shape: dict[str, int]) -> None:
    X, y = make_drift(2000, **shape, drifts=[], noise=0, random_state=0)
    same, noisy = make_drift(2000, **shape, drifts=[], noise=0.2, random_state=0)
    np.testing.assert_array_equal(dense(same), dense(X))
    assert (noisy != y).mean() == pytest.approx(0.2, abs=0.04)
    np.testing.assert_array_equal(make_drift(2000, **shape, drifts=[], noise=1, random_state=0)[1], 1 - y)
    same, drifted = make_drift(2000, **shape, drifts=[800], noise=0, random_state=0)
    np.testing.assert_array_equal(dense(same), dense(X))
    np.testing.assert_array_equal(drifted[:800], y[:800])
    assert 0.3 < (drifted[800:] != y[800:]).mean() < 0.7


@pytest.mark.parametrize("severity", [0.1, 0.5, 0.9, 1])
def test_severity_is_the_part_of_the_labels_that_change(severity: float) -> None:
    for shape, tolerance in zip(SHAPES, (0.03, 0.12), strict=True):
        _, old = make_drift(6000, **shape, drifts=[], noise=0, random_state=3)
        _, new = make_drift(6000, **shape, drifts=[0], noise=0, severity=severity, random_state=3)
        assert (old != new).mean() == pytest.approx(severity, abs=tolerance if severity < 1 else 0)


def test_a_concept_is_a_plane() -> None:
    X, y = make_drift(8000, 12, drifts=[4000], noise=0, random_state=0)
    old, new = fitted_on(X, y, slice(0, 4000)), fitted_on(X, y, slice(4000, 8000))
    assert old.score(X[:4000], y[:4000]) > 0.985
    assert new.score(X[4000:], y[4000:]) > 0.985
    assert old.score(X[4000:], y[4000:]) == pytest.approx(0.5, abs=0.03)


@each_shape
def test_recurring_concepts(shape: dict[str, int]) -> None:
    """Where it is not their turn, the labels are those of another concept; where it is, they are those of the first."""
    drifts = list(range(1000, 7000, 1000))
    # With k drifts at once the whole stream, but for its first rows, has the concept number k.
    concepts = [make_drift(7000, **shape, drifts=range(k), noise=0, random_state=0)[1] for k in range(3)]
    for n_concepts in (2, 3):
        _, y = make_drift(7000, **shape, drifts=drifts, n_concepts=n_concepts, noise=0, random_state=0)
        for turn, (start, stop) in enumerate(pairwise([0, *drifts, 7000])):
            for k in range(n_concepts):
                agreement = (y[start:stop] == concepts[k][start:stop]).mean()
                if turn % n_concepts == k:
                    assert agreement > 0.995
                else:
                    assert agreement < 0.75
    _, always_new = make_drift(7000, **shape, drifts=drifts, noise=0, random_state=0)
    assert all((always_new[3000:4000] == concept[3000:4000]).mean() < 0.75 for concept in concepts)


def test_gradual_drift_mixes_two_concepts() -> None:
    settings: dict[str, Any] = {"noise": 0, "random_state": 0}
    _, old = make_drift(40_000, 12, drifts=[], **settings)
    _, new = make_drift(40_000, 12, drifts=[0], **settings)
    _, y = make_drift(40_000, 12, drifts=[10_000], width=20_000, **settings)
    np.testing.assert_array_equal(y[:10_000], old[:10_000])
    np.testing.assert_array_equal(y[30_000:], new[30_000:])
    tells = old != new
    assert ((y == old) | (y == new)).all()
    for start in range(10_000, 30_000, 4000):
        rows = slice(start, start + 4000)
        share = (y == new)[rows][tells[rows]].mean()
        assert share == pytest.approx((start + 2000 - 10_000) / 20_000, abs=0.05)


@pytest.mark.parametrize("severity", [0.5, 1])
def test_gradual_drift_may_turn_the_plane(severity: float) -> None:
    """In the middle it is a plane, half way between the two; at the end it has arrived."""
    settings: dict[str, Any] = {"noise": 0, "severity": severity, "random_state": 0}
    X, old = make_drift(40_000, 12, drifts=[], **settings)
    _, new = make_drift(40_000, 12, drifts=[0], **settings)
    _, y = make_drift(40_000, 12, drifts=[10_000], width=20_000, transition="turn", **settings)
    np.testing.assert_array_equal(y[:10_000], old[:10_000])
    np.testing.assert_array_equal(y[30_000:], new[30_000:])
    middle = slice(19_000, 21_000)
    assert (y != old)[middle].mean() == pytest.approx(severity / 2, abs=0.04)
    assert (y != new)[middle].mean() == pytest.approx(severity / 2, abs=0.04)
    assert fitted_on(X, y, middle).score(X[middle], y[middle]) > 0.95
    first = slice(10_000, 12_000)
    assert (y != old)[first].mean() == pytest.approx(severity / 20, abs=0.02)
    # And so it is the second time.
    _, y = make_drift(40_000, 12, drifts=[0, 20_000], width=20_000, transition="turn", **settings)
    assert (y != new)[29_000:31_000].mean() == pytest.approx(severity / 2, abs=0.04)
    assert fitted_on(X, y, slice(29_000, 31_000)).score(X[29_000:31_000], y[29_000:31_000]) > 0.95


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer of at least 1"),
        ({"n_features": 1}, "n_features must be an integer of at least 2"),
        ({"drifts": [5, 3]}, r"drifts must ascend, each once. Got \[5, 3\] instead"),
        ({"drifts": [5, 5]}, "drifts must ascend"),
        ({"drifts": [-1]}, "drifts must be numbers of rows, integers from 0. Got -1 among them"),
        ({"drifts": [1.5]}, "Got 1.5 among them"),
        ({"width": -1}, "width must be an integer of at least 0"),
        ({"drifts": [10, 20], "width": 11}, "width must end before the next drift. Got 11, and drifts at 10 and 20"),
        ({"transition": "jump"}, "transition must be 'mix' or 'turn'. Got 'jump' instead"),
        ({"n_concepts": 1}, "n_concepts must be an integer of at least 2"),
        ({"severity": 0}, "severity must be a number that is more than 0 and at most 1. Got 0 instead"),
        ({"severity": 1.1}, "severity must be"),
        ({"n_nonzero": 26}, "n_nonzero must be at most half of n_features=50"),
        ({"noise": 2}, "noise must be a number from 0 to 1"),
    ],
)
def test_bad_arguments(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_drift(**{"n_samples": 100, **change})
