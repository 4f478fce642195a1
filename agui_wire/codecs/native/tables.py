"""What the native engine has to know of the model, read off the Structs and the schema.

The rules stay where they are: field types in the Structs, numbers in proto/, shapes in
`codecs.protobuf.shapes`. Nothing here names a field but for the few that change their shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, get_args

from msgspec import inspect

from ..._plain import wire_names
from ..._struct import MAX_SAFE_INTEGER
from ...events import (
    Event,
    MessagesSnapshotEvent,
    ReasoningMessageStartEvent,
    RunStartedEvent,
)
from ...run_input import RunAgentInput
from ..protobuf.descriptors import Field, arms, event_arms, fields
from ..protobuf.shapes import OPERATIONS

__all__ = ["Class", "Message", "Slot", "classes", "messages"]

# Texts that come again and again in a stream, so that one str may stand for all of them.
_REPEATED_TEXTS = ("id", "name", "role", "type", "source", "provider", "model")


class Slot(NamedTuple):
    """One field of a Struct."""

    name: str
    key: str
    """Its name in JSON."""
    kind: str
    """text, choice, int, bool, any, open (any but null), object, struct, structs, texts,
    operations, content (text or parts) or outcome."""
    optional: bool
    """Whether None means absent."""
    filled: bool
    """Whether an absent list reads as an empty one."""
    nonempty: bool
    members: tuple[type, ...]
    """The Structs that it may hold, for struct, structs, content and outcome."""
    choices: tuple[str, ...]
    low: int
    high: int


class Op(NamedTuple):
    """One field of a protobuf message, as an encoder writes it."""

    number: int
    kind: str
    """text, int, bool, value, struct, message, messages, arm, arms, texts, operations, tag
    (the class's own name), outcome, or member (of the outcome)."""
    slot: int
    required: bool
    """Whether a text is left out when it is empty rather than when it is absent."""
    key: str
    """For member: its key in the outcome."""


class Class(NamedTuple):
    """A Struct, and how its instances are written."""

    cls: type
    is_event: bool
    tag_key: str
    tag: str
    slots: tuple[Slot, ...]
    arm: int
    """The field number under which a oneof holds it, or 0."""
    enum_number: int
    ops: tuple[Op, ...]
    judged: bool
    """Whether a strict decode of JSON may have made more of it than its bytes hold."""


class Part(NamedTuple):
    """One field of a protobuf message, as a decoder reads it."""

    number: int
    kind: str
    """text, choice, int, bool, value, struct, message, arm or operation."""
    repeated: bool
    accepts: str
    """What a value may be: any, open or object."""
    message: str
    choices: tuple[str, ...]
    low: int
    high: int
    recurs: bool
    """Whether its texts are worth remembering."""
    level: int
    """JSON levels between its message and what it holds."""


class Source(NamedTuple):
    """Where a Struct's slot comes from: a field's number, and for content that of its parts."""

    number: int
    parts: int
    absent: str
    """What a missing field reads as: none, text (empty), list (empty) or refuse."""
    may_nest: bool
    """Whether it may hold what the collector has to see."""
    outcomes: tuple[Build, ...]


class Build(NamedTuple):
    """How a message becomes a Struct."""

    cls: type
    tag: str
    sources: tuple[Source, ...]
    allowed: tuple[int, ...]
    needed: tuple[int, ...]


class Message(NamedTuple):
    """A protobuf message, or a oneof where `arms` maps numbers to messages."""

    name: str
    parts: tuple[Part, ...]
    chooser: int
    """The number of the field that says which of several Structs it is, or 0."""
    builds: tuple[Build, ...]
    arms: tuple[tuple[int, str], ...]


# A required value that is filled in, lists that are, and run ids that are to be remembered.
_JUDGED = (ReasoningMessageStartEvent, MessagesSnapshotEvent, RunStartedEvent)

_INT = (-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)


def _structs(kind: inspect.Type) -> tuple[type, ...]:
    found = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return tuple(each.cls for each in found if isinstance(each, inspect.StructType))


@cache
def slots(cls: Any) -> tuple[Slot, ...]:
    """The fields of a Struct in their order."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    described = {field.name: field for field in info.fields}
    return tuple(
        _slot(cls, name, key, optional, described[name].type)
        for name, key, optional in wire_names(cls)
    )


def _slot(cls: type, name: str, key: str, optional: bool, kind: inspect.Type) -> Slot:
    what, nonempty = "any", False
    members: tuple[type, ...] = ()
    choices: tuple[Any, ...] = ()
    low, high = _INT
    if isinstance(kind, inspect.StrType):
        what = "text"
    elif isinstance(kind, inspect.LiteralType):
        what, choices = "choice", kind.values
    elif isinstance(kind, inspect.IntType):
        what, low = "int", _INT[0] if kind.ge is None else int(kind.ge)
    elif isinstance(kind, inspect.BoolType):
        what = "bool"
    elif isinstance(kind, inspect.DictType):
        what = "object"
    elif isinstance(kind, inspect.ListType):
        members = _structs(kind.item_type)
        nonempty = bool(kind.min_length)
        if members:
            what = "structs"
        else:
            what = "operations" if isinstance(kind.item_type, inspect.DictType) else "texts"
    elif isinstance(kind, inspect.StructType):
        what, members = "struct", (kind.cls,)
    elif isinstance(kind, inspect.UnionType):
        members = _structs(kind)
        lists = [each for each in kind.types if isinstance(each, inspect.ListType)]
        if members:
            what = "outcome" if name == "outcome" else "struct"
        elif any(isinstance(each, inspect.DictType) for each in kind.types):
            what = "open"
        else:
            what, members = "content", _structs(lists[0].item_type)
    filled = cls is RunAgentInput and isinstance(kind, inspect.ListType)
    return Slot(name, key, what, optional, filled, nonempty, members, choices, low, high)


def _by_key(message: str) -> dict[str, Field]:
    return {field.json_name: field for field in fields(message)}


def _message_of(cls: Any, field: Field) -> tuple[str, int]:
    """The message of a Struct that `field` holds, and the arm it goes in, or 0."""
    assert field.message is not None
    if field.kind == "message":
        return field.message, 0
    tag = cls.__struct_config__.tag
    return next((name, number) for number, (arm, name) in arms(field.message).items() if arm == tag)


def _carriers(slot: Slot, known: dict[str, Field]) -> list[tuple[Slot, Field]]:
    """The fields that carry a slot: one, but two for content."""
    if slot.kind == "content":
        text = slot._replace(kind="text", optional=True)
        parts = slot._replace(kind="structs")
        return [(text, known["content"]), (parts, known["contentParts"])]
    if slot.kind == "object" and slot.key == "content" and "activityContent" in known:
        return [(slot, known["activityContent"])]
    return [(slot, known[slot.key])]


_OPS = {
    "text": "text",
    "choice": "text",
    "int": "int",
    "bool": "bool",
    "any": "value",
    "open": "value",
    "texts": "texts",
    "operations": "operations",
}


def _op(slot: Slot, index: int, field: Field) -> Op:
    kind = (
        _OPS.get(slot.kind)
        or {
            ("object", "struct"): "struct",
            ("object", "value"): "value",
            ("struct", "message"): "message",
            ("struct", "source"): "arm",
            ("structs", "message"): "messages",
            ("structs", "content"): "arms",
        }[slot.kind, field.kind]
    )
    return Op(field.number, kind, index, not (slot.optional or field.optional), "")


def _ops(cls: Any, message: str) -> tuple[Op, ...]:
    known = _by_key(message)
    ops: list[Op] = []
    for index, slot in enumerate(slots(cls)):
        if slot.kind == "outcome":
            ops.append(Op(known["outcome"].number, "outcome", index, False, ""))
            for key in _outcome_keys(slot):
                ops.append(Op(known[key].number, "member", index, False, key))
        elif slot.key in known:
            ops += [_op(*_with(index, carrier)) for carrier in _carriers(slot, known)]
    tag_key = cls.__struct_config__.tag_field
    if tag_key in known:
        ops.append(Op(known[tag_key].number, "tag", -1, True, ""))
    return tuple(sorted(ops))


def _with(index: int, carrier: tuple[Slot, Field]) -> tuple[Slot, int, Field]:
    return carrier[0], index, carrier[1]


def _outcome_keys(slot: Slot) -> list[str]:
    return [each.key for member in slot.members for each in slots(member)]


def _places() -> Iterator[tuple[Any, str, int, int]]:
    """Each Struct once: the class, its message, its arm and, for an event, its enum number."""
    by_type = {kind: (number, name, enum) for number, (name, kind, enum) in event_arms().items()}
    seen: set[Any] = set()
    waiting: list[tuple[Any, str, int, int]] = []
    for cls in get_args(Event):
        number, name, enum = by_type[cls.type.value]
        waiting.append((cls, name, number, enum))
    while waiting:
        place = waiting.pop()
        cls, message = place[:2]
        if cls in seen:
            continue
        seen.add(cls)
        yield place
        known = _by_key(message) if message else {}
        for slot in slots(cls):
            if slot.kind == "outcome":
                for member in slot.members:
                    waiting.append((member, "", 0, 0))
                    for inner in slots(member):
                        waiting += [
                            (each, known[inner.key].message or "", 0, 0) for each in inner.members
                        ]
            elif slot.members and message:
                field = _carriers(slot, known)[-1][1]
                for member in slot.members:
                    waiting.append((member, *_message_of(member, field), 0))


@cache
def classes() -> tuple[Class, ...]:
    """Every Struct that an event may be or hold."""
    found: list[Class] = []
    events = get_args(Event)
    for cls, message, arm, enum in _places():
        config = cls.__struct_config__
        ops = _ops(cls, message) if message else ()
        found.append(
            Class(
                cls,
                cls in events,
                config.tag_field or "",
                config.tag or "",
                slots(cls),
                arm,
                enum,
                ops,
                cls in _JUDGED,
            )
        )
    return tuple(found)


def _part(cls_slots: list[Slot], field: Field, tags: tuple[str, ...]) -> Part:
    """A field as a decoder reads it; `tags` are the names that a tag field may hold."""
    slot = cls_slots[0] if cls_slots else None
    choices = tags or (slot.choices if slot else ())
    accepts = {"any": "any", "object": "object"}.get(slot.kind if slot else "", "open")
    kind = field.kind.replace("string", "choice" if choices else "text")
    if field.message == "JsonPatchOperation":
        kind = "operation"
    kind = {"content": "arm", "source": "arm"}.get(kind, kind)
    low, high = (slot.low, slot.high) if slot else _INT
    level = 2 if field.repeated else 1
    if field.json_name in ("interrupts", "interruptIds", "pendingToolCallIds"):
        level += 1
    recurs = field.name.rsplit("_", 1)[-1].removesuffix("s") in _REPEATED_TEXTS
    return Part(
        field.number,
        kind,
        field.repeated,
        accepts,
        field.message or "",
        tuple(choices),
        low,
        high,
        recurs,
        level,
    )


def _absent(slot: Slot, field: Field) -> str:
    if slot.filled or (slot.kind in ("structs", "operations", "texts") and not slot.optional):
        return "refuse" if slot.nonempty else "list"
    if slot.optional:
        return "none"
    return "text" if slot.kind == "text" and not field.optional else "refuse"


def _source(slot: Slot, known: dict[str, Field]) -> Source:
    if slot.kind == "outcome":
        builds = tuple(_build(member, known, outcome=True) for member in slot.members)
        return Source(known["outcome"].number, 0, "none", True, builds)
    carriers = _carriers(slot, known)
    if len(carriers) == 2:
        return Source(carriers[0][1].number, carriers[1][1].number, "list", True, ())
    field = carriers[0][1]
    may_nest = slot.kind not in ("text", "choice", "int", "bool")
    return Source(field.number, 0, _absent(slot, field), may_nest, ())


def _build(cls: Any, known: dict[str, Field], outcome: bool = False) -> Build:
    tag_key = cls.__struct_config__.tag_field
    sources = tuple(
        # The members of BaseEvent come from its own message, which the engine reads itself.
        _source(slot, known) if slot.key in known or slot.kind == "outcome" else _BASE[slot.key]
        for slot in slots(cls)
    )
    own = [number for source in sources for number in (source.number, source.parts) if number]
    for source in sources:
        own += [number for build in source.outcomes for number in build.allowed]
    needed = [known[tag_key].number] if tag_key in known and not outcome else []
    return Build(
        cls,
        cls.__struct_config__.tag or "",
        sources,
        tuple(sorted({*own, *needed})),
        tuple(needed),
    )


# Numbers that no field has, for what the engine finds in base_event.
_BASE = {
    "timestamp": Source(20, 0, "none", False, ()),
    "rawEvent": Source(21, 0, "none", True, ()),
    "metadata": Source(22, 0, "none", True, ()),
}


@cache
def messages() -> tuple[Message, ...]:
    """Every message that an Event may be or hold, the oneofs included."""
    by_message: dict[str, list[Any]] = {}
    for cls, message, _, _ in _places():
        if message:
            by_message.setdefault(message, []).append(cls)
    found = [_message(name, members) for name, members in by_message.items()]
    for oneof in ("InputContent", "InputContentSource"):
        pairs = tuple((number, name) for number, (_, name) in arms(oneof).items())
        found.append(Message(oneof, (), 0, (), pairs))
    return tuple(found)


def _message(name: str, members: list[Any]) -> Message:
    known = _by_key(name)
    tag_key = members[0].__struct_config__.tag_field
    parts: list[Part] = []
    held = [slot for cls in members for slot in slots(cls)]
    outcomes: list[Any] = [
        member for slot in held if slot.kind == "outcome" for member in slot.members
    ]
    held += [slot for member in outcomes for slot in slots(member)]
    carried = [
        pair
        for slot in held
        if slot.kind != "outcome" and slot.key in known
        for pair in _carriers(slot, known)
    ]
    for field in known.values():
        if field.json_name == "baseEvent":
            continue
        tags: tuple[str, ...] = ()
        if field.json_name == tag_key:
            tags = tuple(cls.__struct_config__.tag for cls in members)
        elif field.json_name == "outcome":
            tags = tuple(member.__struct_config__.tag for member in outcomes)
        part_slots = [slot for slot, carrier in carried if carrier is field]
        parts.append(_part(part_slots, field, tags))
    chooser = known[tag_key].number if len(members) > 1 else 0
    builds = tuple(_build(cls, known) for cls in members)
    return Message(name, tuple(parts), chooser, builds, ())


def operations() -> tuple[str, ...]:
    """The names of the patch operations in the order of their enum."""
    return OPERATIONS
