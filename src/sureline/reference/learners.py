"""The algorithms. m = y w.x is the margin, v = x'Sx the variance, s the weight of the example."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from .stream import Array, Learner, MarginLearner


class Perceptron(MarginLearner):
    def coefficients(self, m: float, v: float, s: float) -> tuple[float, float]:
        return (s, 0.0) if m <= 0 else (0.0, 0.0)


class PA(MarginLearner):
    def __init__(self, variant: str = "I", C: float = 1.0, **common: Any) -> None:
        super().__init__(**common)
        self.variant, self.C = variant, C

    def coefficients(self, m: float, v: float, s: float) -> tuple[float, float]:
        loss, C = max(0.0, 1 - m), s * self.C
        eta = {"hard": loss / v, "I": min(C, loss / v), "II": loss / (v + 1 / (2 * C))}
        return eta[self.variant], 0.0


class ROMMA(Learner):
    def __init__(self, aggressive: bool = False, **common: Any) -> None:
        super().__init__(**common)
        self.aggressive = aggressive

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        m, x2, w2 = self.margin(x, heads), self.variance(x, heads), float(np.sum(self.w**2))
        if not (m < 1 if self.aggressive else m <= 0) or x2 == 0:
            return False
        D = x2 * w2 - m * m
        if w2 == 0 or (self.aggressive and x2 * w2 <= m):
            self.w[:] = 0
            alpha, kappa = 1 / x2, 1.0
        elif D <= 64 * np.finfo(float).eps * x2 * w2:
            return False
        else:
            alpha, kappa = w2 * (1 - m) / D, (x2 * w2 - m) / D
        self.w *= kappa
        for head, sign in heads.items():
            self.w[head] += alpha * sign * x
        self.w *= min(1.0, 1e30 / float(np.linalg.norm(self.w)))
        return True


class ALMA(Learner):
    def __init__(self, alpha: float = 0.9, B: float | None = None, C: float = sqrt(2), **common: Any) -> None:
        super().__init__(**common)
        self.alpha, self.B, self.C = alpha, 1 / alpha if B is None else B, C

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.k = 1

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        length = sqrt(self.variance(x, heads))
        if length == 0:
            return False
        x = x / length
        gamma = self.B / sqrt(self.k)
        if self.margin(x, heads) > (1 - self.alpha) * gamma:
            return False
        for head, sign in heads.items():
            self.w[head] += s * self.C / sqrt(self.k) * sign * x
        self.w /= max(1.0, float(np.linalg.norm(self.w)))
        self.k += 1
        return True


class SOP(Learner):
    def __init__(self, a: float = 1.0, covariance: str = "diag", **common: Any) -> None:
        super().__init__(**common)
        self.a, self.covariance = a, covariance

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.S /= self.a
        self.theta = np.zeros((n_heads, d))

    def weights(self) -> Array:
        return np.stack([self.Sx(head, theta) for head, theta in enumerate(self.theta)])

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        v = self.variance(x, heads)
        # The published score is this over 1 + v, which has the same sign.
        if v == 0 or sum(sign * (self.theta[head] @ self.Sx(head, x)) for head, sign in heads.items()) > 0:
            return False
        for head, sign in heads.items():
            self.shrink(x, head, s / (1 + s * v))
            self.theta[head] += s * sign * x
        return True


class IELLIP(Learner):
    def __init__(self, b: float = 0.3, c: float = 0.1, covariance: str = "diag", **common: Any) -> None:
        super().__init__(**common)
        self.b, self.c, self.covariance = b, c, covariance

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.c_k = self.c

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        m, v = self.margin(x, heads), self.variance(x, heads)
        if m > 0 or v == 0:
            return False
        for head, sign in heads.items():
            g = sign * x / sqrt(v)
            self.w[head] += (1 - m) / sqrt(v) * self.Sx(head, g)
            self.shrink(g, head, self.c_k)
        self.S /= 1 - self.c_k
        self.c_k *= self.b
        return True


class SCW(MarginLearner):
    def __init__(
        self, variant: str = "I", C: float = 1.0, eta: float = 0.75, covariance: str = "diag", **common: Any
    ) -> None:
        super().__init__(**common)
        self.variant, self.C, self.phi, self.covariance = variant, C, float(ndtri(eta)), covariance

    def coefficients(self, m: float, v: float, s: float) -> tuple[float, float]:
        C, phi = s * self.C, self.phi
        psi, zeta = 1 + phi**2 / 2, 1 + phi**2
        if phi * sqrt(v) <= m:
            return 0.0, 0.0
        if self.variant == "I":  # proposition 1
            alpha = min(C, max(0.0, (-m * psi + sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta)))
        else:  # proposition 2
            n = v + 1 / (2 * C)
            gamma = phi * sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
            alpha = max(0.0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
        u = (-alpha * v * phi + sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
        return alpha, alpha * phi / (sqrt(u) + v * alpha * phi)


class CW(SCW):
    def __init__(self, eta: float = 0.7, covariance: str = "diag", **common: Any) -> None:
        super().__init__("I", inf, eta, covariance, **common)


class AROW(MarginLearner):
    def __init__(self, r: float = 1.0, covariance: str = "diag", **common: Any) -> None:
        super().__init__(**common)
        self.r, self.covariance = r, covariance

    def coefficients(self, m: float, v: float, s: float) -> tuple[float, float]:
        if m >= 1:
            return 0.0, 0.0
        beta = 1 / (v + self.r / s)
        return (1 - m) * beta, beta


class NAROW(MarginLearner):
    def __init__(self, b: float = 1.0, covariance: str = "diag", **common: Any) -> None:
        super().__init__(**common)
        self.b, self.covariance = b, covariance

    def coefficients(self, m: float, v: float, s: float) -> tuple[float, float]:
        if m >= 1 or v <= 1 / self.b:
            return 0.0, 0.0
        r = v / (self.b * v - 1)
        beta = 1 / (v + r / s)
        return (1 - m) * beta, beta


class NHERD(MarginLearner):
    def __init__(self, C: float = 1.0, covariance: str = "diag", **common: Any) -> None:
        super().__init__(**common)
        self.C, self.covariance = C, covariance

    def coefficients(self, m: float, v: float, s: float) -> tuple[float, float]:
        if m >= 1:
            return 0.0, 0.0
        C = s * self.C
        return (1 - m) / (v + 1 / C), (C**2 * v + 2 * C) / (1 + C * v) ** 2
