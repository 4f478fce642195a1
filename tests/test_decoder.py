"""StreamDecoder: events and faults, depth, text, numbers, and one normal form for three wires."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from random import Random
from typing import Any

import msgspec
import pytest

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    DepthExceeded,
    FrameTooLarge,
    MalformedEvent,
    MalformedFrame,
    StreamDecoder,
    StreamError,
    TruncatedStream,
    decode,
    encode,
)
from agui_wire.events import StateSnapshotEvent, TextMessageContentEvent
from tests.generators import EVENT_TYPES, random_event
from tests.streams import (
    BINARY_WIRES,
    GOOD,
    LOOSE_WIRES,
    WIRES,
    frame,
    in_pieces,
    loose,
    nested,
    prefixed,
    read,
    sse,
    two_pieces,
)

pytestmark = pytest.mark.usefixtures("engine")

BAD = {"type": "TEXT_MESSAGE_CONTENT", "messageId": 12345, "delta": "x"}


def snapshot(json_text: str) -> bytes:
    return sse('{"type":"STATE_SNAPSHOT","snapshot":' + json_text + "}")


def snapshot_of(reading: Any) -> Any:
    (event,) = reading.events
    assert isinstance(event, StateSnapshotEvent)
    return event.snapshot


# What stands behind good frames, and what it is: name, wires, bytes, error, words of its message.
FAULTS: list[tuple[str, str, bytes, type[StreamError], str]] = [
    ("not JSON", "sse", sse('{"type":'), MalformedFrame, "no JSON"),
    ("not UTF-8", "sse", sse(b'{"type":"\xff"}'), MalformedFrame, "UTF-8"),
    ("NaN", "sse", snapshot("NaN"), MalformedFrame, "no JSON"),
    ("infinity", "sse", snapshot("-Infinity"), MalformedFrame, "no JSON"),
    ("a control character", "sse", snapshot('"\x01"'), MalformedFrame, "no JSON"),
    ("two values", "sse", sse("{} {}"), MalformedFrame, "no JSON"),
    ("a list", "sse", sse("[1]"), MalformedFrame, "JSON object"),
    ("a string", "sse", sse('"x"'), MalformedFrame, "JSON object"),
    ("white space", "sse", sse("  "), MalformedFrame, "no JSON"),
    ("a bad surrogate", "sse", snapshot(r'"\ud83d" x'), MalformedFrame, "no JSON"),
    ("no map", "msgpack", loose("msgpack", [1]), MalformedFrame, "a map"),
    ("nothing", "msgpack", prefixed(b""), MalformedFrame, "no MessagePack"),
    ("an unused byte", "msgpack", prefixed(b"\xc1"), MalformedFrame, "no MessagePack"),
    ("trailing bytes", "msgpack", prefixed(b"\x80\x80"), MalformedFrame, "no MessagePack"),
    ("text not UTF-8", "msgpack", prefixed(b"\x81\xa4type\xa1\xff"), MalformedFrame, "UTF-8"),
    ("binary", "msgpack", loose("msgpack", {**GOOD, "delta": b"x"}), MalformedEvent, "/delta"),
    ("binary in open JSON", "msgpack", loose("msgpack", {**GOOD, "rawEvent": [b"x"]}),
     MalformedEvent, "/rawEvent/0"),
    ("an extension", "msgpack", loose("msgpack", {**GOOD, "rawEvent": msgspec.msgpack.Ext(7, b"")}),
     MalformedEvent, "/rawEvent"),
    ("a key that is no text", "msgpack", loose("msgpack", {**GOOD, "metadata": {1: 2}}),
     MalformedEvent, "/metadata"),
    ("nothing", "protobuf", prefixed(b""), MalformedFrame, "no event"),
    ("text", "protobuf", prefixed(b"{}"), MalformedFrame, ""),
    ("no type", "sse", sse("{}"), MalformedEvent, "/type"),
    ("a type that is no text", "sse", sse('{"type":1}'), MalformedEvent, "/type"),
    ("a null type", "msgpack", loose("msgpack", {"type": None}), MalformedEvent, "/type"),
    ("a wrong field", "sse", loose("sse", BAD), MalformedEvent, "/messageId"),
    ("a wrong field", "msgpack", loose("msgpack", BAD), MalformedEvent, "/messageId"),
    ("too deep", "sse", nested("sse", 101), DepthExceeded, "100 levels"),
    ("too deep", "msgpack", nested("msgpack", 101), DepthExceeded, "100 levels"),
    ("too deep", "protobuf", nested("protobuf", 101), DepthExceeded, "100 levels"),
    ("too large", "sse", sse("x" * 2000), FrameTooLarge, "1000 bytes"),
    ("too large", "msgpack", b"\xff\xff\xff\xff", FrameTooLarge, "1000 bytes"),
    ("too large", "protobuf", b"\xff\xff\xff\xff", FrameTooLarge, "1000 bytes"),
    ("cut off", "sse", b'data: {"type":"RUN', TruncatedStream, "inside an event"),
    ("cut off in a character", "sse", b'data: {"a":"\xc3', TruncatedStream, "inside an event"),
    ("cut off before the data", "sse", b"data", TruncatedStream, "inside an event"),
    ("cut off", "msgpack", b"\x00\x00\x00\x09abc", TruncatedStream, "7 of 13 bytes"),
    ("cut off in the prefix", "protobuf", b"\x00\x00", TruncatedStream, "2 of 4 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("wire", "bad", "kind", "words"),
    [row[1:] for row in FAULTS],
    ids=[f"{row[1]}-{row[0]}" for row in FAULTS],
)
def test_events_before_a_fault_come_out_and_it_is_located(
    wire: str, bad: bytes, kind: type[StreamError], words: str
) -> None:
    good = frame(wire, GOOD)
    after = b"" if kind is TruncatedStream else good
    body = good + good + bad + after
    reading = read(wire, body, max_frame_size=1000)
    assert reading.dicts == [GOOD, GOOD]
    assert reading.refusal is not None
    assert reading.refusal.kind is kind
    assert words in reading.refusal.text
    assert reading.refusal[2:] == (2, 2 * len(good))
    assert read(wire, in_pieces(body, 1), max_frame_size=1000) == reading
    for chunks in two_pieces(body[: len(good) * 2 + 600]):
        if len(body) <= len(good) * 2 + 600:
            assert read(wire, chunks, max_frame_size=1000) == reading


@pytest.mark.parametrize("wire", WIRES)
def test_a_fault_waits_only_for_events_to_return(wire: str) -> None:
    bad = loose(wire, BAD) if wire in LOOSE_WIRES else prefixed(b"{}")
    decoder = StreamDecoder(WIRES[wire])
    assert len(decoder.feed(frame(wire, GOOD) + bad)) == 1
    with pytest.raises(MalformedEvent):
        decoder.feed(b"")
    with pytest.raises(MalformedEvent):
        StreamDecoder(WIRES[wire]).feed(bad)


def test_a_dropped_event_is_nothing_to_return() -> None:
    decoder = StreamDecoder(MSGPACK_MEDIA_TYPE)
    with pytest.raises(FrameTooLarge):
        decoder.feed(loose("msgpack", {"type": "FUTURE"}) + b"\xff\xff\xff\xff")


def test_a_fault_stays_what_it_was_when_the_stream_is_closed() -> None:
    decoder = StreamDecoder(SSE_MEDIA_TYPE)
    assert len(decoder.feed(frame("sse", GOOD) + sse("no JSON"))) == 1
    with pytest.raises(MalformedFrame, match="no JSON"):
        decoder.close()


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r\n", b"\r\r"])
def test_an_sse_fault_has_its_offset_for_any_line_ends_and_cuts(end: bytes) -> None:
    good = frame("sse", GOOD)[:-2] + end
    body = good + good + b"data: no JSON" + end
    for chunks in two_pieces(body):
        refusal = read("sse", chunks).refusal
        assert refusal is not None
        assert refusal[2:] == (2, 2 * len(good))


def test_a_last_event_that_is_bad_stays_bad() -> None:
    """It is read when the stream is closed, and the fault outlasts that."""
    for bad, kind in ((loose("sse", BAD), MalformedEvent), (nested("sse", 101), DepthExceeded)):
        refusal = read("sse", frame("sse", GOOD) + bad[:-2]).refusal
        assert refusal is not None
        assert refusal.kind is kind
        assert refusal.event_index == 1


@pytest.mark.parametrize("wire", WIRES)
def test_decode_raises_where_a_body_is_bad(wire: str) -> None:
    body = frame(wire, GOOD) * 2
    assert len(decode(body, WIRES[wire])) == 2
    with pytest.raises(TruncatedStream):
        decode(body[:-3] if wire != "sse" else body[:-9], WIRES[wire])


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_can_be_fed(wire: str, kind: Any) -> None:
    body = frame(wire, GOOD)
    (event,) = StreamDecoder(WIRES[wire]).feed(kind(body))
    assert event == TextMessageContentEvent(message_id="m", delta="good")


def test_the_content_type_alone_chooses_the_wire() -> None:
    for content_type in ("text/event-stream; charset=utf-8", "TEXT/EVENT-STREAM"):
        assert len(decode(frame("sse", GOOD), content_type)) == 1
    for content_type in (AGUI_MEDIA_TYPE.upper(), AGUI_MEDIA_TYPE + "; charset=utf-8"):
        assert len(decode(frame("protobuf", GOOD), content_type)) == 1
    with pytest.raises(ValueError, match="no AG-UI wire"):
        StreamDecoder("text/html")


@pytest.mark.parametrize("wire", BINARY_WIRES)
@pytest.mark.parametrize(
    "text",
    [
        b"data: {}\n\n", b'{"error": "x"}', b"<html>", b"event: x\n", b": ping\n\n", b"id: 1\n",
        b"retry: 1\n", b"HTTP/1.1 200 OK", b"\xef\xbb\xbfdata: {}", b"{}", b"<p", b"d",
    ],
)  # fmt: skip
def test_text_sent_as_binary_is_recognised(wire: str, text: bytes) -> None:
    for chunks in (text, in_pieces(text, 1)):
        refusal = read(wire, chunks).refusal
        assert refusal is not None
        assert "text" in refusal.text
        assert refusal.kind is (TruncatedStream if len(text) < 4 else FrameTooLarge)
    # Later in a stream it is what it is.
    refusal = read(wire, frame(wire, GOOD) + b"data: {}\n\n").refusal
    assert refusal is not None
    assert "text" not in refusal.text


@pytest.mark.parametrize("cut", range(1, len(frame("sse", GOOD))))
def test_an_sse_stream_cut_anywhere_loses_nothing_in_silence(cut: int) -> None:
    """A last event is read if its JSON is whole; otherwise the stream is truncated."""
    event = frame("sse", GOOD)
    reading = read("sse", event + event[:cut])
    if cut >= len(event) - 2:
        assert (reading.dicts, reading.refusal) == ([GOOD, GOOD], None)
    else:
        assert reading.dicts == [GOOD]
        assert reading.refusal is not None
        assert reading.refusal.kind is TruncatedStream
        assert reading.refusal[2:] == (1, len(event))


def test_empty_sse_data_is_skipped_with_a_warning() -> None:
    body = b"data:\n\n" + frame("sse", GOOD) + b"data: \r\n\r\ndata\n\n" + frame("sse", GOOD)
    reading = read("sse", body)
    assert reading.dicts == [GOOD, GOOD]
    assert [(w.kind, w.event_index, w.count) for w in reading.warnings] == [
        ("empty-data", 0, 1),
        ("empty-data", 0, 3),
    ]
    assert read("sse", in_pieces(body, 1)) == reading


def test_json_may_span_several_data_lines() -> None:
    text = json.dumps(GOOD, indent=1)
    body = "".join(f"data:{line}\r\n" for line in text.split("\n")).encode() + b"\r\n"
    assert read("sse", body).dicts == [GOOD]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("levels", [3, 60, 99, 100])
def test_json_is_read_to_a_hundred_levels(wire: str, levels: int) -> None:
    value = snapshot_of(read(wire, nested(wire, levels)))
    depth = 1
    while value:
        (value,) = value
        depth += 1
    assert depth == levels - 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("levels", [101, 250, 1100, 5000, 100_000])
def test_deeper_json_is_refused_in_the_same_words_on_every_wire(wire: str, levels: int) -> None:
    refusal = read(wire, nested(wire, levels)).refusal
    assert refusal is not None
    assert refusal.kind is DepthExceeded
    assert refusal.text == "JSON is nested deeper than 100 levels (event 0, byte 0)"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("max_depth", [2, 3, 40, 300])
def test_the_depth_limit_is_settable(wire: str, max_depth: int) -> None:
    assert read(wire, nested(wire, max_depth), max_depth=max_depth).refusal is None
    refusal = read(wire, nested(wire, max_depth + 1), max_depth=max_depth).refusal
    assert refusal is not None
    assert refusal.kind is DepthExceeded
    assert f"{max_depth} levels" in refusal.text


@pytest.mark.parametrize("wire", WIRES)
def test_a_depth_limit_past_what_python_can_nest(wire: str) -> None:
    for levels in (*range(470, 500), *range(950, 1000)):
        refusal = read(wire, nested(wire, levels), max_depth=5000).refusal
        assert refusal is None or refusal.kind is DepthExceeded
    refusal = read(wire, nested(wire, 5001), max_depth=5000).refusal
    assert refusal is not None
    assert refusal.kind is DepthExceeded


def test_depth_counts_where_the_strict_decode_does_not_come_to() -> None:
    deep = "[" * 100 + "]" * 100
    for text in (
        f'{{"type":"FUTURE","x":{deep}}}',
        f'{{"type":"TEXT_MESSAGE_END","messageId":"m","extra":{deep}}}',
        f'{{"type":"TEXT_MESSAGE_END","messageId":"\\ud83d","rawEvent":{deep}}}',
        f'{{"type":"TEXT_MESSAGE_END","messageId":"m","metadata":{{"a":{deep[2:-2]}}}}}',
    ):
        levels = 100 if "metadata" in text else 101
        refusal = read("sse", sse(text), max_depth=levels - 1).refusal
        assert refusal is not None
        assert refusal.kind is DepthExceeded
        assert read("sse", sse(text), max_depth=levels).refusal is None


HOSTILE = """
import resource, sys
from agui_wire import MSGPACK_MEDIA_TYPE, MalformedFrame, decode
head = b"\\x82\\xa4type\\xaeSTATE_SNAPSHOT\\xa8snapshot"
decode((len(head) + 1).to_bytes(4, "big") + head + b"\\x01", MSGPACK_MEDIA_TYPE)
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
limit = 256 * 1024 * 1024
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for code in ("dd7fffffff", "df7fffffff", "db7fffffff", "c67fffffff", "c97fffffff01", "ddffffffff"):
    claim = bytes.fromhex(code)
    for payload in (head + claim, claim, head + b"\\xdc\\xff\\xff" * 500 + claim):
        try:
            decode(len(payload).to_bytes(4, "big") + payload, MSGPACK_MEDIA_TYPE)
        except MalformedFrame:
            continue
        sys.exit(f"{code} was read")
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - used
sys.exit(grown > 16 * 1024 * 1024 and f"grew by {grown} bytes")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_msgpack_that_claims_more_than_it_holds_allocates_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", HOSTILE], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_escaped_surrogates_are_read() -> None:
    high, low = r'"\ud83d"', r'"\ude00"'
    assert snapshot_of(read("sse", snapshot(high))) == "\ud83d"
    assert snapshot_of(read("sse", snapshot(f"{{{low}:[{high},{low}]}}"))) == {
        "\ude00": ["\ud83d", "\ude00"]
    }
    assert snapshot_of(read("sse", snapshot(r'"\ud83d\ude00"'))) == "\U0001f600"
    reading = read("sse", sse(f'{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":{high}}}'))
    assert reading.events == [TextMessageContentEvent(message_id="m", delta="\ud83d")]
    assert reading.warnings == []


