"""The chunk-level readers of SSE and MessagePack see what the Python readers see."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from agui_wire import MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE
from tests.generators import random_event
from tests.native.engines import build, outcome, reference
from tests.native.oddities import spoil_text, text_streams


def pieces(stream: bytes, rng: Random) -> list[bytes]:
    if len(stream) < 400 and rng.random() < 0.2:
        return [stream[i : i + 1] for i in range(len(stream))]
    cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.randrange(5)))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)])]


def compare(media_type: str, stream: bytes, rng: Random) -> None:
    chunks = pieces(stream, rng)
    options = {
        "media_type": media_type,
        "max_frame_size": rng.choice((10**7, 10**7, 10**7, 250)),
        "max_depth": rng.choice((100, 100, 100, 8, 3)),
    }
    assert outcome(build, chunks, **options) == outcome(reference, chunks, **options), chunks


def test_sse_streams_end_alike() -> None:
    rng = Random(21)
    for stream in text_streams(rng, 2500):
        compare(SSE_MEDIA_TYPE, stream, rng)


def test_msgpack_streams_end_alike() -> None:
    rng = Random(22)
    encode = msgspec.msgpack.Encoder().encode
    values = (float("nan"), b"x", {1: 2}, msgspec.msgpack.Ext(5, b"e"), 2**63, -(2**63), 1.0)
    odd: list[Any] = [{"type": "CUSTOM", "name": "n", "value": value} for value in values]
    odd += [
        {"type": "REASONING_MESSAGE_START", "messageId": "m"},
        {"type": "STEP_STARTED", "stepName": "s", "timestamp": 1.0},
        {"type": "STEP_STARTED", "stepName": "s", "more": None},
        *(1, [], {"type": 3}, {b"type": "RAW"}),
    ]
    payloads = [encode(random_event(rng)) for _ in range(300)]
    odd_payloads = [encode(value) for value in odd] + [b""]
    for _ in range(2500):
        parts = []
        for _ in range(rng.randrange(1, 8)):
            payload = rng.choice(payloads)
            if rng.random() < 0.15:
                payload = rng.choice(odd_payloads)
            elif rng.random() < 0.1:
                payload = spoil_text(payload, rng) + rng.choice((b"", b"\xc0"))
            parts.append(len(payload).to_bytes(4, "big") + payload)
        compare(MSGPACK_MEDIA_TYPE, b"".join(parts)[: rng.choice((None, None, -1, -3))], rng)
