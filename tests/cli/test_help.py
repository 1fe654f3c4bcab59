"""Help fits a screen, and tells of one learner what holds for that learner."""

from __future__ import annotations

from dataclasses import fields

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from sureline.cli import _COMMANDS, sureline
from sureline.cli._parameters import LEFT_OUT
from sureline.learners.catalogue import LEARNERS
from sureline.training.commands import flag


def told(*arguments: str, status: int = 0) -> str:
    found = CliRunner().invoke(sureline, list(arguments), terminal_width=78)  # click's, in a window of 80
    assert found.exit_code == status, found.output
    return found.output


@pytest.mark.parametrize("command", _COMMANDS)
def test_help_of_a_command_has_at_most_sixty_lines(command: str) -> None:
    text = told(command, "--help")
    assert len(text.splitlines()) <= 60
    assert text == told(command, "-h")


@pytest.mark.parametrize("name", LEARNERS)
def test_help_of_a_learner_has_its_own_parameters_and_no_others(name: str) -> None:
    text = told("train", "--help", "--algorithm", name.lower())
    assert text == told("train", f"--algorithm={name.lower()}", "-h")
    own = text.partition(f"Parameters of {name}:")[2]
    listed = {line.split()[0] for line in own.splitlines() if line.startswith("  --")}
    shared = {"normalize", "fit_intercept", "dtype", "multi_class", "class_weight", "passes", "average"}
    expected = {flag(field.name) for field in fields(LEARNERS[name]) if field.name not in LEFT_OUT | shared}
    assert listed == expected
    assert "(" not in "".join(part.split("]")[0] for part in own.split("[default:")[1:])  # one learner, one default


def test_what_eta_means_depends_on_the_learner() -> None:
    assert "probability of a correct" in told("train", "--algorithm", "scw", "--help")
    rate = told("train", "--algorithm", "ogd", "--help")
    assert "learning rate" in rate
    assert "probability" not in rate


def test_help_all_has_every_option() -> None:
    command = sureline.get_command(click.Context(sureline), "train")
    assert command is not None
    text = told("train", "--help-all")
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.opts[0] in text
    assert "--max-line" not in told("train", "--help")


def test_help_of_an_unknown_learner_is_refused() -> None:
    said = told("train", "--algorithm", "scv", "--help", status=2)
    assert "There is no algorithm 'scv' (did you mean scw?); there are" in said


@pytest.mark.parametrize(
    ("command", "typed", "completed"),
    [
        ("train", "ada", {"adafobos", "adarda"}),
        ("train", "au", {"auto"}),
        ("compare", "scw,aro", {"scw,arow", "scw,arowregressor"}),
        ("tune", "", {name.lower() for name in LEARNERS}),
    ],
)
def test_the_shell_completes_names_of_learners(command: str, typed: str, completed: set[str]) -> None:
    shell = ShellComplete(sureline, {}, "sureline", "_SURELINE_COMPLETE")
    assert {item.value for item in shell.get_completions([command, "--algorithm"], typed)} == completed


def test_the_help_of_a_penalty_says_where_to_begin() -> None:
    """With names of options, though the text is that of the parameter in Python."""
    words = " ".join(told("train", "--algorithm", "ssol", "--help").split())
    assert "makes weights zero: try the value of --eta, then up to tenfold, or --max-nonzero instead." in words
    words = " ".join(told("train", "--algorithm", "fobos", "--help").split())
    assert "makes weights zero: try 0.001, then tenfold more or less." in words
