"""The command that a tournament tells of makes the learner that it tells of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sureline
from sureline import cli
from sureline.learners.catalogue import LEARNERS
from sureline.training.commands import options_of

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in LEARNERS),
    ("SCW", {"C": 0.5, "eta": 0.7, "variant": "II", "fit_intercept": False}),
    ("SCW", {"covariance": "full", "normalize": "none"}),
    ("AROW", {"average": True, "r": 2.0}),
    ("AROW", {"average": False}),
    ("PA", {"class_weight": {"ham": 2.0, "spam": 0.25}}),
    ("PA", {"class_weight": "balanced", "multi_class": "ovr"}),
    ("CPA", {"cost": (3.0, 1.0)}),
    ("CSOGD", {"cost": "balanced", "form": "margin", "power_t": 0.0}),
    ("PAUM", {"margin_pos": -2.0, "margin_neg": 0.5}),
    ("FTRL", {"normalize": "none"}),
    ("FSOL", {"max_nonzero": 7}),
    ("AROW", {"dtype": "float32"}),
    ("BCW", {"q": 2}),
]


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=lambda one: str(one))
def test_the_options_make_the_learner(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    learner = LEARNERS[name](**settings)
    words = options_of(learner)
    assert words is not None
    rows, model = tmp_path / "rows.csv", tmp_path / "m"
    labels = ("1.5", "2.5") if name.endswith("Regressor") else ("ham", "spam")
    rows.write_text("label,a,b\n" + f"{labels[0]},1,0\n{labels[1]},0,1\n" * 20)
    more = ["--bits", "8", "--quiet", *(["--labels", "ham,spam"] if labels[0] == "ham" else [])]
    assert cli.run(["train", str(rows), *words, "--model", str(model), *more]) == 0
    made = sureline.load(model)
    assert type(made).__name__ == type(learner).__name__
    told = learner.parameters()
    found = made.parameters()
    assert {k: found[k] for k in told if k not in ("bits", "growing")} == {
        k: v for k, v in told.items() if k not in ("bits", "growing")
    }


@pytest.mark.parametrize("settings", [{"shuffle": True}, {"class_weight": {"a,b": 2.0}}, {"class_weight": {}}])
def test_what_the_command_line_cannot_say_has_no_command(settings: dict[str, Any]) -> None:
    assert options_of(LEARNERS["PA"](**settings)) is None


def test_defaults_are_left_out_unless_they_were_given() -> None:
    learner = LEARNERS["Perceptron"]()
    assert options_of(learner)[:2] == ["--algorithm", "perceptron"]  # type: ignore[index]
    assert "--multi-class" not in options_of(learner)  # type: ignore[operator]
    given = options_of(learner, ["multi_class"])
    assert given is not None
    assert given[given.index("--multi-class") + 1] == "native"
