"""The colours of pages and pictures, light and dark.

The eight of the series are those of Okabe and Ito, moved until each can be read as text (a contrast of 4.5 and more)
on the ground that it is on, and stay apart for the colour-blind; a marker and a dash go with each.
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
    "accent": "#0067a8",
    "tint": "#e7f1f8",
    "good": "#00704f",
    "good-tint": "#e2f3ec",
    "bad": "#b3261e",
    "bad-tint": "#fbe9e7",
    "warn": "#7a5200",
    "warn-tint": "#fdf3dc",
    "code": "#f1f0eb",
    "s0": "#0067a8",
    "s1": "#c24a00",
    "s2": "#00795a",
    "s3": "#ac3f86",
    "s4": "#856000",
    "s5": "#343a42",
    "s6": "#0b7a93",
    "s7": "#6b50c8",
    "h0": "#fdf6dc",
    "h1": "#f3dfa2",
    "h2": "#a9d3a6",
    "h3": "#5db3a6",
    "h4": "#2a86a2",
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
    "accent": "#6fbcff",
    "tint": "#152a3d",
    "good": "#4fd1a1",
    "good-tint": "#12302a",
    "bad": "#ff8f85",
    "bad-tint": "#3a1f1f",
    "warn": "#f0be5a",
    "warn-tint": "#352a14",
    "code": "#232932",
    "s0": "#6fbcff",
    "s1": "#ff9457",
    "s2": "#36cfa1",
    "s3": "#f291cd",
    "s4": "#ecbb45",
    "s5": "#e9ecf0",
    "s6": "#5fd3e8",
    "s7": "#b9a6ff",
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
    light, dark = (
        ";".join(f"--{name}:{value}" for name, value in (colours | _figures_on_the_map(colours)).items())
        for colours in (LIGHT, DARK)
    )
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


def _figures_on_the_map(colours: dict[str, str]) -> dict[str, str]:
    """For each colour of a map, t0 to t6: that of the figures on it, black or white, whichever can be read."""
    return {f"t{k}": max(("#ffffff", "#12151a"), key=lambda ink: contrast(colours[f"h{k}"], ink)) for k in range(7)}
