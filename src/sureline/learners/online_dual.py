"""Online dual coordinate ascent: learners with a window, which forget old examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .._native import _core
from ..models.numbers import Shape
from ..models.state import State
from .docstrings import COMMON, REGRESSION, documented
from .grids import Settings
from .online import OnlineLearner
from .parameters import DUAL_LOSSES, POSITIVE, Number, OneOf, refuse_apart
from .regression import TargetLearner
from .rule import RuleLearner
from .targets import TargetScale

_ASCENT = """rho : float, default={rho}
        The strength of the regulariser. Every row is weighed against it with 1 / (rho Delta) of its window, so that the
        first rows make large steps and later ones smaller and smaller, down to those of the window's size. Choose it by
        the scale of the rows: larger, say 0.1, for dense rows of standardised columns.
    window : {{"infinite", "exponential", "sliding"}}, default="infinite"
        Weight of old examples: all the same; `beta` times less with every new example; or the last `length` examples
        alone. The last two follow a target that moves.
    beta : float or None, default=None
        The forgetting factor of the exponential window; 0.9999 if neither this nor `half_life` is given.
    half_life : float or None, default=None
        Number of examples after which an old one counts half; instead of `beta`. ``beta = 2 ** (-1 / half_life)``.
    length : int or None, default=None
        Number of examples in the sliding window; 10,000 if None. Rows that changed the model are kept in memory, 16
        bytes per nonzero.
    regularizer : {{"l2", "elastic_net", "kl"}}, default="l2"
        "l2": |w|^2 / 2; "elastic_net": delta |w|_1 + |w|^2 / 2, which makes weights exactly zero; "kl": sum w log w,
        with positive weights that sum to one. The intercept always has b^2 / 2. A row costs its nonzeros with the first
        two, and the width of the model with "kl".
    delta : float or None, default=None
        The l1 penalty of the elastic net: the larger, the fewer nonzero weights; 0.001 if None.
    {loss}
    epsilon : float or None, default=None
        Point where the Huber loss turns from squared to linear; 1 if None.
    smoothing : float, default={smoothing}
        Predict with an exponential average of the weights, with this decay per example: kappa of equation 27. 1
        averages all weights, 0 takes the last ones alone. It helps much where the loss has a kink, as the hinge. With
        `average` this is the decay of that average instead.
    columns : int or None, default=None
        Number of features for "kl" on streams and with `learn_one`, where it is not known from the start; up to 2**24.
        Every row costs this many operations. `fit` and `partial_fit` take the width of X.
    """

_LOSSES = """loss : {{"hinge", "squared_hinge", "log", "squared", "absolute", "huber"}}, default="hinge"
        Loss of the margin m = y w.x, with e = 1 - m: max(0, e), its square, ln(1 + exp(-m)), e^2 / 2, |e|, or e^2 / 2
        up to |e| = epsilon and linear beyond. "log" gives probabilities."""

_LOSSES_OF_TARGETS = """loss : {{"squared", "absolute", "huber"}}, default="squared"
        Loss of the residual r = y - w.x: r^2 / 2, |r|, or r^2 / 2 up to |r| = epsilon and linear beyond."""

_GIVEN_WITH = (
    ("beta", "window", "exponential"),
    ("half_life", "window", "exponential"),
    ("length", "window", "sliding"),
    ("delta", "regularizer", "elastic_net"),
    ("epsilon", "loss", "huber"),
    ("columns", "regularizer", "kl"),
)
WIDEST_SIMPLEX = 1 << 24  # columns; a row goes over all of them


def _ascent(losses: str, *, rho: str, smoothing: str) -> str:
    return _ASCENT.replace("{loss}", losses).replace("{rho}", rho).replace("{smoothing}", smoothing)


@dataclass(eq=False, repr=False, kw_only=True)
class DualAscent(RuleLearner):
    """The base of this family: its parameters, and the rule made of them."""

    rho: float = POSITIVE.default(1e-4)
    window: str = OneOf("infinite", "exponential", "sliding").default("infinite")
    beta: float | None = Number(0, 1, open="both", optional=True).default(None)
    half_life: float | None = Number(0.01, open="high", optional=True).default(None)
    length: int | None = Number(1, 10**7, integer=True, optional=True).default(None)
    regularizer: str = OneOf("l2", "elastic_net", "kl").default("l2")
    delta: float | None = Number(0, open="both", optional=True).default(None)
    loss: str = "hinge"
    epsilon: float | None = Number(0, open="both", optional=True).default(None)
    smoothing: float = Number(0, 1).default(0.0)
    columns: int | None = Number(1, WIDEST_SIMPLEX, integer=True, optional=True).default(None)

    stream_dtype: ClassVar[str] = "float64"  # steps become as small as 1 / N

    def check_parameters(self) -> None:
        super().check_parameters()
        name = type(self).__name__
        refuse_apart(self, _GIVEN_WITH)
        if self.beta is not None and self.half_life is not None:
            raise ValueError(
                f"{name} takes beta or half_life, not both. Got beta={self.beta!r} and half_life={self.half_life!r}."
            )
        if self._beta() == 1.0:
            raise ValueError(
                f"half_life={self.half_life!r} forgets nothing in double precision; window='infinite' is meant for it."
            )
        if self.regularizer == "kl" and self.growing:
            raise ValueError(
                f"{name} with regularizer='kl' spreads its weights over a fixed number of features, and cannot grow. "
                "Got growing=True."
            )

    def _beta(self) -> float:
        if self.half_life is not None:
            return float(2.0 ** (-1.0 / self.half_life))
        return 0.9999 if self.beta is None else float(self.beta)

    def _length(self) -> int:
        return 0 if self.window != "sliding" else 10_000 if self.length is None else int(self.length)

    def _delta(self) -> float:
        return 0.0 if self.regularizer != "elastic_net" else 0.001 if self.delta is None else float(self.delta)

    def _rule(self) -> _core.DualRule:
        return _core.DualRule(
            _core.DualLoss(_core.Loss[self.loss], 1.0 if self.epsilon is None else float(self.epsilon)),
            rho=self.rho,
            window=_core.Window[self.window],
            beta=self._beta(),
            regularizer=_core.Regularizer[self.regularizer],
            delta=self._delta(),
            smoothing=self._kappa(),
        )

    def _kappa(self) -> float:
        """The decay of equation 27: from `average` if given, else from `smoothing`."""
        half_life = self._half_life()
        return float(self.smoothing) if half_life is None else float(2.0 ** (-1.0 / half_life))

    def _shape(self) -> Shape:
        if self.regularizer == "kl":
            return Shape.simplex
        if self._kappa() > 0:
            return Shape.dual_smoothed
        return Shape.dual_counted if self.window == "sliding" else Shape.dual

    def _initial_scalars(self) -> dict[str, Any]:
        return {"length": self._length(), "half_life": None}  # its own rule includes the average

    def refuse_stream(self) -> None:
        # Otherwise the model would depend on the first chunk's columns, and so on how the stream is cut.
        if self.regularizer == "kl" and self.columns is None:
            raise ValueError(
                f"{type(self).__name__} with regularizer='kl' spreads its weights over a fixed number of features, "
                "which a stream does not tell: give columns=N (--columns N; hashed names have 2 ** bits of them)."
            )

    def _width_to_begin_with(self, n_columns: int) -> int:
        self.refuse_stream()
        return n_columns if self.columns is None else self.columns

    def fresh_state(self, n_columns: int, n_classes: int = 1) -> State:
        if self.regularizer == "kl":
            name = type(self).__name__
            if self.columns is not None and n_columns != self.columns:
                raise ValueError(f"X has {n_columns} columns, and {name} was told of columns={self.columns}.")
            if n_columns > WIDEST_SIMPLEX:
                raise ValueError(
                    f"{name} with regularizer='kl' goes over all columns with every row, and takes up to "
                    f"{WIDEST_SIMPLEX} of them. Got {n_columns}."
                )
        return super().fresh_state(n_columns, n_classes)

    def _shaped_by(self, state: State) -> list[tuple[str, bool]]:
        shaped = [
            ("regularizer", (state.shape is Shape.simplex) == (self.regularizer == "kl")),
            ("window", (state.length > 0) == (self.window == "sliding")),
            ("length", state.length == self._length()),
            ("smoothing", state.shape is Shape.simplex or (state.shape is Shape.dual_smoothed) == (self._kappa() > 0)),
        ]
        if state.shape is Shape.dual_smoothed and state.ascent is not None:
            cut = state.ascent.scalars[_core.AscentColumn.cut.value]  # all problems have the same
            begun = int(state.tally.sum()) > 0
            shaped.append(("delta", not begun or cut == self.rho * self._delta()))
        return shaped


@documented(_ascent(_LOSSES, rho="1e-3", smoothing="0.99") + COMMON)
@dataclass(eq=False, repr=False)
class ODCA(DualAscent, OnlineLearner):
    """Online dual coordinate ascent: weights that are optimal for a window of the stream.

    Ying, Yuan & Sayed, "Online dual coordinate ascent learning", EUSIPCO 2016.

    The objective in round N is the loss of the examples, weighed by the window, plus rho times the regulariser. In its
    dual, the new example's variable is optimised with the earlier ones fixed. With l2 regularisation that is a step of
    the stochastic proximal method: the gradient is taken at the weights after the step. So a large step is safe, and
    the step of the hinge loss is that of passive-aggressive learning, held back by the window.

    A sample weight s makes the loss of an example count s times; Delta, by which the window is weighed against the
    regulariser, counts examples. With more than two classes and ``multi_class="native"`` an example is one of the pair
    of its class and the rival, which is the other class that is predicted with the highest score before it.

    `rho`, `beta`, `half_life`, `loss`, `epsilon` and, without smoothing, `delta` may change from one call of
    `partial_fit` to the next: the dual variables so far are held, so that with another `rho` all weights are rescaled
    with the next row. What shapes the state (`window`, `length`, `regularizer`, `smoothing`) cannot.

    In float32 the infinite window comes to an end: its steps become as small as 1 / N, which after some million
    examples is less than a float32 can tell. ``sureline train`` uses float64 for this learner.

    Parameters
    ----------
    {common}

    Examples
    --------
    >>> from sureline import ODCA
    >>> from sureline.datasets import make_sparse_gaussian
    >>> X, y = make_sparse_gaussian(2000, n_noise=0, random_state=0)
    >>> X.data /= 10
    >>> model = ODCA(rho=1e-3, window="exponential", half_life=1000).partial_fit(X, y, classes=[0, 1])
    >>> round(model.progressive_.error, 2) < 0.2
    True
    """

    algorithm: ClassVar[str] = "online dual coordinate ascent, with windows that forget"
    paper: ClassVar[str] = "Ying, Yuan & Sayed, EUSIPCO 2016"
    published: ClassVar[dict[str, Any]] = {"rho": 1e-4, "smoothing": 0.0}

    rho: float = POSITIVE.default(1e-3, kw_only=True)
    loss: str = DUAL_LOSSES.default("hinge", kw_only=True)
    smoothing: float = Number(0, 1).default(0.99, kw_only=True)

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {
        "rho": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0),
        "smoothing": (0.0, 0.99),
    }
    settings_to_try: ClassVar[Settings] = (
        {"rho": 2.0**-7, "smoothing": 0.99, "normalize": "scale"},
        {"rho": 2.0**-5, "smoothing": 0.99, "normalize": "scale"},
        {"rho": 0.125, "smoothing": 0.99, "normalize": "scale"},
        {"rho": 2.0**-5, "smoothing": 0.99, "normalize": "none"},
    )


@documented(_ascent(_LOSSES_OF_TARGETS, rho="1e-3", smoothing="0.99") + REGRESSION)
@dataclass(eq=False, repr=False)
class ODCARegressor(DualAscent, TargetLearner):
    """Online dual coordinate ascent for regression: least-mean-squares that cannot overshoot, and robust variants.

    Ying, Yuan & Sayed, "Online dual coordinate ascent learning", EUSIPCO 2016, section III.A.

    The objective in round N is the loss of the examples, weighed by the window, plus rho times the regulariser, as that
    of `ODCA`. With the squared loss and l2 regularisation a step is eq. (37), a normalised least-mean-squares step that
    approaches leaky LMS for large N; "absolute" and "huber" care less about targets that are far off. The exponential
    and the sliding window follow a relation that changes.

    A sample weight s makes the loss of an example count s times; Delta, by which the window is weighed against the
    regulariser, counts examples.

    What may change between two calls of `partial_fit`, and why ``sureline train`` uses float64, is as for `ODCA`.

    Parameters
    ----------
    {common}

    Examples
    --------
    >>> import numpy as np
    >>> from sureline import ODCARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + 3.0
    >>> model = ODCARegressor(rho=1e-3).partial_fit(X[:500], y[:500]).partial_fit(X[500:], y[500:])
    >>> model.coef_.round(1), model.intercept_.round(1)
    (array([ 1. , -2. ,  0.5]), array([3.]))
    """

    algorithm: ClassVar[str] = "the same for regression: least-mean-squares and robust variants"
    paper: ClassVar[str] = "Ying, Yuan & Sayed, EUSIPCO 2016, section III.A"

    published: ClassVar[dict[str, Any]] = {"rho": 1e-4, "smoothing": 0.0, "scale_target": False}

    rho: float = POSITIVE.default(1e-3, kw_only=True)
    loss: str = OneOf("squared", "absolute", "huber").default("squared")
    smoothing: float = Number(0, 1).default(0.99, kw_only=True)

    @property
    def centres_columns(self) -> bool:
        # A threshold or a sum of one would be another one after the change, as would rows that leave a window.
        linear = self.regularizer == "l2" and self.window != "sliding"
        return linear and self.normalize == "scale" and bool(self.fit_intercept)

    def _power_of_unit(self) -> int:
        if self.loss == "absolute":
            return 1
        return 0 if self.loss == "squared" and self.regularizer == "l2" else 2

    def fresh_target_scale(self) -> TargetScale:
        # Weights that sum to one need the original targets.
        return TargetScale() if self.regularizer == "kl" else super().fresh_target_scale()
