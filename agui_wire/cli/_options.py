"""What several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from .._warnings import StreamWarning
from ..inspection import printable
from ..recording import WIRE_NAMES

__all__ = [
    "extra_http",
    "guessed_wire",
    "media_type_of",
    "print_error",
    "print_warning",
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


@contextmanager
def extra_http() -> Iterator[None]:
    """Around the imports of a command that needs the extra `http`."""
    try:
        yield
    except ImportError as error:
        if error.name != "aiohttp":
            raise
        raise click.ClickException(
            "this command needs the extra `http`: pip install 'agui-wire[http]'"
        ) from None
