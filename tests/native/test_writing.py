"""The native engine writes what the pure encoder writes, or leaves it to that."""

from __future__ import annotations

import gc
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    Event,
    EventEncoder,
    StreamWarning,
    from_dict,
)
from agui_wire import events as ev
from agui_wire.errors import EncodeError
from tests.generators import random_event
from tests.native.engines import Refused, build, native_encoder, outcome, reference
from tests.native.oddities import spoil
from tests.strategies import structs

MEDIA_TYPES = (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
@pytest.mark.parametrize("spoiled", [False, True])
def test_random_events_are_written_alike_or_handed_back(media_type: str, spoiled: bool) -> None:
    rng = Random(f"{media_type}{spoiled}")
    encoder = native_encoder(media_type)
    written = 0
    warnings: list[StreamWarning] = []
    pure = reference(EventEncoder, media_type, on_warning=warnings.append)
    for _ in range(2500):
        event: Any = from_dict(random_event(rng))
        if spoiled:
            spoil(event, rng)
        try:
            framed = encoder.encode(event)
        except Refused:
            # Only for a float that JSON writers spell in their own ways.
            assert spoiled or media_type == SSE_MEDIA_TYPE
            continue
        written += 1
        assert framed == pure.encode(event)
        assert not warnings
        binary = framed.encode() if isinstance(framed, str) else framed
        assert encoder.encode_binary(event) == binary
        assert encoder.encode_many(iter([event, event])) == binary * 2
    assert written > (500 if spoiled else 2000)


@pytest.mark.parametrize("cls", get_args(Event), ids=lambda cls: cls.__name__)
@given(st.data())
@settings(max_examples=25)
def test_valid_events_of_every_class(cls: Any, data: st.DataObject) -> None:
    event = data.draw(structs(cls))
    for media_type in MEDIA_TYPES:
        framed = EventEncoder(media_type).encode_binary(event)
        assert framed == reference(EventEncoder, media_type).encode_binary(event)
        options = {"media_type": media_type}
        assert outcome(build, [framed], **options) == outcome(reference, [framed], **options)


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_what_is_handed_back_ends_alike(media_type: str) -> None:
    """With the fallback behind it, the same bytes, warnings and errors."""
    rng = Random(media_type)

    def result(make: Any, event: Any) -> Any:
        warnings: list[StreamWarning] = []
        encoder = make(EventEncoder, media_type, on_warning=warnings.append)
        try:
            return encoder.encode(event), warnings
        except EncodeError as error:
            return str(error), warnings

    for _ in range(500):
        event: Any = from_dict(random_event(rng))
        spoil(event, rng)
        made = result(build, event)
        assert made == result(reference, event)


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_models_of_the_sdk_are_written_alike_or_handed_back(media_type: str) -> None:
    core = pytest.importorskip("ag_ui.core")
    from ag_ui.encoder import EventEncoder as TheirEncoder
    from pydantic import TypeAdapter

    adapter = TypeAdapter(core.Event)
    rng = Random(7)
    encoder, pure = native_encoder(media_type), reference(EventEncoder, media_type)
    theirs = TheirEncoder()
    written = 0
    for _ in range(1500):
        event = adapter.validate_python(random_event(rng))
        try:
            framed = encoder.encode(event)
        except Refused:
            continue
        written += 1
        assert framed == pure.encode(event)
        if media_type == SSE_MEDIA_TYPE:
            assert framed == theirs.encode(event)
    assert written > 1000


def test_models_with_extras_or_out_of_order_are_handed_back() -> None:
    core = pytest.importorskip("ag_ui.core")
    encoder = native_encoder(AGUI_MEDIA_TYPE)

    def make(**extra: Any) -> Any:
        return core.TextMessageContentEvent(message_id="m", delta="d", **extra)

    assert encoder.encode(make())
    with pytest.raises(Refused):
        encoder.encode(make(colour="red"))
    shuffled = make()
    shuffled.__dict__["type"] = shuffled.__dict__.pop("type")
    with pytest.raises(Refused):
        encoder.encode(shuffled)
    wrong = make()
    wrong.__dict__["type"] = "RAW"
    with pytest.raises(Refused):
        encoder.encode(wrong)
    missing = make()
    del missing.__dict__["delta"]
    with pytest.raises(Refused):
        encoder.encode(missing)


def test_subclasses_of_the_encoder_keep_what_they_override() -> None:
    event = ev.StepStartedEvent(step_name="s")

    class Shouting(EventEncoder):
        def _encode_sse(self, event: Any) -> str:
            return "shout"

    class Counting(EventEncoder):
        def encode_many(self, events: Any) -> bytes:
            return b"counted"

    assert Shouting().encode(event) == "shout"
    assert Shouting().encode_binary(event) == b"shout"
    assert Shouting().encode_many([event]) == b"shout"
    counting = Counting(AGUI_MEDIA_TYPE)
    assert counting.encode_many([event]) == b"counted"
    assert counting.encode(event) == EventEncoder(AGUI_MEDIA_TYPE).encode(event)


def test_an_iterable_may_encode_while_it_is_written() -> None:
    encoder = EventEncoder(AGUI_MEDIA_TYPE)
    event = ev.StateSnapshotEvent(snapshot={"rows": ["x" * 100] * 50})
    frame = encoder.encode(event)

    def produce() -> Any:
        for _ in range(3):
            assert encoder.encode(event) == frame
            yield event
            assert encoder.encode_many([event]) == frame

    assert encoder.encode_many(produce()) == frame * 3


def test_an_iterable_that_fails_leaves_the_encoder_usable() -> None:
    encoder = EventEncoder(AGUI_MEDIA_TYPE)
    event = ev.StepStartedEvent(step_name="s")

    def produce() -> Any:
        yield event
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        encoder.encode_many(produce())
    with pytest.raises(EncodeError):
        encoder.encode_many([event, 3])
    assert encoder.encode_many([event]) == encoder.encode(event)


def test_encoders_are_in_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            EventEncoder(AGUI_MEDIA_TYPE, on_warning=lambda warning: None)
        assert gc.collect() == 0
    finally:
        gc.enable()
