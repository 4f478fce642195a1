"""The models of the Python SDK: its text on SSE, and the same values on the binary wires.

Written for every SDK from 0.1.10 on, and run with the one that is installed.
"""

# The SDK is looked up at run time, so a type checker knows nothing of it.
# mypy: disable-error-code="misc, name-defined, untyped-decorator"

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import ipaddress
import json
import uuid
import warnings
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, EncodeError
from agui_wire._sdk import sdk_model, sdk_object
from tests.sdk import (
    CURRENT,
    DROPS_NULLS,
    EVENTS,
    IS_1_0,
    RETIRED,
    core,
    instances,
    loses_a_required_null,
    ours,
    pydantic,
    theirs,
)
from tests.wires import BINARY, WIRES, Warnings, object_on

SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
few = settings(max_examples=10, suppress_health_check=SLOW)


@pytest.mark.parametrize("name", EVENTS)
@few
@given(data=st.data())
def test_text(name: str, data: st.DataObject) -> None:
    event = data.draw(instances(EVENTS[name], wild=True))
    assume(not loses_a_required_null(event))
    assert ours(event) == theirs(event)


@pytest.mark.parametrize("name", CURRENT)
@few
@given(data=st.data())
def test_the_wires_agree(name: str, data: st.DataObject) -> None:
    event = data.draw(instances(EVENTS[name], wild=False))
    assume(not loses_a_required_null(event))
    text = theirs(event)
    if IS_1_0:  # 0.1 requires some fields whose null 1.0 reads as absent
        assert object_on(MSGPACK_MEDIA_TYPE, event) == json.loads(text[6:])
    (expected,) = agui_wire.decode(text.encode(), SSE_MEDIA_TYPE)
    for wire in BINARY:
        assert agui_wire.decode(agui_wire.encode(event, wire), wire) == [expected]


def test_every_event_class_is_here() -> None:
    assert len(CURRENT) == 31 if IS_1_0 else len(CURRENT) >= 21
    for cls in EVENTS.values():
        model = sdk_model(cls)
        assert model is not None
        assert model.is_event
        assert model.fields is not None
    event, model = core.RunErrorEvent(message="m"), sdk_model(core.RunErrorEvent)
    assert model is not None
    obj = sdk_object(event, model, 100)
    assert obj == {"type": "RUN_ERROR", "message": "m"}
    assert type(obj["type"]) is str


# Values of the application in open JSON.


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    y: Any = None


class Inner(pydantic.BaseModel):
    when: dt.datetime | None = None
    snake_case: int = 1
    amount: decimal.Decimal = decimal.Decimal("1.50")


class Aliased(pydantic.BaseModel):
    snake_case: int = pydantic.Field(default=1, alias="camelCase")
    secret: Any = pydantic.SecretStr("s")
    hidden: int = pydantic.Field(default=2, exclude=True)


@pydantic.dataclasses.dataclass
class Checked:
    x: Annotated[int, pydantic.PlainSerializer(lambda value: f"<{value}>")] = 3


VALUES: dict[str, Any] = {
    "datetimes": [
        dt.datetime(2024, 1, 2, 3, 4, 5),
        dt.datetime(2024, 1, 2, 3, 4, 5, 60, tzinfo=dt.timezone.utc),
        dt.datetime(2024, 1, 2, tzinfo=dt.timezone(-dt.timedelta(hours=5, minutes=30))),
        dt.datetime(1800, 1, 2, tzinfo=dt.timezone(dt.timedelta(minutes=53, seconds=28))),
        dt.datetime(1, 1, 1),
        dt.date(2024, 1, 2),
        dt.time(1, 2, 3),
        dt.time(1, 2, 3, 4, tzinfo=dt.timezone.utc),
    ],
    "durations": [
        dt.timedelta(*parts)
        for parts in ((0,), (400, 3661, 5), (-1, -1), (0, 0, 1), (365,), (0, 3600), (0, -1, 500000))
    ],
    "uuid": uuid.UUID(int=5),
    "decimals": list(map(decimal.Decimal, ("1.10", "1E+3", "NaN", "0E-8"))),
    "collections": [
        {1},
        frozenset("a"),
        (1, "a", None),
    ],
    "deques": collections.deque([1]),
    "mappings": [collections.OrderedDict(b=1, a=2), collections.Counter("aa")],
    "bytes": [b"caf\xc3\xa9", bytearray(b"x")],
    "enums": [Colour.RED, Level.HIGH, core.EventType.RAW],
    "dataclasses": [Point(1, Point(2)), Checked()],
    "models": [Inner(), Inner(when=dt.datetime(2024, 1, 2)), Aliased()],
    "sdk models": {
        "user": core.UserMessage(id="u", content="c"),
        "none": [5, core.Tool(name="t", description="", parameters={})],
    },
    "pydantic types": [pydantic.AnyUrl("http://a.b/c"), pydantic.SecretStr("s")],
    "addresses": [ipaddress.ip_address("1.2.3.4"), ipaddress.ip_network("::/8")],
    "floats": [1e-7, 1e22, 0.1 + 0.2, 1.0],
    "text": '\x00\x08\x1f\x7f\x85\u2028\u2029\ufeff "\\/é\U0001f600',
    "number keys": {1: 1, 2.5: 2, None: 3, 1e22: 4, -0.0: 5},
    "boolean keys": {True: 1, False: 2},
    "other keys": {uuid.UUID(int=1): 1, dt.date(2024, 1, 2): 2, Colour.RED: 3, Level.HIGH: 4},
    "tuple keys": {(1, "a"): 1, ("b", None, True): 2},
    "nan": [float("nan"), {"a": float("inf")}],
}
# The one difference that old SDKs have here: they lose None inside models.
LOSES_NONE = {"models", "sdk models"} if DROPS_NULLS else set()


