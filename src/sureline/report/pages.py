"""Writes sections as one HTML file that fetches nothing, prints well, and has a light and a dark mode."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._atomic import replacing
from .._inputs import clean
from ..evaluate.charts import Chart, Figure, Series
from ..evaluate.charts.base import javascript, still_svg
from ..evaluate.charts.colours import BY_SCHEME, variables
from ..evaluate.charts.figures import mark
from ..training.words import shortened
from .blocks import Block, Code, Folded, Link, Picture, Pictures, Section, Strong, Words

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")
_LONGEST_NAME = 90  # letters, in a legend
_STILL, _MARGIN = 420, 14  # pixels, of a chart shown without the script, whose letters may be wider than estimated


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
    made = _environment()
    script = _script(any(_has_charts(block) for section in sections for block in section.blocks))
    return made.get_template("page.html.jinja").render(
        title=title,
        sections=list(sections),
        kicker=kicker,
        subtitle=subtitle,
        footer=footer,
        script=script,
        # The browser runs no other script, whatever text is in the page.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def write_page(path: str | Path, html: str) -> None:
    """Write a page atomically: after a failure the old file is still there."""
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
    style = variables() + (_TEMPLATES / "page.css").read_text(encoding="utf-8")
    made.globals |= {
        "style": Markup(style),
        "drawn": lambda picture: _drawn(picture.figure, Markup),
        "mark": lambda style: Markup(mark(style, False)),
        "words": _parts,
    }
    return made


@cache
def _script(charts: bool) -> str:
    """The script of the page; with charts, together with the libraries that draw them."""
    script = (_TEMPLATES / "page.js").read_text(encoding="utf-8")
    return javascript(script + (_TEMPLATES / "charts.js").read_text(encoding="utf-8")) if charts else script


def _has_charts(block: Block) -> bool:
    return isinstance(block, Picture | Pictures) or (isinstance(block, Folded) and any(map(_has_charts, block.blocks)))


def _parts(words: Words) -> list[tuple[str, Strong | Code | Link | str]]:
    """Words in pieces, each with its kind."""
    pieces = [words] if isinstance(words, str) else words
    return [(type(piece).__name__, piece) for piece in pieces]


def _drawn(figure: Figure, markup: Any) -> dict[str, Any]:
    """A figure for the script, its picture for pages without a script, and its legend."""
    live = figure.draw(colours=BY_SCHEME, width="container", page=True).to_dict(validate=False)
    written = json.dumps(live, ensure_ascii=False, separators=(",", ":"))
    for sign, escaped in (("&", "&amp;"), ("'", "&#39;"), ("<", "&lt;")):
        written = written.replace(sign, escaped)
    return {
        "spec": markup(f"'{written}'"),
        "still": markup(still_svg(live, _STILL, _MARGIN)),
        "legend": [
            {"name": shortened(s.name, _LONGEST_NAME), "mark": markup(mark(s.style, s.line)), "key": s.key}
            for s in (_legend(figure) if isinstance(figure, Chart) else ())
        ],
        "widest": figure.widest,
        "zooms": figure.zooms,
    }


def _legend(chart: Chart) -> Iterator[Series]:
    """The series in colour: lines in the order of their ends, points in that of their styles."""
    named = [s for s in chart.series if s.style is not None and any(v is not None for v in s.y)]
    lines = [s for s in named if s.line]
    yield from sorted(lines, key=lambda s: -[v for v in s.y if v is not None][-1])
    yield from sorted((s for s in named if not s.line), key=lambda s: s.style or 0)
