"""The three wires: one module each, with the same verbs.

`decode_event(payload)` gives an event where the strict decode takes it, else the JSON object
for enforcement to judge; `decode_object(payload)` always the object; `encode_object(obj)` the
payload of a plain and valid object; `encode_flat(event)` that of a Struct without open JSON,
checked; `frame(payload)` what goes on the wire.
"""

from __future__ import annotations

from types import ModuleType

from ..media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE
from . import msgpack, protobuf, sse

__all__ = ["WIRES"]

WIRES: dict[str, ModuleType] = {
    SSE_MEDIA_TYPE: sse,
    AGUI_MEDIA_TYPE: protobuf,
    MSGPACK_MEDIA_TYPE: msgpack,
}
