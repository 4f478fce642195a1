"""This package on its three wires: encode, decode, the pipeline, compressed writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..decoder import StreamDecoder
from ..encoder import EventEncoder
from ..events import Event
from ..http._compress import acceptable_codings, compressor
from ..media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE
from ..pipeline.consumer import StreamConsumer
from .prepared import Context, Prepare, Prepared, chunks
from .workloads import load

__all__ = ["PREPARE", "WIRES"]

WIRES = {"sse": SSE_MEDIA_TYPE, "protobuf": AGUI_MEDIA_TYPE, "msgpack": MSGPACK_MEDIA_TYPE}


def _frames(context: Context, wire: str) -> list[bytes]:
    encode = EventEncoder(WIRES[wire]).encode_binary
    return [encode(event) for event in load(context.path)]


def _encode(wire: str) -> Prepare:
    def prepare(context: Context) -> Prepared:
        events = load(context.path)
        encode = EventEncoder(WIRES[wire]).encode_binary

        def run() -> None:
            for event in events:
                encode(event)

        return Prepared(run, len(events), sum(map(len, map(encode, events))))

    return prepare


def _encode_many(wire: str) -> Prepare:
    def prepare(context: Context) -> Prepared:
        events = load(context.path)
        encode_many = EventEncoder(WIRES[wire]).encode_many
        return Prepared(lambda: encode_many(events), len(events), len(encode_many(events)))

    return prepare


def _feeding(wire: str, make: Callable[[str], Any], *, by_frame: bool = False) -> Prepare:
    """Decode or consume a body, in chunks or a frame at a time; gives the reader at the end."""

    def prepare(context: Context) -> Prepared:
        frames = _frames(context, wire)
        body = b"".join(frames)
        pieces = frames if by_frame else chunks(body)

        def run() -> Any:
            reader = make(WIRES[wire])
            feed = reader.feed
            for piece in pieces:
                feed(piece)
            reader.close()
            return reader

        return Prepared(run, len(frames), len(body))

    return prepare


def _hold(wire: str) -> Prepare:
    """Decode a body and keep every event."""

    def prepare(context: Context) -> Prepared:
        frames = _frames(context, wire)
        body = b"".join(frames)
        pieces = chunks(body)

        def run() -> list[Event]:
            decoder = StreamDecoder(WIRES[wire])
            events: list[Event] = []
            for piece in pieces:
                events += decoder.feed(piece)
            return events + decoder.close()

        return Prepared(run, len(frames), len(body))

    return prepare


def _compress(wire: str, coding: str) -> Prepare:
    """Each frame through the compressor in a write of its own, flushed."""

    def prepare(context: Context) -> Prepared:
        acceptable_codings(coding)  # says what is missing
        frames = _frames(context, wire)

        def run() -> int:
            body = compressor(coding)
            write = body.write
            size = 0
            for frame in frames:
                size += len(write(frame))
            return size + len(body.finish())

        return Prepared(run, len(frames), run())

    return prepare


def _raw(wire: str) -> Prepare:
    """The sizes alone: nothing to do."""

    def prepare(context: Context) -> Prepared:
        frames = _frames(context, wire)
        return Prepared(lambda: None, len(frames), sum(map(len, frames)))

    return prepare


PREPARE: dict[tuple[str, str], Prepare] = {}
for _wire in WIRES:
    PREPARE |= {
        ("encode", _wire): _encode(_wire),
        ("encode many", _wire): _encode_many(_wire),
        ("decode", _wire): _feeding(_wire, StreamDecoder),
        ("decode frames", _wire): _feeding(_wire, StreamDecoder, by_frame=True),
        ("pipeline", _wire): _feeding(_wire, StreamConsumer),
        ("hold", _wire): _hold(_wire),
        ("assemble", _wire): _feeding(_wire, StreamConsumer),
        ("compress", f"{_wire} raw"): _raw(_wire),
        ("compress", f"{_wire} gzip"): _compress(_wire, "gzip"),
        ("compress", f"{_wire} zstd"): _compress(_wire, "zstd"),
    }
