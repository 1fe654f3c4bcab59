"""Repetitions of the promises: a few in `make test`, many in `make torture`.

Tests with the marker `torture` are what `make torture` runs, with SURELINE_TORTURE=40 in the environment. What such a
test does many times it does `times(few)` times.
"""

from __future__ import annotations

import os

TORTURE = int(os.environ.get("SURELINE_TORTURE", "1"))


def times(few: int) -> int:
    return few * TORTURE
