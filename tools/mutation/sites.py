"""Places of the C++ core that can be changed, and the text that has all changes in it (mutation.hpp)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# clang-format has put a space on both sides of what is binary, and on neither of what is not.
BINARY = re.compile(r"(?<=[^\s(,={]\s)(<=|>=|==|!=|<|>|\+=|-=|\+|-|\*|/|&&|\|\|)(?=\s)")
UNARY = re.compile(r"(?:(?<=[(\[{!])|(?<=[,=?:<>|&+*/-] )|(?<=return ))-(?=[\w.(*:])(?!\s)")
EXTREME = re.compile(r"std::f?(min|max)(?=\()")
CONDITION = re.compile(r"\b(?:if|while) (?=\()")
TWO = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<")}
ONE = {"==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*"}
# Of what is evaluated by the compiler, and of what only looks like an operator.
NOT_CODE = [
    r"//[^\n]*",
    r"/\*.*?\*/",
    r'"(?:\\.|[^"\\\n])*"',
    r"'(?:\\.|[^'\\])'",
    r"^#(?:\\\n|[^\n])*",
    r"\bconstexpr [^;{()]*(?:\([^;{]*)?=(?!=)[^;]*;",
    r"\boperator\s*[^\s\w]{1,2}",
]
CALLS_NOT_CODE = [r"\bstatic_assert(?=\()", r"__attribute__(?=\()", r"\balignas(?=\()", r"\bif constexpr (?=\()"]
OPEN, CLOSE = "([{", ")]}"
# GCC takes a vector whose width depends on a template for its scalar, where it is handed to another template.
VECTOR = re.compile(r"typedef (\w+) (\w+) __attribute__\(\(vector_size\((\w+) \* sizeof\(\w+\)\)\)\);")


@dataclass(frozen=True)
class Site:
    """One change: its number, file, line, the line's text, and what is done there."""

    number: int
    path: str
    line: int
    column: int
    text: str
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.what}"


@dataclass(frozen=True)
class Change:
    """From one place of a text to another, what stands there instead; `numbers` are those that it takes."""

    start: int
    end: int
    kinds: tuple[tuple[str, str], ...]
    write: Callable[[int, str], str]  # of the first number, and the text between as others have changed it


def code_of(text: str) -> str:
    """The text with blanks in place of what no change may be made in."""
    for pattern in NOT_CODE:
        text = re.sub(pattern, lambda m: _blank(m[0]), text, flags=re.M | re.S)
    for pattern in CALLS_NOT_CODE:
        for found in list(re.finditer(pattern, text)):
            end = closing(text, found.end()) + 1
            text = text[: found.start()] + _blank(text[found.start() : end]) + text[end:]
    for found in list(re.finditer(r"\b(template|requires) ?(?=[<({])", text)):
        end = _angle(text, found.end()) if text[found.end()] == "<" else closing(text, found.end()) + 1
        text = text[: found.start()] + _blank(text[found.start() : end]) + text[end:]
    return text


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def closing(text: str, start: int) -> int:
    """Where the bracket at `start` ends."""
    depth = 0
    for k in range(start, len(text)):
        depth += (text[k] in OPEN) - (text[k] in CLOSE)
        if depth == 0:
            return k
    raise ValueError(f"the bracket at {start} does not end")


def _angle(text: str, start: int) -> int:
    depth = 0
    for k in range(start, len(text)):
        if text[k] == ">" and text[k - 1] in "-=":
            continue
        depth += (text[k] == "<") - (text[k] == ">")
        if depth == 0:
            return k + 1
    raise ValueError(f"the list at {start} does not end")


def side(code: str, at: int, step: int, stops: str) -> int:
    """How far an operand reaches from `at`, forwards or backwards."""
    opens, closes = (OPEN, CLOSE) if step > 0 else (CLOSE, OPEN)
    code = re.sub(r"::|[=<>!]=", "__", code)  # neither assignments nor the ends of labels
    depth, k = 0, at
    while 0 <= k < len(code):
        here = code[k]
        if here == "<" and re.match(r"\w", code[k - 1]) and step > 0:  # a list of template arguments
            k = _angle(code, k)
            continue
        if here == ">" and step < 0 and re.match(r"[\w>*]", code[k - 1]):
            k = _angle_back(code, k) - 1
            continue
        if depth == 0 and (here in closes or here in stops or re.match(r"&&|\|\|", code[min(k, k + step) :][:2])):
            break
        depth += (here in opens) - (here in closes)
        k += step
    return k


def _angle_back(code: str, at: int) -> int:
    depth = 0
    for k in range(at, -1, -1):
        depth += (code[k] == ">" and code[k - 1] != "-") - (code[k] == "<")
        if depth == 0:
            return k
    return 0


