"""How far a benchmark is, on standard error: a bar on a terminal, else a line for each step."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .running import Progress

__all__ = ["showing"]


@contextmanager
def showing() -> Iterator[Progress]:
    """Something to tell the progress to."""
    if not sys.stderr.isatty():
        yield _line
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description:<40}"), BarColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("")

        def tell(what: str, done: int, total: int) -> None:
            shown.update(task, description=what, completed=done, total=total)

        yield tell


def _line(what: str, done: int, total: int) -> None:
    print(f"[{done}/{total}] {what}", file=sys.stderr, flush=True)
