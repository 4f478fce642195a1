"""Enforcement: what is unrecognised goes with a warning, what is malformed is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec import inspect

from agui_wire import Event, MalformedEvent, StreamDecoder, StreamWarning, to_dict
from agui_wire.events import ReasoningMessageStartEvent
from agui_wire.messages import ToolCall
from agui_wire.run_input import ResumeEntry
from tests.described import (
    CALL,
    CLASSES,
    FINISHED,
    IMAGE,
    USER,
    Case,
    cases,
    classes,
    home,
    in_call,
    in_content,
    in_input,
    in_messages,
    in_outcome,
    minimal,
    struct_info,
)
from tests.streams import GOOD, LOOSE_WIRES, WIRES, loose, read

MAX_SAFE = 2**53 - 1


class Verdict(NamedTuple):
    """What became of one object: events, the path of a refusal, warnings as (kind, path)."""

    events: list[dict[str, Any]]
    path: str | None
    warnings: list[tuple[str, str]]


def judge(wire: str, obj: Any) -> Verdict:
    warnings: list[StreamWarning] = []
    decoder = StreamDecoder(WIRES[wire], on_warning=warnings.append)
    events: list[Event] = []
    path: str | None = None
    try:
        events = decoder.feed(loose(wire, obj))
    except MalformedEvent as error:
        path = error.path
    return Verdict([to_dict(event) for event in events], path, [(w.kind, w.path) for w in warnings])


def verdict(obj: Any) -> Verdict:
    """The verdict of both wires that can carry any object; they never differ."""
    first, second = (judge(wire, obj) for wire in LOOSE_WIRES)
    assert first == second
    return first


def accepted(obj: Any) -> dict[str, Any]:
    """The one event that an object gives, with no warning."""
    found = verdict(obj)
    assert (found.path, found.warnings) == (None, [])
    (event,) = found.events
    return event


def refused(obj: Any) -> str | None:
    """The path of the refusal; nothing of the event is handed over."""
    found = verdict(obj)
    assert found.events == []
    return found.path


def wrong_values(kind: inspect.Type) -> Iterator[Any]:
    """JSON values of another type than the field's."""
    members = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    names = {type(member).__name__ for member in members}
    for value, taken in (
        ("text", {"StrType"}),
        (5, {"IntType", "FloatType"}),
        (0.5, {"FloatType"}),
        (True, {"BoolType"}),
        ([], {"ListType"}),
        ({}, {"StructType", "DictType"}),
    ):
        is_closed_set = "LiteralType" in names and isinstance(value, str)
        if not names & taken and not is_closed_set:
            yield value
    if "StructType" in names:
        yield {"type": None, "role": None}


@classes
def test_the_minimal_object_of_every_class_is_accepted(cls: type[msgspec.Struct]) -> None:
    event = home(cls).wrap(minimal(cls))
    assert accepted(event) == event


@cases(lambda case: case.optional)
def test_a_null_in_an_optional_field_is_absence(case: Case) -> None:
    absent = accepted(case.without())
    assert verdict(case.event(None)) == ([absent], None, [("null", case.path)])


@cases(lambda case: not case.optional)
def test_a_null_in_a_required_field_is_data_or_malformed(case: Case) -> None:
    if case.is_open:
        assert accepted(case.event(None)) == case.event(None)
    else:
        assert refused(case.event(None)) == case.path


@cases(lambda case: not case.optional)
def test_a_missing_required_field_is_malformed(case: Case) -> None:
    assert refused(case.without()) == case.path


@cases(lambda case: not case.is_open)
def test_a_value_of_another_type_is_malformed(case: Case) -> None:
    for value in wrong_values(case.field.type):
        path = refused(case.event(value))
        assert path is not None, value
        assert path.startswith(case.path), (value, path)


@cases(lambda case: case.is_open)
def test_open_json_is_any_json(case: Case) -> None:
    for value in (0, "", False, [], {}, [None, {"a": None}], 1.5, {"snake_case": {"type": 7}}):
        assert accepted(case.event(value)) == case.event(value)


