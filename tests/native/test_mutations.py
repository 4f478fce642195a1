"""Mutated input on all three wires: the native engine sees and says what the pure one does.

50,000 inputs in the ordinary run; `pytest -m slow tests/native/test_mutations.py` reads a million
others.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    EventEncoder,
    StreamWarning,
    from_dict,
)
from agui_wire.codecs.protobuf import reference as codec
from agui_wire.errors import EncodeError
from tests.conftest import wire_vectors
from tests.generators import random_event
from tests.native.engines import build, outcome, sieve, without_native
from tests.native.mutation import framed, mutations
from tests.native.oddities import spoil, spoil_text, text_streams

SHARDS = 20
# Inputs of one shard, by wire.
PROTOBUF, TEXT = 30_000, 10_000
WRITTEN = 2_000
BATCH = 1_000

VECTORS = wire_vectors("events.jsonl") + wire_vectors("frames.jsonl")

Stream = tuple[list[bytes], dict[str, Any]]
"""Chunks, and the options of a decoder."""


def protobuf_inputs(count: int, seed: int) -> Iterator[bytes]:
    rng = Random(seed)
    payloads = [bytes.fromhex(vector["hex"]) for vector in VECTORS]
    payloads = [each for each in payloads if len(each) < 3000]
    payloads += [codec.encode_object(random_event(rng)) for _ in range(1500)]
    return mutations(payloads, count, seed)


def cut(stream: bytes, rng: Random) -> list[bytes]:
    cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.choice((0, 0, 0, 1, 3))))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)])]


def streams(shard: int) -> Iterator[Stream]:
    """One mutated input each, among others where the wire is text."""
    rng = Random(f"streams {shard}")
    for payload in protobuf_inputs(PROTOBUF, seed=shard):
        yield cut(framed(payload), rng), {"media_type": AGUI_MEDIA_TYPE}
    for stream in text_streams(rng, TEXT):
        yield cut(stream, rng), {"media_type": SSE_MEDIA_TYPE}
    encode = msgspec.msgpack.Encoder().encode
    payloads = [encode(random_event(rng)) for _ in range(500)]
    for _ in range(TEXT):
        stream = framed(spoil_text(rng.choice(payloads), rng))
        yield cut(stream, rng), {"media_type": MSGPACK_MEDIA_TYPE}


def batches(shard: int) -> Iterator[list[Stream]]:
    batch: list[Stream] = []
    for stream in streams(shard):
        batch.append(stream)
        if len(batch) == BATCH:
            yield batch
            batch = []
    yield batch


def check_reading(shard: int) -> None:
    for batch in batches(shard):
        seen = [outcome(build, chunks, **options) for chunks, options in batch]
        with without_native():
            expected = [outcome(build, chunks, **options) for chunks, options in batch]
        for stream, ours, theirs in zip(batch, seen, expected):
            assert ours == theirs, stream


def written(media_type: str, event: Any) -> Any:
    warnings: list[StreamWarning] = []
    try:
        return EventEncoder(media_type, on_warning=warnings.append).encode(event), warnings
    except EncodeError as error:
        return str(error), warnings


def check_writing(shard: int) -> None:
    rng = Random(f"events {shard}")
    events: list[Any] = [from_dict(random_event(rng)) for _ in range(WRITTEN)]
    for event in events:
        spoil(event, rng)
    for media_type in (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, MSGPACK_MEDIA_TYPE):
        seen = [written(media_type, event) for event in events]
        with without_native():
            expected = [written(media_type, copy.copy(event)) for event in events]
        for event, ours, theirs in zip(events, seen, expected):
            assert ours == theirs, event


def test_mutated_input_reads_alike() -> None:
    check_reading(0)


def test_spoiled_events_are_written_alike() -> None:
    check_writing(0)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_a_million_mutated_inputs(shard: int) -> None:
    check_reading(shard)
    check_writing(shard)


def test_the_mutations_are_not_too_wild() -> None:
    """Else most would be handed back, and what the native engine reads itself hardly be tried."""
    read = sieve()
    accepted = sum(read(framed(payload)) is not None for payload in protobuf_inputs(5000, seed=0))
    assert accepted > 250
