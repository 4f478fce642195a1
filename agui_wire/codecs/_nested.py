"""What an event's Struct cannot say of the bytes it was read from."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from ..events import Event, MessagesSnapshotEvent, ReasoningMessageStartEvent, RunStartedEvent
from ..messages import AssistantMessage

_SCALARS = (
    inspect.StrType,
    inspect.IntType,
    inspect.BoolType,
    inspect.LiteralType,
)


@cache
def nested_fields(cls: type[msgspec.Struct]) -> tuple[str, ...]:
    """Attributes of `cls` that can nest: open JSON, lists, objects."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    return tuple(field.name for field in info.fields if not isinstance(field.type, _SCALARS))


def is_flat(event: msgspec.Struct) -> bool:
    """Whether an event holds only strings, numbers and booleans, as most of a stream does."""
    for name in nested_fields(type(event)):
        value: Any = getattr(event, name)
        if value is not None and type(value) is not str:
            return False
    return True


def may_lack_fixed_value(event: Event) -> bool:
    """Whether the strict decode may have filled in a required value that the bytes lacked.

    msgspec does so where only one value is possible: the role of REASONING_MESSAGE_START, the
    type of a tool call.
    """
    if isinstance(event, ReasoningMessageStartEvent):
        return True
    if isinstance(event, MessagesSnapshotEvent):
        messages = event.messages
    elif isinstance(event, RunStartedEvent) and event.input is not None:
        messages = event.input.messages
    else:
        return False
    return any(isinstance(message, AssistantMessage) and message.tool_calls for message in messages)
