"""Online dual coordinate ascent: the compiled learner is the reference, forgets what it should, and does not drift."""

import ctypes
import itertools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from catalogue import as_published, stream
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sureline import ODCA, load, reference, save, train
from sureline._native import _core

WINDOWS = [{"window": "infinite"}, {"window": "exponential", "beta": 0.9}, {"window": "sliding", "length": 15}]
LOSSES = ["hinge", "squared_hinge", "log", "squared", "absolute", "huber"]
REGULARIZERS = [{"regularizer": "l2"}, {"regularizer": "elastic_net", "delta": 0.3}, {"regularizer": "kl"}]


def settings_of(window: dict, loss: str, regularizer: dict, smoothing: float) -> dict:
    epsilon = {"epsilon": 0.5} if loss == "huber" else {}
    return {"rho": 0.02, "loss": loss, "smoothing": smoothing, **window, **regularizer, **epsilon}


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.max(np.abs(ours - theirs)) / max(np.max(np.abs(theirs)), 1e-300))


def name(value: object) -> str:
    return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value)


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=name)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("window", WINDOWS, ids=name)
def test_it_is_the_reference(window: dict, loss: str, regularizer: dict) -> None:
    X, y = stream(n_rows=60, n_columns=6, seed=3)
    for smoothing, intercept in ((0.0, True), (0.8, True), (1.0, False)):
        parameters = settings_of(window, loss, regularizer, smoothing) | {"fit_intercept": intercept}
        oracle = reference.ODCA(**parameters).run(X, y)
        for rows in (X, sparse.csr_matrix(X)):
            model = as_published(ODCA, **parameters).fit(rows, y)
            assert (model.n_mistakes_, model.n_updates_) == (oracle.n_mistakes_, oracle.n_updates_)
            assert difference(model.coef_, oracle.coef_) < 1e-9
            assert difference(model.intercept_, oracle.intercept_) < 1e-9 or not intercept


@pytest.mark.parametrize("multi_class", ["native", "ovr"])
@pytest.mark.parametrize("smoothing", [0.0, 0.8])
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=name)
@pytest.mark.parametrize("window", WINDOWS, ids=name)
def test_it_is_the_reference_with_more_classes(
    window: dict, regularizer: dict, smoothing: float, multi_class: str
) -> None:
    X, y = stream(n_rows=60, n_columns=5, n_classes=3, seed=4)
    weight = np.random.default_rng(0).choice([0, 0.5, 1, 3.0], len(y))
    parameters = settings_of(window, "log", regularizer, smoothing) | {"multi_class": multi_class}
    oracle = reference.ODCA(**parameters).run(X, y, weight)
    model = as_published(ODCA, **parameters).fit(X, y, weight)
    assert (model.n_seen_, model.n_mistakes_) == (oracle.n_seen_, oracle.n_mistakes_)
    assert difference(model.coef_, oracle.coef_) < 1e-9
    assert difference(model.intercept_, oracle.intercept_) < 1e-9


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.8])
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=name)
def test_a_window_that_forgets_fast_is_the_reference(regularizer: dict, smoothing: float, n_classes: int) -> None:
    """The numbers that are stored are rescaled every hundred rows or so."""
    X, y = stream(n_rows=600, n_columns=5, n_classes=n_classes, seed=5)
    for loss, window in itertools.product(
        ("hinge", "log"), ({"window": "exponential", "beta": 0.05}, {"window": "exponential", "beta": 0.3})
    ):
        parameters = settings_of(window, loss, regularizer, smoothing) | {"fit_intercept": True}
        oracle = reference.ODCA(**parameters).run(X, y)
        model = as_published(ODCA, **parameters).fit(X, y)
        assert (model.n_mistakes_, model.n_updates_) == (oracle.n_mistakes_, oracle.n_updates_)
        assert difference(model.coef_, oracle.coef_) < 1e-9
        assert difference(model.intercept_, oracle.intercept_) < 1e-9


# -- the step ------------------------------------------------------------------------------------------------

