"""The places of the C++ core and of Python that tools/mutation changes to see whether the tests notice."""

import ast
import builtins
from pathlib import Path

import pytest

from tools.mutation.places import Module, number_of, numbered
from tools.mutation.sites import all_mutated, equivalents, mutated

CORE = Path(__file__).parents[1] / "src" / "core"


def changed(line: str) -> tuple[str, list[str]]:
    text, sites = mutated("x.hpp", line, 1)
    return text.replace("::mutation::", ""), [site.what for site in sites]


@pytest.mark.parametrize(
    ("line", "text", "what"),
    [
        ("c = a < b;", "c = a < At{1} < b;", ["< -> >=", "< -> <="]),
        ("c = a + b * c;", "c = a + At{1} + b * At{2} * c;", ["+ -> -", "* -> /"]),
        ("c = -a->b(d);", "c = Minus{1}->*a->b(d);", ["-x -> x"]),
        ("c -= f<A, B>(d);", "c -= term(1, (f<A, B>(d)));", ["-= -> +="]),
        (
            "if (a && b < c) d();",
            "if (side<true>(1, bool(a)) && side<true>(2, bool(b < At{3} < c))) d();",
            ["a -> true", "b < c -> true", "< -> >=", "< -> <="],
        ),
        ("if (a.b()) d();", "if (condition(1, bool(a.b()))) d();", ["condition -> its opposite"]),
        ("c = std::fmax(a, b);", "c = largest(1, a, b);", ["max -> min"]),
    ],
)
def test_a_place_has_both_results(line: str, text: str, what: list[str]) -> None:
    found, changes = changed(line)
    assert "".join(found.split()) == "".join(text.split())
    assert changes == what


@pytest.mark.parametrize(
    "line",
    [
        "// a < b",
        'f("a < b");',
        "static_assert(a < b);",
        "static constexpr int n = a + b;",
        "if constexpr (a && b) c();",
        "template <class T, int n>",
        "const T* a = b->c;",
        "std::vector<T> f(A&& a, double b = 1e-9);",
        "for (T* p : v) ++*p;",
    ],
)
def test_what_is_no_operator_stays(line: str) -> None:
    assert changed(line) == (line, [])


def test_all_rooms_can_be_changed() -> None:
    """No two changes overlap, and each has a number of its own."""
    rooms = sorted(room.name for room in CORE.iterdir())
    texts, sites = all_mutated(CORE, rooms)
    assert [site.number for site in sites] == list(range(1, len(sites) + 1))
    assert {site.path for site in sites} <= set(texts)
    assert len(sites) > 3000
    assert all(equivalents(sites).values())


def test_a_change_that_is_wanted_comes_alone() -> None:
    line = "c = a < b ? -a : b * a;"
    text, sites = mutated("x.hpp", line, 1, {4})
    assert text.replace("::mutation::", "") == "c = a < b ? -a : b * At{4} * a;"
    assert sites == mutated("x.hpp", line, 1)[1]


PROGRAM = """
LEAST = 3

def told(x, y=2):
    if x > 1 and not y:
        x += 1
    while x < 0:
        x = -x
    match x:
        case 7:
            return f"{x + 1}"
    return [one * 2 for one in range(x) if one != 5][:2], (lambda z: z - 1)(x)
"""


def test_what_is_evaluated_is_noted_and_nothing_else_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = Module("x.py", PROGRAM)
    words = dict(module.mutants())
    noted: set[int] = set()
    monkeypatch.setattr(builtins, "_sureline_reached", noted.add, raising=False)
    before, after = {}, {}
    exec(PROGRAM, before)
    exec(module.noting({module.place(key) for key in words}), after)
    for given in ((0,), (9, 0), (-2,), (7,)):
        assert before["told"](*given) == after["told"](*given)
    noted.clear()
    after["told"](0, 1)
    reached = {words[key].partition(": ")[2] for key in words if number_of("x.py", module.place(key)) in noted}
    assert {"Gt -> GtE", "Lt -> LtE", "And -> Or"} <= reached
    assert not {"Add -> Sub", "Mult -> FloorDiv", "not x -> x"} & reached


def test_a_change_of_python_is_made_in_one_place() -> None:
    module = Module("x.py", PROGRAM)
    for key, what in module.mutants():
        changed = module.changed(key)
        assert ast.unparse(changed) != ast.unparse(ast.parse(PROGRAM)), what
        assert set(numbered(compile(changed, "x", "exec"))) == set(numbered(compile(PROGRAM, "x", "exec")))
    assert [what for key, what in module.mutants() if module.place(key) is None] == ["x.py:2: 3 -> 4", "x.py:4: 2 -> 3"]
