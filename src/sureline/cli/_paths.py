"""Options and arguments that name files, and the look at all of them before a command begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..stream.kafka import is_topic
from ..stream.outputs import OutputError, check_outputs
from ..stream.source import PATH, STDIN, expand
from ..stream.urls import is_url
from ._help import HelpfulCommand

if TYPE_CHECKING:
    PathType = click.Path[Any]
else:
    PathType = click.Path  # it takes no type parameter in older versions of click


class Read(PathType):
    """A file that is read, such as a model; `replaced_by` is the option of an output that may take its place."""

    def __init__(self, replaced_by: str | None = None) -> None:
        super().__init__(path_type=Path, dir_okay=False)
        self.replaced_by = replaced_by

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        _refuse_url(self, value, "read from", param, ctx)
        return super().convert(value, param, ctx)

    def files(self, value: Any) -> list[PATH]:
        """The files that a value names."""
        return [value]


class Growing(Read):
    """A file that grows, or a topic."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if is_topic(value) else super().convert(value, param, ctx)


class Data(PathType):
    """Files with rows, globs or URLs of them, or - for standard input."""

    def __init__(self) -> None:
        super().__init__(allow_dash=True, readable=False)


class Module(PathType):
    """MODULE:CLASS; the module may be in the working directory."""

    def __init__(self) -> None:
        super().__init__(readable=False)

    def files(self, value: Any) -> list[PATH]:
        parts = str(value).partition(":")[0].split(".")
        return [Path(*parts).with_suffix(".py"), Path(*parts, "__init__.py")]


class Written(PathType):
    """A file that is written, or - for standard output where `dash` is true.

    `beside` are the endings of further files written next to it, such as a checkpoint. With `append` the file grows.
    """

    def __init__(self, *beside: str, dash: bool = False, append: bool = False) -> None:
        super().__init__(path_type=Path, allow_dash=dash, readable=False)
        self.beside, self.append = beside, append

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        _refuse_url(self, value, "written to", param, ctx)
        return super().convert(value, param, ctx)


def _refuse_url(
    kind: PathType, value: object, what: str, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    """Refuse a URL, which would otherwise be read as a path with folders such as `s3:`."""
    if is_url(value):
        kind.fail(
            f"{value} is a URL. Data are read from URLs; this is {what} a file: name one, and copy it.", param, ctx
        )


class ReadFolder(PathType):
    """A folder with data; the command knows which files it reads."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, exists=True, file_okay=False)


class WrittenFolder(PathType):
    """A folder for output; the command knows which files it writes."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)


class FileCommand(HelpfulCommand):
    """A command that starts only if its outputs can be written and are not among its inputs."""

    def invoke(self, ctx: click.Context) -> Any:
        inputs: list[PATH] = []
        outputs: dict[str, PATH] = {}
        appended: list[str] = []
        replaced: dict[str, PATH] = {}
        for param in self.params:
            value = ctx.params.get(str(param.name))
            if value is None:
                continue
            if isinstance(param.type, Data):
                ctx.params[str(param.name)] = found = tuple(expand(value)) if value else ()
                inputs += found
            elif isinstance(param.type, Read | Module):
                for one in value if isinstance(value, tuple) else (value,):
                    inputs += param.type.files(one)
                if isinstance(param.type, Read) and param.type.replaced_by:
                    replaced[param.type.replaced_by] = value
            elif isinstance(param.type, Written) and str(value) != STDIN:
                hint = _hint(param)
                outputs |= {hint: value} | {
                    f"{ending.lstrip('.')} of {hint}": beside(value, ending)
                    for ending in (param.type.beside if value.name else ())  # "." and "/" have no name
                }
                appended += [hint] if param.type.append else []
        for name in outputs:  # a file written next to an output may replace the same input
            whole = name.rpartition(" of ")[2]
            if whole in replaced:
                replaced.setdefault(name, replaced[whole])
        refuse_outputs(inputs, outputs, appended, replaced)
        return super().invoke(ctx)


def beside(path: Path, ending: str) -> Path:
    """The path with one more ending."""
    return path.with_name(path.name + ending)


def refuse_outputs(
    inputs: Iterable[PATH],
    outputs: Mapping[str, PATH],
    appended: Iterable[str] = (),
    replaced: Mapping[str, PATH] | None = None,
) -> None:
    """Call `check_outputs` and turn its refusal into a usage error."""
    try:
        check_outputs(inputs, outputs, list(appended), replaced)
    except OutputError as error:
        ctx = click.get_current_context(silent=True)
        if "would write the same file" in error.reason:
            raise click.UsageError(error.reason, ctx) from None
        raise click.BadParameter(error.reason, ctx, param_hint=error.name) from None


def _hint(param: click.Parameter) -> str:
    return param.opts[-1] if isinstance(param, click.Option) else param.human_readable_name
