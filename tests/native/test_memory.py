"""Nothing leaks, and the collector sees what it has to see."""

from __future__ import annotations

import contextlib
import copy
import gc
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, EventEncoder, StreamDecoder, from_dict
from agui_wire import events as ev
from agui_wire.codecs.protobuf import reference as codec
from agui_wire.errors import AguiWireError
from tests.generators import random_event
from tests.native.engines import ENGINE
from tests.native.mutation import framed, mutations
from tests.native.oddities import spoil

_RNG = Random(11)
_OBJECTS = [random_event(_RNG) for _ in range(150)]
_FRAMES = [framed(codec.encode_object(obj)) for obj in _OBJECTS]
_ODD = [framed(payload) for payload in mutations([f[4:] for f in _FRAMES], 200, seed=12)]


def decode_all() -> None:
    decoder = StreamDecoder(AGUI_MEDIA_TYPE)
    stream = b"".join(_FRAMES)
    for start in range(0, len(stream), 4000):
        decoder.feed(stream[start : start + 4000])
    decoder.close()


def decode_odd() -> None:
    for frame in _ODD:
        with contextlib.suppress(AguiWireError):
            StreamDecoder(AGUI_MEDIA_TYPE).feed(frame)


def encode_all() -> None:
    events = [from_dict(obj) for obj in _OBJECTS]
    for media_type in (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE):
        encoder = EventEncoder(media_type)
        encoder.encode_many(events)
        for event in events:
            encoder.encode(event)


def encode_odd() -> None:
    rng = Random(13)
    encoder = EventEncoder(AGUI_MEDIA_TYPE)
    for obj in _OBJECTS:
        event = from_dict(copy.deepcopy(obj))
        spoil(event, rng)
        with contextlib.suppress(AguiWireError):
            encoder.encode(event)


@pytest.mark.parametrize("work", [decode_all, decode_odd, encode_all, encode_odd])
def test_200_rounds_leave_nothing_behind(work: Callable[[], None]) -> None:
    for _ in range(5):
        work()
    gc.collect()
    before, blocks = len(gc.get_objects()), sys.getallocatedblocks()
    tracemalloc.start()
    work()
    gc.collect()
    first = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    for _ in range(200 if work in (decode_all, encode_all) else 40):
        work()
    gc.collect()
    assert len(gc.get_objects()) - before < 50
    assert sys.getallocatedblocks() - blocks < 500
    tracemalloc.start()
    work()
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] - first < 20_000
    tracemalloc.stop()


@pytest.mark.parametrize("obj", _OBJECTS, ids=lambda obj: obj["type"])
def test_decoded_events_are_tracked_as_constructed_ones_are(obj: dict[str, Any]) -> None:
    (decoded,) = StreamDecoder(AGUI_MEDIA_TYPE).feed(framed(codec.encode_object(obj)))
    values = {name: getattr(decoded, name) for name in decoded.__struct_fields__}
    assert gc.is_tracked(decoded) == gc.is_tracked(type(decoded)(**values))


@pytest.mark.parametrize("name", ["metadata", "raw_event"])
def test_cycles_through_decoded_events_are_collected(name: str) -> None:
    class Marker:
        pass

    event = ev.StepStartedEvent(step_name="s", metadata={"a": []}, raw_event={"a": []})
    frame = EventEncoder(AGUI_MEDIA_TYPE).encode(event)
    (decoded,) = StreamDecoder(AGUI_MEDIA_TYPE).feed(frame)
    marker = Marker()
    gone = weakref.ref(marker)
    getattr(decoded, name)["a"] += [decoded, marker]
    del decoded, marker
    gc.collect()
    assert gone() is None


def test_reference_counts_are_what_they_are_for_constructed_ones() -> None:
    text = "x" * 60  # too long to be remembered
    event = ev.TextMessageContentEvent(message_id="m" * 60, delta=text)
    (decoded,) = StreamDecoder(AGUI_MEDIA_TYPE).feed(EventEncoder(AGUI_MEDIA_TYPE).encode(event))
    # Assertions hold references of their own.
    counts = [sys.getrefcount(decoded), sys.getrefcount(decoded.delta)]  # type: ignore[union-attr]
    assert counts[0] == 2
    assert counts[1] == 2


def test_a_collection_at_every_allocation_is_survived() -> None:
    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        decode_all()
        encode_all()
    finally:
        gc.set_threshold(*thresholds)


def test_what_a_decoder_holds_is_let_go() -> None:
    decoder = ENGINE.Decoder(lambda *args: True, lambda data: [], 2**26, 100, False, None, False)
    frame = framed(codec.encode_object({"type": "CUSTOM", "name": "n", "value": "x" * 2**22}))
    decoder.feed(frame[:-1])
    assert len(decoder.feed(frame[-1:])) == 1
    assert decoder.finish() == (1, len(frame), b"")
