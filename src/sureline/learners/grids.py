"""Search spaces: the values that `tune` tries, and the settings that `train` tries on the first rows."""

from __future__ import annotations

from typing import Any

# What is tried of a parameter where nothing else is said: the grids of the papers on SCW and on sparse online learning,
# which have rates from 2^-1 on. Rows that are longer than one, as those on a common scale are, want lower ones.
PRICES = tuple(2.0**k for k in range(-5, 6))  # C, r and others that weigh one thing against another
STEPS = tuple(2.0**k for k in range(-9, 6))  # the same where they bound or are the length of a step
RATES = tuple(2.0**k for k in range(-9, 10))  # learning rates
CONFIDENCES = tuple(round(0.05 * k, 2) for k in range(11, 20))  # without 0.5, with which nothing is ever learned

# What is tried on the first rows of a stream: a few settings of which one is near the best on each kind of data.
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
