"""The command line: train, compare, tune, predict, evaluate, ask, inspect, reproduce, convert."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import click

from .. import __version__
from ._terminal import printable_streams

# Commands with their lines in `sureline --help`. A command is imported when it is called.
_COMMANDS = {
    "train": "Learn from a stream and write a model.",
    "compare": "Compare many learners in one reading of the data.",
    "tune": "Find the best parameters in one reading of the data.",
    "predict": "Predict a label, score and confidence, or a number, for each row.",
    "evaluate": "Measure a model on labelled rows.",
    "ask": "List the rows whose labels would help a model most.",
    "serve": "Serve models over HTTP, and learn from labels that come back.",
    "replay": "Repeat past answers of a service, bit for bit.",
    "inspect": "Show the largest weights of a model, with their standard deviations.",
    "export": "Write a model as ONNX or as JSON.",
    "reproduce": "Reproduce a table or figure of a paper, ours beside theirs.",
    "convert": "Convert data to Arrow, to parse once and train many times.",
    "completion": "Print a completion script for bash or zsh.",
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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="sureline COMMAND --help shows the options of a command.",
)
@click.version_option(__version__, prog_name="sureline", message="%(prog)s %(version)s")
def sureline() -> None:
    """Learn linear classifiers from streams too large and too wide for batch learning."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status: 0 if all is right, 1 for data and files, 2 for a wrong command."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run a command and return its exit status. An error is one sentence on stderr."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the calling process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    with printable_streams():
        return _status(arguments)


def _status(arguments: list[str]) -> int:
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
    except BrokenPipeError:  # the reader of our output has gone, as with `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _complain("sureline", f"{name}{error.strerror or error}", 1)
    except MemoryError as error:
        return _complain("sureline", f"out of memory: {error}" if str(error) else "out of memory", 1)
    except ValueError as error:  # DataError, ModelFileError and other refusals
        return _complain("sureline", str(error), 1)
    except Exception as error:
        if os.environ.get("SURELINE_DEBUG"):
            raise
        explanation = f"{type(error).__name__}: {error}".rstrip(": ")
        return _complain("sureline", f"internal error, {explanation}; SURELINE_DEBUG=1 shows where", 1)
    return status if isinstance(status, int) else 0


def _complain(where: str, message: str, status: int) -> int:
    sentence = " ".join(message.split())
    with suppress(OSError):  # the terminal is gone
        print(f"{where}: {sentence}", file=sys.stderr, flush=True)
    return status
