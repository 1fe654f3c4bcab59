"""SVG as text: elements with escaped contents, and a whole picture that stands in a page or in a file of its own."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from ..training.words import clean
from .colours import variables

_MARGIN = 14.0  # around a picture in a file of its own
_TEMPLATES = Path(__file__).with_name("templates")


def element(tag: str, *inside: str, **attributes: str | float | None) -> str:
    """An element with what is inside, which is SVG already. Attributes are escaped, and None leaves one out.

    ``class_`` is written class, and other underscores as hyphens.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    body = "".join(inside)
    return f"<{tag}{written}>{body}</{tag}>" if body else f"<{tag}{written}/>"


def text(x: float, y: float, words: str, class_: str = "", anchor: str = "start", title: str | None = None) -> str:
    """Words at a place; `title` is shown when the pointer rests on them."""
    hint = title_of(title) if title is not None and title != words else ""
    return element("text", hint, escaped(words), x=x, y=y, class_=class_ or None, text_anchor=_unless(anchor, "start"))


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return element("path", d=f"M{_pixel(x1)} {_pixel(y1)}L{_pixel(x2)} {_pixel(y2)}", class_=class_)


def polyline(points: list[tuple[float, float]]) -> str:
    """The path through the points, for the attribute d."""
    return "M" + "L".join(f"{_pixel(x)} {_pixel(y)}" for x, y in points)


def title_of(words: str) -> str:
    return f"<title>{escaped(words)}</title>"


def escaped(words: str) -> str:
    return escape(clean(words), quote=True)


# Shapes around the origin, of about the same area: a marker for each of the styles.
_SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.8L4.6 3.4H-4.6z",
    "M0-5L5 0L0 5L-5 0z",
    "M0 4.8L4.6-3.4H-4.6z",
    "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "M-4.4-2.2L-2.2-4.4L0-2.2L2.2-4.4L4.4-2.2L2.2 0L4.4 2.2L2.2 4.4L0 2.2L-2.2 4.4L-4.4 2.2L-2.2 0z",
    "M-4.8 0L-2.4-4.2H2.4L4.8 0L2.4 4.2H-2.4z",
)
N_STYLES = len(_SHAPES)


def marker(x: float, y: float, style: int | None, title: str | None = None) -> str:
    """The marker of a style at a place; a small dot for those without one."""
    shape = "M-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0z" if style is None else _SHAPES[style % N_STYLES]
    hint = title_of(title) if title is not None else ""
    return element("path", hint, d=shape, transform=f"translate({_pixel(x)} {_pixel(y)})", class_="marker")


def style_class(style: int | None) -> str:
    """The class that colours and dashes what is in it."""
    return "s-rest" if style is None else f"s{style % N_STYLES}"


def picture(width: float, height: float, body: str, *, title: str, description: str = "", class_: str = "") -> str:
    """A picture to stand in a page, whose style it takes. Its title and description are for those who cannot see it."""
    inside = title_of(title) + (f"<desc>{escaped(description)}</desc>" if description else "")
    return element(
        "svg",
        inside,
        body,
        class_=f"chart {class_}".strip(),
        viewBox=f"0 0 {_pixel(width)} {_pixel(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
    )


def standalone(drawn: str) -> str:
    """A picture as the contents of a file, with colours for light and dark inside."""
    style = element("style", escape(variables("svg") + (_TEMPLATES / "figure.css").read_text(encoding="utf-8"), False))
    head, rest = drawn.split(">", 1)
    found = re.search(r' viewBox="0 0 (\S+) (\S+)" width="\S+" height="\S+"', head)
    assert found is not None
    width, height = (float(length) + 2 * _MARGIN for length in found.groups())
    frame = {"x": -_MARGIN, "y": -_MARGIN, "width": width, "height": height}
    box = f' viewBox="{" ".join(map(_pixel, frame.values()))}" width="{_pixel(width)}" height="{_pixel(height)}"'
    head = head.replace(found.group(), box) + ' xmlns="http://www.w3.org/2000/svg"'
    background = element("rect", class_="background", rx=8, **frame)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}>{style}{background}{rest}\n'


def _value(value: str | float) -> str:
    return escaped(value) if isinstance(value, str) else _pixel(value)


def _pixel(value: float) -> str:
    """A tenth of a pixel is finer than anybody sees."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "-0" if round(value, 1) else "0")


def _unless(value: str, usual: str) -> str | None:
    return None if value == usual else value
