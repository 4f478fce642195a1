"""Sphinx: `sphinx-build -W -b html docs build/docs`; `-b linkcheck` needs a network."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

import agui_wire

project = "agui_wire"
author = "The agui_wire authors"
project_copyright = author
version = release = agui_wire.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["benchmarks", "proxies"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = f"agui_wire {version}"

myst_heading_anchors = 3

default_role = "code"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88

_LIMITED = re.compile(r"Annotated\[([\w\[\]]+), msgspec\.Meta\([^)]*\)\]")


def _mark_code(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings set code off by indenting it, as Markdown does."""
    starts = [
        number
        for number, (before, line) in enumerate(pairwise(lines), 1)
        if not before and line.startswith("    ")
    ]
    for number in reversed(starts):
        if not any(line.startswith(" ") for line in lines[:number][-2:]):
            lines[number:number] = ["::", ""]


def _shorten(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: Any
) -> tuple[str | None, Any]:
    """The limits of numbers are told in the texts."""
    return signature and _LIMITED.sub(r"\1", signature), returns


def _unlink_folders(app: Any, doctree: nodes.document) -> None:
    """Pages that are read on GitHub too link to folders of the checkout, which are not built."""
    for link in list(doctree.findall(addnodes.pending_xref)):
        if Path(app.srcdir, link.get("reftarget", "")).is_dir():
            link.replace_self(link.children)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _mark_code)
    app.connect("autodoc-process-signature", _shorten)
    app.connect("doctree-read", _unlink_folders)
