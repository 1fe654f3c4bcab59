"""normalize: rows by their length, or features by their running scale. It depends on the rows alone, to the bit."""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any

import numpy as np
import pytest
from catalogue import ALL, Case, everything
from scipy import sparse
from sklearn.base import clone

import sureline
from sureline import reference
from sureline.models.rows import as_rows
from sureline.models.scaling import Normalizer

KINDS = ["row", "scale"]
# One of each family and shape of the state.
SOME = {"Perceptron", "ROMMA-True", "SOP-2.0-diag", "AROW-0.5-diag", "AROW-0.5-full", "CSOGD-0.5-slope-(3.0, 0.5)"}
SOME |= {"STG-0.1-0.02-7", "AdaFOBOS-0.5-0.02-0.5", "AdaRDA-0.5-0.02-0.5", "FTRL-0.3-0.5-0.1", "FSOL-0.1-2.0"}
SOME |= {"SSOL-0.5-3.0-2.0-diag", "SSOL-0.5-3.0-2.0-full", "SOFS-5-0.5", "FOFS-5-0.2-0.01"}
SOME |= {"ODCA-0.2-sliding-60", "ODCA-0.2-kl-log"}
CASES = [case for case in ALL if str(case) in SOME]
some_cases = pytest.mark.parametrize("case", CASES, ids=str)
both_kinds = pytest.mark.parametrize("kind", KINDS)


