"""What the tests of the encoding side share: the wires, and what is on them."""

from __future__ import annotations

import json
from typing import Any

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, StreamWarning
from agui_wire.codecs import WIRES as CODECS

__all__ = ["BINARY", "WIRES", "Object", "Warnings", "object_on"]

BINARY = (AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)
WIRES = (SSE_MEDIA_TYPE, *BINARY)

Object = dict[str, Any]


def object_on(wire: str, event: Any, **options: Any) -> Object:
    """The JSON object that an event is on a wire, before any enforcement."""
    framed = agui_wire.encode(event, wire, **options)
    if wire == SSE_MEDIA_TYPE:
        assert framed.startswith(b"data: {")
        assert framed.endswith(b"}\n\n")
        assert framed.count(b"\n") == 2
        obj: Object = json.loads(framed[6:])
    else:
        assert int.from_bytes(framed[:4], "big") == len(framed) - 4
        obj = CODECS[wire].decode_object(framed[4:], max_depth=options.get("max_depth", 100))
    return obj


class Warnings(list[StreamWarning]):
    """Collects what an encoder tells."""

    @property
    def told(self) -> list[tuple[str, str]]:
        """Kind and path of each."""
        return [(warning.kind, warning.path) for warning in self]