@pytest.mark.parametrize("form", ["\u2028", "\u2029", "\x85", "\x7f", "é", "漢", "\U0001f600"])
def test_text_is_cut_nowhere(form: str) -> None:
    event = {**GOOD, "delta": f"a{form}b"}
    body = sse(json.dumps(event, ensure_ascii=False)) * 2
    for chunks in two_pieces(body):
        assert read("sse", chunks).dicts == [event, event]


NUMBERS: list[tuple[str, Any]] = [
    ("1", 1),
    ("1.0", 1.0),
    ("-0", 0),
    ("0.1", 0.1),
    ("5e-324", 5e-324),
    ("1e22", 1e22),
    (str(2**53 + 1), 2**53 + 1),
    (str(2**63), 2**63),
    (str(2**64), 2**64),
    (str(-(2**63) - 1), -(2**63) - 1),
    ("9" * 400, int("9" * 400)),
    ("1e999", None),
    ("-1e999", None),
]


@pytest.mark.parametrize(("text", "value"), NUMBERS, ids=[row[0][:24] for row in NUMBERS])
def test_json_numbers(text: str, value: Any) -> None:
    reading = read("sse", snapshot(text))
    found = snapshot_of(reading)
    assert (found, type(found)) == (value, type(value))
    assert reading.kinds == (["non-finite"] if value is None else [])
    if value is not None and -(2**63) <= value < 2**64:
        assert snapshot_of(read("msgpack", frame("msgpack", reading.events[0]))) == value


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (1.0, 1),
        (-3.0, -3),
        (0.5, 0.5),
        (2.0**53, 2**53),
        (-(2.0**53), -(2**53)),
        (2.0**53 + 2, 2.0**53 + 2),
        (1e300, 1e300),
        (-0.0, -0.0),
        (5e-324, 5e-324),
    ],
)
def test_protobuf_numbers_are_integers_where_a_double_counts(number: float, value: Any) -> None:
    body = frame("protobuf", {"type": "STATE_SNAPSHOT", "snapshot": number})
    assert repr(snapshot_of(read("protobuf", body))) == repr(value)


