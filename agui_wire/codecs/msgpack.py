"""MessagePack maps with the JSON's keys, an extension of ours (protocol page "wire")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .._json import DEFAULT_MAX_DEPTH, refusal, too_deep
from ..errors import MalformedFrame
from ..events import BaseEvent, Event
from ._nested import is_flat, may_lack_fixed_value
from ._scrub import ignore, scrub

__all__ = ["decode_event", "decode_object", "encode_flat", "encode_object", "frame"]

_decoder = msgspec.msgpack.Decoder(Event)
_generic = msgspec.msgpack.Decoder()
_encoder = msgspec.msgpack.Encoder()

encode_object: Callable[[Any], bytes] = _encoder.encode
"""The MessagePack of an object or a Struct. Raises what msgspec raises."""


def encode_flat(event: BaseEvent) -> bytes:
    """The payload of a Struct without open JSON, read back strictly: Structs check nothing.

    Raises what msgspec raises, and UnicodeEncodeError for half a surrogate pair.
    """
    payload = _encoder.encode(event)
    _decoder.decode(payload)
    return payload


def frame(payload: bytes) -> bytes:
    """`payload` behind its length, 4 bytes big-endian."""
    return len(payload).to_bytes(4, "big") + payload


def decode_event(
    payload: memoryview | bytes,
    *,
    max_depth: int = DEFAULT_MAX_DEPTH,
    warn: Callable[[str, str, str], None] = ignore,
) -> Event | dict[str, Any]:
    """The event in a MessagePack map, or its plain object where the strict decode cannot vouch
    for it.

    Raises MalformedEvent, and DepthExceeded past `max_depth` JSON levels.
    """
    try:
        event: Event = _decoder.decode(payload)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return decode_object(payload, max_depth=max_depth, warn=warn)
    lacking = may_lack_fixed_value(event)
    if is_flat(event) and not lacking:
        return event
    obj = decode_object(payload, max_depth=max_depth, warn=warn)
    if lacking:
        return obj
    try:
        event = msgspec.convert(obj, type(event))
    except (msgspec.ValidationError, RecursionError):
        return obj
    return event


def decode_object(
    payload: memoryview | bytes,
    *,
    max_depth: int = DEFAULT_MAX_DEPTH,
    warn: Callable[[str, str, str], None] = ignore,
) -> dict[str, Any]:
    """The map in `payload` as a JSON object, before enforcement.

    Raises MalformedFrame where it is no map, MalformedEvent where it holds what JSON cannot
    (binary, extension types, keys that are no strings), DepthExceeded past `max_depth` levels.
    """
    try:
        obj = _generic.decode(payload)
        if type(obj) is dict:
            scrubbed: dict[str, Any] = scrub(obj, max_depth, warn)
            return scrubbed
    except RecursionError:
        raise too_deep(max_depth) from None
    except (msgspec.MsgspecError, ValueError, OverflowError, TypeError) as error:
        raise MalformedFrame(f"no MessagePack: {refusal(error)}") from None
    raise MalformedFrame(f"an event is a map, not {type(obj).__name__}")
