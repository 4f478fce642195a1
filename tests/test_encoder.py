"""EventEncoder: its verbs, what they take, and what they refuse."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import agui_wire
from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    EncodeError,
    EventEncoder,
    RunAgentInput,
    StreamWarning,
)
from agui_wire.events import (
    BaseEvent,
    CustomEvent,
    MessagesSnapshotEvent,
    RawEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from agui_wire.messages import UserMessage
from tests.wires import BINARY, WIRES, Object, Warnings, object_on

EVENT = TextMessageContentEvent(message_id="m", delta="é")
SSE_TEXT = 'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"é"}\n\n'


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (None, SSE_MEDIA_TYPE),
        ("", SSE_MEDIA_TYPE),
        ("*/*", SSE_MEDIA_TYPE),
        (SSE_MEDIA_TYPE, SSE_MEDIA_TYPE),
        (f"{SSE_MEDIA_TYPE}, {AGUI_MEDIA_TYPE};q=0.1", AGUI_MEDIA_TYPE),
        (AGUI_MEDIA_TYPE.upper(), AGUI_MEDIA_TYPE),
        (f"{MSGPACK_MEDIA_TYPE}, {SSE_MEDIA_TYPE}", MSGPACK_MEDIA_TYPE),
        (f"{AGUI_MEDIA_TYPE};q=abc", SSE_MEDIA_TYPE),
    ],
)
def test_one_decision_for_all_verbs(accept: str | None, content_type: str) -> None:
    encoder = EventEncoder(accept)
    assert encoder.content_type == encoder.get_content_type() == content_type
    framed = encoder.encode(EVENT)
    assert isinstance(framed, str if content_type == SSE_MEDIA_TYPE else bytes)
    as_bytes = encoder.encode_binary(EVENT)
    assert as_bytes == (framed.encode() if isinstance(framed, str) else framed)
    assert as_bytes == agui_wire.encode(EVENT, content_type)
    assert encoder.encode_many(iter([EVENT, EVENT])) == as_bytes * 2
    assert encoder.encode_many([]) == b""
    assert agui_wire.decode(as_bytes, content_type) == [EVENT]


def test_wildcards_admit_protobuf_where_asked() -> None:
    assert EventEncoder("*/*", wildcards=True).content_type == AGUI_MEDIA_TYPE


def test_text() -> None:
    assert EventEncoder().encode(EVENT) == SSE_TEXT
    assert EventEncoder(AGUI_MEDIA_TYPE)._encode_sse(EVENT) == SSE_TEXT


@pytest.mark.parametrize("wire", WIRES)
def test_one_encoder_for_many_threads(wire: str) -> None:
    encoder = EventEncoder(wire)
    events: list[Any] = [
        {"type": "CUSTOM", "name": str(n), "value": {"deep": [n, {"x": float(n)}]}}
        for n in range(300)
    ]
    with ThreadPoolExecutor(8) as pool:
        frames = list(pool.map(encoder.encode_binary, events))
    assert frames == [EventEncoder(wire).encode_binary(event) for event in events]


class Loud(EventEncoder):
    """What applications do with the SDK's encoder: subclass it and wrap its methods."""

    def encode(self, event: Any) -> Any:
        framed = super().encode(event)
        return ": loud\n" + framed if isinstance(framed, str) else framed

    def _encode_sse(self, event: Any) -> str:
        return super()._encode_sse(event).replace("é", "É")


@pytest.mark.parametrize("wire", WIRES)
def test_overridden_methods_are_called(wire: str) -> None:
    encoder = Loud(wire)
    expected: str | bytes = agui_wire.encode(EVENT, wire)
    if wire == SSE_MEDIA_TYPE:
        expected = ": loud\n" + SSE_TEXT.replace("é", "É")
    assert encoder.encode(EVENT) == expected
    as_bytes = expected.encode() if isinstance(expected, str) else expected
    assert encoder.encode_binary(EVENT) == as_bytes
    assert encoder.encode_many([EVENT, EVENT]) == as_bytes * 2


def test_media_types_and_options_that_do_not_exist() -> None:
    assert agui_wire.encode(EVENT, "Text/Event-Stream; charset=utf-8") == SSE_TEXT.encode()
    with pytest.raises(ValueError, match="application/json"):
        agui_wire.encode(EVENT, "application/json")
    for option in ("lossy_int", "non_finite", "surrogates"):
        options: Any = {option: "maybe"}
        with pytest.raises(ValueError, match=option):
            EventEncoder(**options)


