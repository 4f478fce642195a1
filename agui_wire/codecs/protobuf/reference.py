"""The reference engine: JSON objects to protobuf payloads and back, over the upb runtime.

The runtime moves the plain fields. What it will not tell (two arms, unknown arms, the odd ends
of the wire format) is read by our own walk, and Value and Struct have our own codec.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ..._json import DEFAULT_MAX_DEPTH, deeper_than, too_deep
from ..._struct import MAX_SAFE_INTEGER
from ...errors import DepthExceeded, MalformedEvent, MalformedFrame
from ...events import EVENT_CLASSES, BaseEvent, Event
from .._scrub import ignore
from . import wire
from .descriptors import Field, arms, event_arms, fields, message_class
from .shapes import from_wire, to_wire
from .value import (
    ABSENT,
    Where,
    decode_struct,
    decode_text,
    decode_value,
    encode_struct,
    encode_value,
    path_of,
)

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["decode_event", "decode_object", "encode_flat", "encode_object"]

Warn = Callable[[str, str, str], None]

_SCALARS = {"string": "", "bool": False, "int": 0, "enum": 0}
_WIRE_TYPES = {"bool": wire.VARINT, "int": wire.VARINT, "enum": wire.VARINT}
_VIEWED = 65536  # bytes
_BASE_MEMBERS = ("timestamp", "rawEvent", "metadata")
# Where a field stands in the event's JSON, if not under its own name.
_STEPS = {
    "baseEvent": (),
    "contentParts": ("content",),
    "activityContent": ("content",),
    "interrupts": ("outcome", "interrupts"),
}


class _UnknownArm(Exception):
    """A content part or source whose kind 1.0 does not know."""


@cache
def _by_json_name(name: str) -> dict[str, Field]:
    return {field.json_name: field for field in fields(name)}


@cache
def _by_number(name: str) -> dict[int, Field]:
    return {field.number: field for field in fields(name)}


@cache
def _unset(name: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a message without any field reads as: its scalars, and its lists."""
    scalars = {
        field.json_name: _SCALARS[field.kind]
        for field in fields(name)
        if field.kind in _SCALARS and not field.optional and not field.repeated
    }
    return scalars, tuple(field.json_name for field in fields(name) if field.repeated)


@cache
def _event_messages() -> dict[str, tuple[int, str, int]]:
    """By event type: the arm, the message in it, and the type's enum number."""
    return {
        event_type: (number, name, enum_number)
        for number, (name, event_type, enum_number) in event_arms().items()
    }


@cache
def _arms_by_name(oneof: str) -> dict[str, tuple[int, str]]:
    return {arm: (number, name) for number, (arm, name) in arms(oneof).items()}


def encode_object(obj: dict[str, Any]) -> bytes:
    """The Event payload of an event's JSON object, which is valid and plain."""
    number, name, enum_number = _event_messages()[obj["type"]]
    base: dict[str, Any] = {"type": enum_number}
    body: dict[str, Any] = {"baseEvent": base}
    for key, value in obj.items():
        if key in _BASE_MEMBERS:
            base[key] = value
        elif key != "type":
            body[key] = value
    return wire.length_delimited(number, _encode_message(name, body))


def encode_flat(event: BaseEvent) -> bytes:
    """The Event payload of a Struct without open JSON, checked: Structs check nothing.

    Raises what msgspec raises, and UnicodeEncodeError for half a surrogate pair.
    """
    obj = msgspec.to_builtins(event)
    msgspec.convert(obj, type(event))
    return encode_object(obj)


def _encode_message(name: str, obj: dict[str, Any]) -> bytes:
    message = message_class(name)()
    _fill(message, name, obj)
    return message.SerializeToString()


