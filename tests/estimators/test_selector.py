"""Classifiers as selectors of features, in scikit-learn's words."""

import time

import numpy as np
import pandas as pd
import pytest
from catalogue import stream
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from test_bad_input import CORRUPT, corrupt, other_formats

from sureline import FOFS, SOFS

every_selector = pytest.mark.parametrize(
    "estimator", [SOFS(n_features=4, normalize="none"), FOFS(n_features=4, normalize="none")], ids=str
)


@every_selector
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_has_a_weight_is_selected(estimator, n_classes: int) -> None:
    X, y = stream(n_columns=20, n_classes=n_classes)
    model = estimator.fit(X, y)
    columns = np.flatnonzero(model.coef_.any(axis=0))
    assert 4 <= len(columns) <= 4 * model.coef_.shape[0]
    np.testing.assert_array_equal(model.get_support(indices=True), columns)
    np.testing.assert_array_equal(np.flatnonzero(model.get_support()), columns)
    assert model.get_support().shape == (20,)
    assert isinstance(model, SelectorMixin)
    np.testing.assert_array_equal(model.transform(X), X[:, columns])
    np.testing.assert_array_equal(model.inverse_transform(model.transform(X)), np.where(model.get_support(), X, 0))
    assert model.get_feature_names_out().tolist() == [f"x{j}" for j in columns]


@every_selector
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_matrix])
def test_sparse_rows(estimator, index, dtype, container) -> None:
    X, y = stream(n_columns=20)
    X = X.astype(dtype)
    rows = container(X)
    for name in ("indices", "indptr", "row", "col"):
        if hasattr(rows, name):
            setattr(rows, name, getattr(rows, name).astype(index))
    model = estimator.fit(rows, y)
    selected = model.transform(rows)
    assert selected.format == "csr"
    assert selected.dtype == dtype
    selected.check_format(full_check=True)
    np.testing.assert_array_equal(selected.toarray(), X[:, model.get_support()])
    back = model.inverse_transform(selected)
    np.testing.assert_array_equal(back.toarray(), np.where(model.get_support(), X, 0))


@every_selector
def test_rows_with_columns_in_any_order_or_more_than_they_say(estimator) -> None:
    X, y = stream(20, 12)
    model = estimator.fit(X, y)
    rows = sparse.csr_matrix(X)
    longer = sparse.csr_matrix((20, 12))
    longer.data, longer.indptr = np.append(rows.data, [7.0, np.nan]), rows.indptr
    longer.indices = np.append(rows.indices, [3, 99]).astype(np.int32)  # what no row has is not looked at
    backwards = rows.copy()
    for i in range(20):
        span = slice(*rows.indptr[i : i + 2])
        backwards.indices[span], backwards.data[span] = rows.indices[span][::-1].copy(), rows.data[span][::-1].copy()
    for X_ in (longer, backwards):
        np.testing.assert_array_equal(model.transform(X_).toarray(), X[:, model.get_support()])


@every_selector
def test_bad_rows_are_refused(estimator) -> None:
    X, y = stream(20)
    model = estimator.fit(X, y)
    for kind in CORRUPT:
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            model.transform(corrupt(kind))
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            model.inverse_transform(corrupt(kind))
    for rows in other_formats():
        with pytest.raises(ValueError, match=f"not a valid {rows.format.upper()} matrix"):
            model.transform(rows)
        with pytest.raises(ValueError, match=f"not a valid {rows.format.upper()} matrix"):
            model.inverse_transform(rows)
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")):
        bad = X.copy()
        bad[7, 3] = value
        for rows in (bad, sparse.csr_matrix(bad)):
            with pytest.raises(ValueError, match=f"Input X contains {name} in row 7, column 3"):
                model.transform(rows)
    with pytest.raises(ValueError, match="12 features"):
        model.transform(X[:, :5])
    with pytest.raises(ValueError, match="different shape"):
        model.inverse_transform(X)


def test_before_and_without_anything() -> None:
    X = stream(20)[0]
    for call in (lambda m: m.get_support(), lambda m: m.get_support(indices=True), lambda m: m.transform(X)):
        with pytest.raises(ValueError, match="not fitted"):
            call(SOFS(normalize="none"))
    model = SOFS(normalize="none").partial_fit(np.zeros((1, 12)), [0], classes=[0, 1])
    assert not model.get_support().any()
    for rows in (X, sparse.csr_matrix(X)):
        with pytest.warns(UserWarning, match="No feature is selected"):
            assert model.transform(rows).shape == (20, 0)


@every_selector
def test_in_pipelines_and_with_data_frames(estimator) -> None:
    X, y = stream(n_columns=20)
    assert make_pipeline(estimator, LogisticRegression()).fit(X, y).score(X, y) > 0.6
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(20)])
    model = estimator.set_output(transform="pandas").fit(frame, y)
    names = frame.columns[model.get_support()]
    pd.testing.assert_frame_equal(model.transform(frame), frame[names])
    estimator.set_output(transform="default")


@every_selector
def test_growing_models_take_rows_of_any_width(estimator) -> None:
    X, y = stream(n_columns=20)
    model = estimator.set_params(growing=True).fit(X, y)
    columns = model.get_support(indices=True)
    padded = np.column_stack([X, X])
    cut = np.where(columns < columns[2], X[:, columns], 0)
    for as_rows in (np.asarray, sparse.csr_matrix):
        for rows, expected in ((padded, X[:, columns]), (X[:, : columns[2]], cut)):
            selected = model.transform(as_rows(rows))
            np.testing.assert_array_equal(getattr(selected, "toarray", lambda s=selected: s)(), expected)
    estimator.set_params(growing=False)


def test_wide_models_are_asked_quickly() -> None:
    width = 20_000_000
    rng = np.random.default_rng(0)
    indices = np.sort(rng.choice(width, (200, 10)), axis=1)
    X = sparse.csr_matrix((np.ones(2000), indices.ravel(), np.arange(201) * 10), shape=(200, width))
    model = SOFS(n_features=50, dtype="float32", normalize="none").fit(X, np.arange(200) % 2)
    start = time.process_time()
    assert len(model.get_support(indices=True)) == 50
    assert model.transform(X).shape == (200, 50)
    assert time.process_time() - start < 2
