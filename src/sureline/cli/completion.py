"""``sureline completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion", short_help="Print the script that completes commands and options in bash or zsh.")
@click.argument("shell", type=click.Choice(["bash", "zsh"]))
def command(shell: str) -> None:
    """Print a script for SHELL. For bash, add to ~/.bashrc:

        eval "$(sureline completion bash)"

    and for zsh the same with zsh to ~/.zshrc.
    """
    from . import sureline

    made = get_completion_class(shell)
    assert made is not None
    print(made(sureline, {}, "sureline", "_SURELINE_COMPLETE").source())
