"""Replaying whole streams of raw events over each wire, however they are cut."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    Event,
    StreamConsumer,
    StreamError,
    StreamWarning,
)
from agui_wire.codecs import msgpack, protobuf
from agui_wire.run_input import RunAgentInput

WIRES = {"sse": SSE_MEDIA_TYPE, "protobuf": AGUI_MEDIA_TYPE, "msgpack": MSGPACK_MEDIA_TYPE}


class Unwritable(Exception):
    """A raw event that a wire has no bytes for."""


@dataclass
class Outcome:
    """What a consumer made of a stream."""

    consumer: StreamConsumer
    events: list[Event] = field(default_factory=list)
    warnings: list[StreamWarning] = field(default_factory=list)
    error: StreamError | None = None

    @property
    def verdict(self) -> str:
        return "completed" if self.error is None else "failed"


def frame(event: Any, wire: str) -> bytes:
    """The bytes of one raw event, which need not be valid. Raises Unwritable."""
    if wire == "sse":
        return b"data: " + json.dumps(event).encode() + b"\n\n"
    if wire == "msgpack":
        return msgpack.frame(msgspec.msgpack.encode(event))
    try:
        return protobuf.frame(protobuf.encode_object(event))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unwritable(repr(error)) from error


def consume(
    chunks: Iterable[bytes], media_type: str, run_input: RunAgentInput | None = None
) -> Outcome:
    """Feed chunks to a consumer until it has had enough."""
    warnings: list[StreamWarning] = []
    consumer = StreamConsumer(media_type, run_input=run_input, on_warning=warnings.append)
    outcome = Outcome(consumer, warnings=warnings)
    try:
        for chunk in chunks:
            outcome.events += consumer.feed(chunk)
        outcome.events += consumer.close()
    except StreamError as error:
        outcome.error = error
    return outcome


def cuts(frames: list[bytes], how: str) -> Iterator[bytes]:
    """A body whole, frame by frame, in random pieces, or byte by byte."""
    body = b"".join(frames)
    if how == "whole":
        yield body
    elif how == "frames":
        yield from frames
    elif how == "bytes":
        for position in range(len(body)):
            yield body[position : position + 1]
    else:
        rng = random.Random(how)
        while body:
            size = rng.randint(1, 40)
            yield body[:size]
            body = body[size:]
