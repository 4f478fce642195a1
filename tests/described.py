"""Every class and every field that an event can hold, each inside an event of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec import inspect

from agui_wire import Event

__all__ = [
    "CALL",
    "CLASSES",
    "FINISHED",
    "IMAGE",
    "USER",
    "Case",
    "cases",
    "classes",
    "home",
    "in_call",
    "in_content",
    "in_input",
    "in_messages",
    "in_outcome",
    "minimal",
    "struct_info",
]

USER: dict[str, Any] = {"id": "u", "role": "user", "content": "c"}
IMAGE: dict[str, Any] = {"type": "image", "source": {"type": "url", "value": "v"}}
CALL: dict[str, Any] = {
    "id": "c",
    "type": "function",
    "function": {"name": "n", "arguments": "{}"},
}
FINISHED: dict[str, Any] = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
INPUT: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "messages": [],
    "tools": [],
    "context": [],
    "resume": [],
}


def in_messages(message: Any) -> dict[str, Any]:
    return {"type": "MESSAGES_SNAPSHOT", "messages": [message]}


def in_content(part: Any) -> dict[str, Any]:
    return in_messages({**USER, "content": [part]})


def in_call(call: Any) -> dict[str, Any]:
    return in_messages({"id": "a", "role": "assistant", "toolCalls": [call]})


def in_input(**members: Any) -> dict[str, Any]:
    return {
        "type": "RUN_STARTED",
        "threadId": "t",
        "runId": "r",
        "input": {**INPUT, **members},
    }


def in_outcome(outcome: Any) -> dict[str, Any]:
    return {**FINISHED, "outcome": outcome}


class Home(NamedTuple):
    """Where objects of some classes stand in an event."""

    suffixes: tuple[str, ...]
    wrap: Callable[[Any], Any]
    path: str


# The first whose suffix a class's name has.
HOMES = (
    Home(("Event",), lambda obj: obj, ""),
    Home(("Message",), in_messages, "/messages/0"),
    Home(("Part",), in_content, "/messages/0/content/0"),
    Home(
        ("Source",),
        lambda obj: in_content({**IMAGE, "source": obj}),
        "/messages/0/content/0/source",
    ),
    Home(("ToolCall",), in_call, "/messages/0/toolCalls/0"),
    Home(
        ("FunctionCall",),
        lambda obj: in_call({**CALL, "function": obj}),
        "/messages/0/toolCalls/0/function",
    ),
    Home(
        ("TokenUsage",),
        lambda obj: {"type": "RUN_ERROR", "message": "m", "usage": [obj]},
        "/usage/0",
    ),
    Home(
        ("Interrupt",),
        lambda obj: in_outcome({"type": "interrupt", "interrupts": [obj]}),
        "/outcome/interrupts/0",
    ),
    Home(
        ("SubagentFinishedSuccessOutcome", "SuspendedOutcome"),
        lambda obj: {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": obj},
        "/outcome",
    ),
    Home(("Outcome",), in_outcome, "/outcome"),
    Home(("RunAgentInput",), lambda obj: {**in_input(), "input": obj}, "/input"),
    Home(("Tool",), lambda obj: in_input(tools=[obj]), "/input/tools/0"),
    Home(("Context",), lambda obj: in_input(context=[obj]), "/input/context/0"),
    Home(("ResumeEntry",), lambda obj: in_input(resume=[obj]), "/input/resume/0"),
)


def struct_info(cls: type[msgspec.Struct]) -> inspect.StructType:
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    return info


def described(kind: inspect.Type, found: dict[type[msgspec.Struct], None]) -> None:
    """Every Struct that a type can hold, in order."""
    if isinstance(kind, inspect.StructType) and kind.cls not in found:
        found[kind.cls] = None
        for field in kind.fields:
            described(field.type, found)
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            described(each, found)
    elif isinstance(kind, inspect.ListType):
        described(kind.item_type, found)


CLASSES: dict[type[msgspec.Struct], None] = {}
described(inspect.type_info(Event), CLASSES)


def home(cls: type[msgspec.Struct]) -> Home:
    return next(home for home in HOMES if cls.__name__.endswith(home.suffixes))


def example(kind: inspect.Type) -> Any:
    """A value that a field of this type accepts."""
    if isinstance(kind, inspect.StructType):
        return minimal(kind.cls)
    if isinstance(kind, inspect.UnionType):
        return example(kind.types[0])
    if isinstance(kind, inspect.ListType):
        return [example(kind.item_type)] if kind.min_length else []
    if isinstance(kind, inspect.LiteralType):
        return kind.values[0]
    return {inspect.StrType: "x", inspect.IntType: 1, inspect.BoolType: True}.get(type(kind), {})


def minimal(cls: type[msgspec.Struct]) -> dict[str, Any]:
    """The smallest object of a class, in its normal form."""
    info = struct_info(cls)
    obj: dict[str, Any] = {str(info.tag_field): info.tag} if info.tag_field else {}
    for field in info.fields:
        if field.required or field.default_factory is not msgspec.NODEFAULT:
            obj[field.encode_name] = example(field.type)
    return {**INPUT} if cls.__name__ == "RunAgentInput" else obj


class Case(NamedTuple):
    """One described field of one class."""

    cls: type[msgspec.Struct]
    field: inspect.Field
    obj: dict[str, Any]
    home: Home

    @property
    def name(self) -> str:
        return self.field.encode_name

    @property
    def path(self) -> str:
        return f"{self.home.path}/{self.name}"

    @property
    def optional(self) -> bool:
        return not self.field.required and self.field.default is None

    @property
    def is_open(self) -> bool:
        kind = self.field.type
        return isinstance(kind, inspect.AnyType) or (
            isinstance(kind, inspect.UnionType)
            and any(isinstance(each, inspect.DictType) for each in kind.types)
        )

    def event(self, value: Any) -> Any:
        return self.home.wrap({**self.obj, self.name: value})

    def without(self) -> Any:
        return self.home.wrap({key: item for key, item in self.obj.items() if key != self.name})


def cases(wanted: Callable[[Case], bool]) -> pytest.MarkDecorator:
    """Parametrises over the fields that are wanted."""
    found = [
        case
        for cls in CLASSES
        for field in struct_info(cls).fields
        if wanted(case := Case(cls, field, minimal(cls), home(cls)))
    ]
    assert found
    return pytest.mark.parametrize(
        "case", found, ids=[f"{case.cls.__name__}.{case.name}" for case in found]
    )


classes = pytest.mark.parametrize("cls", CLASSES, ids=[cls.__name__ for cls in CLASSES])
