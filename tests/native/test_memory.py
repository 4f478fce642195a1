"""Nothing leaks, and the collector sees what it has to see."""

from __future__ import annotations

import contextlib
import copy
import gc
import sys
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    EventEncoder,
    StreamDecoder,
    from_dict,
)
from agui_wire import events as ev
from agui_wire.codecs.protobuf import reference as codec
from agui_wire.errors import AguiWireError
from tests.generators import random_event
from tests.native.engines import ENGINE, reference
from tests.native.mutation import framed, mutations
from tests.native.oddities import spoil, spoil_text, text_streams

MEDIA_TYPES = (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)
each_wire = pytest.mark.parametrize("media_type", MEDIA_TYPES)

_RNG = Random(11)
_OBJECTS = [random_event(_RNG) for _ in range(40)]
_EVENTS: list[Any] = [from_dict(obj) for obj in _OBJECTS]
_ODD_EVENTS: list[Any] = [from_dict(copy.deepcopy(obj)) for obj in _OBJECTS]
for _event in _ODD_EVENTS:
    spoil(_event, _RNG)
_FRAMES = {
    wire: [reference(EventEncoder, wire).encode_binary(e) for e in _EVENTS] for wire in MEDIA_TYPES
}
_ODD_FRAMES = {
    AGUI_MEDIA_TYPE: [
        framed(payload) for payload in mutations([f[4:] for f in _FRAMES[AGUI_MEDIA_TYPE]], 40, 12)
    ],
    SSE_MEDIA_TYPE: list(text_streams(_RNG, 40)),
    MSGPACK_MEDIA_TYPE: [framed(spoil_text(f[4:], _RNG)) for f in _FRAMES[MSGPACK_MEDIA_TYPE]],
}


def decode_all(media_type: str) -> None:
    decoder = StreamDecoder(media_type)
    stream = b"".join(_FRAMES[media_type])
    for start in range(0, len(stream), 1000):
        decoder.feed(stream[start : start + 1000])
    decoder.close()


def decode_odd(media_type: str) -> None:
    for frame in _ODD_FRAMES[media_type]:
        with contextlib.suppress(AguiWireError):
            decoder = StreamDecoder(media_type)
            decoder.feed(frame)
            decoder.close()


def encode_all(media_type: str) -> None:
    encoder = EventEncoder(media_type)
    encoder.encode_many(_EVENTS)
    for event in _EVENTS:
        encoder.encode(event)


def encode_odd(media_type: str) -> None:
    encoder = EventEncoder(media_type)
    for event in _ODD_EVENTS:
        with contextlib.suppress(AguiWireError):
            encoder.encode(event)
    with contextlib.suppress(AguiWireError):
        encoder.encode_many(_ODD_EVENTS)


@pytest.fixture
def _frozen() -> Iterator[None]:
    """What is there already is out of the collector's sight, so that collecting is cheap."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@each_wire
@pytest.mark.parametrize("work", [decode_all, decode_odd, encode_all, encode_odd])
@pytest.mark.usefixtures("_frozen")
def test_200_rounds_leave_nothing_behind(work: Callable[[str], None], media_type: str) -> None:
    def rounds(count: int) -> None:
        for _ in range(count):
            work(media_type)
            # Errors are in cycles with their frames; what waits for collection fills free lists.
            gc.collect()

    # Until the caches of the interpreter and of msgspec are full.
    rounds(60)
    before, blocks = len(gc.get_objects()), sys.getallocatedblocks()
    tracemalloc.start()
    rounds(1)
    first = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    rounds(200)
    assert len(gc.get_objects()) - before < 50
    assert sys.getallocatedblocks() - blocks < 150
    tracemalloc.start()
    rounds(1)
    assert tracemalloc.get_traced_memory()[0] - first < 20_000
    tracemalloc.stop()


@each_wire
def test_what_a_decoder_still_holds_goes_with_it(media_type: str) -> None:
    """The buffers come from malloc, where tracemalloc does not see them."""
    resource = pytest.importorskip("resource")
    event = ev.CustomEvent(name="n", value="x" * 1_000_000)
    part = EventEncoder(media_type).encode_binary(event)[:-2]

    def peak() -> int:
        StreamDecoder(media_type).feed(part)
        kilobytes: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return kilobytes

    first = peak()
    last = max(peak() for _ in range(100))
    # One leaked buffer is a megabyte.
    assert last - first < 20_000


@each_wire
@pytest.mark.parametrize("index", range(len(_OBJECTS)), ids=lambda i: _OBJECTS[i]["type"])
def test_decoded_events_are_tracked_as_constructed_ones_are(index: int, media_type: str) -> None:
    (decoded,) = StreamDecoder(media_type).feed(_FRAMES[media_type][index])
    values = {name: getattr(decoded, name) for name in decoded.__struct_fields__}
    assert gc.is_tracked(decoded) == gc.is_tracked(type(decoded)(**values))


@each_wire
@pytest.mark.parametrize("name", ["metadata", "raw_event"])
def test_cycles_through_decoded_events_are_collected(name: str, media_type: str) -> None:
    class Marker:
        pass

    event = ev.StepStartedEvent(step_name="s", metadata={"a": []}, raw_event={"a": []})
    frame = EventEncoder(media_type).encode_binary(event)
    (decoded,) = StreamDecoder(media_type).feed(frame)
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
        for media_type in MEDIA_TYPES:
            decode_all(media_type)
            encode_all(media_type)
    finally:
        gc.set_threshold(*thresholds)


def test_what_a_decoder_holds_is_let_go() -> None:
    decoder = ENGINE.Decoder(lambda *args: True, lambda data: [], 2**26, 100, False, None, False)
    frame = framed(codec.encode_object({"type": "CUSTOM", "name": "n", "value": "x" * 2**22}))
    decoder.feed(frame[:-1])
    assert len(decoder.feed(frame[-1:])) == 1
    assert decoder.finish() == (1, len(frame), b"")