@pytest.mark.parametrize("name", [name for name in VALUES if name not in LOSES_NONE])
def test_values_in_open_json(name: str) -> None:
    value = {"a": [VALUES[name]]}
    events = [
        core.StateSnapshotEvent(snapshot=value),
        core.CustomEvent(name="", value=value, raw_event=value),
        core.TextMessageEndEvent(message_id="m", extra=VALUES[name]),
        core.MessagesSnapshotEvent(
            messages=[core.ActivityMessage(id="a", activity_type="", content=value)]
        ),
    ]
    try:
        theirs(events[0])
    except ValueError:
        pytest.skip("this pydantic has no form for them")
    for event in events:
        text = theirs(event)
        assert ours(event) == text
        assert object_on(MSGPACK_MEDIA_TYPE, event) == json.loads(text[6:])
    expected = json.loads(theirs(events[0])[6:])
    for wire in WIRES:
        assert object_on(wire, events[0]) == expected
        # A dict holds the same values as a model.
        assert object_on(wire, {"type": "STATE_SNAPSHOT", "snapshot": value}) == expected


@given(st.integers(-12, 25), st.floats(1, 10), st.sampled_from([1, -1]))
def test_floats_of_every_magnitude(exponent: int, digits: float, sign: int) -> None:
    for value in (float(f"{digits}e{exponent}"), 10.0**exponent, 5e-324, 1.7e308, -0.0):
        event = core.StateSnapshotEvent(snapshot=sign * value)
        assert ours(event) == theirs(event)


def test_generators_are_read_once() -> None:
    def event() -> Any:
        return core.StateSnapshotEvent(snapshot={"a": (n for n in range(3))})

    assert ours(event()) == theirs(event())
    for wire in BINARY:
        assert object_on(wire, event())["snapshot"] == {"a": [0, 1, 2]}


def test_none_in_open_json_is_data() -> None:
    event = core.StateSnapshotEvent(
        snapshot={"x": Inner(), "list": [None], "at": dt.date(2024, 1, 2), "n": None}
    )
    expected = {
        "x": {"when": None, "snake_case": 1, "amount": "1.50"},
        "list": [None],
        "at": "2024-01-02",
        "n": None,
    }
    for wire in WIRES:
        assert object_on(wire, event) == {"type": "STATE_SNAPSHOT", "snapshot": expected}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("raw_event", [None, {"odd": 1e-7}, {"odd": dt.date(2024, 1, 2)}], ids=repr)
