"""Options, run and output that ``sureline compare`` and ``sureline tune`` share."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar, get_args

import click

from .. import stream
from ..learners.learner import Learner
from ..metrics import Z95
from ..models.tables import text_table
from ..stream import Label
from ..stream.options import LEAST_MEMORY
from ..training.advice import advise
from ..training.grid import Entry
from ..training.metric import Metric
from ..training.order import Asked, Order, decide
from ..training.result import MetricName, Run, TournamentResult
from ..training.result_of import result_of
from ..training.room import dtype_to_read
from ..training.tournament import Standing, Tournament
from ..training.train import BATCH
from ._help import Rare
from ._options import (
    Count,
    all_of,
    data_argument,
    json_option,
    opened,
    reading_arguments,
    reading_options,
    refuse_without_charts,
)
from ._parameters import Cost, shared_options
from ._paths import Written
from ._progress import Doublings, LiveLine, SlowStartNotice, clock
from ._signals import signals_to

F = TypeVar("F", bound=Callable[..., Any])


def tournament_options() -> Callable[[F], F]:
    """The options that both commands have."""
    options = [
        data_argument,
        click.option(
            "--metric",
            type=click.Choice(get_args(MetricName)),
            help="Metric that decides. [default: error; cost if --cost has two numbers; balanced_accuracy if it is "
            "balanced]",
        ),
        click.option(
            "--cost",
            type=Cost(),
            help="Cost of a mistake: balanced, or two numbers such as 10,1, for a missed positive and a false alarm. "
            "Two numbers need --labels. Cost-sensitive learners use it too. [default: none]",
        ),
        click.option(
            "--labels",
            help="All labels, separated by commas, the negative one first. [default: the sorted labels of the first "
            "rows, then others as they come]",
        ),
        click.option(
            "--memory",
            type=Count(1),
            help="Memory limit for all models together, in bytes, such as 500M or 8G. [default: half of the machine's]",
        ),
        click.option(
            "--batch",
            cls=Rare,
            type=click.IntRange(1),
            default=BATCH,
            show_default=True,
            metavar="ROWS",
            help="Rows of a batch, for batch learners (bcw, sbcw, fgm).",
        ),
        click.option(
            "--report",
            type=Written(),
            help="Write an HTML report, in one file. [default: none]",
        ),
        click.option(
            "--shuffle/--no-shuffle",
            default=None,
            help="Learn from the rows in random order. [default: if labels come in runs]",
        ),
        click.option("--quiet", is_flag=True, help="Show no progress."),
        json_option,
        reading_options(memory=False),
        shared_options(),
    ]
    return all_of(options)


class TournamentCommand:
    """A command from its options, those of `tournament_options`, to its output."""

    def __init__(
        self,
        data: Sequence[str],
        *,
        metric: str | None,
        cost: Any,
        labels: str | None,
        memory: int | None,
        batch: int,
        report: Path | None,
        shuffle: bool | None,
        quiet: bool,
        as_json: bool,
        **options: Any,
    ) -> None:
        self.data, self.memory, self.report, self.quiet, self.as_json = data, memory, report, quiet, as_json
        self.batch, self.shuffle = batch, shuffle
        options["memory"] = None if memory is None else max(memory, LEAST_MEMORY)  # the models may have less
        self.reading = reading_arguments(options)
        self.shared = {name: value for name, value in options.items() if value is not None}
        self.labels: list[Label] | None = None
        if labels is not None:
            self.labels = [stream.from_text(label.strip()) for label in labels.split(",")]
        self.cost = cost
        pair = cost if isinstance(cost, tuple) else None
        if metric == "cost" and pair is None:
            raise click.UsageError("--metric cost needs what a mistake costs, in two numbers: --cost 10,1.")
        if pair is not None and self.labels is None:
            raise click.UsageError("--cost with two numbers needs --labels, the negative one first.")
        by_cost = "error" if cost is None else "cost" if pair else "balanced_accuracy"
        self.metric = Metric(metric or by_cost, pair or (1.0, 1.0))  # type: ignore[arg-type]
        if report is not None:
            refuse_without_charts("--report")

    def parameters(self, kind: type[Learner]) -> dict[str, Any]:
        """Parameters of a learner that the options of the command set."""
        knows = self.cost is not None and "cost" in kind.__dataclass_fields__
        return {**self.shared, **({"cost": self.cost} if knows else {})}

    def run(self, entries: Sequence[Entry], *, race: bool, reliability: bool = True) -> Tournament:
        """The tournament, as far as it came."""
        dtype = dtype_to_read([entry.learner for entry in entries])
        source = opened(self.data, dtype=dtype, collect_names=True, **self.reading)
        # The first rows also decide the order, and may be long in coming.
        notice = SlowStartNotice(source, quiet=self.quiet, waits=any(entry.others for entry in entries))
        try:
            tournament = Tournament(
                entries,
                source,
                metric=self.metric,
                labels=self.labels,
                race=race,
                memory=self.memory,
                batch=self.batch,
                reliability=reliability,
                order=self._order(entries, source),
            )
        except stream.DataError:
            raise  # an error in the data is not a usage error
        except ValueError as error:
            notice.over()
            said = str(error).replace("with labels", "with --labels")
            raise click.UsageError(said.replace("one dtype.", "one dtype (--dtype float32).")) from None
        show = live_line(quiet=self.quiet)

        def begin(sentence: str) -> None:
            notice.over()
            show.say(f"{sentence}.")

        try:
            with signals_to(tournament.interrupt):
                tournament.run(on_begin=begin, on_progress=show)
        except KeyboardInterrupt:
            pass  # it says so itself
        except ValueError as error:  # too little memory
            raise click.ClickException(str(error).replace("(memory)", "(--memory)")) from None
        finally:
            notice.over()
            show.close()
        return tournament

    def _order(self, entries: Sequence[Entry], source: stream.Stream) -> Order:
        """The shuffled order that `train` would use, so that each model is the one `train` makes."""
        asked: Asked = "auto" if self.shuffle is None else self.shuffle
        try:
            with signals_to(_stop):
                return decide(source, entries[0].learner, asked)
        except KeyboardInterrupt:
            raise click.ClickException("stopped before the first row was learned from.") from None

    def tell(
        self,
        tournament: Tournament,
        table: Callable[[TournamentResult], str],
        model: Callable[[TournamentResult], None] | None = None,
    ) -> int:
        """Print and write the result, `model` before the report. Returns the exit status, 1 if rows are left."""
        result = result_of(tournament, shlex.join(["sureline", *sys.argv[1:]]))
        problem = result.stream["problem"]
        if self.as_json:
            print(json.dumps(result.to_dict()))
        else:
            print(table(result))
        sys.stdout.flush()
        try:
            if model is not None:
                model(result)
        finally:  # an error of the report must not cost the model, nor the reverse
            if self.report is not None:
                from ..report import write_report

                write_report(result, self.report)
        if problem is not None:
            print(f"sureline: {' '.join(problem.split())}", file=sys.stderr)
        return 0 if result.stream["complete"] else 1


def live_line(*, quiet: bool = False, out: TextIO | None = None) -> LiveLine[Standing]:
    """The standings: live on a terminal, otherwise at 1, 2, 4, ... examples."""
    lines = Doublings()
    return LiveLine(_parts, lambda standing: lines.reached(standing.examples), quiet=quiet, out=out)


def _parts(standing: Standing) -> list[str]:
    parts = [
        f"{standing.examples:,} examples",
        f"{standing.examples / max(standing.seconds, 1e-9):,.0f}/s",
        f"{standing.alive} model{'s' if standing.alive != 1 else ''}",
    ]
    if standing.leader is not None and standing.score is not None:
        parts.append(f"{standing.leader} leads with {standing.score:.4f}")
    if standing.share:
        left = standing.seconds * (1 - standing.share) / standing.share
        parts += [f"{standing.share:.0%}", f"{clock(left)} left"]
    return parts


def _stop() -> None:
    raise KeyboardInterrupt


# -- tables --------------------------------------------------------------------------------------------------


def table(result: TournamentResult, runs: Sequence[Run]) -> str:
    """A line for each run."""
    scored = result.metric != "error"
    head = [
        "learner",
        *([result.metric.replace("_", " ")] if scored else []),
        "error",
        "95 %",
        "frozen",
        "mistakes",
        "nonzeros",
    ]
    rows = [[*head, "updates", "seconds", ""]]
    for run in runs:
        known = run.error is not None and run.error_interval is not None
        row = [run.name]
        if scored:
            row.append(f"{run.score:.4f} ± {Z95 * (run.score_se or 0):.4f}" if run.score is not None else "-")
        row.append(f"{run.error:.4f}" if known else "-")
        row.append(f"{run.error_interval[0]:.4f} to {run.error_interval[1]:.4f}" if known else "-")  # type: ignore[index]
        row.append("-" if run.frozen_error is None else f"{run.frozen_error:.4f}")
        row += [f"{run.mistakes:,}", "-" if run.nonzeros is None else f"{run.nonzeros:,}", f"{run.updates:,}"]
        remark = run.reason or "" if run.status == "finished" else f"{run.status}: {run.reason}"
        row += [f"{run.seconds:.2f}", remark]
        rows.append(row)
    return text_table(rows, align="<" + ">" * (len(rows[0]) - 2) + "<")


def advice(result: TournamentResult) -> list[str]:
    """The report's advice in sentences: which learner to use, and why."""
    told = advise(result)
    lines = [" ".join([told.headline, *told.reasons]), *([" ".join(told.remarks)] if told.remarks else [])]
    if told.run is not None and not result.stream["complete"]:
        rows = result.stream["rows"]
        lines.append(f"All this is by the first {rows:,} row{'s' if rows != 1 else ''}: the data were not read whole.")
    if told.run is not None and told.run.train_command is not None:
        lines.append(f"To train {told.run.name}: {told.run.train_command}")
    return lines
