"""The models of the Python SDK: its text on SSE, and the same values on the binary wires.

Written for every SDK from 0.1.10 on, and run with the one that is installed.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import inspect
import ipaddress
import json
import typing
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, EncodeError
from agui_wire._sdk import sdk_model
from tests.strategies import OPERATIONS, POINTERS, json_values
from tests.wires import BINARY, WIRES, Object, Warnings, object_on

core = pytest.importorskip("ag_ui.core")
sdk_encoder = pytest.importorskip("ag_ui.encoder")
pydantic = pytest.importorskip("pydantic")

few = settings(max_examples=25, suppress_health_check=list(HealthCheck))

IS_1_0 = hasattr(core, "SubagentStartedEvent")
# Its encoder leaves out every None, not its models those of optional fields.
DROPS_NULLS = not hasattr(core.BaseEvent, "_omit_fields_without_value")

EVENTS: dict[str, Any] = {
    name: cls
    for name, cls in vars(core).items()
    if isinstance(cls, type) and issubclass(cls, core.BaseEvent) and cls is not core.BaseEvent
}
RETIRED = [name for name in EVENTS if name.startswith("Thinking")]
CURRENT = [name for name in EVENTS if name not in RETIRED]


def theirs(event: Any) -> str:
    """What the SDK's own encoder writes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text: str = sdk_encoder.EventEncoder().encode(event)
    return text


def ours(event: Any) -> str:
    text = agui_wire.EventEncoder().encode(event)
    assert isinstance(text, str)
    return text


# Values for the fields, from the annotations.

WILD = json_values(
    st.none()
    | st.booleans()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.text(st.characters(max_codepoint=0xA0), max_size=8)
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
)
TAME = json_values()


def of(annotation: Any, metadata: typing.Iterable[Any], json_value: Any) -> Any:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    limits = {
        name: getattr(item, name)
        for item in metadata
        for name in ("ge", "le", "min_length", "pattern")
        if getattr(item, name, None) is not None
    }
    if origin is Annotated:
        return of(arguments[0], arguments[1:], json_value)
    if origin is typing.Union:
        return st.one_of(*(of(item, (), json_value) for item in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is list:
        item = OPERATIONS if arguments == (Any,) else of(arguments[0], (), json_value)
        return st.lists(item, min_size=limits.get("min_length", 0), max_size=2)
    if origin is dict:
        return st.dictionaries(st.text(max_size=3), json_value, max_size=2)
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return instances(annotation, json_value)
    if annotation is int:
        return st.integers(limits.get("ge", -(2**53) + 1), limits.get("le", 2**53 - 1))
    if annotation is str:
        return (
            POINTERS
            if "pattern" in limits
            else st.text(min_size=limits.get("min_length", 0), max_size=8)
        )
    return {Any: json_value, bool: st.booleans(), type(None): st.none()}[annotation]


def instances(cls: Any, json_value: Any) -> st.SearchStrategy[Any]:
    fields = {
        name: st.deferred(lambda f=field: of(f.annotation, f.metadata, json_value))
        for name, field in cls.model_fields.items()
        if typing.get_origin(field.annotation) is not Literal or name == "subtype"
    }
    if cls.__name__ == "ActivitySnapshotEvent":
        fields["content"] = st.dictionaries(st.text(max_size=3), json_value, max_size=2)
    # 0.1 takes parts that protocol 1.0 retired.
    if cls.__name__ == "UserMessage" and not IS_1_0:
        fields["content"] = st.text(max_size=8)
    required = {name for name, field in cls.model_fields.items() if field.is_required()}
    return st.fixed_dictionaries(
        {name: strategy for name, strategy in fields.items() if name in required},
        optional={name: strategy for name, strategy in fields.items() if name not in required},
    ).map(lambda values: cls(**values))


def loses_a_required_null(event: Any) -> bool:
    """Whether an old SDK's encoder leaves out what is data (a named difference)."""
    return DROPS_NULLS and any(
        field.is_required() and getattr(event, name) is None
        for name, field in type(event).model_fields.items()
    )


@pytest.mark.parametrize("name", EVENTS)
@few
@given(data=st.data())
def test_text(name: str, data: st.DataObject) -> None:
    event = data.draw(instances(EVENTS[name], WILD))
    assume(not loses_a_required_null(event))
    assert ours(event) == theirs(event)


@pytest.mark.parametrize("name", CURRENT)
@few
@given(data=st.data())
def test_the_wires_agree(name: str, data: st.DataObject) -> None:
    event = data.draw(instances(EVENTS[name], TAME))
    assume(not loses_a_required_null(event))
    text = theirs(event)
    assert without_absent(object_on(MSGPACK_MEDIA_TYPE, event)) == json.loads(text[6:])
    (expected,) = agui_wire.decode(text.encode(), SSE_MEDIA_TYPE)
    for wire in BINARY:
        assert agui_wire.decode(agui_wire.encode(event, wire), wire) == [expected]


def without_absent(obj: Object) -> Object:
    return obj


def test_every_event_class_is_here() -> None:
    assert len(CURRENT) == 31 if IS_1_0 else len(CURRENT) >= 21
    for cls in EVENTS.values():
        model = sdk_model(cls)
        assert model is not None
        assert model.is_event
        assert model.fields is not None


# Values of the application in open JSON.


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    y: Any = None


class Inner(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    when: Optional[dt.datetime] = None
    snake_case: int = 1
    amount: decimal.Decimal = decimal.Decimal("1.50")


class Aliased(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    snake_case: int = pydantic.Field(default=1, alias="camelCase")
    secret: pydantic.SecretStr = pydantic.SecretStr("s")  # type: ignore[name-defined]
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
    "collections": [{1}, frozenset("a"), (1, "a", None), collections.deque([1])],
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
    "floats": [0.0, -0.0, 1e-5, 9.9e-6, 1e-7, 1e15, 1e16, 1e22, 5e-324, 1.7e308, 0.1 + 0.2, 1.0],
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
    for event in events:
        text = theirs(event)
        assert ours(event) == text
        assert object_on(MSGPACK_MEDIA_TYPE, event) == json.loads(text[6:])
    expected = json.loads(theirs(events[0])[6:])
    for wire in WIRES:
        assert object_on(wire, events[0]) == expected
        # A dict holds the same values as a model.
        assert object_on(wire, {"type": "STATE_SNAPSHOT", "snapshot": value}) == expected


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
