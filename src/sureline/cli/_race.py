"""The outcome of a race on the command line: a paragraph, a dict for JSON, and a page."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..learners.race.verdict import Verdict
from ..training import race_words
from ._options import refuse_without_charts
from ._paths import Written

report_option = click.option("--report", type=Written(), help="Write an HTML page about the race. [default: none]")


def check_race(there_is_one: bool, committee: bool | None, report: Path | None) -> None:
    """Refuse options of a race if there is no race, and a report that could not be drawn."""
    if there_is_one and report is not None:
        refuse_without_charts("--report")
    for given, names in (
        (committee is not None, "--committee and --no-committee are"),
        (report is not None, "--report is"),
    ):
        if given and not there_is_one:
            raise click.UsageError(f"{names} for trainings that name no learner, model or label budget.")


def told_of_race(
    verdict: Verdict, metric: str, report: Path | None, warnings: Sequence[str]
) -> tuple[str, dict[str, Any]]:
    """Write the page if wanted; return a paragraph about the race, and a dict for JSON."""
    if report is not None:
        from ..report.race import write_race_report

        write_race_report(verdict, metric, shlex.join(["sureline", *sys.argv[1:]]), report, warnings)
    return race_words.paragraph(verdict), race_words.to_dict(verdict, metric)
