"""JSON over server-sent events, the default wire (protocol page "wire", WHATWG HTML 9.2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from .._json import DEFAULT_MAX_DEPTH, deeper_than, refusal, too_deep
from ..errors import DepthExceeded, MalformedFrame
from ..events import BaseEvent, Event
from ._nested import is_flat, may_lack_fixed_value
from ._scrub import ignore, scrub

__all__ = ["decode_event", "decode_object", "encode_flat", "encode_object", "frame"]

_decoder = msgspec.json.Decoder(Event)
_generic = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()

encode_object: Callable[[Any], bytes] = _encoder.encode
"""The JSON text of an object or a Struct. Raises what msgspec raises."""


def encode_flat(event: BaseEvent) -> bytes:
    """The payload of a Struct without open JSON, read back strictly: Structs check nothing.

    Raises what msgspec raises, and UnicodeEncodeError for half a surrogate pair.
    """
    payload = _encoder.encode(event)
    _decoder.decode(payload)
    return payload


def frame(payload: bytes) -> bytes:
    """One SSE event with `payload` as its data."""
    return b"data: " + payload + b"\n\n"


def decode_event(
    payload: memoryview | bytes,
    *,
    max_depth: int = DEFAULT_MAX_DEPTH,
    warn: Callable[[str, str, str], None] = ignore,
) -> Event | dict[str, Any]:
    """The event in a JSON text, or its plain object where the strict decode cannot vouch for it.

    Raises MalformedFrame, and DepthExceeded past `max_depth` JSON levels.
    """
    try:
        event: Event = _decoder.decode(payload)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return decode_object(payload, max_depth=max_depth, warn=warn)
    if may_lack_fixed_value(event):
        return decode_object(payload, max_depth=max_depth, warn=warn)
    # A level costs two bytes, so a short text cannot nest too deep.
    if len(payload) > 2 * max_depth and not is_flat(event) and deeper_than(event, max_depth):
        raise too_deep(max_depth)
    return event


def decode_object(
    payload: memoryview | bytes,
    *,
    max_depth: int = DEFAULT_MAX_DEPTH,
    warn: Callable[[str, str, str], None] = ignore,
) -> dict[str, Any]:
    """The JSON object in `payload`, before enforcement.

    Escaped lone surrogates are kept. Raises MalformedFrame where it is no JSON object, and
    DepthExceeded past `max_depth` levels.
    """
    try:
        obj = _generic.decode(payload)
    except RecursionError:
        raise too_deep(max_depth) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        obj = _decode_leniently(bytes(payload), refusal(error), max_depth, warn)
    if type(obj) is not dict:
        raise MalformedFrame(f"an event is a JSON object, not {_excerpt(bytes(payload))}")
    if len(payload) > 2 * max_depth and deeper_than(obj, max_depth):
        raise too_deep(max_depth)
    return obj


def _decode_leniently(
    payload: bytes,
    refused: str,
    max_depth: int,
    warn: Callable[[str, str, str], None],
) -> Any:
    """JSON that msgspec refuses though it is legal: lone surrogates, and numbers past a double."""
    try:
        text = payload.decode()
        obj = json.loads(text, parse_constant=_refuse_constant)
        return scrub(obj, max_depth, warn)
    except RecursionError:
        raise too_deep(max_depth) from None
    except DepthExceeded:
        raise
    except ValueError:
        raise MalformedFrame(f"no JSON: {refused}: {_excerpt(payload)}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _excerpt(payload: bytes) -> str:
    shown = payload[:60].decode("utf-8", "replace")
    return repr(shown) + ("..." if len(payload) > 60 else "")