def rows(n_rows: int = 120, n_columns: int = 10, n_classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Half-empty rows whose features have sizes from 1e-3 to 1e3; one row of zeros, and a feature that comes late."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.6)
    y = (X @ rng.standard_normal((n_columns, n_classes))).argmax(axis=1)
    X[n_rows // 2] = 0
    X[: n_rows // 2, 3] = 0
    return X * np.logspace(-3, 3, n_columns), y


def scales(model: Any) -> list[bytes]:
    return [array.tobytes() for array in model._normalizer.arrays()] if model._normalizer.kind == "scale" else []


def test_every_case_is_there() -> None:
    assert len(CASES) == len(SOME)


# -- what rows become ----------------------------------------------------------------------------------------


@both_kinds
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_become_those_of_the_reference(kind: str, dtype: str) -> None:
    X, _ = rows()
    X, new = X[:80].astype(dtype), X[80:].astype(dtype)
    literal = reference.Normalization(kind, X.shape[1])
    learned = literal.learn_rows(X)
    by_columns, in_order, wide = np.asfortranarray(X), sparse.csr_matrix(X), sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected = None
    for kept in ("float64", dtype):  # the dtype of the scales
        for form in (X, by_columns, in_order, wide):
            normalizer = Normalizer(kind, kept)
            found = normalizer.learn(form)
            found = found.toarray() if sparse.issparse(found) else found
            assert found.dtype == dtype
            if dtype == "float64" and kind == "scale":
                np.testing.assert_array_equal(found, learned)
                np.testing.assert_array_equal(normalizer.apply(new), literal.apply_rows(new))
            np.testing.assert_allclose(found, learned, rtol=1e-14 if dtype == "float64" else 2e-6)
            np.testing.assert_allclose(normalizer.apply(new), literal.apply_rows(new), rtol=2e-6)
            if kept == dtype:
                expected = found if expected is None else expected
                np.testing.assert_array_equal(found, expected)  # dense and sparse


def test_lengths_at_the_ends_of_the_range() -> None:
    X = np.array([[3e-200, 0.0, 4e-200], [3e200, -4e200, 0.0], [0.0, 0.0, 0.0], [5e-324, 0.0, 0.0]])
    expected = [[0.6, 0.0, 0.8], [0.6, -0.8, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(Normalizer("row").apply(X), expected, rtol=1e-15)
    tiny = np.array([[5e-324], [1e308], [5e-324], [-1e-323]])
    assert np.isfinite(Normalizer("scale").learn(tiny)).all()
    assert np.isfinite(Normalizer("scale", "float32").learn(tiny[[0, 0]].astype(np.float32))).all()


def test_a_count_stays_where_a_float_can_no_longer_count() -> None:
    normalizer = Normalizer.restored("float32", np.array([0]), np.array([2.0]), np.array([1 << 24]))
    normalizer.learn(np.full((3, 1), 4.0, np.float32))
    _, _, counts = normalizer.arrays()
    assert counts.tolist() == [1 << 24]
    with pytest.raises(ValueError, match="count"):
        Normalizer.restored("float32", np.array([0]), np.array([2.0]), np.array([(1 << 24) + 1]))


@pytest.mark.parametrize("factor", [2.0**7, 2.0**-30])
def test_the_unit_of_a_feature_does_not_matter(factor: float) -> None:
    X, y = rows()
    other = X.copy()
    other[:, 4] *= factor
    one, two = (sureline.AROW(normalize="scale").fit(Z, y) for Z in (X, other))
    assert everything(one) == everything(two)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(other))
    np.testing.assert_array_equal(one.coef_[:, 4], two.coef_[:, 4] * factor)


def test_rows_of_zeros_and_ones_stay_as_they_are() -> None:
    X, y = rows()
    X = np.sign(X)
    for case in CASES:
        assert everything(case.make(normalize="scale").fit(X, y)) == everything(case.make(normalize="none").fit(X, y))


# -- learners ------------------------------------------------------------------------------------------------


@some_cases
@both_kinds
def test_a_learner_sees_the_rows_of_the_reference(case: Case, kind: str) -> None:
    X, y = rows(n_classes=3)
    literal = Normalizer(kind) if kind == "row" else reference.Normalization(kind, X.shape[1])
    learned = literal.learn(X[:90]) if kind == "row" else literal.learn_rows(X[:90])
    new = literal.apply(X[90:]) if kind == "row" else literal.apply_rows(X[90:])
    plain = case.make(normalize="none").fit(learned, y[:90])
    model = case.make(normalize=kind).fit(X[:90], y[:90])
    assert everything(model) == everything(plain)
    before = scales(model)
    np.testing.assert_array_equal(model.decision_function(X[90:]), plain.decision_function(new))
    if hasattr(model, "decision_std"):
        np.testing.assert_array_equal(model.decision_std(X[90:]), plain.decision_std(new))
        np.testing.assert_array_equal(model.predict_proba(X[90:]), plain.predict_proba(new))
    rows_ = sparse.csr_matrix(X[90:])
    scores, _ = model.judge_rows(rows_.data, rows_.indices, rows_.indptr, rows_.shape[1])
    np.testing.assert_allclose(scores, plain.decision_function(new), rtol=1e-9, atol=1e-12)
    assert scales(model) == before  # predicting takes nothing in


@both_kinds
def test_learners_of_batches_see_a_batch_by_the_scales_after_it(kind: str) -> None:
    X, y = rows(200)
    half = len(X) // 2
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    for make in (
        lambda **more: sureline.BCW(**more),
        lambda **more: sureline.SBCW(n_features=6, **more),
        lambda **more: sureline.FGM(n_features=6, **more),
    ):
        model, plain, literal = make(normalize=kind), make(normalize="none"), Normalizer(kind)
        for part in (slice(0, half), slice(half, None)):
            model.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weight[part])
            seen = literal.learn_all(X[part], weight[part])
            plain.partial_fit(seen, y[part], classes=[0, 1], sample_weight=weight[part])
        np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(literal.apply(X)))
        if kind == "scale":
            exact = reference.Normalization(kind, X.shape[1])
            exact.learn_rows(X[weight > 0])
            np.testing.assert_array_equal(model.scale_, exact.a)
            np.testing.assert_allclose(
                X @ model.coef_[0] + model.intercept_, model.decision_function(X), rtol=1e-9, atol=1e-12
            )
    sparse_model = sureline.BCW(normalize=kind).fit(sparse.csr_matrix(X), y)
    expected = sureline.BCW(normalize=kind).fit(X, y).decision_function(X)
    np.testing.assert_allclose(sparse_model.decision_function(X), expected, rtol=1e-7, atol=1e-9)


@both_kinds
def test_classifiers_in_memory_see_all_rows_by_the_scales_after_them(kind: str) -> None:
    X, y = rows(200)
    literal = Normalizer(kind)
    seen = literal.learn_all(X)
    for make in (
        lambda **more: sureline.SDCA(rho=0.1, random_state=0, **more),
        lambda **more: sureline.SparseDCA(lam=0.05, random_state=0, **more),
        lambda **more: sureline.L1SVM(C=0.1, random_state=0, **more),
    ):
        model, plain = make(normalize=kind).fit(X, y), make(normalize="none").fit(seen, y)
        np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(seen))
        np.testing.assert_array_equal(model.decision_function(-2 * X), plain.decision_function(literal.apply(-2 * X)))
        if kind == "scale":
            np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X), rtol=1e-9)
            np.testing.assert_array_equal(model.coef_, model.sparse_coef_.toarray())
            np.testing.assert_array_equal(model.scale_, literal.sizes(np.arange(X.shape[1])))
        else:
            assert not hasattr(model, "scale_")


