"""The chunk-level readers of SSE and MessagePack see what the Python readers see."""

from __future__ import annotations

import logging
from random import Random
from typing import Any

import msgspec
import pytest

from agui_wire import MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE
from tests.generators import random_event
from tests.native.engines import outcome, reference
from tests.native.test_reading import build

# Pieces that SSE readers have to tell apart, and JSON that is nearly an event.
_SSE_PIECES = [
    *(b"\n", b"\n\n", b"\r\n", b"\r", b"\r\n\r\n", b"data:", b"data: ", b"data", b": ping\n\n"),
    *(b"event: x\n", b"\xef\xbb\xbf", b"id: 1\n", b"retry: 1\n\n", b"data: \n\n", b" ", b"{", b"}"),
    b'data: {"type":"STEP_STARTED","stepName":"a"} \n\n',
    b'data:{"type":"STEP_STARTED","stepName":"b"}\n\n',
    b'data: {"type":"STEP_STARTED",\ndata: "stepName":"c"}\n\n',
    b'data: {"type":"STEP_STARTED","stepName":"d"}{"type":"STEP_STARTED","stepName":"d"}\n\n',
    b'data: {"type":"REASONING_MESSAGE_START","messageId":"m"}\n\n',
    b'data: {"type":"THINKING_START","title":"t"}\n\ndata: {"type":"THINKING_END"}\n\n',
    b'data: {"type":"STEP_STARTED","stepName":"e","extra":1}\n\n',
    b'data: {"type":"STEP_STARTED","stepName":"e","timestamp":1.0}\n\n',
    b'data: {"type":"STEP_STARTED","stepName":"e","timestamp":null}\n\n',
    b'data: {"type":"NEW_EVENT"}\n\n',
    b'data: {"type":"STATE_DELTA","delta":[{"op":"add","path":"a","value":1}]}\n\n',
    b'data: {"type":"STATE_DELTA","delta":[{"op":"jump","path":"/a"}]}\n\n',
    b'data: {"type":"CUSTOM","name":"n","value":1e999}\n\n',
    b'data: {"type":"CUSTOM","name":"n","value":"\\ud83d"}\n\n',
    b'data: {"type":"CUSTOM","name":"n","value":' + b"[" * 99 + b"]" * 99 + b"}\n\n",
    b'data: {"type":"CUSTOM","name":"n","value":' + b"[" * 100 + b"]" * 100 + b"}\n\n",
    b'data: {"type":"STEP_STARTED","stepName":"\xff"}\n\n',
]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def pieces(stream: bytes, rng: Random) -> list[bytes]:
    if len(stream) < 400 and rng.random() < 0.2:
        return [stream[i : i + 1] for i in range(len(stream))]
    cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.randrange(5)))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)])]


def spoiled(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        if not changed:
            break
        place = rng.randrange(len(changed))
        if rng.random() < 0.5:
            changed[place] = rng.choice(b'"{}[]:,\\\n\r 019aeE-.\x00\x80\xc0\xff')
        else:
            del changed[place]
    return bytes(changed)


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
    encode = msgspec.json.Encoder().encode
    good = [b"data: " + encode(random_event(rng)) + b"\n\n" for _ in range(300)]
    for _ in range(2500):
        parts = [
            rng.choice(good) if rng.random() < 0.7 else rng.choice(_SSE_PIECES)
            for _ in range(rng.randrange(1, 8))
        ]
        stream = b"".join(parts)
        if rng.random() < 0.3:
            stream = spoiled(stream, rng)
        if rng.random() < 0.1:
            stream = stream.replace(b"\n", b"\r\n")
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
                payload = spoiled(payload, rng) + rng.choice((b"", b"\xc0"))
            parts.append(len(payload).to_bytes(4, "big") + payload)
        compare(MSGPACK_MEDIA_TYPE, b"".join(parts)[: rng.choice((None, None, -1, -3))], rng)
