"""What is said once and used in several places: the version, the Pythons, the long description."""

from __future__ import annotations

import re
from pathlib import Path

import agui_wire

ROOT = Path(__file__).resolve().parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_version_is_written_once() -> None:
    assert re.search(r'^dynamic = \[.*"version".*\]$', PROJECT, re.MULTILINE)
    assert 'version = { attr = "agui_wire.__version__" }' in PROJECT
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(.*?)\]", changes, re.MULTILINE)
    assert newest
    assert newest[1] in ("Unreleased", agui_wire.__version__)


def test_one_list_of_pythons() -> None:
    """Wheels are built for the Pythons that the matrix runs, and no other is claimed to work."""
    classified = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)
    (built,) = re.findall(r"^build = \[(.*)\]$", PROJECT, re.MULTILINE)
    matrix = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    (tested,) = re.findall(r"^PYTHONS = \[(.*)\]$", matrix, re.MULTILINE)
    pythons = re.findall(r'"(3\.\d+)"', tested)
    assert set(classified) <= set(pythons)
    assert [f"cp{python.replace('.', '')}-*" for python in pythons] == re.findall(r'"(.*?)"', built)
    assert f'requires-python = ">={pythons[0]}"' in PROJECT
