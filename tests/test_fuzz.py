"""Any bytes in any chunking: events or a documented error, the same as from one chunk."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_wire import Event, FrameReader, FrameTooLarge, StreamError, StreamWarning, to_dict
from agui_wire.codecs import WIRES as CODECS
from tests.generators import EVENT_TYPES, events, random_event
from tests.streams import (
    BINARY_WIRES,
    WIRES,
    Reading,
    as_json,
    frame,
    in_pieces,
    loose,
    prefixed,
    read,
    sse,
)

pytestmark = pytest.mark.usefixtures("engine")

each_wire = pytest.mark.parametrize("wire", WIRES)


def few(examples: int) -> Callable[[Any], Any]:
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


def check(wire: str, body: bytes, rng: Random, **options: Any) -> Reading:
    """Reads a body whole and in pieces; every reading is the same, and every event is one."""
    whole = read(wire, body, **options)
    positions = sorted(rng.randint(0, len(body)) for _ in range(rng.randint(0, 6)))
    cuts = [0, *positions, len(body)]
    pieces = [body[start:stop] for start, stop in itertools.pairwise(cuts)]
    for chunks in (pieces, in_pieces(body, 1), in_pieces(body, rng.randint(2, 9))):
        assert comparable(read(wire, chunks, **options)) == comparable(whole)
    for event in whole.events:
        assert isinstance(event, Event.__args__)  # type: ignore[attr-defined]
    return whole


def comparable(reading: Reading) -> tuple[str, Any, list[StreamWarning]]:
    # Read NaN-free, so that equal text is equal values; repr tells 1 from 1.0 and from True.
    return repr(reading.events), reading.refusal, reading.warnings


randoms = st.randoms(use_true_random=False)
pieces_of_text = st.sampled_from(
    [
        b"data:", b"data: ", b"data", b"\n", b"\r", b"\r\n", b"\n\n", b":", b"id: 1", b"retry: 5",
        b"event: x", b"\xef\xbb\xbf", b"{}", b"[", b"{", b"}", b'"', b"\\ud83d", b"null", b"\xff",
        b'{"type":"RUN_ERROR","message":"m"}', b'{"type":"TEXT_MESSAGE_END","messageId":"m"}',
        b'{"type":"FUTURE"}', b'{"type":"RUN_ERROR","message":5}', b"1e999", b"\xe2\x80\xa8",
    ]
)  # fmt: skip


@each_wire
@few(60)
@given(body=st.binary(max_size=80), rng=randoms)
def test_any_bytes(wire: str, body: bytes, rng: Random) -> None:
    check(wire, body, rng, max_frame_size=rng.choice((16, 40, 10_000)))


@few(150)
@given(parts=st.lists(pieces_of_text, max_size=16), rng=randoms)
def test_any_text(parts: list[bytes], rng: Random) -> None:
    check("sse", b"".join(parts), rng, max_frame_size=rng.choice((20, 60, 10_000)))


@pytest.mark.parametrize("wire", BINARY_WIRES)
@few(80)
@given(payload=st.binary(max_size=60), rng=randoms)
def test_any_payload(wire: str, payload: bytes, rng: Random) -> None:
    check(wire, prefixed(payload), rng)


def mutate(rng: Random, data: bytes) -> bytes:
    """A few small damages."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(out) + 1)
        action = rng.randrange(5)
        if action == 0 and place < len(out):
            out[place] ^= 1 << rng.randrange(8)
        elif action == 1:
            del out[place : place + rng.randint(1, 4)]
        elif action == 2:
            out[place:place] = rng.choice((b"\x00", b"\xff", b"\x0a", b"\x12", b"\r", b'"', b"{"))
        elif action == 3 and place < len(out):
            out[place] = rng.randrange(256)
        else:
            stop = min(len(out), place + rng.randint(1, 20))
            out[place:place] = out[place:stop]
    return bytes(out)


@each_wire
@few(60)
@given(rng=randoms)
def test_a_damaged_stream(wire: str, rng: Random) -> None:
    frames = [frame(wire, random_event(rng)) for _ in range(rng.randint(1, 3))]
    check(wire, mutate(rng, b"".join(frames)), rng)


@each_wire
@few(100)
@given(rng=randoms)
def test_a_damaged_payload_in_a_sound_frame(wire: str, rng: Random) -> None:
    payload = mutate(rng, CODECS[WIRES[wire]].encode_object(random_event(rng)))
    body = sse(payload) if wire == "sse" else prefixed(payload)
    whole = read(wire, body)
    assert comparable(read(wire, in_pieces(body, 7))) == comparable(whole)
    for event in whole.events:
        # What is read can be written, and reads back as itself.
        assert read(wire, frame(wire, event, surrogates="replace")).refusal is None