def _fill(message: Message, name: str, obj: dict[str, Any]) -> None:
    described = _by_json_name(name)
    for key, value in to_wire(name, obj).items():
        field = described[key]
        kind = field.kind
        if kind == "message":
            assert field.message is not None
            target = getattr(message, field.name)
            if field.repeated:
                for item in value:
                    _fill(target.add(), field.message, item)
            else:
                target.SetInParent()
                _fill(target, field.message, value)
        elif kind in _SCALARS:
            if field.repeated:
                getattr(message, field.name).extend(value)
            else:
                setattr(message, field.name, value)
        else:
            items = value if field.repeated else (value,)
            getattr(message, field.name).extend([_ENCODERS[kind](item) for item in items])


def _encode_arm(oneof: str) -> Callable[[dict[str, Any]], bytes]:
    def encode(obj: dict[str, Any]) -> bytes:
        number, name = _arms_by_name(oneof)[obj["type"]]
        body = {key: value for key, value in obj.items() if key != "type"}
        return wire.length_delimited(number, _encode_message(name, body))

    return encode


_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "value": encode_value,
    "struct": encode_struct,
    "content": _encode_arm("InputContent"),
    "source": _encode_arm("InputContentSource"),
}


def decode_event(
    payload: memoryview | bytes,
    *,
    max_depth: int = DEFAULT_MAX_DEPTH,
    warn: Warn = ignore,
) -> Event | dict[str, Any] | None:
    """The event in a payload, its plain object where the strict conversion refuses it, or None
    (with a warning) for an event of a newer protocol.

    Raises MalformedEvent, and DepthExceeded past `max_depth` JSON levels.
    """
    obj = decode_object(payload, max_depth=max_depth, warn=warn)
    if obj is None:
        return None
    try:
        event: Event = msgspec.convert(obj, EVENT_CLASSES[obj["type"]])
    except (msgspec.ValidationError, RecursionError):
        return obj
    return event


def decode_object(
    payload: memoryview | bytes,
    *,
    max_depth: int = DEFAULT_MAX_DEPTH,
    warn: Warn = ignore,
) -> dict[str, Any] | None:
    """The JSON object of an Event payload, before enforcement, or None (with a warning) where
    it holds only arms of a newer protocol.

    Raises MalformedFrame where it maps to no event, DepthExceeded past `max_depth` levels.
    """
    known = event_arms()
    arm = wire.read_arm(payload, known, "the event")
    if arm is None:
        if not wire.is_future(payload):
            raise MalformedFrame("the frame holds no event")
        arm_numbers = ", ".join(str(number) for number, _, _ in wire.fields(payload))
        warn("unknown-event", "/type", f"dropped an event of a newer protocol (arm {arm_numbers})")
        return None
    number, body = arm
    name, event_type, enum_number = known[number]
    try:
        obj = _read_message(_parse(name, body), name, None, max_depth, warn)
    except (RecursionError, DepthExceeded):
        raise too_deep(max_depth) from None
    base = obj.pop("baseEvent", None)
    if base is None:
        raise MalformedFrame(f"the {event_type} event has no base_event")
    if base["type"] != enum_number:
        raise MalformedFrame(
            f"the arm is {event_type}, but base_event says type {base['type']}", "/type"
        )
    obj = {**base, **obj, "type": event_type}
    # A level costs at least two bytes, so a short payload cannot nest too deep.
    if len(payload) > 2 * max_depth and deeper_than(obj, max_depth):
        raise too_deep(max_depth)
    return obj


def _parse(name: str, data: wire.Buffer) -> Message:
    """The parsed message. The runtime's verdict counts only for bytes without oddities."""
    from google.protobuf.message import DecodeError

    cls = message_class(name)
    try:
        message = cls.FromString(data)  # type: ignore[arg-type]  # the stubs know only bytes
    except DecodeError:
        message = None
    if message is not None:
        message.DiscardUnknownFields()
        if message.ByteSize() == len(data):
            return message
    try:
        return cls.FromString(_canonical(name, data, ""))
    except DecodeError as error:
        raise MalformedFrame(f"no {name}: {error}") from None


