"""Adjacent deltas of one kind and id made into one event."""

from __future__ import annotations

from typing import Any

import msgspec

from .._sdk import sdk_model

__all__ = ["MAX_MERGED", "Merged", "merge_key"]

# Characters in one merged delta: what a reader has to wait for, and what is held in memory.
MAX_MERGED = 16 * 1024

# What a delta may carry to be merged. Of several timestamps the first one stays.
_IDS = {
    "message_id": "id",
    "messageId": "id",
    "tool_call_id": "id",
    "toolCallId": "id",
    "subagent_run_id": "tag",
    "subagentRunId": "tag",
}
_FREE = ("type", "delta", "timestamp")

_NOTHING: dict[str, Any] = {}


class Merged:
    """Deltas that wait to leave as one: the first event, its frame, and all their text."""

    def __init__(self, key: object, event: Any, framed: bytes, delta: str) -> None:
        self.key = key
        self.event = event
        self.framed = framed
        self.deltas = [delta]
        self.size = len(delta)

    def add(self, delta: str) -> None:
        """One more delta of the same key."""
        self.deltas.append(delta)
        self.size += len(delta)


def merge_key(kind: str, event: Any) -> tuple[str, str, str | None] | None:
    """What two deltas have in common to be one: the event type, the id and the tag.

    None where an event carries anything else: it stays an event of its own.
    """
    members = _members(event)
    found: dict[str, Any] = {}
    for name, value in members.items():
        if value is None or name in _FREE:
            continue
        if name not in _IDS or type(value) is not str:
            return None
        found[_IDS[name]] = value
    if "id" not in found or type(members.get("delta")) is not str:
        return None
    return kind, found["id"], found.get("tag")


def _members(event: Any) -> dict[str, Any]:
    if isinstance(event, msgspec.Struct):
        return {name: getattr(event, name) for name in event.__struct_fields__}
    if isinstance(event, dict):
        return event
    cls: type = type(event)
    model = sdk_model(cls)
    if model is None or model.fields is None or event.__pydantic_extra__:
        return _NOTHING
    return dict(vars(event))
