"""The page of a race: who took part, who left and why, and the share of each survivor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..evaluate.charts import Axis, Bar, Bars, Chart, Series
from ..learners.race.verdict import Verdict
from ..training import race_words
from ..training.words import count, percent
from .blocks import (
    Block,
    Cell,
    Code,
    Column,
    Command,
    Notice,
    Paragraph,
    Picture,
    Pictures,
    Row,
    Section,
    Strong,
    Table,
)
from .pages import page, write_page


def race_report(verdict: Verdict, metric: str, command: str, warnings: Sequence[str] = ()) -> str:
    """The page as HTML; the same for the same race. It begins with the `warnings`."""
    told = race_words.to_dict(verdict, metric)
    pictures = [picture for picture in (_shares(told), _losses(told)) if picture is not None]
    blocks: list[Block] = [
        *(Notice([Strong("The data: "), said], "bad") for said in warnings),
        Paragraph(race_words.paragraph(verdict), lead=True),
        *([Pictures(pictures)] if pictures else []),
    ]
    return page(
        "The model, and the race it comes from",
        [
            Section("", blocks),
            Section("The candidates", [_table(told)], "candidates"),
            Section("How this was found", [Command(command, "This page was made by"), _rule(told)], "how"),
        ],
        kicker="sureline train",
        subtitle=f"{count(told['tried'])} settings, {count(told['rows'])} rows, judged by the {_judge(metric)}",
    )


def write_race_report(
    verdict: Verdict, metric: str, command: str, path: str | Path, warnings: Sequence[str] = ()
) -> None:
    """Write the page to a file."""
    write_page(path, race_report(verdict, metric, command, warnings))


def _judge(metric: str) -> str:
    return {"log_loss": "log loss", "brier": "Brier score", "auc": "area under the ROC curve"}.get(metric, "error")


def _shares(told: dict[str, Any]) -> Picture | None:
    if not told["decided"]:
        return None
    voting = [(one["share"], _name(k, one)) for k, one in enumerate(told["members"]) if one["share"] > 0]
    bars = [Bar(name, 100 * share) for share, name in sorted(voting, reverse=True)]
    return Picture(
        Bars("What each member contributes", "share of the committee's score in %", bars),
        "What each member contributes",
        "The weighted scores of these candidates are combined into the model that was written. In brackets: the number "
        "of the candidate.",
    )


def _name(place: int, one: dict[str, Any]) -> str:
    return f"{one['options'].split()[0]} ({place + 1})"


def _losses(told: dict[str, Any]) -> Picture | None:
    looked = [one for one in told["members"] if one["loss"] is not None]
    groups = (
        ("in the model", 0, [one for one in looked if one["share"] > 0]),
        ("to the end, without a vote", 1, [one for one in looked if one["left"] is None and one["share"] == 0]),
        ("left on the way", None, [one for one in looked if one["left"] is not None]),
    )
    series = [
        Series(
            name,
            [float(one["left"] or told["rows"]) for one in some],
            [one["loss"] for one in some],
            style,
            line=False,
            notes=[_note(one) for one in some],
        )
        for name, style, some in reversed(groups)
        if some
    ]
    if not series:
        return None
    return Picture(
        Chart(
            "How long candidates stayed, and their losses",
            Axis("rows after which it was dropped, or the end", log=True, whole=True),
            Axis("loss at the last look"),
            series,
            description="A point for each candidate: how far it came, and its loss on predictions before learning.",
        ),
        "How long candidates stayed, and their losses",
        "Lower is better. Losses of different looks cannot be compared: each is divided by the lowest at that look.",
    )


def _note(one: dict[str, Any]) -> str:
    return f"{one['options']}: {one['loss']:.4g}" + (f", {one['why']}" if one["why"] else "")


def _table(told: dict[str, Any]) -> Table:
    best = told["best"]["options"]
    rows = [
        Row(
            [
                Cell(str(place + 1), place),
                Cell([Code(one["options"])], best=one["options"] == best and told["decided"]),
                Cell("" if one["loss"] is None else f"{one['loss']:.4g}", one["loss"]),
                Cell("" if one["left"] is None else count(one["left"]), one["left"]),
                Cell(one["why"] or ""),
                Cell(percent(one["share"]) if one["share"] else "", one["share"]),
            ],
            marked=one["share"] > 0,
            pale=one["left"] is not None,
        )
        for place, one in sorted(enumerate(told["members"]), key=lambda one: _rank(one[1]))
    ]
    columns = [
        Column("number", True),
        Column("setting"),
        Column("loss", True, "at the last look"),
        Column("left after", True, "rows"),
        Column("why"),
        Column("share", True, "of the votes"),
    ]
    return Table(columns, rows, "All that raced", sortable=True)


def _rank(one: dict[str, Any]) -> tuple[float, bool, float]:
    return -one["share"], one["left"] is not None, one["loss"] or 0.0


def _rule(told: dict[str, Any]) -> Paragraph:
    return Paragraph(told["rule"], quiet=True)
