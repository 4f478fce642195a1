"""Commands about recorded bodies: inspect and convert."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import BinaryIO, Literal

import click

from .._warnings import WarningLog
from ..encoder import EventEncoder
from ..errors import AguiWireError, StreamError
from ..events import Event
from ..inspection import assembled, check, events_as_lines, statistics
from ..media_types import SSE_MEDIA_TYPE
from ..recording import JSON_LINES, WIRE_NAMES, json_line, read_recording
from ._options import guessed_wire, media_type_of, print_error, print_warning

__all__ = ["convert", "inspect"]


@click.command()
@click.argument("file", type=click.File("rb"))
@guessed_wire
@click.option("--stats", "what", flag_value="stats", help="Counts and sizes by event type.")
@click.option("--assemble", "what", flag_value="assemble", help="The messages, state and outcome.")
@click.option("--check", "what", flag_value="check", help="Every warning and fault, by event.")
def inspect(file: BinaryIO, wire: str | None, what: str | None) -> None:
    """Print a recorded body (FILE, or - for standard input) as JSON lines.

    A body that is broken is printed up to the fault, which goes to standard error with its event
    and byte; the exit code is then 1. --assemble and --check also find events out of sequence.
    """
    write = sys.stdout.buffer.write
    media_type = media_type_of(wire)
    if what == "check":
        sys.exit(1 if check(file, media_type, write) else 0)
    warnings = WarningLog(print_warning)
    recording = read_recording(file, media_type, warnings)
    try:
        if what == "assemble":
            assembled(recording, write, warnings)
        elif what == "stats":
            statistics(recording, write)
        else:
            events_as_lines(recording, write)
    except StreamError as error:
        print_error(error)
        sys.exit(1)


@click.command()
@click.argument("file", type=click.File("rb"))
@guessed_wire
@click.option("--to", "target", type=click.Choice(list(WIRE_NAMES)), required=True)
@click.option("-o", "--output", type=click.File("wb"), default="-", help="Standard output if not.")
@click.option(
    "--lossy-int",
    type=click.Choice(["raise", "round", "string"]),
    default="raise",
    show_default=True,
    help="What becomes of an integer that the wire cannot hold exactly.",
)
def convert(
    file: BinaryIO,
    wire: str | None,
    target: str,
    output: BinaryIO,
    lossy_int: Literal["raise", "round", "string"],
) -> None:
    """Write a recorded body (FILE, or - for standard input) on another wire.

    A body that is broken is written up to the fault; the exit code is then 1.
    """
    media_type = WIRE_NAMES[target]
    warnings = WarningLog(print_warning)
    encoder = EventEncoder(
        media_type,
        lossy_int=lossy_int,
        on_warning=lambda warning: warnings.warn(warning.kind, warning.path, warning.message),
    )
    # On the text wires half a surrogate pair is kept, as it was recorded.
    encode: Callable[[Event], bytes] = encoder.encode_binary
    if media_type in (JSON_LINES, SSE_MEDIA_TYPE):
        encode = json_line if media_type == JSON_LINES else _sse_event
    try:
        for recorded in read_recording(file, media_type_of(wire), warnings):
            for event in recorded.events:
                output.write(encode(event))
    except AguiWireError as error:
        print_error(error)
        sys.exit(1)


def _sse_event(event: Event) -> bytes:
    return b"data: " + json_line(event) + b"\n"