@classes
def test_a_property_that_is_not_described_is_removed(cls: type[msgspec.Struct]) -> None:
    place = home(cls)
    obj = minimal(cls)
    for name, escaped in (("future", "future"), ("a/b~c", "a~1b~0c"), ("snake_case", "snake_case")):
        found = verdict(place.wrap({**obj, name: {"deep": [1]}}))
        assert found == ([place.wrap(obj)], None, [("unknown-property", f"{place.path}/{escaped}")])


@classes
def test_a_missing_tag_is_malformed(cls: type[msgspec.Struct]) -> None:
    tag_field = struct_info(cls).tag_field
    if tag_field is None:
        return
    place = home(cls)
    obj = {key: value for key, value in minimal(cls).items() if key != tag_field}
    assert refused(place.wrap(obj)) == f"{place.path}/{tag_field}"
    assert refused(place.wrap({**obj, tag_field: 5})) == f"{place.path}/{tag_field}"


# Unknown members of unions and closed sets: event, what it becomes, path of the warning.
UNKNOWN_MEMBERS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, str]] = {
    "event type": ({"type": "FUTURE", "x": 1}, None, "/type"),
    "type in other letters": ({"type": "text_message_end", "messageId": "m"}, None, "/type"),
    "optional role": (
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "critic"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        "/role",
    ),
    "role of a chunk": (
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "tool"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m"},
        "/role",
    ),
    "message role": (
        {"type": "MESSAGES_SNAPSHOT", "messages": [USER, {**USER, "role": "critic"}, USER]},
        {"type": "MESSAGES_SNAPSHOT", "messages": [USER, USER]},
        "/messages/1",
    ),
    "part type": (
        in_messages({**USER, "content": [{"type": "hologram"}, IMAGE]}),
        in_content(IMAGE),
        "/messages/0/content/0",
    ),
    "every part": (
        in_content({"type": "hologram"}),
        in_messages({**USER, "content": []}),
        "/messages/0/content/0",
    ),
    "source type, a required field of its part": (
        in_messages({**USER, "content": [IMAGE, {**IMAGE, "source": {"type": "disk"}}]}),
        in_content(IMAGE),
        "/messages/0/content/1/source",
    ),
    "part of a tool result": (
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": "m",
            "toolCallId": "c",
            "content": [{"type": "x"}],
        },
        {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": []},
        "/content/0",
    ),
    "run outcome": (in_outcome({"type": "paused", "x": 1}), FINISHED, "/outcome"),
    "subagent outcome": (
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "interrupt"}},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"},
        "/outcome",
    ),
    "encrypted subtype, a required field of its event": (
        {
            "type": "REASONING_ENCRYPTED_VALUE",
            "subtype": "x",
            "entityId": "e",
            "encryptedValue": "v",
        },
        None,
        "/subtype",
    ),
    "message in a run input": (
        in_input(messages=[{**USER, "role": "critic"}]),
        in_input(),
        "/input/messages/0",
    ),
    "patch operation": (
        {"type": "STATE_DELTA", "delta": [{"op": "merge"}, {"op": "remove", "path": "/a"}]},
        {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/a"}]},
        "/delta/0",
    ),
    "activity patch operation": (
        {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "t", "patch": [{"op": "ADD"}]},
        {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "t", "patch": []},
        "/patch/0",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN_MEMBERS)
def test_an_unknown_member_goes_up_to_where_it_can(name: str) -> None:
    event, becomes, path = UNKNOWN_MEMBERS[name]
    kind = "unknown-event" if path == "/type" else "unknown-member"
    assert verdict(event) == ([] if becomes is None else [becomes], None, [(kind, path)])


START = {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"}
RESULT = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "x"}
RESUME = {"interruptId": "i", "status": "resolved"}

# Events that are refused, by the path that the error names.
MALFORMED: list[tuple[str, Any]] = [
    ("/role", {**START, "role": "assistant"}),
    ("/role", {**START, "role": ""}),
    ("/role", {**RESULT, "role": "user"}),
    ("/messages/0/toolCalls/0/type", in_call({**CALL, "type": "procedure"})),
    ("/input/resume/0/status", in_input(resume=[{**RESUME, "status": "postponed"}])),
    ("/outcome/interrupts", in_outcome({"type": "interrupt", "interrupts": []})),
    ("/outcome/interrupts", in_outcome({"type": "interrupt"})),
    ("/outcome", in_outcome("success")),
    ("/content", {**RESULT, "content": None}),
    ("/messages/0", in_messages(None)),
    ("/messages/0", in_messages("x")),
    ("/messages/0/content/0", in_content("x")),
    ("/messages/0/toolCalls/0", in_call(None)),
]


@pytest.mark.parametrize(("path", "event"), MALFORMED)
def test_a_described_value_that_is_wrong_is_refused(path: str, event: Any) -> None:
    assert refused(event) == path


def operation(**members: Any) -> dict[str, Any]:
    return {"type": "STATE_DELTA", "delta": [{"op": "test", "path": "", "value": 0}, members]}


# Patch operations that RFC 6902 or RFC 6901 does not allow, by the member at fault.
BAD_OPERATIONS: list[tuple[str, dict[str, Any]]] = [
    ("op", {}),
    ("op", {"op": None, "path": ""}),
    ("op", {"op": 1, "path": ""}),
    ("path", {"op": "add", "value": 1}),
    ("path", {"op": "remove"}),
    ("path", {"op": "add", "path": None, "value": 1}),
    ("path", {"op": "add", "path": 5, "value": 1}),
    ("path", {"op": "add", "path": "a", "value": 1}),
    ("path", {"op": "add", "path": "/a~", "value": 1}),
    ("path", {"op": "add", "path": "/a~2b", "value": 1}),
    ("path", {"op": "add", "path": "#/a", "value": 1}),
    ("value", {"op": "add", "path": "/a"}),
    ("value", {"op": "replace", "path": "/a"}),
    ("value", {"op": "test", "path": "/a"}),
    ("from", {"op": "move", "path": "/a"}),
    ("from", {"op": "copy", "path": "/a"}),
    ("from", {"op": "copy", "path": "/a", "from": "b"}),
    ("from", {"op": "move", "path": "/a", "from": None}),
]


@pytest.mark.parametrize(("member", "members"), BAD_OPERATIONS)
def test_a_malformed_operation_is_refused(member: str, members: dict[str, Any]) -> None:
    assert refused(operation(**members)) == f"/delta/1/{member}"
    activity = {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "t", "patch": [members]}
    assert refused(activity) == f"/patch/0/{member}"


@pytest.mark.parametrize("value", [None, 5, "x", []])
def test_an_operation_is_an_object(value: Any) -> None:
    assert refused({"type": "STATE_DELTA", "delta": [value]}) == "/delta/0"


@pytest.mark.parametrize(
    "members",
    [
        {"op": "add", "path": "", "value": None},
        {"op": "add", "path": "/", "value": {"a": None}},
        {"op": "replace", "path": "/a~0~1b/-/0", "value": 1},
        {"op": "add", "path": "/a\n\u2028b", "value": 1},
        {"op": "remove", "path": "/a", "value": "left over", "future": {"x": None}},
        {"op": "move", "path": "/a", "from": "", "value": 5},
        {"op": "test", "path": "/a", "value": 1, "from": "no pointer, but none is needed"},
    ],
)
def test_operations_survive_with_all_that_they_carry(members: dict[str, Any]) -> None:
    assert accepted(operation(**members)) == operation(**members)


@pytest.mark.parametrize(
    ("value", "read_as"),
    [(0, 0), (MAX_SAFE, MAX_SAFE), (-MAX_SAFE, -MAX_SAFE), (1e3, 1000), (-0.0, 0)],
)
def test_timestamps_are_integers(value: Any, read_as: int) -> None:
    for event in ({**GOOD, "timestamp": value}, {**GOOD, "timestamp": value, "rawEvent": [1]}):
        found = accepted(event)
        assert (found["timestamp"], type(found["timestamp"])) == (read_as, int)


@pytest.mark.parametrize(
    "value", [MAX_SAFE + 1, -MAX_SAFE - 1, 2**63, 0.5, 2.0**53, 1e300, True, "1", [], {}]
)
def test_other_timestamps_are_malformed(value: Any) -> None:
    assert refused({**GOOD, "timestamp": value}) == "/timestamp"
    found = verdict({**GOOD, "timestamp": value, "future": 1})
    assert (found.events, found.path) == ([], "/timestamp")


@pytest.mark.parametrize("value", [-1, MAX_SAFE + 1, 0.5, True, "1"])
def test_a_token_count_is_a_natural_number(value: Any) -> None:
    usage = {"type": "RUN_ERROR", "message": "m", "usage": [{"inputTokens": value}]}
    assert refused(usage) == "/usage/0/inputTokens"
    for count in (0, 5.0, MAX_SAFE):
        fine = {"type": "RUN_ERROR", "message": "m", "usage": [{"inputTokens": count}]}
        assert accepted(fine) == fine


def test_half_a_surrogate_pair_where_no_text_may_stand_is_malformed() -> None:
    """JSON may hold it, and the strict conversion cannot look at it."""
    half = "\ud83d"
    for path, event in (
        ("/role", {**START, "role": half}),
        ("/timestamp", {**GOOD, "timestamp": half}),
        ("/messages/0/toolCalls/0/type", in_call({**CALL, "type": half})),
        ("/input/resume/0/status", in_input(resume=[{**RESUME, "status": half}])),
    ):
        assert judge("sse", event) == ([], path, [])
    event = {"type": "TEXT_MESSAGE_START", "messageId": half, "role": half, half: 1}
    assert judge("sse", event).warnings == [
        ("unknown-member", "/role"),
        ("unknown-property", f"/{half}"),
    ]


def test_many_things_at_once() -> None:
    event = in_messages(
        {
            **USER,
            "name": None,
            "mood": "good",
            "content": [
                {"type": "x"},
                {**IMAGE, "id": None, "alt": 1},
                {**IMAGE, "source": {"type": "x"}},
            ],
        }
    )
    assert verdict(event) == (
        [in_content(IMAGE)],
        None,
        [
            ("unknown-member", "/messages/0/content/0"),
            ("null", "/messages/0/content/1/id"),
            ("unknown-property", "/messages/0/content/1/alt"),
            ("unknown-member", "/messages/0/content/2/source"),
            ("null", "/messages/0/name"),
            ("unknown-property", "/messages/0/mood"),
        ],
    )


def test_a_refused_event_is_refused_though_other_parts_would_go() -> None:
    assert refused({**GOOD, "future": 1, "delta": 5}) == "/delta"
    # The path counts the elements as they came.
    parts = [{"type": "x"}, IMAGE, {"type": "y"}, {"type": "text"}]
    assert refused(in_messages({**USER, "content": parts})) == "/messages/0/content/3/text"
    messages = [{"role": "critic"}, {**USER, "content": [*parts[:2], 5]}]
    assert refused({"type": "MESSAGES_SNAPSHOT", "messages": messages}) == "/messages/1/content/2"
    operations = [{"op": "merge"}, {"op": "add", "path": "a"}]
    assert refused({"type": "STATE_DELTA", "delta": operations}) == "/delta/1/path"
    assert refused({"type": "STATE_DELTA", "delta": [{"op": "merge"}, 5]}) == "/delta/1"


def test_the_stream_goes_on_after_what_was_dropped() -> None:
    for wire in LOOSE_WIRES:
        body = b"".join(loose(wire, obj) for obj in (GOOD, {"type": "FUTURE"}, GOOD))
        assert read(wire, body).dicts == [GOOD, GOOD]


def test_the_classes_with_one_possible_value_are_known() -> None:
    """Those whose fixed member msgspec would fill in are judged on the tolerant path."""
    assert {ReasoningMessageStartEvent, ToolCall, ResumeEntry} <= CLASSES.keys()
    filled = [
        cls
        for cls in CLASSES
        if any(f.default_factory is not msgspec.NODEFAULT for f in struct_info(cls).fields)
    ]
    assert filled == [ReasoningMessageStartEvent]