NUMBERS = st.floats(-50, 50).map(lambda v: round(v, 3))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(LOSSES),
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6),
    st.floats(1e-6, 1e4),
    st.floats(0, 5),
    st.floats(-20, 20),
)
def test_newton_reaches_the_best_dual_in_a_bounded_number_of_steps(
    loss: str, entries: list, a: float, delta: float, target: float
) -> None:
    base, x = np.array(entries).T.copy()
    the = _core.DualLoss(_core.Loss[loss], 0.7)
    wanted = target if loss in ("squared", "absolute", "huber") else 1.0
    b, steps = the.best_cut(base, x, a, delta, wanted)
    assert steps <= 256

    def distance(at: float) -> float:
        """The slope of the objective: it rises with the dual variable."""
        w = base + a * at * x
        m = float(x @ (np.sign(w) * np.maximum(np.abs(w) - delta, 0)))
        own = {"squared_hinge": at / 2, "squared": at, "huber": at}.get(loss, 0.0)
        return m - wanted + own if loss != "log" else at - 1 / (1 + np.exp(np.clip(m, -700, 700)))

    assert the.low <= b <= the.high
    reach = 1e-12 * max(1.0, abs(b))
    if b - reach > the.low:
        assert distance(b - reach) <= 1e-9 * (1 + abs(wanted))
    if b + reach < the.high:
        assert distance(b + reach) >= -1e-9 * (1 + abs(wanted))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(LOSSES), st.floats(-30, 30), st.floats(-3, 3), st.floats(-5, 5))
def test_loss_and_conjugate_of_the_core_are_those_of_fenchel_and_young(
    loss: str, m: float, b: float, target: float
) -> None:
    """loss(m) + loss*(-b) >= -b m everywhere, with equality where -b is a slope of the loss at m."""
    the = _core.DualLoss(_core.Loss[loss], 0.7)
    wanted = target if loss in ("squared", "absolute", "huber") else 1.0
    e = wanted - m
    slope = {
        "hinge": float(e > 0),
        "squared_hinge": 2 * max(e, 0.0),
        "log": 1 / (1 + np.exp(m)),
        "squared": e,
        "absolute": float(np.sign(e)),
        "huber": float(np.clip(e, -0.7, 0.7)),
    }[loss]
    size = 1 + abs(the.value(m, wanted)) + abs(slope * m)
    assert the.value(m, wanted) + the.conjugate(slope, wanted) + slope * m == pytest.approx(0, abs=1e-12 * size)
    if the.low <= b <= the.high:
        assert the.value(m, wanted) + the.conjugate(b, wanted) + b * m >= -1e-12 * (size + abs(b * m))
    else:
        assert the.conjugate(b, wanted) == np.inf


@pytest.mark.parametrize("loss", LOSSES)
def test_the_closed_form_is_what_newton_finds(loss: str) -> None:
    the = _core.DualLoss(_core.Loss[loss], 0.7)
    rng = np.random.default_rng(0)
    for base, x, a in zip(
        rng.normal(size=(200, 3)), rng.normal(size=(200, 3)), np.exp(rng.normal(size=200)), strict=True
    ):
        b, _ = the.best_cut(base, x, a, 0.0)
        assert the.best(float(base @ x), a * float(x @ x)) == pytest.approx(b, rel=1e-12, abs=1e-12)


