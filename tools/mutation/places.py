"""What can be changed in a file of Python, and the text with it changed, or noting when it is evaluated."""

from __future__ import annotations

import ast
import types
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

Change = Callable[[Any], object]
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip
GIVEN = "given"  # in the key of a mutant that is given in words


def changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Ways to change a node of the tree, each with words for it."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if other := SWAPS.get(type(op)):
                yield f"{type(op).__name__} -> {other.__name__}", lambda n, i=i, o=other: n.ops.__setitem__(i, o())
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign):
        if other := SWAPS.get(type(node.op)):
            yield f"{type(node.op).__name__} -> {other.__name__}", lambda n, o=other: setattr(n, "op", o())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield (
            "not x -> x",
            lambda n: (setattr(n, "op", ast.Not()), setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))),
        )
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{node.value} -> {node.value + 1}", lambda n: setattr(n, "value", n.value + 1)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition -> its opposite", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))


class Module:
    """A file and what can be changed in it. A mutant's key is the file, the number of a node, and that of a change."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.nodes = list(ast.walk(ast.parse(self.text)))
        self.inside: dict[int, bool] = {}  # whether it is in a function, by the id of a node; annotations have none
        self._enter(self.nodes[0], False)

    def _enter(self, node: ast.AST, inside: bool) -> None:
        self.inside[id(node)] = inside
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            within = inside or (field == "body" and isinstance(node, ast.FunctionDef | ast.Lambda))
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self._enter(child, within)

    def mutants(self) -> Iterator[tuple[str, str]]:
        """Keys, with words for each."""
        for k, node in enumerate(self.nodes):
            if id(node) in self.inside:
                for j, (what, _) in enumerate(changes(node)):
                    yield f"{self.name}|{k}|{j}", f"{self.name}:{getattr(node, 'lineno', 0)}: {what}"

    def place(self, mutant: str) -> int | None:
        """The number of the node that is changed; None if it is outside of all functions."""
        _, k, what = mutant.split("|", 2)
        node = self.given(what.partition("=>")[0]) if k == GIVEN else self.nodes[int(k)]
        return self.nodes.index(node) if self.inside[id(node)] else None

    def given(self, old: str) -> ast.AST:
        """The statement that is changed by a change which is given in words."""
        if self.text.count(old) != 1:
            raise SystemExit(f"{self.name} has {self.text.count(old)} places with {old!r}; there must be one.")
        line = self.text[: self.text.index(old)].count("\n") + 1
        around = [n for n in self.nodes if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or 0)]
        return max(around, key=lambda n: n.lineno, default=self.nodes[0])

    def changed(self, mutant: str) -> ast.Module:
        _, k, what = mutant.split("|", 2)
        if k == GIVEN:
            return ast.parse(self.text.replace(*what.split("=>")))
        tree = ast.parse(self.text)
        node = next(node for i, node in enumerate(ast.walk(tree)) if i == int(k))
        list(changes(node))[int(what)][1](node)
        return ast.fix_missing_locations(tree)

    def noting(self, places: set[int | None]) -> str:
        """The text, with each of these nodes noted when it is evaluated; for what is outside, all functions are."""
        tree = ast.parse(self.text)
        nodes = list(ast.walk(tree))
        holders = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}

        def wrap(node: ast.AST, call: ast.AST) -> None:
            new = ast.BoolOp(ast.Or(), [call, node])  # the call has no value
            holder = holders[id(node)]
            _replace(holder, node, new)
            holders[id(node)], holders[id(new)] = new, holder

        for k, node in enumerate(nodes):
            if None in places and isinstance(node, ast.FunctionDef):
                node.body.insert(0, ast.Expr(_reached(self.name, None)))
            if k not in places:
                continue
            call = _reached(self.name, k)
            if isinstance(holders.get(id(node)), ast.pattern):
                while not isinstance(node, ast.Match):
                    node = holders[id(node)]
            if isinstance(node, ast.If | ast.While | ast.IfExp):
                wrap(node.test, call)
            elif isinstance(node, ast.Match):
                wrap(node.subject, call)
            elif isinstance(node, ast.AugAssign):
                wrap(node.value, call)
            elif isinstance(node, ast.expr):
                wrap(node, call)
            else:
                _replace(holders[id(node)], node, ast.Expr(call), node)
        return ast.unparse(ast.fix_missing_locations(tree))


def number_of(name: str, place: int | None) -> int:
    return zlib.crc32(f"{name}|{place}".encode())


def _reached(name: str, place: int | None) -> ast.Call:
    return ast.Call(ast.Name("_sureline_reached", ast.Load()), [ast.Constant(number_of(name, place))], [])


def _replace(holder: ast.AST, old: ast.AST, *new: ast.AST) -> None:
    for field, value in ast.iter_fields(holder):
        if value is old:
            setattr(holder, field, new[0])
        elif isinstance(value, list) and any(one is old for one in value):
            at = next(i for i, one in enumerate(value) if one is old)
            value[at : at + 1] = new


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from codes_in(one)


def numbered(code: types.CodeType) -> dict[tuple[str, int], types.CodeType]:
    """The codes in one, by name and by how many of that name come before."""
    seen: Counter[str] = Counter()
    found = {}
    for one in codes_in(code):
        found[one.co_qualname, seen[one.co_qualname]] = one
        seen[one.co_qualname] += 1
    return found
