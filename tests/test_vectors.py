"""The wire vectors, both ways, on every wire and in every chunking."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from agui_wire import (
    AGUI_MEDIA_TYPE,
    DepthExceeded,
    FrameReader,
    MalformedEvent,
    MalformedFrame,
    decode,
    from_dict,
    to_dict,
)
from agui_wire.codecs.protobuf import decode_object
from tests.conftest import wire_vectors
from tests.streams import (
    BINARY_WIRES,
    GOOD,
    WIRES,
    as_json,
    frame,
    in_pieces,
    prefixed,
    read,
    refusal_of,
    two_pieces,
)

pytestmark = pytest.mark.usefixtures("engine")

EVENTS = wire_vectors("events.jsonl")
FRAMES = wire_vectors("frames.jsonl")
Vector = dict[str, Any]

each_event = pytest.mark.parametrize("vector", EVENTS, ids=[v["name"] for v in EVENTS])
each_frame = pytest.mark.parametrize("vector", FRAMES, ids=[v["name"] for v in FRAMES])


def expected(vector: Vector) -> str:
    return as_json(vector.get("decoded", vector["event"]))


@each_event
def test_encoding_an_event_gives_the_published_bytes(vector: Vector) -> None:
    assert frame("protobuf", vector["event"])[4:].hex() == vector["hex"]


@each_event
def test_encoding_the_struct_gives_the_published_bytes(vector: Vector) -> None:
    (event,) = decode(frame("sse", vector["event"]), WIRES["sse"])
    again = decode(frame("protobuf", event), AGUI_MEDIA_TYPE)
    assert [as_json(to_dict(item)) for item in again] == [expected(vector)]


@each_event
def test_decoding_the_published_bytes_gives_the_event(vector: Vector) -> None:
    body = prefixed(bytes.fromhex(vector["hex"]))
    reading = read("protobuf", body)
    assert reading.refusal is None
    assert reading.warnings == []
    assert [as_json(event) for event in reading.dicts] == [expected(vector)]


@each_event
def test_three_wires_give_equal_events(vector: Vector) -> None:
    published = decode(prefixed(bytes.fromhex(vector["hex"])), AGUI_MEDIA_TYPE)
    for wire, media_type in WIRES.items():
        assert decode(frame(wire, vector["event"]), media_type) == published


@each_event
def test_any_chunking_gives_the_same_events(vector: Vector) -> None:
    for wire in WIRES:
        body = frame(wire, GOOD) + frame(wire, vector["event"]) + frame(wire, GOOD)
        whole = read(wire, body)
        assert len(whole.events) == 3
        for size in (1, 3, 64):
            assert read(wire, in_pieces(body, size)) == whole


@pytest.mark.parametrize("wire", WIRES)
def test_frames_are_the_same_wherever_the_stream_is_cut(wire: str) -> None:
    for vector in EVENTS[:: len(EVENTS) // 60]:
        frames = [frame(wire, GOOD), frame(wire, vector["event"])]
        for chunks in two_pieces(b"".join(frames)):
            reader = FrameReader(WIRES[wire])
            found = [bytes(item) for chunk in chunks for item in reader.feed(chunk)]
            assert found + reader.close() == frames


@each_event
def test_a_payload_cut_short_is_malformed(vector: Vector) -> None:
    """A proper start of a payload is no payload, even in a frame of the right size."""
    for wire in BINARY_WIRES:
        payload = frame(wire, vector["event"])[4:]
        for stop in range(0, len(payload), 1 + len(payload) // 16):
            reading = read(wire, prefixed(payload[:stop]))
            assert reading.refusal is not None
            assert issubclass(reading.refusal.kind, MalformedEvent)


@each_frame
def test_a_frame_decodes_to_its_json_object(vector: Vector) -> None:
    payload = bytes.fromhex(vector["hex"])
    if vector["verdict"] == "decodes":
        assert as_json(decode_object(payload)) == as_json(vector["decoded"])
    elif vector["verdict"] == "unknown-event":
        assert decode_object(payload) is None
    else:
        with pytest.raises(MalformedEvent):
            decode_object(payload)


MALFORMED = [v for v in FRAMES if v["verdict"] == "malformed"]


@pytest.mark.parametrize("vector", MALFORMED, ids=[v["name"] for v in MALFORMED])
def test_a_malformed_frame_ends_the_stream_at_its_place(vector: Vector) -> None:
    good = frame("protobuf", GOOD)
    bad = prefixed(bytes.fromhex(vector["hex"]))
    reading = read("protobuf", good + good + bad + good)
    assert reading.dicts == [GOOD, GOOD]
    assert reading.refusal is not None
    deep = "depth" in vector["name"]
    assert issubclass(reading.refusal.kind, DepthExceeded if deep else MalformedEvent)
    assert reading.refusal.event_index == 2
    assert reading.refusal.offset == 2 * len(good)
    short = good + bad[:300] if len(bad) > 1000 else good + bad
    once = read("protobuf", short)
    assert read("protobuf", in_pieces(short, 1)) == once
    for chunks in two_pieces(short):
        assert read("protobuf", chunks) == once


class MalformedAt(NamedTuple):
    """The path of an event that enforcement refuses."""

    path: str


FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
NO_MESSAGES: dict[str, Any] = {"type": "MESSAGES_SNAPSHOT", "messages": []}
MINIMAL_INPUT = {
    "threadId": "t",
    "runId": "r",
    "messages": [],
    "tools": [],
    "context": [],
    "resume": [],
}

# What a frame of frames.jsonl is after enforcement, where that is not its `decoded`.
ENFORCED: dict[str, Vector | MalformedAt] = {
    "snapshot-value-absent": MalformedAt("/snapshot"),
    "snapshot-value-empty-message": MalformedAt("/snapshot"),
    "patch-unknown-op": {
        "type": "STATE_DELTA",
        "delta": [{"op": "add", "path": "/b", "value": 1}],
    },
    "outcome-unknown": FINISHED,
    "outcome-absent-with-interrupts": FINISHED,
    "outcome-interrupt-empty": MalformedAt("/outcome/interrupts"),
    "outcome-success-with-interrupts": {**FINISHED, "outcome": {"type": "success"}},
    "message-unknown-role": NO_MESSAGES,
    "message-activity-no-content": MalformedAt("/messages/0/content"),
    "message-user-image-no-source": MalformedAt("/messages/0/content/0/source"),
    "message-toolcall-no-function": MalformedAt("/messages/0/toolCalls/0/function"),
    "run-started-input-unknown-role": {
        "type": "RUN_STARTED",
        "threadId": "t",
        "runId": "r",
        "input": MINIMAL_INPUT,
    },
    "activity-snapshot-no-content": MalformedAt("/content"),
    "custom-no-value": MalformedAt("/value"),
    "usage-negative-count": MalformedAt("/usage/0/inputTokens"),
}

WARNED = {
    "snapshot-nan": ["non-finite"],
    "snapshot-inf": ["non-finite"],
    "patch-unknown-op": ["unknown-member"],
    "outcome-unknown": ["unknown-member"],
    "outcome-absent-with-interrupts": ["unknown-property"],
    "outcome-success-with-interrupts": ["unknown-property"],
    "message-unknown-role": ["unknown-member"],
    "message-user-empty-part": ["unknown-member"],
    "message-user-future-part": ["unknown-member"],
    "message-user-image-empty-source": ["unknown-member"],
    "run-started-input-unknown-role": ["unknown-member"],
}

DECODES = [v for v in FRAMES if v["verdict"] == "decodes"]


@pytest.mark.parametrize("vector", DECODES, ids=[v["name"] for v in DECODES])
def test_a_frame_after_enforcement(vector: Vector) -> None:
    name = vector["name"]
    body = prefixed(bytes.fromhex(vector["hex"]))
    wanted: Vector | MalformedAt = ENFORCED.get(name) or vector["decoded"]
    good = frame("protobuf", GOOD)
    reading = read("protobuf", good + body + good)
    if isinstance(wanted, MalformedAt):
        assert reading.dicts == [GOOD]
        assert reading.refusal is not None
        assert reading.refusal[2:] == (1, len(good))
        with pytest.raises(MalformedEvent) as info:
            decode(body, AGUI_MEDIA_TYPE)
        assert info.value.path == wanted.path
        assert reading.kinds == []
    else:
        assert as_json(reading.dicts) == as_json([GOOD, wanted, GOOD])
        assert reading.kinds == WARNED.get(name, [])
        assert decode(body, AGUI_MEDIA_TYPE) == [from_dict(wanted)]
    for size in (1, 5):
        assert read("protobuf", in_pieces(good + body + good, size)) == reading


def test_every_table_names_frames_that_exist() -> None:
    names = {vector["name"] for vector in DECODES}
    assert ENFORCED.keys() <= names
    assert WARNED.keys() <= names


def test_an_event_of_a_newer_protocol_is_dropped_with_one_warning_per_kind() -> None:
    (vector,) = [v for v in FRAMES if v["verdict"] == "unknown-event"]
    good = frame("protobuf", GOOD)
    future = prefixed(bytes.fromhex(vector["hex"]))
    other = prefixed(bytes.fromhex("a2060412027a7a"))
    body = good + future + future + other + good
    reading = read("protobuf", body)
    assert reading.dicts == [GOOD, GOOD]
    assert reading.refusal is None
    first, second, summary = reading.warnings
    assert (first.kind, first.event_index, first.count) == ("unknown-event", 1, 1)
    assert (second.kind, second.event_index, second.count) == ("unknown-event", 3, 1)
    assert "99" in first.message
    assert "100" in second.message
    assert (summary.message, summary.count) == (first.message, 2)
    for chunks in two_pieces(body):
        assert read("protobuf", chunks) == reading


def test_a_malformed_frame_says_so_before_it_is_located() -> None:
    with pytest.raises(MalformedFrame) as info:
        decode_object(b"")
    assert refusal_of(info.value)[2:] == (None, None)
