"""Whole streams, valid and broken, through this package and through `@ag-ui/client`."""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import Any

import pytest

from agui_wire import to_dict
from tests.conformance.replay import WIRES, Outcome, consume, frame

from .differences import DIFFERENCES
from .peer import Peer
from .run_generator import broken_stream, valid_stream

BATCH = 250
BATCHES = int(os.environ.get("AGUI_WIRE_STREAM_BATCHES", "4"))
"""Each batch is 250 valid and 250 broken streams; more for a longer hunt."""


def ours_of(stream: list[dict[str, Any]]) -> Outcome:
    return consume([b"".join(frame(event, "sse") for event in stream)], WIRES["sse"])


def disagreement(ours: Outcome, theirs: dict[str, Any]) -> str | None:
    """What differs first: the verdict, the delivered types, the messages or the state."""
    if (ours.error is None) != theirs["ok"]:
        return f"verdict: ours {ours.error!r}, theirs {theirs['error']!r}"
    if ours.error is not None:
        return None
    types = [event.type.value for event in ours.events]
    if types != [event["type"] for event in theirs["delivered"]]:
        return f"types: {types}"
    messages = [to_dict(message) for message in ours.consumer.assembler.messages]
    if messages != theirs["messages"]:
        return f"messages: ours {messages}, theirs {theirs['messages']}"
    if ours.consumer.assembler.state != theirs["state"]:
        return f"state: ours {ours.consumer.assembler.state}, theirs {theirs['state']}"
    return None


@pytest.mark.parametrize("batch", range(BATCHES))
def test_valid_streams_agree(batch: int, peer: Peer) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        stream = valid_stream(Random(seed))
        ours = ours_of(stream)
        assert ours.error is None, (seed, ours.error)
        problem = disagreement(ours, peer.run(stream))
        if problem is not None:
            rules = [n for n, d in DIFFERENCES.items() if d.applies(stream, ours, {"ok": True})]
            assert rules, (seed, problem)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_broken_streams_agree_or_differ_by_a_named_rule(batch: int, peer: Peer) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        stream = broken_stream(Random(seed))
        ours, theirs = ours_of(stream), peer.run(stream)
        verdicts[ours.verdict] += 1
        problem = disagreement(ours, theirs)
        if problem is not None:
            rules = [n for n, d in DIFFERENCES.items() if d.applies(stream, ours, theirs)]
            assert rules, (seed, problem)
    # The generator has to break some streams and leave others alive, or it tests nothing.
    assert min(verdicts["completed"], verdicts["failed"]) > BATCH // 10


REPLAY = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [
            {
                "id": "a",
                "role": "assistant",
                "toolCalls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            }
        ],
    },
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "a"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]
PARTS = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "u", "role": "user", "content": [{"type": "text", "text": "a"}]}],
    },
    {"type": "TEXT_MESSAGE_START", "messageId": "u", "role": "user"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "u", "delta": "b"},
    {"type": "TEXT_MESSAGE_END", "messageId": "u"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]
DOUBLE = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [
            {"id": "u", "role": "user", "content": "first"},
            {"id": "v", "role": "user", "content": "between"},
            {"id": "u", "role": "user", "content": "last"},
        ],
    },
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]
CLOSED = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "critic"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]
UNTAGGED = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {}},
]
NULL = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "timestamp": None},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]


@pytest.mark.parametrize(
    ("rule", "stream"),
    [
        ("truncation", [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}]),
        ("null", NULL),
        ("closed-set", CLOSED),
        ("tag", UNTAGGED),
        ("replay", REPLAY),
        ("parts", PARTS),
        ("double-id", DOUBLE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_named_difference_is_real(rule: str, stream: list[dict[str, Any]], peer: Peer) -> None:
    ours, theirs = ours_of(stream), peer.run(stream)
    assert disagreement(ours, theirs) is not None
    assert DIFFERENCES[rule].applies(stream, ours, theirs)


def test_every_difference_has_its_stream() -> None:
    assert len(DIFFERENCES) == 7
