"""``sureline reproduce``."""

from __future__ import annotations

import difflib
import glob
import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from .. import reproduce
from ..reproduce.words import as_text
from ._options import json_option, refuse_without_charts
from ._paths import FileCommand, ReadFolder, Written, WrittenFolder, refuse_outputs
from ._progress import LiveLine, clock


@click.command("reproduce", cls=FileCommand, short_help="Reproduce a table or figure of a paper, ours beside theirs.")
@click.argument("name", required=False)
@click.option("--list", "list_them", is_flag=True, help="List the tables and figures, and exit.")
@click.option(
    "--data",
    type=ReadFolder(),
    help="Folder with the data sets. [default: the environment variable SURELINE_DATA]",
)
@click.option("--report", type=Written(), help="Also write an HTML page.")
@click.option(
    "--output",
    type=WrittenFolder(),
    help="Folder for numbers (JSON), a page (Markdown) and pictures (SVG).",
)
@click.option("--quick", is_flag=True, help="Run a reduced version, in about a minute.")
@click.option("--seed", type=click.IntRange(0), help="First seed of the random orders. [default: that of the entry]")
@click.option("--runs", type=click.IntRange(1), help="Number of random orders. [default: that of the entry]")
@json_option
def command(
    name: str | None,
    list_them: bool,
    data: Path | None,
    report: Path | None,
    output: Path | None,
    quick: bool,
    seed: int | None,
    runs: int | None,
    as_json: bool,
) -> int:
    """Reproduce NAME, a table or figure of a paper: its protocol on its data, with verdicts on its claims.

    NAME is one that --list shows, or a TOML file of your own: copy one of sureline's and change it.

    If data are missing, the command says which and where to get them. The exit status is 1 if nothing could be run.
    """
    if list_them:
        _list(as_json)
        return 0
    entry = _entry(name, seed, runs)
    file, name = _file(name), entry.name
    # The folder's name is private; only its presence matters.
    folder = [] if reproduce.data_folder(data) is None else ["--data", "DIR"]
    words = [
        "sureline",
        "reproduce",
        name if file is None else str(file),
        *folder,
        *(["--quick"] if quick else []),
    ]
    for option, value in (("--seed", seed), ("--runs", runs)):
        words += [] if value is None else [option, str(value)]
    _refuse_outputs(entry, file, reproduce.data_folder(data), report, output)
    if report is not None:
        refuse_without_charts("--report")
    if output is not None:
        refuse_without_charts("--output")
        _prepare(output, name, quick)
    return carry_out(
        lambda on_progress: reproduce.run(
            entry, data=data, quick=quick, on_progress=on_progress, command=shlex.join(words)
        ),
        output=output,
        report=report,
        as_json=as_json,
    )


def carry_out(
    run: Callable[[Callable[[reproduce.Step], None]], reproduce.Outcome],
    *,
    output: Path | None,
    report: Path | None = None,
    as_json: bool = False,
) -> int:
    """Run a function with progress, print its outcome, and write it. Returns the exit status."""
    said = time.monotonic()

    def each_half_minute(_: reproduce.Step) -> bool:
        nonlocal said
        if time.monotonic() - said < 30.0:
            return False
        said = time.monotonic()
        return True

    live = LiveLine(_parts, each_half_minute)
    try:
        outcome = run(live)
    finally:
        live.close()
    # Printed before files are written, which may fail on a full disk.
    print(json.dumps(outcome.to_dict()) if as_json else as_text(outcome, shutil.get_terminal_size((120, 24)).columns))
    sys.stdout.flush()
    failed: list[str] = []
    if report is not None or output is not None:
        from ..reproduce.pages import write_files

        written, failed = write_files(outcome, output, report)
        for line in [f"wrote {path}" for path in written] + [f"sureline: {sentence}" for sentence in failed]:
            print(line, file=sys.stderr)
    return 1 if outcome.is_empty or failed else 0


def _file(name: str | None) -> Path | None:
    """The path if NAME is a TOML file; None if it is a name of --list."""
    return Path(name) if name is not None and name.endswith(".toml") else None


def _entry(name: str | None, seed: int | None, runs: int | None) -> reproduce.Entry:
    """The entry of a name or a file, with other seeds and numbers of runs if given."""
    file = _file(name)
    if file is not None and not file.is_file():
        raise click.UsageError(f"There is no file {name!r}.")
    try:
        entry = reproduce.entry(_known(name)) if file is None else reproduce.read_entry(file)
        return reproduce.varied(entry, seed=seed, runs=runs)
    except (ValueError, OSError) as error:
        raise click.UsageError(str(error)) from None


def _known(name: str | None) -> str:
    """The name of an entry, in upper or lower case."""
    known = reproduce.names()
    if name is None:
        raise click.UsageError(f"Name one of {', '.join(known)}.")
    if name.lower() in known:
        return name.lower()
    near = difflib.get_close_matches(name.lower(), known, 1)
    meant = f"did you mean {near[0]}? There are" if near else "there are"
    raise click.UsageError(f"There is no {name!r}; {meant} {', '.join(known)}.")


def _refuse_outputs(
    entry: reproduce.Entry, file: Path | None, data: Path | None, report: Path | None, output: Path | None
) -> None:
    """Refuse to overwrite an entry's data, its own file, or one output by another."""
    from ..reproduce.data import find

    name = entry.name
    read = [find(data, one) for each in entry.data_sets for one in each.files]
    outputs = {} if report is None else {"--report": report}
    if output is not None and output.is_dir():
        there = {output / f"{name}.json", output / f"{name}.md", *output.glob(f"{glob.escape(name)}-*.svg")}
        if report is not None and report.name.startswith(f"{name}-") and report.suffix == ".svg":
            there.add(output / report.name)  # a picture may have the same name
        outputs |= {f"--output, {path.name}": path for path in sorted(there)}
    refuse_outputs([path for path in [file, *read] if path is not None], outputs)


def _prepare(output: Path, name: str, quick: bool) -> None:
    from ..reproduce.pages import prepare

    try:
        prepare(output, name, quick=quick)
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--output") from None


def _list(as_json: bool) -> None:
    entries = [reproduce.entry(name) for name in reproduce.names()]
    if as_json:
        keys = ("name", "title", "paper", "where", "shows")
        print(json.dumps([{key: getattr(entry, key) for key in keys} for entry in entries]))
        return
    paper, width = None, max(len(entry.name) for entry in entries)
    for entry in entries:
        if entry.paper != paper:
            print(("\n" if paper else "") + entry.paper)
            paper = entry.paper
        print(f"  {entry.name:<{width}}  {entry.where}: {entry.title}")


def _parts(step: reproduce.Step) -> list[str]:
    left = step.seconds_left
    return [f"{step.done / step.total:.0%}", step.what, *([] if left is None else [f"about {clock(left)} left"])]