@pytest.mark.parametrize("wire", BINARY_WIRES)
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_has_not_reads_as_null(wire: str, number: float) -> None:
    if wire == "msgpack":
        body = loose(wire, {"type": "STATE_SNAPSHOT", "snapshot": {"a": [number]}})
    else:
        body = frame(wire, {"type": "STATE_SNAPSHOT", "snapshot": {"a": [0.1]}})
        was, now = (msgspec.msgpack.encode(item)[1:][::-1] for item in (0.1, number))
        body = body.replace(was, now)
    reading = read(wire, body)
    assert snapshot_of(reading) == {"a": [None]}
    assert [(w.kind, w.path) for w in reading.warnings] == [("non-finite", "/snapshot/a/0")]


def test_a_patch_is_warned_about_once_per_reading() -> None:
    """The tolerant path does not decode, and warn, a second time."""
    body = loose("msgpack", {"type": "STATE_DELTA", "delta": [
        {"op": "add", "path": "/a", "value": math.nan}, {"op": "future", "path": "/a"},
    ]})  # fmt: skip
    reading = read("msgpack", body)
    assert reading.kinds == ["non-finite", "unknown-member"]
    assert reading.dicts == [
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": None}]}
    ]


RUN: dict[str, Any] = {"threadId": "t", "runId": "r"}
NO_LISTS: dict[str, Any] = {"tools": [], "context": [], "resume": []}
EMPTY_CALLS = [{"id": "a", "role": "assistant", "toolCalls": []}]

