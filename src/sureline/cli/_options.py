"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar

import click

from .._system import default_memory
from ..stream import READING, DataError, Stream, read
from ..stream.options import FORMATS, LEAST_MEMORY
from ..stream.schema import MOST_NGRAMS
from ._help import ParamType, Rare
from ._paths import Data, Growing, Read

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


def endless_data(command: F) -> F:
    """Add DATA and --follow; at least one of them is needed."""
    followed = click.option(
        "--follow",
        type=Growing(),
        is_eager=True,
        metavar="FILE",
        help="Read FILE, or a topic kafka://BROKER/TOPIC, as it grows. [default: none]",
    )
    return click.argument("data", nargs=-1, metavar="DATA...", type=Data(), callback=_some_data)(followed(command))


def _some_data(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if not value and not ctx.params.get("follow") and not ctx.resilient_parsing:
        raise click.MissingParameter(ctx=ctx, param=param)
    return value


data_argument = click.argument("data", nargs=-1, required=True, metavar="DATA...", type=Data())
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
model_option = click.option("--model", "model_path", required=True, type=Read(), help="The model file.")


def reading_options(*, of_model: bool = False, memory: bool = True) -> Callable[[F], F]:
    """The options of `sureline.stream.read`. With `of_model` the defaults come from the training.

    Without `memory` the command defines that option itself.
    """

    def default(text: str) -> str:
        return "default: as in training" if of_model else f"default: {text}"

    options = [
        click.option(
            "--format",
            type=click.Choice(FORMATS),
            help="Format of the data. [default: by name or first bytes]",
        ),
        click.option(
            "--zero-based/--as-written",
            cls=Rare,
            default=None,
            help="LIBSVM: the indices count from 0. Add 1 to each, to match files that count from 1. "
            f"[{default('as written')}]",
        ),
        click.option(
            "--duplicates",
            cls=Rare,
            type=click.Choice(["error", "sum"]),
            default="error",
            show_default=True,
            help="LIBSVM: refuse a duplicate index in a row, or add up its values.",
        ),
        click.option(
            "--bits",
            type=click.IntRange(1, 30),
            help=f"Hash names to 2^BITS features. [{default('20')}]",
        ),
        click.option(
            "--label",
            help=f"Name of the label column of a table. [{default('label')}]",
        ),
        click.option(
            "--weight", cls=Rare, help=f"Name of the column with row weights, in the same formats. [{default('none')}]"
        ),
        *_table_options(of_model=of_model),
        click.option(
            "--errors",
            type=click.Choice(["stop", "skip"]),
            default="stop",
            show_default=True,
            help="Stop at the first unreadable line, or skip such lines and count them.",
        ),
        click.option(
            "--max-error-share",
            cls=Rare,
            type=click.FloatRange(0, 1),
            default=0.01,
            show_default=True,
            help="With --errors skip: stop if more than this share of the lines is unreadable.",
        ),
        click.option(
            "--max-line",
            cls=Rare,
            type=Count(1 << 20),
            help="Longest line to read, in bytes. [default: 67108864; 8388608 for csv, tsv, jsonl and text]",
        ),
        click.option(
            "--threads",
            cls=Rare,
            type=click.IntRange(1, 1024),
            help="Number of parsing threads. [default: one per core]",
        ),
        click.option(
            "--max-label",
            cls=Rare,
            type=Count(1),
            default=1000,
            show_default=True,
            help="Longest label, in bytes.",
        ),
        click.option(
            "--max-name",
            cls=Rare,
            type=Count(1),
            help="Longest name of a feature, in bytes; a text counts as name=text. [default: 65536]",
        ),
        click.option(
            "--max-features",
            cls=Rare,
            type=Count(1),
            default=1 << 20,
            show_default=True,
            help="Most features of a row.",
        ),
    ]
    if memory:
        options.append(
            click.option(
                "--memory",
                type=Count(LEAST_MEMORY),
                help="Limit of memory in bytes, such as 8G. [default: half of what is usable]",
            )
        )
    return all_of(options)


def _table_options(*, of_model: bool) -> list[Callable[[F], F]]:
    """Options of tables. A model knows its columns, but not how the cells of a file are separated."""
    columns = [
        ("--numeric", "Columns of numbers: names or patterns such as 'price_*', with commas between them.", "guessed"),
        ("--categorical", "Columns of categories, such as identifiers.", "guessed"),
        ("--text", "Columns of sentences, which are read word by word.", "guessed"),
        ("--timestamp", "Columns of times: when, when:day-first, epoch:ms.", "guessed"),
        ("--ignore", "Columns to leave out.", "none"),
        ("--id", "Columns that name a row. They are not features; predict copies them to its output.", "none"),
        ("--interact", "Interactions: city:device multiplies two columns, a:b:c three; all takes every pair.", "none"),
    ]
    options: list[Callable[[F], F]] = []
    if not of_model:
        options = [
            click.option(
                option,
                cls=Rare,
                metavar="COLUMNS",
                help=f"Tables: {words[0].lower()}{words[1:]} [default: {default}]",
            )
            for option, words, default in columns
        ]
        options += [
            click.option(
                "--ngrams",
                cls=Rare,
                type=click.IntRange(0, MOST_NGRAMS),
                help="Text: features of up to this many words in a row; 0 for none. [default: 1]",
            ),
            click.option(
                "--chars", cls=Rare, metavar="N-M", help="Text: features of N to M characters in a row. [default: none]"
            ),
            click.option(
                "--keep-case/--lower-case",
                cls=Rare,
                default=None,
                help="Text: keep upper and lower case apart. [default: lower case]",
            ),
        ]
    return [
        *options,
        click.option(
            "--header/--no-header",
            cls=Rare,
            default=None,
            help="CSV, TSV: without a header, columns are 1, 2, ... "
            f"[default: {'as in training' if of_model else 'a header'}]",
        ),
        click.option(
            "--delimiter",
            cls=Rare,
            metavar="CHARACTER",
            help="CSV, TSV: the character between cells. [default: comma or tab, or as the first rows show]",
        ),
        click.option(
            "--quote",
            cls=Rare,
            metavar="CHARACTER",
            help="CSV, TSV: the character around cells, or none. [default: a double quote]",
        ),
    ]


def reading_arguments(options: dict[str, Any], trained: dict[str, Any] | None = None) -> dict[str, Any]:
    """Arguments for `sureline.stream.read`, removed from the options of a command.

    `trained` has the reading options of the training, which are the defaults.
    """
    given = {name: options.pop(name) for name in READING if name in options}
    if "memory" in given and given["memory"] is None:
        given["memory"] = default_memory()
    arguments = {name: value for name, value in given.items() if value is not None}
    fallback = {name: value for name, value in (trained or {}).items() if name not in arguments}
    return {**arguments, "fallback": fallback}


def opened(data: Iterable[str], **arguments: Any) -> Stream:
    """The opened stream. A wrong option is a usage error; wrong data is a DataError."""
    try:
        return read(list(data), **arguments)
    except DataError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def refuse_without_charts(option: str) -> None:
    """Check, before hours of work, that the packages for pages and pictures are installed."""
    for module, package in (("jinja2", "jinja2"), ("altair", "altair"), ("vl_convert", "vl-convert-python")):
        if find_spec(module) is None:
            raise click.ClickException(f"{option} needs {package}: pip install 'sureline[report]'.")
