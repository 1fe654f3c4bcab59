"""``sureline convert``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from .. import stream
from ._options import data_argument, json_option, opened, reading_arguments, reading_options
from ._paths import FileCommand, Written


@click.command("convert", cls=FileCommand, short_help="Convert data to Arrow, to parse once and train many times.")
@data_argument
@click.argument("output", metavar="OUTPUT", type=Written())
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    default="float32",
    show_default=True,
    help="Type of the values: with the --dtype of `train` it reads fastest.",
)
@json_option
@reading_options()
def command(data: tuple[str, ...], output: Path, dtype: str, as_json: bool, **options: Any) -> None:
    """Parse DATA and write OUTPUT, an Arrow IPC file with list columns, which `train` reads without parsing."""
    started = time.monotonic()
    if output.suffix not in (".arrow", ".feather", ".ipc"):
        raise click.UsageError(f"OUTPUT, the last path, must end in .arrow, .feather or .ipc. Got {output} instead.")
    source = opened(data, dtype=dtype, need_label=False, collect_names=True, **reading_arguments(options))
    summary = {
        "rows": stream.convert(source, output, dtype=dtype),
        "skipped_lines": source.faults.count,
        "seconds": round(time.monotonic() - started, 3),
        "output": str(output),
        "bytes": output.stat().st_size,
    }
    if as_json:
        print(json.dumps(summary))
        return
    print(
        f"{summary['rows']:,} rows in {summary['seconds']:.2f} s\n{output}, {summary['bytes']:,} bytes, "
        f"values in {dtype}"
    )
    if source.faults.count:
        print(f"lines that could not be read and were left out: {source.faults.count:,}")
