"""Media types of the three wires, and the choice between them from an Accept header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

__all__ = [
    "AGUI_MEDIA_TYPE",
    "MSGPACK_MEDIA_TYPE",
    "PROTOCOL_VERSION",
    "SSE_MEDIA_TYPE",
    "negotiate",
    "wire_of",
]

AGUI_MEDIA_TYPE = "application/vnd.ag-ui.event+proto"
MSGPACK_MEDIA_TYPE = "application/vnd.ag-ui.event+msgpack"
SSE_MEDIA_TYPE = "text/event-stream"
PROTOCOL_VERSION = "1.0"

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
# One that is never closed runs to the end, so that every header is read in linear time.
_QUOTED = r'"(?:[^"\\]|\\[\s\S]?)*(?:"|\Z)'
# RFC 9110 section 5.6.1: list members, where commas inside quoted strings do not count.
_MEMBER = re.compile(rf"(?:[^,\"]|{_QUOTED})+")
_RANGE = re.compile(rf"({_TOKEN})/({_TOKEN})")
_PARAMETER = re.compile(rf"[ \t]*;[ \t]*(?:({_TOKEN})=({_TOKEN}|{_QUOTED}))?")
_QVALUE = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def negotiate(accept: str | None, *, wildcards: bool = False) -> str:
    """Choose the media type of a response from the request's Accept header (RFC 9110 12.5.1).

    Protobuf is chosen where the header names it with q > 0; MessagePack only where it is named
    and protobuf is not; everything else, an unreadable header included, is SSE. With
    `wildcards=True`, `*/*` and `application/*` admit protobuf, as the specification has it.
    Repeated header lines are to be joined with commas first. Never raises.
    """
    return _negotiate(accept or "", wildcards)


@lru_cache(maxsize=512)
def _negotiate(accept: str, wildcards: bool) -> str:
    qualities: dict[str, float] = {}
    for name, quality in _members(accept):
        qualities[name] = max(quality, qualities.get(name, 0.0))
    if _accepts(qualities, AGUI_MEDIA_TYPE, wildcards):
        return AGUI_MEDIA_TYPE
    if qualities.get(MSGPACK_MEDIA_TYPE, 0.0) > 0:
        return MSGPACK_MEDIA_TYPE
    return SSE_MEDIA_TYPE


def _accepts(qualities: dict[str, float], media_type: str, wildcards: bool) -> bool:
    ranges = (media_type, "application/*", "*/*") if wildcards else (media_type,)
    for name in ranges:
        if name in qualities:
            return qualities[name] > 0
    return False


def _members(accept: str) -> Iterator[tuple[str, float]]:
    for member in _MEMBER.findall(accept):
        text = member.strip(" \t")
        media_range = _RANGE.match(text)
        if media_range is None:
            continue
        position, quality, exact = media_range.end(), 1.0, True
        while position < len(text):
            parameter = _PARAMETER.match(text, position)
            if parameter is None:
                exact = False
                break
            position = parameter.end()
            name, value = parameter.groups()
            if name is None:
                continue
            if name.lower() == "q":
                exact = exact and _QVALUE.fullmatch(value) is not None
                quality = float(value) if exact else 0.0
            else:
                exact = False
        if exact:
            yield media_range.group().lower(), quality


def wire_of(content_type: str) -> str:
    """The media type that a Content-Type header names, without parameters and in lower case.

    Readers are liberal: a charset or another parameter is ignored. Raises ValueError where the
    type is none of the three wires, TypeError where it is no str.
    """
    if not isinstance(content_type, str):
        raise TypeError(f"a content type is a str, not {type(content_type).__name__}")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in (SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE):
        raise ValueError(
            f"{content_type!r} is no AG-UI wire: expected {SSE_MEDIA_TYPE}, {AGUI_MEDIA_TYPE} "
            f"or {MSGPACK_MEDIA_TYPE}"
        )
    return media_type