@pytest.mark.parametrize("wire", WIRES)
def test_a_struct_may_change(wire: str) -> None:
    event = TextMessageEndEvent(message_id="m")
    event.timestamp = 5
    assert object_on(wire, event)["timestamp"] == 5
    event.timestamp = None
    assert "timestamp" not in object_on(wire, event)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (RunFinishedEvent(thread_id="t", run_id="r", result=None), {"threadId": "t", "runId": "r"}),
        (
            {"type": "RUN_ERROR", "message": "", "code": None, "rawEvent": None, "raw_event": None},
            {"message": ""},
        ),
        (
            {
                "type": "MESSAGES_SNAPSHOT",
                "metadata": None,
                "messages": [
                    UserMessage(id="u", content="", name=None),
                    {"id": "a", "role": "assistant", "content": None, "toolCalls": None},
                ],
            },
            {
                "messages": [
                    {"id": "u", "role": "user", "content": ""},
                    {"id": "a", "role": "assistant"},
                ]
            },
        ),
        (CustomEvent(name="n", value=None), {"name": "n", "value": None}),
        ({"type": "RAW", "event": None, "source": None}, {"event": None}),
        ({"type": "STATE_SNAPSHOT", "snapshot": None}, {"snapshot": None}),
        (
            StateSnapshotEvent(snapshot={"a": None, "b": [None]}),
            {"snapshot": {"a": None, "b": [None]}},
        ),
        (
            StateDeltaEvent(delta=[{"op": "test", "path": "", "value": None}]),
            {"delta": [{"op": "test", "path": "", "value": None}]},
        ),
        (
            TextMessageEndEvent(message_id="m", metadata={"a": None}, raw_event=[None]),
            {"messageId": "m", "metadata": {"a": None}, "rawEvent": [None]},
        ),
    ],
    ids=lambda value: (
        "" if isinstance(value, dict) and "type" not in value else type(value).__name__
    ),
)
def test_none_is_absent_only_where_a_key_may_be(wire: str, event: Any, expected: Object) -> None:
    obj = object_on(wire, event)
    obj.pop("type")
    assert obj == expected


EXTRA: Object = {
    "type": "MESSAGES_SNAPSHOT",
    "messages": [{"id": "u", "role": "user", "content": "", "my/extra": {"a": None}}],
    "another_one": None,
}


@pytest.mark.parametrize("wire", WIRES)
def test_what_the_protocol_does_not_know(wire: str, caplog: pytest.LogCaptureFixture) -> None:
    warnings = Warnings()
    with caplog.at_level(logging.WARNING, "agui_wire"):
        obj = object_on(wire, EXTRA, on_warning=warnings.append)
    if wire == AGUI_MEDIA_TYPE:
        assert obj == {
            "type": "MESSAGES_SNAPSHOT",
            "messages": [{"id": "u", "role": "user", "content": ""}],
        }
        assert warnings.told == [
            ("lost-property", "/messages/0/my~1extra"),
            ("lost-property", "/another_one"),
        ]
        message = "protobuf has no place for this property"
        assert warnings[1] == StreamWarning("lost-property", "/another_one", None, message, 1)
        assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
        assert "/another_one" in caplog.text
    else:
        assert obj == EXTRA
        assert not warnings
        assert not caplog.records


class Tagged(TextMessageEndEvent, kw_only=True):
    """A Struct of the application's own, with a field more."""

    agent: str


def test_a_struct_of_the_applications_own() -> None:
    event = Tagged(message_id="m", agent="a")
    expected = {"type": "TEXT_MESSAGE_END", "messageId": "m", "agent": "a"}
    assert object_on(SSE_MEDIA_TYPE, event) == object_on(MSGPACK_MEDIA_TYPE, event) == expected
    warnings = Warnings()
    del expected["agent"]
    assert object_on(AGUI_MEDIA_TYPE, event, on_warning=warnings.append) == expected
    assert warnings.told == [("lost-property", "/agent")]


