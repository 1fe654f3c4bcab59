"""What LIBOL, the library of the SCW paper's authors, does differently from the paper, in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

Step = Callable[[float, float], tuple[float, float] | None]
Floats = npt.NDArray[np.float64]


def narow_step(b: float) -> Step:
    """NAROW; without a step, but not None, where the loss is positive and v <= 1/b: LIBOL counts that as an update."""

    def step(m: float, v: float) -> tuple[float, float] | None:
        if m >= 1:
            return None
        if v <= 1 / b:
            return 0.0, 0.0
        beta = 1 / (v + v / (b * v - 1))
        return (1 - m) * beta, beta

    return step


def scw2_step(C: float, eta: float) -> Step:
    """SCW-II as LIBOL has it: under the root of alpha, 2v stands for v^2 and 2 phi for phi^2."""
    phi = float(ndtri(eta))

    def step(m: float, v: float) -> tuple[float, float] | None:
        if phi * np.sqrt(v) <= m:
            return None
        n = v + 1 / (2 * C)
        root = np.sqrt(phi**4 * m**2 * v * 2 + 4 * n * v * phi**2 * (n + v * phi * 2))
        alpha = max(0.0, (-(2 * m * n + phi**2 * m * v) + root) / (2 * (n**2 + n * v * phi**2)))
        u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
        return alpha, alpha * phi / (np.sqrt(u) + alpha * phi * v)

    return step


def one_pass(step: Step, X: Floats, y: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Mistakes and positive losses of one pass of a learner with a full covariance, given by its alpha and beta."""
    w = np.zeros(X.shape[1])
    S = np.eye(X.shape[1])
    mistakes = losses = 0
    for x, label in zip(X, y, strict=True):
        Sx = S @ x
        f = float(w @ x)
        mistakes += (f > 0) != (label > 0)
        found = step(float(label) * f, float(x @ Sx))
        if found is None:
            continue
        losses += 1
        alpha, beta = found
        if alpha > 0:
            w += alpha * label * Sx
            S -= beta * np.outer(Sx, Sx)
    return mistakes, losses
