"""``sureline completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ._help import HelpfulCommand


@click.command("completion", cls=HelpfulCommand, short_help="Print a completion script for bash or zsh.")
@click.argument("shell", type=click.Choice(["bash", "zsh"]))
def command(shell: str) -> None:
    """Print a script that completes commands and options. For bash, add this line to ~/.bashrc:

        eval "$(sureline completion bash)"

    For zsh, write zsh instead of bash and add it to ~/.zshrc.
    """
    from . import sureline

    made = get_completion_class(shell)
    assert made is not None
    print(made(sureline, {}, "sureline", "_SURELINE_COMPLETE").source())
