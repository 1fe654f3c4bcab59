"""Charts whose rows change while they are shown: drawn once, then given new rows and limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .colours import BY_SCHEME
from .fields import Bars
from .figures import Chart


def template(figure: Chart | Bars) -> dict[str, Any]:
    """The specification of a figure without its rows, as Vega-Lite has it.

    A page fills the data source "rows" and sets the parameters from `figure.moment`, any number of times. Figures whose
    moments have the same key share a template.
    """
    made = replace(figure, changes=True).draw(colours=BY_SCHEME, width="container", page=True)
    specification: dict[str, Any] = made.to_dict(validate=False)
    if isinstance(figure, Chart):
        specification["title"] |= {"limit": {"expr": "width"}}  # there is no zoom button next to it
    values = figure.moment().values
    own = [{"name": name, "value": value} for name, value in values.items()]
    return {**specification, "params": [*specification.get("params", []), *own]}
