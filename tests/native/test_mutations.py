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

# Parts of 10,000 inputs each: in the ordinary run, and in the job of its own.
FEW, MANY = 5, 100
# Inputs of one part, by wire.
PROTOBUF, TEXT = 6_000, 2_000
WRITTEN = 500
BATCH = 1_000

VECTORS = wire_vectors("events.jsonl") + wire_vectors("frames.jsonl")

Stream = tuple[list[bytes], dict[str, Any]]
"""Chunks, and the options of a decoder."""


def protobuf_inputs(count: int, seed: int) -> Iterator[bytes]:
    rng = Random(seed)
    payloads = [bytes.fromhex(vector["hex"]) for vector in VECTORS]
    payloads = [each for each in payloads if len(each) < 3000]
    payloads += [codec.encode_object(random_event(rng)) for _ in range(500)]
    return mutations(payloads, count, seed)


def cut(stream: bytes, rng: Random) -> list[bytes]:
    cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.choice((0, 0, 0, 1, 3))))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)])]


def streams(part: int) -> Iterator[Stream]:
    """One mutated input each, among others where the wire is text."""
    rng = Random(f"streams {part}")
    for payload in protobuf_inputs(PROTOBUF, seed=part):
        yield cut(framed(payload), rng), {"media_type": AGUI_MEDIA_TYPE}
    for stream in text_streams(rng, TEXT):
        yield cut(stream, rng), {"media_type": SSE_MEDIA_TYPE}
    encode = msgspec.msgpack.Encoder().encode
    payloads = [encode(random_event(rng)) for _ in range(500)]
    for _ in range(TEXT):
        stream = framed(spoil_text(rng.choice(payloads), rng))
        yield cut(stream, rng), {"media_type": MSGPACK_MEDIA_TYPE}


def batches(part: int) -> Iterator[list[Stream]]:
    batch: list[Stream] = []
    for stream in streams(part):
        batch.append(stream)
        if len(batch) == BATCH:
            yield batch
            batch = []
    yield batch


def check_reading(part: int) -> None:
    for batch in batches(part):
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


def check_writing(part: int) -> None:
    rng = Random(f"events {part}")
    events: list[Any] = [from_dict(random_event(rng)) for _ in range(WRITTEN)]
    for event in events:
        spoil(event, rng)
    for media_type in (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, MSGPACK_MEDIA_TYPE):
        seen = [written(media_type, event) for event in events]
        with without_native():
            expected = [written(media_type, copy.copy(event)) for event in events]
        for event, ours, theirs in zip(events, seen, expected):
            assert ours == theirs, event


@pytest.mark.parametrize("part", range(FEW))
def test_mutated_input_ends_alike(part: int) -> None:
    check_reading(part)
    check_writing(part)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(FEW, FEW + MANY))
def test_a_million_mutated_inputs_end_alike(part: int) -> None:
    check_reading(part)
    check_writing(part)


def test_the_mutations_are_not_too_wild() -> None:
    """Else most would be handed back, and what the native engine reads itself hardly be tried."""
    read = sieve()
    accepted = sum(read(framed(payload)) is not None for payload in protobuf_inputs(5000, seed=0))
    assert accepted > 250
