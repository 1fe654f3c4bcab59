"""The border to the compiled core: the types in its stub."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

import sureline
from sureline._native import _core
from sureline.models.numbers import Shape
from sureline.models.state import State
from sureline.stream.schema import Column, Schema

STUB = Path(sureline.__file__).parent / "_core.pyi"
MOST_POSITIONS = 6


def functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield within + node.name, node


def calls() -> list[tuple[str, ast.FunctionDef]]:
    if not STUB.exists():
        pytest.skip("the stub is made when the package is built")
    return list(functions(ast.parse(STUB.read_text())))


def positions(function: ast.FunctionDef) -> list[ast.arg]:
    return [argument for argument in (*function.args.posonlyargs, *function.args.args) if argument.arg != "self"]


def test_no_call_has_more_than_six_positions() -> None:
    many = {name: len(positions(function)) for name, function in calls()}
    assert len(many) > 100
    assert {name: n for name, n in many.items() if n > MOST_POSITIONS} == {}


def test_no_string_stands_for_an_enum() -> None:
    words = {
        (name, argument.arg)
        for name, function in calls()
        for argument in (*positions(function), *function.args.kwonlyargs)
        if argument.annotation is not None and "str" in ast.unparse(argument.annotation).replace("|", " ").split()
    }
    # Text to parse comes as bytes, and names come in rows, but for the name of a column.
    assert words == {("Column.__init__", "name")}


def test_the_columns_are_those_of_the_structs() -> None:
    """Each column once, without a gap: an array has a place for every member, and for nothing else."""
    columns: tuple[type[Enum], ...] = (_core.MemoryColumn, _core.RoundColumn, _core.AscentColumn, _core.TallyColumn)
    for members in columns:
        assert [member.value for member in members] == list(range(len(members)))
    round_ = _core.FSOL(eta=0.5, lam=0.1).round(3.0)
    assert list(round_.__getstate__()) == [getattr(round_, member.name) for member in _core.RoundColumn]


def test_a_model_takes_only_arrays_that_fit() -> None:
    state = State(Shape.diagonal, "float64", 3, True)
    good = {
        "shape": state.shape,
        "policy": state.policy,
        "weights": state.weights,
        "memory": state.memory,
        "tally": state.tally,
        "n_columns": 3,
        "intercept": True,
    }
    _core.Model(**good)
    for name, wrong in (
        ("shape", Shape.identity),
        ("shape", Shape.averaged),
        ("policy", _core.Policy.ovr),
        ("weights", state.weights[:, :0]),
        ("weights", state.weights.astype(np.int64)),
        ("memory", state.memory[:, 1:].copy()),
        ("tally", state.tally[1:]),
        ("n_columns", 4),
        ("n_columns", -1),
    ):
        with pytest.raises(ValueError, match=r"fit|must be"):
            _core.Model(**good | {name: wrong})
    with pytest.raises(TypeError):
        _core.Model(**good | {"shape": "diagonal"})


def test_arrays_that_are_read_only_score_and_do_not_learn() -> None:
    state = State(Shape.identity, "float64", 2, True)
    state.weights.flags.writeable = False
    rows = _core.Rows.dense(np.ones((1, 2)))
    out = np.empty((1, 1))
    state.core.score(rows, out)
    assert out.tolist() == [[0.0]]
    with pytest.raises(ValueError, match="read-only"):
        state.core.learn(_core.Perceptron(), rows, np.zeros(1, np.int32))


def test_a_refused_row_says_which_and_why() -> None:
    rows = _core.Rows.dense(np.array([[1.0], [np.nan]]))
    with pytest.raises(_core.Refused) as refused:
        State(Shape.identity, "float64", 1, True).core.score(rows, np.empty((2, 1)))
    assert (refused.value.row, refused.value.reason) == (1, _core.Reason.contents)


def test_cells_of_columns_come_in_buffers_that_fit() -> None:
    """The core reads them where they are, so each is looked at when it is handed over."""
    starts, characters = np.array([0, 1, 3]), np.frombuffer(b"abc", np.uint8)
    ones, codes = np.ones(2), np.zeros(2, np.int32)
    for make in (
        lambda: _core.ColumnCells.of_numbers(ones, np.zeros(3, np.uint8)),
        lambda: _core.ColumnCells.of_texts(characters, starts[:0]),
        lambda: _core.ColumnCells.of_texts(characters[:2], starts),
        lambda: _core.ColumnCells.of_texts(characters, starts[::-1].copy()),
        lambda: _core.ColumnCells.of_codes(codes + 2, characters, starts),
        lambda: _core.ColumnCells.of_codes(codes - 2, characters, starts),
        lambda: _core.ColumnCells.of_lists(starts, ones),
        lambda: _core.ColumnCells.of_text_lists(starts, characters, starts),
    ):
        with pytest.raises(ValueError, match=r"must|end|dictionary"):
            make()
    table = Schema((Column("a", "numeric"),)).table
    for columns in ([], [_core.ColumnCells.of_numbers(ones)] * 2, [_core.ColumnCells(3)]):
        with pytest.raises(ValueError, match="column"):
            _core.encode_columns(table, columns, 2, _core.Scalar.float64, 10)
    chunk = _core.encode_columns(table, [_core.ColumnCells.of_numbers(ones)], 2, _core.Scalar.float64, 10)
    assert chunk.values.tolist() in ([1.0, 1.0], [-1.0, -1.0])
