"""Results of progressive evaluation: recovery after a drift, the table, the picture."""

import math
from pathlib import Path

import numpy as np
import pytest
from catalogue import stream

from sureline import AROW, ODCA, OGD, PA, SCW, Perceptron
from sureline.datasets import make_drift
from sureline.evaluate import Prequential, prequential


def made_up(errors: list[float], *, every: int = 10, window: int = 20, drifts: tuple[int, ...] = ()) -> Prequential:
    """A result with this windowed error."""
    values = np.array(errors)
    examples = every * np.arange(1, len(values) + 1)
    one = {"x": values}
    return Prequential(examples, one, one, {"x": 0}, {"x": 0.0}, {"x": None}, window, drifts)


def test_recovery() -> None:
    # Until 60 the window has examples from before the drift at 40: dips up to the peak do not count.
    result = made_up([0.5, 0.2, 0.1, 0.1, 0.11, 0.4, 0.3, 0.2, 0.12, 0.1, 0.3, 0.1])
    assert result.recovery("x", 40) == 50
    assert result.recovery("x", 40, 1.0) == 60
    assert result.recovery("x", 40, factor=2) == 40
    assert result.recovery("x", 40, factor=3) == 30
    assert result.recovery("x", 40, factor=5) == 0  # never beyond
    assert result.recovery("x", 49) == 41  # by the latest point before it, at 40
    assert math.isinf(result.recovery("x", 40, factor=0.5))
    # The peak is looked for while the window holds examples of the drift.
    slow = made_up([0.5, 0.2, 0.1, 0.1, 0.11, 0.12, 0.13, 0.2, 0.12, 0.3, 0.2, 0.1])
    assert slow.recovery("x", 40) == 0
    assert slow.recovery("x", 40, width=20) == 50
    assert slow.recovery("x", 40, width=40) == 80
    # Nothing counts that is after the next drift.
    assert result.recovery("x", 40, 1.0) == 60
    assert math.isinf(made_up(result.error["x"].tolist(), drifts=(40, 90)).recovery("x", 40, 1.0))
    # One point may be all that there is in the first window.
    assert made_up([0.1, 0.1, 0.5, 0.1], every=100, window=20).recovery("x", 200) == 200


def test_recovery_refuses_what_cannot_be_told() -> None:
    result = made_up([0.1] * 10, drifts=(40, 70))
    with pytest.raises(KeyError, match="no learner 'y' here, but 'x'"):
        result.recovery("y", 40)
    for arguments, message in [
        (("x", 10), "drift=10 must have window=20 examples before it"),
        (("x", 90), "up to the next drift or the end, 100"),
        (("x", 60), "up to the next drift or the end, 70"),
        (("x", 4.0), "drift must be an integer"),
        (("x", 40, 0), "factor must be a positive number. Got 0"),
        (("x", 40, math.nan), "factor must be a positive number"),
    ]:
        with pytest.raises(ValueError, match=message):
            result.recovery(*arguments)
    with pytest.raises(ValueError, match="There is no point of the curves up to drift=30"):
        made_up([0.1, 0.1], every=100).recovery("x", 30)


def test_who_forgets_recovers() -> None:
    """A constant rate is back soon after an abrupt drift, a rate that falls with the examples is not."""
    X, y = make_drift(20_000, 20, drifts=[10_000], severity=0.5, random_state=0)
    learners = {
        "constant": OGD(eta=0.05, power_t=0.0, normalize="none"),
        "falling": OGD(eta=1.0, power_t=1.0, normalize="none"),
        "AROW": AROW(r=0.1, normalize="none"),
    }
    result = prequential(learners, (X, y), window=1000, drifts=[10_000])
    quick = result.recovery("constant", 10_000)
    assert 0 < quick < 4000
    assert result.recovery("AROW", 10_000) > 2 * quick
    assert result.recovery("falling", 10_000) > 2 * quick


