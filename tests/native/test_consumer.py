"""StreamConsumer over the native engine against the pure one: whole streams, good and broken."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from agui_wire import AGUI_MEDIA_TYPE, EncodeError, StreamConsumer, StreamError, StreamWarning
from tests.interop.run_generator import broken_stream, valid_stream
from tests.native.engines import reference
from tests.streams import WIRES, frame, loose, prefixed

STREAMS = 100

DELTAS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS")

# Frames that every codec refuses, or drops.
ODD = (prefixed(b"\xff"), prefixed(b""), prefixed(b"\x0a\x00\x12\x00"), b"\xff\xff\xff\xff")


def strayed(events: list[dict[str, Any]], rng: Random) -> list[dict[str, Any]]:
    """`events`, one delta of them followed by one like it that belongs elsewhere."""
    deltas = [at for at, event in enumerate(events) if event.get("type") in DELTAS]
    if not deltas:
        return events
    at = rng.choice(deltas)
    stray = {**events[at], rng.choice(("messageId", "toolCallId", "subagentRunId")): "elsewhere"}
    return [*events[: at + 1], stray, *events[at + 1 :]]


def body_of(wire: str, rng: Random) -> bytes:
    """The bytes of a random stream, now and then with a frame that is none."""
    frames: list[bytes] = []
    events = (broken_stream if rng.random() < 0.6 else valid_stream)(rng)
    for event in strayed(events, rng) if rng.random() < 0.5 else events:
        with suppress(EncodeError):  # protobuf has no bytes for some
            frames.append(frame(wire, event) if wire == "protobuf" else loose(wire, event))
    if rng.random() < 0.3:
        frames.insert(rng.randrange(len(frames) + 1), rng.choice(ODD))
    body = b"".join(frames)
    return body[: rng.randrange(len(body))] if rng.random() < 0.1 else body


def cut(body: bytes, rng: Random) -> list[bytes]:
    """`body` in pieces of random sizes, of the kind that one transport gives."""
    most = rng.choice((3, 40, 400, 100_000))
    pieces: list[bytes] = []
    while body:
        size = rng.randint(1, most)
        pieces.append(body[:size])
        body = body[size:]
    return pieces


def seen(make: Any, media_type: str, pieces: list[bytes]) -> Any:
    """Everything that a caller can see of a stream: after each piece, and in the end."""
    looked: list[Any] = []
    warnings: list[StreamWarning] = []
    consumer = make(StreamConsumer, media_type, on_warning=warnings.append)
    for step in (*pieces, None):
        try:
            events = consumer.close() if step is None else consumer.feed(step)
            looked.append(repr(events))
        except StreamError as error:
            looked.append((type(error), str(error), error.event_index, error.offset))
            looked.append(repr(getattr(error, "events", None)))
        looked.append(len(warnings))
    run = consumer.assembler
    looked.append(repr((run.messages, run.state, run.outcome, run.error, run.result)))
    return looked, warnings


@pytest.mark.parametrize("wire", WIRES)
def test_the_engines_consume_alike(wire: str) -> None:
    for seed in range(STREAMS):
        rng = Random(f"{wire} {seed}")
        pieces = cut(body_of(wire, rng), rng)
        native = seen(lambda cls, *args, **options: cls(*args, **options), WIRES[wire], pieces)
        assert native == seen(reference, WIRES[wire], pieces), f"seed {seed}"


def test_the_native_engine_is_what_reads() -> None:
    assert StreamConsumer(AGUI_MEDIA_TYPE)._native is not None
