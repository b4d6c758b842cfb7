"""The documentation site: `make docs` builds it, with warnings as errors, and needs no network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).parents[1] / "tools"))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # examples are small; threads only cost time

import site_pages  # noqa: I001
from alignset import __version__

project = "alignset"
author = "The alignset developers"
copyright = "the alignset developers, BSD-3-Clause"
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "Thumbs.db", "**/GALLERY_HEADER.*"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True
# types in signatures are written as the code has them; other people's have no page here
nitpick_ignore_regex = [("py:(class|data|obj|exc)", ".*")]

myst_enable_extensions = ["deflist", "fieldlist", "substitution"]
myst_heading_anchors = 4

toc_object_entries = False  # a name is in the list of headings already
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery", "../examples/concepts"],
    "gallery_dirs": ["gallery", "concepts"],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": False,
    "copyfile_regex": "",
    "reset_modules": ("matplotlib", "site_pages.reset_figures"),
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "nested_sections": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "alignset"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "alignset"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": []}


def setup(app: object) -> None:
    """Write the generated pages before any is read, and point links out of docs/ at copies."""
    site_pages.connect(app)
