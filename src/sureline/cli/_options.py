"""Options that several commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..stream import READING, DataError, Stream, read
from ..stream.options import FORMATS

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # which has no parameter in older versions

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


class Count(ParamType):
    """A whole number, also as 500k, 1M or 2G."""

    name = "number"

    def __init__(self, least: int = 0) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+)([kmg]?)", str(value).strip().lower().replace("_", ""))
        number = int(found[1]) * _UNITS[found[2]] if found else -1
        if number < self.least or number >= 2**62:
            self.fail(
                f"{value!r} is not a whole number of at least {self.least}, such as 1000, 500k or 1M.", param, ctx
            )
        return number


def checkpoint_every(text: str) -> tuple[int | None, float | None]:
    """Examples or seconds from the value of --checkpoint: every=1M, every=30s, every=10m, every=2h."""
    found = re.fullmatch(r"every=(\d+)([kMGsmh]?)", text)
    if found and int(found[1]) > 0 and len(found[1]) < 16:
        number, unit = int(found[1]), found[2]
        if unit in ("s", "m", "h"):
            return None, number * {"s": 1.0, "m": 60.0, "h": 3600.0}[unit]
        return number * _UNITS[unit.lower()], None
    raise click.BadParameter(
        f"{text!r} is not understood; write every=1M for examples, or every=30s, every=10m, every=2h for time.",
        param_hint="--checkpoint",
    )


def all_of(options: Sequence[Callable[[F], F]]) -> Callable[[F], F]:
    """A decorator that gives a command all these options, in their order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


data_argument = click.argument("data", nargs=-1, required=True, metavar="DATA...")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
model_option = click.option(
    "--model", "model_path", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The model file."
)


def reading_options(*, of_model: bool = False, labelled: bool = True) -> Callable[[F], F]:
    """The options of `sureline.stream.read`. With `of_model` the defaults are those that the model was trained with."""

    def default(text: str) -> str:
        return "default: as in training" if of_model else f"default: {text}"

    options = [
        click.option(
            "--format",
            type=click.Choice(FORMATS),
            help="Of the data. [default: by its name or its first bytes]",
        ),
        click.option(
            "--zero-based/--as-written",
            default=None,
            help="LIBSVM: the indices count from 0; shift them by one, to those of a file that counts from 1. "
            f"[{default('as written')}]",
        ),
        click.option(
            "--duplicates",
            type=click.Choice(["error", "sum"]),
            default="error",
            show_default=True,
            help="LIBSVM: what to do with an index that comes twice in a row.",
        ),
        click.option(
            "--bits",
            type=click.IntRange(1, 30),
            help=f"Names are hashed to 2^BITS features. [{default('20')}]",
        ),
        click.option("--label", help=f"csv, tsv, jsonl, columns: where the label is. [{default('label')}]"),
        click.option("--weight", help=f"csv, tsv, jsonl, columns: where the weight is, if any. [{default('none')}]"),
        click.option(
            "--errors",
            type=click.Choice(["stop", "skip"]),
            default="stop",
            show_default=True,
            help="Stop at the first line that cannot be read, or leave it out and count.",
        ),
        click.option(
            "--max-error-share",
            type=click.FloatRange(0, 1),
            default=0.01,
            show_default=True,
            help="With --errors skip: stop if more than this share of the lines cannot be read.",
        ),
        click.option(
            "--max-line",
            type=Count(1 << 20),
            help="The longest line, in bytes. [default: 67108864; 8388608 for csv, tsv, jsonl and text]",
        ),
        click.option("--threads", type=click.IntRange(1, 1024), help="That parse. [default: one for each core]"),
    ]
    return all_of(options)


def reading_arguments(options: dict[str, Any], trained: dict[str, Any] | None = None) -> dict[str, Any]:
    """Arguments for `sureline.stream.read`, taken out of the options of a command.

    `trained` is how the rows were read that a model was trained with; it counts where the options are silent.
    """
    given = {name: options.pop(name) for name in READING if name in options}
    arguments = {name: value for name, value in given.items() if value is not None}
    fallback = {name: value for name, value in (trained or {}).items() if name not in arguments}
    return {**arguments, "fallback": fallback}


# What the columns of a format are. Those of Arrow and Parquet are what they were made of.
_COLUMNS = {
    "libsvm": "numbered in the file",
    "vw": "hashed as Vowpal Wabbit does it",
    **dict.fromkeys(("csv", "tsv", "jsonl", "text"), "hashed names"),
}


def refuse_other_columns(trained: dict[str, Any], source: Stream) -> None:
    """Refuse rows whose columns cannot mean what those meant that the model was trained with."""
    then, now = _COLUMNS.get(trained.get("format", "")), _COLUMNS.get(source.format)
    if then and now and then != now:
        raise DataError(
            source.paths[0],
            f"its format is {source.format}, whose columns are {now}; the model was trained from {trained['format']}, "
            f"whose columns are {then}, so they do not mean the same",
        )


def opened(data: Iterable[str], **arguments: Any) -> Stream:
    """The stream. What it cannot be asked for is a mistake in the command, what is wrong with the data is not."""
    try:
        return read(list(data), **arguments)
    except DataError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def refuse_same_file(option: str, path: Path, inputs: Iterable[str]) -> None:
    """Refuse to write over a file that is read."""
    for name in inputs:
        if os.path.exists(name) and path.exists() and os.path.samefile(name, path):
            raise click.BadParameter(f"{path} is read, and must not be written over.", param_hint=option)


def refuse_unwritable(option: str, path: Path) -> None:
    """Before hours of work, not after them."""
    folder = path.resolve().parent
    if not folder.is_dir():
        what = option.removeprefix("--")
        raise click.BadParameter(f"there is no folder {folder} to write the {what} into.", param_hint=option)
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise click.BadParameter(f"{path} cannot be written.", param_hint=option)


def refuse_without_charts(option: str) -> None:
    """Check that the packages for pages and pictures are installed: before hours of work, not after them."""
    for module, package in (("jinja2", "jinja2"), ("altair", "altair"), ("vl_convert", "vl-convert-python")):
        if find_spec(module) is None:
            raise click.ClickException(f"{option} needs {package}: pip install 'sureline[report]'.")
