"""From scores to calibrated probabilities: the curve that fits the predictions which preceded their labels.

The log-odds of a score f with the standard deviation d are

    a + (F(f) + G(f / d)) min(1, D / d)

with functions F and G that are 0 at 0, never fall, and are linear between quantiles of what is on record. So confidence
rises with the score and does not rise with d. Beyond D, which 99 % of the predictions stayed below, a row is made of
features that are hardly known, and its score counts the less. Without variances there is F alone.

The form of the curve is the simplest that the record does not speak against: with G or without, by the criterion of
Akaike, and with two classes the same for both, F(-f) = -F(f), or with sides of their own, by that of Schwarz. So
confidence ranks answers as the score does, unless something else is known to rank them better. With two classes a is 0,
so that both are as likely where the score is 0 and the prediction changes, unless the record says otherwise.

The curve is the most probable one given the record, where the rise of F and of G from one quantile to the next has a
normal prior of standard deviation 2, and a one of 3. With few examples it is nearly flat, and never reaches 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .._inputs import Floats, namespace_of, special_of
from ..models.record import (
    LARGEST_SCORE,
    LARGEST_STD,
    SMALLEST_STD,
    TEMPERATURES,
    Outcomes,
    log_likelihoods,
)
from .newton import newton

_SHARES = (0.0, 0.01, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99, 1.0)  # the quantiles
_KNOWN = 0.99  # of the predictions stayed below D
PRECISION_OF_RISE = 0.25  # of the priors
_PRECISION_OF_A = 0.1
_LEAST_RISE = 0.01  # so that answers keep their order where the record does not tell them apart


@dataclass(frozen=True)
class Curve:
    """The calibrated log-odds of scores: of the second of two classes, or that the best of more is right."""

    a: float
    scores: tuple[Floats, Floats]  # F: where it bends, and its values there
    ratios: tuple[Floats, Floats] | None  # G likewise
    largest_std: float  # D
    temperature: float  # by which the other classes share the rest
    evenly: float  # the share of that rest which is spread evenly, since little is known of it

    @classmethod
    def of(cls, record: Floats, n_heads: int, precision: float = PRECISION_OF_RISE) -> Curve:
        """The curve of a nonempty record; `precision` is that of the prior of its rises."""
        seen = Outcomes.of(record)
        weight = seen.negative + seen.positive
        fits = [
            _Fit.of(seen, n_heads, precision, even=even, with_std=with_std)
            for even in ((True, False) if n_heads == 1 else (False,))
            for with_std in ((False, True) if seen.has_std else (False,))
        ]
        best = min(fits, key=lambda fit: fit.criterion)
        flat = np.array([-1.0, 1.0]), np.zeros(2)
        wrong = float(seen.negative.sum()) if n_heads > 1 else 0.0
        return cls(
            a=best.a,
            scores=best.functions[0],
            ratios=(best.functions[1] if len(best.functions) > 1 else flat) if seen.has_std else None,
            largest_std=_quantiles(seen.std, weight, (_KNOWN,))[0] * np.sqrt(2),  # the end of that bin
            temperature=_temperature(log_likelihoods(record)),
            evenly=1 / (1 + wrong),
        )

    def log_odds(self, scores: Floats, variances: Floats | None) -> Floats:
        """Log-odds for scores or margins, with their variances."""
        xp = namespace_of(scores)
        f = xp.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
        risen: Floats = xp.interp(f, *map(xp.asarray, self.scores))
        if self.ratios is not None and variances is not None:
            std = xp.clip(xp.sqrt(variances), SMALLEST_STD, LARGEST_STD)
            risen += xp.interp(f / std, *map(xp.asarray, self.ratios))
            risen *= xp.minimum(1.0, self.largest_std / std)
        return risen + self.a

    def probabilities(self, scores: Floats, variances: Floats | None, n_classes: int) -> Floats:
        """Probability of each class; scores and variances have a column for each head."""
        xp, expit = namespace_of(scores), special_of(scores).expit
        if scores.shape[1] == 1:
            odds = self.log_odds(scores[:, 0], None if variances is None else variances[:, 0])
            both: Floats = xp.stack([expit(-odds), expit(odds)] if n_classes > 1 else [xp.ones(len(odds))], axis=1)
            return both
        best, margins, of_margins = margins_of(scores, variances)
        odds = self.log_odds(margins, of_margins)
        at = xp.arange(len(best))
        others = scores / self.temperature
        others[at, best] = -np.inf
        others -= others.max(axis=1, keepdims=True)
        shares = xp.exp(others)
        shares /= shares.sum(axis=1, keepdims=True)
        even = 1 / (scores.shape[1] - 1)
        # At most as likely as the best class, as far as possible: for equal scores none is likelier.
        room = xp.exp(xp.minimum(odds, 50.0))  # the share of the rest that is as likely as the best class
        spread = xp.clip((0.999 * room - even) / xp.maximum(shares.max(axis=1) - even, 1e-12), 0, 1 - self.evenly)
        shares = spread[:, np.newaxis] * (shares - even) + even
        probabilities: Floats = expit(-odds)[:, np.newaxis] * shares
        probabilities[at, best] = expit(odds)
        return probabilities

    def confidences(self, scores: Floats, variances: Floats | None) -> Floats:
        """Probability that the answer is right."""
        expit = special_of(scores).expit
        if scores.shape[1] == 1:
            odds = self.log_odds(scores[:, 0], None if variances is None else variances[:, 0])
            confidence: Floats = expit(namespace_of(scores).where(scores[:, 0] > 0, odds, -odds))
            return confidence
        _, margins, of_margins = margins_of(scores, variances)
        confidence = expit(self.log_odds(margins, of_margins))
        return confidence


@dataclass(frozen=True)
class _Fit:
    """A curve of one form: with G or without, and for two classes odd, F(-f) = -F(f), or with sides of their own."""

    a: float
    functions: list[tuple[Floats, Floats]]  # F, and G: where they bend, and their values there
    criterion: float  # the loss and, for each coefficient that the data tells, log(n) / 2 (Schwarz), of G 1 (Akaike)

    @classmethod
    def of(cls, seen: Outcomes, n_heads: int, precision: float, *, even: bool, with_std: bool) -> _Fit:
        weight = seen.negative + seen.positive
        sources = [seen.score, seen.score / seen.std] if with_std else [seen.score]
        bends = [_bends(np.abs(x) if even else x, weight) for x in sources]
        columns = [
            np.sign(x)[:, np.newaxis] * _rises(np.abs(x), knots) if even else _rises(x, knots)
            for x, knots in zip(sources, bends, strict=True)
        ]
        prior = -np.log(max(n_heads - 1, 1))  # of the log-odds at score 0
        A = np.concatenate([np.ones((len(weight), 1)), *columns], axis=1)
        n = max(float(weight.sum()), 2.0)
        tried = []
        if n_heads == 1:
            tried.append((A[:, 1:], _Prior.of(A.shape[1] - 1, precision)))
        if not even:
            priors = _Prior.of(A.shape[1], precision, prior)
            if n_heads > 1:  # the best of several scores is right more often than a random one
                priors.lowest[0] = prior + _LEAST_RISE
            tried.append((A, priors))
        found = []
        for B, priors in tried:
            b, _ = _most_probable(B, seen.positive, seen.negative, priors)
            f = B @ b
            loss = float(seen.positive @ np.logaddexp(0, -f) + seen.negative @ np.logaddexp(0, f))
            told = _told(B, weight, f, b, priors)
            of_G = float(told[len(told) - columns[1].shape[1] :].sum()) if with_std else 0.0
            of_F = float(told.sum()) - of_G + (B is A and n_heads == 1)  # a != 0 takes twice the evidence
            found.append((loss + 0.5 * of_F * np.log(n) + of_G, b if B is A else np.append(0.0, b)))
        criterion, b = min(found, key=lambda one: one[0])
        functions, at = [], 1
        for knots, rises in zip(bends, columns, strict=True):
            heights = np.concatenate([[0.0], np.cumsum(b[at : at + rises.shape[1]])])
            if even:
                knots, heights = np.append(-knots[:0:-1], knots), np.append(-heights[:0:-1], heights)
            functions.append((knots, heights - np.interp(0.0, knots, heights)))
            at += rises.shape[1]
        return cls(float(b[0]), functions, float(criterion))


def _told(A: Floats, weight: Floats, f: Floats, b: Floats, prior: _Prior) -> Floats:
    """How far the data rather than the prior determine each coefficient; 0 for coefficients at their bounds."""
    p = 0.5 * (1 + np.tanh(0.5 * f))
    free = b > prior.lowest + 1e-9
    H = (A.T * (weight * p * (1 - p)))[free] @ A[:, free]
    told = np.zeros(len(b))
    told[free] = np.diag(np.linalg.solve(H + np.diag(prior.precision[free]), H))
    return told


@dataclass(frozen=True)
class Quality:
    """The quality of a record's calibrated probabilities, each measure with its standard error.

    They are of the recorded predictions, of which later ones count more, and of the curve through all of them.
    """

    log_loss: tuple[float, float]
    brier: tuple[float, float]  # of the second of two classes, or of the confidence in the best of more
    auc: tuple[float, float]  # of the score for the second of two classes, or of the confidence for being right

    @classmethod
    def of(cls, record: Floats, n_heads: int) -> Quality:
        """The quality of a nonempty record."""
        seen, curve = Outcomes.of(record), curve_of(record, n_heads)
        odds = curve.log_odds(seen.score, seen.std**2 if seen.has_std else None)
        n = float(seen.positive.sum() + seen.negative.sum())
        p = 0.5 * (1 + np.tanh(0.5 * odds))
        rest = -float(log_likelihoods(record).max()) / n if n_heads > 1 else 0.0
        log_loss = _mean(np.logaddexp(0, -odds), seen.positive, np.logaddexp(0, odds), seen.negative)
        return cls(
            (log_loss[0] + rest, log_loss[1]),
            _mean((1 - p) ** 2, seen.positive, p**2, seen.negative),
            _area(odds, seen.positive, seen.negative),
        )


def _mean(of_positive: Floats, positive: Floats, of_negative: Floats, negative: Floats) -> tuple[float, float]:
    n = float(positive.sum() + negative.sum())
    mean = float(of_positive @ positive + of_negative @ negative) / n
    square = float(of_positive**2 @ positive + of_negative**2 @ negative) / n
    return mean, float(np.sqrt(max(square - mean * mean, 0.0) / n))


def _area(odds: Floats, positive: Floats, negative: Floats) -> tuple[float, float]:
    """The area under the ROC curve, with the standard error of Hanley and McNeil; 1/2 without a pair."""
    order = np.argsort(odds, kind="stable")
    places, at = np.unique(odds[order], return_inverse=True)
    above = np.bincount(at, positive[order], len(places))
    below = np.bincount(at, negative[order], len(places))
    m, n = float(above.sum()), float(below.sum())
    if m <= 0 or n <= 0:
        return 0.5, 0.5
    area = float(above @ (np.cumsum(below) - 0.5 * below)) / (m * n)
    q1, q2 = area / (2 - area), 2 * area * area / (1 + area)
    variance = (area * (1 - area) + (m - 1) * (q1 - area * area) + (n - 1) * (q2 - area * area)) / (m * n)
    return area, float(np.sqrt(max(variance, 0.0)))


def curve_of(record: Floats, n_heads: int) -> Curve:
    """The curve of a nonempty record, computed once per record."""
    return _curve(record.tobytes(), n_heads)


@lru_cache(maxsize=64)
def _curve(numbers: bytes, n_heads: int) -> Curve:
    return Curve.of(np.frombuffer(numbers), n_heads)


def margins_of(scores: Floats, variances: Floats | None) -> tuple[npt.NDArray[np.intp], Floats, Floats | None]:
    """The best class, its margin over the next, and the variance of the margin."""
    at = namespace_of(scores).arange(len(scores))
    best = scores.argmax(axis=1)
    others = scores.copy()
    others[at, best] = -np.inf
    second = others.argmax(axis=1)
    v = None if variances is None else variances[at, best] + variances[at, second]
    return best, scores[at, best] - scores[at, second], v


def _quantiles(x: Floats, weight: Floats, shares: tuple[float, ...]) -> Floats:
    order = np.argsort(x, kind="stable")
    sums = np.cumsum(weight[order])
    at = np.searchsorted(sums, np.array(shares) * sums[-1])
    quantiles: Floats = x[order][np.minimum(at, len(x) - 1)]
    return quantiles


def _bends(x: Floats, weight: Floats) -> Floats:
    """The quantiles, and 0."""
    return np.unique(np.append(_quantiles(x, weight, _SHARES), 0.0))


def _rises(x: Floats, knots: Floats) -> Floats:
    """The part of each stretch between knots from 0 to x, negative for x < 0; times the rises, it is the function."""
    begin, width = knots[:-1], np.diff(knots)
    part: Floats = np.clip((x[:, np.newaxis] - begin) / width, 0, 1) - np.clip(-begin / width, 0, 1)
    return part


@dataclass(frozen=True)
class _Prior:
    """The prior of coefficients: normal around a centre, bounded below."""

    precision: Floats
    centre: Floats
    lowest: Floats

    @classmethod
    def of(cls, n: int, of_rise: float, a: float | None = None) -> _Prior:
        """The prior of n coefficients: rises, after the log-odds at score 0 if their centre is given."""
        precision, centre, lowest = np.full(n, of_rise), np.zeros(n), np.full(n, _LEAST_RISE)
        if a is not None:
            precision[0], centre[0], lowest[0] = _PRECISION_OF_A, a, -np.inf
        return cls(precision, centre, lowest)


def _most_probable(A: Floats, positive: Floats, negative: Floats, prior: _Prior) -> tuple[Floats, float]:
    """The coefficients b, none below its lowest value, that minimise

        sum of (positive log(1 + exp(-A b)) + negative log(1 + exp(A b))) + precision |b - centre|^2 / 2,

    and that sum. By Newton's method, each step of which is a quadratic problem with those bounds."""
    weight, precision, centre, lowest = positive + negative, prior.precision, prior.centre, prior.lowest

    def loss(b: Floats) -> float:
        f = A @ b
        return float(
            positive @ np.logaddexp(0, -f) + negative @ np.logaddexp(0, f) + 0.5 * (precision @ (b - centre) ** 2)
        )

    def step(b: Floats) -> Floats:
        p = 0.5 * (1 + np.tanh(0.5 * (A @ b)))
        slope = A.T @ (weight * p - positive) + precision * (b - centre)
        H = (A.T * (weight * p * (1 - p))) @ A + np.diag(precision)
        return _bounded_minimum(H, H @ b - slope, lowest) - b

    return newton(loss, step, np.where(np.isfinite(lowest), lowest, centre))