@both_kinds
def test_a_kernel_sees_one_row_after_the_other(kind: str) -> None:
    X, y = rows()
    settings: dict[str, Any] = {"gamma": 0.1}
    seen = Normalizer(kind).learn(X)
    whole = sureline.KernelSCW(**settings, normalize=kind).fit(X, y)
    plain = sureline.KernelSCW(**settings, normalize="none").fit(seen, y)
    parts = sureline.KernelSCW(**settings, normalize=kind)
    for start in range(0, len(X), 17):
        parts.partial_fit(X[start : start + 17], y[start : start + 17], classes=[0, 1])
    for model in (whole, parts):
        np.testing.assert_array_equal(model.examples_, plain.examples_)
        np.testing.assert_array_equal(model.nu_, plain.nu_)
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


@both_kinds
def test_regressors_too(kind: str) -> None:
    X, _ = rows()
    y = X @ np.ones(X.shape[1])
    X = sparse.csr_matrix(X) if kind == "scale" else X  # dense columns are centred
    seen = Normalizer(kind).learn(X)
    model = sureline.ODCARegressor(normalize=kind).fit(X, y)
    plain = sureline.ODCARegressor(normalize="none").fit(seen, y)
    assert model._state.weights.tobytes() == plain._state.weights.tobytes()
    parts = sureline.ODCARegressor(normalize=kind)
    for start in range(0, len(y), 7):
        parts.partial_fit(X[start : start + 7], y[start : start + 7])
    assert parts._state.weights.tobytes() == model._state.weights.tobytes()
    assert scales(parts) == scales(model)
    if kind == "scale":
        np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-9)


# -- what must not change the result -------------------------------------------------------------------------


@some_cases
@both_kinds
def test_chunks_and_single_examples_are_one_call_to_the_bit(case: Case, kind: str) -> None:
    X, y = rows()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    whole = case.make(normalize=kind).fit(X, y, weight)
    for sizes in ([1] * len(y), [7, 50, 1, 62]):
        parts, at = case.make(normalize=kind), 0
        for size in sizes:
            part = slice(at, at + size)
            parts.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weight[part])
            at += size
        assert everything(parts) == everything(whole)
        assert scales(parts) == scales(whole)
    if case.fixed:
        return
    by_rows = case.make(normalize=kind).fit(sparse.csr_matrix(X), y, weight)  # single examples are sparse
    assert scales(by_rows) == scales(whole)
    single = case.make(normalize=kind)
    single.begin(np.array([0, 1]), 10)
    for x, label, w in zip(X, y, weight, strict=True):
        columns = np.flatnonzero(x)
        if label:
            single.learn_one((columns, x[columns]), int(label), w)
        else:
            single.learn_one(dict(zip(columns.tolist(), x[columns].tolist(), strict=True)), int(label), w)
    assert everything(single) == everything(by_rows)
    assert scales(single) == scales(by_rows)
    new = sparse.csr_matrix(rows(30, seed=1)[0])
    for i in range(30):
        x = (new[i].indices, new[i].data)
        assert single.predict_one(x) == by_rows.predict(new[i])[0]
        np.testing.assert_allclose(list(single.predict_proba_one(x).values()), by_rows.predict_proba(new[i])[0])
    assert scales(single) == scales(by_rows)


# Enough for several of the blocks in which the core divides rows, and for a second thread that does it.
MANY, VERY_MANY = 6000, 60_000


