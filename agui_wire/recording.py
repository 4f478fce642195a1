"""Recorded runs: a saved body of any wire, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from ._json import DEFAULT_MAX_DEPTH, DEFAULT_MAX_FRAME_SIZE
from ._warnings import WarningLog
from .convert import to_dict
from .decoder import EventReader, FrameReader
from .errors import FrameTooLarge, MalformedFrame, StreamError, TruncatedStream
from .events import Event
from .media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE

__all__ = [
    "JSON_LINES",
    "WIRE_NAMES",
    "Frame",
    "Recorded",
    "guess_wire",
    "json_line",
    "json_text",
    "read_frames",
    "read_recording",
    "shipped_recording",
]

JSON_LINES = "application/jsonl"

WIRE_NAMES = {
    "sse": SSE_MEDIA_TYPE,
    "protobuf": AGUI_MEDIA_TYPE,
    "msgpack": MSGPACK_MEDIA_TYPE,
    "jsonl": JSON_LINES,
}

_SSE_STARTS = (b"data", b"event", b"id", b"retry", b":", b"\r", b"\n")
_BOM = b"\xef\xbb\xbf"
_CHUNK = 64 * 1024
_GUESSED_FROM = 16


class Frame(NamedTuple):
    """One frame of a recording: the byte where it begins, its size in bytes, its payload.

    `complete` is False where the end of the recording is its end.
    """

    offset: int
    size: int
    payload: memoryview
    complete: bool = True

    def fault(self, error: StreamError, index: int) -> StreamError:
        """What an error in this frame amounts to, with its place."""
        if not self.complete and isinstance(error, MalformedFrame):
            error = TruncatedStream(f"the recording ends inside an event: {error}")
        return error.located(index, self.offset)


class Recorded(NamedTuple):
    """One frame of a recording: the byte where it begins, its size in bytes, and the events it
    gave (none where it was dropped with a warning)."""

    offset: int
    size: int
    events: list[Event]


def shipped_recording() -> Path:
    """The recording that comes with the package: one run of a pydantic-ai agent."""
    return Path(__file__).with_name("recordings") / "pydantic_ai.jsonl"


def guess_wire(start: bytes) -> str:
    """The media type that a recording's first bytes (8 or more, where it has them) speak of.

    Text is SSE or JSON lines; a frame whose payload begins like a map with a string key is
    MessagePack; the rest is protobuf.
    """
    text = start.removeprefix(_BOM)
    if text.lstrip(b" \t\r\n")[:1] == b"{":
        return JSON_LINES
    if text is not start or text.startswith(_SSE_STARTS):
        return SSE_MEDIA_TYPE
    payload = start[4:]
    is_map = payload[:1] in (b"\xde", b"\xdf") or (payload and payload[0] & 0xF0 == 0x80)
    # A protobuf tag may look like a small map, but its second byte is no string.
    if is_map and (payload[:1] > b"\xd0" or (len(payload) > 1 and payload[1] & 0xE0 == 0xA0)):
        return MSGPACK_MEDIA_TYPE
    return AGUI_MEDIA_TYPE


def json_text(value: Any) -> bytes:
    """JSON of a plain value. Half a surrogate pair is kept, as an escape."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def json_line(event: Event) -> bytes:
    """An event as a line of JSON."""
    return json_text(to_dict(event)) + b"\n"


def read_frames(stream: BinaryIO, media_type: str | None = None) -> tuple[str, Iterator[Frame]]:
    """A recording's wire, guessed if not given, and its frames as they are read.

    JSON lines are SSE to a decoder. Iterating raises StreamError, with event index and byte
    offset, after the frames before the fault.
    """
    chunks = _chunks(stream)
    start = next(chunks, b"")
    media_type = media_type or guess_wire(start[:_GUESSED_FROM])
    if media_type == JSON_LINES:
        return SSE_MEDIA_TYPE, _lines(start, chunks)
    return media_type, _frames(start, chunks, FrameReader(media_type))


def read_recording(
    stream: BinaryIO, media_type: str | None = None, warnings: WarningLog | None = None
) -> Iterator[Recorded]:
    """The frames of a recording, decoded as they are read; `media_type` is guessed if not given.

    `warnings` is closed at the end. Raises StreamError, with event index and byte offset, after
    the frames before the fault.
    """
    warnings = warnings or WarningLog()
    wire, frames = read_frames(stream, media_type)
    reader = EventReader(wire, DEFAULT_MAX_DEPTH, warnings)
    try:
        for index, frame in enumerate(frames):
            warnings.event_index = index
            try:
                events = reader.read(frame.payload)
            except StreamError as error:
                raise frame.fault(error, index) from None
            yield Recorded(frame.offset, frame.size, events)
    finally:
        warnings.close()


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    """What there is to read, the first chunk large enough to guess from."""
    read = getattr(stream, "read1", stream.read)
    start = b""
    while len(start) < _GUESSED_FROM:
        more = read(_CHUNK)
        if not more:
            break
        start += more
    while start:
        yield start
        start = read(_CHUNK)


def _lines(start: bytes, chunks: Iterator[bytes]) -> Iterator[Frame]:
    offset, index = 0, 0
    held = bytearray()
    chunk = start
    if chunk.startswith(_BOM):
        offset, chunk = len(_BOM), chunk[len(_BOM) :]
    while chunk:
        first, *others = chunk.split(b"\n")
        held += first
        for rest in others:
            line = bytes(held)
            if line.strip():
                yield Frame(offset, len(line) + 1, memoryview(line))
                index += 1
            offset += len(line) + 1
            held = bytearray(rest)
        if len(held) > DEFAULT_MAX_FRAME_SIZE:
            limit = DEFAULT_MAX_FRAME_SIZE
            raise FrameTooLarge(len(held), limit, " (a line)", event_index=index, offset=offset)
        chunk = next(chunks, b"")
    if held.strip():
        yield Frame(offset, len(held), memoryview(bytes(held)), complete=False)


def _frames(start: bytes, chunks: Iterator[bytes], reader: FrameReader) -> Iterator[Frame]:
    chunk = start
    while chunk:
        found = reader.feed(chunk)
        for offset, frame in zip(reader._starts, found):
            yield Frame(offset, len(frame), reader.payload(frame))
        chunk = next(chunks, b"")
    last = reader.close()
    for offset, frame in zip(reader._starts, last):
        yield Frame(offset, len(frame), reader.payload(frame), complete=False)
