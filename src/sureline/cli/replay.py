"""``sureline replay``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..learners.saving import write_learner
from ._packages import refuse_without
from ._paths import FileCommand, Read, ReadFolder, Written, refuse_outputs


@click.command("replay", cls=FileCommand, short_help="Repeat past answers of a service, bit for bit.")
@click.argument("state", type=ReadFolder())
@click.argument("requests", required=False, metavar="[REQUESTS]", type=Read())
@click.option("--model", "name", metavar="NAME", help="With --version: the model to write. [default: none]")
@click.option("--version", metavar="VERSION", help="Version whose model to write, as in answers.")
@click.option("--output", type=Written(), help="The file for that model.")
def command(state: Path, requests: Path | None, name: str | None, version: str | None, output: Path | None) -> None:
    """Repeat the answers to REQUESTS from the --state of a service, which may be running.

    REQUESTS is a file of JSON lines: {"model": NAME, "request": what was sent, "answer": what came back}. Each answer
    is written as a line, in the order of versions. The exit status is 1 if one differs in any bit from what came back.

    Or write the model of a version: --model NAME --version VERSION --output FILE.
    """
    refuse_without("msgspec")
    from ..serve.replay import asked_of, model_at, replayed

    writes = (name, version, output)
    if (requests is None) == (None in writes) or (requests is not None and any(one is not None for one in writes)):
        raise click.UsageError("Name REQUESTS, or all of --model, --version and --output.")
    if name is not None and version is not None and output is not None:
        refuse_outputs((path for path in state.rglob("*") if path.is_file()), {"--output": output})
        write_learner(output, model_at(state, name, version))
        return
    assert requests is not None
    with requests.open("rb") as file:
        asked = asked_of(file, str(requests))
    different: list[int] = []
    known = 0
    for one in replayed(state, asked, str(requests)):
        click.echo(one.answer)
        known += one.same is not None
        if one.same is False:
            different.append(one.line)
    if different:
        lines = ", ".join(map(str, sorted(different)[:10]))
        raise click.ClickException(
            f"{len(different):,} of {known:,} answers are not what came back: line {lines} of {requests}."
        )
    print(f"sureline replay: {len(asked):,} answers, {known:,} of them compared and the same", file=sys.stderr)
