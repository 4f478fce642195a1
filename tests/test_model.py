"""The model, class by class and field by field, against the Python SDK's."""

from __future__ import annotations

import typing
from enum import Enum
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from agui_wire import events, messages, run_input

core = pytest.importorskip("ag_ui.core")
pydantic = pytest.importorskip("pydantic")

# A 1.1 addition that 1.0's SDK does not know.
ADDED_FIELDS = {"encrypted_value_type"}

# Lists whose emptiness reads as absence, so that the three wires give equal events.
NEVER_EMPTY = {"tool_calls", "usage", "pending_tool_call_ids", "interrupt_ids"}

# Plain dicts here: RFC 6902 lets an operation carry more than the SDK's classes name.
PATCHES = {("StateDeltaEvent", "delta"), ("ActivityDeltaEvent", "patch")}

# Bases without an instance on the wire, a part retired in 1.0, and what no event carries.
NOT_MODELLED = {"BaseMessage", "BinaryInputContent", "SubagentInfo"}

CLASSES: dict[str, type[msgspec.Struct]] = {
    name: value
    for module in (events, messages, run_input)
    for name in module.__all__
    if isinstance(value := getattr(module, name), type) and issubclass(value, msgspec.Struct)
}

JSON = frozenset({"bool", "int", "float", "str", "list[any]", "object"})


def describe_ours(kind: inspect.Type) -> str:
    """A type in words that both models can be put into."""
    if isinstance(kind, inspect.UnionType):
        parts = frozenset(map(describe_ours, kind.types))
        return "any" if parts == JSON else " | ".join(sorted(parts))
    if isinstance(kind, inspect.StructType):
        return kind.cls.__name__
    if isinstance(kind, inspect.LiteralType):
        return f"literal{sorted(map(str, kind.values))}"
    if isinstance(kind, inspect.IntType):
        return "int" if kind.ge is None and kind.le is None else f"int[{kind.ge}..{kind.le}]"
    if isinstance(kind, inspect.ListType):
        return f"list[{describe_ours(kind.item_type)}]{_at_least(kind.min_length)}"
    if isinstance(kind, inspect.DictType):
        assert isinstance(kind.key_type, inspect.StrType)
        assert isinstance(kind.value_type, inspect.AnyType)
        return "object"
    words: dict[type[inspect.Type], str] = {
        inspect.AnyType: "any",
        inspect.StrType: "str",
        inspect.BoolType: "bool",
        inspect.FloatType: "float",
    }
    return words[type(kind)]


def describe_theirs(annotation: Any, constraints: dict[str, Any]) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return describe_theirs(arguments[0], constraints)
    if origin is typing.Union:
        parts = {describe_theirs(item, constraints) for item in arguments}
        # An optional field: absent, never null, on the wire.
        return " | ".join(sorted(parts - {"null"}))
    if origin is typing.Literal:
        return f"literal{sorted(arguments)}"
    if origin is list:
        item = describe_theirs(arguments[0], {})
        return f"list[{item}]{_at_least(constraints.get('min_length'))}"
    if origin is dict:
        assert arguments == (str, Any)
        return "object"
    if annotation is int and constraints:
        return f"int[{constraints['ge']}..{constraints['le']}]"
    words = {Any: "any", type(None): "null", str: "str", bool: "bool", int: "int"}
    return words[annotation] if annotation in words else str(annotation.__name__)


def _at_least(length: int | None) -> str:
    return f" of {length}+" if length else ""


def _constraints(field: Any) -> dict[str, Any]:
    return {
        name: getattr(item, name)
        for item in field.metadata
        for name in ("ge", "le", "min_length")
        if hasattr(item, name)
    }


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def test_every_model_of_the_sdk_has_a_struct() -> None:
    theirs = {
        value.__name__
        for name in core.__all__
        if isinstance(value := getattr(core, name), type)
        and issubclass(value, pydantic.BaseModel)
        and not name.endswith("Capabilities")
    }
    assert theirs - NOT_MODELLED == CLASSES.keys()


@pytest.mark.parametrize("name", CLASSES)
def test_fields(name: str) -> None:
    struct, model = CLASSES[name], getattr(core, name)
    tag_field = struct.__struct_config__.tag_field
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    ours = {
        field.name: (field.encode_name, field.required, describe_ours(field.type))
        for field in info.fields
        if field.name not in ADDED_FIELDS
    }
    theirs = {
        key: (
            field.alias,
            field.is_required(),
            describe_theirs(field.annotation, _constraints(field)),
        )
        for key, field in model.model_fields.items()
        if key != tag_field
    }
    assert ours.keys() == theirs.keys()
    for key, (alias, required, kind) in theirs.items():
        expected = kind + " of 1+" if key in NEVER_EMPTY else kind
        if (name, key) in PATCHES:
            expected = "list[object]"
        assert ours[key] == (alias, required, expected), key


@pytest.mark.parametrize(
    "name", [name for name in CLASSES if CLASSES[name].__struct_config__.tag_field]
)
def test_tags(name: str) -> None:
    struct, model = CLASSES[name], getattr(core, name)
    config = struct.__struct_config__
    assert config.tag_field in ("type", "role")
    if name == "BaseEvent":
        assert model.model_fields["type"].is_required()
        return
    theirs = model.model_fields[config.tag_field]
    assert config.tag == _plain(theirs.default)
    assert typing.get_args(theirs.annotation) == (theirs.default,)
    # The class variable reads as the tag.
    assert _plain(getattr(struct, config.tag_field)) == config.tag


@pytest.mark.parametrize(
    ("ours", "name"),
    [
        (events.Event, "Event"),
        (events.RunFinishedOutcome, "RunFinishedOutcome"),
        (events.SubagentFinishedOutcome, "SubagentFinishedOutcome"),
        (messages.Message, "Message"),
        (messages.ContentPart, "ContentPart"),
        (messages.PartSource, "PartSource"),
    ],
)
def test_unions(ours: Any, name: str) -> None:
    union, _ = typing.get_args(getattr(core, name))
    members = [cls.__name__ for cls in typing.get_args(ours)]
    assert members == [cls.__name__ for cls in typing.get_args(union)]


def test_event_types() -> None:
    assert [*events.EventType.__members__.items()] == [
        (key, value.value) for key, value in core.EventType.__members__.items()
    ]


def test_protocol_version() -> None:
    from agui_wire.media_types import PROTOCOL_VERSION

    assert PROTOCOL_VERSION == core.PROTOCOL_VERSION
