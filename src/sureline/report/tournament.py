"""The page of a tournament: the recommended learner, the reasons, and the measurements."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._inputs import clean
from ..training.advice import MEASURES, Advice, advise, called, ranked
from ..training.result import Run, TournamentResult
from ..training.words import (
    NOTHING,
    compact,
    count,
    duration,
    listed,
    number,
    percent,
    percent_range,
    sentence,
    shortened,
    size,
)
from .blocks import (
    Block,
    Cell,
    Column,
    Command,
    Fact,
    Facts,
    Notice,
    Paragraph,
    Picture,
    Pictures,
    Row,
    Section,
    Strong,
    Table,
    Words,
)
from .confidence_figures import coverage, reliability
from .pages import page, write_page
from .tournament_figures import Figures
from .tournament_tables import features_of, settings_of, table_of

_LONGEST_TITLE = 60  # letters


def write_report(result: TournamentResult, path: str | os.PathLike[str]) -> None:
    """Write the result of a tournament as one self-contained HTML file.

    Parameters
    ----------
    result : TournamentResult
    path : path
        A file there is replaced, once the new one is whole; if that fails, it stays as it was.

    Raises
    ------
    TypeError
        If there is no result to make it of.
    ImportError
        If jinja2 or Altair is not installed.
    WriteError
        If the file could not be written.
    """
    write_page(Path(path), report(result))


def report(result: TournamentResult) -> str:
    """The page as text, the same for the same result."""
    if not isinstance(result, TournamentResult):
        raise TypeError(
            "A report is made of a TournamentResult, which sureline.tournament gives. Got "
            f"{'None' if result is None else f'one of the type {type(result).__name__}'} instead."
        )
    advice = advise(result)
    figures = Figures(result, advice.run)
    sections = [
        Section("", [*_words(advice), *_start(result, advice.run)]),
        _pictures(figures),
        table_of(result, figures),
        _more_pictures(figures),
        settings_of(result, figures),
        _about(result),
    ]
    return page(
        _title(result),
        [section for section in sections if section.blocks],
        kicker=_kicker(result),
        subtitle=_subtitle(result),
        footer=f"sureline {result.version}, {_when(result.date)}.",
    )


# -- the beginning -------------------------------------------------------------------------------------------


def _title(result: TournamentResult) -> str:
    paths = result.stream["paths"]
    if not paths:
        return "Which learner to use"
    name = shortened(os.path.basename(paths[0]) or paths[0], _LONGEST_TITLE)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"Which learner to use for {name}{more}"


def _kicker(result: TournamentResult) -> str:
    n, algorithms = len(result.runs), len({run.algorithm for run in result.runs})
    if n == algorithms:
        return f"sureline · {n} {'learner' if n == 1 else 'learners'} compared"
    return f"sureline · {n} settings of {algorithms} {'learner' if algorithms == 1 else 'learners'} compared"


def _subtitle(result: TournamentResult) -> Words:
    stream = result.stream
    told = f"{count(stream['rows'])} examples"
    if stream["columns"]:
        told += f", {count(stream['columns'])} features"
    if stream["classes"]:
        n = len(stream["classes"])
        told += f", {n} {'class' if n == 1 else 'classes'}"
    return f"{told}, read once. Judged by {_judged_by(result.metric)}."


def _judged_by(metric: str) -> str:
    return {
        "error": "the share of wrong answers",
        "cost": "what the wrong answers cost",
        "balanced_accuracy": "balanced accuracy, in which every class counts the same",
        "log_loss": "the log loss of the calibrated probabilities",
        "brier": "the Brier score of the calibrated probabilities",
        "auc": "the area under the ROC curve",
    }[metric]


def _words(advice: Advice) -> list[Block]:
    first = Paragraph([Strong(advice.headline), " ", " ".join(advice.reasons)], lead=True)
    return [first, Paragraph(" ".join(advice.remarks))] if advice.remarks else [first]


def _start(result: TournamentResult, run: Run | None) -> list[Block]:
    blocks: list[Block] = list(_notices(result))
    if run is None:
        return blocks
    ratio = f"of {count(result.weights(run))} weights are not zero" if run.features else ""
    facts = [
        Fact("error", percent(run.error), f"95 %: {percent_range(*run.interval)}" if run.interval else ""),
        Fact("balanced accuracy", percent(run.balanced_accuracy), "the mean over the classes"),
        Fact("cost of an example", number(run.cost), "") if result.metric == "cost" else None,
        Fact("size of the model", count(run.nonzeros), ratio),
        Fact("time", duration(run.seconds), _rate(run)),
    ]
    blocks.append(Facts([fact for fact in facts if fact is not None], large=True))
    if run.train_command is not None:
        blocks.append(Command(run.train_command, "To get this model:"))
    return blocks


def _rate(run: Run) -> str:
    return f"{compact(float(f'{run.examples / run.seconds:.2g}'))} examples a second" if run.seconds > 0 else ""


def _notices(result: TournamentResult) -> list[Notice]:
    stream, notices = result.stream, []
    if stream["problem"]:
        notices.append(Notice([Strong("The data: "), sentence(stream["problem"])], "bad"))
    if not stream["complete"] and stream["rows"]:
        notices.append(
            Notice(
                "The data were not read to their end: everything here is about the first "
                f"{count(stream['rows'])} examples.",
                "warn",
            )
        )
    if stream["skipped_lines"]:
        n = stream["skipped_lines"]
        lines = "line could not be read and was" if n == 1 else "lines could not be read and were"
        notices.append(Notice(f"{count(n)} {lines} left out."))
    failed = [run for run in ranked(result) if run.status == "failed"]
    if failed:
        reason = f" ({sentence(failed[0].reason, '')})" if failed[0].reason and len(failed) == 1 else ""
        names = listed([called(run) for run in failed], 4)
        notices.append(Notice([Strong("Failed: "), f"{names}{reason}. The others went on."], "bad"))
    dropped = sum(run.status == "dropped" for run in result.runs)
    if dropped:
        notices.append(
            Notice(
                f"{count(dropped)} {'run was' if dropped == 1 else 'runs were'} clearly behind and dropped on the way; "
                "what is said of them is as of then.",
                "plain",
            )
        )
    return notices


# -- pictures ------------------------------------------------------------------------------------------------


def _pictures(figures: Figures) -> Section:
    found = figures.curves()
    return Section(found.figure.title if found else "", [found] if found else [], "curves")


def _more_pictures(figures: Figures) -> Section:
    grids: list[Picture] = figures.grids()
    sure = [reliability(figures), coverage(figures)]
    rest = [figures.against_sparsity(), figures.against_time(), *sure, figures.features()]
    pictures = [*grids, *(picture for picture in rest if picture is not None)]
    blocks: list[Block] = [Pictures(pictures)] if pictures else []
    return Section("A closer look", blocks + features_of(figures.recommended), "look")


# -- the end -------------------------------------------------------------------------------------------------


def _about(result: TournamentResult) -> Section:
    stream = result.stream
    blocks: list[Block] = [
        Command(result.command, "This page was made by"),
        Facts(
            [
                Fact("version", f"sureline {result.version}"),
                Fact("date", _when(result.date)),
                Fact("time for everything", duration(result.seconds)),
                Fact("memory for the models, at most", size(result.memory_bytes)),
                Fact("examples", count(stream["rows"]), _skipped(stream["skipped_lines"])),
                Fact("features", count(stream["columns"])),
                Fact("nonzero values", count(stream["nonzeros"]), _per_row(stream)),
                Fact("files", listed([clean(path) for path in stream["paths"]]) or NOTHING),
            ]
        ),
    ]
    if stream["classes"]:
        blocks.append(_classes(stream))
    if result.choice:
        blocks.append(Paragraph([Strong("The settings. "), result.choice]))
    if result.rules:
        blocks.append(Paragraph([Strong("The race. "), result.rules]))
    blocks.append(Paragraph(_method(result), quiet=True))
    return Section("How this was found", blocks, "how")


def _method(result: TournamentResult) -> str:
    return (
        "Every run saw the same examples in the same order, as far as it came. Each example was answered by the "
        "model as it was then, and learned from afterwards, so no example was answered by a model that had seen it. "
        f"Runs whose {MEASURES[result.metric]} cannot be told from the best, compared example by example at 95 %, "
        "count as equally good. One of those is recommended in place of the best if it is a point ahead, where "
        "halving the time, halving the number of nonzero weights, and saying how sure one is are a point each. "
        "Given the same files, the commands on this page give the same numbers again, times aside."
    )


def _classes(stream: Any) -> Table:
    total = sum(stream["class_counts"]) or 1
    rows = [
        Row([Cell(str(label)), Cell(count(n), n), Cell(percent(n / total), n)])
        for label, n in zip(stream["classes"], stream["class_counts"], strict=False)
    ]
    return Table([Column("class"), Column("examples", True), Column("share", True)], rows, "The classes")


def _skipped(n: int) -> str:
    return f"{count(n)} lines left out" if n else ""


def _per_row(stream: Any) -> str:
    return f"{number(stream['nonzeros'] / stream['rows'], 2)} in an example" if stream["rows"] else ""


def _when(date: str) -> str:
    """The date in readable form."""
    return clean(date).replace("T", " ").replace("+00:00", " UTC").replace("Z", " UTC").split(".")[0]
