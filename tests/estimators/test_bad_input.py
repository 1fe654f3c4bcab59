"""Invalid input: a correct result or one clear ValueError, and a refused batch leaves no trace."""

from typing import Any

import numpy as np
import pytest
from catalogue import Case, every_case, everything, stream
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import sureline
from sureline import AROW, CW, FOFS, IELLIP, ODCA, PA, ROMMA, SCW, SOP, Perceptron, reference
from sureline._native import _core
from sureline.models.numbers import Shape
from sureline.models.state import State


def csr(X=None) -> sparse.csr_matrix:
    return sparse.csr_matrix(stream(20)[0] if X is None else X)


def corrupt(name: str) -> sparse.csr_matrix:
    X = csr()
    if name == "column too large":
        X.indices[7] = 12
    elif name == "column huge":
        X.indices[7] = 2**31 - 1
    elif name == "column negative":
        X.indices[7] = -1
    elif name == "indptr decreases":
        X.indptr[3] = X.indptr[5] + 1
    elif name == "indptr past the end":
        X.indptr[-1] = len(X.data) + 5
    elif name == "indptr negative":
        X.indptr[3] = -4
    elif name == "indptr does not start at 0":
        X.indptr[0] = 1
    elif name == "fewer values":
        X.data = X.data[:-3]
    elif name == "fewer indices":
        X.indices = X.indices[:-3]
    elif name == "short indptr":
        X.indptr = X.indptr[:-2]
    elif name == "int64 column beyond int32":
        X.indices = X.indices.astype(np.int64)
        X.indptr = X.indptr.astype(np.int64)
        X.indices[7] = 2**40
    return X


CORRUPT = [
    "column too large",
    "column huge",
    "column negative",
    "indptr decreases",
    "indptr past the end",
    "indptr negative",
    "indptr does not start at 0",
    "fewer values",
    "fewer indices",
    "short indptr",
    "int64 column beyond int32",
]


@pytest.mark.parametrize("kind", CORRUPT)
@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_corrupt_csr_is_refused(kind: str, covariance: str) -> None:
    X, y = stream(20)
    model = AROW(covariance=covariance, normalize="none").partial_fit(X, y, classes=[0, 1])
    before = everything(model)
    for call in (
        lambda: model.partial_fit(corrupt(kind), y),
        lambda: model.fit(corrupt(kind), y),
        lambda: model.predict(corrupt(kind)),
        lambda: model.decision_std(corrupt(kind)),
    ):
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            call()
    assert everything(model) == before


def other_formats() -> list[sparse.spmatrix]:
    """Matrices whose conversion to CSR would read or write outside their arrays."""
    csc, unsigned, coo, floats, lil, short, dia = (
        csr().asformat(f) for f in ["csc", "csc", "coo", "coo", "lil", "lil", "dia"]
    )
    csc.indices[3] = 10**6
    unsigned.indptr = unsigned.indptr.astype(np.uint64)
    unsigned.indptr[3] = 2**63 + 3
    coo.col[3] = 10**6
    floats.coords = (np.where(np.arange(floats.nnz) == 0, np.nan, -1e9), floats.col)
    lil.data[3] = list(range(100_000))
    short.data = short.data[:3]
    dia.data = dia.data[:1]
    return [csc, unsigned, coo, floats, lil, short, dia]


def test_corrupt_matrices_of_other_formats_are_refused() -> None:
    y = stream(20)[1]
    for X in other_formats():
        with pytest.raises(ValueError, match=f"not a valid {X.format.upper()} matrix"):
            AROW(normalize="none").fit(X, y)


@pytest.mark.parametrize("name", ["indices", "indptr"])
def test_indices_must_be_integers(name: str) -> None:
    X, y = csr(), stream(20)[1]
    setattr(X, name, getattr(X, name) + 0.7)
    with pytest.raises(ValueError, match=f"not a valid CSR matrix: {name} must be integers"):
        AROW(normalize="none").fit(X, y)


def test_a_growing_model_judges_nothing_corrupt() -> None:
    X, y = stream(20)
    model = AROW(growing=True, normalize="none").partial_fit(X[:, :5], y)
    wide = csr(X)
    wide.indptr = wide.indptr.copy()
    wide.indptr[5:] += 10**8
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        model.predict(wide)


def test_rows_of_the_core_do_not_trust_what_can_still_change() -> None:
    starts = np.array([0, 1, 2])
    rows = _core.Rows.csr(np.ones(2), np.array([0, 1]), starts, 2, 2)
    starts[1:] = 10**10
    state = State(Shape.identity, "float64", 2, True)
    state.core.learn(_core.Perceptron(), rows, np.zeros(2, np.int32))
    assert state.tally[0, 0] == 2


