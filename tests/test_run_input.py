"""The run input as a server reads it and a client writes it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from agui_wire import (
    EncodeError,
    RunInputError,
    StreamWarning,
    read_run_input,
    write_run_input,
)
from agui_wire.messages import ActivityMessage, UserMessage
from agui_wire.run_input import RunAgentInput

MINIMAL: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}


def read(**members: Any) -> tuple[RunAgentInput, list[str]]:
    warnings: list[StreamWarning] = []
    body = json.dumps({**MINIMAL, **members}).encode()
    run_input = read_run_input(body, on_warning=warnings.append)
    return run_input, [f"{warning.kind} {warning.path}" for warning in warnings]


def test_what_may_be_absent_reads_as_empty() -> None:
    run_input, warnings = read()
    assert (run_input.tools, run_input.context, run_input.resume) == ([], [], [])
    assert run_input.state == {}
    assert warnings == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"", ""),
        (b"{", ""),
        (b"[]", ""),
        (b"\xff", ""),
        (b'{"threadId":"t","runId":"r"}', "/messages"),
        (b'{"threadId":"t","messages":[]}', "/runId"),
        (b'{"threadId":7,"runId":"r","messages":[]}', "/threadId"),
        (b'{"threadId":"t","runId":"r","messages":{}}', "/messages"),
        (
            b'{"threadId":"t","runId":"r","messages":[{"role":"user","id":"u"}]}',
            "/messages/0/content",
        ),
        (
            b'{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"?"}]}',
            "/resume/0/status",
        ),
        (
            b'{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"\\ud83d"}]}',
            "/resume/0/status",
        ),
        (
            b'{"threadId":"t","runId":"r","messages":[],"protocolVersion":"2.0"}',
            "/protocolVersion",
        ),
        (
            b'{"threadId":"t","runId":"r","messages":[],"protocolVersion":"'
            + b"9" * 5000
            + b'.0"}',
            "/protocolVersion",
        ),
        (
            b'{"threadId":"t","runId":"r","messages":[],"state":'
            + b"[" * 5000
            + b"]" * 5000
            + b"}",
            "",
        ),
    ],
)
def test_what_is_wrong_is_named(body: bytes, path: str) -> None:
    with pytest.raises(RunInputError) as failure:
        read_run_input(body)
    assert failure.value.path == path
    assert failure.value.http_status == 400
    assert failure.value.to_dict()["path"] == path


@pytest.mark.parametrize(
    ("members", "warning"),
    [
        ({"future": 1}, "unknown-property /future"),
        ({"state": None}, "null /state"),
        ({"parentRunId": None}, "null /parentRunId"),
        ({"messages": [{"role": "critic", "id": "c"}]}, "unknown-member /messages/0"),
        ({"protocolVersion": "1.7"}, "protocol-version /protocolVersion"),
        ({"protocolVersion": "new"}, "protocol-version /protocolVersion"),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "id": "u",
                        "content": [{"type": "binary", "mimeType": "image/png", "data": "AA=="}],
                    }
                ]
            },
            "retired /messages/0/content/0",
        ),
    ],
)
def test_what_is_tolerated_is_told(members: dict[str, Any], warning: str) -> None:
    assert read(**members)[1] == [warning]


def test_a_client_declares_its_version_and_leaves_activities_out() -> None:
    run_input = RunAgentInput(
        thread_id="t",
        run_id="r",
        messages=[
            UserMessage(id="u", content="hi"),
            ActivityMessage(id="a", activity_type="x", content={}),
        ],
    )
    body = msgspec.json.decode(write_run_input(run_input))
    assert body["protocolVersion"] == "1.0"
    assert body["messages"] == [{"role": "user", "id": "u", "content": "hi"}]
    assert None not in body.values()


def test_a_client_upgrades_binary_parts_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    part = {"type": "binary", "mimeType": "image/png", "data": "AA=="}
    body = write_run_input(
        {**MINIMAL, "messages": [{"role": "user", "id": "u", "content": [part]}]}
    )
    source = {"type": "data", "value": "AA==", "mimeType": "image/png"}
    (message,) = msgspec.json.decode(body)["messages"]
    assert message["content"] == [{"type": "image", "source": source}]
    assert not caplog.records


@pytest.mark.parametrize(
    ("run_input", "path"),
    [
        ({"runId": "r", "messages": []}, "/threadId"),
        ({**MINIMAL, "threadId": 7}, "/threadId"),
        ({**MINIMAL, "future": 1}, "/future"),
        ({**MINIMAL, "messages": [{"role": "critic", "id": "c"}]}, "/messages/0"),
        ({**MINIMAL, "state": {"a": [object()]}}, "/state/a/0"),
        (RunAgentInput(thread_id="t", run_id=None, messages=[]), "/runId"),  # type: ignore[arg-type]
        (UserMessage(id="u", content="hi"), ""),
    ],
)
def test_a_client_refuses_to_send_what_is_malformed(run_input: Any, path: str) -> None:
    with pytest.raises(EncodeError) as failure:
        write_run_input(run_input)
    assert failure.value.path == path


def test_both_ways_give_the_same_run_input() -> None:
    run_input = read_run_input(
        json.dumps(
            {
                **MINIMAL,
                "protocolVersion": "1.0",
                "state": {"a": [1, 2.5, None]},
                "messages": [{"role": "user", "id": "u", "content": "hi"}],
                "tools": [{"name": "n", "description": "d", "parameters": {"type": "object"}}],
                "context": [{"description": "d", "value": "v"}],
                "forwardedProps": {"x": 1},
                "resume": [{"interruptId": "i", "status": "resolved", "payload": {"ok": True}}],
            }
        ).encode()
    )
    assert read_run_input(write_run_input(run_input)) == run_input
