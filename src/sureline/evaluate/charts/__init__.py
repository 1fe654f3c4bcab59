"""Charts, drawn by Altair: what pages, notebooks and files have in common.

A figure (`Chart`, `Bars`, `Histogram`, `HeatMap`, or `Panels` of them) is data. ``figure.draw()`` gives the Altair
chart, ``figure.save(path)`` a file: .png, .svg, .pdf or .html.
"""

from .axes import Axis
from .base import SUFFIXES, Figure, Moment
from .fields import Bar, Bars, HeatMap, Histogram, MapCell
from .figures import Chart, Panels, Reference, Series
from .live import template

__all__ = [
    "SUFFIXES",
    "Axis",
    "Bar",
    "Bars",
    "Chart",
    "Figure",
    "HeatMap",
    "Histogram",
    "MapCell",
    "Moment",
    "Panels",
    "Reference",
    "Series",
    "template",
]