def test_parameters_set_between_calls_are_checked() -> None:
    X, y = stream(20)
    model = AROW(normalize="none").partial_fit(X, y, classes=[0, 1])
    before = everything(model)
    for parameter in ({"r": -1.0}, {"r": "abc"}, {"dtype": "foo"}, {"growing": "no"}):
        with pytest.raises(ValueError, match=f"The '{next(iter(parameter))}' parameter of AROW"):
            AROW(normalize="none").partial_fit(X, y, classes=[0, 1]).set_params(**parameter).partial_fit(X, y)
    for parameter in ({"dtype": "float32"}, {"covariance": "full"}, {"fit_intercept": False}):
        with pytest.raises(ValueError, match="cannot change after the first call of partial_fit"):
            AROW(normalize="none").partial_fit(X, y, classes=[0, 1]).set_params(**parameter).partial_fit(X, y)
    model.set_params(r=2.0).partial_fit(X, y)
    assert everything(model) != before


def test_long_rows_are_not_lost_in_float32() -> None:
    for covariance in ("diag", "full"):
        model = AROW(dtype="float32", fit_intercept=False, covariance=covariance, normalize="none")
        model.partial_fit([[1e18, 0]], [1], classes=[0, 1])
        assert model.decision_function([[1e18, 0]])[0] == pytest.approx(1.0, rel=1e-5)
    model = AROW(dtype="float32", fit_intercept=False, normalize="none").partial_fit([[1e25, 0]], [1], classes=[0, 1])
    assert model.decision_function([[1e25, 0]])[0] == pytest.approx(1.0, rel=1e-5)


def test_labels_that_cannot_be_sorted_are_refused() -> None:
    labels = np.array(["a", None, 3], dtype=object)
    with pytest.raises(ValueError, match="labels must all be of one type that can be sorted"):
        AROW(normalize="none").fit(np.eye(3), labels)
    with pytest.raises(ValueError, match="labels must all be of one type"):
        AROW(growing=True, normalize="none").partial_fit(np.eye(3), labels)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_random_csr_arrays_never_crash(data) -> None:
    n_rows, n_columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    X = csr(np.ones((n_rows, n_columns)))
    small = st.integers(-3, 12)
    X.indptr = np.array(data.draw(st.lists(small, min_size=0, max_size=7)), dtype=np.int32)
    X.indices = np.array(
        data.draw(st.lists(small, max_size=12)), dtype=data.draw(st.sampled_from([np.int32, np.int64]))
    )
    X.data = np.array(data.draw(st.lists(st.floats(), max_size=12)))
    y = np.arange(n_rows) % 2
    try:
        model = SCW(normalize="none").partial_fit(X, y, classes=[0, 1])
    except ValueError:
        return
    assert np.isfinite(model.coef_).all()
    assert X.indptr[0] == 0  # it was valid after all
    assert (np.diff(X.indptr) >= 0).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_not_finite_values_are_named_with_their_place(value: float, as_rows) -> None:
    X, y = stream(20)
    model = AROW(normalize="none").partial_fit(X, y, classes=[0, 1])
    before = everything(model)
    X[11, 4] = value
    for call in (model.partial_fit, model.fit, lambda rows, _: model.predict(rows)):
        with pytest.raises(ValueError, match=r"(NaN|infinity).* in row 11, column 4"):
            call(as_rows(X), y)
    assert everything(model) == before


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0])
def test_bad_sample_weights_are_named_with_their_row(weight: float) -> None:
    X, y = stream(20)
    weights = np.ones(20)
    weights[13] = weight
    with pytest.raises(ValueError, match=r"sample_weight must be finite and not negative\. Got .* for row 13"):
        AROW(normalize="none").fit(X, y, weights)
    with pytest.raises(ValueError, match="sample_weight must have one weight a row: X has 20 rows, sample_weight 3"):
        AROW(normalize="none").fit(X, y, np.ones(3))
    with pytest.raises(ValueError, match="sample_weight must have one dimension"):
        AROW(normalize="none").fit(X, y, np.ones((20, 1)))


