"""Protobuf frames, the protocol's binary binding (protocol page "wire")."""

from __future__ import annotations

from typing import Literal

from ..msgpack import frame
from .reference import decode_event, decode_object, encode_flat, encode_object

__all__ = [
    "decode_event",
    "decode_object",
    "encode_flat",
    "encode_object",
    "frame",
    "protobuf_engine",
]


def protobuf_engine() -> Literal["native", "reference"]:
    """Which engine reads and writes protobuf here.

    The native one where it was built, unless AGUI_WIRE_PURE=1 is set in the environment.
    """
    from .. import native

    return "reference" if native.load() is None else "native"
