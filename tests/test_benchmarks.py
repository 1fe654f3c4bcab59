"""The benchmarks call the package as it is: names that moved would stop them only on the day they are needed."""

import ast
import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_benchmark_imports_is_there(script: str) -> None:
    for node in ast.walk(ast.parse((BENCHMARKS / script).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sureline":
            module = importlib.import_module(node.module)
            assert [name.name for name in node.names if not hasattr(module, name.name)] == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_benchmarks_use_no_private_attribute_of_a_model(script: str) -> None:
    tree = ast.parse((BENCHMARKS / script).read_text())
    private = [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os", "sys"))
    ]
    assert private == []


def test_the_timed_pass_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    speed = importlib.import_module("speed")
    stream = speed.Stream("small", *speed.make_stream_like("rcv1", 200, random_state=0))
    stream.pass_over_rows(speed.AROW(dtype="float32", normalize="none"))


def test_the_page_on_confidences_is_made_from_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    confidence = importlib.import_module("confidence")
    sets = {one.name: one for one in confidence.all_sets(tmp_path)}
    task = confidence.Task(sets["breast cancer"], "PA", "defaults", 2000, tmp_path)
    found = confidence.measure(task)
    assert found == confidence.measure(task)  # from the cache
    assert 0 < found.ece < 0.2
    assert found.rows == 171
    along = confidence.run_along(confidence.Task(sets["abrupt drift"], "PA", "defaults", 600, tmp_path, late=True))
    assert [one.level for one in along] == list(confidence.LEVELS)
    page = confidence.page([found], along, "How.")
    assert f"| breast cancer | PA | defaults | 171 | {found.ece:.4f} |" in page
    assert "| abrupt drift | late | PA |" in page