def test_bad_labels() -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        AROW(normalize="none").fit(X, np.where(y == 1, np.nan, 0.0))
    with pytest.raises(ValueError, match="Input y contains infinity"):
        AROW(normalize="none").partial_fit(X, np.where(y == 1, np.inf, 0.0), classes=[0, 1])
    with pytest.raises(ValueError, match="needs examples of at least 2 classes"):
        AROW(normalize="none").fit(X, np.zeros(20))
    with pytest.raises(ValueError, match=r"classes must be passed to the first call of partial_fit"):
        AROW(normalize="none").partial_fit(X, y)
    with pytest.raises(ValueError, match=r"y has the label 5 in row 3.*\[0, 1\].*growing=True"):
        AROW(normalize="none").partial_fit(X, np.where(np.arange(20) == 3, 5, y), classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes=\[0, 2\] is not what the first call"):
        AROW(normalize="none").partial_fit(X, y, classes=[0, 1]).partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AROW(normalize="none").fit(X, y[:-1])
    with pytest.raises(ValueError, match="at least 2 classes"):
        AROW(normalize="none").partial_fit(X, y, classes=[0])
    with pytest.raises(ValueError, match="Unknown label type"):
        AROW(normalize="none").fit(X, np.linspace(0, 1, 20))


def test_bad_shapes() -> None:
    X, y = stream(20)
    model = AROW(normalize="none").fit(X, y)
    with pytest.raises(ValueError, match="12 features"):
        model.predict(X[:, :5])
    with pytest.raises(ValueError, match="12 features"):
        model.partial_fit(np.ones((20, 13)), y)
    with pytest.raises(ValueError, match="2D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.partial_fit(np.empty((0, 12)), [])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        AROW(normalize="none").fit(np.empty((20, 0)), y)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        AROW(normalize="none").fit(sparse.csr_matrix((20, 0)), y)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.predict(sparse.csr_matrix((0, 12)))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            AROW(r=-1, normalize="none"),
            r"The 'r' parameter of AROW must be a float in the range \(0.*inf\). Got -1 instead.",
        ),
        (AROW(r=np.nan, normalize="none"), "The 'r' parameter of AROW"),
        (AROW(covariance="low-rank", normalize="none"), "The 'covariance' parameter of AROW must be a str among"),
        (CW(eta=1.0, normalize="none"), r"The 'eta' parameter of CW must be a float in the range \[0.5, 1"),
        (SCW(variant="III", normalize="none"), "The 'variant' parameter of SCW"),
        (SCW(C=0, normalize="none"), "The 'C' parameter of SCW"),
        (PA(C=np.inf, normalize="none"), "The 'C' parameter of PA"),
        (IELLIP(b=1.0, normalize="none"), "The 'b' parameter of IELLIP"),
        (SOP(a=0, normalize="none"), "The 'a' parameter of SOP"),
        (Perceptron(dtype="float16", normalize="none"), "The 'dtype' parameter of Perceptron"),
        (Perceptron(passes=0, normalize="none"), "The 'passes' parameter of Perceptron"),
        (Perceptron(multi_class="multinomial", normalize="none"), "The 'multi_class' parameter of Perceptron"),
    ],
    ids=lambda e: type(e).__name__ if not isinstance(e, str) else "",
)
def test_bad_parameters_are_named(estimator, message: str) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)
    with pytest.raises(ValueError, match=message):
        estimator.partial_fit(X, y, classes=[0, 1])


