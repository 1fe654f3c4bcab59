"""The generators: seeded, of the promised shape, and strict about their arguments."""

from itertools import pairwise

import numpy as np
import pytest

from sureline import AROW, Perceptron
from sureline.datasets import (
    STREAM_SHAPES,
    make_correlated_groups,
    make_cover_type,
    make_epsilon,
    make_rotated_gaussian,
    make_sparse_gaussian,
    make_sparse_stream,
    make_stream_like,
)


def test_rotated_gaussian_is_separable_and_seeded() -> None:
    X, y = make_rotated_gaussian(2000, random_state=3)
    assert X.shape == (2000, 20)
    np.testing.assert_array_equal(y, X[:, 1] > X[:, 0])
    again, flipped = make_rotated_gaussian(2000, noise=0.1, random_state=3)
    np.testing.assert_array_equal(again, X)
    assert (flipped != y).sum() == 200


def test_sparse_gaussian_has_the_shape_of_the_paper() -> None:
    X, y = make_sparse_gaussian(20_000, dtype="float32", random_state=0)
    assert X.shape == (20_000, 1000)
    assert X.dtype == np.float32
    assert X.has_canonical_format
    assert (np.diff(X.indptr) == 300).all()
    effective = X[:, :100].toarray().astype(np.float64)
    assert (effective != 0).all()
    assert np.abs(effective.mean(axis=0)).max() < 1.3  # uniform in [-1, 1], known to 0.07
    variances = effective.var(axis=0)
    assert 0.4 < variances.min() < 5
    assert 90 < variances.max() < 105
    noise = X[:, 100:]
    assert noise.data.mean() == pytest.approx(0, abs=0.2)
    assert noise.data.std() == pytest.approx(100, rel=0.01)
    np.testing.assert_allclose(noise.getnnz(axis=0), 20_000 * 200 / 900, rtol=0.06)
    assert 0.7 < y.mean() < 0.9
    again, labels = make_sparse_gaussian(20_000, dtype="float32", random_state=0)
    assert (again != X).nnz == 0
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize(("n_features", "n_noise"), [(8, 0), (8, 3), (5000, 20)])
def test_sparse_gaussian_is_cut_by_a_plane_through_the_origin(n_features: int, n_noise: int) -> None:
    X, y = make_sparse_gaussian(300, n_features, n_effective=5, n_noise=n_noise, random_state=1)
    assert (np.diff(X.indptr) == 5 + n_noise).all()
    assert X.has_canonical_format
    learner = Perceptron(fit_intercept=False, passes=300, normalize="none").fit(X[:, :5], y)
    assert learner.score(X[:, :5], y) == 1


def test_sparse_gaussian_deviates_as_asked() -> None:
    X, _ = make_sparse_gaussian(2000, noise_scale=10, random_state=0)
    assert X.dtype == np.float64
    assert X[:, 100:].data.std() == pytest.approx(10, rel=0.01)


def test_sparse_streams_have_the_shape_of_text() -> None:
    X, y = make_sparse_stream(3000, 50_000, 40, random_state=0)
    assert X.shape == (3000, 50_000)
    assert X.dtype == np.float32
    assert X.has_canonical_format
    assert (np.diff(X.indptr) == 40).all()
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
    assert set(y) == {0, 1}
    counts = np.sort(np.bincount(X.indices, minlength=50_000))[::-1]
    assert counts[0] > 1500  # some features are almost everywhere, most are rare
    assert np.median(counts[counts > 0]) <= 3
    again, _ = make_sparse_stream(3000, 50_000, 40, random_state=0)
    assert (again != X).nnz == 0


def test_narrow_sparse_streams() -> None:
    X, _ = make_sparse_stream(50, 10, 5, random_state=0)
    assert (np.diff(X.indptr) == 5).all()


@pytest.mark.parametrize("positive", [0, 0.01, 0.3, 0.5, 0.99, 1])
@pytest.mark.parametrize("noise", [0, 0.1, 1])
def test_streams_have_the_asked_part_of_positives(positive: float, noise: float) -> None:
    shape = (2000, 5000, 20)
    X, y = make_sparse_stream(*shape, positive=positive, noise=noise, random_state=0)
    assert y.sum() == round(2000 * positive)
    same, clean = make_sparse_stream(*shape, positive=positive, noise=0, random_state=0)
    assert (same != X).nnz == 0
    assert (y != clean).sum() == 2 * round(noise * min(y.sum(), 2000 - y.sum()))


def test_fewer_positives_are_a_part_of_more() -> None:
    labels = [
        make_sparse_stream(1000, 5000, 20, positive=positive, noise=0, random_state=0)[1]
        for positive in (0.01, 0.1, None, 0.99)
    ]
    assert all((few <= more).all() for few, more in pairwise(labels))