@few(100)
@given(rng=randoms, data=st.data())
def test_a_damaged_object_ends_alike_on_both_loose_wires(rng: Random, data: st.DataObject) -> None:
    """Values replaced by other JSON anywhere in an event: one verdict, one set of warnings."""
    obj = random_event(rng)
    for _ in range(rng.randint(1, 3)):
        damage(rng, obj)
    first, second = (read(wire, loose(wire, obj)) for wire in ("sse", "msgpack"))
    assert first.warnings == second.warnings
    assert [as_json(event) for event in first.dicts] == [as_json(event) for event in second.dicts]
    assert first.refusal == second.refusal


def damage(rng: Random, obj: Any) -> None:
    """Replaces, adds or removes one value somewhere inside."""
    while True:
        places: list[Any] = list(obj) if isinstance(obj, dict) else list(range(len(obj)))
        deeper = [place for place in places if isinstance(obj[place], (dict, list)) and obj[place]]
        if not deeper or rng.random() < 0.3:
            break
        obj = obj[rng.choice(deeper)]
    value = rng.choice((None, 0, -1, 1.5, 2.0, True, "", "future", [], {}, [None], {"type": "x"}))
    if isinstance(obj, list):
        obj.append(value)
    elif not places or rng.random() < 0.2:
        obj[rng.choice(("future", "type", "role", "op"))] = value
    elif rng.random() < 0.2:
        del obj[rng.choice(places)]
    else:
        obj[rng.choice(places)] = value


@each_wire
@few(40)
@given(rng=randoms, event=events())
def test_a_sound_event_in_any_chunking(wire: str, rng: Random, event: dict[str, Any]) -> None:
    reading = check(wire, frame(wire, event) * 2, rng)
    assert [as_json(item) for item in reading.dicts] == [as_json(event)] * 2
    assert (reading.refusal, reading.warnings) == (None, [])


@few(60)
@given(rng=randoms, ends=st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=2, max_size=9))
def test_any_mixture_of_line_ends(rng: Random, ends: list[bytes]) -> None:
    """Every line ends as it likes: the same events as with LF."""
    stream = [random_event(rng, name) for name in rng.choices(EVENT_TYPES, k=3)]
    lines: list[bytes] = []
    for event in stream:
        payload = msgspec.json.encode(event)
        noise = rng.choice(([], [b": ping"], [b"id: 1", b"retry"], [b"event: x"]))
        lines += [*noise, b"data: " + payload, b""]
    body = b""
    for line, end in zip(lines, itertools.cycle(ends)):
        # A CR and the LF of an empty line would be one CRLF.
        joined = not line and end == b"\n" and body.endswith(b"\r")
        body += line + (b"\r\n" if joined else end)
    assert check("sse", body, rng).dicts == stream


@pytest.mark.parametrize("wire", BINARY_WIRES)
@few(80)
@given(
    payloads=st.lists(st.binary(max_size=40), max_size=6), tail=st.binary(max_size=3), rng=randoms
)
def test_a_relay_writes_what_it_reads(
    wire: str, payloads: list[bytes], tail: bytes, rng: Random
) -> None:
    stream = b"".join(map(prefixed, payloads))
    reader = FrameReader(WIRES[wire])
    found: list[bytes] = []
    for chunk in in_pieces(stream + tail, rng.randint(1, 50)):
        found += [bytes(item) for item in reader.feed(chunk)]
    assert found == [prefixed(payload) for payload in payloads]
    assert b"".join(found) == stream
    if tail:
        with pytest.raises(StreamError):
            reader.close()
    else:
        assert reader.close() == []


@each_wire
@few(60)
@given(rng=randoms, limit=st.integers(0, 60))
def test_no_frame_passes_the_limit(wire: str, rng: Random, limit: int) -> None:
    sizes = [rng.randint(0, 50) for _ in range(4)]
    frames = [sse("x" * size) if wire == "sse" else prefixed(b"x" * size) for size in sizes]
    passing: list[bytes] = []
    for item in frames:
        if len(item) > limit:
            break
        passing.append(item)
    reader = FrameReader(WIRES[wire], max_frame_size=limit)
    found: list[bytes] = []
    error: StreamError | None = None
    try:
        for chunk in in_pieces(b"".join(frames), rng.randint(1, 99)):
            found += [bytes(item) for item in reader.feed(chunk)]
        reader.close()
    except FrameTooLarge as refusal:
        error = refusal
    assert found == passing
    assert (error is None) == (len(passing) == len(frames))
    if error is not None:
        assert error.event_index == len(passing)
        assert error.offset == sum(map(len, passing))


def test_events_are_what_they_were_read_from() -> None:
    """The dict of an event shares nothing with the bytes it came from."""
    body = bytearray(frame("msgpack", {"type": "STATE_SNAPSHOT", "snapshot": {"a": ["text"]}}))
    (event,) = read("msgpack", bytes(body)).events
    body[:] = bytes(len(body))
    assert to_dict(event) == {"type": "STATE_SNAPSHOT", "snapshot": {"a": ["text"]}}
