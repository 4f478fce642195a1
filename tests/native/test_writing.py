"""The native engine writes what the pure encoder writes, or leaves it to that."""

from __future__ import annotations

import copy
import enum
import gc
import logging
import math
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
from agui_wire import events as ev
from agui_wire import messages as ms
from agui_wire.errors import EncodeError
from tests.generators import random_event
from tests.native.engines import Refused, native_encoder, reference

MEDIA_TYPES = (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)


class Text(str):
    pass


class Number(int):
    pass


class Mapping(dict[str, Any]):
    pass


class Colour(str, enum.Enum):
    RED = "assistant"


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


_CALL = ms.FunctionCall(name="n", arguments="")
_OPERATION = {"op": "add", "path": "/a", "value": 1}
# What may stand where it should not, or needs a judgement.
ODD: list[Any] = [
    *(None, "", "x", "\ud83d", "\ud83d\ude00", "ä", "漢", "\U0001f600"),
    'a"b\\c\n\x00\x1f\x7f\u2028',
    *("assistant", "user", "tool", "success", Text("s"), Colour.RED, ev.EventType.RAW, b"x"),
    *(0, 1, -1, 2**53 - 1, 2**53, -(2**53), 2**53 + 1, 2**63, 2**64, 10**400),
    *(Number(3), True, False),
    *(1.5, -0.0, 1e300, 1e-5, 1e-7, 1e15, 1e16, 123456789.125, math.nan, math.inf),
    *({}, {"a": 1}, Mapping(a=1), {1: 2}, {"": None}, {"\udc00": 1}),
    {"a": {"b": [1, {"c": None}]}},
    *([], (), (1,), [{}], [None], ["a"], [1], {1}, nested(27), nested(30), {"k": nested(29)}),
    *(_OPERATION, [_OPERATION], [{"op": "add", "path": "/a"}], [{"op": "remove", "path": "a"}]),
    *([{"op": "move", "path": "", "from": "/x"}], [{"op": "test", "path": "/~2", "value": None}]),
    *([{"op": "remove", "path": "/b", "from": 3}], [{"op": "remove", "path": "/b", "x": 3}]),
    *([{"op": "replace", "path": "/ä", "value": {}}], [{"op": "copy", "path": "/b", "from": "~"}]),
    *(ms.TextPart(text="p"), [ms.TextPart(text="q")], ms.DataSource(value="v", mime_type="m")),
    *(ev.RunFinishedCancelledOutcome(), ev.RunFinishedSuccessOutcome(pending_tool_call_ids=[])),
    *(ev.SubagentFinishedSuccessOutcome(), ms.ToolCall(id="i", function=_CALL), _CALL),
    *(ms.TokenUsage(input_tokens=1), ms.TokenUsage(input_tokens=-1), [ms.TokenUsage(model=3)]),  # type: ignore[arg-type]
]


def structs(value: Any) -> list[Any]:
    """The Structs in a value, itself first."""
    if isinstance(value, msgspec.Struct):
        inner = [each for name in value.__struct_fields__ for each in structs(getattr(value, name))]
        return [value, *inner]
    return [each for item in value for each in structs(item)] if type(value) is list else []


def containers(value: Any) -> list[Any]:
    """The dicts and lists in a value."""
    if isinstance(value, msgspec.Struct):
        return [c for name in value.__struct_fields__ for c in containers(getattr(value, name))]
    if type(value) is list:
        return [value, *(each for item in value for each in containers(item))]
    if type(value) is dict:
        return [value, *(each for item in value.values() for each in containers(item))]
    return []


def spoil(event: Any, rng: Random) -> None:
    """Put something odd somewhere in an event."""
    odd = copy.deepcopy(rng.choice(ODD))
    if rng.random() < 0.5:
        struct = rng.choice(structs(event))
        if struct.__struct_fields__:
            setattr(struct, rng.choice(struct.__struct_fields__), odd)
        return
    found = containers(event)
    if not found:
        return
    container = rng.choice(found)
    if type(container) is list:
        container.insert(0, odd)
    else:
        container[rng.choice(["k", "", 1, "\ud800", "ä", None, Text("z")])] = odd


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


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
        made = result(lambda cls, *args, **options: cls(*args, **options), event)
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
