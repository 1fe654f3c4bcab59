"""The colours of pages and pictures, light and dark.

The eight of the series can each be read as text (a contrast of 4.5 and more) on the card that they are on. The first
six differ in lightness as well as in hue, so that they stay apart for the colour-blind; a marker and a dash go with
each.
"""

from __future__ import annotations

LIGHT = {
    "ground": "#f6f5f1",
    "card": "#ffffff",
    "ink": "#1d2229",
    "soft": "#555d68",
    "line": "#dcdad3",
    "grid": "#ebe9e3",
    "rest": "#b4b6b8",
    "accent": "#0a5fb4",
    "tint": "#e8f0fa",
    "good": "#00704f",
    "good-tint": "#e2f3ec",
    "bad": "#b3261e",
    "bad-tint": "#fbe9e7",
    "warn": "#7a5200",
    "warn-tint": "#fdf3dc",
    "code": "#f1f0eb",
    "s0": "#0a62c4",
    "s1": "#c24a00",
    "s2": "#006b4a",
    "s3": "#b03a8c",
    "s4": "#5f2605",
    "s5": "#3a4048",
    "s6": "#8a4fe0",
    "s7": "#0b7f8c",
    "h0": "#fdf6dc",
    "h1": "#f3dfa2",
    "h2": "#a9d3a6",
    "h3": "#5db3a6",
    "h4": "#237a95",
    "h5": "#215f92",
    "h6": "#1f3b73",
}
DARK = {
    "ground": "#12151a",
    "card": "#1a1e25",
    "ink": "#e9ecf0",
    "soft": "#a7b0bc",
    "line": "#343b46",
    "grid": "#272d36",
    "rest": "#59616d",
    "accent": "#74b4ff",
    "tint": "#152a3d",
    "good": "#4fd1a1",
    "good-tint": "#12302a",
    "bad": "#ff8f85",
    "bad-tint": "#3a1f1f",
    "warn": "#f0be5a",
    "warn-tint": "#352a14",
    "code": "#232932",
    "s0": "#5a9bff",
    "s1": "#ff7f4d",
    "s2": "#19e0a0",
    "s3": "#e07bb8",
    "s4": "#f7d154",
    "s5": "#ffffff",
    "s6": "#8fe3f5",
    "s7": "#a06bff",
    "h0": "#2b2440",
    "h1": "#3b3a6b",
    "h2": "#33648f",
    "h3": "#2f8f98",
    "h4": "#56b58b",
    "h5": "#a9d077",
    "h6": "#f3e79b",
}


def variables(root: str = ":root") -> str:
    """The colours as variables of CSS: light, and dark for those who prefer that, but not on paper."""
    light, dark = (";".join(f"--{name}:{value}" for name, value in colours.items()) for colours in (LIGHT, DARK))
    return (
        f"{root}{{color-scheme:light dark;{light}}}@media screen and (prefers-color-scheme:dark){{{root}{{{dark}}}}}\n"
    )


def contrast(one: str, other: str) -> float:
    """Of two colours "#rrggbb", as the web's guidelines (WCAG 2) define it: 4.5 and more can be read."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    shares = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _readable_on(ground: str) -> str:
    return max(("#ffffff", "#12151a"), key=lambda ink: contrast(ground, ink))


for _colours in (LIGHT, DARK):  # t0 to t6: of the figures on the colours of a map
    _colours |= {f"t{k}": _readable_on(_colours[f"h{k}"]) for k in range(7)}

# The same names as CSS looks them up, for charts that follow the reader's choice.
BY_SCHEME = {name: f"var(--{name})" for name in LIGHT}