def test_few_positives_are_still_those_with_the_largest_scores() -> None:
    """A linear function finds them: they rank far above the others."""
    X, y = make_sparse_stream(20_000, 2000, 30, n_informative=50, positive=0.02, noise=0, random_state=0)
    learner = AROW(r=0.1, normalize="none").fit(X[:15_000], y[:15_000])
    scores = learner.decision_function(X[15_000:])
    positive = y[15_000:] == 1
    assert np.mean(scores[positive][:, None] > scores[~positive]) > 0.98


def test_labels_depend_on_the_informative_features_alone() -> None:
    X, y = make_sparse_stream(5000, 300, 30, n_informative=4, positive=0.5, noise=0, random_state=0)
    again, _ = make_sparse_stream(5000, 300, 30, random_state=0)
    assert (again != X).nnz == 0
    weights = np.linalg.solve((X.T @ X).toarray() + 0.1 * np.eye(300), X.T @ (2.0 * y - 1))  # ridge regression
    large = np.argsort(-np.abs(weights))[:4]
    assert np.abs(weights[large]).min() > 3 * np.median(np.abs(weights))
    learner = AROW(normalize="none").fit(X[:, large], y)
    assert learner.score(X[:, large], y) > 0.95


def test_streams_like_the_real_ones() -> None:
    for name, n_features, n_nonzero, positive in [
        ("rcv1", 47_152, 76, 1 / 2.11),
        ("url", 3_231_961, 116, 1 / 3.02),
        ("url2", 3_231_961, 115, 0.01),
        ("webspam", 16_071_971, 3727, 1 / 1.64),
    ]:
        X, y = make_stream_like(name, 200, random_state=0)
        assert X.shape == (200, n_features)
        assert X.has_canonical_format
        assert (np.diff(X.indptr) == n_nonzero).all()
        assert y.sum() == round(200 * positive)
    assert all(shape.nonzeros_per_row < shape.n_features / 2 for shape in STREAM_SHAPES.values())
    _, y = make_stream_like("rcv1", 200, positive=0.1, random_state=0)
    assert y.sum() == 20


def test_correlated_groups_are_what_they_say() -> None:
    X, y, relevant = make_correlated_groups(4000, 5000, n_decoys=50, noise=0, random_state=0)
    assert X.shape == (4000, 5000)
    assert X.dtype == np.float32
    assert X.has_canonical_format
    assert len(set(relevant.tolist())) == 100
    values = X[:, relevant].toarray().astype(np.float64)
    there = (values != 0).reshape(4000, 20, 5)
    np.testing.assert_array_equal(there.any(axis=2), there.all(axis=2))
    assert there.mean() == pytest.approx(0.5, abs=0.01)
    first = values[there[:, 0, 0], :5]
    assert np.corrcoef(first.T)[np.triu_indices(5, 1)] == pytest.approx(0.7, abs=0.04)
    assert np.abs(np.corrcoef(values[:, ::5].T) - np.eye(20)).max() < 0.08  # one of each group
    # The label is the sign of a linear function of the relevant columns alone, with one weight a group.
    learner = Perceptron(fit_intercept=False, passes=300, normalize="none").fit(
        values.reshape(4000, 20, 5).sum(axis=2), y
    )
    assert learner.score(values.reshape(4000, 20, 5).sum(axis=2), y) > 0.99
    frequencies = np.sort(X.getnnz(axis=0))[::-1] / 4000
    assert frequencies[149] > 0.45  # the relevant ones and the decoys
    np.testing.assert_allclose(frequencies[150:].mean(), 0.005, rtol=0.02)
    assert frequencies[150] < 0.02
    same, noisy, again = make_correlated_groups(4000, 5000, n_decoys=50, noise=0.1, random_state=0)
    assert (same != X).nnz == 0
    np.testing.assert_array_equal(again, relevant)
    assert (noisy != y).sum() == 400


@pytest.mark.parametrize("density", [0, 1])
def test_groups_of_any_density(density: float) -> None:
    X, _, _ = make_correlated_groups(30, 40, n_relevant=5, n_decoys=5, density=density, presence=1, random_state=0)
    assert (np.diff(X.indptr) == (40 if density else 10)).all()


def test_cover_types_have_the_shape_of_the_real_ones() -> None:
    X, y = make_cover_type(30_000, random_state=0)
    assert X.shape == (30_000, 54)
    numbers, areas, soils = X[:, :10], X[:, 10:14], X[:, 14:]
    assert 0 <= numbers.min() < 0.1 < 0.9 < numbers.max() <= 1
    assert 0.5 < np.abs(np.corrcoef(numbers.T) - np.eye(10)).max() < 0.9
    for choice, n_choices in ((areas, 4), (soils, 40)):
        assert set(np.unique(choice)) == {0, 1}
        assert (choice.sum(axis=1) == 1).all()
        assert choice.mean(axis=0).max() > 1.5 / n_choices
        assert (choice.mean(axis=0) > 0).all()
    assert 0.48 < y.mean() < 0.50
    X_test, y_test = make_cover_type(30_000, random_state=1)  # of the same population
    assert AROW(covariance="full", normalize="none").fit(X, y).score(X_test, y_test) == pytest.approx(0.762, abs=0.008)
    squares = np.column_stack([X, *(X[:, j] * X[:, k] for j in range(10) for k in range(j + 1))])
    of_test = np.column_stack([X_test, *(X_test[:, j] * X_test[:, k] for j in range(10) for k in range(j + 1))])
    assert AROW(r=0.1, covariance="full", normalize="none").fit(squares, y).score(of_test, y_test) > 0.8
    csr, same = make_cover_type(30_000, layout="csr", random_state=0)
    assert csr.has_canonical_format
    assert csr.nnz == 12 * 30_000
    np.testing.assert_array_equal(csr.toarray(), X)
    np.testing.assert_array_equal(same, y)


