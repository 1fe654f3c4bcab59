"""What the site makes of the package itself: the pages of the API, and pictures of the gallery."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sureline

HERE = Path(__file__).parent
MODULES = (
    "evaluate",
    "metrics",
    "datasets",
    "stream",
    "report",
    "modelfile",
    "contest",
    "selection",
    "sparsity",
    "rules",
    "reference",
)


def altair_scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the Altair charts that a block of an example made, each once, and show them."""
    import altair
    from sphinx_gallery.scrapers import figure_rst

    seen = gallery_conf.setdefault("_charts_seen", set())
    paths: list[str] = []
    names: Iterator[str] = block_vars["image_path_iterator"]
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, altair.TopLevelMixin) and id(value) not in seen:
            seen.add(id(value))
            gallery_conf.setdefault("_charts_kept", []).append(value)  # so that no id is used twice
            path = next(names)
            value.save(path, scale_factor=2)
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])


def _summary(names: list[str], module: str) -> list[str]:
    return (
        [
            "```{eval-rst}",
            f".. currentmodule:: {module}",
            "",
            ".. autosummary::",
            "   :toctree: generated",
            "   :nosignatures:",
            "",
        ]
        + [f"   {name}" for name in names]
        + ["```", ""]
    )


def write_api(app: Any) -> None:
    """reference/api.md: every public name, by what it is."""
    public = {name: getattr(sureline, name) for name in sureline.__all__}
    classes = [name for name, value in public.items() if inspect.isclass(value)]
    functions = [name for name, value in public.items() if not inspect.isclass(value)]
    lines = ["# Python API", "", "## Estimators", "", *_summary(classes, "sureline")]
    lines += ["## Functions", "", *_summary(functions, "sureline")]
    for name in MODULES:
        module = getattr(sureline, name, None) or __import__(f"sureline.{name}", fromlist=["_"])
        listed = [
            n
            for n in getattr(module, "__all__", ())
            if inspect.isclass(getattr(module, n)) or callable(getattr(module, n))
        ]
        if listed:
            first = (module.__doc__ or "").strip().splitlines()[0]
            lines += [f"## sureline.{name}", "", first, "", *_summary(listed, f"sureline.{name}")]
    target = HERE / "reference" / "api.md"
    text = "\n".join(lines)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write_api, priority=100)
    return {"parallel_read_safe": True}
