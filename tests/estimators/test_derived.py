"""Estimators are made from learners: an algorithm's name is typed once, and few classes stand behind it."""

import importlib.util
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import clone

import sureline
from sureline.learners.catalogue import EVERY_LEARNER, IN_MEMORY, LEARNERS

ROOT = Path(__file__).parent.parent.parent
ESTIMATORS = sorted({*EVERY_LEARNER, *IN_MEMORY})


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_inherits_from_ten_of_our_classes_at_most(name: str) -> None:
    ours = [kind for kind in getattr(sureline, name).__mro__ if kind.__module__.startswith("sureline.")]
    assert len(ours) <= 10, ours


@pytest.mark.parametrize("name", sorted(EVERY_LEARNER))
def test_an_estimator_is_its_learner_for_scikit_learn(name: str) -> None:
    learner, estimator = EVERY_LEARNER[name], getattr(sureline, name)
    assert estimator is getattr(sureline.estimators, name)
    assert issubclass(estimator, learner)
    assert (estimator.__name__, estimator.__qualname__, estimator.__module__) == (name, name, "sureline.estimators")
    assert estimator.__doc__ == learner.__doc__
    assert inspect.signature(estimator) == inspect.signature(learner)
    model = estimator()
    assert list(model.get_params()) == sorted(model.parameters())
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert type(copy) is estimator
        assert copy.get_params() == model.get_params()


@pytest.mark.parametrize("name", sorted(EVERY_LEARNER))
def test_what_a_class_says_of_its_parameters_fits_them(name: str) -> None:
    kind = EVERY_LEARNER[name]
    defaults = kind().parameters()
    assert kind.algorithm
    assert re.search(r"\d{4}|Algorithm", kind.paper)
    assert all(defaults[parameter] != value for parameter, value in kind.published.items())
    kind(**kind.published).check_parameters()
    for parameter, values in kind.search_space.items():
        for value in values:
            kind(**{parameter: value}).check_parameters()


def test_names_are_listed_nowhere_but_in_their_classes() -> None:
    package = ROOT / "src" / "sureline"
    lists = [package / "__init__.py", package / "rules.py", package / "learners" / "catalogue.py"]
    for path in [*lists, *(package / "estimators").glob("*.py")]:
        code = re.sub(r'""".*?"""|#[^\n]*', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        code = re.sub(r'"[^"\n]* [^"\n]*"', "", code)  # messages may speak of learners
        assert not [name for name in EVERY_LEARNER if re.search(rf"\b{name}\b", code)], path


def test_a_class_is_all_that_a_name_takes(tmp_path: Path) -> None:
    """One that says which paper it is from has an estimator, a command and a model file."""
    data, model = tmp_path / "a.svm", tmp_path / "m.sureline"
    data.write_text("1 1:1\n-1 2:1\n" * 20)
    program = f"""
from dataclasses import dataclass
import sys
from sureline.learners import first_order

@dataclass(eq=False, repr=False)
class Rosenblatt(first_order.Perceptron):
    paper = "Rosenblatt 1958"

Rosenblatt.__module__ = first_order.__name__
first_order.Rosenblatt = Rosenblatt

import sureline
from sureline import cli
assert cli.run(["train", {str(data)!r}, "--algorithm", "rosenblatt", "--model", {str(model)!r}, "--quiet"]) == 0
assert "Rosenblatt" in sureline.__all__ and "Rosenblatt" in dir(sureline)
assert "sklearn" not in sys.modules
assert sureline.load({str(model)!r}).n_seen_ == 40
assert type(sureline.load({str(model)!r})) is sureline.Rosenblatt
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_names_are_there_without_scikit_learn() -> None:
    program = (
        "import sys, sureline; assert 'numpy' not in sys.modules; names = {*dir(sureline), *sureline.__all__}\n"
        "assert not {'sklearn', 'scipy'} & set(sys.modules); print(*sorted(names))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {*ESTIMATORS, "train", "tournament", "stream", "rules"} <= set(done.stdout.split())
    for name in ("Arow", "_AROW", "arow"):
        with pytest.raises(AttributeError, match=f"module 'sureline' has no attribute '{name}'"):
            getattr(sureline, name)


def test_every_rule_is_in_rules() -> None:
    from sureline import rules

    assert {"AROW", "SSOL", "Rule", "CoordinateRule", "Step", "Round"} <= set(rules.__all__)
    assert all(hasattr(rules, name) for name in rules.__all__)


def test_the_order_of_the_catalogue() -> None:
    assert list(LEARNERS)[:5] == ["Perceptron", "PA", "ROMMA", "ALMA", "OGD"]
    assert list(LEARNERS)[-3:] == ["BCW", "SBCW", "FGM"]


def test_what_is_generated_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generated", ROOT / "tools" / "generated.py")
    assert spec is not None
    assert spec.loader is not None
    generated = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generated)
    assert generated.outdated() == []
    assert any(generated.HEADER in path.read_text(encoding="utf-8") for path in generated.DOCUMENTS)
