"""Sphinx: `sphinx-build -W -b html docs build/docs`; `-b linkcheck` needs a network."""

from __future__ import annotations

import agui_wire

project = "agui_wire"
author = "The agui_wire authors"
project_copyright = author
version = release = agui_wire.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.intersphinx"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["benchmarks", "proxies"]
html_theme = "furo"
html_title = f"agui_wire {version}"
nitpicky = True

myst_heading_anchors = 3
# Pages that are read on GitHub too link to files of the checkout.
myst_url_schemes = ("http", "https")

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"exclude-members": "__init__, __new__"}
