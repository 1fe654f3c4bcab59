"""Search spaces: the values that `tune` tries, and the settings that `train` tries on the first rows."""

from __future__ import annotations

from typing import Any

# Values to try by default: the grids of the papers on SCW and on sparse online learning, whose rates start at 2^-1.
# Scaled rows are longer than 1 and need lower rates.
PRICES = tuple(2.0**k for k in range(-5, 6))  # C, r and other trade-offs
STEPS = tuple(2.0**k for k in range(-9, 6))  # the same where they bound or are the length of a step
RATES = tuple(2.0**k for k in range(-9, 10))  # learning rates
CONFIDENCES = tuple(round(0.05 * k, 2) for k in range(11, 20))  # without 0.5, at which nothing is learned

# Settings to try on the first rows of a stream: a few, one of which is near the best on each kind of data.
Settings = tuple[dict[str, Any], ...]

RATES_TO_TRY: Settings = (  # that fall with the root of the examples
    {"eta": 2.0**-6, "normalize": "scale"},
    {"eta": 0.25, "normalize": "scale"},
    {"eta": 1.0, "normalize": "scale"},
    {"eta": 2.0, "normalize": "none"},
)
STEPS_TO_TRY: Settings = (  # that stay
    {"eta": 2.0**-8, "normalize": "scale"},
    {"eta": 2.0**-7, "normalize": "scale"},
    {"eta": 0.125, "normalize": "scale"},
    {"eta": 2.0**-7, "normalize": "none"},
    {"eta": 0.125, "normalize": "none"},
)
