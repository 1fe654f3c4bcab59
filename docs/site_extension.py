"""Sphinx extension of this site: pages of the API, and pictures of the gallery."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import sureline
import sureline.reference
import sureline.rules

HERE = Path(__file__).parent
MODULES = (
    *("evaluate", "metrics", "datasets", "stream", "report", "modelfile"),
    *("contest", "selection", "sparsity", "custom", "scale", "rules", "reference"),
)


def altair_scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Show the Altair chart that a block of an example calls `chart`, with its description as the alternative text.

    It is taken from the namespace, so that the next block does not show it again.
    """
    from sphinx_gallery.scrapers import figure_rst

    chart, paths = block_vars["example_globals"].pop("chart", None), []
    if chart is not None:
        paths.append(next(block_vars["image_path_iterator"]))
        chart.save(paths[0], scale_factor=2)
        if not isinstance(chart.description, str):
            raise ValueError("A chart of the gallery needs a description: chart.properties(description=...).")
        return figure_rst(paths, gallery_conf["src_dir"], chart.description)
    return ""


def _summary(names: list[str], module: str) -> list[str]:
    directive = [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
    return ["```{eval-rst}", f".. currentmodule:: {module}", "", *directive, *(f"   {n}" for n in names), "```", ""]


def write_api(app: Any, config: Any) -> None:
    """Write reference/api.md: every public name, by what it is."""
    public = {name: getattr(sureline, name) for name in sureline.__all__}
    classes = [name for name, value in public.items() if inspect.isclass(value)]
    functions = [name for name, value in public.items() if not inspect.isclass(value)]
    lines = ["# Python API", "", "## Estimators", "", *_summary(classes, "sureline")]
    lines += ["## Functions", "", *_summary(functions, "sureline")]
    for name in MODULES:
        module = import_module(f"sureline.{name}")
        listed = [public for public in getattr(module, "__all__", ()) if callable(getattr(module, public))]
        if listed:
            first = inspect.getdoc(module).splitlines()[0]
            lines += [f"## sureline.{name}", "", first, "", *_summary(listed, f"sureline.{name}")]
    lines += ["## Other libraries", ""]
    lines += ["These modules need the library of their name. Their functions are described in the guides.", ""]
    lines += ["- `sureline.dask`, `sureline.ray`, `sureline.spark`: [Many workers](../guide/scale-out.md)"]
    lines += ["- `sureline.river`, `sureline.mlflow`: [Other libraries](../guide/adapters.md)", ""]
    target, text = HERE / "reference" / "api.md", "\n".join(lines)
    if not target.exists() or target.read_text(encoding="utf-8") != text:  # an unchanged page is not built again
        target.write_text(text, encoding="utf-8")


# Code and literal blocks, which stay as they are; or a character of plain text that would be taken for markup.
_MARKUP = re.compile(
    r"(?P<code>``.+?``|`[^`]+`|::\n\n(?P<indent> +)\S.*(?:\n(?:(?P=indent).*)?)*|>>> .*(?:\n.+)*)"
    r"|\||(?<=\w)_(?![\w`])"
)
_SKLEARN_LABEL = re.compile(r":ref:`([^`<]+?)\s*<(?:accuracy_score|r2_score)>`")
_FORMULA = re.compile(r":math:`([^`]+)`")  # of scikit-learn's docstrings, for which pages would fetch MathJax


def plain_text(lines: list[str]) -> None:
    """Escape |x| and n_iter_ in docstrings and help texts, and drop formulas and links of scikit-learn."""
    text = _FORMULA.sub(r"``\1``", _SKLEARN_LABEL.sub(r"\1", "\n".join(lines)))
    lines[:] = _MARKUP.sub(lambda match: match[0] if match["code"] else "\\" + match[0], text).split("\n")


def add_docstrings() -> None:
    """Give each rule and reference without a docstring that of its base, and a rule the names of its parameters."""
    for module in (sureline.rules, sureline.reference):
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__.startswith("sureline") and not kind.__doc__:
                names = ", ".join(f"``{name}``" for name in getattr(kind, "parameters", ()))
                kind.__doc__ = (inspect.getdoc(kind) or "") + (f"\n\nParameters of the rule: {names}." if names else "")


_COMMANDS = ("train", "predict")  # of the command line, unless they are called sureline.train and sureline.predict


def link_names(app: Any, doctree: Any) -> None:
    """Link every `SCW` or `sureline.train` of a written page to its page of the API."""
    from docutils import nodes
    from sphinx.addnodes import pending_xref

    if app.env.docname.startswith(("reference/", "gallery/")):
        return
    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext()
        if text in _COMMANDS:
            continue
        name = text.removeprefix("sureline.").removesuffix("()")
        if name not in sureline.__all__ or isinstance(literal.parent, (nodes.reference, pending_xref)):
            continue
        kind = "class" if inspect.isclass(getattr(sureline, name)) else "func"
        link = pending_xref(
            "", refdomain="py", reftype=kind, reftarget=f"sureline.{name}", refexplicit=True, refwarn=True
        )
        link["refdoc"] = app.env.docname
        literal.replace_self(link)
        link += literal


_TOGETHER = re.compile(r"(?<=\d) ([±/]) (?=\d)")


def keep_numbers_together(app: Any, doctree: Any) -> None:
    """Break no line inside `0.29 ± 0.01` or `1.2 / 1.3` of a table."""
    from docutils import nodes

    for cell in doctree.findall(nodes.entry):
        for text in list(cell.findall(nodes.Text)):
            together = _TOGETHER.sub("\u00a0\\1\u00a0", str(text))
            if together != str(text):
                text.parent.replace(text, nodes.Text(together))


def setup(app: Any) -> dict[str, Any]:
    for extension in ("sphinx.ext.autodoc", "sphinx_click"):  # whose events are used below
        app.setup_extension(extension)
    add_docstrings()
    app.connect("config-inited", write_api)  # before documents are looked for
    # after numpydoc, which makes reStructuredText of the docstring
    app.connect(
        "autodoc-process-docstring",
        lambda app, what, name, obj, options, lines: plain_text(lines),
        priority=900,
    )
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", keep_numbers_together)
    app.connect("sphinx-click-process-options", lambda app, context, lines: plain_text(lines))
    return {"parallel_read_safe": True}
