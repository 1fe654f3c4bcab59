"""How curves of several learners look, so that a learner is told from the others in print and by the colour-blind."""

from __future__ import annotations

from typing import Any

# The palette of Okabe & Ito, which the colour-blind can tell apart, without its yellow, which is faint on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")


def curve_style(i: int) -> dict[str, Any]:
    """Of the i-th curve. When the colours begin anew, the markers are hollow."""
    colour, marker = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
    inside = colour if i < len(_COLOURS) else "white"
    return {"color": colour, "marker": marker, "markerfacecolor": inside, "markersize": 5, "linewidth": 1.4}


def pyplot() -> Any:
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError("Plotting needs matplotlib: pip install 'sureline[plot]'.") from None
    return matplotlib.pyplot
