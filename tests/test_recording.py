"""Reading recorded bodies."""

from __future__ import annotations

import io
import json
import os
from typing import Any, BinaryIO, cast

import pytest

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE
from agui_wire._warnings import WarningLog
from agui_wire.errors import FrameTooLarge, MalformedFrame, StreamError, TruncatedStream
from agui_wire.recording import (
    JSON_LINES,
    Recorded,
    guess_wire,
    json_line,
    read_frames,
    read_recording,
)
from tests.conftest import wire_vectors
from tests.generators import EVENT_TYPES

EVENTS = [agui_wire.from_dict(vector["event"]) for vector in wire_vectors("events.jsonl")]
WIRES = (SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, JSON_LINES)


def written(event: Any, media_type: str) -> bytes:
    """An event as a recording has it."""
    if media_type == JSON_LINES:
        return json_line(event)
    return agui_wire.encode(event, media_type, lossy_int="round")


class Dripping(io.BytesIO):
    """Gives a byte at a time."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.read(1)


@pytest.mark.parametrize("media_type", WIRES)
def test_the_wire_of_every_event_is_guessed(media_type: str) -> None:
    assert {event.type.value for event in EVENTS} == set(EVENT_TYPES)
    for event in EVENTS:
        assert guess_wire(written(event, media_type)[:16]) == media_type, event


@pytest.mark.parametrize(
    ("start", "media_type"),
    [
        (b"data: {", SSE_MEDIA_TYPE),
        (b": ping\n\n", SSE_MEDIA_TYPE),
        (b"event: x\r\ndata: ", SSE_MEDIA_TYPE),
        (b"retry: 10\n", SSE_MEDIA_TYPE),
        (b"\r\ndata: {}", SSE_MEDIA_TYPE),
        (b"\xef\xbb\xbfdata: {}", SSE_MEDIA_TYPE),
        (b'{"type":"RUN_', JSON_LINES),
        (b'\n  {"type":', JSON_LINES),
        (b'\xef\xbb\xbf{"type":', JSON_LINES),
    ],
)
def test_text_is_guessed(start: bytes, media_type: str) -> None:
    assert guess_wire(start) == media_type


@pytest.mark.parametrize("media_type", WIRES)
@pytest.mark.parametrize("stream", [io.BytesIO, Dripping])
def test_offsets_sizes_and_events(media_type: str, stream: type[io.BytesIO]) -> None:
    parts = [written(event, media_type) for event in EVENTS[:20]]
    recorded = list(read_recording(stream(b"".join(parts))))
    assert [each.size for each in recorded] == [len(part) for part in parts]
    assert [each.offset for each in recorded] == [
        sum(map(len, parts[:index])) for index in range(20)
    ]
    wire = SSE_MEDIA_TYPE if media_type == JSON_LINES else media_type
    events = [event for each in recorded for event in each.events]
    if media_type == AGUI_MEDIA_TYPE:
        assert events == agui_wire.decode(b"".join(parts), wire)
    else:
        assert events == EVENTS[:20]


def line(number: int) -> bytes:
    """A JSON event."""
    return json.dumps({"type": "STEP_STARTED", "stepName": str(number)}).encode()


def test_loose_json_lines() -> None:
    body = b"\xef\xbb\xbf" + line(0) + b"\r\n\r\n" + line(1) + b"\n   \n" + line(2)
    recorded = list(read_recording(io.BytesIO(body)))
    assert [each.events[0].step_name for each in recorded] == ["0", "1", "2"]  # type: ignore[union-attr]
    assert [body[each.offset :].startswith(b'{"type"') for each in recorded] == [True] * 3


def test_an_empty_recording() -> None:
    assert list(read_recording(io.BytesIO())) == []
    assert list(read_recording(io.BytesIO(), SSE_MEDIA_TYPE)) == []


FAULTS = {
    "a cut line": (line(0) + b"\n" + line(1)[:-3], TruncatedStream, 1),
    "a bad line": (line(0) + b"\n" + line(1)[:-3] + b"\n" + line(2), MalformedFrame, 1),
    "a cut SSE event": (b"data: " + line(0) + b"\n\ndata: " + line(1)[:-3], TruncatedStream, 1),
    "a cut frame": (agui_wire.encode(EVENTS[0], AGUI_MEDIA_TYPE)[:-1], TruncatedStream, 0),
    "a huge length": (b"\x7f\xff\xff\xff\x00\x00", FrameTooLarge, 0),
    "a huge line": (line(0) + b"\n{" + b" " * (11 << 20), FrameTooLarge, 1),
}


@pytest.mark.parametrize(("body", "error", "index"), FAULTS.values(), ids=FAULTS)
def test_a_fault_comes_after_what_was_good(
    body: bytes, error: type[StreamError], index: int
) -> None:
    recorded: list[Recorded] = []
    with pytest.raises(error) as info:
        recorded += read_recording(io.BytesIO(body))
    assert len(recorded) == index
    assert type(info.value) is error
    assert info.value.event_index == index
    assert info.value.offset == sum(each.size for each in recorded)


def test_warnings() -> None:
    told: list[agui_wire.StreamWarning] = []
    body = b'{"type": "NEW"}\n' * 2 + line(0)
    recorded = list(read_recording(io.BytesIO(body), None, WarningLog(told.append)))
    assert [len(each.events) for each in recorded] == [0, 0, 1]
    assert [(w.kind, w.event_index, w.count) for w in told] == [
        ("unknown-event", 0, 1),
        ("unknown-event", 0, 2),
    ]


def test_a_pipe_is_read_as_it_is_written() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb", buffering=0) as sink:
        sink.write(line(0) + b"\n")
        wire, frames = read_frames(cast(BinaryIO, stream))
        assert wire == SSE_MEDIA_TYPE
        for number in range(1, 4):
            assert bytes(next(frames).payload) == line(number - 1)
            sink.write(line(number) + b"\n")


def test_json_keeps_half_a_character() -> None:
    half = agui_wire.events.TextMessageContentEvent(message_id="m", delta="\ud83d")
    assert json_line(half) == (
        b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\\ud83d"}\n'
    )
