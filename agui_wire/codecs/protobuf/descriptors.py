"""The schema as message classes and as tables, from the descriptor set that proto/ compiles to.

It lives in a descriptor pool of its own, so nothing here can collide with other protobuf code
in the process. google.protobuf is imported when a table is first asked for.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import (
        DescriptorProto,
        FieldDescriptorProto,
        FileDescriptorSet,
    )
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
    return tuple(sorted(map(_field, _messages()[name].field)))


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
    for file in _schema().file:
        for enum in file.enum_type:
            if enum.name == name:
                return {value.name: value.number for value in enum.value}
    raise KeyError(name)


def _field(field: FieldDescriptorProto) -> Field:
    kind = _OPAQUE.get(field.type_name) or _KINDS[field.type]
    return Field(
        field.number,
        field.name,
        field.json_name,
        kind,
        repeated=field.label == field.LABEL_REPEATED,
        optional=field.proto3_optional,
        message=(
            field.type_name.removeprefix(f".{PACKAGE}.")
            if kind in ("message", "content", "source")
            else None
        ),
    )


@functools.cache
def _schema() -> FileDescriptorSet:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    schema = files("agui_wire.codecs.protobuf") / "schema.binpb"
    return FileDescriptorSet.FromString(schema.read_bytes())


@functools.cache
def _messages() -> dict[str, DescriptorProto]:
    found: dict[str, DescriptorProto] = {}
    for file in _schema().file:
        for message in file.message_type:
            found[message.name] = message
            for nested in message.nested_type:
                found[f"{message.name}.{nested.name}"] = nested
    return found


@functools.cache
def _pool() -> DescriptorPool:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for original in _schema().file:
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
