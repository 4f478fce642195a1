"""Shapes from before protocol 1.0, read as what replaced them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from agui_wire.pipeline.retired import RETIRED_TYPES, RetiredShapes
from tests.streams import GOOD, LOOSE_WIRES, Reading, in_pieces, loose, read

Object = dict[str, Any]

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}

THOUGHT: list[Object] = [
    {"type": "THINKING_START", "title": "Plan"},
    {"type": "THINKING_TEXT_MESSAGE_START"},
    {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "a", "timestamp": 5},
    {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "b", "rawEvent": {"x": None}},
    {"type": "THINKING_TEXT_MESSAGE_END"},
    {"type": "THINKING_END"},
]


def body(wire: str, objects: list[Object]) -> bytes:
    return b"".join(loose(wire, obj) for obj in objects)


def translated(*objects: Object) -> Reading:
    """What the wires that can carry retired shapes make of them, which is the same."""
    sse, msgpack = (read(wire, body(wire, list(objects))) for wire in LOOSE_WIRES)
    assert sse == msgpack
    assert sse.refusal is None
    return sse


def ids(reading: Reading) -> list[str]:
    return [str(event["messageId"]) for event in reading.dicts if "messageId" in event]


def test_thinking_reads_as_reasoning() -> None:
    reading = translated(STARTED, *THOUGHT, FINISHED)
    span, message = ids(reading)[0], ids(reading)[1]
    assert reading.dicts == [
        STARTED,
        {"type": "REASONING_START", "messageId": span},
        {"type": "REASONING_MESSAGE_START", "messageId": message, "role": "reasoning"},
        {
            "type": "REASONING_MESSAGE_CONTENT",
            "messageId": message,
            "delta": "a",
            "timestamp": 5,
        },
        {
            "type": "REASONING_MESSAGE_CONTENT",
            "messageId": message,
            "delta": "b",
            "rawEvent": {"x": None},
        },
        {"type": "REASONING_MESSAGE_END", "messageId": message},
        {"type": "REASONING_END", "messageId": span},
        FINISHED,
    ]
    assert len({UUID(span), UUID(message)}) == 2


def test_each_retired_type_warns_once_and_a_dropped_title_is_told() -> None:
    reading = translated(STARTED, *THOUGHT, *THOUGHT)
    told = [warning for warning in reading.warnings if warning.count == 1]
    assert [(w.kind, w.path) for w in told] == [("retired", "/type")] * len(RETIRED_TYPES)
    for warning, name in zip(told, RETIRED_TYPES):
        assert any(f"read {kind} as" in warning.message for kind in RETIRED_TYPES), name
        assert ("title" in warning.message) == ("THINKING_START " in warning.message)
    assert sorted(w.count for w in reading.warnings if w.count > 1) == [2, 2, 2, 2, 4]


def test_minted_ids_hold_from_opener_to_end_and_then_change() -> None:
    first = ids(translated(STARTED, *THOUGHT, *THOUGHT))
    assert [first.index(each) for each in first] == [0, 1, 1, 1, 1, 0, 6, 7, 7, 7, 7, 6]


@pytest.mark.parametrize("wire", LOOSE_WIRES)
def test_minted_ids_depend_on_the_stream_alone(wire: str) -> None:
    stream = body(wire, [STARTED, *THOUGHT, *THOUGHT, FINISHED])
    whole = read(wire, stream)
    for size in (1, 7, 100):
        assert read(wire, in_pieces(stream, size)) == whole
    other = read(wire, body(wire, [{**STARTED, "runId": "another"}, *THOUGHT]))
    assert not set(ids(whole)) & set(ids(other))


def test_a_new_run_mints_new_ids_and_leaves_nothing_open() -> None:
    again = {**STARTED, "runId": "r2"}
    reading = ids(translated(STARTED, *THOUGHT[:3], again, *THOUGHT))
    assert len(set(reading[:3])) == 2
    assert not set(reading[:3]) & set(reading[3:])
    # The same run id again must not repeat ids of the earlier run.
    repeated = ids(translated(STARTED, *THOUGHT, STARTED, *THOUGHT))
    assert not set(repeated[:6]) & set(repeated[6:])


def test_nothing_stays_open_behind_its_end_or_its_run() -> None:
    content = THOUGHT[2]
    for between in (THOUGHT[4], {**STARTED, "runId": "r2"}):
        reading = ids(translated(STARTED, THOUGHT[1], content, between, content, content))
        assert reading[0] == reading[1]
        assert reading[-2] == reading[-1] != reading[0]


def test_content_without_an_opener_gets_an_id_of_its_own() -> None:
    start, end = ids(translated(THOUGHT[2], THOUGHT[4]))
    assert start == end
    assert len(ids(translated(THOUGHT[5]))) == 1


def test_a_run_id_may_hold_half_a_surrogate_pair() -> None:
    """It is no name to hash as it stands."""
    reading = read("sse", body("sse", [{**STARTED, "runId": "\ud83d"}, *THOUGHT]))
    assert len(set(ids(reading))) == 2


def test_retired_events_are_enforced_after_translation() -> None:
    for wire in LOOSE_WIRES:
        bad = {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": 5}
        refusal = read(wire, body(wire, [STARTED, bad])).refusal
        assert refusal is not None
        assert "/delta" in refusal.text
        assert refusal.event_index == 1


def message(**members: Any) -> Object:
    return {"id": "m", "role": "user", "content": "c", **members}


def media(kind: str, source: Object, **members: Any) -> Object:
    return {"type": kind, "source": source, **members}


def data(mime_type: str) -> Object:
    return {"type": "data", "value": "QQ==", "mimeType": mime_type}


# A `binary` part without its type, and the part that it reads as.
BINARY_PARTS: list[tuple[Object, Object | None]] = [
    ({"mimeType": "image/png", "data": "QQ=="}, media("image", data("image/png"))),
    ({"mimeType": "audio/wav", "data": "QQ=="}, media("audio", data("audio/wav"))),
    ({"mimeType": "video/mp4", "data": "QQ=="}, media("video", data("video/mp4"))),
    ({"mimeType": "application/pdf", "data": "QQ=="}, media("document", data("application/pdf"))),
    ({"mimeType": "imagery/x", "data": "QQ=="}, media("document", data("imagery/x"))),
    ({"mimeType": "IMAGE/PNG", "data": "QQ=="}, media("image", data("IMAGE/PNG"))),
    (
        {"mimeType": "image/png", "url": "http://u"},
        media("image", {"type": "url", "value": "http://u", "mimeType": "image/png"}),
    ),
    (
        {"mimeType": "text/plain", "data": "QQ==", "url": "http://u", "filename": "a.txt"},
        media("document", data("text/plain"), metadata={"filename": "a.txt"}),
    ),
    (
        {"mimeType": "image/png", "data": "QQ==", "id": "file-1", "filename": None, "url": None},
        media("image", data("image/png")),
    ),
    ({"mimeType": "image/png", "id": "file-1"}, None),
    ({"mimeType": "image/png"}, None),
    ({"data": "QQ=="}, None),
]


@pytest.mark.parametrize(("part", "becomes"), BINARY_PARTS)
def test_binary_parts(part: Object, becomes: Object | None) -> None:
    retired = message(content=[{"type": "binary", **part}, {"type": "text", "text": "x"}])
    parts = [] if becomes is None else [becomes]
    upgraded = message(content=[*parts, {"type": "text", "text": "x"}])
    run_input: Object = {"threadId": "t", "runId": "r"}
    empty: Object = {"tools": [], "context": [], "resume": []}
    for holder, wanted, path in (
        (
            {"type": "MESSAGES_SNAPSHOT", "messages": [retired]},
            {"type": "MESSAGES_SNAPSHOT", "messages": [upgraded]},
            "/messages/0/content/0",
        ),
        (
            {**STARTED, "input": {**run_input, "messages": [retired]}},
            {**STARTED, "input": {**run_input, "messages": [upgraded], **empty}},
            "/input/messages/0/content/0",
        ),
    ):
        reading = translated(holder)
        assert reading.dicts == [wanted]
        kind = "unknown-member" if becomes is None else "retired"
        assert [(w.kind, w.path) for w in reading.warnings] == [(kind, path)]


ASSISTANT: Object = {"id": "a", "role": "assistant"}
CALL: Object = {
    "id": "c",
    "type": "function",
    "function": {"name": "n", "arguments": "{}"},
}

# A message with `encryptedContent`, what it reads as, and the paths of the warnings.
ENCRYPTED: list[tuple[Object, Object, list[str]]] = [
    ({"encryptedContent": "x"}, {"encryptedValue": "x"}, ["/encryptedContent"]),
    (
        {"encryptedContent": "old", "encryptedValue": "new"},
        {"encryptedValue": "new"},
        ["/encryptedContent"],
    ),
    (
        {"encryptedContent": "old", "encryptedValue": None},
        {"encryptedValue": "old"},
        ["/encryptedContent"],
    ),
    ({"encryptedContent": None}, {}, ["/encryptedContent", "/encryptedValue"]),
    (
        {"toolCalls": [{**CALL, "encryptedContent": "x"}, CALL]},
        {"toolCalls": [{**CALL, "encryptedValue": "x"}, CALL]},
        ["/toolCalls/0/encryptedContent"],
    ),
]


@pytest.mark.parametrize(("members", "becomes", "paths"), ENCRYPTED)
def test_encrypted_content(members: Object, becomes: Object, paths: list[str]) -> None:
    reading = translated({"type": "MESSAGES_SNAPSHOT", "messages": [{**ASSISTANT, **members}]})
    assert reading.dicts == [{"type": "MESSAGES_SNAPSHOT", "messages": [{**ASSISTANT, **becomes}]}]
    assert [warning.path for warning in reading.warnings] == [
        f"/messages/0{path}" for path in paths
    ]


NULLS: list[Object] = [
    {**GOOD, "rawEvent": None, "timestamp": None, "metadata": None},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n", "parentMessageId": None},
    {"type": "TOOL_CALL_CHUNK", "parentMessageId": None},
    {**FINISHED, "outcome": None, "result": None},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "result": None},
]


def test_nulls_of_older_servers_are_told_once_per_path() -> None:
    reading = translated(*NULLS, *NULLS)
    assert reading.dicts == [
        {key: value for key, value in event.items() if value is not None}
        for event in (*NULLS, *NULLS)
    ]
    once = [(warning.kind, warning.path) for warning in reading.warnings if warning.count == 1]
    paths = ("rawEvent", "timestamp", "metadata", "parentMessageId", "outcome", "result")
    assert once == [("null", f"/{path}") for path in paths]


def test_nulls_inside_a_run_input() -> None:
    run_input: Object = {
        "threadId": "t",
        "runId": "r",
        "messages": [message(content=[media("image", data("image/png"), metadata=None)])],
        "tools": [{"name": "n", "description": "d", "parameters": None}],
        "context": [],
        "resume": [{"interruptId": "i", "status": "resolved", "payload": None}],
        "forwardedProps": None,
    }
    reading = translated({**STARTED, "input": run_input})
    assert reading.dicts == [
        {
            **STARTED,
            "input": {
                "threadId": "t",
                "runId": "r",
                "messages": [message(content=[media("image", data("image/png"))])],
                "tools": [{"name": "n", "description": "d"}],
                "context": [],
                "resume": [{"interruptId": "i", "status": "resolved"}],
            },
        }
    ]
    assert reading.kinds == ["null"] * 4


def test_a_modern_event_is_returned_as_it_is() -> None:
    shapes = RetiredShapes()
    told: list[Any] = []
    for event in (GOOD, STARTED, {"type": 5}, {}, {"type": "MESSAGES_SNAPSHOT", "messages": 5}):
        before = repr(event)
        assert shapes.translate(event, lambda *words: told.append(words)) is event
        assert repr(event) == before
    assert told == []
