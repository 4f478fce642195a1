"""Markdown that several pages need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["code", "table", "tests"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars inside cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines
    )


def code(items: Iterable[str]) -> str:
    """Words as code, with commas; a dash for none."""
    return ", ".join(f"`{item}`" for item in items) or "-"


def tests(nodes: Iterable[str]) -> str:
    """Tests by their names, which are relative to tests/, one a line."""
    return "<br>".join(f"`{node}`" for node in nodes)
