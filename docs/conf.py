"""Sphinx configuration: `make docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import sureline  # noqa: E402

project = "sureline"
author = "The sureline developers"
copyright = author
version = release = sureline.__version__

extensions = [
    "site_extension",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip"]
smartquotes = False  # --option stays --option
default_role = "code"
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "image_scrapers": ("site_extension.altair_scraper",),
    "reset_modules": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
}

html_theme = "pydata_sphinx_theme"
html_title = "sureline"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "search_scorer.js")
# Pages without pages below them need no navigation at their side.
_ALONE = (
    "index",
    "getting-started",
    "learners",
    "questions",
    "how-it-compares",
    "reliability",
    "correctness",
    "benchmarks",
    "search",
)
html_sidebars = {page: [] for page in _ALONE}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
}

# Examples train in seconds; threads of BLAS would only get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
