"""Where this package and `@ag-ui/client` 1.0.0 part on purpose, one rule each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.conformance.replay import Outcome

Object = dict[str, Any]
Answer = Object


class Difference(NamedTuple):
    """A rule: why the two differ, and whether a stream and its two results fall under it."""

    reason: str
    applies: Callable[[list[Object], Outcome, Answer], bool]


def _truncated(stream: list[Object], ours: Outcome, theirs: Answer) -> bool:
    return type(ours.error).__name__ == "TruncatedStream" and theirs["ok"]


def _null_is_absent(stream: list[Object], ours: Outcome, theirs: Answer) -> bool:
    nulls = any(warning.kind == "null" for warning in ours.warnings)
    return nulls and not theirs["ok"] and "nvalid" in theirs["error"]


def _tag_is_missing(stream: list[Object], ours: Outcome, theirs: Answer) -> bool:
    path = getattr(ours.error, "path", "")
    return theirs["ok"] and path.rpartition("/")[2] in ("type", "role", "op") and path != "/type"


def _closed_set_is_stripped(stream: list[Object], ours: Outcome, theirs: Answer) -> bool:
    stripped = any(warning.kind == "unknown-member" for warning in ours.warnings)
    return stripped and not theirs["ok"]


def _restates_arguments(stream: list[Object], ours: Outcome, theirs: Answer) -> bool:
    """A call that a snapshot brought is opened, and its arguments come again."""
    held: set[str] = set()
    for event in stream:
        if event.get("type") == "MESSAGES_SNAPSHOT" and isinstance(event.get("messages"), list):
            for message in event["messages"]:
                held |= {call["id"] for call in message.get("toolCalls", ())}
        elif event.get("type") == "TOOL_CALL_START" and event.get("toolCallId") in held:
            return ours.error is None and theirs["ok"]
    return False


def _text_on_parts(stream: list[Object], ours: Outcome, theirs: Answer) -> bool:
    """Text streams into a message whose content is a list of parts."""
    parts = {
        message.get("id")
        for event in stream
        if isinstance(event.get("messages"), list)
        for message in event["messages"]
        if isinstance(message, dict) and isinstance(message.get("content"), list)
    }
    return any(
        event.get("type") in ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK")
        and event.get("messageId") in parts
        for event in stream
    )


def _double_ids(stream: list[Object], ours: Outcome, theirs: Answer) -> bool:
    """A snapshot holds an id twice: one message here, the last value at the first position."""
    for event in stream:
        if event.get("type") == "MESSAGES_SNAPSHOT" and isinstance(event.get("messages"), list):
            ids = [m.get("id") for m in event["messages"] if isinstance(m, dict)]
            if len(set(map(repr, ids))) < len(ids):
                return ours.error is None and theirs["ok"]
    return False


DIFFERENCES = {
    "truncation": Difference("a stream without its terminal event is an error here", _truncated),
    "null": Difference("null in an optional place reads as absent here", _null_is_absent),
    "closed-set": Difference(
        "an unknown string of a closed set is stripped here", _closed_set_is_stripped
    ),
    "tag": Difference(
        "a missing or non-string tag is a missing required field here", _tag_is_missing
    ),
    "replay": Difference(
        "restated arguments replace here, they are not doubled", _restates_arguments
    ),
    "parts": Difference("text streamed onto parts becomes one more part here", _text_on_parts),
    "double-id": Difference("an id twice in a snapshot is one message here", _double_ids),
}
