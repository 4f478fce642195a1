"""Values of the application as JSON: what each becomes, and what no wire can hold."""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import types
import uuid
from typing import Any, NamedTuple

import pytest

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, EncodeError
from agui_wire.events import (
    CustomEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
)
from agui_wire.messages import TextPart
from tests.wires import WIRES, Warnings, object_on


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Kind(str, enum.Enum):
    A = "a"


class Text(str):
    __slots__ = ()


class Number(int):
    pass


@dataclasses.dataclass
class Point:
    x: int
    when: Any = None
    unset: int = dataclasses.field(init=False)


class Pair(NamedTuple):
    left: int
    right: Any


UTC = dt.timezone.utc
INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))
# Berlin's local mean time: zones from before time zones have seconds.
BERLIN = dt.timezone(dt.timedelta(minutes=53, seconds=28))

VALUES: list[tuple[Any, Any]] = [
    (dt.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05"),
    (dt.datetime(2024, 1, 2, 3, 4, 5, 60, tzinfo=UTC), "2024-01-02T03:04:05.000060Z"),
    (dt.datetime(2024, 1, 2, tzinfo=INDIA), "2024-01-02T00:00:00+05:30"),
    (dt.datetime(1800, 1, 2, tzinfo=BERLIN), "1800-01-02T00:00:00+00:53"),
    (dt.date(2024, 1, 2), "2024-01-02"),
    (dt.time(1, 2, 3, 40, tzinfo=UTC), "01:02:03.000040Z"),
    (dt.timedelta(0), "PT0S"),
    (dt.timedelta(days=400, seconds=3661, microseconds=5), "P1Y35DT1H1M1.000005S"),
    (-dt.timedelta(days=1, minutes=2), "-P1DT2M"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (decimal.Decimal("1.10"), "1.10"),
    (decimal.Decimal("NaN"), "NaN"),
    (fractions.Fraction(1, 3), "1/3"),
    (1 + 2j, "1+2j"),
    (b"caf\xc3\xa9", "café"),
    (bytearray(b"x"), "x"),
    ({1}, [1]),
    (frozenset("a"), ["a"]),
    ((1, (2, None)), [1, [2, None]]),
    (collections.deque([1, 2]), [1, 2]),
    (range(0), EncodeError),
    (Colour.RED, "red"),
    (Colour.PAIR, [1, 2]),
    (Level.HIGH, 3),
    (Kind.A, "a"),
    (Text("t"), "t"),
    (Number(7), 7),
    (Point(1, Point(2)), {"x": 1, "when": {"x": 2, "when": None}}),
    (Pair(1, dt.date(2024, 1, 2)), [1, "2024-01-02"]),
    (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (collections.Counter("aa"), {"a": 2}),
    (types.MappingProxyType({"a": {1}}), {"a": [1]}),
    (map(str, [1, 2]), ["1", "2"]),
    (re.compile("a+"), "a+"),
    (ipaddress.ip_address("::1"), "::1"),
    (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8"),
    (pathlib.PurePosixPath("/a/b"), "/a/b"),
    (TextPart(text="t"), {"type": "text", "text": "t"}),
    (TextMessageEndEvent(message_id="m"), {"type": "TEXT_MESSAGE_END", "messageId": "m"}),
    ({1: 1, 2.5: 2, None: 4}, {"1": 1, "2.5": 2, "None": 4}),
    ({True: 0, False: 1, 1e16: 2}, {"true": 0, "false": 1, "1e+16": 2}),
    ({uuid.UUID(int=1): 1}, {"00000000-0000-0000-0000-000000000001": 1}),
    ({dt.date(2024, 1, 2): 1, Kind.A: 2, b"b": 3}, {"2024-01-02": 1, "a": 2, "b": 3}),
    ({(1, "a"): 1}, {"1,a": 1}),
    ({frozenset(): 1}, EncodeError),
    (object(), EncodeError),
    (int, EncodeError),
    (Point, EncodeError),
    (memoryview(b"a"), EncodeError),
    (b"\xff", EncodeError),
    ({b"\xff": 1}, EncodeError),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=lambda value: type(value).__name__)
def test_values(value: Any, expected: Any) -> None:
    # Iterators can be read once.
    inputs = [value] if isinstance(value, map) else [value] * 3
    for wire, item in zip(WIRES, inputs):
        event = StateSnapshotEvent(snapshot={"a/b": [item]})
        if expected is EncodeError:
            with pytest.raises(EncodeError) as caught:
                agui_wire.encode(event, wire)
            assert caught.value.path == "/snapshot/a~1b/0"
            continue
        snapshot = object_on(wire, event)["snapshot"]
        assert snapshot == {"a/b": [expected]}
        assert repr(snapshot) == repr({"a/b": [expected]})
        if not isinstance(value, map):
            as_dict = {"type": "STATE_SNAPSHOT", "snapshot": {"a/b": [item]}}
            assert agui_wire.encode(as_dict, wire) == agui_wire.encode(event, wire)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "value",
    [
        {1: "a", "1": "b"},
        {True: "a", "true": "b"},
        {dt.date(2024, 1, 2): "a", "2024-01-02": "b"},
        dict.fromkeys(["\ud83d", "\udc00"]),
    ],
    ids=repr,
)
def test_keys_that_fall_together(wire: str, value: Any) -> None:
    with pytest.raises(EncodeError, match="two keys") as caught:
        agui_wire.encode(CustomEvent(name="", value=[value]), wire)
    assert caught.value.path == "/value/0"


@pytest.mark.parametrize("wire", WIRES)
def test_described_strings_take_what_open_json_takes(wire: str) -> None:
    delta: Any = b"abc"
    message_id: Any = uuid.UUID(int=1)
    obj = object_on(wire, TextMessageContentEvent(message_id=message_id, delta=delta))
    assert (obj["messageId"], obj["delta"]) == (str(message_id), "abc")


BIG = (2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30)
INTEGERS = (*BIG, *(-value for value in BIG), -(2**63) - 1, 10**400)


def holds(wire: str, value: int) -> bool:
    if wire == AGUI_MEDIA_TYPE:
        return abs(value) < 2**1000 and int(float(value)) == value
    return wire == SSE_MEDIA_TYPE or -(2**63) <= value < 2**64


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "value", INTEGERS, ids=lambda value: f"{value:.6g}" if abs(value) < 2**99 else "huge"
)
def test_integers(wire: str, value: int) -> None:
    event = CustomEvent(name="", value={"id": [value]})
    warnings = Warnings()
    if holds(wire, value):
        for policy in ("raise", "round", "string"):
            options: Any = {"lossy_int": policy, "on_warning": warnings.append}
            (written,) = object_on(wire, event, **options)["value"]["id"]
            assert written == value
            assert wire == AGUI_MEDIA_TYPE or type(written) is int
        assert not warnings
        return
    with pytest.raises(EncodeError, match="lossy_int") as caught:
        agui_wire.encode(event, wire)
    assert caught.value.path == "/value/id/0"
    assert object_on(wire, event, lossy_int="string", on_warning=warnings.append)["value"] == {
        "id": [str(value)]
    }
    if abs(value) > 2**1000:
        with pytest.raises(EncodeError) as caught:
            agui_wire.encode(event, wire, lossy_int="round")
        assert caught.value.path == "/value/id/0"
    else:
        (rounded,) = object_on(wire, event, lossy_int="round", on_warning=warnings.append)["value"][
            "id"
        ]
        assert rounded == float(value)
        assert warnings.told == [("lossy-int", "/value/id/0")] * 2


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("policy", ["raise", "round", "string"])
def test_integers_that_python_does_not_spell(wire: str, policy: Any) -> None:
    with pytest.raises(EncodeError) as caught:
        agui_wire.encode(CustomEvent(name="", value=[10**5000]), wire, lossy_int=policy)
    assert caught.value.path == "/value/0"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_lacks(wire: str, value: float) -> None:
    event = CustomEvent(name="", value={"a": [value, 1.5]}, metadata={"x": value})
    warnings = Warnings()
    obj = object_on(wire, event, on_warning=warnings.append)
    assert (obj["value"], obj["metadata"]) == ({"a": [None, 1.5]}, {"x": None})
    assert sorted(warnings.told) == [("non-finite", "/metadata/x"), ("non-finite", "/value/a/0")]
    with pytest.raises(EncodeError) as caught:
        agui_wire.encode(CustomEvent(name="", value=[value]), wire, non_finite="raise")
    assert caught.value.path == "/value/0"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("text", "written", "lone"),
    [
        ("\ud83d", "\ufffd", True),
        ("a\ude00b", "a\ufffdb", True),
        ("\ud83d\ude00", "\U0001f600", False),
        ("\ufffd\ud83d\ude00", "\ufffd\U0001f600", False),
        ("\ude00\ud83d", "\ufffd\ufffd", True),
        ("\ud83d\ud83d\ude00", "\ufffd\U0001f600", True),
    ],
    ids=ascii,
)
def test_halves_of_surrogate_pairs(wire: str, text: str, written: str, lone: bool) -> None:
    places: list[tuple[Any, str, Any]] = [
        (TextMessageContentEvent(message_id="m", delta=text), "/delta", lambda o: o["delta"]),
        ({"type": "TEXT_MESSAGE_END", "messageId": text}, "/messageId", lambda o: o["messageId"]),
        (CustomEvent(name="", value=[text]), "/value/0", lambda o: o["value"][0]),
        (CustomEvent(name="", value={text: 1}), f"/value/{text}", lambda o: next(iter(o["value"]))),
    ]
    for event, path, read in places:
        warnings = Warnings()
        assert read(object_on(wire, event, on_warning=warnings.append)) == written
        assert warnings.told == ([("surrogate", path)] if lone else [])
        with pytest.raises(EncodeError) as caught:
            agui_wire.encode(event, wire, surrogates="raise")
        assert caught.value.path == path


def nested(levels: int, kind: type) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if kind is list else {"a": value}
    return value


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", [list, dict])
def test_depth(wire: str, kind: type) -> None:
    """The event is level 1, so its open JSON has one level less."""
    for levels, max_depth in ((99, 100), (4, 5), (200, 201)):
        event = CustomEvent(name="", value=nested(levels, kind))
        assert object_on(wire, event, max_depth=max_depth)["value"] == event.value
        with pytest.raises(EncodeError, match="deeper") as caught:
            agui_wire.encode(event, wire, max_depth=max_depth - 1)
        step = "/0" if kind is list else "/a"
        assert caught.value.path == "/value" + step * (levels - 1)


def cycles() -> list[Any]:
    in_list: list[Any] = []
    in_list.append(in_list)
    in_dict: dict[str, Any] = {}
    in_dict["a"] = (in_dict,)
    in_dataclass = Point(1)
    in_dataclass.when = in_dataclass
    in_struct = CustomEvent(name="", value=None)
    in_struct.value = in_struct
    return [in_list, in_dict, in_dataclass, in_struct]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "value",
    [nested(5000, list), nested(5000, dict), nested(300_000, list), *cycles()],
    ids=["lists", "dicts", "very deep", "list", "dict", "dataclass", "struct"],
)
def test_endless_depth(wire: str, value: Any) -> None:
    encoder = agui_wire.EventEncoder(wire)
    for limit in (100, 10**6):
        with pytest.raises(EncodeError):
            agui_wire.encode(StateSnapshotEvent(snapshot=value), wire, max_depth=limit)
    with pytest.raises(EncodeError, match="deeper"):
        encoder.encode({"type": "RAW", "event": value})
    assert encoder.encode_binary({"type": "RAW", "event": 1})


@pytest.mark.parametrize("wire", WIRES)
def test_the_callers_values_are_left_alone(wire: str) -> None:
    state = {"a": [{"b": float("nan")}], "s": "\ud83d", 1: (2,), "i": 2**53 + 1}
    event = {
        "type": "MESSAGES_SNAPSHOT",
        "raw_event": state,
        "messages": [{"id": "u", "role": "user", "content": [], "name": None, "extra": state}],
    }
    before = copy.deepcopy(event)
    agui_wire.encode(event, wire, lossy_int="string")
    assert repr(event) == repr(before)


def test_a_surrogate_that_is_told_once_per_call() -> None:
    warnings = Warnings()
    encoder = agui_wire.EventEncoder(MSGPACK_MEDIA_TYPE, on_warning=warnings.append)
    for _ in range(2):
        encoder.encode(CustomEvent(name="", value=["\ud83d", "\ud83d", {"a": "\ud83d"}]))
    assert warnings.told == [("surrogate", "/value/0"), ("surrogate", "/value/2/a")] * 2