def _bounded_minimum(H: Floats, c: Floats, lowest: Floats) -> Floats:
    """The minimum of b'Hb / 2 - c.b over b >= lowest, for positive definite H: by block principal pivoting."""
    bound = np.zeros(len(c), bool)
    fewest, patience = len(c) + 1, 3
    b = np.zeros(len(c))
    for _ in range(20 * len(c)):
        free = ~bound
        b = np.where(bound, lowest, 0.0)
        b[free] = np.linalg.solve(H[np.ix_(free, free)], c[free] - H[np.ix_(free, bound)] @ lowest[bound])
        pull = H @ b - c
        wrong = np.where(bound, pull < -1e-10, b < lowest)
        n = int(wrong.sum())
        if n == 0:
            break
        if n < fewest:
            fewest, patience = n, 3
        elif patience > 0:
            patience -= 1
        else:  # single exchanges cannot cycle
            wrong[: np.flatnonzero(wrong)[-1]] = False
        bound = bound ^ wrong
    return np.maximum(b, lowest)


def _temperature(logs: Floats) -> float:
    """The most likely temperature, at the vertex of the parabola through three grid points."""
    best = int(logs.argmax())
    octave = float(np.log2(TEMPERATURES[best]))
    if 0 < best < len(logs) - 1:
        below, top, above = logs[best - 1 : best + 2]
        bend = float(below - 2 * top + above)
        if bend < 0:
            octave += float(np.clip(0.5 * (below - above) / bend, -0.5, 0.5))
    return float(2.0**octave)
