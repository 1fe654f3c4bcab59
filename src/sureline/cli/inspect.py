"""``sureline inspect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .._inputs import printable
from ..evaluate.charts import SUFFIXES
from ..evaluate.inspection import plot, summary
from ..learners.saving import read_learner
from ..stream.errors import listed
from ..stream.schema import Schema
from ._options import json_option
from ._paths import FileCommand, Read, Written
from ._words import label_in_words, labels_in_words, measures_in_words

# The features that the weights belong to, by normalisation.
_NORMALIZED = {
    "row": ["weights of features in rows that are divided by their length"],
    "scale": ["weights of features that are divided by their scale, the mean size of their values"],
}


@click.command(
    "inspect", cls=FileCommand, short_help="Show the largest weights of a model, with their standard deviations."
)
@click.argument("model_path", metavar="MODEL", type=Read())
@click.option(
    "--top", type=click.IntRange(0, 100_000), default=20, show_default=True, help="Number of weights to show."
)
@click.option(
    "--plot",
    "picture",
    type=Written(),
    help="Draw the weights to a file: .png, .svg, .pdf or .html.",
)
@json_option
def command(model_path: Path, top: int, picture: Path | None, as_json: bool) -> None:
    """Show labels, parameters, counters and the largest weights of MODEL."""
    model = read_learner(model_path)
    told = summary(model, model_path, top)
    if picture is not None:
        if picture.suffix.lower() not in SUFFIXES:
            endings = ", ".join(SUFFIXES[:-1]) + f" or {SUFFIXES[-1]}"
            raise click.BadParameter(f"{picture} must end in {endings}.", param_hint="--plot")
        plot(model, picture, max(top, 1))
    print(json.dumps(told) if as_json else _in_words(told))


def _in_words(told: dict[str, Any]) -> str:
    from ..learners.catalogue import LEARNERS, WITHOUT_COMMAND

    defaults = (LEARNERS | WITHOUT_COMMAND)[told["algorithm"]]().parameters()
    set_ = ", ".join(f"{name}={value!r}" for name, value in told["parameters"].items() if value != defaults[name])
    lines = [
        f"{told['algorithm']}({set_}), {told['bytes']:,} bytes, written by {label_in_words(told['library'])}",
        *([f"labels: {labels_in_words(told['labels'])}"] if "labels" in told else []),
        f"examples: {told['examples']:,}, {measures_in_words(told)}, updates: {told['updates']:,}",
        f"columns: {told['features']:,}"
        + (f", stored examples: {told['stored']:,}" if "stored" in told else "")
        + (f", nonzero weights: {told['nonzeros']:,}" if told["nonzeros"] is not None else "")
        + "; intercept: "
        + ", ".join(f"{b:.6g}" for b in told["intercept"][:20]),
    ]
    if told["input"]:
        lines.append(
            "trained from "
            + ", ".join(
                f"{k} {label_in_words(v)}"
                for k, v in told["input"].items()
                if v not in (None, False) and k not in ("schema", "header")
            )
            + (", no header" if told["input"].get("header") is False else "")
        )
    if schema := told["input"].get("schema"):
        columns = [f"{column.name} ({column.short()})" for column in Schema.from_dict(schema).columns]
        interact = [":".join(names) for names in schema.get("interact", [])]
        crossed = f"; interactions: {listed(interact)}" if interact else ""
        lines.append(printable(f"columns of the table: {listed(columns)}{crossed}"))
    if "names" in told:
        names = told["names"]
        lines.append(f"names: {names['kept']:,} kept, {names['collisions']:,} collisions")
    if "place" in told:
        lines.append("a checkpoint: `sureline train` with --resume goes on with it")
    if told["top"]:
        sure = any(row["std"] is not None for row in told["top"])
        several = len(told.get("labels", [])) > 2
        width = max(max(len(_title(row)) for row in told["top"]), len("feature"))
        width = min(width, 60)
        scaled = "scale" in told["top"][0]
        lines += [
            "",
            *_NORMALIZED.get(told["parameters"]["normalize"], []),
            f"{'feature':<{width}}{'weight':>14}"
            + (f"{'std':>12}" if sure else "")
            + (f"{'scale':>12}" if scaled else "")
            + ("  label" if several else ""),
        ]
        for row in told["top"]:
            line = f"{_title(row):<{width}.{width}}{row['weight']:>14.6g}"
            line += f"{row['std']:>12.4g}" if sure else ""
            line += f"{row['scale']:>12.4g}" if scaled else ""
            lines.append(line + (f"  {label_in_words(row['label'])}" if several else ""))
    return "\n".join(lines)


def _title(row: dict[str, Any]) -> str:
    text = " | ".join(row["names"]) if row["names"] else str(row["feature"])
    return label_in_words(text)