# An event as it may be written, and its one form after decoding.
NORMAL_FORMS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"type": "MESSAGES_SNAPSHOT", "messages": EMPTY_CALLS},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "a", "role": "assistant"}]},
    ),
    ({"type": "RUN_ERROR", "message": "m", "usage": []}, {"type": "RUN_ERROR", "message": "m"}),
    (
        {**RUN, "type": "RUN_FINISHED", "outcome": {"type": "success", "pendingToolCallIds": []}},
        {**RUN, "type": "RUN_FINISHED", "outcome": {"type": "success"}},
    ),
    (
        {
            "type": "SUBAGENT_FINISHED",
            "subagentRunId": "s",
            "outcome": {"type": "suspended", "interruptIds": []},
        },
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "suspended"}},
    ),
    (
        {**RUN, "type": "RUN_STARTED", "input": {**RUN, "messages": []}},
        {**RUN, "type": "RUN_STARTED", "input": {**RUN, "messages": [], **NO_LISTS}},
    ),
    ({**GOOD, "timestamp": 1790000000000.0}, {**GOOD, "timestamp": 1790000000000}),
    ({**GOOD, "delta": ""}, {**GOOD, "delta": ""}),
    ({"type": "STATE_DELTA", "delta": []}, {"type": "STATE_DELTA", "delta": []}),
    ({"type": "MESSAGES_SNAPSHOT", "messages": []}, {"type": "MESSAGES_SNAPSHOT", "messages": []}),
    ({**GOOD, "metadata": {}}, {**GOOD, "metadata": {}}),
    ({"type": "STATE_SNAPSHOT", "snapshot": None}, {"type": "STATE_SNAPSHOT", "snapshot": None}),
]


@pytest.mark.parametrize(("written", "normal"), NORMAL_FORMS)
def test_one_normal_form(written: dict[str, Any], normal: dict[str, Any]) -> None:
    bodies = [(wire, loose(wire, written)) for wire in LOOSE_WIRES]
    bodies.append(("protobuf", frame("protobuf", written)))
    for wire, body in bodies:
        reading = read(wire, body)
        assert reading.dicts == [normal]
        assert repr(reading.events) == repr(decode(frame("sse", normal), SSE_MEDIA_TYPE))
        assert reading.warnings == []


def test_the_same_stream_reads_the_same_on_every_wire() -> None:
    rng = Random(7)
    stream = [random_event(rng, name) for name in EVENT_TYPES for _ in range(6)]
    readings = {
        wire: read(wire, b"".join(encode(event, media_type) for event in stream))
        for wire, media_type in WIRES.items()
    }
    assert readings["sse"].refusal is None
    assert readings["sse"].warnings == []
    assert readings["sse"] == readings["msgpack"] == readings["protobuf"]
    assert readings["sse"].dicts == stream
