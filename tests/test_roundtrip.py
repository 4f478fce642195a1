"""What goes in comes out: every Struct, over every wire, and as a dict."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agui_wire
from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    Event,
    EventEncoder,
    Message,
    RunAgentInput,
)
from agui_wire.events import (
    ActivitySnapshotEvent,
    MessagesSnapshotEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuspendedOutcome,
    TextMessageContentEvent,
    ToolCallResultEvent,
)
from agui_wire.messages import AssistantMessage, UserMessage
from tests.strategies import json_values, structs

WIRES = (SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)
EVENTS: dict[str, type[msgspec.Struct]] = {cls.__name__: cls for cls in get_args(Event)}
MESSAGES: dict[str, type[msgspec.Struct]] = {cls.__name__: cls for cls in get_args(Message)}

SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
few = settings(max_examples=10, suppress_health_check=SLOW)


def there_and_back(event: Any, wire: str) -> Any:
    warnings: list[agui_wire.StreamWarning] = []
    framed = agui_wire.encode(event, wire, on_warning=warnings.append)
    assert not warnings
    (decoded,) = agui_wire.decode(framed, wire)
    return decoded


def with_kinds(value: Any) -> Any:
    """`value` with booleans told from the numbers that they equal."""
    if isinstance(value, dict):
        return {key: with_kinds(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_kinds(item) for item in value]
    return (isinstance(value, bool), value)


def same(left: Any, right: Any) -> bool:
    equal: bool = with_kinds(agui_wire.to_dict(left)) == with_kinds(agui_wire.to_dict(right))
    return equal


@pytest.mark.parametrize("name", EVENTS)
@few
@given(data=st.data())
def test_events(name: str, data: st.DataObject) -> None:
    event = data.draw(structs(EVENTS[name]))
    for wire in WIRES:
        decoded = there_and_back(event, wire)
        assert type(decoded) is EVENTS[name]
        assert decoded == event
        assert same(decoded, event)


@pytest.mark.parametrize("name", MESSAGES)
@few
@given(data=st.data())
def test_messages(name: str, data: st.DataObject) -> None:
    event = MessagesSnapshotEvent(messages=[data.draw(structs(MESSAGES[name]))])
    for wire in WIRES:
        assert same(there_and_back(event, wire), event)


@pytest.mark.parametrize("name", EVENTS)
@few
@given(data=st.data())
def test_dicts(name: str, data: st.DataObject) -> None:
    event = data.draw(structs(EVENTS[name]))
    obj = agui_wire.to_dict(event)
    assert agui_wire.from_dict(obj) == event
    assert obj["type"] == EVENTS[name].__struct_config__.tag
    for wire in WIRES:
        assert agui_wire.encode(obj, wire) == agui_wire.encode(event, wire)


@pytest.mark.parametrize("name", EVENTS)
@few
@given(data=st.data())
def test_snake_case_dicts(name: str, data: st.DataObject) -> None:
    """The same bytes from a dict whose described keys are attributes' names, at every level."""
    event = data.draw(structs(EVENTS[name]))
    obj = snake_case(event)
    for wire in WIRES:
        assert agui_wire.encode(obj, wire) == agui_wire.encode(event, wire)


def snake_case(value: Any) -> Any:
    if isinstance(value, list):
        return [snake_case(item) for item in value]
    if not isinstance(value, msgspec.Struct):
        return value
    config = value.__struct_config__
    tag = {} if config.tag_field is None else {config.tag_field: config.tag}
    return tag | {name: snake_case(getattr(value, name)) for name in value.__struct_fields__}


@few
@given(run_input=structs(RunAgentInput))
def test_run_inputs(run_input: RunAgentInput) -> None:
    event = RunStartedEvent(thread_id="t", run_id="r", input=run_input)
    for wire in WIRES:
        assert there_and_back(event, wire) == event


@few
@given(events=st.lists(st.sampled_from(list(EVENTS)).flatmap(lambda n: structs(EVENTS[n]))))
def test_many(events: list[Any]) -> None:
    for wire in WIRES:
        encoder = EventEncoder(wire)
        body = encoder.encode_many(events)
        assert body == b"".join(map(encoder.encode_binary, events))
        assert agui_wire.decode(body, wire) == events


@few
@given(value=json_values(st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text()))
def test_the_json_wires_hold_more(value: Any) -> None:
    """Integers of 64 bits are exact on SSE and MessagePack, and so is every finite double."""
    event = agui_wire.events.StateSnapshotEvent(snapshot=value)
    for wire in (SSE_MEDIA_TYPE, MSGPACK_MEDIA_TYPE):
        (decoded,) = agui_wire.decode(agui_wire.encode(event, wire), wire)
        assert without_infinities(value) == decoded.snapshot  # type: ignore[union-attr]


def without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_infinities(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_infinities(item) for item in value]
    return None if value in (float("inf"), -float("inf")) else value


RUN: Any = {"thread_id": "t", "run_id": "r"}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "event",
    [
        ActivitySnapshotEvent(message_id="m", activity_type="a", content={}, replace=False),
        TextMessageContentEvent(message_id="m", delta=""),
        ToolCallResultEvent(message_id="m", tool_call_id="c", content=""),
        ToolCallResultEvent(message_id="m", tool_call_id="c", content=[]),
        MessagesSnapshotEvent(messages=[]),
        MessagesSnapshotEvent(messages=[UserMessage(id="u", content="")]),
        MessagesSnapshotEvent(messages=[UserMessage(id="u", content=[])]),
        MessagesSnapshotEvent(messages=[AssistantMessage(id="a", content="")]),
        StateDeltaEvent(delta=[]),
        StateDeltaEvent(delta=[{"op": "add", "path": "", "value": None}]),
        RunFinishedEvent(**RUN, result=False),
        RunFinishedEvent(**RUN, result=""),
        RunFinishedEvent(**RUN, result=[]),
        RunErrorEvent(message="", timestamp=0, metadata={}),
    ],
    ids=repr,
)
def test_empty_is_not_absent(wire: str, event: Any) -> None:
    assert there_and_back(event, wire) == event


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("empty", "absent"),
    [
        (RunErrorEvent(message="", usage=[]), RunErrorEvent(message="")),
        (RunFinishedEvent(**RUN, usage=[]), RunFinishedEvent(**RUN)),
        (
            RunFinishedEvent(**RUN, outcome=RunFinishedSuccessOutcome(pending_tool_call_ids=[])),
            RunFinishedEvent(**RUN, outcome=RunFinishedSuccessOutcome()),
        ),
        (
            SubagentFinishedEvent(
                subagent_run_id="s", outcome=SubagentFinishedSuspendedOutcome(interrupt_ids=[])
            ),
            SubagentFinishedEvent(subagent_run_id="s", outcome=SubagentFinishedSuspendedOutcome()),
        ),
        (
            MessagesSnapshotEvent(messages=[AssistantMessage(id="a", tool_calls=[])]),
            MessagesSnapshotEvent(messages=[AssistantMessage(id="a")]),
        ),
    ],
    ids=lambda event: type(event).__name__,
)
def test_lists_whose_emptiness_is_absence(wire: str, empty: Any, absent: Any) -> None:
    assert there_and_back(empty, wire) == absent


@pytest.mark.parametrize("wire", WIRES)
def test_absent_lists_of_a_run_input_are_empty_ones(wire: str) -> None:
    event = RunStartedEvent(**RUN, input=RunAgentInput(**RUN, messages=[]))
    decoded = there_and_back(event, wire)
    assert decoded.input == RunAgentInput(**RUN, messages=[], tools=[], context=[], resume=[])
