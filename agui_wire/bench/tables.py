"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["bytes_text", "number", "table", "time_text"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    """A Markdown table; the first column is text, the others too where they are no `numbers`."""
    aligned = ["---", *["---:" if numbers else "---"] * (len(head) - 1)]
    lines = [head, aligned, *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def number(value: float) -> str:
    """Three figures that count, thousands apart."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}"


def time_text(ns: float) -> str:
    """A time with the unit that suits it."""
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if ns < limit:
            return f"{number(ns / limit * 1e3)} {unit}"
    return f"{number(ns / 1e9)} s"


def bytes_text(size: float) -> str:
    """Bytes with the unit that suits them."""
    for limit, unit in ((1e4, "B"), (1e7, "KB"), (1e10, "MB")):
        if abs(size) < limit:
            return f"{number(size / limit * 1e4)} {unit}"
    return f"{number(size / 1e9)} GB"