@pytest.mark.parametrize(
    ("shape", "rho"),
    [({"n_features": 20}, 0.1), ({"n_features": 1000, "n_nonzero": 30}, 1e-3)],
    ids=["dense", "sparse"],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_exponential_window_recovers_in_half_the_examples(shape: dict[str, int], rho: float, seed: int) -> None:
    """Of those that the infinite window needs, or of all that are left; and it was not much worse before."""
    X, y = make_drift(40_000, **shape, drifts=[20_000], random_state=seed)
    learners = {
        "infinite": ODCA(rho=rho, normalize="none"),
        "exponential": ODCA(rho=rho, window="exponential", beta=0.9998, normalize="none"),
    }
    result = prequential(learners, (X, y), window=2000, drifts=[20_000])
    quick, slow = (result.recovery(name, 20_000) for name in ("exponential", "infinite"))
    assert 0 < quick <= min(slow, 20_000) / 2
    before = {name: error[result.examples == 20_000] for name, error in result.windowed_error.items()}
    assert before["exponential"] < 1.5 * before["infinite"]


def test_table_and_columns() -> None:
    X, y = stream(100)
    result = prequential([AROW(normalize="none"), PA(normalize="none")], (X, y), window=30, every=20, drifts=[50])
    assert [row["learner"] for row in result.table()] == ["AROW", "PA"]
    row = result.table()[1]
    assert row["mistakes"] == result.estimators["PA"].n_mistakes_ == round(100 * row["error"])
    assert row["windowed_error"] == result.windowed_error["PA"][-1]
    assert 0 < row["seconds"] < 60
    columns = result.to_dict()
    assert {len(column) for column in columns.values()} == {2 * 6}
    assert columns["examples"][:6] == [20, 40, 50, 60, 80, 100]
    assert columns["learner"][5:7] == ["AROW", "PA"]
    assert columns["error"][6:] == result.error["PA"].tolist()
    lines = repr(result).splitlines()
    assert lines[0] == "Prequential over 100 examples, windows of 30, 1 drift"
    assert lines[1].split() == ["learner", "mistakes", "error", "windowed_error", "seconds"]
    assert lines[3].split()[:2] == ["PA", str(row["mistakes"])]
    assert len({len(line) for line in lines[1:]}) == 1


def test_the_plot(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    X, y = stream(300)
    long = "_" + "long" * 30
    result = prequential(
        {"$AROW": AROW(normalize="none"), long: PA(normalize="none"), "SCW": SCW(normalize="none")},
        (X, y),
        window=50,
        drifts=[100, 200],
    )
    chart = result.plot(title="three")
    made = chart.to_dict()
    rows = made["data"]["values"]
    for name, values in result.windowed_error.items():
        curve = [(row["x"], row["y"]) for row in rows if row["name"] == name]
        np.testing.assert_array_equal([x for x, _ in curve], result.examples)
        np.testing.assert_allclose([y for _, y in curve], values)
    colours = next(layer["encoding"]["color"] for layer in made["layer"] if "color" in layer["encoding"])
    assert colours["legend"]["values"] == ["$AROW", long, "SCW"]
    drifts = [layer["data"]["values"] for layer in made["layer"] if layer["mark"]["type"] == "rule"]
    assert drifts == [[{"x": 100}], [{"x": 200}]]
    assert made["title"]["text"] == "three"
    assert "latest 50 examples" in made["title"]["subtitle"]

    rows = result.plot(metric="error").to_dict()["data"]["values"]
    np.testing.assert_allclose([row["y"] for row in rows if row["name"] == "SCW"], result.error["SCW"])
    starts = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF", ".html": b"<!DOCTYPE html>"}
    for suffix, start in starts.items():
        path = tmp_path / f"a{suffix}"
        result.plot(path if suffix != ".svg" else str(path))
        assert path.read_bytes().lstrip().startswith(start)
        assert path.stat().st_size > 5000
    with pytest.raises(ValueError, match=r"must end in .png, .svg, .pdf or .html\.$"):
        result.plot(tmp_path / "a.doc")
    with pytest.raises(ValueError, match="metric must be 'windowed_error' or 'error'"):
        result.plot(metric="accuracy")


def test_a_learner_without_mistakes_is_drawn(tmp_path: Path) -> None:
    X = np.array([[1.0], [1.0]] * 20)
    result = prequential(Perceptron(normalize="none"), (X, np.zeros(40, int)), classes=[0, 1], window=10)
    assert result.mistakes["Perceptron"] == 0
    result.plot(tmp_path / "a.png")
    assert result.recovery("Perceptron", 20) == 0
