"""Packages of extras, looked for before the work begins."""

from __future__ import annotations

from importlib.util import find_spec

import click

_OF_SERVICE = ("starlette", "uvicorn", "httptools", "uvloop", "msgspec", "prometheus_client", "jinja2")


def refuse_without(*modules: str) -> None:
    """Raise a usage error that says what to install if one of these modules is missing; by default all of `serve`."""
    for name in modules or _OF_SERVICE:
        if find_spec(name) is None:
            raise click.ClickException(f"This needs {name.replace('_', '-')}: pip install 'sureline[serve]'.")
