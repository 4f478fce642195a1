"""The schema as message classes and as tables, from the descriptor set that proto/ compiles to.

The tables are read by our own walk; google.protobuf is imported when a message class is first
asked for. It has a descriptor pool of its own, so nothing here can collide with other protobuf
code in the process.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import wire

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

__all__ = ["Field", "Kind", "arms", "enum_values", "event_arms", "fields", "message_class"]

PACKAGE = "agui_wire.v1"

Kind = Literal["string", "bool", "int", "enum", "message", "value", "struct", "content", "source"]

# The runtime sees these as `repeated bytes`. It would stop at about 33 levels of objects, put
# keys in its own order, and let the later of two arms win without a word.
_OPAQUE: dict[str, Kind] = {
    ".google.protobuf.Value": "value",
    ".google.protobuf.Struct": "struct",
    f".{PACKAGE}.InputContent": "content",
    f".{PACKAGE}.InputContentSource": "source",
}

# By FieldDescriptorProto.Type.
_KINDS: dict[int, Kind] = {3: "int", 8: "bool", 9: "string", 11: "message", 14: "enum"}
_REPEATED = 3

# Field numbers in google/protobuf/descriptor.proto; every name has number 1.
_NAME = 1
_FILES = 1
_FILE_MESSAGES, _FILE_ENUMS = 4, 5
_MESSAGE_FIELDS, _MESSAGE_NESTED = 2, 3
_NUMBER, _LABEL, _TYPE, _TYPE_NAME, _JSON_NAME, _PROTO3_OPTIONAL = 3, 4, 5, 6, 10, 17
_ENUM_VALUES, _ENUM_NUMBER = 2, 2

# A message's fields by number, each as often as it comes.
Described = dict[int, list[Any]]


class Field(NamedTuple):
    """One field of a message as proto/ declares it."""

    number: int
    name: str
    """In snake_case, as in proto/ and on the message classes."""
    json_name: str
    """In camelCase, as in JSON."""
    kind: Kind
    repeated: bool
    optional: bool
    """Whether a scalar keeps its presence; messages always do."""
    message: str | None
    """The message's name for kind "message", "content" and "source"."""


@functools.cache
def message_class(name: str) -> type[Message]:
    """The class of a message of the schema, such as "RunStartedEvent" or "ToolCall.Function".

    Its fields of kind "value", "struct", "content" and "source" are `repeated bytes`: the
    payloads in the order in which they came.
    """
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


@functools.cache
def fields(name: str) -> tuple[Field, ...]:
    """The fields of a message in ascending order of their numbers."""
    return tuple(sorted(map(_field, _messages()[name])))


@functools.cache
def arms(name: str) -> dict[int, tuple[str, str]]:
    """The arms of the oneof message `name`: number to the arm's name and its message's name."""
    return {field.number: (field.name, field.message or "") for field in fields(name)}


@functools.cache
def event_arms() -> dict[int, tuple[str, str, int]]:
    """The arms of Event: number to the message's name, the EventType's name and its number."""
    types = enum_values("EventType")
    return {
        number: (message, arm.upper(), types[arm.upper()])
        for number, (arm, message) in arms("Event").items()
    }


@functools.cache
def enum_values(name: str) -> dict[str, int]:
    """The numbers of an enum's names."""
    for file in _files():
        for enum in map(_described, file.get(_FILE_ENUMS, ())):
            if _text(enum, _NAME) == name:
                values = map(_described, enum[_ENUM_VALUES])
                return {_text(value, _NAME): value.get(_ENUM_NUMBER, [0])[0] for value in values}
    raise KeyError(name)


def _described(data: bytes) -> Described:
    found: Described = {}
    for number, _, value in wire.fields(data):
        found.setdefault(number, []).append(value)
    return found


def _text(described: Described, number: int) -> str:
    text: bytes = described.get(number, [b""])[0]
    return text.decode()


def _field(data: bytes) -> Field:
    field = _described(data)
    type_name = _text(field, _TYPE_NAME)
    kind = _OPAQUE.get(type_name) or _KINDS[field[_TYPE][0]]
    return Field(
        field[_NUMBER][0],
        _text(field, _NAME),
        _text(field, _JSON_NAME),
        kind,
        repeated=field[_LABEL][0] == _REPEATED,
        optional=_PROTO3_OPTIONAL in field,
        message=(
            type_name.removeprefix(f".{PACKAGE}.")
            if kind in ("message", "content", "source")
            else None
        ),
    )


def _schema() -> bytes:
    return (files("agui_wire.codecs.protobuf") / "schema.binpb").read_bytes()


@functools.cache
def _files() -> list[Described]:
    return [_described(data) for data in _described(_schema())[_FILES]]


@functools.cache
def _messages() -> dict[str, list[bytes]]:
    """The fields of each message, still as bytes."""
    found: dict[str, list[bytes]] = {}
    for file in _files():
        for message in map(_described, file.get(_FILE_MESSAGES, ())):
            name = _text(message, _NAME)
            found[name] = message.get(_MESSAGE_FIELDS, [])
            for nested in map(_described, message.get(_MESSAGE_NESTED, ())):
                found[f"{name}.{_text(nested, _NAME)}"] = nested.get(_MESSAGE_FIELDS, [])
    return found


@functools.cache
def _pool() -> DescriptorPool:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for original in FileDescriptorSet.FromString(_schema()).file:
        file = FileDescriptorProto()
        file.CopyFrom(original)
        for message in file.message_type:
            for field in message.field:
                if field.type_name in _OPAQUE:
                    _make_opaque(field)
        imports = [name for name in file.dependency if not name.startswith("google/")]
        del file.dependency[:]
        file.dependency.extend(imports)
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _make_opaque(field: FieldDescriptorProto) -> None:
    field.type = field.TYPE_BYTES
    field.label = field.LABEL_REPEATED
    for attribute in ("type_name", "oneof_index", "proto3_optional"):
        field.ClearField(attribute)