# -- ten million rounds --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_ascent(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "a C compiler built the library, so there is one"
    library = tmp_path_factory.mktemp("long") / "long_ascent.so"
    source = Path(__file__).parent / "long_ascent.c"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize(
    "parameters",
    [
        {"window": "infinite"},
        {"window": "exponential", "beta": 0.999},
        {"window": "exponential", "beta": 0.999999},
        {"window": "sliding", "length": 1000},
        {"window": "exponential", "beta": 0.9999, "regularizer": "elastic_net", "delta": 0.2},
    ],
    ids=name,
)
def test_ten_million_rounds_leave_no_drift(parameters: dict, long_ascent: ctypes.CDLL) -> None:
    rounds, n, d, rho = 10**7, 100_000, 4, 0.01
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1, -1).astype(np.int8)
    model = as_published(ODCA, rho=rho, fit_intercept=False, passes=rounds // n, **parameters).fit(X, y)
    assert model.n_seen_ == rounds
    exact = np.zeros(d)
    pointer = ctypes.c_void_p
    long_ascent.ascend(
        *(pointer(X.ctypes.data), pointer(y.ctypes.data), ctypes.c_int64(n), ctypes.c_int(d), ctypes.c_int64(rounds)),
        *(ctypes.c_double(rho), ctypes.c_double(parameters.get("beta", 1.0))),
        *(ctypes.c_int64(parameters.get("length", 0)), ctypes.c_double(parameters.get("delta", 0.0))),
        pointer(exact.ctypes.data),
    )
    assert difference(model.coef_[0], exact) < 1e-9


def test_smoothing_does_not_drift_either() -> None:
    """A stream so long that beta^-N alone would leave no digit of the sums."""
    X, y = stream(n_rows=3000, n_columns=6, seed=5)
    for kappa, delta in itertools.product((0.5, 0.999, 1.0), (None, 0.2)):
        parameters = {"rho": 0.05, "window": "exponential", "beta": 0.9, "smoothing": kappa}
        parameters |= {"regularizer": "elastic_net", "delta": delta} if delta else {}
        oracle = reference.ODCA(**parameters).run(X, y)
        model = as_published(ODCA, **parameters).fit(sparse.csr_matrix(X), y)
        assert difference(model.coef_, oracle.coef_) < 1e-9


# -- windows -------------------------------------------------------------------------------------------------


def test_what_left_the_window_leaves_exactly_nothing() -> None:
    X, y = stream(n_rows=200, n_columns=6, seed=1)
    wide = np.hstack([X, np.zeros_like(X)])
    wide[100:] = np.hstack([np.zeros_like(X), X])[100:]
    for more in ({}, {"multi_class": "ovr"}):
        y_more = y if not more else np.arange(200) % 3
        model = as_published(ODCA, window="sliding", length=50, rho=0.1, **more).fit(wide, y_more)
        assert not model.coef_[:, :6].any()
        assert model.coef_[:, 6:].any()
        scores = as_published(ODCA, window="sliding", length=50, rho=0.1, **more).fit(wide[:150], y_more[:150])
        again = model.partial_fit(sparse.csr_matrix((60, 12)), y_more[:60])
        assert not again.coef_.any()
        assert scores.coef_.any()


def test_a_window_longer_than_the_stream_is_the_infinite_one() -> None:
    X, y = stream()
    one, other = (
        as_published(ODCA, rho=0.05).fit(X, y),
        as_published(ODCA, rho=0.05, window="sliding", length=10_000).fit(X, y),
    )
    assert difference(one.coef_, other.coef_) < 1e-12


def test_half_life_is_beta() -> None:
    X, y = stream()
    one = as_published(ODCA, window="exponential", half_life=50).fit(X, y)
    other = as_published(ODCA, window="exponential", beta=2 ** (-1 / 50)).fit(X, y)
    assert one.coef_.tobytes() == other.coef_.tobytes()


def test_the_memory_of_a_sliding_window_is_bounded() -> None:
    X, y = stream(n_rows=2000, n_columns=8)
    model = as_published(ODCA, window="sliding", length=20).fit(X, y)
    parts, numbers, *_, values = model._state.ascent.window()
    assert len(parts) == len(numbers) == 20
    assert len(values) <= 20 * 8


# -- parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"beta": 0.9},
            r"'beta' parameter of ODCA goes with window='exponential'\. Got beta=0\.9 with window='infinite'",
        ),
        ({"half_life": 10}, "goes with window='exponential'"),
        ({"window": "exponential", "beta": 0.9, "half_life": 5}, "takes beta or half_life, not both"),
        ({"window": "exponential", "beta": 1.0}, "beta"),
        ({"window": "exponential", "half_life": 1e30}, "window='infinite' is meant for it"),
        ({"length": 10}, "goes with window='sliding'"),
        ({"window": "sliding", "length": 0}, "length"),
        ({"delta": 0.1}, "goes with regularizer='elastic_net'"),
        ({"epsilon": 0.1}, "goes with loss='huber'"),
        ({"columns": 5}, "goes with regularizer='kl'"),
        ({"regularizer": "kl", "growing": True}, "cannot grow"),
        ({"rho": 0}, "rho"),
        ({"smoothing": 1.5}, "smoothing"),
        ({"loss": "logistic"}, "'log'"),
        ({"window": "moving"}, "sliding"),
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict, words: str) -> None:
    X, y = stream(20)
    with pytest.raises(ValueError, match=words):
        as_published(ODCA, **parameters).fit(X, y)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"window": "sliding", "length": 10}, {"length": 20}),
        ({"window": "sliding", "length": 10}, {"window": "infinite", "length": None}),
        ({"smoothing": 0.5}, {"smoothing": 0.0}),
        ({"smoothing": 0.5, "regularizer": "elastic_net", "delta": 0.1}, {"delta": 0.2}),
        ({}, {"regularizer": "kl"}),
    ],
    ids=str,
)
def test_what_shapes_the_state_cannot_change(before: dict, after: dict) -> None:
    X, y = stream(50)
    model = as_published(ODCA, **before).partial_fit(X, y, classes=[0, 1])
    weights = model.coef_
    model.set_params(**after)
    with pytest.raises(ValueError, match="cannot change after the first call"):
        model.partial_fit(X, y)
    model.set_params(**{key: as_published(ODCA, **before).get_params()[key] for key in after})
    assert (model.coef_ == weights).all()