def test_epsilon_is_dense_of_unit_length_and_linear() -> None:
    X, y = make_epsilon(6000, 100, random_state=0)
    assert X.dtype == np.float32
    np.testing.assert_allclose((X**2).sum(axis=1), 1, rtol=1e-5)
    assert 0.48 < y.mean() < 0.52
    X_test, y_test = make_epsilon(6000, 100, dtype="float64", random_state=1)  # of the same population
    assert X_test.dtype == np.float64
    weights = np.linalg.solve(X.T @ X + 0.1 * np.eye(100), X.T @ (2.0 * y - 1))
    assert np.mean((X_test @ weights > 0) == y_test) == pytest.approx(0.9, abs=0.015)
    difference = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    assert (np.abs(difference) > 0.01).mean() > 0.9  # every column says a little
    correlations = np.abs(np.corrcoef(X.T)[np.triu_indices(100, 1)])
    assert 0.02 < correlations.mean() < 0.1
    np.testing.assert_array_equal(make_epsilon(6000, 100, random_state=0)[0], X)


def test_epsilon_is_made_in_place() -> None:
    """Beside the array itself there are a few blocks."""
    import tracemalloc

    make_epsilon(10, 2000)
    tracemalloc.start()
    X, _ = make_epsilon(20_000, 2000, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - X.nbytes < 50e6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_correlated_groups(10, 100), "n_relevant and n_decoys must add up to at most n_features=100. Got"),
        (lambda: make_correlated_groups(10, n_relevant=7), "n_relevant must be a multiple of group_size=5. Got 7"),
        (lambda: make_correlated_groups(10, n_decoys=3), "n_decoys must be a multiple of group_size=5. Got 3"),
        (lambda: make_correlated_groups(10, correlation=1.1), "correlation must be a number from 0 to 1. Got 1.1"),
        (lambda: make_cover_type(0), "n_samples must be an integer of at least 1. Got 0"),
        (lambda: make_cover_type(5, layout="coo"), "layout must be 'dense' or 'csr'. Got 'coo'"),
        (lambda: make_epsilon(5, 0), "n_features must be an integer of at least 1. Got 0"),
        (lambda: make_epsilon(5, dtype="float16"), "dtype must be 'float32' or 'float64'. Got 'float16'"),
        (lambda: make_rotated_gaussian(0), "n_samples must be an integer of at least 1. Got 0"),
        (lambda: make_rotated_gaussian(10, 1), "n_features must be an integer of at least 2. Got 1"),
        (lambda: make_rotated_gaussian(10, noise=1.5), "noise must be a number from 0 to 1. Got 1.5"),
        (lambda: make_sparse_stream(10.5, 10, 2), "n_samples must be an integer of at least 1. Got 10.5"),
        (lambda: make_sparse_stream(10, 10, 6), "n_nonzero must be at most half of n_features=10. Got 6"),
        (lambda: make_sparse_stream(10, 10, 2, noise=float("nan")), "noise must be a number from 0 to 1. Got nan"),
        (lambda: make_sparse_stream(10, 10, 2, positive=-0.1), "positive must be a number from 0 to 1. Got -0.1"),
        (lambda: make_sparse_stream(10, 10, 2, n_informative=6), "n_informative must be at most half of n_features=10"),
        (
            lambda: make_sparse_stream(10, 10, 2, n_informative=0),
            "n_informative must be an integer of at least 1. Got 0",
        ),
        (lambda: make_stream_like("rcv2", 10), "name must be one of 'aut', 'pcmac', 'news', 'rcv1', 'url', 'webspam'"),
        (lambda: make_stream_like("rcv1", 0), "n_samples must be an integer of at least 1. Got 0"),
        (
            lambda: make_sparse_gaussian(10, 9, n_effective=5, n_noise=5),
            "must add up to at most n_features=9. Got 5 and 5",
        ),
        (lambda: make_sparse_gaussian(10, n_noise=-1), "n_noise must be an integer of at least 0. Got -1"),
        (lambda: make_sparse_gaussian(10, noise_scale=0), "noise_scale must be a positive number. Got 0"),
        (lambda: make_sparse_gaussian(10, dtype="float16"), "dtype must be 'float32' or 'float64'. Got 'float16'"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        call()
