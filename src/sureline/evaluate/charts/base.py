"""The base of all charts: drawing with Altair, imported at the first use, and files (.png, .svg, .pdf, .html)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._atomic import replacing
from ..._inputs import clean
from .colours import BY_SCHEME, LIGHT, variables

SUFFIXES = (".png", ".svg", ".pdf", ".html")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"


def modules() -> tuple[Any, Any]:
    """Altair and vl_convert, or a sentence on how to get them."""
    try:
        import altair
        import vl_convert
    except ImportError:
        raise ImportError("Charts need altair and vl-convert-python: pip install 'sureline[plot]'.") from None
    return altair, vl_convert


@dataclass(frozen=True)
class Moment:
    """The part of a figure that changes while it is shown."""

    key: str  #: figures with the same key differ only in the rest
    rows: list[dict[str, Any]]  #: for the data source "rows"
    values: dict[str, Any]  #: of the parameters, by name


class Figure(ABC):
    """Something that can be drawn."""

    title: str
    widest: int | None = None  # pixels that it takes on a page, at most
    zooms: bool = False  # whether a page offers to zoom in

    @abstractmethod
    def chart(self, colours: Mapping[str, str], width: int | str, page: bool, number: int = 0) -> Any:
        """The Altair chart without fonts and frame, for use in a larger chart; `number` is its position."""

    def draw(self, *, colours: Mapping[str, str] = LIGHT, width: int | str = 640, page: bool = False) -> Any:
        """The Altair chart. `page` leaves out title and legend, which a page shows itself."""
        alt, _ = modules()
        frame = (14, colours["card"]) if not page else (2, "transparent")
        with alt.utils.schemapi.debug_mode(False):  # checking every piece of it would take most of the time
            made = self.chart(colours, width, page)
            return made.configure(**_config(colours), padding=frame[0], background=frame[1])

    def save(self, path: str | Path) -> None:
        """Write a file: .png, .svg, .pdf or .html by its ending. An .svg follows the reader's light or dark scheme."""
        suffix = Path(path).suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{path} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
        _, convert = modules()
        specification = self.draw(colours=BY_SCHEME if suffix == ".svg" else LIGHT).to_dict(validate=False)
        if suffix == ".svg":
            made: str | bytes = svg(specification)
        elif suffix == ".html":
            made = convert.vegalite_to_html(specification, vl_version=version(), bundle=True)
        else:
            to_bytes = {".png": convert.vegalite_to_png, ".pdf": convert.vegalite_to_pdf}[suffix]
            made = to_bytes(specification, vl_version=version(), **({"scale": 2} if suffix == ".png" else {}))
        with replacing(path) as out:
            out.write(made.encode() if isinstance(made, str) else made)


def titles(title: str, label: str, page: bool) -> Any:
    """The title, and below it the measure of the upright axis. On a page the title is a heading above the chart."""
    alt, _ = modules()
    if page:
        return alt.TitleParams(clean(label), limit=alt.ExprRef("width - 50"))  # the zoom button is next to it
    if not title:
        return alt.TitleParams(clean(label))
    return alt.TitleParams(clean(title), fontSize=15, **({"subtitle": clean(label)} if label.strip() else {}))


def _config(colours: Mapping[str, str]) -> dict[str, Any]:
    """Fonts, and colours of all parts without data."""
    ink, soft, line = colours["ink"], colours["soft"], colours["line"]
    strong = {"fontSize": 13, "fontWeight": 600}
    below = {"subtitleColor": ink, "subtitleFontSize": 13, "subtitlePadding": 8}
    lines = {"gridColor": colours["grid"], "domainColor": line, "tickColor": line}
    label = {"labelFontSize": 12, "titleColor": ink, "titleFontSize": 13, "titleFontWeight": 600}
    apart = {"rowPadding": 4, "columnPadding": 18, "offset": 14, "labelLimit": 420}
    symbol = {"symbolSize": 90, "symbolStrokeWidth": 0, "symbolOpacity": 1}
    return {
        "font": FONT,
        "aria": False,
        "view": {"stroke": None},
        "axis": {**label, **lines, "labelColor": soft, "labelPadding": 6, "labelOverlap": "greedy"},
        "axisX": {"grid": False, "titlePadding": 10, "labelSeparation": 8},
        "axisY": {"domain": False, "ticks": False, "labelSeparation": 6},
        "legend": {**label, **apart, **symbol, "orient": "bottom", "title": None, "labelColor": ink},
        "title": {**strong, **below, "anchor": "start", "frame": "bounds", "color": ink, "offset": 10},
    }


def version() -> str:
    """The version of Vega-Lite for vl_convert: the one that Altair writes, or the newest."""
    alt, convert = modules()
    wanted = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    known: list[str] = convert.get_vegalite_versions()
    return wanted if wanted in known else known[-1]


def svg(specification: dict[str, Any]) -> str:
    """A chart as an SVG file with light and dark colours; reproducible to the byte."""
    head, rest = _slim(_svg(specification)).split(">", 1)
    numbers: dict[str, int] = {}  # Vega counts on from chart to chart
    rest = re.sub(r'(?<=[#"]clip)\d+(?=[)"])', lambda found: str(numbers.setdefault(found[0], len(numbers))), rest)
    return f"{head}><style>{variables('svg').strip()}</style>{rest}\n"


def _slim(drawn: str) -> str:
    """Without marks that are only there for tooltips, and with a hundredth of a pixel as the finest of places."""
    drawn = re.sub(r'<path [^>]*opacity="0"/>', "", drawn)
    return re.sub(r' (d|transform)="[^"]*"', lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), drawn)


def still_svg(specification: dict[str, Any], width: int, margin: int) -> str:
    """A chart as SVG to embed in a page, of that width. Without clipping, whose ids would occur twice in a page."""
    drawn = _svg({**specification, "width": width, "padding": margin})
    return re.sub(r' clip-path="[^"]*"|<clipPath.*?</clipPath>', "", _slim(drawn))


def _svg(specification: dict[str, Any]) -> str:
    _, convert = modules()
    drawn: str = convert.vegalite_to_svg(specification, vl_version=version())
    return drawn


def javascript(script: str) -> str:
    """A script together with the chart libraries; it may call `vegaEmbed`."""
    _, convert = modules()
    made: str = convert.javascript_bundle(script, vl_version=version())
    return made