def test_read_only_and_strided_input() -> None:
    X, y = stream(40)
    expected = everything(SCW(normalize="none").fit(X, y))
    X.flags.writeable = y.flags.writeable = False
    assert everything(SCW(normalize="none").fit(X, y)) == expected
    rows = csr(X)
    for array in (rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    model = SCW(normalize="none").fit(rows, y)
    assert model.n_seen_ == 40
    model.predict(rows)
    assert everything(SCW(normalize="none").fit(np.repeat(X, 2, axis=1)[:, ::2], y)) == expected
    assert everything(SCW(normalize="none").fit(X.tolist(), y.tolist())) == expected


@every_case
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_rows_of_zeros_and_constant_rows(case: Case, as_rows) -> None:
    X, y = np.zeros((30, 3)), np.arange(30) % 2
    model = case.make(fit_intercept=False).fit(as_rows(X), y)
    assert model.n_updates_ == 0
    assert model.n_mistakes_ == 15  # 0 is predicted
    assert not np.ptp(model.coef_)  # they are 0, or on the simplex all alike
    if case.gaussian:
        np.testing.assert_array_equal(model.belief(as_rows(X)), 0.5)
    # All that is on record are scores of 0, with either label about as often.
    np.testing.assert_allclose(model.predict_proba(as_rows(X)), 0.5, atol=0.05)
    model = case.make().fit(as_rows(X), y)  # with an intercept there is something to learn
    assert np.isfinite(model.intercept_).all()


@every_case
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_becomes_infinite_whatever_the_scale(case: Case, dtype: str, n_classes: int) -> None:
    for exponent in (-320, -300, -200, -160, -100, -45, -30, 15, 30, 37, 60, 100, 150, 160, 200, 300, 308):
        for policy in ("native", "ovr"):
            X, y = stream(40, 3, n_classes)
            calm = X.copy()
            with np.errstate(over="ignore"):
                X[20:] *= float(f"1e{exponent}")
            model = case.make(dtype=dtype, multi_class=policy).partial_fit(calm[:20], y[:20], classes=range(n_classes))
            before = everything(model)
            for rows in (X[20:], sparse.csr_matrix(X[20:])):
                try:
                    model.partial_fit(rows, y[20:])
                except ValueError as error:
                    assert "row " in str(error).lower()
                    assert everything(model) == before
                assert np.isfinite(model.coef_).all()
                if case.gaussian:
                    assert np.isfinite(model.covariance_).all()
                    assert np.isfinite(model._state.memory).all()
                try:
                    assert np.isfinite(model.decision_function(rows)).all()
                except ValueError as error:
                    assert "ow " in str(error)
                before = everything(model)


@pytest.mark.parametrize("width", [3, 5000], ids=["copied", "journalled"])
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
@every_case
def test_a_row_refused_in_the_middle_takes_the_batch_back(case: Case, width: int, multi_class: str) -> None:
    """Whether the model was copied before or what changed is written down depends on its width."""
    if width > 100 and case.parameters.get("covariance") == "full":
        width = 60
    X, y = stream(30, 3, 3)
    X = sparse.csr_matrix((csr(X).data, csr(X).indices * (width // 3), csr(X).indptr), shape=(30, width))
    model = case.make(multi_class=multi_class).partial_fit(X, y, classes=[0, 1, 2])
    before, dictionary = everything(model), model.__dict__.copy()
    bad = X.copy()
    bad.data[bad.indptr[25] :] *= 1e200
    weight = np.ones(30)
    weight[25:] = 1e200
    try:
        model.partial_fit(bad, y, sample_weight=weight)
    except ValueError:
        assert everything(model) == before
        assert model.__dict__.keys() == dictionary.keys()
    else:  # some rules ignore scale and weight: that is a correct result
        assert np.isfinite(model.coef_).all()
    if case.name in ("Perceptron", "SOP", "AROW"):
        assert everything(model) == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: ODCA(window="exponential", beta=0.05, normalize="none"),
        lambda: ODCA(window="exponential", beta=0.05, normalize="none", smoothing=0.0),
        lambda: FOFS(eta=0.9, lam=0.9, normalize="none"),
    ],
    ids=["ODCA", "ODCA without smoothing", "FOFS"],
)
def test_a_row_refused_after_all_numbers_were_rescaled_takes_the_batch_back(make: Any) -> None:
    X = sparse.random(500, 5000, density=4e-3, random_state=0, format="csr")
    y = np.random.default_rng(0).integers(0, 2, 500)
    model = make().partial_fit(X[:50], y[:50], classes=[0, 1])
    before = everything(model)
    bad = X[50:].tolil()
    bad[449, 7:9] = 1e200
    with pytest.raises(ValueError, match="Row 449"):
        model.partial_fit(bad.tocsr(), y[50:])
    assert everything(model) == before
    whole = make().partial_fit(X[:50], y[:50], classes=[0, 1]).partial_fit(X[50:], y[50:])
    assert everything(model.partial_fit(X[50:], y[50:])) == everything(whole)


def test_romma_follows_the_reference_on_noise() -> None:
    """Where |w| grows without limit: its tracked square must not leave that of the weights."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    y = (X[:, 0] + rng.standard_normal(3000) > 0).astype(int)
    for aggressive in (False, True):
        model, oracle = (
            ROMMA(aggressive=aggressive, normalize="none").fit(X, y),
            reference.ROMMA(aggressive=aggressive).run(X, y),
        )
        assert (model.n_mistakes_, model.n_updates_) == (oracle.n_mistakes_, oracle.n_updates_)
        np.testing.assert_allclose(model.coef_, oracle.coef_, rtol=1e-6)


def test_romma_does_not_diverge_on_noise() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50_000, 4)), rng.integers(0, 2, 50_000)
    for dtype in ("float32", "float64"):
        for aggressive in (False, True):
            model = ROMMA(aggressive=aggressive, dtype=dtype, normalize="none").fit(X, y)
            assert np.isfinite(model.coef_).all()
            assert np.abs(model.coef_).max() <= 1.1e30


def test_a_full_covariance_too_large_says_so() -> None:
    X = sparse.csr_matrix((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 30_000_000))
    with pytest.raises(MemoryError, match=r"covariance='full' needs \d+ GiB for 30000000 features"):
        AROW(covariance="full", normalize="none").fit(X, [0, 1])


def test_a_failed_first_call_leaves_an_unfitted_estimator() -> None:
    model = AROW(normalize="none")
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([[np.nan]], [0], classes=[0, 1])
    fresh = vars(AROW(normalize="none"))
    assert {**vars(model), "_gate": None} == {**fresh, "_gate": None}  # each has a gate of its own


def test_what_numpy_would_take_for_numbers_is_refused() -> None:
    """Masked values, times and text become numbers in NumPy without a word."""
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    masked = np.ma.masked_array(X, mask=X > 2)
    masked[3, 1] = np.ma.masked
    fitted = sureline.PA().fit(X, y)
    times = np.arange(60).reshape(20, 3).astype("datetime64[s]")
    cases = [
        (masked, r"masked array.*X\.filled"),
        (list(masked), "masked array"),
        (times, r"dates; turn them into numbers, such as seconds \(X\.astype\('datetime64\[s\]'\)"),
        (times.astype(object), "dates"),
        (times.tolist(), "dates"),
        (list(times), "dates"),
        (times - times[0], r"times; .*timedelta64\[s\]"),
        ((times - times[0]).tolist(), "times"),
        (X.astype(str), r"text; convert numbers with X\.astype\(float\)"),
        (X.astype("S20"), "text"),
        (X.astype(str).astype(object), "text"),
        (X.astype(str).tolist(), "text"),
    ]
    for bad, message in cases:
        for call in (
            lambda bad=bad: sureline.PA().fit(bad, y),
            lambda bad=bad: sureline.PA().partial_fit(bad, y, classes=[0, 1]),
            lambda bad=bad: fitted.predict(bad),
            lambda bad=bad: fitted.decision_function(bad),
            lambda bad=bad: sureline.ODCARegressor().fit(bad, y * 1.0),
            lambda bad=bad: sureline.SDCA().fit(bad, y),
        ):
            with pytest.raises(ValueError, match=message):
                call()
    hidden = np.ma.masked_array(y, mask=y == 1)
    for estimator in (sureline.PA(), sureline.ODCARegressor(), sureline.SDCA(), sureline.BCW(), sureline.KernelSCW()):
        with pytest.raises(ValueError, match=r"y is a masked array, .* leave their rows out"):
            estimator.fit(X, hidden)
        if hasattr(estimator, "partial_fit"):
            with pytest.raises(ValueError, match="sample_weight is a masked array"):
                estimator.fit(X, y, sample_weight=hidden)
    # Without anything masked, and objects that are numbers, it is an array like others.
    assert (fitted.predict(np.ma.masked_array(X)) == fitted.predict(X)).all()
    assert (fitted.predict(X.astype(object)) == fitted.predict(X)).all()


def test_columns_of_a_frame_that_are_no_numbers_are_named() -> None:
    pd = pytest.importorskip("pandas")
    y = np.arange(20) % 2
    good = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20)})
    sureline.PA().fit(good, y)
    for bad in (good.assign(c=pd.Timestamp("2020-01-01")), good.assign(c=["1"] * 20)):
        with pytest.raises(ValueError, match="in the column 'c'"):
            sureline.PA().fit(bad, y)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "pandas"])
def test_frames_whose_columns_are_no_numbers_are_refused(library: str) -> None:
    """Polars and pyarrow have types of their own, which NumPy turns into numbers as it does its own."""
    frames = pytest.importorskip(library)
    table = frames.table if library == "pyarrow" else frames.DataFrame
    y, day = [0, 1] * 10, np.datetime64("2020-01-01", "s")
    days = (day + np.arange(20).astype("timedelta64[D]")).astype("datetime64[us]")
    for values, said in (
        (days, "dates in the column 'when'"),
        (days - days[0], "times in the column 'when'"),
        (["1", "2"] * 10, "text in the column 'when'"),
    ):
        X = table({"a": np.arange(20.0), "when": values})
        for call in (lambda X=X: sureline.PA().fit(X, y), lambda X=X: sureline.Auto().fit(X, y)):
            with pytest.raises(ValueError, match=said):
                call()
    assert sureline.PA().fit(table({"a": np.arange(20.0)}), y).n_seen_ == 20


def test_weights_are_numbers() -> None:
    X, y = np.arange(20.0).reshape(10, 2), [0, 1] * 5
    for weight in (["1"] * 10, np.arange(10).astype("datetime64[s]"), np.array([b"1"] * 10)):
        with pytest.raises(ValueError, match="sample_weight must be numbers"):
            sureline.PA().fit(X, y, sample_weight=weight)
