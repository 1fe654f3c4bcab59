"""``sureline evaluate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..evaluate import Evaluation, Residuals, error_against_coverage, reliability
from ..evaluate.charts import SUFFIXES, Panels
from ..learners.learner import ClassLearner
from ..learners.regression import TargetLearner
from ..learners.saving import read_learner
from ..stream import Stream
from ._options import (
    data_argument,
    json_option,
    model_option,
    opened,
    reading_arguments,
    reading_options,
    refuse_without_charts,
)
from ._parameters import Cost
from ._paths import FileCommand, Written
from ._words import label_in_words


@click.command("evaluate", cls=FileCommand, short_help="Measure a model on labelled rows.")
@data_argument
@model_option
@click.option(
    "--cost", type=Cost(), help="Cost of a missed positive and of a false alarm, such as 10,1. [default: 1,1]"
)
@click.option(
    "--plot",
    "picture",
    type=Written(),
    help="Draw accuracy against confidence, and error against coverage, to a .png, .svg, .pdf or .html file.",
)
@json_option
@reading_options(of_model=True)
def command(
    data: tuple[str, ...], model_path: Path, cost: Any, picture: Path | None, as_json: bool, **options: Any
) -> None:
    """Predict labelled rows and measure the model: error, balanced accuracy, AUC, cost, calibration.

    A regressor is measured by mean squared error, its root, mean absolute error and R2.
    """
    if cost == "balanced":
        raise click.BadParameter("a cost is two numbers here, such as 10,1.", param_hint="--cost")
    if picture is not None:
        refuse_without_charts("--plot")
        if picture.suffix.lower() not in SUFFIXES:
            raise click.BadParameter(
                f"{picture} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.", param_hint="--plot"
            )
    model = read_learner(model_path)
    source = opened(data, dtype=str(model.learner.model.dtype), **reading_arguments(options, model.input_options))
    model.learner.origin.refuse_other(source)
    learner = model.learner
    if isinstance(learner, TargetLearner):
        if cost is not None:
            raise click.BadParameter(
                f"a cost is for classifiers, and {type(learner).__name__} predicts numbers.", param_hint="--cost"
            )
        if picture is not None:
            raise click.BadParameter(
                f"confidences are of classifiers, and {type(learner).__name__} predicts numbers.", param_hint="--plot"
            )
        result = _residuals(learner, source)
    else:
        assert isinstance(learner, ClassLearner)
        result = _evaluation(learner, source, cost, compact=model.compact)
        if picture is not None:
            Panels("", [reliability(result), error_against_coverage(result)], [400, 400]).save(picture)
    if source.faults.count:
        result["skipped_lines"] = source.faults.count
    print(json.dumps(result) if as_json else _in_words(result))


def _evaluation(
    learner: ClassLearner, source: Stream, cost: tuple[float, float] | None, *, compact: bool
) -> dict[str, Any]:
    evaluation = Evaluation(learner, compact=compact)
    for chunk in source:
        evaluation.add(chunk)
    _refuse_no_rows(evaluation.examples, source)
    if not evaluation.seen.any():
        example, known = next(iter(evaluation.unknown)), ", ".join(map(repr, evaluation.labels[:20]))
        raise click.ClickException(
            f"{', '.join(source.paths)}: none of the labels, such as {example!r}, is one of the model's, {known}."
        )
    return evaluation.result(cost)


def _residuals(learner: TargetLearner, source: Stream) -> dict[str, Any]:
    residuals = Residuals(learner, ", ".join(source.paths))
    for chunk in source:
        residuals.add(chunk)
    _refuse_no_rows(residuals.examples, source)
    return residuals.result()


def _refuse_no_rows(examples: int, source: Stream) -> None:
    if examples == 0:
        raise click.ClickException(f"{', '.join(source.paths)}: there are no labelled rows to measure the model on.")


_WORDS = {
    "error": "error",
    "balanced_accuracy": "balanced accuracy",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "precision": "precision",
    "f1": "F1",
    "auc": "AUC",
    "cost_per_example": "cost per example",
}
_OF_NUMBERS = {
    "mean_squared_error": "mean squared error",
    "root_mean_squared_error": "  its root",
    "mean_absolute_error": "mean absolute error",
    "r2": "R2",
}


def _in_words(result: dict[str, Any]) -> str:
    lines = [f"{'examples':<20}{result['examples']:>14,}"]
    if "mean_squared_error" in result:
        lines += [
            f"{words:<20}{result[name]:>14.6g}" for name, words in _OF_NUMBERS.items() if result[name] is not None
        ]
        if result["r2"] is None:
            lines.append("R2 is not defined: the targets are all the same")
        return "\n".join(lines + _left_out(result))
    lines.append(f"{'mistakes':<20}{result['mistakes']:>14,}")
    for name, words in _WORDS.items():
        if result.get(name) is not None:
            lines.append(f"{words:<20}{result[name]:>14.4f}")
        elif name == "precision" and name in result:
            lines.append(f"{words:<20}{'none':>14}")
    if result.get("auc_uncertainty"):
        lines.append(f"{'  AUC within':<20}{result['auc_uncertainty']:>14.2g}")
    for label, count in list(result.get("unknown_labels", {}).items())[:5]:
        lines.append(f"label {label_in_words(label)} is unknown to the model: {count:,} rows, all counted as mistakes")
    if never := result["never_predicted"]:
        missed = sum(c["examples"] for c in result["classes"] if c["label"] in never)
        shown = ", ".join(map(label_in_words, never[:10])) + (f" and {len(never) - 10} more" if len(never) > 10 else "")
        lines.append(f"the model never predicts {shown}: all {missed:,} rows with that label are mistakes")
    if len(result["classes"]) <= 20:
        lines += ["", f"{'label':<20}{'examples':>14}{'mistakes':>14}{'predicted':>14}"]
        lines += [
            f"{label_in_words(c['label']):<20.20}{c['examples']:>14,}{c['mistakes']:>14,}{c['predicted']:>14,}"
            for c in result["classes"]
        ]
    calibration = result.get("calibration")
    if calibration:
        lines += [
            "",
            "probabilities:",
            f"{'Brier score':<20}{calibration['brier']:>14.4f}",
            f"{'log loss':<20}{calibration['log_loss']:>14.4f}",
            f"{'calibration error':<20}{calibration['expected_error']:>14.4f}",
            "",
            f"{'confidence':<20}{'examples':>14}{'mean':>14}{'right':>14}{'95 %':>20}",
        ]
        for row in calibration["bins"]:
            bounds = f"{row['from']:.1f} to {row['to']:.1f}"
            interval = f"{row['low']:.4f} to {row['high']:.4f}"
            lines.append(
                f"{bounds:<20}{row['examples']:>14,}{row['confidence']:>14.4f}{row['right']:>14.4f}{interval:>20}"
            )
    return "\n".join(lines + _coverage(result) + _alarms(result) + _left_out(result))


def _coverage(result: dict[str, Any]) -> list[str]:
    """The lines about coverage: the error of the surest rows, and of the answers at promised errors."""
    curve, promises = result["coverage"]["curve"], result["coverage"]["promises"]
    lines = ["", f"{'if only the surest':<20}{'examples':>14}{'error':>14}{'95 %':>20}"]
    shown = [row for k, row in enumerate(curve) if k % 4 == 3 or k == len(curve) - 1]
    lines += [f"{row['coverage']:<20.1%}" + _answers(row) for row in shown]
    lines += ["", f"{'promised error':<20}{'answered':>14}{'error':>14}{'95 %':>20}"]
    return lines + [f"{row['max_error']:<20.1%}" + _answers(row) for row in promises]


def _answers(row: dict[str, Any]) -> str:
    if not row["answered"]:
        return f"{'0':>14}{'none':>14}"
    interval = f"{row['low']:.4f} to {row['high']:.4f}"
    return f"{row['answered']:>14,}{row['error']:>14.4f}{interval:>20}"


def _alarms(result: dict[str, Any]) -> list[str]:
    said = [alarm["says"] for alarm in result["alarms"][:3]]
    more = len(result["alarms"]) - 3
    said += [f"{more:,} more alarms: --json has them all."] if more > 0 else []
    return ["", *said] if said else []


def _left_out(result: dict[str, Any]) -> list[str]:
    skipped = result.get("skipped_lines")
    return ["", f"lines that could not be read and were left out: {skipped:,}"] if skipped else []
