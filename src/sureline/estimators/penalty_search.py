"""The strength of an l1 penalty that leaves a wanted number of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, log1p
from typing import Generic, TypeVar

Model = TypeVar("Model")

_MOST_FITS = 30
_FARTHEST = 40  # from where the search begins, in powers of 2


@dataclass(frozen=True)
class Fit(Generic[Model]):
    """A model, the strength of its penalty and the number of its features."""

    strength: float
    count: int
    model: Model


@dataclass
class _Search(Generic[Model]):
    """The state of the search: penalties with too few and with enough features, and the best fit of the latter."""

    fit: Callable[[float], tuple[int, Model]]
    n_features: int
    n_fits: int = 0
    most: int = 0
    few: tuple[float, int] | None = None
    many: tuple[float, int] | None = None
    best: Fit[Model] | None = None

    def attempt(self, strength: float) -> None:
        count, model = self.fit(strength)
        self.n_fits += 1
        self.most = max(self.most, count)
        if count < self.n_features:
            self.few = strength, count
            return
        self.many = strength, count
        if self.best is None or count <= self.best.count:  # of equal counts the strongest penalty, which comes last
            self.best = Fit(strength, count, model)


def search_penalty(
    fit: Callable[[float], tuple[int, Model]], n_features: int, start: float, owner: str
) -> tuple[Fit[Model], int]:
    """The fit with the fewest features that has at least `n_features`, and the number of fits made.

    1. The penalty grows or shrinks until one strength leaves too few features and another enough. It changes by a
       factor of four, since a fit with far too many features takes long, and by more if a change has no effect.
    2. The interval between the two is cut by interpolation, and every third time in the middle (of the logarithms). One
       end always has too few features, the other enough. The number of features need not be monotone in the penalty.
    3. The search ends with a fit that has at most 2 % more features than wanted (exactly as many, if fewer than 50),
       when the two strengths differ by less than 0.1 %, or after 30 fits.

    Parameters
    ----------
    fit : callable
        From the strength of the penalty to the number of features and the model. The strengths come closer to each
        other, so that it pays to go on from where the last one ended.
    n_features : int
        The wanted number.
    start : float
        A guess of the strength at which the first feature appears.
    owner : str
        Who is searching, for the error.
    """
    search = _Search(fit, n_features)
    search.attempt(start / 2)
    power, stride = 0, 2
    while (search.few is None or search.many is None) and power + stride <= _FARTHEST:
        most, power = search.most, power + stride
        search.attempt(start / 2 * 2.0 ** (power if search.few is None else -power))
        stride = 2 if search.most > most else 2 * stride
    if search.best is None:
        raise ValueError(
            f"The 'n_features' parameter of {owner} must be at most {search.most} here: with hardly any penalty left, "
            f"no more features than that have a weight. Got {n_features} instead."
        )

    while search.few is not None and search.best.count > n_features + n_features // 50:
        assert search.many is not None
        (strong, below), (weak, above) = search.few, search.many
        if search.n_fits >= _MOST_FITS or strong <= 1.001 * weak:
            break
        share = 0.5
        if search.n_fits % 3:  # the log of the count is about linear in the log of the strength
            wanted = log1p(n_features * 1.01)
            share = min(max((log1p(above) - wanted) / (log1p(above) - log1p(below)), 0.05), 0.95)
        search.attempt(exp(log(weak) + share * (log(strong) - log(weak))))
    return search.best, search.n_fits
