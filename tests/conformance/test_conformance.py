"""The protocol's conformance streams, over every wire that can carry them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from agui_wire import to_dict
from agui_wire.pipeline.request import read_run_input, write_run_input
from tests.conftest import SHARED

from .replay import WIRES, Outcome, Unwritable, consume, cuts, frame

CASES = sorted((SHARED / "vectors" / "conformance").glob("*.json"))

UNCARRIED = {
    "malformed-known-field-fatal": "protobuf has no number in a string field",
    "state-delta-unknown-op-dropped": "protobuf has no name for an unknown operation",
    "subagent-started-missing-name-fatal": "an absent required string reads as empty on protobuf",
    "unknown-event-dropped": "protobuf has no name for an unknown event",
    "unknown-outcome-array-fatal": "protobuf has no list in the outcome's place",
    "unknown-part-in-message-list": "protobuf has no name for an unknown part",
    "unknown-property-stripped": "protobuf has no field for an unknown property",
}
"""Streams that protobuf bytes cannot express, so that there is nothing to read."""

IGNORED: dict[str, str] = {}
"""Streams that we judge otherwise, with the reason. Meant to stay empty."""

pytestmark = pytest.mark.skipif(not CASES, reason="needs the folder `shared` beside the checkout")


def load(path: Any) -> dict[str, Any]:
    # These streams are written for a consumer that speaks 1.1; ours speaks 1.0.
    case: dict[str, Any] = json.loads(path.read_text().replace('"1.1"', '"1.0"'))
    return case


def carriers() -> list[Any]:
    return [
        pytest.param(path, wire, id=f"{path.stem}-{wire}")
        for path in CASES
        for wire in WIRES
        if not (wire == "protobuf" and path.stem in UNCARRIED)
    ]


def includes(value: Any, part: Any) -> bool:
    """Whether `part` is in `value`: objects by their named members, all else whole."""
    if isinstance(part, dict):
        return isinstance(value, dict) and all(
            key in value and includes(value[key], item) for key, item in part.items()
        )
    if isinstance(part, list):
        return (
            isinstance(value, list) and len(value) == len(part) and all(map(includes, value, part))
        )
    return (type(value) is type(part) and value == part) or _same_number(value, part)


def _same_number(value: Any, part: Any) -> bool:
    numbers = (int, float)
    return type(value) in numbers and type(part) in numbers and value == part


def at(events: list[dict[str, Any]], path: str) -> Any:
    value: Any = events
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def check(expect: dict[str, Any], outcome: Outcome) -> None:
    assert outcome.verdict == expect["outcome"], outcome.error
    events = [to_dict(event) for event in outcome.events]
    types = [event["type"] for event in events]
    if "eventTypes" in expect:
        assert types == expect["eventTypes"]
    assert not set(types) & set(expect.get("eventTypesAbsent", ()))
    for path, value in expect.get("eventPaths", {}).items():
        assert at(events, path) == value
    for path in expect.get("eventAbsentPaths", ()):
        parent, _, last = path.rpartition(".")
        assert last not in at(events, parent)
    if "runError" in expect:
        errors = [event["message"] for event in events if event["type"] == "RUN_ERROR"]
        assert errors
        assert expect["runError"] is True or any(expect["runError"] in e for e in errors)
    if expect.get("warns"):
        assert outcome.warnings
    if expect.get("noWarnings"):
        assert not outcome.warnings
    messages = [to_dict(message) for message in outcome.consumer.assembler.messages]
    if "messageCount" in expect:
        assert len(messages) == expect["messageCount"]
    if "messages" in expect:
        assert includes(messages, expect["messages"]), messages
    if "state" in expect:
        assert includes(outcome.consumer.assembler.state, expect["state"])


@pytest.mark.parametrize("how", ["whole", "frames", "bytes", "pieces 1", "pieces 2"])
@pytest.mark.parametrize(("path", "wire"), carriers())
def test_stream(path: Any, wire: str, how: str) -> None:
    if path.stem in IGNORED:
        pytest.skip(IGNORED[path.stem])
    case = load(path)
    sent = {"threadId": "t", "runId": "r", "messages": [], **case.get("input", {})}
    body = write_run_input(sent)
    run_input = read_run_input(body)
    frames = [frame(event, wire) for event in case["stream"]]
    outcome = consume(cuts(frames, how), WIRES[wire], run_input)
    check(case["expect"], outcome)
    request = msgspec.json.decode(body)
    assert includes(request, case["expect"].get("request", {}))
    for key in case["expect"].get("requestAbsentPaths", ()):
        assert key not in request


@pytest.mark.parametrize("path", [p for p in CASES if p.stem in UNCARRIED], ids=lambda p: p.stem)
def test_what_protobuf_cannot_carry_is_listed_for_a_reason(path: Any) -> None:
    case = load(path)
    try:
        frames = [frame(event, "protobuf") for event in case["stream"]]
    except Unwritable:
        return
    # What can be written must then read differently, or it does not belong on the list.
    outcome = consume(frames, WIRES["protobuf"])
    with pytest.raises(AssertionError):
        check(case["expect"], outcome)


def test_lists_name_streams_that_exist() -> None:
    assert {*UNCARRIED, *IGNORED} <= {path.stem for path in CASES}
