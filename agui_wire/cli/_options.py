"""What several commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from .._warnings import StreamWarning
from ..recording import WIRE_NAMES

__all__ = [
    "extra_http",
    "guessed_wire",
    "media_type_of",
    "print_error",
    "print_warning",
    "printable",
]

guessed_wire = click.option(
    "--wire", type=click.Choice(list(WIRE_NAMES)), help="The wire of FILE; guessed if not given."
)


def media_type_of(wire: str | None) -> str | None:
    """The media type that a wire's short name stands for."""
    return None if wire is None else WIRE_NAMES[wire]


def print_error(error: Exception) -> None:
    """Tell of what ended a command, on standard error."""
    click.echo(f"error: {printable(str(error))}", err=True)


def print_warning(warning: StreamWarning) -> None:
    """Tell of one warning, on standard error."""
    place = "" if warning.event_index is None else f"event {warning.event_index}: "
    where = f" (at {warning.path})" if warning.path else ""
    times = f" ({warning.count} times)" if warning.count > 1 else ""
    click.echo(f"warning: {place}{printable(warning.message + where)}{times}", err=True)


# A peer's text must not steer the terminal: every control character but tab and line feed.
_CONTROLS = {code: "\ufffd" for code in [*range(32), *range(127, 160)] if chr(code) not in "\t\n"}


def printable(text: str) -> str:
    """Text of a peer's as it may be shown on a terminal."""
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode()


@contextmanager
def extra_http() -> Iterator[None]:
    """Around the imports of a command that needs the extra `http`."""
    try:
        yield
    except ImportError as error:
        if error.name != "aiohttp":
            raise
        raise click.ClickException(
            f"this command needs the extra `http`: {sys.executable} -m pip install 'agui-wire[http]'"
        ) from None