def many_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 20)) * (rng.random((n, 20)) < 0.9) * np.exp(rng.normal(0, 2, 20))
    return X, (X @ rng.standard_normal(20) > 0).astype(int)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [MANY, VERY_MANY])
def test_rows_are_divided_in_blocks_as_they_are_one_by_one(n, dtype) -> None:
    X, y = many_rows(n)
    weight = np.random.default_rng(0).integers(0, 3, n).astype(float)
    for learner in (sureline.SCW, sureline.PA, sureline.SSOL):
        for form in (X, sparse.csr_matrix(X)):
            model = learner(normalize="scale", dtype=dtype).fit(form, y, sample_weight=weight)
            divided = in_parts(learner(normalize="scale", dtype=dtype), form, y, weight)
            assert everything(model) == everything(divided)
            assert scales(model) == scales(divided)


def in_parts(model, X, y, weight):
    """A chunk of few rows: one block, and no second thread."""
    for start in range(0, len(y), 997):
        part = slice(start, start + 997)
        model.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weight[part])
    return model


@pytest.mark.parametrize("n", [MANY, VERY_MANY])
def test_the_first_row_that_is_refused_is_told(n) -> None:
    X, y = many_rows(n)
    bad = X.copy()
    bad[n - 50, 2] = np.nan
    for form in (bad, sparse.csr_matrix(bad)):
        with pytest.raises(ValueError, match=f"NaN in row {n - 50}, column 2"):
            sureline.SCW(normalize="scale").fit(form, y)
    told = []
    for rows_there in (n, 3):
        with pytest.raises(ValueError, match=r"Row \d+ of X") as refused:
            sureline.OGD(eta=1e308, normalize="scale").fit(X[:rows_there], y[:rows_there])
        told.append(str(refused.value))
    assert told[0] == told[1]


@pytest.mark.parametrize("n", [MANY, VERY_MANY])
@pytest.mark.parametrize("learned_before", [False, True])
def test_a_batch_of_blocks_that_is_refused_leaves_no_trace(n, learned_before) -> None:
    X, y = many_rows(n)
    bad = X.copy()
    bad[n - 50, 2] = np.inf
    model, expected = (sureline.AROW(normalize="scale", dtype="float32") for _ in range(2))
    if learned_before:
        model.partial_fit(X, y, classes=[0, 1])
        expected.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=f"row {n - 50}, column 2"):
        model.partial_fit(sparse.csr_matrix(bad), y, classes=[0, 1])
    model.partial_fit(X[:100], y[:100], classes=[0, 1])
    expected.partial_fit(X[:100], y[:100], classes=[0, 1])
    assert everything(model) == everything(expected)
    assert scales(model) == scales(expected)


def test_without_a_second_core_the_bits_are_the_same() -> None:
    X, y = many_rows(VERY_MANY)
    expected = sureline.AROW(normalize="scale").fit(X, y)
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})
        model = sureline.AROW(normalize="scale").fit(X, y)
    finally:
        os.sched_setaffinity(0, cores)
    assert everything(model) == everything(expected)
    assert scales(model) == scales(expected)


def test_rows_to_learn_from_have_no_scores_and_are_taken_back_but_once() -> None:
    X, y = rows()
    X = sparse.csr_matrix(X)
    X.resize(len(y), 100_000)  # so wide that what changes is remembered, rather than a copy
    model = sureline.AROW(normalize="scale").fit(X, y)
    before, normalizer = scales(model), model._normalizer
    some = normalizer.to_learn(as_rows(X, np.float64), undoable=True)
    with pytest.raises(ValueError, match="only when they are learned from"):
        model._state.scores(some)
    twice = np.concatenate([np.arange(len(y)), [0]])
    with pytest.raises(ValueError, match="visited but once"):
        model._state.learn(model._rule(), some, y.astype(np.int32), None, twice, False)
    assert scales(model) == before


def test_each_pass_takes_its_rows_in_as_they_come() -> None:
    X, y = rows()
    model = sureline.PA(passes=3, shuffle=True, random_state=5, normalize="scale").fit(X, y)
    rng = np.random.RandomState(5)
    order = np.concatenate([rng.permutation(len(y)) for _ in range(3)])
    again = sureline.PA(normalize="scale").partial_fit(X[order], y[order], classes=[0, 1])
    assert everything(model) == everything(again)
    assert scales(model) == scales(again)


