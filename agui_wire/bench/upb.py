"""Google's protobuf runtime (upb) as one would use it without this package.

Alone, which stops at message objects that no application wants; with a conversion to and from
dicts written by hand; and with the runtime's own conversion, `json_format`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from ..codecs.protobuf.descriptors import PACKAGE, arms, event_arms, fields
from ..codecs.protobuf.shapes import from_wire, to_wire
from ..encoder import EventEncoder
from ..media_types import AGUI_MEDIA_TYPE
from .prepared import Context, Prepare, Prepared
from .workloads import load

__all__ = ["PREPARE"]

Object = dict[str, Any]

_BASE_KEYS = ("timestamp", "rawEvent", "metadata")


@cache
def _event_class() -> Any:
    """The Event class of the schema as protoc would make it."""
    from google.protobuf import struct_pb2
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    pool = DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    schema = files("agui_wire.codecs.protobuf") / "schema.binpb"
    for file in FileDescriptorSet.FromString(schema.read_bytes()).file:
        if not file.name.startswith("google/"):
            pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.Event"))


@cache
def _arm(event_type: str) -> tuple[str, str, int]:
    """By event type: the arm's name, its message's, and the type's number."""
    names = arms("Event")
    for number, (message, name, type_number) in event_arms().items():
        if name == event_type:
            return names[number][0], message, type_number
    raise KeyError(event_type)


@cache
def _by_json_name(message: str) -> dict[str, tuple[str, str, bool, str]]:
    return {
        field.json_name: (field.name, field.kind, field.repeated, field.message or "")
        for field in fields(message)
    }


def to_message(obj: Object) -> Any:
    """An event's JSON object as a protobuf message."""
    arm, name, type_number = _arm(obj["type"])
    event = _event_class()()
    body = getattr(event, arm)
    body.base_event.type = type_number
    rest = {}
    for key, value in obj.items():
        if key in _BASE_KEYS:
            _set(body.base_event, "BaseEvent", key, value)
        elif key != "type":
            rest[key] = value
    _fill(body, name, rest)
    return event


def _fill(message: Any, name: str, obj: Object) -> None:
    for key, value in to_wire(name, obj).items():
        _set(message, name, key, value)


def _set(message: Any, name: str, key: str, value: Any) -> None:
    attribute, kind, repeated, inner = _by_json_name(name)[key]
    fill = _FILLS.get(kind)
    if fill is None:
        if repeated:
            getattr(message, attribute).extend(value)
        else:
            setattr(message, attribute, value)
        return
    target = getattr(message, attribute)
    if repeated:
        for item in value:
            fill(target.add(), inner, item)
    else:
        target.SetInParent()
        fill(target, inner, value)


def _fill_arm(message: Any, name: str, obj: Object) -> None:
    kind = obj["type"]
    inner = next(message for arm, message in arms(name).values() if arm == kind)
    body = {key: value for key, value in obj.items() if key != "type"}
    target = getattr(message, kind)
    target.SetInParent()
    _fill(target, inner, body)


def _fill_value(message: Any, name: str, value: Any) -> None:
    if isinstance(value, str):
        message.string_value = value
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, (int, float)):
        message.number_value = value
    elif value is None:
        message.null_value = 0
    elif isinstance(value, dict):
        message.struct_value.SetInParent()
        _fill_struct(message.struct_value, name, value)
    else:
        message.list_value.SetInParent()
        add = message.list_value.values.add
        for item in value:
            _fill_value(add(), name, item)


def _fill_struct(message: Any, name: str, obj: Object) -> None:
    members = message.fields
    for key, value in obj.items():
        _fill_value(members[key], name, value)


_FILLS: dict[str, Callable[[Any, str, Any], None]] = {
    "message": _fill,
    "value": _fill_value,
    "struct": _fill_struct,
    "content": _fill_arm,
    "source": _fill_arm,
}


def to_object(event: Any) -> Object:
    """A protobuf message as an event's JSON object; nothing is checked."""
    arm = event.WhichOneof("event")
    name = _arm(arm.upper())[1]
    obj = _read(getattr(event, arm), name)
    base = obj.pop("baseEvent")
    base["type"] = arm.upper()
    return {**base, **obj}


@cache
def _unset(name: str) -> tuple[Object, tuple[str, ...]]:
    zeros = {"string": "", "bool": False, "int": 0, "enum": 0}
    plain = [each for each in fields(name) if not each.repeated and not each.optional]
    lists = tuple(each.json_name for each in fields(name) if each.repeated)
    return {each.json_name: zeros[each.kind] for each in plain if each.kind in zeros}, lists


