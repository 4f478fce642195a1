"""Where an event's JSON shape and its protobuf shape differ (protocol page "wire").

One table for both directions: for a message's name, a function from the JSON object to an
object with exactly the message's fields, and one back. A message that is not in the table has
the same shape on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import MalformedFrame

__all__ = ["from_wire", "has_place", "to_wire"]

Object = dict[str, Any]

OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
OPERATION_MEMBERS = ("op", "path", "from", "value")

_PARTS_ROLES = ("user", "tool")
_ROLES = ("developer", "system", "assistant", "user", "tool", "activity", "reasoning")


def _message_to_wire(message: Object) -> Object:
    wire = dict(message)
    content = wire.get("content")
    if isinstance(content, list):
        wire["contentParts"] = wire.pop("content")
    elif isinstance(content, dict):
        wire["activityContent"] = wire.pop("content")
    return wire


def _message_from_wire(wire: Object) -> Object:
    """Which carrier holds the content follows from the role; an unknown role has what is set."""
    role = wire["role"]
    parts = wire.pop("contentParts")
    activity = wire.pop("activityContent", None)
    carriers = ("content" in wire) + bool(parts) + (activity is not None)
    if carriers > 1:
        raise MalformedFrame("a message holds its content in more than one form")
    if not wire["toolCalls"]:
        del wire["toolCalls"]
    if role in _PARTS_ROLES:
        if activity is not None:
            raise MalformedFrame(f"a {role} message has no activity content")
        if "content" not in wire:
            wire["content"] = parts
    elif role == "activity":
        if "content" in wire or parts:
            raise MalformedFrame("an activity message has neither text nor parts")
        if activity is not None:
            wire["content"] = activity
    elif role in _ROLES:
        if parts or activity is not None:
            raise MalformedFrame(f"a {role} message has only text as its content")
    elif parts:
        wire["content"] = parts
    elif activity is not None:
        wire["content"] = activity
    return wire


def _result_to_wire(event: Object) -> Object:
    return _message_to_wire(event)


def _result_from_wire(wire: Object) -> Object:
    parts = wire.pop("contentParts")
    if "content" not in wire:
        wire["content"] = parts
    elif parts:
        raise MalformedFrame("a tool result holds its content both as text and as parts")
    return wire


def _outcome_to_wire(event: Object) -> Object:
    outcome = event.get("outcome")
    if outcome is None:
        return event
    payload = {key: value for key, value in outcome.items() if key != "type"}
    return {**event, "outcome": outcome["type"], **payload}


def _outcome_from_wire(*lists: str, kept: dict[str, str]) -> Callable[[Object], Object]:
    """`lists` are the fields beside the outcome's name; `kept[name]` stays even when empty."""

    def from_wire(wire: Object) -> Object:
        name = wire.pop("outcome")
        payload = {key: items for key in lists if (items := wire.pop(key)) or kept.get(name) == key}
        if not wire.get("usage", True):
            del wire["usage"]
        if name:
            wire["outcome"] = {"type": name, **payload}
        else:
            wire.update(payload)
        return wire

    return from_wire


def _without_empty_usage(wire: Object) -> Object:
    if not wire["usage"]:
        del wire["usage"]
    return wire


def has_place(member: str, value: Any) -> bool:
    """Whether a member of a valid patch operation has a place in protobuf.

    An operation that needs no `from` may carry one of any kind, which RFC 6902 says to ignore.
    """
    return member in OPERATION_MEMBERS and (member != "from" or isinstance(value, str))


def _operation_to_wire(operation: Object) -> Object:
    wire = {key: value for key, value in operation.items() if has_place(key, value)}
    wire["op"] = OPERATIONS.index(wire["op"])
    return wire


def _operation_from_wire(wire: Object) -> Object:
    op = wire["op"]
    # An operation without a name here is enforcement's to drop, as it is on the other wires.
    wire["op"] = OPERATIONS[op] if 0 <= op < len(OPERATIONS) else str(op)
    return wire


_SHAPES: dict[str, tuple[Callable[[Object], Object], Callable[[Object], Object]]] = {
    "Message": (_message_to_wire, _message_from_wire),
    "ToolCallResultEvent": (_result_to_wire, _result_from_wire),
    "RunFinishedEvent": (
        _outcome_to_wire,
        _outcome_from_wire("pendingToolCallIds", "interrupts", kept={"interrupt": "interrupts"}),
    ),
    "SubagentFinishedEvent": (_outcome_to_wire, _outcome_from_wire("interruptIds", kept={})),
    "RunErrorEvent": (dict, _without_empty_usage),
    "JsonPatchOperation": (_operation_to_wire, _operation_from_wire),
}


def to_wire(name: str, obj: Object) -> Object:
    """The JSON object `obj` with the fields of the message `name`. `obj` is not changed."""
    shape = _SHAPES.get(name)
    return obj if shape is None else shape[0](obj)


def from_wire(name: str, wire: Object) -> Object:
    """The JSON object of a message's fields; `wire` is used up.

    Raises MalformedFrame where the fields contradict one another.
    """
    shape = _SHAPES.get(name)
    return wire if shape is None else shape[1](wire)