def test_copies_go_on_alone() -> None:
    X, y = rows()
    model = sureline.AROW(normalize="scale").partial_fit(X[:60], y[:60], classes=[0, 1])
    expected = sureline.AROW(normalize="scale").fit(X, y)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        twin.partial_fit(X[60:], y[60:])
        assert everything(twin) == everything(expected)
        assert scales(twin) == scales(expected)
    assert scales(model) == scales(sureline.AROW(normalize="scale").fit(X[:60], y[:60]))
    assert clone(model).get_params()["normalize"] == "scale"


def test_it_cannot_change_under_a_model() -> None:
    X, y = rows()
    for model in (sureline.AROW(normalize="scale"), sureline.BCW(normalize="scale"), sureline.KernelSCW(gamma=1.0)):
        model.partial_fit(X, y, classes=[0, 1]).set_params(normalize="row")
        with pytest.raises(ValueError, match=r"The 'normalize' parameter of .* cannot change"):
            model.partial_fit(X, y)
    with pytest.raises(
        ValueError, match=r"The 'normalize' parameter of AROW must be a str among {'none', 'row', 'scale'}"
    ):
        sureline.AROW(normalize="l2").fit(X, y)


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [10, 5000])  # what is undone is a copy, or a journal
@pytest.mark.parametrize("what", ["nan", "label", "step"])
def test_what_is_refused_leaves_the_scales_as_they_were(n_columns: int, what: str) -> None:
    X, y = rows()
    X = sparse.csr_matrix(np.pad(X, ((0, 0), (0, n_columns - X.shape[1]))))
    model = sureline.OGD(eta=1.0, normalize="scale").partial_fit(X[:60], y[:60], classes=[0, 1])
    before = everything(model), scales(model)
    more, labels = X[60:].copy(), y[60:].copy()
    if what == "nan":
        more.data[-1] = np.nan
    if what == "label":
        labels[-1] = 7
    if what == "step":
        model.eta = 1e308
    with pytest.raises(ValueError, match=r"NaN|label|Row"):
        model.partial_fit(more, labels)
    model.eta = 1.0
    assert (everything(model), scales(model)) == before
    shuffled = X[60:].copy()
    for i in range(shuffled.shape[0]):  # rows whose columns do not ascend are tidied, and taken in once
        part = slice(*shuffled.indptr[i : i + 2])
        shuffled.indices[part], shuffled.data[part] = shuffled.indices[part][::-1], shuffled.data[part][::-1]
    model.partial_fit(shuffled, y[60:])
    whole = sureline.OGD(eta=1.0, normalize="scale").fit(X, y)
    assert (everything(model), scales(model)) == (everything(whole), scales(whole))


def test_an_example_that_is_refused_leaves_the_scales_as_they_were() -> None:
    model = sureline.OGD(normalize="scale").learn_one({1: 2.0, 5: 3.0}, True).learn_one({1: 4.0}, False)
    before = everything(model), scales(model)
    model.eta = 1e308
    with pytest.raises(ValueError, match="scale the values"):
        model.learn_one({1: 8.0, 2: 1.0, 5: 1.0}, True, 1e300)
    with pytest.raises(ValueError, match="not finite"):
        model.learn_one({1: np.inf}, True)
    assert (everything(model), scales(model)) == before


def test_a_batch_that_is_refused_leaves_the_scales_as_they_were() -> None:
    X, y = rows()
    for model in (sureline.BCW(normalize="scale"), sureline.KernelSCW(gamma=1.0, normalize="scale")):
        model.partial_fit(X[:60], y[:60], classes=[0, 1])
        before = scales(model), model.decision_function(X)
        bad = X[60:].copy()
        bad[50, 1] = np.inf
        with pytest.raises(ValueError, match="infinity in row 50, column 1"):
            model.partial_fit(bad, y[60:])
        assert scales(model) == before[0]
        np.testing.assert_array_equal(model.decision_function(X), before[1])
