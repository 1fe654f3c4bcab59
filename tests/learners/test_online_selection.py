"""SOFS and FOFS: which features they select, what their weights are, and that a row costs its nonzeros."""

import copy
import pickle
import time
from math import sqrt

import numpy as np
import pytest
from catalogue import SELECTING, everything, stream
from command_line import fail, succeed
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from stream_files import libsvm_of
from test_against_reference import compare

import sureline
from sureline import AROW, FOFS, SOFS, reference
from sureline._native import _core
from sureline.datasets import make_sparse_stream
from sureline.learners.catalogue import LEARNERS
from sureline.models.numbers import BOUND, NORM2, WEIGHT_SCALE

every_selecting = pytest.mark.parametrize("case", SELECTING, ids=str)


def selected(model, head: int = 0) -> list[int]:
    """The columns that are inside, whether or not their weight happens to be zero."""
    slots, heads = np.divmod(model._state.budget.members, model._state.n_heads)
    return (slots[heads == head] - 1).tolist()


def sparse_rows(n_rows: int, n_columns: int, per_row: int, seed: int, n_classes: int = 2):
    """Columns of very different frequency, values of one sign or the other, labels with some noise."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n_rows, n_columns))
    share = 1 / np.arange(1, n_columns + 1)
    for row in X:
        columns = rng.choice(n_columns, per_row, replace=False, p=share / share.sum())
        row[columns] = rng.standard_normal(per_row)
    scores = X @ rng.standard_normal((n_columns, n_classes)) + 0.3 * rng.standard_normal((n_rows, n_classes))
    return X, scores.argmax(axis=1)


# -- closed forms --------------------------------------------------------------------------------------------


def test_sofs_by_hand() -> None:
    model = SOFS(n_features=1, r=1.0, fit_intercept=False, normalize="none")
    model.partial_fit([[2.0, 1.0]], [1], classes=[0, 1])  # v = 5, beta = alpha = 1/6
    np.testing.assert_allclose(model.coef_, [[1 / 3, 0]])  # the second would be 1/6
    np.testing.assert_allclose(model.covariance_, [[1 / 3, 5 / 6]])
    model.partial_fit([[0.0, 3.0]], [0])  # v = 9 * 5/6 = 7.5, beta = alpha = 1 / 8.5
    np.testing.assert_allclose(model.coef_, [[0, -2.5 / 8.5]])
    np.testing.assert_allclose(model.covariance_, [[1 / 3, 5 / 6 - 6.25 / 8.5]])
    assert selected(model) == [1]


def test_fofs_by_hand() -> None:
    model = FOFS(
        n_features=1, eta=0.5, lam=0.5, fit_intercept=False, normalize="none"
    )  # a row leaves 3/4, and the ball has radius sqrt(2)
    model.partial_fit([[2.0, 1.0]], [1], classes=[0, 1])
    np.testing.assert_allclose(model.coef_, [[1, 0]])  # of (1, 1/2)
    model.partial_fit([[0.0, 4.0]], [0])  # (3/4, -2), which is too long
    np.testing.assert_allclose(model.coef_, [[0, -2 * sqrt(2 / 4.5625)]])
    model.partial_fit([[0.0, -4.0]], [1])  # m > 1
    np.testing.assert_allclose(model.coef_, [[0, -1.5 * sqrt(2 / 4.5625)]])
    assert (model.n_updates_, selected(model)) == (2, [1])


def test_the_intercept_is_not_among_the_features() -> None:
    """For SOFS it has a variance like any other, and for FOFS it decays and counts in |w|."""
    X, y = np.ones((1, 1)), [1]
    both = SOFS(n_features=1, r=1.0, normalize="none").partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose([both.coef_[0, 0], both.intercept_[0]], 1 / 3)
    both = FOFS(n_features=1, eta=10.0, lam=0.01, normalize="none").partial_fit(
        X, y, classes=[0, 1]
    )  # (10, 10), of a ball of radius 10
    np.testing.assert_allclose([both.coef_[0, 0], both.intercept_[0]], 10 / sqrt(2))
    both.partial_fit(np.ones((1, 1)), y)  # m = 14 > 1
    np.testing.assert_allclose([both.coef_[0, 0], both.intercept_[0]], 9 / sqrt(2))


def test_sample_weights() -> None:
    X = [[2.0, 1.0]]
    weighted = SOFS(n_features=1, r=1.0, fit_intercept=False, normalize="none").partial_fit(
        X, [1], [0, 1], sample_weight=[4.0]
    )
    np.testing.assert_array_equal(
        weighted.coef_, SOFS(1, r=0.25, fit_intercept=False, normalize="none").partial_fit(X, [1], [0, 1]).coef_
    )
    weighted = FOFS(n_features=1, eta=0.1, lam=0.5, fit_intercept=False, normalize="none")
    weighted.partial_fit(X, [1], [0, 1]).partial_fit([[0.0, 1.0]], [1], sample_weight=[10.0])
    np.testing.assert_allclose(weighted.coef_, [[0, 1]])  # 10 eta, against 2 eta of which 1 - lam eta was left
    weighted.partial_fit([[0.0, 0.0]], [1], sample_weight=[10.0])
    np.testing.assert_allclose(weighted.coef_, [[0, 0.95]])  # a round is a round


# -- against the reference -----------------------------------------------------------------------------------


def close_calls(oracle) -> int:
    """Rows that two classes were tied for but for rounding.

    The single weight that FOFS has put back into the ball is as large in every class.
    """
    best = np.sort(oracle.scores_, axis=1)[:, -2:] if oracle.scores_.shape[1] > 1 else np.zeros((0, 2))
    return int(((best[:, 1] - best[:, 0] < 1e-12) & (best[:, 1] > 0)).sum())


@every_selecting
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "native"), (4, "native"), (4, "ovr")])
@pytest.mark.parametrize("n_features", [1, 3, 8, 17, 60])
def test_the_reference_selects_the_same(case, n_classes: int, multi_class: str, n_features: int) -> None:
    X, y = sparse_rows(700, 60, 8, seed=n_features, n_classes=n_classes)
    weight = np.random.default_rng(0).choice([0, 0.5, 1, 2.0], len(y))
    for intercept, s in ((True, None), (False, None), (True, weight)):
        settings = {"n_features": n_features, "fit_intercept": intercept, "multi_class": multi_class}
        oracle = case.reference(**settings).run(X, y, s)
        for rows in (X, sparse.csr_matrix(X)):
            model = case.make(**settings).fit(rows, y, s)
            if close_calls(oracle) == 0:
                compare(case, model, oracle)
            assert model.n_updates_ == oracle.n_updates_
            assert abs(model.n_mistakes_ - oracle.n_mistakes_) <= close_calls(oracle)
            np.testing.assert_allclose(model.coef_, oracle.coef_, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(model.coef_ != 0, oracle.coef_ != 0)
            assert (np.count_nonzero(model.coef_, axis=1) <= n_features).all()


@every_selecting
@pytest.mark.parametrize("n_features", [3, 17])
def test_single_precision_is_near_the_reference(case, n_features: int) -> None:
    """For some rows: in time rounding turns a close comparison, and with it all that follows."""
    X, y = sparse_rows(150, 60, 8, seed=n_features)
    X = X.astype(np.float32)
    oracle = case.reference(n_features=n_features).run(X, y)
    single = case.make(n_features=n_features, dtype="float32").fit(X, y)
    np.testing.assert_array_equal(single.coef_ != 0, oracle.coef_ != 0)
    np.testing.assert_allclose(single.coef_, oracle.coef_, rtol=1e-3, atol=1e-4)
    assert (single.n_mistakes_, single.n_updates_) == (oracle.n_mistakes_, oracle.n_updates_)


@every_selecting
def test_long_streams_do_not_drift_from_the_reference(case) -> None:
    X, y = sparse_rows(8000, 100, 6, seed=3)
    model, oracle = case.make(n_features=12).fit(X, y), case.reference(n_features=12).run(X, y)
    compare(case, model, oracle)
    assert selected(model) == sorted(j - 1 for j in oracle.selected[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_length_that_fofs_keeps_is_that_of_its_weights(dtype: str) -> None:
    X, y = sparse_rows(3000, 300, 20, seed=5, n_classes=3)
    for lam, multi_class in ((0.3, "native"), (0.001, "ovr"), (1e-9, "native")):
        model = FOFS(n_features=9, lam=lam, eta=0.3, dtype=dtype, multi_class=multi_class, normalize="none")
        for start in range(0, len(y), 333):
            model.partial_fit(X[start : start + 333], y[start : start + 333], classes=[0, 1, 2])
            lengths = model.intercept_.astype(float) ** 2 + (model.coef_.astype(float) ** 2).sum(axis=1)
            lengths = lengths if multi_class == "ovr" else lengths.sum()
            largest = min(1 / lam, float(np.max(lengths)))
            kept = model._state.memory[:, NORM2]
            assert np.max(np.abs(kept - lengths)) < (1e-4 if dtype == "float32" else 1e-11) * largest
            assert (lengths <= (1 + 1e-4) / lam).all()


def test_weights_decay_through_any_number_of_rows_that_move_nothing() -> None:
    X, y = sparse_rows(200, 30, 5, seed=6)
    X = np.vstack([X, np.zeros((1500, 30)), X])
    y = np.concatenate([y, np.zeros(1500, int), y])
    settings = {"n_features": 7, "eta": 0.4, "lam": 0.5, "fit_intercept": False}
    oracle = reference.FOFS(**settings).run(X, y)
    for rows in (X, sparse.csr_matrix(X)):
        model = FOFS(**settings, normalize="none", shuffle=False).fit(rows, y)
        assert 1e-12 < model._state.memory[0, WEIGHT_SCALE] <= 1
        np.testing.assert_allclose(model.coef_, oracle.coef_, rtol=1e-9)
        assert (model.n_mistakes_, model.n_updates_) == (oracle.n_mistakes_, oracle.n_updates_)


# -- relations -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "native"), (4, "native"), (4, "ovr")])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_with_room_for_all_features_sofs_is_arow(dtype: str, n_classes: int, multi_class: str, as_rows) -> None:
    X, y = stream(n_columns=30, n_classes=n_classes)
    settings = {"r": 0.7, "dtype": dtype, "multi_class": multi_class}
    all_of_them = SOFS(n_features=30, **settings, normalize="none").fit(as_rows(X), y)
    arow = AROW(**settings, normalize="none").fit(as_rows(X), y)
    assert everything(all_of_them)[:-2] == everything(arow)[:-2]  # but for the selection


@every_selecting
def test_one_against_the_rest_is_that_many_models(case) -> None:
    X, y = sparse_rows(600, 40, 8, seed=7, n_classes=3)
    three = case.make(n_features=5, multi_class="ovr").fit(X, y)
    for k in range(3):
        alone = case.make(n_features=5).fit(X, y == k)
        np.testing.assert_allclose(three.coef_[k], alone.coef_[0], rtol=1e-12)
        assert selected(three, k) == selected(alone)


@every_selecting
def test_explicit_zeros_are_no_features_of_a_row(case) -> None:
    X, y = stream(n_columns=20)
    rows = sparse.csr_matrix(X)
    with_zeros = sparse.csr_matrix((X.ravel(), np.tile(np.arange(20), len(y)), np.arange(len(y) + 1) * 20), X.shape)
    plain, filled = case.make(n_features=4).fit(rows, y), case.make(n_features=4).fit(with_zeros, y)
    assert with_zeros.nnz > rows.nnz
    np.testing.assert_allclose(plain.coef_, filled.coef_, rtol=1e-12)
    assert selected(plain) == selected(filled) == selected(case.make(n_features=4).fit(X, y))


# -- ties, duplicates, extremes ------------------------------------------------------------------------------


def literally(inside: list[int], columns: np.ndarray, key: np.ndarray, n_features: int) -> None:
    for j in columns:
        if j not in inside:
            inside.append(int(j))
            if len(inside) > n_features:
                inside.remove(max(inside, key=lambda k: (key[k], k == j, k)))


VALUES = [0.0, 0.0, 0.0, 1.0, -1.0, 0.5, 2.0, 0.1, -3.0, 1e-3, 1e6, -1e9, 1e-150, 1e-200, 1e30, 1e100, 1e200]


@st.composite
def hostile_streams(draw, values: list[float]):
    n_columns = draw(st.integers(1, 9))
    rows = draw(st.lists(st.lists(st.sampled_from(values), min_size=n_columns, max_size=n_columns), min_size=1))
    rows = np.array(rows * draw(st.integers(1, 3)))  # the same again: equal steps, equal variances
    if draw(st.booleans()):
        rows = np.repeat(rows, 2, axis=1)  # columns that cannot be told from each other
    labels = draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    return rows, np.array(labels), draw(st.integers(1, 10))


@settings(max_examples=150, deadline=None)
@given(hostile_streams(VALUES), st.sampled_from(["float64", "float32"]), st.sampled_from([1.0, 1e-6, 100.0]))
def test_the_smallest_variances_are_selected_whatever_comes(rows_labels_most, dtype: str, r: float) -> None:
    """The heap does what the rule says of the very variances that the model has."""
    X, y, n_features = rows_labels_most
    model, inside = SOFS(n_features, r=r, dtype=dtype, normalize="none"), []
    model.partial_fit(np.zeros((1, X.shape[1])), [0], classes=[0, 1], sample_weight=[0])
    for i in range(len(y)):
        before = model.n_updates_
        try:
            model.partial_fit(sparse.csr_matrix(X[i : i + 1]) if i % 2 else X[i : i + 1], y[i : i + 1])
        except ValueError as refused:
            assert "ow 0" in str(refused)
        if model.n_updates_ > before:
            with np.errstate(over="ignore", under="ignore"):
                columns = np.flatnonzero(X[i].astype(dtype))
            literally(inside, columns, model.covariance_[0], n_features)
        assert selected(model) == sorted(inside)
        assert np.isin(np.flatnonzero(model.coef_[0]), inside).all()
        assert np.isfinite(model.coef_).all()


@settings(max_examples=150, deadline=None)
@given(hostile_streams([v for v in VALUES if abs(v) < 1e50]), st.sampled_from([0.25, 0.3, 3.0]))
def test_the_largest_weights_are_selected_whatever_comes(rows_labels_most, eta: float) -> None:
    X, y, n_features = rows_labels_most
    model, inside = FOFS(n_features, eta=eta, lam=0.0, normalize="none"), []
    model.partial_fit(np.zeros((1, X.shape[1])), [0], classes=[0, 1], sample_weight=[0])
    for i in range(len(y)):
        before, w = model.n_updates_, model.coef_[0].copy()
        model.partial_fit(sparse.csr_matrix(X[i : i + 1]) if i % 2 else X[i : i + 1], y[i : i + 1])
        if model.n_updates_ > before:
            w += (eta if y[i] else -eta) * X[i]
            literally(inside, np.flatnonzero(X[i]), -np.abs(w), n_features)
            w[~np.isin(np.arange(len(w)), inside)] = 0
        assert selected(model) == sorted(inside)
        np.testing.assert_array_equal(model.coef_[0], w)


@settings(max_examples=100, deadline=None)
@given(hostile_streams(VALUES), st.sampled_from([0.5, 1e-3, 2.0, 1e-9]), st.sampled_from(["float64", "float32"]))
def test_fofs_stays_finite_and_in_its_ball(rows_labels_most, lam: float, dtype: str) -> None:
    X, y, n_features = rows_labels_most
    model = FOFS(n_features, eta=0.4, lam=lam, dtype=dtype, normalize="none")
    for i in range(len(y)):
        try:
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        except ValueError as refused:
            assert "ow 0" in str(refused)
            continue
        assert len(selected(model)) <= n_features
        assert np.isin(np.flatnonzero(model.coef_[0]), selected(model)).all()
        length = np.hypot(np.linalg.norm(model.coef_.astype(float)), model.intercept_[0])
        assert length <= (1 + 1e-5) / sqrt(lam)
        assert np.abs(model._state.weights).max() <= model._state.memory[0, BOUND] * (1 + 1e-6)


def test_equal_keys_by_hand() -> None:
    """The one that is in stays; of those inside the last column leaves first; a row is gone through by its columns."""
    for model in (
        SOFS(n_features=2, fit_intercept=False, normalize="none"),
        FOFS(n_features=2, lam=0.0, fit_intercept=False, normalize="none"),
    ):
        model.partial_fit([[0, 1.0, 0, 1.0, 1.0, 0]], [1], classes=[0, 1])
        assert selected(model) == [1, 3]
        model.partial_fit([[1.0, 0, 1.0, 0, 0, 1.0]], [1])
        assert selected(model) == [1, 3]
        model.partial_fit([[0, 0, 5.0, 0, 0, 0]], [1])
        assert selected(model) == [1, 2]


# -- batches that are refused, copies, growth ----------------------------------------------------------------


@every_selecting
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
@pytest.mark.parametrize("width", [400, 100_000], ids=["copied", "journalled"])
def test_a_refused_batch_changes_nothing_then_or_later(case, n_classes: int, multi_class: str, width: int) -> None:
    X, y = make_sparse_stream(500, 400, 12, random_state=8)
    y = (y + np.arange(500) % (n_classes - 1)) % n_classes
    X = sparse.csr_matrix((X.data.astype(float), X.indices, X.indptr), shape=(500, width))
    model = case.make(n_features=6, multi_class=multi_class)
    model.partial_fit(X[:200], y[:200], classes=np.arange(n_classes))
    undisturbed, before = copy.deepcopy(model), everything(model)
    for name, value in (("data", np.inf), ("indices", width)):
        bad = X[200:].copy()
        getattr(bad, name)[-1] = value
        with pytest.raises(ValueError, match="row 299"):
            model.partial_fit(bad, y[200:])
        assert everything(model) == before
    assert everything(model.partial_fit(X[200:], y[200:])) == everything(undisturbed.partial_fit(X[200:], y[200:]))


@every_selecting
def test_a_refused_example_changes_nothing_then_or_later(case) -> None:
    X, y = make_sparse_stream(300, 50, 8, random_state=9)
    model, undisturbed = case.make(n_features=4), case.make(n_features=4)
    for i in range(300):
        example = (X[i].indices, X[i].data.astype(float))
        if i % 10 == 5:
            long = (X[i].indices, np.full(X[i].nnz, 1e250))
            with pytest.raises(ValueError, match="needs a score or a step"):
                model.learn_one(long, 1 - model.predict_one(long))
        model.learn_one(example, int(y[i]))
        undisturbed.learn_one(example, int(y[i]))
    assert everything(model) == everything(undisturbed)


@every_selecting
def test_copies_go_their_own_ways(case) -> None:
    X, y = sparse_rows(300, 50, 8, seed=10)
    model = case.make(n_features=5).partial_fit(X[:150], y[:150], classes=[0, 1])
    before = everything(model)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert everything(twin) == before
        twin.partial_fit(X[150:], y[150:])
        assert everything(twin) != before
        assert everything(model) == before
        assert everything(twin) == everything(case.make(n_features=5).fit(X, y))


@every_selecting
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_a_third_class_starts_with_no_features(case, multi_class: str) -> None:
    X, y = sparse_rows(400, 50, 8, seed=11)
    model = case.make(n_features=5, growing=True, multi_class=multi_class).partial_fit(X, y)
    inside = selected(model)
    model.partial_fit(X[:1], [2], sample_weight=[0])
    assert [selected(model, head) for head in range(3)] == [inside, inside, []]
    model.partial_fit(X, (y + np.arange(400)) % 3)
    assert [len(selected(model, head)) for head in range(3)] == [5, 5, 5]
    assert (np.count_nonzero(model.coef_, axis=1) <= 5).all()


def test_parameters() -> None:
    X, y = stream()
    with pytest.raises(ValueError, match=r"The 'n_features' parameter of SOFS must be an int in the range \[1, inf\)"):
        SOFS(n_features=0, normalize="none").fit(X, y)
    with pytest.raises(ValueError, match="The 'n_features' parameter of FOFS"):
        FOFS(n_features=2.5, normalize="none").fit(X, y)
    with pytest.raises(ValueError, match=r"must have a product of less than 1.*Got eta=2\.0 and lam=0\.5"):
        FOFS(eta=2.0, lam=0.5, normalize="none").fit(X, y)
    for estimator in (SOFS, FOFS):
        model = estimator(n_features=5).partial_fit(X, y, classes=[0, 1])
        with pytest.raises(ValueError, match=f"The 'n_features' parameter of {estimator.__name__} cannot change"):
            model.set_params(n_features=6).partial_fit(X, y)
        assert estimator(n_features=10**30).fit(X, y).nonzero_ == X.shape[1]
    changed = FOFS(5, lam=0.0, normalize="none").partial_fit(X, y, classes=[0, 1]).set_params(lam=25.0, eta=0.01)
    changed.partial_fit(X[:9], y[:9])
    assert np.linalg.norm(changed.coef_) <= 0.2 * (1 + 1e-9)  # |w| was kept though it was not needed


# -- what it is for ------------------------------------------------------------------------------------------


def test_relevant_features_among_many() -> None:
    rng = np.random.default_rng(12)
    n, d, relevant = 6000, 20_000, 20
    noise = sparse.random(n, d - relevant, 20 / d, "csr", rng=rng, data_rvs=rng.standard_normal)
    informative = rng.standard_normal((n, relevant))
    y = (informative.sum(axis=1) > 0).astype(int)
    X = sparse.hstack([informative, noise]).tocsr()
    for model, share in (
        (SOFS(n_features=relevant, normalize="none"), 1.0),
        (FOFS(n_features=relevant, eta=0.01, normalize="none"), 0.7),
    ):
        model.fit(X, y)
        assert np.mean(np.array(selected(model)) < relevant) >= share
        assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("SOFS", {}),
        ("FOFS", {}),
        ("FOFS", {"lam": 2.0}),
    ],  # the last has its scale folded into the weights every 54 rows
    ids=["SOFS", "FOFS", "FOFS that folds"],
)
def test_a_row_costs_the_same_at_ten_million_columns(name: str, parameters: dict[str, float]) -> None:
    """Neighbouring columns of a wide model, so that it is only the width that differs."""
    rng = np.random.default_rng(13)
    n, per_row = 10_000, 25
    indices = np.sort(rng.integers(0, 10_000 // per_row, (n, per_row)) + np.arange(per_row) * (10_000 // per_row))
    values, starts = rng.standard_normal(n * per_row).astype(np.float32), np.arange(n + 1) * per_row
    y = rng.integers(0, 2, n).astype(np.int32)
    learners, rows, seconds = [], [], [[], []]
    for width in (10_000, 10_000_000):
        rows.append(_core.Rows.csr(values, indices.ravel() + width - 10_000, starts, n, width))
        learners.append(LEARNERS[name](n_features=300, dtype="float32", **parameters, normalize="none"))
        learners[-1].begin(np.array([0, 1]), width)
    for _ in range(12):  # in turns, so that what else the machine does falls on both
        for k in range(2):
            start = time.process_time()
            learners[k].take(lambda _, k=k: rows[k], learners[k]._state.n_columns, y)
            seconds[k].append(time.process_time() - start)
    np.testing.assert_array_equal(*(learner.sparse_coef_.data for learner in learners))
    assert min(seconds[1]) < 3 * min(seconds[0])  # one look at all columns would cost as much as a thousand rows


@pytest.mark.filterwarnings("ignore::sureline.LabelRunsWarning")  # resamples have the rows of a class together
def test_paths_over_numbers_of_features() -> None:
    X, y = sparse_rows(1500, 80, 10, seed=15)
    path = sureline.feature_path(
        [SOFS(normalize="none"), FOFS(eta=0.05, normalize="none")], X, y, [2, 10, 40], resamples=2, random_state=0
    )
    assert path.selectors == ["SOFS", "FOFS"]
    assert [point.n_selected for point in path.points] == [2, 10, 40] * 2


def test_the_command_line(tmp_path) -> None:
    X, y = make_sparse_stream(2000, 3000, 20, random_state=14)
    (tmp_path / "x.svm").write_bytes(libsvm_of(X, y))
    for name, more in (("sofs", ["--r", "0.5"]), ("fofs", ["--eta", "0.1", "--lam", "0.001"])):
        path = tmp_path / f"{name}.sureline"
        arguments = ["train", tmp_path / "x.svm", "--algorithm", name, "--features", "40", *more, "--model", path]
        assert "nonzero weights: 40" in succeed(*arguments, "--quiet")
        model = sureline.load(path)
        assert (model.n_features, model.nonzero_, len(model.get_support(indices=True))) == (40, 40, 40)
    assert "product of less than 1" in fail(2, *arguments, "--lam", "100")
    assert "--features is a parameter of sofs, fofs, " in fail(2, "train", "x", "--features", "4", "--model", path)
