"""The generators: seeded, shaped as they say, and strict about what they are asked for."""

import numpy as np
import pytest

from sureline.datasets import make_rotated_gaussian, make_sparse_stream


def test_rotated_gaussian_is_separable_and_seeded() -> None:
    X, y = make_rotated_gaussian(2000, random_state=3)
    assert X.shape == (2000, 20)
    np.testing.assert_array_equal(y, X[:, 1] > X[:, 0])
    again, flipped = make_rotated_gaussian(2000, noise=0.1, random_state=3)
    np.testing.assert_array_equal(again, X)
    assert (flipped != y).sum() == 200


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_rotated_gaussian(0), "n_samples must be an integer of at least 1. Got 0"),
        (lambda: make_rotated_gaussian(10, 1), "n_features must be an integer of at least 2. Got 1"),
        (lambda: make_rotated_gaussian(10, noise=1.5), "noise must be a number from 0 to 1. Got 1.5"),
        (lambda: make_sparse_stream(10.5, 10, 2), "n_samples must be an integer of at least 1. Got 10.5"),
        (lambda: make_sparse_stream(10, 10, 6), "n_nonzero must be at most half of n_features=10. Got 6"),
        (lambda: make_sparse_stream(10, 10, 2, noise=float("nan")), "noise must be a number from 0 to 1. Got nan"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        call()
