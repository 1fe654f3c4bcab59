"""The colours of pages and pictures, light and dark.

The eight of the series can each be read as text (a contrast of 4.5 and more) on the card that they are on. The first
six differ in lightness as well as in hue, so that they stay apart for the colour-blind; a marker and a dash go with
each.
"""

from __future__ import annotations

_COLOURS = {  # light and dark
    "ground": ("#f6f5f1", "#12151a"),
    "card": ("#ffffff", "#1a1e25"),
    "ink": ("#1d2229", "#e9ecf0"),
    "soft": ("#555d68", "#a7b0bc"),
    "line": ("#dcdad3", "#343b46"),
    "grid": ("#ebe9e3", "#272d36"),
    "rest": ("#b4b6b8", "#59616d"),
    "accent": ("#0a5fb4", "#74b4ff"),
    "tint": ("#e8f0fa", "#152a3d"),
    "good": ("#00704f", "#4fd1a1"),
    "good-tint": ("#e2f3ec", "#12302a"),
    "bad": ("#b3261e", "#ff8f85"),
    "bad-tint": ("#fbe9e7", "#3a1f1f"),
    "warn": ("#7a5200", "#f0be5a"),
    "warn-tint": ("#fdf3dc", "#352a14"),
    "code": ("#f1f0eb", "#232932"),
    "s0": ("#0a62c4", "#5a9bff"),
    "s1": ("#c24a00", "#ff7f4d"),
    "s2": ("#006b4a", "#19e0a0"),
    "s3": ("#b03a8c", "#e07bb8"),
    "s4": ("#5f2605", "#f7d154"),
    "s5": ("#3a4048", "#ffffff"),
    "s6": ("#8a4fe0", "#8fe3f5"),
    "s7": ("#0b7f8c", "#a06bff"),
    "h0": ("#fdf6dc", "#2b2440"),
    "h1": ("#f3dfa2", "#3b3a6b"),
    "h2": ("#a9d3a6", "#33648f"),
    "h3": ("#5db3a6", "#2f8f98"),
    "h4": ("#237a95", "#56b58b"),
    "h5": ("#215f92", "#a9d077"),
    "h6": ("#1f3b73", "#f3e79b"),
    # t0 to t6: of the figures on the colours of a map.
    "t0": ("#12151a", "#ffffff"),
    "t1": ("#12151a", "#ffffff"),
    "t2": ("#12151a", "#ffffff"),
    "t3": ("#12151a", "#12151a"),
    "t4": ("#ffffff", "#12151a"),
    "t5": ("#ffffff", "#12151a"),
    "t6": ("#ffffff", "#12151a"),
}
LIGHT, DARK = ({name: pair[k] for name, pair in _COLOURS.items()} for k in (0, 1))


def variables(root: str = ":root") -> str:
    """The colours as CSS variables: light, and dark for readers who prefer it, but not in print."""
    light, dark = (";".join(f"--{name}:{value}" for name, value in colours.items()) for colours in (LIGHT, DARK))
    return (
        f"{root}{{color-scheme:light dark;{light}}}@media screen and (prefers-color-scheme:dark){{{root}{{{dark}}}}}\n"
    )


# The same names as CSS looks them up, for charts that follow the reader's choice.
BY_SCHEME = {name: f"var(--{name})" for name in LIGHT}
