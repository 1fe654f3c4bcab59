"""Results of tournaments to make reports of: real learners over small generated data, one after the other."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import sureline
from sureline.datasets import make_mail
from sureline.training.result import Run, TournamentResult

COMPARED = (
    *("Perceptron", "PA", "ROMMA", "OGD", "CW", "AROW", "NAROW", "NHERD", "SCW"),
    *("FOBOS", "AdaRDA", "FTRL", "FSOL", "SSOL"),
)


@cache
def mail(n: int = 3000, n_classes: int = 2) -> tuple[Any, np.ndarray, list[str]]:
    texts, labels = make_mail(n, noise=0.04, random_state=7)
    words = CountVectorizer()
    X = words.fit_transform(texts).astype(np.float64)
    y = np.array(labels)
    if n_classes > 2:
        rng = np.random.default_rng(0)
        y = np.array([f"{label}-{k}" for label, k in zip(y, rng.integers(0, n_classes // 2, n), strict=True)])
    return X, y, words.get_feature_names_out().tolist()


def points(n: int, octave: int) -> list[int]:
    """1, 2, 4, ... and, later on, so many in an octave; with one in an octave from 16 on."""
    found = sorted({min(n, round(2 ** (k / octave))) for k in range(octave * (n.bit_length() + 1))})
    return [p for p in found if p >= 64 or (p & (p - 1) == 0 and (octave > 1 or p >= 16))]


def wilson(mistakes: int, n: int) -> list[float]:
    z, p = 1.96, mistakes / n
    middle, half = (p + z * z / 2 / n), z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    return [max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))]


def run_of(estimator: Any, X: Any, y: np.ndarray, names: list[str], *, octave: int = 8) -> Run:
    """An estimator over these rows, as a tournament would tell of it."""
    estimator = estimator.__class__(**estimator.get_params())
    classes = sorted(set(y.tolist()))
    n = len(y)
    curve: dict[str, list[Any]] = {"examples": [], "error": []}
    bins: list[list[float]] = [[0.0, 0.0, 0.0] for _ in range(10)]
    sure = hasattr(estimator, "confidence")
    seconds, start = 0.0, 0
    for stop in points(n, octave):
        if sure and start >= 256:
            for c, right in zip(
                estimator.confidence(X[start:stop]), estimator.predict(X[start:stop]) == y[start:stop], strict=True
            ):
                k = min(int((c - 0.5) * 20), 9)
                bins[k] = [bins[k][0] + c, bins[k][1] + right, bins[k][2] + 1]
        began = time.perf_counter()
        estimator.partial_fit(X[start:stop], y[start:stop], classes=classes)
        seconds += time.perf_counter() - began
        curve["examples"].append(stop)
        curve["error"].append(estimator.n_mistakes_ / stop)
        start = stop
    tally = estimator.progressive_
    error = estimator.n_mistakes_ / n
    defaults = type(estimator)().get_params()
    set_ = {k: v for k, v in estimator.get_params().items() if v != defaults[k]}
    kind = type(estimator).__name__
    name = f"{kind}({', '.join(f'{k}={v!r}' for k, v in set_.items())})" if set_ else kind
    recalls = 1 - tally.mistakes / np.maximum(tally.seen, 1)
    variance = float((recalls * (1 - recalls) / np.maximum(tally.seen, 1)).sum()) / len(classes) ** 2
    options = " ".join(f"--{k} {v}" for k, v in set_.items())
    return Run(
        name=name,
        algorithm=kind,
        parameters=set_,
        all_parameters=estimator.get_params(),
        normalize="none",
        examples=n,
        mistakes=estimator.n_mistakes_,
        error=error,
        error_se=math.sqrt(error * (1 - error) / n),
        error_interval=wilson(estimator.n_mistakes_, n),
        balanced_accuracy=float(tally.balanced_accuracy),
        balanced_accuracy_se=math.sqrt(variance),
        score=error,
        score_se=math.sqrt(error * (1 - error) / n),
        updates=estimator.n_updates_,
        nonzeros=estimator.nonzero_,
        features=X.shape[1],
        seconds=seconds,
        model_bytes=16 * X.shape[1],
        curve=curve,
        reliability=[{"confidence": c / k, "accuracy": r / k, "count": int(k)} for c, r, k in bins if k] or None,
        top_features=_top(estimator, names, classes),
        train_command=f"sureline train mail.txt.zst --algorithm {kind.lower()} {options} --model best.sureline",
    )


def _top(estimator: Any, names: list[str], classes: list[str]) -> list[dict[str, Any]]:
    weights = np.asarray(estimator.coef_)
    order = np.argsort(-np.abs(weights), axis=None, kind="stable")[:20]
    found = []
    for head, column in zip(*np.unravel_index(order, weights.shape), strict=True):
        variances = estimator._state.weight_variances(np.array([column + 1]), int(head))
        found.append(
            {
                "name": names[column],
                "column": int(column),
                "weight": float(weights[head, column]),
                "std": None if variances is None else float(np.sqrt(variances[0])),
                "class": classes[head] if len(classes) > 2 else None,
            }
        )
    return found


def result_of(runs: list[Run], X: Any, y: np.ndarray, **changed: Any) -> TournamentResult:
    labels, counts = np.unique(y, return_counts=True)
    finished = sorted((run for run in runs if run.status == "finished"), key=lambda run: run.error or 0)
    ties = [
        run.name
        for run in finished[1:]
        if (run.error or 0) - (finished[0].error or 0)
        < 1.5 * math.hypot(run.error_se or 0, finished[0].error_se or 0) / 2
    ]
    told = {
        "version": "0.1.0",
        "date": "2026-11-15T22:45:01+00:00",
        "command": "sureline compare mail.txt.zst --report report.html",
        "metric": "error",
        "seconds": sum(run.seconds for run in runs) * 1.3,
        "memory_bytes": 40_000_000,
        "stream": {
            "paths": ["/data/mail.txt.zst"],
            "rows": int(X.shape[0]),
            "columns": int(X.shape[1]),
            "nonzeros": int(X.nnz),
            "skipped_lines": 0,
            "classes": [str(label) for label in labels.tolist()],
            "class_counts": counts.tolist(),
            "complete": True,
            "problem": None,
        },
        "runs": runs,
        "best": finished[0].name if finished else None,
        "ties": ties,
    }
    return TournamentResult(**(told | changed))


def read(told: dict[str, Any]) -> TournamentResult:
    """The result that `to_dict` told of."""
    return TournamentResult(**{**told, "runs": [Run(**run) for run in told["runs"]]})


@cache
def compared(n: int = 2000) -> TournamentResult:
    """Fourteen learners, as they are."""
    X, y, names = mail(n)
    return result_of([run_of(getattr(sureline, kind)(), X, y, names) for kind in COMPARED], X, y)


@cache
def few(n_classes: int = 2) -> TournamentResult:
    """Three learners."""
    X, y, names = mail(1500, n_classes)
    return result_of([run_of(getattr(sureline, kind)(), X, y, names) for kind in ("PA", "AROW", "SSOL")], X, y)


def _dropped(run: Run) -> Run:
    """The run as it was at the last point but one of its curve."""
    n, error = run.curve["examples"][-2], run.curve["error"][-2]
    mistakes = round(n * error)
    return replace(
        run,
        status="dropped",
        reason="behind the leader by more than chance allows",
        examples=n,
        mistakes=mistakes,
        error=error,
        error_se=math.sqrt(error * (1 - error) / n),
        error_interval=wilson(mistakes, n),
        score=error,
        curve={"examples": run.curve["examples"][:-1], "error": run.curve["error"][:-1]},
    )


@cache
def tuned(n: int = 600) -> TournamentResult:
    """The 99 settings of SCW; those that are behind after a while were dropped."""
    X, y, names = mail(n)
    settings = [
        sureline.SCW(C=2.0**k, eta=eta)
        for k in range(-5, 6)
        for eta in (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    ]
    whole = [run_of(scw, X, y, names, octave=1) for scw in settings]
    behind = sorted(whole, key=lambda run: run.error or 0)[60:]
    runs = [_dropped(run) if run in behind else run for run in whole]
    return result_of(
        runs,
        X,
        y,
        command="sureline tune mail.txt.zst --algorithm scw --report report.html",
        rules="After 256, 512, ... examples a setting is dropped that is behind the leader by more than chance allows.",
    )
