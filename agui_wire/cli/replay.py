"""Commands that replay a recording: serve and demo."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ..errors import AguiWireError
from ..recording import WIRE_NAMES, shipped_recording
from ._options import extra_http

if TYPE_CHECKING:
    from ..demo import Passage

__all__ = ["demo", "serve"]

T = TypeVar("T")

_recording = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=_recording)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=0, show_default=True, help="0 takes a free one.")
def serve(file: Path, host: str, port: int) -> None:
    """Serve a recording (FILE) as an agent; prints the URL. Needs the extra `http`."""
    import asyncio

    with extra_http():
        from .. import demo

    # What goes wrong in the server is told by the log alone.
    logging.getLogger("agui_wire").addHandler(logging.StreamHandler())
    agent = _or_fail(lambda: demo.replay_agent(file))
    with contextlib.suppress(KeyboardInterrupt):
        _or_fail(lambda: asyncio.run(demo.serve(agent, host, port)))


@click.command("demo")
@click.option("--replay", type=_recording, help="A recording of your own, in place of the demo's.")
def demo(replay: Path | None) -> None:
    """Stream a recorded run from a server to a client over each wire, and compare.

    Exits 0 only if the three wires gave equal events. Needs the extra `http`.
    """
    import asyncio

    with extra_http():
        from .. import demo as demo_module

    recording = replay or shipped_recording()
    passages = _or_fail(lambda: asyncio.run(demo_module.play(recording)))
    _print_table(passages)
    equal = demo_module.are_equal(passages)
    click.echo("The three wires gave equal events." if equal else "The wires differ.")
    sys.exit(0 if equal else 1)


def _or_fail(step: Callable[[], T]) -> T:
    try:
        return step()
    except (AguiWireError, OSError) as error:
        raise click.ClickException(str(error)) from None


def _print_table(passages: list[Passage]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("wire", "content type"):
        table.add_column(title, no_wrap=True)
    for title in ("bytes", "events", "events/s", "of SSE"):
        table.add_column(title, justify="right", no_wrap=True)
    names = {media_type: name for name, media_type in WIRE_NAMES.items()}
    for passage in passages:
        table.add_row(
            names[passage.content_type],
            passage.content_type,
            f"{passage.bytes_received:,}",
            f"{len(passage.events):,}",
            f"{len(passage.events) / passage.seconds:,.0f}",
            f"{passage.bytes_received / passages[0].bytes_received:.0%}",
        )
    Console().print(table)
