"""Bodies of ours, read by `@ag-ui/client` as a browser would read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE
from tests.conftest import SHARED
from tests.interop.peer import Peer

Object = dict[str, Any]

# The published client takes a stream without a terminal event for a success.
NAMED_DIFFERENCES = {"truncated-stream-fails-the-run"}


def conformance(path: Path) -> Object:
    """A conformance stream, with "1.1" read as the version that both sides speak."""
    case: Object = json.loads(path.read_text(encoding="utf-8").replace('"1.1"', '"1.0"'))
    return case


CASES = sorted(SHARED.glob("vectors/conformance/*.json"))


def types(events: list[Object]) -> list[str]:
    return [event["type"] for event in events]


@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.stem))
def test_our_bodies_say_what_the_events_say(peer: Peer, path: Path) -> None:
    case = conformance(path)
    run_input = case.get("input")
    expected = peer.run(case["stream"], run_input=run_input)
    if path.stem not in NAMED_DIFFERENCES:
        assert expected["ok"] == (case["expect"]["outcome"] == "completed"), expected["error"]
    try:
        events = [agui_wire.from_dict(event) for event in case["stream"]]
    except agui_wire.MalformedEvent:
        assert expected["warnings"], "we refuse an event that the client takes without a word"
        return
    for media_type in (SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE):
        body = b"".join(agui_wire.encode(event, media_type) for event in events)
        seen = peer.run(body, media_type, run_input)
        for key in ("ok", "error", "messages", "state", "outcome", "pending", "runError"):
            assert seen[key] == expected[key], (media_type, key)
        assert types(seen["delivered"]) == types(expected["delivered"])


def test_one_read_is_the_whole_answer(peer: Peer) -> None:
    """What Peer.run reports, once, in full."""
    stream: list[Object] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hé"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}},
    ]
    earlier = {"id": "u", "role": "user", "content": "hi"}
    run_input = {"threadId": "t", "runId": "r", "messages": [earlier], "state": {"b": 2}}
    seen = peer.run(stream, run_input=run_input)
    assert seen["ok"]
    assert seen["delivered"] == stream
    assert seen["messages"] == [earlier, {"id": "m", "role": "assistant", "content": "hé"}]
    assert seen["state"] == {"a": 1}
    assert (seen["outcome"], seen["pending"], seen["runError"]) == ("success", [], None)
    assert seen["warnings"] == []
    assert seen["request"]["messages"] == [earlier]
    assert seen["request"]["protocolVersion"] == agui_wire.PROTOCOL_VERSION
