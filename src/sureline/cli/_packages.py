"""Packages of extras, looked for before the work begins."""

from __future__ import annotations

from importlib.util import find_spec

import click

_OF_SERVICE = ("starlette", "uvicorn", "httptools", "uvloop", "msgspec", "prometheus_client", "jinja2")


def refuse_without(*modules: str) -> None:
    """Say what to install if one of these packages of `sureline serve` is not there; without any, all of them."""
    for name in modules or _OF_SERVICE:
        if find_spec(name) is None:
            raise click.ClickException(f"This needs {name.replace('_', '-')}: pip install 'sureline[serve]'.")
