"""The command line, `agui-wire` (extra `cli`)."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import BinaryIO

try:
    import click
except ImportError:  # pragma: no cover - depends on what is installed
    sys.exit("the command line needs its extra: pip install 'agui-wire[cli]'")

from . import __version__
from .inspection import inspect_recording
from .recording import WIRE_NAMES

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """AG-UI event streams in binary: look at them, replay them, measure them."""


@main.command()
@click.argument("file", type=click.File("rb"))
@click.option("--wire", type=click.Choice(list(WIRE_NAMES)), help="The wire; guessed if not given.")
@click.option(
    "--stats", is_flag=True, help="Counts and sizes by event type in place of the events."
)
def inspect(file: BinaryIO, wire: str | None, stats: bool) -> None:
    """Print a recorded body (FILE, or - for standard input) as JSON lines.

    A broken one is printed up to the fault, which goes to standard error with its event and
    byte; the exit code is then 1.
    """
    media_type = None if wire is None else WIRE_NAMES[wire]
    sys.exit(inspect_recording(file, media_type, stats=stats))


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=0, show_default=True, help="0 takes a free one.")
def serve(file: Path, host: str, port: int) -> None:
    """Serve a recording (FILE) as an agent; prints the URL. Needs the extra `http`."""
    from . import demo

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(demo.serve(demo.replay_agent(file), host, port))


@main.command("demo")
@click.option(
    "--replay",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A recording of your own, in place of the one that ships with the package.",
)
def run_demo(replay: Path | None) -> None:
    """Stream a recorded run from a server to a client over each wire, and compare.

    Exits 0 only if the three wires gave equal events. Needs the extra `http`.
    """
    from rich.console import Console
    from rich.table import Table

    from . import demo

    passages = asyncio.run(demo.play(replay or demo.shipped_recording()))
    table = Table(box=None)
    for title in ("wire", "content type", "bytes", "events", "events/s", "of SSE's bytes"):
        table.add_column(title, justify="left" if title in ("wire", "content type") else "right")
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
    console = Console()
    console.print(table)
    first = passages[0]
    equal = all(
        (each.events, each.messages, each.state) == (first.events, first.messages, first.state)
        for each in passages
    )
    console.print("The three wires gave equal events." if equal else "The wires differ.")
    sys.exit(0 if equal else 1)
