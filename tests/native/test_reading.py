"""The native engine reads what the reference engine reads, or leaves it to that."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from agui_wire import AGUI_MEDIA_TYPE, EventEncoder, StreamDecoder, from_dict, protobuf_engine
from agui_wire.codecs.protobuf import reference as codec
from agui_wire.errors import StreamError
from tests.conftest import wire_vectors
from tests.generators import EVENT_TYPES, random_event
from tests.native.engines import build, outcome, reference, sieve
from tests.native.mutation import framed, mutations

VECTORS = wire_vectors("events.jsonl") + wire_vectors("frames.jsonl")


def random_payloads(count: int, seed: int) -> list[bytes]:
    rng = Random(seed)
    return [codec.encode_object(random_event(rng)) for _ in range(count)]


def test_the_engine_that_runs_is_the_native_one() -> None:
    assert protobuf_engine() == "native"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_every_vector_at_every_split(vector: dict[str, Any]) -> None:
    payload = bytes.fromhex(vector["hex"])
    good = framed(codec.encode_object({"type": "STEP_STARTED", "stepName": "s"}))
    stream = good + framed(payload) + good
    step = max(1, len(stream) // 300)
    expected = outcome(reference, [stream])
    assert outcome(build, [stream]) == expected
    for cut in range(0, len(stream), step):
        chunks = [stream[:cut], stream[cut:]]
        assert outcome(build, chunks) == outcome(reference, chunks), cut
    bytewise = [stream[i : i + 1] for i in range(len(stream))]
    if len(stream) < 2000:
        assert outcome(build, bytewise) == outcome(reference, bytewise)


def test_what_is_canonical_is_not_handed_back() -> None:
    read = sieve()
    for event_type in EVENT_TYPES:
        rng = Random(event_type)
        for _ in range(50):
            frame = framed(codec.encode_object(random_event(rng, event_type)))
            events = read(frame)
            assert events is not None
            assert repr(events) == repr(reference(StreamDecoder, AGUI_MEDIA_TYPE).feed(frame))


def test_mutated_streams_end_alike() -> None:
    """Whole streams, in chunks: events, warnings, and the error's index and offset."""
    rng = Random(3)
    payloads = random_payloads(300, seed=4)
    frames = [framed(payload) for payload in payloads]
    odd = [framed(payload) for payload in mutations(payloads, 3000, seed=5)]
    for _ in range(300):
        stream = b"".join(rng.choice(odd if rng.random() < 0.1 else frames) for _ in range(12))
        if rng.random() < 0.3:
            stream = stream[: rng.randrange(len(stream))]
        cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.randrange(4)))
        chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)])]
        limit = rng.choice((10**7, 10**7, 300))
        depth = rng.choice((100, 100, 8, 4, 1))
        options = {"max_frame_size": limit, "max_depth": depth}
        assert outcome(build, chunks, **options) == outcome(reference, chunks, **options)


@pytest.mark.parametrize("depth", [3, 8, 12, 100, 150, 201, 400])
def test_depth_is_bounded_by_the_same_limit(depth: int) -> None:
    for levels in range(max(1, depth - 3), depth + 3):
        value: Any = []
        for _ in range(levels - 2):
            value = [value]
        frame = framed(codec.encode_object({"type": "CUSTOM", "name": "n", "value": value}))
        options = {"max_depth": depth}
        assert outcome(build, [frame], **options) == outcome(reference, [frame], **options)


def test_any_buffer_may_be_fed() -> None:
    event = from_dict({"type": "STEP_STARTED", "stepName": "s"})
    frame = EventEncoder(AGUI_MEDIA_TYPE).encode_binary(event)
    for data in (frame, bytearray(frame), memoryview(frame), memoryview(bytearray(frame * 2))[::1]):
        decoder = StreamDecoder(AGUI_MEDIA_TYPE)
        assert decoder.feed(data) == [event] * (len(data) // len(frame))
    spread = bytes(byte for each in frame for byte in (each, 0))
    assert StreamDecoder(AGUI_MEDIA_TYPE).feed(memoryview(spread)[::2]) == [event]


def test_a_length_is_refused_before_its_bytes_arrive() -> None:
    decoder = StreamDecoder(AGUI_MEDIA_TYPE, max_frame_size=100)
    with pytest.raises(StreamError, match="over the limit"):
        decoder.feed((97).to_bytes(4, "big"))


def test_ids_and_keys_that_come_again_are_one_object() -> None:
    event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "message-0001", "delta": "d"}
    frame = framed(codec.encode_object(event))
    first, second = StreamDecoder(AGUI_MEDIA_TYPE).feed(frame * 2)
    assert first.message_id is second.message_id  # type: ignore[union-attr]


def test_no_vector_of_an_event_is_handed_back() -> None:
    read = sieve()
    for vector in wire_vectors("events.jsonl"):
        assert read(framed(bytes.fromhex(vector["hex"]))) is not None, vector["name"]
