"""Verdicts on the papers' claims, for made-up results with known outcomes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sureline import reproduce
from sureline.reproduce import statistics
from sureline.reproduce.data import Split
from sureline.reproduce.protocols import (
    feature_selection,
    held_out,
    permutations,
    sparsity_claims,
    sparsity_curves,
    sparsity_times,
)
from sureline.reproduce.protocols.penalty_paths import Curve, Result
from sureline.reproduce.protocols.permutations import Runs

# -- what decides -----------------------------------------------------------------------------------------------------


def test_what_decides() -> None:
    assert statistics.lower([1, 2, 3], [2, 3, 4]) is True
    assert statistics.lower([2, 3, 4], [1, 2, 3]) is False
    assert statistics.lower([1, 2, 3], [2, 1, 3.1]) is None
    assert statistics.lower([1], [2]) is None  # one run
    assert [statistics.longer(ratio) for ratio in (0.9, 1.2, 1.3, 1.5)] == [False, False, None, True]
    assert [statistics.longer(ratio, no=4, yes=5) for ratio in (4, 4.5, 5)] == [False, None, True]
    for of, expected in (
        (statistics.all_of, {(): None, (True,): True, (True, None): None, (True, None, False): False}),
        (statistics.any_of, {(): None, (False,): False, (False, None): None, (True, None, False): True}),
        (statistics.most_of, {(): None, (True, True, None): True, (True, None): None, (None, False): False}),
    ):
        for told, result in expected.items():
            assert of(told) is result, (of, told)
    assert statistics.how_many_hold([True, None, False]) == "True of 1 of 3, not to be told of 1. "
    assert statistics.how_many_hold([True, True]) == ""


def verdicts_on_times(module: Any, *arguments: Any) -> list[bool | None]:
    return [one.holds for one in module.verdicts(*arguments) if " train" in one.claim or " time " in one.claim]


@pytest.mark.parametrize(("factor", "expected"), [(1.1, False), (1.35, None), (2.0, True)])
def test_verdicts_on_times_need_a_clear_margin(factor: float, expected: bool | None) -> None:
    runs = {name: Runs({}, [0.2, 0.3], [1.0, 1.0], [1.0, 1.2]) for name in ("CW", "NHERD", "NAROW", "SCW-I", "SCW-II")}
    runs["AROW"] = Runs({}, [0.2, 0.3], [1.0, 1.0], [factor, 1.2 * factor])
    assert verdicts_on_times(permutations, reproduce.entry("scw-table3"), {"a": runs}) == [expected]
    held = {"BCWL1": 1.0, "BCWL2": 1.0, "DCD": factor, "AROW": 3.4 * factor, "PA": 0.1}
    made = {name: held_out.Runs({}, [0.2, 0.3], [seconds]) for name, seconds in held.items()}
    of_a_fifth = {1.1: False, 1.35: None, 2.0: True}[factor]
    assert verdicts_on_times(held_out, {"a": made}) == [of_a_fifth, expected]
    seconds = {"SBCW": factor, "FGM": 1.0, "SOFS": 1.5}
    paths = {name: SimpleNamespace(accuracy=np.ones((2, 1)), seconds=np.full((2, 1), s)) for name, s in seconds.items()}
    told = verdicts_on_times(feature_selection, {"a": paths}, (5,))
    assert told == [statistics.opposite(expected)]


@pytest.mark.parametrize("stopped", [[False, True, True], [False, False, False], []])
def test_a_held_out_table_says_which_learners_stopped(stopped: list[bool]) -> None:
    entry = reproduce.entry("sbcw-table2")
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    runs = {"CW": held_out.Runs({}, [0.2, 0.3], [1.0, 1.0], stopped), "PA": held_out.Runs({}, [0.2, 0.3], [1.0, 1.0])}
    parameters = held_out.Parameters(3, 0, 5, 0, 100, 0, {})
    note = held_out.table_of(entry, "a", runs, Split(X, y, X, y, None), parameters).note
    assert ("CW stopped learning in 2 of 3 orders" in note) == any(stopped)
    assert "PA stopped" not in note


# -- error against sparsity -------------------------------------------------------------------------------------------


def made_up(name: str, levels: list[float], values: list[float], orders: int = 3) -> Result:
    """A learner with this error, or accuracy, at these sparsities, in each order of the rows."""
    curve = Curve(np.arange(len(levels), dtype=float), np.array(levels), np.array(values), np.array(values))
    free = np.array(values[:1] * orders)
    return Result(name, {}, values[0], (curve,) * orders, free, free)


def verdicts(claims: str, results: dict[str, Result], levels: list[float]) -> list[bool | None]:
    return [one.holds for one in sparsity_claims.CLAIMS[claims]("data", results, np.array(levels))]


def test_kept_until() -> None:
    levels = [0, 0.5, 0.9, 1.0]
    assert sparsity_claims.kept_until(made_up("x", levels, [0.1, 0.05, 0.1, 0.5])) == pytest.approx(0.901, abs=1e-6)
    assert sparsity_claims.kept_until(made_up("x", levels, [0.1, 0.3, 0.4, 0.5])) == pytest.approx(0.012, abs=1e-6)


def test_claims_of_figure_1_hold_of_what_the_paper_draws_and_not_of_its_opposite() -> None:
    levels = [0, 0.5, 0.8, 0.9, 0.95, 1.0]
    bad, good, best = (
        [0.1, 0.4, 0.45, 0.5, 0.5, 0.5],
        [0.1, 0.08, 0.07, 0.06, 0.2, 0.5],
        [0.05, 0.04, 0.03, 0.02, 0.2, 0.5],
    )
    results = {name: made_up(name, levels, bad) for name in sparsity_claims.TRUNCATED}
    results |= {name: made_up(name, levels, good) for name in sparsity_claims.AVERAGED}
    results["SSOL"] = made_up("SSOL", levels, best)
    assert verdicts("synthetic", results, levels[:5]) == [True] * 4
    swapped = {**results, "STG": results["FSOL"], "FSOL": results["STG"], "SSOL": results["STG"]}
    assert verdicts("synthetic", swapped, levels[:5]) == [False] * 4
    told = sparsity_claims.CLAIMS["synthetic"]("data", swapped, np.array(levels[:5]))
    assert told[0].evidence.startswith("True of 1 of 3. ")


def test_claims_of_figure_2() -> None:
    levels = [0, 0.8, 0.9, 0.99, 1.0]
    results = {name: made_up(name, levels, [0.1, 0.1, 0.2, 0.3, 0.5]) for name in ("STG", "FOBOS", "Ada-FOBOS", "FSOL")}
    results |= {"Ada-RDA": made_up("Ada-RDA", levels, [0.1, 0.1, 0.11, 0.2, 0.5])}
    results |= {"SSOL": made_up("SSOL", levels, [0.1, 0.1, 0.1, 0.15, 0.5])}
    assert verdicts("large sets", results, [0.8, 0.9, 0.99]) == [True] * 4
    worse = {**results, "SSOL": results["STG"]}
    assert verdicts("large sets", worse, [0.8, 0.9, 0.99]) == [True, True, None, False]  # SSOL is level with the four
    swapped = {**results, "SSOL": results["STG"], "STG": results["SSOL"]}
    assert verdicts("large sets", swapped, [0.8, 0.9, 0.99]) == [True, True, False, False]
    once = {name: replace(one, curves=one.curves[:1], free=one.free[:1]) for name, one in results.items()}
    assert verdicts("large sets", once, [0.8, 0.9, 0.99]) == [True, True, None, None]  # one run tells nothing
    (*_, told) = sparsity_claims.CLAIMS["large sets"]("data", once, np.array([0.8, 0.9, 0.99]))
    assert told.evidence.startswith("True of 0 of 2, not to be told of 2. ")


def test_claims_of_figures_4_and_5() -> None:
    levels = [0, 0.5, 1.0]
    accuracy = {"Perceptron": 0.6, "PA": 0.6, "OGD": 0.6, "STG": 0.6, "FOBOS": 0.6, "FSOL": 0.6, "Ada-FOBOS": 0.7}
    accuracy |= {"Ada-RDA": 0.72, "SSOL": 0.75, "PAUM": 0.7, "CPA": 0.7, "CS-OGD": 0.8, "CS-FSOL": 0.85, "CS-SSOL": 0.9}
    results = {name: made_up(name, levels, [value, value, 0.5]) for name, value in accuracy.items()}
    assert verdicts("rare URLs", results, [0.5]) == [True] * 5
    assert verdicts("rare spam", results, [0.5]) == [True] * 6
    results["CS-SSOL"] = made_up("CS-SSOL", levels, [0.5, 0.5, 0.5])
    assert verdicts("rare URLs", results, [0.5]) == [False, False, True, False, False]
    assert verdicts("rare spam", results, [0.5]) == [True, True, False, False, False, False]
    dense = {**results, "FSOL": made_up("FSOL", [0.7, 0.8, 1.0], [0.6, 0.6, 0.5])}  # no model at that sparsity
    assert verdicts("rare URLs", dense, [0.5])[1] is None


def test_where_models_are_very_sparse_what_is_left_is_drawn() -> None:
    levels = np.array([0.9, 0.99, 0.999])
    wide = made_up("wide", [0.95, 0.99, 1.0], [0.1, 0.2, 0.5])
    drawn = sparsity_curves._series(wide, levels, left=True)
    assert drawn.x == pytest.approx([1.0, 0.1])  # it has no model at 90 %
    assert drawn.y == pytest.approx([20.0, 47.0])
    dense = Result("dense", {}, 0.3, (), np.array([0.3]), np.array([0.3]))
    assert sparsity_curves._series(dense, levels, left=False).x == pytest.approx((90.0, 99.9))
    assert sparsity_curves._series(wide, np.array([0.5]), left=False).x == ()


# -- time against sparsity --------------------------------------------------------------------------------------------


def test_verdicts_on_times() -> None:
    free = {"STG": 2.0, "FOBOS": 2.0, "FSOL": 1.0, "Ada-FOBOS": 4.0, "Ada-RDA": 4.0, "SSOL": 2.0}

    def told(middle: float, growth: float, sparsities: tuple[float, ...] = (0.0, 0.4, 0.99), **seconds: float) -> Any:
        times = {**free, **seconds}
        n = len(sparsities)
        results = {
            name: sparsity_times.Timed(
                name, {}, (0, 1, 2)[:n], sparsities, (one, middle * one, growth * one)[:n], (10, 10, 20)[:n]
            )
            for name, one in times.items()
        }
        return sparsity_times._verdicts("data", results)

    def holds(*arguments: Any, **seconds: float) -> list[bool | None]:
        return [one.holds for one in told(*arguments, **seconds)]

    assert holds(1.0, 1.6) == [True, True, True, True]
    assert holds(1.0, 1.0) == [True, False, True, True]
    assert holds(1.0, 1.3) == [True, None, True, True]
    assert holds(0.5, 1.6)[0] is False  # a time that falls is not stable either
    assert holds(1.6, 1.6)[0] is False
    assert holds(1.3, 1.6)[0] is None
    assert holds(1.0, 1.6, SSOL=3.0)[2:] == [None, True]
    assert holds(1.0, 1.6, SSOL=4.0)[2:] == [False, True]
    assert holds(1.0, 1.6, FSOL=1.6)[3] is None
    assert holds(1.0, 1.6, FSOL=5.0)[3] is False
    assert holds(1.0, 1.0, (0.0,)) == [None, None, True, True]  # there is nothing but the model without a penalty
    low, _, _, faster = told(1.0, 1.6)
    assert "STG 1.00, FOBOS 1.00" in low.evidence
    assert faster.evidence == "SSOL takes 2.00 to 2.00 times as long as FSOL, at 3 sparsities from 0 to 99 %."
    assert told(1.0, 1.6, (0.0, 0.6, 0.99))[0].evidence.startswith("No such model: STG, FOBOS")


def test_times_are_compared_at_every_sparsity_that_both_reach() -> None:
    a = sparsity_times.Timed("a", {}, (0, 1), (0.0, 0.8), (1.0, 2.0), (1, 1))
    b = sparsity_times.Timed("b", {}, (0, 1, 2), (0.2, 0.6, 0.9), (3.0, 3.0, 9.0), (1, 1, 1))
    levels, ratios = sparsity_times._compared(a, b)
    assert levels == [0.2, 0.6, 0.8]
    assert ratios == pytest.approx([3 / 1.25, 3 / 1.75, 7 / 2])
