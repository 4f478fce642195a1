"""Recorded runs: a saved body of any wire, or JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from ._json import DEFAULT_MAX_DEPTH, DEFAULT_MAX_FRAME_SIZE
from ._warnings import OnWarning, WarningLog
from .decoder import EventReader, FrameReader
from .errors import StreamError
from .events import Event
from .media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE

__all__ = ["JSON_LINES", "WIRE_NAMES", "Recorded", "guess_wire", "read_recording"]

JSON_LINES = "application/jsonl"

WIRE_NAMES = {
    "sse": SSE_MEDIA_TYPE,
    "protobuf": AGUI_MEDIA_TYPE,
    "msgpack": MSGPACK_MEDIA_TYPE,
    "jsonl": JSON_LINES,
}

_SSE_STARTS = (b"data", b"event", b"id", b"retry", b":", b"\xef\xbb\xbf", b"\r", b"\n")
_CHUNK = 64 * 1024


class Recorded(NamedTuple):
    """One frame of a recording: the byte where it begins, its size in bytes, and the events it
    gave (none where it was dropped with a warning)."""

    offset: int
    size: int
    events: list[Event]


def guess_wire(start: bytes) -> str:
    """The media type that a recording's first bytes (8 or more, where it has them) speak of.

    Text is SSE or JSON lines; a frame whose payload begins like a map with a string key is
    MessagePack; the rest is protobuf.
    """
    if start.lstrip(b" \t")[:1] == b"{":
        return JSON_LINES
    if start.startswith(_SSE_STARTS):
        return SSE_MEDIA_TYPE
    payload = start[4:]
    is_map = payload[:1] in (b"\xde", b"\xdf") or (payload and payload[0] & 0xF0 == 0x80)
    # A protobuf tag may look like a small map, but its second byte is no string.
    if is_map and (payload[:1] > b"\xd0" or (len(payload) > 1 and payload[1] & 0xE0 == 0xA0)):
        return MSGPACK_MEDIA_TYPE
    return AGUI_MEDIA_TYPE


def read_recording(
    stream: BinaryIO,
    media_type: str | None = None,
    *,
    max_frame_size: int = DEFAULT_MAX_FRAME_SIZE,
    max_depth: int = DEFAULT_MAX_DEPTH,
    on_warning: OnWarning | None = None,
) -> Iterator[Recorded]:
    """The frames of a recording, decoded as they are read; `media_type` is guessed if not given.

    Raises StreamError, with event index and byte offset, after the frames before the fault.
    """
    chunk = stream.read(_CHUNK)
    media_type = media_type or guess_wire(chunk[:16])
    wire = SSE_MEDIA_TYPE if media_type == JSON_LINES else media_type
    warnings = WarningLog(on_warning)
    reader = EventReader(wire, max_depth, warnings)
    frames = (
        _lines(stream, chunk)
        if media_type == JSON_LINES
        else _frames(stream, chunk, FrameReader(wire, max_frame_size=max_frame_size))
    )
    for index, (offset, size, payload) in enumerate(frames):
        warnings.event_index = index
        try:
            events = reader.read(payload)
        except StreamError as error:
            raise error.located(index, offset) from None
        yield Recorded(offset, size, events)
    warnings.close()


def _lines(stream: BinaryIO, chunk: bytes) -> Iterator[tuple[int, int, memoryview]]:
    offset, rest = 0, b""
    while chunk:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield offset, len(line) + 1, memoryview(line)
            offset += len(line) + 1
        chunk = stream.read(_CHUNK)
    if rest.strip():
        yield offset, len(rest), memoryview(rest)


def _frames(
    stream: BinaryIO, chunk: bytes, reader: FrameReader
) -> Iterator[tuple[int, int, memoryview]]:
    while chunk:
        found = reader.feed(chunk)
        for start, frame in zip(reader._starts, found):
            yield start, len(frame), reader.payload(frame)
        chunk = stream.read(_CHUNK)
    last = reader.close()
    for start, frame in zip(reader._starts, last):
        yield start, len(frame), reader.payload(frame)
