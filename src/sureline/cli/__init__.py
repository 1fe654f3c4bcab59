"""The command line: train, compare, tune, predict, evaluate, inspect, reproduce, convert."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from .. import __version__

# Commands with the line that `sureline --help` has for them. What a command needs is imported when it is called.
_COMMANDS = {
    "train": "Learn from a stream and write a model.",
    "compare": "Train many learners in one reading of the data, and say which one to use.",
    "tune": "Find parameters in one reading of the data, and write the best model.",
    "predict": "Write a label, a score and a confidence, or a predicted number, for each row.",
    "evaluate": "Measure a model on labelled rows.",
    "inspect": "Show what a model has learned, how sure it is and how sparse.",
    "reproduce": "Make a table or figure of the papers again, ours beside theirs.",
    "convert": "Parse once, and write Arrow for training many times.",
    "completion": "Print the script that completes commands and options in bash or zsh.",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f".{cmd_name}", __name__).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"There is no command {args[0]!r}; there are {', '.join(_COMMANDS)}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["--help"], "max_content_width": 120},
    epilog="sureline COMMAND --help says more of a command.",
)
@click.version_option(__version__, prog_name="sureline", message="%(prog)s %(version)s")
def sureline() -> None:
    """Linear models from streams too large and too wide for batch learning, that say how sure they are."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its status: 0, 1 if something went wrong, 2 if the command was not understood."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """The exit status of a command. What goes wrong is said in one sentence on stderr."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever called
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        status = sureline.main(arguments, prog_name="sureline", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 2
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "sureline"
        return _complain(where, error.format_message(), 2 if isinstance(error, click.UsageError) else 1)
    except (KeyboardInterrupt, click.Abort):
        return _complain("sureline", "stopped", 1)
    except BrokenPipeError:  # whoever read our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _complain("sureline", f"{name}{error.strerror or error}", 1)
    except MemoryError as error:
        return _complain("sureline", f"out of memory: {error}" if str(error) else "out of memory", 1)
    except ValueError as error:  # DataError, ModelFileError, and what else was refused
        return _complain("sureline", str(error), 1)
    except Exception as error:
        if os.environ.get("SURELINE_DEBUG"):
            raise
        explanation = f"{type(error).__name__}: {error}".rstrip(": ")
        return _complain("sureline", f"internal error, {explanation}; SURELINE_DEBUG=1 shows where", 1)
    return status if isinstance(status, int) else 0


def _complain(where: str, message: str, status: int) -> int:
    sentence = " ".join(message.split())
    print(f"{where}: {sentence}", file=sys.stderr)
    return status
