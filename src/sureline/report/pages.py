"""One HTML file out of sections: nothing is fetched, it prints, and it follows the reader's choice of light or dark."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._atomic import replacing
from ..training.words import clean, shortened
from .blocks import Code, Link, Picture, Section, Strong, Words
from .colours import variables
from .figures import Chart, Series, legend_mark

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")
_LONGEST_NAME = 60.0  # em, in a legend
_WIDE, _HALF, _NARROW = 904.0, 424.0, 326.0  # pixels inside the frame of a figure, on a screen and on a telephone


def page(
    title: str,
    sections: Sequence[Section],
    *,
    kicker: str = "",
    subtitle: Words = "",
    footer: Words = "",
) -> str:
    """A whole page as text.

    Parameters
    ----------
    title : str
    sections : sequence of Section
        Those with a title are listed in the navigation, if there are more than two.
    kicker, subtitle, footer : str or words
        Above and below the title, and at the end of the page.

    Returns
    -------
    str
        HTML; the same for the same input.
    """
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(title=title, sections=list(sections), kicker=kicker, subtitle=subtitle, footer=footer)
    )


def write_page(path: str | Path, html: str) -> None:
    """Write a page so that the old file or the new one is there, whatever happens."""
    with replacing(path) as out:
        out.write(html.encode())


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise ImportError("A report needs jinja2: pip install 'sureline[report]'.") from None

    def shown(value: Any) -> Any:
        return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    script = (_TEMPLATES / "page.js").read_text(encoding="utf-8")
    style = (
        variables()
        + (_TEMPLATES / "figure.css").read_text(encoding="utf-8")
        + (_TEMPLATES / "page.css").read_text(encoding="utf-8")
    )
    made.globals |= {
        "style": Markup(style),
        "script": Markup(script),
        # Whatever gets into the page, the browser runs this script alone.
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "drawn": lambda picture, half: _drawn(picture, half, Markup),
        "mark": lambda style: Markup(legend_mark(style, False)),
        "words": _parts,
    }
    return made


def _parts(words: Words) -> list[tuple[str, Strong | Code | Link | str]]:
    """Words in pieces, each with its kind."""
    pieces = [words] if isinstance(words, str) else words
    return [(type(piece).__name__, piece) for piece in pieces]


def _drawn(picture: Picture, half: bool, markup: Any) -> dict[str, Any]:
    """The two pictures of a figure, for broad and for narrow screens, and what is left for their legends."""
    figure = picture.figure
    width = _HALF if half else _WIDE
    if not isinstance(figure, Chart):
        return {"broad": markup(figure.draw(width)), "narrow": markup(figure.draw(_NARROW)), "legends": []}
    broad = figure.draw(width, None if half else figure.height + 40)
    narrow = figure.draw(_NARROW, figure.height, beside=False)
    return {
        "broad": markup(broad.svg),
        "narrow": markup(narrow.svg),
        "legends": [
            (where, [_entry(s, markup) for s in sorted(unnamed, key=lambda s: s.style or 0)])
            for where, unnamed in (("broad", broad.unnamed), ("narrow", narrow.unnamed))
            if unnamed
        ],
    }


def _entry(s: Series, markup: Any) -> dict[str, Any]:
    return {
        "name": shortened(s.name, _LONGEST_NAME),
        "mark": markup(legend_mark(s.style, s.line)),
        "style": s.style,
        "key": s.key,
    }