@pytest.mark.parametrize("wire", WIRES)
def test_members_of_a_patch_operation(wire: str) -> None:
    operation = {"op": "remove", "path": "", "value": 1, "note/": 2, "when": 3}
    warnings = Warnings()
    event = StateDeltaEvent(delta=[dict(operation), dict(operation)])
    obj = object_on(wire, event, on_warning=warnings.append)
    if wire == AGUI_MEDIA_TYPE:
        del operation["note/"], operation["when"]
        # Once for both operations: they differ in nothing but their index.
        assert warnings.told == [
            ("lost-property", "/delta/0/note~1"),
            ("lost-property", "/delta/0/when"),
        ]
    else:
        assert not warnings
    assert obj["delta"] == [operation, operation]


@pytest.mark.parametrize("wire", WIRES)
def test_a_from_that_an_operation_does_not_need_may_be_anything(wire: str) -> None:
    operation = {"op": "remove", "path": "/a", "from": 3}
    warnings = Warnings()
    obj = object_on(wire, StateDeltaEvent(delta=[operation]), on_warning=warnings.append)
    if wire == AGUI_MEDIA_TYPE:
        assert warnings.told == [("lost-property", "/delta/0/from")]
        assert obj["delta"] == [{"op": "remove", "path": "/a"}]
    else:
        assert not warnings
        assert obj["delta"] == [operation]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("wire", WIRES)
def test_depth_that_some_runtimes_refuse(wire: str) -> None:
    warnings = Warnings()
    encoder = EventEncoder(wire, on_warning=warnings.append)
    encoder.encode(CustomEvent(name="", value=nested(31)))
    assert not warnings
    encoder.encode(CustomEvent(name="", value=[nested(32), nested(40)]))
    encoder.encode(CustomEvent(name="", value=nested(32)))
    assert warnings.told == ([("depth", "")] * 2 if wire == AGUI_MEDIA_TYPE else [])


@pytest.mark.parametrize("wire", WIRES)
def test_frames_that_peers_refuse(wire: str) -> None:
    size = len(agui_wire.encode(EVENT, wire))
    warnings = Warnings()
    agui_wire.encode(EVENT, wire, max_frame_size=size, on_warning=warnings.append)
    assert not warnings
    encoder = EventEncoder(wire, max_frame_size=size - 1, on_warning=warnings.append)
    assert encoder.encode_binary(EVENT) == agui_wire.encode(EVENT, wire)
    assert warnings.told == [("frame-size", "")]
    assert f"{size} bytes" in warnings[0].message


THINKING: list[tuple[Object, Object]] = [
    ({"type": "THINKING_START", "title": None, "timestamp": None}, {}),
    (
        {"type": "THINKING_START", "title": "t", "raw_event": {"a": None}},
        {"title": "t", "rawEvent": {"a": None}},
    ),
    ({"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "d"}, {"delta": "d"}),
    ({"type": "THINKING_TEXT_MESSAGE_END"}, {}),
]


@pytest.mark.parametrize(("event", "expected"), THINKING)
def test_retired_events_are_for_sse_alone(event: Object, expected: Object) -> None:
    assert object_on(SSE_MEDIA_TYPE, event) == {"type": event["type"], **expected}
    for wire in BINARY:
        with pytest.raises(EncodeError, match=event["type"]) as caught:
            agui_wire.encode(event, wire)
        assert caught.value.path == "/type"


@pytest.mark.parametrize("mime_type", ["mimeType", "mime_type"])
def test_retired_parts(mime_type: str) -> None:
    part = {"type": "binary", mime_type: "image/png", "data": "x", "filename": "f", "url": None}
    only_id = {"type": "binary", mime_type: "image/png", "id": "x"}
    event = {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "u", "role": "user", "content": [part, only_id]}],
    }
    warnings = Warnings()
    as_it_was = {"type": "binary", "mimeType": "image/png", "data": "x", "filename": "f"}
    (message,) = object_on(SSE_MEDIA_TYPE, event, on_warning=warnings.append)["messages"]
    assert message["content"] == [as_it_was, {"type": "binary", "mimeType": "image/png", "id": "x"}]
    assert not warnings
    upgraded = {
        "type": "image",
        "source": {"type": "data", "value": "x", "mimeType": "image/png"},
        "metadata": {"filename": "f"},
    }
    for wire in BINARY:
        warnings.clear()
        framed = agui_wire.encode(event, wire, on_warning=warnings.append)
        (decoded,) = map(agui_wire.to_dict, agui_wire.decode(framed, wire))
        assert decoded["messages"][0]["content"] == [upgraded]
        assert warnings.told == [("unknown-member", "/messages/0/content/1")]


