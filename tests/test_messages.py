"""Every kind of message, assembled from a stream and carried back in a run input."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agui_wire import (
    EventEncoder,
    StreamConsumer,
    read_run_input,
    to_dict,
    write_run_input,
)
from agui_wire.media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE
from agui_wire.run_input import RunAgentInput

Object = dict[str, Any]
WIRES = (SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)

IDS = {"threadId": "t1", "runId": "r1"}
STARTED: Object = {"type": "RUN_STARTED", **IDS}
FINISHED: Object = {"type": "RUN_FINISHED", **IDS}

CALL: Object = {
    "id": "call_123",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Łódź"}'},
    "encryptedValue": "c2VjcmV0",
}
PARTS: list[Object] = [
    {"type": "text", "text": "What is in these?"},
    {"type": "image", "source": {"type": "data", "value": "iVBORw0=", "mimeType": "image/png"}},
    {"type": "image", "source": {"type": "url", "value": "https://example.com/cat.png"}},
    {"type": "audio", "source": {"type": "url", "value": "https://example.com/a.wav"}},
    {
        "type": "video",
        "id": "v1",
        "source": {"type": "file", "value": "file-7", "provider": "acme", "mimeType": "video/mp4"},
    },
    {
        "type": "document",
        "source": {"type": "data", "value": "JVBERg==", "mimeType": "application/pdf"},
        "metadata": {"filename": "report.pdf"},
    },
]
MESSAGES: list[Object] = [
    {"role": "developer", "id": "dev_1", "content": "Be brief."},
    {"role": "system", "id": "sys_1", "name": "policy", "content": "You are a travel agent."},
    {"role": "user", "id": "user_1", "name": "Ada", "content": "Hello"},
    {"role": "user", "id": "user_2", "content": PARTS},
    {"role": "assistant", "id": "asst_1", "content": "", "encryptedValue": "b64=="},
    {"role": "assistant", "id": "asst_2", "toolCalls": [CALL]},
    {"role": "tool", "id": "tool_1", "content": "18 degrees", "toolCallId": "call_123"},
    {
        "role": "tool",
        "id": "tool_2",
        "content": [{"type": "text", "text": "see the map"}, PARTS[2]],
        "toolCallId": "call_123",
        "error": "the map is old",
    },
    {
        "role": "activity",
        "id": "act_1",
        "activityType": "PLAN",
        "content": {"steps": [{"title": "search", "status": "pending"}]},
    },
    {
        "role": "reasoning",
        "id": "rsn_1",
        "content": "Weighing the options",
        "encryptedValue": "eyJhbGciOi",
        "metadata": {"model": "m"},
    },
]

STREAMED: list[Object] = [
    {"type": "REASONING_START", "messageId": "span"},
    {"type": "REASONING_MESSAGE_START", "messageId": "rsn_1", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "rsn_1", "delta": "Weighing "},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "rsn_1", "delta": "the options"},
    {"type": "REASONING_MESSAGE_END", "messageId": "rsn_1"},
    {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": "message",
        "entityId": "rsn_1",
        "encryptedValue": "eyJhbGciOi",
    },
    {"type": "REASONING_END", "messageId": "span"},
    {"type": "TEXT_MESSAGE_START", "messageId": "asst_1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "asst_1", "delta": "Let me "},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "asst_1", "delta": "look."},
    {"type": "TEXT_MESSAGE_END", "messageId": "asst_1"},
    {
        "type": "TOOL_CALL_START",
        "toolCallId": "call_123",
        "toolCallName": "get_weather",
        "parentMessageId": "asst_1",
    },
    {"type": "TOOL_CALL_ARGS", "toolCallId": "call_123", "delta": '{"city": '},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "call_123", "delta": '"Łódź"}'},
    {"type": "TOOL_CALL_END", "toolCallId": "call_123"},
    {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": "tool-call",
        "entityId": "call_123",
        "encryptedValue": "c2VjcmV0",
    },
    {
        "type": "TOOL_CALL_RESULT",
        "messageId": "tool_1",
        "toolCallId": "call_123",
        "content": PARTS,
    },
    {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": "act_1",
        "activityType": "PLAN",
        "content": {"steps": []},
    },
    {
        "type": "ACTIVITY_DELTA",
        "messageId": "act_1",
        "activityType": "PLAN",
        "patch": [{"op": "add", "path": "/steps/-", "value": {"title": "search"}}],
    },
]
ASSEMBLED: list[Object] = [
    {
        "role": "reasoning",
        "id": "rsn_1",
        "content": "Weighing the options",
        "encryptedValue": "eyJhbGciOi",
    },
    {"role": "assistant", "id": "asst_1", "content": "Let me look.", "toolCalls": [CALL]},
    {"role": "tool", "id": "tool_1", "content": PARTS, "toolCallId": "call_123"},
    {
        "role": "activity",
        "id": "act_1",
        "activityType": "PLAN",
        "content": {"steps": [{"title": "search"}]},
    },
]


def consumed(events: list[Object], wire: str) -> StreamConsumer:
    warnings: list[Any] = []
    consumer = StreamConsumer(wire, on_warning=warnings.append)
    body = EventEncoder(wire).encode_many([STARTED, *events, FINISHED])
    for position in range(0, len(body), 7):
        consumer.feed(body[position : position + 7])
    consumer.close()
    assert not warnings
    return consumer


def carried_back(consumer: StreamConsumer) -> list[Object]:
    """The messages as the next run's agent reads them."""
    run_input = RunAgentInput(
        thread_id="t1", run_id="r2", messages=consumer.assembler.messages, state={"n": 1}
    )
    return [to_dict(message) for message in read_run_input(write_run_input(run_input)).messages]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message["id"]))
def test_each_message_of_a_snapshot_comes_back(message: Object, wire: str) -> None:
    consumer = consumed([{"type": "MESSAGES_SNAPSHOT", "messages": [message]}], wire)
    assert [to_dict(held) for held in consumer.assembler.messages] == [message]
    assert carried_back(consumer) == ([] if message["role"] == "activity" else [message])


@pytest.mark.parametrize("wire", WIRES)
def test_a_complete_snapshot_comes_back_without_its_activities(wire: str) -> None:
    consumer = consumed([{"type": "MESSAGES_SNAPSHOT", "messages": MESSAGES}], wire)
    assert [to_dict(held) for held in consumer.assembler.messages] == MESSAGES
    assert carried_back(consumer) == [m for m in MESSAGES if m["role"] != "activity"]


@pytest.mark.parametrize("wire", WIRES)
def test_streamed_messages_come_back(wire: str) -> None:
    consumer = consumed(STREAMED, wire)
    assert [to_dict(held) for held in consumer.assembler.messages] == ASSEMBLED
    assert carried_back(consumer) == ASSEMBLED[:3]
    assert consumer.assembler.outcome == "success"
    assert consumer.assembler.pending_tool_call_ids == []


def test_the_request_body_says_what_older_servers_need() -> None:
    body = msgspec.json.decode(
        write_run_input({"thread_id": "t", "run_id": "r", "messages": [], "resume": None})
    )
    assert body == {
        "protocolVersion": "1.0",
        "threadId": "t",
        "runId": "r",
        "messages": [],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
