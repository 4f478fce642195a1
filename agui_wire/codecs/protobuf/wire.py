"""The protobuf wire format itself: varints, fields, groups, and the arms of a oneof."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Union

from ...errors import MalformedFrame

VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 = 0, 1, 2, 3, 4, 5

Buffer = Union[bytes, memoryview]


def encode_varint(value: int) -> bytes:
    """A non-negative integer as a minimal varint."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def length_delimited(number: int, payload: bytes) -> bytes:
    """Field `number` holding `payload`."""
    return encode_varint(number << 3 | LENGTH) + encode_varint(len(payload)) + payload


def read_varint(data: Buffer, position: int) -> tuple[int, int]:
    """The varint at `position`, modulo 2**64, and the position behind it.

    Raises MalformedFrame where it is cut off or longer than ten bytes.
    """
    value = shift = 0
    try:
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF, position
            shift += 7
            if shift >= 70:
                raise MalformedFrame("a varint is longer than ten bytes")
    except IndexError:
        raise MalformedFrame("a varint is cut off") from None


def read_tag(data: Buffer, position: int) -> tuple[int, int, int]:
    """Field number, wire type and the position behind the tag."""
    tag, position = read_varint(data, position)
    number = (tag & 0xFFFFFFFF) >> 3
    if number == 0:
        raise MalformedFrame("there is no field number 0")
    return number, tag & 7, position


def fields(data: Buffer) -> Iterator[tuple[int, int, int | Buffer]]:
    """The fields of a message in order: number, wire type, value.

    The value is an integer for a varint, a slice of `data` for the other types, and empty for
    a group, which is skipped whole. Raises MalformedFrame where the bytes are no message.
    """
    position, end = 0, len(data)
    while position < end:
        number, wire_type, position = read_tag(data, position)
        if wire_type == VARINT:
            value, position = read_varint(data, position)
            yield number, wire_type, value
        elif wire_type == END_GROUP:
            raise MalformedFrame(f"a group of field {number} ends that never began")
        else:
            start, position = _skip(data, position, number, wire_type)
            yield number, wire_type, data[start:position] if wire_type != GROUP else b""


def _skip(data: Buffer, position: int, number: int, wire_type: int) -> tuple[int, int]:
    """Where the content of a field begins, and where the field ends."""
    if wire_type == LENGTH:
        size, position = read_varint(data, position)
    elif wire_type == FIXED64:
        size = 8
    elif wire_type == FIXED32:
        size = 4
    elif wire_type == GROUP:
        return position, _skip_group(data, position, number)
    else:
        raise MalformedFrame(f"field {number} has the unknown wire type {wire_type}")
    if size > len(data) - position:
        raise MalformedFrame(f"field {number} runs past the end of its message")
    return position, position + size


def _skip_group(data: Buffer, position: int, number: int) -> int:
    open_groups = [number]
    while open_groups:
        if position >= len(data):
            raise MalformedFrame(f"the group of field {open_groups[-1]} is not closed")
        inner, wire_type, position = read_tag(data, position)
        if wire_type == END_GROUP:
            if open_groups.pop() != inner:
                raise MalformedFrame(f"a group of field {inner} ends out of order")
        elif wire_type == GROUP:
            open_groups.append(inner)
        elif wire_type == VARINT:
            _, position = read_varint(data, position)
        else:
            _, position = _skip(data, position, inner, wire_type)
    return position


def read_arm(data: Buffer, arms: Container[int], name: str) -> tuple[int, Buffer] | None:
    """The one arm of the oneof message `name` that `data` holds, or None for only unknown ones.

    An arm that comes twice is merged, which in protobuf is joining its payloads. Raises
    MalformedFrame for two different arms and for an arm with the wrong wire type.
    """
    found: int | None = None
    payload: Buffer = b""
    for number, wire_type, value in fields(data):
        if number not in arms:
            continue
        if wire_type != LENGTH or isinstance(value, int):
            raise MalformedFrame(f"arm {number} of {name} has wire type {wire_type}")
        if found is None:
            found, payload = number, value
        elif number == found:
            payload = bytes(payload) + bytes(value)
        else:
            raise MalformedFrame(f"{name} holds arm {found} and arm {number}; only one may be set")
    return None if found is None else (found, payload)


def is_future(data: Buffer) -> bool:
    """Whether an Event without a known arm is one of a newer protocol rather than broken.

    It is where it names at least one unknown arm and each of those walks as a message.
    """
    future = False
    for _, wire_type, value in fields(data):
        if wire_type == LENGTH and not isinstance(value, int):
            try:
                for _ in fields(value):
                    pass
            except MalformedFrame:
                return False
            future = True
    return future