def test_the_rest_can_change() -> None:
    X, y = stream(100)
    model = as_published(ODCA, rho=0.1, window="exponential", beta=0.9).partial_fit(X[:50], y[:50], classes=[0, 1])
    model.set_params(rho=0.2, beta=0.99, loss="log").partial_fit(X[50:], y[50:])
    assert model.n_seen_ == 100


def test_the_simplex() -> None:
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((500, 5)))
    y = (X[:, 2] > X.mean(axis=1)).astype(int)
    model = as_published(ODCA, regularizer="kl", loss="log", rho=1e-3).fit(X, y)
    assert (model.coef_ > 0).all()
    assert model.coef_.sum() == pytest.approx(1, abs=1e-12)
    assert model.coef_.argmax() == 2
    with pytest.raises(ValueError, match=r"give columns=N"):
        as_published(ODCA, regularizer="kl").learn_one({1: 2.0}, 1)
    one = as_published(ODCA, regularizer="kl", columns=4).learn_one({1: 2.0}, 1)
    assert one.coef_.shape == (1, 4)
    with pytest.raises(ValueError, match="which cannot change"):
        one.learn_one({9: 2.0}, 1)


def test_models_with_windows_are_saved_whole(tmp_path: Path) -> None:
    X, y = stream(n_classes=3)
    for parameters in (
        {"window": "sliding", "length": 30, "multi_class": "ovr"},
        {"window": "sliding", "length": 30, "smoothing": 0.5, "regularizer": "elastic_net"},
        {"regularizer": "kl", "window": "sliding", "length": 30},
    ):
        straight = as_published(ODCA, **parameters).partial_fit(X, y, classes=range(3))
        half = as_published(ODCA, **parameters).partial_fit(X[:150], y[:150], classes=range(3))
        save(half, tmp_path / "half.sureline")
        rest = load(tmp_path / "half.sureline").partial_fit(X[150:], y[150:])
        assert rest.coef_.tobytes() == straight.coef_.tobytes()
        save(straight, tmp_path / "one.sureline")
        save(rest, tmp_path / "two.sureline")
        assert (tmp_path / "one.sureline").read_bytes() == (tmp_path / "two.sureline").read_bytes()


def test_rows_whose_length_overflows_are_refused() -> None:
    for parameters in ({}, {"regularizer": "elastic_net"}, {"window": "sliding"}, {"regularizer": "kl"}):
        with pytest.raises(ValueError, match="Row 0"):
            as_published(ODCA, **parameters).fit([[1e300], [-1e300]] * 3, [1, 0] * 3)


def test_the_simplex_is_as_wide_as_it_was_said_to_be() -> None:
    X, y = stream(20, 5)
    with pytest.raises(ValueError, match=r"X has 5 columns, and ODCA was told of columns=4"):
        as_published(ODCA, regularizer="kl", columns=4).fit(X, y)
    with pytest.raises(ValueError, match="columns"):
        as_published(ODCA, regularizer="kl", columns=10**9).learn_one({1: 1.0}, 1)


def test_streams_are_read_in_double_precision(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("1 1:2 3:1\n0 2:1\n" * 5)
    assert train(tmp_path / "rows.svm", "odca", normalize="none").dtype == "float64"
    assert train(tmp_path / "rows.svm", "arow", normalize="none").dtype == "float32"
    assert train(tmp_path / "rows.svm", "odca", dtype="float32", normalize="none").dtype == "float32"


def test_a_stream_does_not_tell_how_wide_a_simplex_is(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:2 3:1\n0 2:1\n" * 5)
    with pytest.raises(ValueError, match="give columns=N"):
        train(path, "odca", regularizer="kl", normalize="none")
    model = train(path, "odca", regularizer="kl", columns=6, normalize="none")
    assert model.coef_.shape == (1, 6)
    assert model.coef_.sum() == pytest.approx(1, abs=1e-6)