@cache
def _by_name(name: str) -> dict[str, tuple[str, str, bool, str]]:
    return {
        field.name: (field.json_name, field.kind, field.repeated, field.message or "")
        for field in fields(name)
    }


def _read(message: Any, name: str) -> Object:
    scalars, lists = _unset(name)
    obj = dict(scalars)
    for key in lists:
        obj[key] = []
    described = _by_name(name)
    for descriptor, value in message.ListFields():
        key, kind, repeated, inner = described[descriptor.name]
        read = _READS.get(kind)
        if read is None:
            obj[key] = list(value) if repeated else value
        elif repeated:
            obj[key] = [read(item, inner) for item in value]
        else:
            obj[key] = read(value, inner)
    return from_wire(name, obj)


def _read_arm(message: Any, name: str) -> Object:
    (descriptor, value), *_ = message.ListFields()
    inner = next(message for arm, message in arms(name).values() if arm == descriptor.name)
    return {"type": descriptor.name, **_read(value, inner)}


def _read_value(message: Any, name: str) -> Any:
    kind = message.WhichOneof("kind")
    if kind == "struct_value":
        return _read_struct(message.struct_value, name)
    if kind == "list_value":
        return [_read_value(item, name) for item in message.list_value.values]
    if kind == "number_value":
        number = message.number_value
        return int(number) if number.is_integer() else number
    return None if kind in (None, "null_value") else getattr(message, kind)


def _read_struct(message: Any, name: str) -> Object:
    return {key: _read_value(value, name) for key, value in message.fields.items()}


_READS: dict[str, Callable[[Any, str], Any]] = {
    "message": _read,
    "value": _read_value,
    "struct": _read_struct,
    "content": _read_arm,
    "source": _read_arm,
}


def _payloads(context: Context) -> list[bytes]:
    encode = EventEncoder(AGUI_MEDIA_TYPE).encode_binary
    return [encode(event)[4:] for event in load(context.path)]


def _writing(convert: Callable[[], tuple[Callable[[Any], Any], Callable[[bytes], Any]]]) -> Prepare:
    """`convert` gives a function to bytes, and one that makes what it starts from."""

    def prepare(context: Context) -> Prepared:
        write, source = convert()
        payloads = _payloads(context)
        sources = [source(payload) for payload in payloads]

        def run() -> None:
            for each in sources:
                write(each)

        return Prepared(run, len(payloads), sum(map(len, payloads)))

    return prepare


def _reading(convert: Callable[[], Callable[[bytes], Any]], *, hold: bool = False) -> Prepare:
    def prepare(context: Context) -> Prepared:
        read = convert()
        payloads = _payloads(context)

        def run() -> None:
            for payload in payloads:
                read(payload)

        def holding() -> list[Any]:
            return [read(payload) for payload in payloads]

        return Prepared(holding if hold else run, len(payloads), sum(map(len, payloads)))

    return prepare


def _parse() -> Callable[[bytes], Any]:
    parse: Callable[[bytes], Any] = _event_class().FromString
    return parse


def _parse_by_hand() -> Callable[[bytes], Any]:
    parse = _parse()
    return lambda payload: to_object(parse(payload))


def _parse_json_format() -> Callable[[bytes], Any]:
    from google.protobuf.json_format import MessageToDict

    parse = _parse()
    return lambda payload: MessageToDict(parse(payload))


def _write() -> tuple[Callable[[Any], Any], Callable[[bytes], Any]]:
    return lambda message: message.SerializeToString(), _parse()


def _write_by_hand() -> tuple[Callable[[Any], Any], Callable[[bytes], Any]]:
    return lambda obj: to_message(obj).SerializeToString(), _parse_by_hand()


def _write_json_format() -> tuple[Callable[[Any], Any], Callable[[bytes], Any]]:
    from google.protobuf.json_format import ParseDict

    event_class = _event_class()
    return lambda obj: ParseDict(obj, event_class()).SerializeToString(), _parse_json_format()


PREPARE: dict[tuple[str, str], Prepare] = {
    ("encode", "upb"): _writing(_write),
    ("encode", "upb by hand"): _writing(_write_by_hand),
    ("encode", "json_format"): _writing(_write_json_format),
    ("decode", "upb"): _reading(_parse),
    ("decode", "upb by hand"): _reading(_parse_by_hand),
    ("decode", "json_format"): _reading(_parse_json_format),
    ("hold", "upb"): _reading(_parse, hold=True),
    ("hold", "upb by hand"): _reading(_parse_by_hand, hold=True),
}
