"""SBCW and FGM as learners: later batches, invalid input, their answers, and their state as arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from test_groups import LITERAL, assert_same, data, learn

from sureline import FGM, SBCW, reference
from sureline._native import _core
from sureline.models.groups import GroupState, inverse
from sureline.models.rows import as_rows

# -- batches -----------------------------------------------------------------------------------------------------


def test_groups_without_weight_make_room_in_later_batches() -> None:
    X, y = data(300, 40)
    noise = np.random.default_rng(9).integers(2, size=100)
    model = SBCW(n_features=12, r=3, sigma=0.05, C2=0.05, normalize="none").partial_fit(X[:100], noise, classes=[0, 1])
    first = [group.tolist() for group in model.groups_]
    for part in (slice(100, 200), slice(200, 300)):
        model.partial_fit(X[part], y[part])
        assert sum(map(len, model.groups_)) == 12
    assert [group.tolist() for group in model.groups_] != first
    again = learn(
        SBCW(n_features=12, r=3, sigma=0.05, C2=0.05, normalize="none"),
        [(X[:100], noise), (X[100:200], y[100:200]), (sparse.csr_matrix(X[200:]), y[200:])],
        [0, 1],
    )
    assert [g.tolist() for g in again.groups_] == [g.tolist() for g in model.groups_]
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-12, atol=1e-14)


def test_one_class_in_a_batch() -> None:
    X, y = data()
    parts = [(X[y == 1], y[y == 1]), (X[y == 0], y[y == 0])]
    settings = {"r": 3, "max_iter": 2, **LITERAL}
    assert_same(learn(SBCW(**settings, normalize="none"), parts, [0, 1]), reference.SBCW(**settings).run(parts, [0, 1]))


def test_growing_columns_and_classes() -> None:
    X, y = data(200, 20, 3)
    settings = {"r": 3, "max_iter": 3, "growing": True}
    narrow = SBCW(**settings, normalize="none").partial_fit(X[:100, :12], y[:100] == 1)
    wide = SBCW(**settings, normalize="none").partial_fit(np.pad(X[:100, :12], ((0, 0), (0, 8))), y[:100] == 1)
    for model in (narrow, wide):
        model.partial_fit(X[100:], y[100:] == 1)
    np.testing.assert_array_equal(narrow.coef_, wide.coef_)
    two = SBCW(**settings, normalize="none").partial_fit(X[y < 2], np.where(y == 0, "a", "b")[y < 2])
    signs = two.decision_function(X) > 0
    three = two._state.grown(20, 3, _core.Policy.ovr)
    scores = three.scores(X)
    np.testing.assert_array_equal(scores[:, 1] > scores[:, 0], signs)
    assert not scores[:, 2].any()
    two.partial_fit(X, np.array(["a", "b", "c"])[y])
    assert two.decision_function(X).shape == (200, 3)
    assert two.decision_std(np.pad(X, ((0, 0), (0, 5)))).shape == (200, 3)


# -- ugly input --------------------------------------------------------------------------------------------------


UGLY = {
    "constant columns": lambda X: np.column_stack([X, np.ones(len(X)), np.full(len(X), 7.0)]),
    "duplicate columns": lambda X: np.column_stack([X, X, X]),
    "zero columns": lambda X: np.column_stack([X, np.zeros((len(X), 3))]),
    "zero rows": lambda X: X * (np.arange(len(X)) % 2)[:, np.newaxis],
    "duplicate rows": lambda X: np.repeat(X[: len(X) // 10], 10, axis=0),
    "long rows": lambda X: X * 1e9,
    "short rows": lambda X: X * 1e-9,
    "long duplicate columns": lambda X: np.column_stack([X, X]) * 1e12,
    "more columns than rows": lambda X: np.tile(X, (1, 60)),
    "uneven columns": lambda X: X * np.logspace(-8, 8, X.shape[1]),
}


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", UGLY)
@pytest.mark.parametrize("settings", [{}, {"q": 2, "C2": 1e6}, {"pick": "covariance"}, {"inner_passes": 5}], ids=str)
def test_ugly_input_gives_a_finite_answer(kind: str, C: float, settings: dict[str, Any]) -> None:
    X, y = data(200, 10)
    X = UGLY[kind](X)
    model = SBCW(C=C, r=7, max_iter=3, **settings, normalize="none")
    for part in (slice(150), slice(150, 200)):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.theta_).all()
    assert np.isfinite(model.predict_proba(X)).all()
    assert (model.decision_std(X) > 0).all()
    for S in model.block_covariance_:
        np.testing.assert_array_equal(S, S.T)
        scale = 1 / np.sqrt(S.diagonal())
        assert np.linalg.eigvalsh(S * np.outer(scale, scale))[0] > -1e-9
    FGM(C=C, r=7, max_iter=3, inner_passes=5, normalize="none").fit(X, y)


def test_the_inverse_of_a_precision() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 5, 34, 90):
        A = rng.standard_normal((200, n)) * np.logspace(-3, 3, n)
        P = np.eye(n) + A.T @ A
        np.testing.assert_allclose(inverse(P), np.linalg.inv(P), rtol=1e-7, atol=1e-12)
    lost = np.eye(3) + np.full((3, 3), 1e20)  # in which the identity cannot be seen any more
    S = inverse(lost)
    assert (np.linalg.eigvalsh(S) >= 0).all()
    np.testing.assert_allclose(np.ones(3) @ S @ np.ones(3), 1e-20, rtol=0.5)  # what is left after much cancels


@pytest.mark.parametrize(
    ("scale", "settings", "message"),
    [
        (1e200, {}, r"column \d+ of X is beyond float64; scale X"),
        (1e308, {}, "beyond float64"),
        (1.0, {"C": 1e305, "C2": 1.0}, "beyond float64"),
        (1e160, {"C2": 1e-10}, "beyond float64"),
    ],
)
def test_what_is_too_large_is_refused(scale: float, settings: dict[str, float], message: str) -> None:
    X, y = data()
    X = np.clip(X, -1.5, 1.5) * scale
    with pytest.raises(ValueError, match=message):
        SBCW(**settings, normalize="none").fit(X, y)


def test_a_refused_batch_leaves_the_model_as_it_was() -> None:
    X, y = data()
    model = SBCW(r=3, normalize="none").partial_fit(X, y, classes=[0, 1])
    before = pickle.dumps(model._state.to_arrays())
    bad = X.copy()
    bad[7, 3] = np.nan
    corrupt = sparse.csr_matrix(X)
    corrupt.indices[5] = 1 << 20
    for wrong, message in ((bad, "row 7"), (sparse.csr_matrix(bad), "row 7"), (corrupt, "row"), (X * 1e200, "scale X")):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(wrong, y)
    for wrong in (bad, corrupt):
        with pytest.raises(ValueError, match="row"):
            model.predict(wrong)
        with pytest.raises(ValueError, match="row"):
            model.transform(wrong)
    for parameter, value in (("fit_intercept", False), ("dtype", "float32")):
        was = getattr(model, parameter)
        with pytest.raises(ValueError, match=f"{parameter!r} parameter of SBCW cannot change"):
            model.set_params(**{parameter: value}).partial_fit(X, y)
        model.set_params(**{parameter: was})
    assert pickle.dumps(model._state.to_arrays()) == before


def test_the_core_checks_what_it_is_given() -> None:
    """Rows that change between the check and their use, and arrays that do not fit."""
    X, y = data()
    csr = sparse.csr_matrix(X)
    rows, labels, C = as_rows(csr, csr.dtype), y.astype(np.int32), np.ones(len(y))
    s = np.zeros(25)

    def refuses_first(call: Callable[[], None]) -> None:
        with pytest.raises(_core.Refused) as refused:
            call()
        assert (refused.value.row, refused.value.reason) == (0, _core.Reason.contents)

    csr.indices[3] = 25
    refuses_first(lambda: _core.add_scores(rows, C, labels, 1, C, s))
    selection = _core.GroupRows(rows)
    refuses_first(lambda: selection.add_groups(rows, C, np.array([1, 2]), [2], None))
    csr.indices[3] = -1
    refuses_first(lambda: _core.add_scores(rows, C, labels, 1, C, s))
    csr.indices[3], csr.data[4] = 3, np.inf
    refuses_first(lambda: _core.add_scores(rows, C, labels, 1, C, s))
    for columns, sizes in (
        ([1, 1], [2]),
        ([2, 1], [2]),
        ([-1], [1]),
        ([25], [1]),
        ([1, 2], [1]),
        ([1], [2]),
        ([1], []),
    ):
        with pytest.raises(ValueError, match=r"columns|sizes"):
            selection.add_groups(rows, C, np.array(columns), sizes, None)
    with pytest.raises(ValueError, match="differ in length"):
        selection.add_groups(rows, C[1:], np.array([1]), [1], None)
    csr.data[4] = 1.0
    selection.add_groups(rows, C, np.array([1, 4]), [2], None)
    problem = _core.GroupProblem(C, labels, 1, sigma=1.0, q=1, P_b=None)
    duals = np.zeros(len(y)), np.zeros(2), np.zeros(1)
    with pytest.raises(ValueError, match="no covariance yet"):
        selection.value(problem, *duals)
    with pytest.raises(ValueError, match="does not fit"):
        selection.set_covariance(np.eye(3))
    selection.set_covariance(np.eye(2))
    with pytest.raises(ValueError, match="have their covariance"):
        selection.set_covariance(np.eye(2))
    selection.value(problem, *duals, gap=True)
    good = {"C": C, "labels": labels, "positive": 1, "sigma": 1.0, "q": 1, "P_b": None}
    for name, wrong in (("C", C[1:]), ("labels", labels[1:]), ("sigma", 0.0), ("q", 3), ("P_b", -1.0)):
        with pytest.raises(ValueError, match=r"length|must be|fit"):
            selection.value(_core.GroupProblem(**good | {name: wrong}), *duals, gap=True)
    for wrong in ((C[1:], duals[1], duals[2]), (duals[0], np.zeros(3), duals[2])):
        with pytest.raises(ValueError, match="fit"):
            selection.value(problem, *wrong, gap=True)
    with pytest.raises(ValueError, match="not the rows"):
        selection.add_groups(as_rows(X[1:], X.dtype), C[1:], np.array([7]), [1], None)


def test_columns_in_any_order_and_float32() -> None:
    X, y = data()
    X = np.round(X * 8) / 8
    expected = SBCW(r=3, normalize="none").fit(X, y)
    csr = sparse.csr_matrix(X)
    for row in range(len(y)):
        at = slice(csr.indptr[row], csr.indptr[row + 1])
        csr.indices[at], csr.data[at] = csr.indices[at][::-1].copy(), csr.data[at][::-1].copy()
    rows = as_rows(csr, csr.dtype)
    selections = [_core.GroupRows(rows), _core.GroupRows(as_rows(X, X.dtype))]
    for selection, from_rows in zip(selections, (rows, as_rows(X, X.dtype)), strict=True):
        selection.add_groups(from_rows, np.ones(len(y)), np.array([1, 5, 0, 2, 9]), [2, 3], None)
    for k in range(2):
        np.testing.assert_array_equal(*(selection.gram(k, np.ones(len(y))) for selection in selections))
    for form in (csr, sparse.csr_matrix(X.astype(np.float32)), X.astype(np.float32), sparse.csc_array(X)):
        model = SBCW(r=3, normalize="none").fit(form, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(model.decision_std(form), expected.decision_std(X), rtol=1e-12)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(
        SBCW(r=3, normalize="none").fit(wide, y).coef_, SBCW(r=3, normalize="none").fit(sparse.csr_matrix(X), y).coef_
    )


# -- the state ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_answers(n_classes: int) -> None:
    X, y = data(n_classes=n_classes)
    model = SBCW(r=3, max_iter=4, normalize="none").fit(X, y)
    state, heads = model._state, 1 if n_classes == 2 else 3
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(
        model.decision_function(X), scores[:, 0] if heads == 1 else scores, rtol=1e-12, atol=1e-14
    )
    v = np.full(len(y), model.intercept_variance_[0])
    for group, S in zip(model.groups_, model.block_covariance_, strict=True):
        v += np.einsum("ij,jk,ik->i", X[:, group], S, X[:, group])
    for form in (X, sparse.csr_matrix(X)):
        np.testing.assert_allclose(model.decision_std(form).reshape(len(y), -1)[:, 0], np.sqrt(v), rtol=1e-12)
    assert (model.decision_std(np.eye(25)[~model.get_support()]) == np.sqrt(model.intercept_variance_[0])).all()
    for head, (slots, values) in enumerate(state.nonzero()):
        assert (np.diff(slots) > 0).all()
        assert slots[0] == 0
        np.testing.assert_array_equal(values[1:], model.coef_[head, slots[1:] - 1])
    slots = np.array([0, *(model.groups_[0] + 1)])
    known = np.concatenate([model.intercept_variance_[:1], model.block_covariance_[0].diagonal()])
    np.testing.assert_array_equal(state.weight_variances(slots, 0), known)
    np.testing.assert_array_equal(model.sparse_coef_.toarray(), model.coef_)
    assert FGM(r=3, normalize="none").fit(X, y)._state.weight_variances(slots, 0) is None


def arrays(seed: int = 0, covariance: bool = True) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    X, y = data(n_classes=3, seed=seed)
    state = (
        (SBCW(r=3, max_iter=3, normalize="none") if covariance else FGM(r=3, max_iter=3, normalize="none"))
        .fit(X, y)
        ._state
    )
    rest = {name: getattr(state, name) for name in ("n_columns", "n_heads", "intercept", "dtype", "policy", "tally")}
    return state.to_arrays(), rest


@pytest.mark.parametrize("covariance", [True, False])
def test_to_arrays_and_back(covariance: bool) -> None:
    stored, rest = arrays(covariance=covariance)
    state = GroupState.from_arrays({name: array.copy() for name, array in stored.items()}, **rest)
    for name, array in state.to_arrays().items():
        np.testing.assert_array_equal(array, stored[name])
    X, y = data(n_classes=3)
    model = (SBCW if covariance else FGM)(r=3, max_iter=3, normalize="none").fit(X, y)
    np.testing.assert_array_equal(state.scores(X), model.decision_function(X))
    assert pickle.loads(pickle.dumps(state)).stopped_by == model.stopped_by_ == "max_iter"


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    stored, rest = arrays()

    def refused(**changes: Any) -> None:
        changed = {name: array for name, array in {**stored, **changes}.items() if array is not None}
        with pytest.raises(ValueError, match=r"tensor|scalar|sizes|column|z does|precision"):
            GroupState.from_arrays(changed, **rest)

    for name, array in stored.items():
        if name != "precisions":
            refused(**{name: None})
        refused(**{name: array.astype(np.float32)})
        refused(**{name: array.reshape(-1, 1, 1)})
        if name != "theta":
            refused(**{name: array[:-1]})
        if array.dtype == np.float64:
            for bad in (np.nan, np.inf):
                wrong = array.copy()
                wrong.flat[0] = bad
                refused(**{name: wrong})
    columns, sizes, scalars = stored["columns"], stored["sizes"], stored["scalars"]
    for place, value in ((0, -1), (0, 25), (0, columns[1]), (1, columns[4])):
        wrong = columns.copy()
        wrong[place] = value
        refused(columns=wrong)
    refused(columns=columns[[1, 0, *range(2, 9)]])
    for wrong_sizes in ([0, 6, 3], [-3, 9, 3], [3, 3, 2], [3, 3, 4], [1 << 62, 1 << 62, 9]):
        refused(sizes=np.array(wrong_sizes))
    for place, value in ((0, 0.0), (0, -1.0), (1, 0.0), (2, 6.0), (2, 0.5), (2, -1.0)):
        wrong = scalars.copy()
        wrong[place] = value
        refused(scalars=wrong)
    refused(z=stored["z"][:, :-1])
    refused(z=stored["z"].T.copy())
    for place, value in ((0, 0.5), (0, -1.0), (1, 1e6)):  # of the first precision: its diagonal, and beside it
        wrong = stored["precisions"].copy()
        wrong[place] = value
        refused(precisions=wrong)
    with pytest.raises(ValueError, match="neither binary nor ovr"):
        GroupState.from_arrays(dict(stored), **{**rest, "policy": _core.Policy.rival})
    assert sizes.tolist() == [3, 3, 3]
    GroupState.from_arrays(dict(stored), **rest)
