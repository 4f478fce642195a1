"""Bytes of streams, and reading them in every way in which they may arrive."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    Event,
    StreamDecoder,
    StreamError,
    StreamWarning,
    encode,
    to_dict,
)

__all__ = [
    "BINARY_WIRES",
    "GOOD",
    "LOOSE_WIRES",
    "WIRES",
    "Reading",
    "Refusal",
    "as_json",
    "frame",
    "in_pieces",
    "loose",
    "message",
    "nested",
    "prefixed",
    "read",
    "refusal_of",
    "sse",
    "two_pieces",
]

WIRES = {
    "sse": SSE_MEDIA_TYPE,
    "msgpack": MSGPACK_MEDIA_TYPE,
    "protobuf": AGUI_MEDIA_TYPE,
}
BINARY_WIRES = ("msgpack", "protobuf")
LOOSE_WIRES = ("sse", "msgpack")
"""The wires that can carry any JSON object, valid event or not."""

GOOD: dict[str, Any] = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "good"}


def prefixed(payload: bytes) -> bytes:
    """A frame of a binary wire."""
    return len(payload).to_bytes(4, "big") + payload


def sse(text: str | bytes) -> bytes:
    """An SSE event with `text` as its data."""
    data = text.encode() if isinstance(text, str) else text
    return b"data: " + data + b"\n\n"


def frame(wire: str, event: Any, **options: Any) -> bytes:
    """A valid event on a wire."""
    return encode(event, WIRES[wire], **options)


def loose(wire: str, obj: Any) -> bytes:
    """Any JSON value on a loose wire, valid event or not."""
    return sse(json.dumps(obj)) if wire == "sse" else prefixed(msgspec.msgpack.encode(obj))


def varint(value: int) -> bytes:
    """A protobuf varint."""
    low, rest = value & 0x7F, value >> 7
    return bytes((low | 0x80,)) + varint(rest) if rest else bytes((low,))


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """A protobuf message of varint and length-delimited fields."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def nested(wire: str, levels: int) -> bytes:
    """A STATE_SNAPSHOT frame whose JSON has `levels` levels, the event being level 1."""
    inner = levels - 1
    if wire == "sse":
        return sse('{"type":"STATE_SNAPSHOT","snapshot":' + "[" * inner + "]" * inner + "}")
    if wire == "msgpack":
        head = msgspec.msgpack.encode({"type": "STATE_SNAPSHOT", "snapshot": None})[:-1]
        return prefixed(head + b"\x91" * (inner - 1) + b"\x90")
    # Built from the inside out: `message` would copy the inside at every level.
    sizes = [0]
    for _ in range(inner - 1):
        value = 1 + len(varint(sizes[-1])) + sizes[-1]
        sizes.append(1 + len(varint(value)) + value)
    value_of_lists = bytearray()
    for index, size in enumerate(reversed(sizes)):
        if index:
            value_of_lists += b"\x0a" + varint(1 + len(varint(size)) + size)
        value_of_lists += b"\x32" + varint(size)
    return prefixed(message((7, message((1, message((1, 6))), (2, bytes(value_of_lists))))))


def as_json(value: Any) -> str:
    """Canonical JSON text, in which an integral float is an integer."""

    def plain(item: Any) -> Any:
        if isinstance(item, float) and item.is_integer():
            return int(item)
        if isinstance(item, list):
            return [plain(each) for each in item]
        if isinstance(item, dict):
            return {key: plain(each) for key, each in item.items()}
        return item

    return json.dumps(plain(value), sort_keys=True)


class Refusal(NamedTuple):
    """What a StreamError said."""

    kind: type[StreamError]
    text: str
    event_index: int | None
    offset: int | None


class Reading(NamedTuple):
    """What became of a stream."""

    events: list[Event]
    refusal: Refusal | None
    warnings: list[StreamWarning]

    @property
    def dicts(self) -> list[dict[str, Any]]:
        """The events as JSON objects."""
        return [to_dict(event) for event in self.events]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the warnings."""
        return [warning.kind for warning in self.warnings]


def refusal_of(error: StreamError) -> Refusal:
    """An error's words, for comparing."""
    return Refusal(type(error), str(error), error.event_index, error.offset)


def read(media_type: str, chunks: bytes | Iterable[bytes], **options: Any) -> Reading:
    """Feeds and closes a StreamDecoder, and checks that a fault stays a fault."""
    warnings: list[StreamWarning] = []
    events: list[Event] = []
    decoder = StreamDecoder(
        WIRES.get(media_type, media_type), on_warning=warnings.append, **options
    )
    try:
        for chunk in [chunks] if isinstance(chunks, bytes) else chunks:
            events += decoder.feed(chunk)
        events += decoder.close()
    except StreamError as error:
        refusal = refusal_of(error)
        for more in (frame("sse", GOOD), None, b"", None):
            with pytest.raises(StreamError) as info:
                decoder.close() if more is None else decoder.feed(more)
            assert refusal_of(info.value) == refusal
        return Reading(events, refusal, warnings)
    return Reading(events, None, warnings)


def in_pieces(body: bytes, size: int) -> list[bytes]:
    """`body` in pieces of `size` bytes."""
    return [body[start : start + size] for start in range(0, len(body), size)]


def two_pieces(body: bytes) -> Iterator[list[bytes]]:
    """`body` cut in two, at every place."""
    for position in range(len(body) + 1):
        yield [body[:position], body[position:]]
