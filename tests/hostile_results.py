"""Results of tournaments that are odd, or that want to harm: for the tests of the report."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import tournaments

from sureline.training.result import Run, TournamentResult

HOSTILE = "</script><img src=x onerror=alert(1)>"
LONG = "W" * 300


@cache
def hostile_result() -> TournamentResult:
    """Names that are HTML, that are endless, that no file can be written with."""
    result = tournaments.few()
    names = (HOSTILE, LONG, "\N{HIRAGANA LETTER A}" * 60, "\x00\x1b[31m\u202eabc\ud800", "\"' & <!--", "")
    features = [{**f, "name": names[k % len(names)]} for k, f in enumerate(result.runs[1].top_features)]
    runs = [
        replace(result.runs[0], name=HOSTILE + "\x00\u202eabc\ud800", train_command=f"sureline train '{HOSTILE}'"),
        replace(result.runs[1], name=LONG, parameters={"r": HOSTILE}, top_features=features, train_command=LONG),
        replace(result.runs[2], name="x " * 150, algorithm=HOSTILE, status="failed", reason=HOSTILE),
    ]
    stream = {**result.stream, "paths": [f"/x/{HOSTILE}.svm", f"/y/{LONG}"], "classes": [HOSTILE, LONG]}
    return replace(
        result,
        runs=runs,
        best=LONG,
        ties=[runs[0].name],
        command=f"sureline compare {LONG} '{HOSTILE}'",
        rules=HOSTILE,
        stream={**stream, "problem": HOSTILE},
    )


@cache
def odd_results() -> list[tuple[str, TournamentResult]]:
    """Nothing went as one would like."""
    usual = tournaments.few()
    facts: dict[str, Any] = dict(usual.stream)
    failed = Run(name="AROW(r=1e-300)", algorithm="AROW", status="failed", reason="A step overflowed at row 17.")
    none: dict[str, Any] = {**facts, "rows": 0, "columns": 0, "nonzeros": 0, "classes": [], "class_counts": []}
    none |= {"complete": False, "problem": "mail.txt.zst: there are no examples"}
    without = {"error": 0.0, "mistakes": 0, "error_se": 0.0, "error_interval": [0.0, 0.0026], "score": 0.0}
    perfect = [
        replace(run, **without, curve={**run.curve, "error": [0.0] * len(run.curve["error"])}) for run in usual.runs
    ]
    one_class = {**facts, "classes": ["spam"], "class_counts": [1500], "problem": "only one class came"}
    broken = {**facts, "complete": False, "skipped_lines": 12, "problem": "mail.txt.zst, line 1,501: no label"}
    by_cost = [replace(run, cost=0.5 * k + 0.1, cost_se=0.01, score=0.5 * k + 0.1) for k, run in enumerate(usual.runs)]
    balanced = [
        replace(
            run,
            score=run.balanced_accuracy,
            score_se=run.balanced_accuracy_se,
            curve={**run.curve, "score": [1 - error for error in run.curve["error"]]},
        )
        for run in usual.runs
    ]
    leader = max(balanced, key=lambda run: run.score or 0).name
    first = usual.runs[0]
    return [
        ("one", replace(usual, runs=[first], best=first.name, ties=[])),
        ("perfect", replace(usual, runs=perfect, best=perfect[0].name, ties=[run.name for run in perfect[1:]])),
        ("failed", replace(usual, runs=[first, failed], best=first.name, ties=[], stream=broken)),
        ("unfinished", replace(usual, runs=[failed, replace(failed, name="B")], best=None, ties=[])),
        ("empty", replace(usual, runs=[Run(name="PA", algorithm="PA")], best=None, ties=[], stream=none)),
        ("nothing", replace(usual, runs=[], best=None, ties=[], stream=none)),
        ("one class", replace(usual, runs=perfect, best=None, ties=[], stream=one_class)),
        ("cost", replace(usual, metric="cost", runs=by_cost, best=by_cost[0].name, ties=[])),
        ("balanced", replace(usual, metric="balanced_accuracy", runs=balanced, best=leader, ties=[])),
    ]