NO_EVENTS: list[tuple[Any, str]] = [
    (None, "NoneType"),
    (5, "int"),
    ("text", "str"),
    ([EVENT], "list"),
    (object(), "object"),
    (lambda: EVENT, "function"),
    (UserMessage(id="u", content=""), "UserMessage"),
    (RunAgentInput(thread_id="t", run_id="r", messages=[]), "RunAgentInput"),
    (BaseEvent(), "BaseEvent"),
    ({"type": "a/b"}, "'a/b'"),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("thing", "name"), NO_EVENTS, ids=[name for _, name in NO_EVENTS])
def test_what_is_no_event(wire: str, thing: Any, name: str) -> None:
    encoder = EventEncoder(wire)
    verbs: list[tuple[Callable[[Any], Any], Any]] = [
        (encoder.encode, thing),
        (encoder.encode_binary, thing),
        (encoder.encode_many, [EVENT, thing]),
    ]
    for verb, argument in verbs:
        with pytest.raises(EncodeError) as caught:
            verb(argument)
        assert name in str(caught.value)
        error = RunErrorEvent(message=str(caught.value))
        assert agui_wire.decode(encoder.encode_binary(error), wire) == [error]


FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
INVALID: list[tuple[Any, str]] = [
    ({}, "/type"),
    ({"type": 5}, "/type"),
    ({"type": "TEXT_MESSAGE_END"}, "/messageId"),
    (TextMessageStartEvent(message_id=123), "/messageId"),  # type: ignore[arg-type]
    (TextMessageStartEvent(message_id=None), "/messageId"),  # type: ignore[arg-type]
    (TextMessageStartEvent(message_id="m", role="tool"), "/role"),  # type: ignore[arg-type]
    (TextMessageEndEvent(message_id="m", timestamp=1.5), "/timestamp"),  # type: ignore[arg-type]
    (TextMessageEndEvent(message_id="m", timestamp=True), "/timestamp"),
    (TextMessageEndEvent(message_id="m", timestamp=2**53), "/timestamp"),
    (TextMessageEndEvent(message_id="m", timestamp=10**5000), "/timestamp"),
    (TextMessageEndEvent(message_id="m", metadata=[]), "/metadata"),  # type: ignore[arg-type]
    ({"type": "RUN_ERROR", "message": "", "usage": [{"inputTokens": -1}]}, "/usage/0/inputTokens"),
    (FINISHED | {"outcome": {"type": "interrupt", "interrupts": []}}, "/outcome/interrupts"),
    (FINISHED | {"outcome": {"type": "paused"}}, "/outcome"),
    ({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "binary"}]}, "/messages/0"),
    (MessagesSnapshotEvent(messages=[5]), "/messages/0"),  # type: ignore[list-item]
    (MessagesSnapshotEvent(messages=[UserMessage(id="u", content=5)]), "/messages/0/content"),  # type: ignore[arg-type]
    (
        MessagesSnapshotEvent(messages=[UserMessage(id="u", content=[{"type": "nope"}])]),  # type: ignore[list-item]
        "/messages/0/content/0",
    ),
    (StateDeltaEvent(delta=[{"op": "add", "path": "no-pointer", "value": 1}]), "/delta/0/path"),
    (StateDeltaEvent(delta=[{"op": "replace", "path": ""}]), "/delta/0/value"),
    (StateDeltaEvent(delta=[{"op": "increase", "path": ""}]), "/delta/0"),
    (RunStartedEvent(thread_id="t", run_id="r", input={"threadId": "t"}), "/input"),  # type: ignore[arg-type]
    (RawEvent(event={"a/b": [object()]}), "/event/a~1b/0"),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("event", "path"), INVALID)
def test_events_that_are_not_valid(wire: str, event: Any, path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        agui_wire.encode(event, wire)
    assert caught.value.path.startswith(path)
    assert caught.value.path in str(caught.value)
    assert "removed" not in caught.value.reason
    assert "dropped" not in caught.value.reason
