"""Newton's method for the few coefficients of convex losses, with steps that are halved until they help."""

from __future__ import annotations

from collections.abc import Callable

from .._inputs import Floats


def newton(loss: Callable[[Floats], float], step: Callable[[Floats], Floats], start: Floats) -> tuple[Floats, float]:
    """The minimum of a convex loss, and the loss there. `step` is Newton's step from a point."""
    a = start.copy()
    now = loss(a)
    for _ in range(50):
        towards = step(a)
        size, then = 1.0, loss(a + towards)
        while then > now and size > 1e-4:
            size /= 2
            then = loss(a + size * towards)
        if then >= now:
            break
        a, gain, now = a + size * towards, now - then, then
        if gain < 1e-9 * max(now, 1.0):
            break
    return a, now
