"""Help in one screen: common options first, the parameters of one learner or every option when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ..learners.catalogue import LEARNERS, learner_named
from ..learners.learner import Learner

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # it takes no type parameter in older versions of click

HELP = ["-h", "--help"]
_TYPED = "sureline.typed"  # the words of the command; help may come before --algorithm


class Rare(click.Option):
    """An option that few need: only --help-all lists it."""


class OfLearner(click.Option):
    """A parameter of learners: listed by --help-all, and with --algorithm NAME as that learner has it.

    `of` gives the option as one learner has it, or None if it has no such parameter.
    """

    def __init__(self, *words: Any, of: Callable[[type[Learner]], click.Option | None], **attributes: Any) -> None:
        super().__init__(*words, **attributes)
        self.of = of


class Algorithm(ParamType):
    """The name of a learner, or several with commas between them. The shell completes names."""

    name = "name"

    def __init__(self, *also: str, several: bool = False) -> None:
        self.names, self.several = [*also, *(name.lower() for name in LEARNERS)], several

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",") if self.several else ("", "", incomplete)
        return [CompletionItem(f"{before}{comma}{name}") for name in self.names if name.startswith(last.lower())]


class HelpfulCommand(click.Command):
    """A command whose --help shows the common options, and --help-all all of them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, args)

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        return HELP  # of any context: click keeps the option that it makes first

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        if any(isinstance(param, Rare | OfLearner) for param in params):
            params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_show_help,
                    help="Show every option, and exit.",
                )
            )
        return params

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        typed = ctx.meta.get(_TYPED, [])
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        if "--help-all" in typed:
            _section("Options", options, ctx, formatter)
            return
        _section("Options", [one for one in options if not isinstance(one, Rare | OfLearner)], ctx, formatter)
        parameters = [one for one in options if isinstance(one, OfLearner)]
        kind = _learner(typed, ctx) if parameters else None
        if kind is not None:
            own = [made for one in parameters if (made := one.of(kind)) is not None]
            if own:
                _section(f"Parameters of {kind.__name__}", own, ctx, formatter)
            else:
                formatter.write_paragraph()
                formatter.write_text(f"{kind.__name__} has no parameters of its own.")
        elif parameters:
            formatter.write_paragraph()
            formatter.write_text(f"'{ctx.command_path} --algorithm scw --help' adds the parameters of SCW.")


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _section(title: str, options: Iterable[click.Option], ctx: click.Context, formatter: click.HelpFormatter) -> None:
    records = [record for one in options if (record := one.get_help_record(ctx)) is not None]
    with formatter.section(title):
        formatter.write_dl(records)


def _learner(typed: list[str], ctx: click.Context) -> type[Learner] | None:
    """The learner that --algorithm names; None if it is missing or "auto"."""
    named = [word for before, word in pairwise(typed) if before == "--algorithm"]
    named += [word.partition("=")[2] for word in typed if word.startswith("--algorithm=")]
    if not named or named[-1].lower() == "auto":
        return None
    try:
        return learner_named(named[-1])
    except ValueError as error:
        raise click.BadParameter(str(error), ctx=ctx, param_hint="--algorithm") from None
