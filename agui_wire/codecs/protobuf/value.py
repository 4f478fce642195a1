"""google.protobuf.Value and Struct, as JSON values.

Our own codec: it keeps the order of keys, goes as deep as JSON may, and leaves an empty key
out of its entry, as the published encoder does (protocol page "wire").
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, Optional

from ..._json import escape
from ...errors import DepthExceeded, MalformedFrame
from .wire import FIXED64, LENGTH, VARINT, Buffer, encode_varint, fields

__all__ = ["ABSENT", "decode_struct", "decode_value", "encode_struct", "encode_value"]

Warn = Callable[[str, str, str], None]
Where = Optional[tuple[Any, str]]  # noqa: UP045 - evaluated on 3.10 too
"""A value's place, as a chain from the inside out; a path is only written where one is needed."""

_MAX_EXACT = 2.0**53
_double = struct.Struct("<d")
_pack_double = _double.pack
_unpack_double = _double.unpack


class _Absent:
    """A Value with no kind set."""


ABSENT = _Absent()

_NULL, _NUMBER, _STRING, _BOOL, _STRUCT, _LIST = 1, 2, 3, 4, 5, 6
_WIRE_TYPES = {
    _NULL: VARINT,
    _NUMBER: FIXED64,
    _STRING: LENGTH,
    _BOOL: VARINT,
    _STRUCT: LENGTH,
    _LIST: LENGTH,
}


def encode_value(value: Any) -> bytes:
    """The Value of a plain JSON value. Raises ValueError or OverflowError for an integer that no
    double holds exactly."""
    kind = type(value)
    if kind is str:
        text: bytes = value.encode()
        return b"\x1a" + encode_varint(len(text)) + text
    if value is None:
        return b"\x08\x00"
    if kind is bool:
        return b"\x20\x01" if value else b"\x20\x00"
    if kind is dict:
        inner = encode_struct(value)
        return b"\x2a" + encode_varint(len(inner)) + inner
    if kind is list:
        out = bytearray()
        for item in value:
            inner = encode_value(item)
            out += b"\x0a"
            out += encode_varint(len(inner))
            out += inner
        return b"\x32" + encode_varint(len(out)) + bytes(out)
    if kind is int and not -_MAX_EXACT <= value <= _MAX_EXACT and float(value) != value:
        raise ValueError(f"no double holds {value} exactly")
    return b"\x11" + _pack_double(value)


def encode_struct(value: dict[str, Any]) -> bytes:
    """The Struct of a plain JSON object."""
    out = bytearray()
    for key, item in value.items():
        inner = encode_value(item)
        entry = b"\x12" + encode_varint(len(inner)) + inner
        if key:
            name = key.encode()
            entry = b"\x0a" + encode_varint(len(name)) + name + entry
        out += b"\x0a"
        out += encode_varint(len(entry))
        out += entry
    return bytes(out)


def decode_value(data: Buffer, levels: int, where: Where, warn: Warn) -> Any:
    """The JSON value in a Value message, or ABSENT where no kind is set.

    Raises MalformedFrame, and DepthExceeded where it nests more than `levels` levels. A NaN or
    an infinity reads as null, with a warning at `where`.
    """
    kind = 0
    value: Any = ABSENT
    parts: list[Buffer] = []
    for number, wire_type, field in fields(data):
        if _WIRE_TYPES.get(number) != wire_type:
            continue
        if parts and number != kind:
            # Superseded, but still to be well-formed.
            _decode_container(kind, parts, levels, where, warn)
            parts = []
        kind = number
        if number == _STRING:
            value = decode_text(field)
        elif number == _NUMBER:
            value = _decode_number(field, where, warn)
        elif number == _BOOL:
            value = field != 0
        elif number == _NULL:
            value = None
        else:
            assert not isinstance(field, int)
            parts.append(field)
    if parts:
        return _decode_container(kind, parts, levels, where, warn)
    return value


def _decode_container(kind: int, parts: list[Buffer], levels: int, where: Where, warn: Warn) -> Any:
    payload = parts[0] if len(parts) == 1 else b"".join(parts)
    if kind == _STRUCT:
        return decode_struct(payload, levels, where, warn)
    if levels <= 0:
        raise DepthExceeded("JSON is nested too deep", path_of(where))
    items: list[Any] = []
    for number, wire_type, field in fields(payload):
        if number == 1 and wire_type == LENGTH:
            assert not isinstance(field, int)
            item = decode_value(field, levels - 1, (where, str(len(items))), warn)
            items.append(None if item is ABSENT else item)
    return items


def decode_struct(data: Buffer, levels: int, where: Where, warn: Warn) -> dict[str, Any]:
    """The JSON object in a Struct message; entries without a value are left out."""
    if levels <= 0:
        raise DepthExceeded("JSON is nested too deep", path_of(where))
    members: dict[str, Any] = {}
    for number, wire_type, entry in fields(data):
        if number != 1 or wire_type != LENGTH:
            continue
        assert not isinstance(entry, int)
        key = ""
        parts: list[Buffer] = []
        for inner_number, inner_type, field in fields(entry):
            if inner_type == LENGTH:
                assert not isinstance(field, int)
                if inner_number == 1:
                    key = decode_text(field)
                elif inner_number == 2:
                    parts.append(field)
        payload = parts[0] if len(parts) == 1 else b"".join(parts)
        value = decode_value(payload, levels - 1, (where, key), warn)
        if value is ABSENT:
            members.pop(key, None)
        else:
            members[key] = value
    return members


def decode_text(field: int | Buffer) -> str:
    """A string field; protobuf wants UTF-8, and refusing is its rule."""
    assert not isinstance(field, int)
    try:
        return str(field, "utf-8")
    except UnicodeDecodeError:
        raise MalformedFrame("a string is not UTF-8") from None


def _decode_number(field: int | Buffer, where: Where, warn: Warn) -> int | float | None:
    number: float
    assert not isinstance(field, int)
    (number,) = _unpack_double(field)
    if number.is_integer() and -_MAX_EXACT <= number <= _MAX_EXACT:
        # Negative zero is no integer.
        if number == 0 and math.copysign(1.0, number) < 0:
            return number
        return int(number)
    if not math.isfinite(number):
        warn("non-finite", path_of(where), f"read {number} as null: JSON has no such number")
        return None
    return number


def path_of(where: Where) -> str:
    """The JSON Pointer of a place."""
    steps: list[str] = []
    while where is not None:
        where, key = where
        steps.append(key)
    return "".join(f"/{escape(step)}" for step in reversed(steps))
