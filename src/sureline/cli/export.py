"""``sureline export``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .._atomic import replacing
from ..learners.exporting import to_json, to_onnx
from ..learners.saving import read_learner
from ._paths import FileCommand, Read, Written


@click.command("export", cls=FileCommand, short_help="Write a model as ONNX or as JSON.")
@click.argument("model_path", metavar="MODEL", type=Read())
@click.option("--onnx", type=Written(), help="Write an ONNX graph with the same scores. [default: none]")
@click.option("--json", "as_json", is_flag=True, help="Print labels, intercepts, weights by name, scales and settings.")
def command(model_path: Path, onnx: Path | None, as_json: bool) -> None:
    """Export MODEL for other programs (--onnx FILE), or as readable JSON (--json)."""
    if onnx is None and not as_json:
        raise click.UsageError("Say what to write: --onnx FILE, or --json.")
    learner = read_learner(model_path).learner
    if onnx is not None:
        try:
            content = to_onnx(learner)
        except ImportError as error:
            raise click.ClickException(str(error)) from None
        with replacing(onnx) as file:
            file.write(content)
    if as_json:
        print(json.dumps(to_json(learner), indent=2))