def _canonical(name: str, data: wire.Buffer, path: str) -> bytes:
    """The same message with minimal varints and without unknown fields.

    The runtime refuses varints that the rules tolerate and skips groups that they refuse.
    """
    described = _by_number(name)
    out = bytearray()
    for number, wire_type, value in wire.fields(data):
        field = described.get(number)
        if field is None or wire_type != _WIRE_TYPES.get(field.kind, wire.LENGTH):
            continue
        where = f"{path}/{field.json_name}"
        if isinstance(value, int):
            out += wire.encode_varint(number << 3) + wire.encode_varint(value)
            continue
        try:
            if field.kind == "string":
                decode_text(value)
            elif field.message is not None and field.kind == "message":
                value = _canonical(field.message, value, where)
        except MalformedFrame as error:
            error.path = error.path or where
            raise
        out += wire.length_delimited(number, bytes(value))
    return bytes(out)


def _read_message(
    message: Message, name: str, where: Where, levels: int, warn: Warn
) -> dict[str, Any]:
    scalars, lists = _unset(name)
    obj: dict[str, Any] = dict(scalars)
    for key in lists:
        obj[key] = []
    described = _by_number(name)
    for descriptor, value in message.ListFields():
        field = described[descriptor.number]
        read = _READERS.get(field.kind)
        if read is None:
            obj[field.json_name] = list(value) if field.repeated else value
            continue
        place = where
        for step in _STEPS.get(field.json_name, (field.json_name,)):
            place = (place, step)
        item = read(field, value, place, levels, warn)
        if item is not ABSENT:
            obj[field.json_name] = item
    return from_wire(name, obj)


def _read_int(field: Field, value: int, where: Where, levels: int, warn: Warn) -> int:
    if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        raise MalformedEvent(f"{value} is out of a JavaScript number's exact range", path_of(where))
    return value


def _read_submessage(field: Field, value: Any, where: Where, levels: int, warn: Warn) -> Any:
    assert field.message is not None
    if not field.repeated:
        return _read_message(value, field.message, where, levels, warn)
    return [
        _read_message(item, field.message, (where, str(index)), levels, warn)
        for index, item in enumerate(value)
    ]


def _joined(parts: Sequence[bytes]) -> wire.Buffer:
    """The payloads of one field as one. Slices of a large one are views: every level of a deep
    value would copy what is left of it."""
    data = b"".join(parts)
    return data if len(data) < _VIEWED else memoryview(data)


def _read_value(field: Field, value: Any, where: Where, levels: int, warn: Warn) -> Any:
    return decode_value(_joined(value), levels, where, warn)


def _read_struct(field: Field, value: Any, where: Where, levels: int, warn: Warn) -> Any:
    return decode_struct(_joined(value), levels, where, warn)


def _read_arm(oneof: str, payload: bytes, where: Where, levels: int, warn: Warn) -> dict[str, Any]:
    known = arms(oneof)
    arm = wire.read_arm(payload, known, f"{oneof} at {path_of(where)}")
    if arm is None:
        raise _UnknownArm
    number, body = arm
    kind, name = known[number]
    return {"type": kind, **_read_message(_parse(name, body), name, where, levels, warn)}


def _read_source(field: Field, value: Any, where: Where, levels: int, warn: Warn) -> Any:
    return _read_arm("InputContentSource", b"".join(value), where, levels, warn)


def _read_content(field: Field, value: Any, where: Where, levels: int, warn: Warn) -> Any:
    parts: list[Any] = []
    for index, payload in enumerate(value):
        place = (where, str(index))
        try:
            parts.append(_read_arm("InputContent", payload, place, levels, warn))
        except _UnknownArm:
            warn("unknown-member", path_of(place), "dropped a content part of an unknown kind")
    return parts


_READERS: dict[str, Callable[[Field, Any, Where, int, Warn], Any]] = {
    "int": _read_int,
    "message": _read_submessage,
    "value": _read_value,
    "struct": _read_struct,
    "source": _read_source,
    "content": _read_content,
}
