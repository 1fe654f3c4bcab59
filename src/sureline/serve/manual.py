"""The description of the interface for people: one page without scripts, and without anything from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cached_property
from importlib.resources import files
from typing import Any


class Manual:
    """Makes the page."""

    @cached_property
    def _style(self) -> str:
        return files(__package__).joinpath("templates", "manual.css").read_text(encoding="utf-8")

    @cached_property
    def headers(self) -> dict[str, str]:
        """Nothing but the style of the page is taken."""
        digest = base64.b64encode(hashlib.sha256(self._style.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; base-uri 'none'"
        return {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}

    def page(self, description: dict[str, Any]) -> str:
        """The page of a description."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader(__package__ or "sureline.serve"), autoescape=True, undefined=StrictUndefined
        )
        environment.filters["pretty"] = lambda value: json.dumps(value, indent=2)
        return environment.get_template("manual.html.jinja").render(api=description, style=self._style)


manual = Manual()
