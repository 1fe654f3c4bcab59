"""Write the files that follow from others: a stub, the table of learners, and the picture of the layers.

The stub of `sureline.estimators` and the table follow from the classes of the learners, the picture from the contract
of import-linter in pyproject.toml. `python tools/generated.py` writes them; with `--check` it only says whether they
are up to date. The table stands wherever a document has its header.
"""

from __future__ import annotations

import re
import sys
import textwrap
import tomllib
from collections import defaultdict
from dataclasses import MISSING, fields
from math import isinf, log2
from pathlib import Path
from typing import Any

from sureline import estimators
from sureline.estimators.derived import bases_of
from sureline.learners.catalogue import EVERY_LEARNER, IN_MEMORY
from sureline.learners.gaussian import GaussianLearner
from sureline.learners.online import OnlineLearner
from sureline.learners.parameters import OneOf, constraints_of

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs/_static/layers.svg"
STUB = ROOT / "src/sureline/estimators/__init__.pyi"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
HEADER = """\
| class | algorithm | from | parameters and defaults (what the papers have, where it differs) |
|---|---|---|---|
"""
# Parameters that many learners share, which the text around the table tells of.
_SHARED = {field.name for kind in (OnlineLearner, GaussianLearner) for field in fields(kind)}


def stub() -> str:
    """The estimators for type checkers: their bases and nothing else."""
    imports: defaultdict[str, set[str]] = defaultdict(set)
    classes = []
    for name, learner in EVERY_LEARNER.items():
        bases = bases_of(learner)
        for base in bases:
            imports[base.__module__.rpartition(".")[2]].add(base.__name__)
        module = learner.__module__.rpartition(".")[2]
        classes.append(f"class {name}({', '.join(base.__name__ for base in bases)}, {module}.{name}): ...")
    for name, module in IN_MEMORY.items():
        imports[module].add(f"{name} as {name}")
    modules = sorted({learner.__module__.rpartition(".")[2] for learner in EVERY_LEARNER.values()})
    lines = ["# Written by tools/generated.py.", "from ..learners import (", *(f"    {m}," for m in modules), ")"]
    lines += [
        f"from .{module} import {name}" if " as " in name else f"from .{module} import {names}"
        for module in sorted(imports)
        for names in [", ".join(sorted(name for name in imports[module] if " as " not in name))]
        for name in ([names] if names else sorted(imports[module]))
    ]
    return "\n".join([*lines, "", *classes]) + "\n"


def learners_table() -> str:
    """Every learner with its paper and parameters, in Markdown."""
    kinds = [*EVERY_LEARNER.values(), *(getattr(estimators, name) for name in IN_MEMORY)]
    return HEADER + "".join(
        f"| `{kind.__name__}` | {kind.algorithm} | {kind.paper} | {_parameters(kind)}".rstrip() + " |\n"
        for kind in kinds
    )


def _parameters(kind: Any) -> str:
    told = []
    for field in sorted(fields(kind), key=lambda field: field.kw_only):  # as they can be passed
        if field.name in _SHARED or field.default is MISSING:
            continue
        text = f"`{field.name}`" if field.default is None else f"`{field.name}={_short(field.default)}`"
        constraint = constraints_of(kind).get(field.name)
        if isinstance(constraint, OneOf) and field.name != "loss":
            others = [f'`"{word}"`' for word in constraint.words if word != field.default]
            text += f" (or {', '.join(others)})" if others else ""
        published = getattr(kind, "published", {})
        told.append(text + (f" ({_short(published[field.name])})" if field.name in published else ""))
    return ", ".join(told)


def _short(value: Any) -> str:
    """As a person would write it: 1/32 rather than 0.03125."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and not isinf(value):
        if 0 < value < 0.2 and log2(value).is_integer():
            return f"1/{round(1 / value)}"
        return "√2" if value == 2**0.5 else f"{value:g}".replace("e-0", "e-")
    return str(value)


def with_table(text: str) -> str:
    """A document with the table as it is now, in the place of the one that it has."""
    start = text.find(HEADER.splitlines()[0])
    if start < 0:
        return text
    end = text.index("\n\n", start) + 1
    return text[:start] + learners_table() + text[end:]


_STYLE = """\
  <style>
    rect { fill: #eaf1fb; stroke: #5b7fb5; rx: 6 }
    text { fill: #1b2a41; text-anchor: middle }
    .core { fill: #e6f3ea; stroke: #4f9a68 }
    .side { fill: #f6eaf2; stroke: #a8618f }
    @media (prefers-color-scheme: dark) {
      rect { fill: #1d2a3f; stroke: #7ea3d8 }
      text { fill: #e8edf5 }
      .core { fill: #1c3325; stroke: #6fbf8a }
      .side { fill: #382133; stroke: #cf8fb8 }
    }
  </style>
"""


_LINE = 20  # from one line of text to the next


def layers_picture() -> str:
    """The layers of the package in SVG, the highest first, with the compiled core below them."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        layered, forbidden = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    side = [name.removeprefix("sureline.") for name in forbidden["source_modules"]]
    height, gap, width = 38, 10, 720
    rows = [re.findall(r"\w+", layer) for layer in layered["layers"]]
    lines, y = [], gap
    for row in rows:
        shown = [name for name in row if name not in side and name != "__main__"]
        if len(shown) == 2:
            half = (width - 3 * gap) // 2
            lines += [_box(gap, y, half, shown[0]), _box(2 * gap + half, y, half, shown[1])]
        else:
            text = textwrap.wrap(", ".join(shown), 85)  # characters that a box has room for
            lines.append(_box(gap, y, width - 2 * gap, *text))
            y += (len(text) - 1) * _LINE
        y += height + gap
    lines.append(_box(gap, y, width - 2 * gap, "src/bindings, src/core (C++20)", kind="core"))
    y += height + gap
    lines.append(_box(gap, y, width - 2 * gap, f"{', '.join(side)}: import nothing of the others", kind="side"))
    box = f'viewBox="0 0 {width} {y + height + gap}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="system-ui, sans-serif" font-size="15">\n'
    return f"{head}  <!-- Written by tools/generated.py. -->\n{_STYLE}{''.join(lines)}</svg>\n"


def _box(x: int, y: int, width: int, *text: str, kind: str = "") -> str:
    shape, height = f' class="{kind}"' if kind else "", 38 + (len(text) - 1) * _LINE
    labels = [f'<text x="{x + width // 2}" y="{y + 24 + i * _LINE}">{line}</text>' for i, line in enumerate(text)]
    return f'  <rect{shape} x="{x}" y="{y}" width="{width}" height="{height}"/>{"".join(labels)}\n'


def outdated() -> list[Path]:
    """The files that are not as they would be written."""
    return [path for path, text in _texts().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def _texts() -> dict[Path, str]:
    return {
        STUB: stub(),
        PICTURE: layers_picture(),
        **{path: with_table(path.read_text(encoding="utf-8")) for path in DOCUMENTS},
    }


if __name__ == "__main__":
    if "--check" not in sys.argv:
        texts = _texts()
        for path in outdated():  # others keep their time, so that nothing is built again
            path.write_text(texts[path], encoding="utf-8")
    sys.exit("".join(f"{path} is out of date: run python tools/generated.py\n" for path in outdated()) or 0)