def test_none_in_a_field(wire: str, raw_event: Any) -> None:
    event = core.CustomEvent(name="n", value=None, timestamp=None, raw_event=raw_event)
    obj = object_on(wire, event)
    assert obj.pop("rawEvent", None) == json.loads(json.dumps(raw_event, default=str))
    assert obj == {"type": "CUSTOM", "name": "n", "value": None}
    finished = core.RunFinishedEvent(thread_id="t", run_id="r", result=None)
    assert object_on(wire, finished) == {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


# Subclasses of the application's own.


class Same(core.TextMessageEndEvent):
    @functools.cached_property
    def cached(self) -> int:
        return 1


class Declared(core.TextMessageEndEvent):
    agent_name: str = "a"
    score: float = 1e-7


class Computed(core.TextMessageEndEvent):
    @pydantic.computed_field
    def loud(self) -> str:
        return str(self.message_id).upper()


class FieldSerialised(core.TextMessageEndEvent):
    @pydantic.field_serializer("message_id")
    def in_brackets(self, value: str) -> str:
        return f"<{value}>"


class AnnotatedField(core.TextMessageEndEvent):
    message_id: Annotated[str, pydantic.PlainSerializer(lambda value: value * 2)]


class AnnotatedInside(core.TextMessageEndEvent):
    raw_event: Annotated[str, pydantic.PlainSerializer(lambda value: value * 2)] | None = None


class ModelSerialised(core.TextMessageEndEvent):
    @pydantic.model_serializer(mode="wrap")
    def _omit_fields_without_value(self, handler: Any) -> Any:
        return {"type": "TEXT_MESSAGE_END", "messageId": "own"}


class OtherSerialised(core.TextMessageEndEvent):
    @pydantic.model_serializer(mode="wrap")
    def renamed(self, handler: Any) -> Any:
        return {"type": handler(self)["type"], "messageId": "own"}


class OwnText(core.TextMessageEndEvent):
    def model_dump_json(self, **options: Any) -> str:
        return '{"type": "TEXT_MESSAGE_END", "messageId": "own", "x": 1.0}'


class Excluded(core.TextMessageEndEvent):
    secret: str = pydantic.Field(default="s", exclude=True)


class Configured(core.CustomEvent):
    model_config = pydantic.ConfigDict(ser_json_bytes="base64", ser_json_timedelta="float")


class Narrowed(core.CustomEvent):
    name: Literal["narrow"] = "narrow"
    value: dt.datetime


class LongMessage(core.UserMessage):
    extra_field: int = 1


LONG = LongMessage(id="u", content="c")
SUBCLASSED: list[Any] = [
    Same(message_id="m"),
    Declared(message_id="m"),
    Computed(message_id="m"),
    FieldSerialised(message_id="m"),
    AnnotatedField(message_id="m"),
    AnnotatedInside(message_id="m", raw_event="r"),
    ModelSerialised(message_id="m"),
    OtherSerialised(message_id="m"),
    OwnText(message_id="m"),
    Excluded(message_id="m"),
    Configured(name="n", value={"b": b"abc", "t": dt.timedelta(seconds=5)}),
    Narrowed(value=dt.datetime(2024, 1, 2)),
    core.MessagesSnapshotEvent(messages=[LONG]),
    core.BaseEvent(type=core.EventType.CUSTOM, name="n", value=1),
]


@pytest.mark.parametrize("event", SUBCLASSED, ids=lambda event: type(event).__name__)
def test_subclasses(event: Any) -> None:
    if isinstance(event, Same):
        assert event.cached == 1
    text = theirs(event)
    assert ours(event) == text
    assert object_on(MSGPACK_MEDIA_TYPE, event) == json.loads(text[6:])
    (expected,) = agui_wire.decode(text.encode(), SSE_MEDIA_TYPE)
    (decoded,) = agui_wire.decode(agui_wire.encode(event, AGUI_MEDIA_TYPE), AGUI_MEDIA_TYPE)
    assert decoded == expected


def test_a_subclass_that_changes_nothing_is_as_fast_to_read() -> None:
    classes: list[Any] = [type(event) for event in SUBCLASSED]
    models = {cls.__name__: sdk_model(cls) for cls in classes}
    read_by_attribute = {name for name, model in models.items() if model and model.fields}
    assert read_by_attribute == {"Same", "MessagesSnapshotEvent", "BaseEvent"}


class Broken(core.TextMessageEndEvent):
    secret: str = pydantic.Field(default="not to be seen", exclude=True)

    @pydantic.field_serializer("message_id")
    def fail(self, value: str) -> str:
        raise KeyError("why it failed")


class BrokenText(core.TextMessageEndEvent):
    def model_dump_json(self, **options: Any) -> str:
        raise KeyError("why it failed")


class BrokenInside(pydantic.BaseModel):
    x: Any = None

    @pydantic.field_serializer("x")
    def fail(self, value: Any) -> Any:
        raise KeyError("why it failed")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("event", "reason", "path"),
    [
        (Broken(message_id="m"), "Broken .*why it failed", ""),
        (BrokenText(message_id="m"), "BrokenText .*why it failed", ""),
        (core.StateSnapshotEvent(snapshot=[BrokenInside()]), "BrokenInside .*why", "/snapshot/0"),
        (core.StateSnapshotEvent(snapshot={"a/b": [object()]}), "object", "/snapshot/a~1b/0"),
        (core.StateSnapshotEvent(snapshot={"a": b"\xff"}), "UTF-8", "/snapshot/a"),
        (core.UserMessage(id="u", content="c"), "UserMessage is no event", ""),
        (Inner(), "Inner is no event", ""),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_be_written(wire: str, event: Any, reason: str, path: str) -> None:
    encoder = agui_wire.EventEncoder(wire)
    with pytest.raises(EncodeError, match=reason) as caught:
        encoder.encode(event)
    assert caught.value.path == path
    assert "not to be seen" not in str(caught.value)
    assert encoder.encode(core.RunErrorEvent(message=str(caught.value)))


@pytest.mark.parametrize("wire", WIRES)
def test_fields_that_change_later(wire: str) -> None:
    event = core.TextMessageEndEvent(message_id="m")
    event.timestamp = 5
    event.message_id = "n"
    event.later = {"x": None}
    expected = {"type": "TEXT_MESSAGE_END", "timestamp": 5, "messageId": "n", "later": {"x": None}}
    if wire == AGUI_MEDIA_TYPE:
        del expected["later"]
    assert object_on(wire, event) == expected
    event.timestamp = None
    assert "timestamp" not in object_on(wire, event)


class NoObject(core.TextMessageEndEvent):
    @pydantic.model_serializer(mode="plain")
    def as_text(self) -> str:
        return "text"


def test_a_model_that_is_no_object() -> None:
    for wire in BINARY:
        with pytest.raises(EncodeError, match="NoObject is no JSON object"):
            agui_wire.encode(NoObject(message_id="m"), wire)


def test_fields_that_change_their_type() -> None:
    """SSE carries what the SDK writes; the binary wires have no place for it."""
    for value in (5, 1.5, ["x"]):
        event = core.TextMessageEndEvent(message_id="m")
        event.message_id = value
        assert ours(event) == theirs(event)
        for wire in BINARY:
            with pytest.raises(EncodeError) as caught:
                agui_wire.encode(event, wire)
            assert caught.value.path == "/messageId"


def test_extra_keys() -> None:
    event = core.TextMessageEndEvent(message_id="m", my_extra=1, nothing={"a": None})
    expected = json.loads(theirs(event)[6:])
    assert expected["my_extra"] == 1
    told = Warnings()
    for wire in (SSE_MEDIA_TYPE, MSGPACK_MEDIA_TYPE):
        assert object_on(wire, event, on_warning=told.append) == expected
    assert not told
    obj = object_on(AGUI_MEDIA_TYPE, event, on_warning=told.append)
    assert obj == {"type": "TEXT_MESSAGE_END", "messageId": "m"}
    assert told.told == [("lost-property", "/my_extra"), ("lost-property", "/nothing")]


@pytest.mark.parametrize("wire", WIRES)
def test_policies_hold_for_models(wire: str) -> None:
    nan = core.StateSnapshotEvent(snapshot={"a/b": [float("nan")]})
    told = Warnings()
    assert object_on(wire, nan, on_warning=told.append)["snapshot"] == {"a/b": [None]}
    assert told.told == [("non-finite", "/snapshot/a~1b/0")]
    half = core.TextMessageEndEvent(message_id="\ud83d")
    assert object_on(wire, half, on_warning=told.append)["messageId"] == "\ufffd"
    assert told.told[1:] == [("surrogate", "/messageId")]
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    refused: list[tuple[Any, Any, str]] = [
        (nan, {"non_finite": "raise"}, "/snapshot/a~1b/0"),
        (half, {"surrogates": "raise"}, "/messageId"),
        (core.StateSnapshotEvent(snapshot=deep), {}, "/snapshot" + "/0" * 99),
        (core.StateSnapshotEvent(snapshot=[0.1, 1e-7, deep]), {}, "/snapshot/2" + "/0" * 98),
    ]
    if wire != SSE_MEDIA_TYPE:
        # On SSE its own encoder's text has the last of the two.
        refused.append((core.StateSnapshotEvent(snapshot={1: 1, "1": 2}), {}, "/snapshot"))
        refused.append((core.StateSnapshotEvent(snapshot={"n": 2**64 + 1}), {}, "/snapshot/n"))
    for event, options, path in refused:
        with pytest.raises(EncodeError) as caught:
            agui_wire.encode(event, wire, **options)
        assert caught.value.path == path


def test_integers_of_any_length_are_text() -> None:
    event = core.StateSnapshotEvent(snapshot=[10**5000, {"a": -(10**4400)}])
    assert ours(event) == theirs(event)


# What protocol 1.0 retired.


@pytest.mark.parametrize("name", RETIRED)
def test_retired_events(name: str) -> None:
    fields = {"delta": "d"} if "Content" in name else {}
    event = EVENTS[name](**fields)
    assert ours(event) == theirs(event)
    for wire in BINARY:
        with pytest.raises(EncodeError, match="REASONING"):
            agui_wire.encode(event, wire)


@pytest.mark.skipif(IS_1_0, reason="this SDK's messages hold no binary parts")
def test_retired_parts() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        part = core.BinaryInputContent(mime_type="image/png", data="x", filename="f")
        message = core.UserMessage(id="u", content=[part])
        event = core.MessagesSnapshotEvent(messages=[message])
    assert ours(event) == theirs(event)
    source = {"type": "data", "value": "x", "mimeType": "image/png"}
    for wire in BINARY:
        (upgraded,) = object_on(wire, event)["messages"][0]["content"]
        assert upgraded == {"type": "image", "source": source, "metadata": {"filename": "f"}}