def changes_of(text: str) -> Iterator[Change]:
    code = code_of(text)
    for found in BINARY.finditer(code):
        op, start, end = found[1], found.start(1), found.end(1)
        if op in ("&&", "||"):
            yield from _sides(code, op, start, end)
        elif op in ("+=", "-="):
            stop = side(code, end, 1, ";,")
            yield Change(end, stop, (("sign", f"{op} -> {op.translate({43: '-', 45: '+'})}"),), _call("term", " "))
        elif op in TWO:
            near, opposite = TWO[op]
            kinds = (("comparison", f"{op} -> {opposite}"), ("boundary", f"{op} -> {near}"))
            yield Change(end, end, kinds, lambda n, _, o=op: f" ::mutation::At{{{n}}} {o}")
        else:
            kind = "comparison" if op in "==!=" else "sign" if op in "+-" else "factor"
            yield Change(end, end, ((kind, f"{op} -> {ONE[op]}"),), lambda n, _, o=op: f" ::mutation::At{{{n}}} {o}")
    for found in UNARY.finditer(code):
        write = lambda n, _: f"::mutation::Minus{{{n}}}->*"  # noqa: E731
        yield Change(found.start(), found.end(), (("sign", "-x -> x"),), write)
    for found in EXTREME.finditer(code):
        name, other = ("least", "max") if found[1] == "min" else ("largest", "min")
        write = lambda n, _, f=name: f"::mutation::{f}({n}, "  # noqa: E731
        yield Change(found.start(), found.end() + 1, (("extreme", f"{found[1]} -> {other}"),), write)
    for found in CONDITION.finditer(code):
        start, end = found.end() + 1, closing(code, found.end())
        if not re.search(r"[;=<>]|&&|\|\|", code[start:end]):
            yield Change(start, end, (("condition", "condition -> its opposite"),), _call("condition", "", "bool"))


def _call(name: str, before: str, cast: str = "") -> Callable[[int, str], str]:
    return lambda n, inside: f"{before}::mutation::{name}({n}, {cast}({inside.strip()}))"


def _sides(code: str, op: str, start: int, end: int) -> Iterator[Change]:
    """Both sides of an operator; the left one only of the first in a row, as it is the right one of that before."""
    other = "true" if op == "&&" else "false"
    begin = side(code, start - 1, -1, ";,=?:{") + 1
    ends = [(end, side(code, end, 1, ";,?:"))]
    if code[begin - 2 : begin] not in ("&&", "||") and code[begin - 1 : begin + 1] not in ("&&", "||"):
        word = re.match(r"\s*return\b", code[begin:])
        ends.append((begin + (word.end() if word else 0), start))
    for left, right in ends:
        what = f"{' '.join(code[left:right].split())[:40]} -> {other}"
        yield Change(left, right, (("side", what),), _call(f"side<{other}>", " ", "bool"))


def mutated(path: str, text: str, first: int, wanted: Container[int] | None = None) -> tuple[str, list[Site]]:
    """The text with changes in it, of which the first is number `first`: all of them, or those with wanted numbers."""
    found = sorted(changes_of(text), key=lambda change: (change.start, -change.end))
    lines, sites, number = text.splitlines(), [], first
    numbers: dict[Change, int] = {}
    for change in found:
        numbers[change] = number
        row = text.count("\n", 0, max(change.start - 1, 0))
        column = change.start - text.rfind("\n", 0, change.start)
        for kind, what in change.kinds:
            sites.append(Site(number, path, row + 1, column, lines[row].strip(), kind, what))
            number += 1
    if wanted is not None:
        found = [c for c in found if any(numbers[c] + k in wanted for k in range(len(c.kinds)))]

    def render(start: int, end: int, k: int) -> tuple[str, int]:
        out, at = [], start
        while k < len(found) and found[k].start < end and found[k].end <= end:
            change = found[k]
            inside, following = render(change.start, change.end, k + 1)
            out += [text[at : change.start], change.write(numbers[change], inside)]
            at, k = change.end, following
        if k < len(found) and found[k].start < end:
            raise ValueError(f"{path}: changes overlap at {text[found[k].start : found[k].end]!r}")
        return "".join(out) + text[at:end], k

    return VECTOR.sub(r"using \2 = typename ::mutation::Lanes<\1, \3>::type;", render(0, len(text), 0)[0]), sites


def all_mutated(
    source: Path, places: list[str], wanted: Container[int] | None = None
) -> tuple[dict[str, str], list[Site]]:
    """Files in `places` of `source`, with their changes, or those that are wanted."""
    texts, sites = {}, []
    for place in places:
        for file in [source / place] if (source / place).is_file() else sorted((source / place).rglob("*.?pp")):
            name = file.relative_to(source).as_posix()
            texts[name], more = mutated(name, file.read_text(), len(sites) + 1, wanted)
            sites += more
    return texts, sites


def equivalents(sites: Iterable[Site]) -> dict[int, str]:
    """Mutants that no test can notice, with the reasons: those of equivalent.toml."""
    reasons: dict[int, str] = {}
    listed = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text()).get("mutant", [])
    for one in listed:
        if "text" not in one:  # all of a file
            reasons |= {site.number: one["reason"] for site in sites if site.path == one["path"]}
            continue
        for change in one["changes"]:
            found = [s for s in sites if (s.path, s.text, s.what) == (one["path"], one["text"], change)]
            if not found:
                raise ValueError(f"equivalent.toml names what is not there: {one['path']}: {one['text']}: {change}")
            reasons |= {site.number: one["reason"] for site in found}
    return reasons
