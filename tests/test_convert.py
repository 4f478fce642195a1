"""Dicts: what to_dict gives, and what from_dict and an encoder take."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import agui_wire
from agui_wire import SSE_MEDIA_TYPE, EncodeError, EventType, MalformedEvent, RunAgentInput
from agui_wire.events import (
    CustomEvent,
    MessagesSnapshotEvent,
    ReasoningMessageStartEvent,
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
)
from agui_wire.messages import AssistantMessage, FunctionCall, TextPart, ToolCall, UserMessage
from tests.wires import WIRES, Object, object_on

CAMEL: Object = {
    "type": "RUN_STARTED",
    "threadId": "t",
    "runId": "r",
    "parentRunId": "p",
    "rawEvent": {"left_alone": 1},
    "metadata": {"left_alone": {"tool_calls": 1}},
    "input": {
        "threadId": "t",
        "runId": "r",
        "state": {"snake_case": {"message_id": 1}},
        "messages": [
            {
                "id": "a",
                "role": "assistant",
                "toolCalls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "f", "arguments": "{}"},
                        "encryptedValue": "e",
                        "metadata": {"left_alone": 1},
                    }
                ],
            },
            {
                "id": "u",
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "url", "value": "v", "mimeType": "image/png"},
                        "metadata": {"left_alone": 1},
                    }
                ],
            },
            {"id": "l", "role": "tool", "content": "", "toolCallId": "c"},
            {
                "id": "y",
                "role": "activity",
                "activityType": "plan",
                "content": {"left_alone": 1},
            },
        ],
        "tools": [{"name": "f", "description": "", "parameters": {"left_alone": 1}}],
        "context": [],
        "forwardedProps": {"left_alone": 1},
        "resume": [
            {"interruptId": "i", "status": "resolved", "payload": {"left_alone": 1}},
        ],
    },
}
OUTCOME: Object = {
    "type": "RUN_FINISHED",
    "threadId": "t",
    "runId": "r",
    "result": {"left_alone": 1},
    "outcome": {
        "type": "interrupt",
        "interrupts": [
            {
                "id": "i",
                "reason": "why",
                "toolCallId": "c",
                "responseSchema": {"left_alone": 1},
                "expiresAt": "",
            }
        ],
    },
    "usage": [{"inputTokens": 1, "cachedInputTokens": 0}],
}
PATCH: Object = {
    "type": "ACTIVITY_DELTA",
    "messageId": "m",
    "activityType": "plan",
    "patch": [{"op": "add", "path": "/left_alone", "value": {"left_alone": 1}}],
}

_OPEN = {"rawEvent", "metadata", "state", "parameters", "forwardedProps", "payload", "result"}
_OPEN |= {"responseSchema", "patch"}


def snake(value: Any) -> Any:
    if isinstance(value, list):
        return [snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    is_activity = value.get("role") == "activity"
    return {
        "".join("_" + c.lower() if c.isupper() else c for c in key): (
            item if key in _OPEN or (is_activity and key == "content") else snake(item)
        )
        for key, item in value.items()
    }


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("event", [CAMEL, OUTCOME, PATCH], ids=lambda event: str(event["type"]))
def test_spellings_of_dicts(wire: str, event: Object) -> None:
    snaky = snake(event)
    assert "_id" in str(snaky) or "_type" in str(snaky)
    assert object_on(wire, event) == object_on(wire, snaky) == event
    assert object_on(wire, agui_wire.from_dict(event)) == event


def test_two_spellings_of_one_key() -> None:
    messages = [{"id": "a", "role": "assistant", "toolCalls": [], "tool_calls": []}]
    with pytest.raises(EncodeError, match="two spellings") as caught:
        agui_wire.encode({"type": "MESSAGES_SNAPSHOT", "messages": messages}, SSE_MEDIA_TYPE)
    assert caught.value.path == "/messages/0/toolCalls"


CALL = ToolCall(id="c", function=FunctionCall(name="f", arguments=""))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "event",
    [
        MessagesSnapshotEvent(messages=[AssistantMessage(id="a", tool_calls=[CALL])]),
        {
            "type": EventType.MESSAGES_SNAPSHOT,
            "messages": [AssistantMessage(id="a", tool_calls=[CALL])],
        },
        {
            "type": "MESSAGES_SNAPSHOT",
            "messages": [{"id": "a", "role": "assistant", "name": None, "tool_calls": [CALL]}],
        },
        MessagesSnapshotEvent(
            messages=[{"id": "a", "role": "assistant", "tool_calls": [CALL]}]  # type: ignore[list-item]
        ),
    ],
    ids=["structs", "structs in a dict", "a struct in dicts", "a dict in a struct"],
)
def test_mixtures_of_structs_and_dicts(wire: str, event: Any) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
    messages = [{"id": "a", "role": "assistant", "toolCalls": [call]}]
    assert object_on(wire, event) == {"type": "MESSAGES_SNAPSHOT", "messages": messages}


CALL_DICT = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            TextMessageEndEvent(message_id="m"),
            {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        ),
        (
            ReasoningMessageStartEvent(message_id="m"),
            {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"},
        ),
        (
            RunFinishedEvent(
                thread_id="t",
                run_id="r",
                outcome=RunFinishedSuccessOutcome(pending_tool_call_ids=["c"]),
            ),
            {
                "type": "RUN_FINISHED",
                "threadId": "t",
                "runId": "r",
                "outcome": {"type": "success", "pendingToolCallIds": ["c"]},
            },
        ),
        (CustomEvent(name="", value=None), {"type": "CUSTOM", "name": "", "value": None}),
        (
            AssistantMessage(id="a", content="", tool_calls=[CALL]),
            {"id": "a", "role": "assistant", "content": "", "toolCalls": [CALL_DICT]},
        ),
        (
            UserMessage(id="u", content=[TextPart(text="t", metadata={"a": [None]})]),
            {
                "id": "u",
                "role": "user",
                "content": [{"type": "text", "text": "t", "metadata": {"a": [None]}}],
            },
        ),
        (
            RunAgentInput(thread_id="t", run_id="r", messages=[], state={}, tools=[]),
            {"threadId": "t", "runId": "r", "messages": [], "state": {}, "tools": []},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_to_dict(value: Any, expected: Object) -> None:
    assert agui_wire.to_dict(value) == expected


def test_to_dict_makes_open_json_plain_and_its_own() -> None:
    state = {"when": datetime.date(2024, 5, 6), "tags": ("a",), 7: {"mutable": []}}
    obj = agui_wire.to_dict(StateSnapshotEvent(snapshot=state))
    assert obj["snapshot"] == {"when": "2024-05-06", "tags": ["a"], "7": {"mutable": []}}
    obj["snapshot"]["7"]["mutable"].append(1)
    assert state[7] == {"mutable": []}


def test_to_dict_keeps_half_a_surrogate_pair() -> None:
    """It may meet its other half in the next delta."""
    event = TextMessageContentEvent(message_id="m", delta="\ud83d")
    assert agui_wire.to_dict(event)["delta"] == "\ud83d"
    assert agui_wire.from_dict(agui_wire.to_dict(event)) == event


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (StateSnapshotEvent(snapshot={"a": [object()]}), "/snapshot/a/0"),
        ({"type": "RAW", "event": 1}, ""),
        (None, ""),
    ],
)
def test_what_has_no_dict(value: Any, path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        agui_wire.to_dict(value)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        ({}, "/type"),
        ({"type": "NEWER"}, "/type"),
        ({"type": "THINKING_START"}, "/type"),
        ({"type": "TEXT_MESSAGE_END"}, "/messageId"),
        ({"type": "TEXT_MESSAGE_END", "messageId": 1}, "/messageId"),
        ({"type": "TEXT_MESSAGE_END", "message_id": "m", "messageId": "m"}, ""),
        ({"type": "TEXT_MESSAGE_END", "messageId": "m", "timestamp": None}, "/timestamp"),
        ({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "x"}]}, "/messages/0/role"),
        ({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "x"}]}, "/delta/0/path"),
        ({"type": "STATE_DELTA", "delta": [{"op": "grow", "path": ""}]}, "/delta/0"),
        ([], ""),
        (None, ""),
    ],
)
def test_from_dict_is_strict(obj: Any, path: str) -> None:
    with pytest.raises(MalformedEvent) as caught:
        agui_wire.from_dict(obj)
    assert caught.value.path == path


def test_from_dict_leaves_its_argument_alone() -> None:
    obj: Object = {
        "type": "RUN_STARTED",
        "threadId": "t",
        "runId": "r",
        "input": {"threadId": "t", "runId": "r", "messages": []},
    }
    event = agui_wire.from_dict(obj)
    assert isinstance(event, RunStartedEvent)
    assert event.input == RunAgentInput(
        thread_id="t", run_id="r", messages=[], tools=[], context=[], resume=[]
    )
    assert obj["input"] == {"threadId": "t", "runId": "r", "messages": []}


def test_from_dict_of_deep_json() -> None:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    event = agui_wire.from_dict({"type": "CUSTOM", "name": "deep", "value": value})
    assert isinstance(event, CustomEvent)
    with pytest.raises(EncodeError):
        agui_wire.to_dict(event)
