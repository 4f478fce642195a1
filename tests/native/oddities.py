"""What may stand where it should not: odd values in events, odd text on the text wires."""

from __future__ import annotations

import copy
import enum
import math
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from agui_wire import events as ev
from agui_wire import messages as ms
from tests.generators import random_event

__all__ = ["spoil", "spoil_text", "text_streams"]


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
# What may be out of place, or needs a judgement.
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


# Pieces that SSE readers have to tell apart, and JSON that is nearly an event.
SSE_PIECES = [
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


def spoil_text(data: bytes, rng: Random) -> bytes:
    """Bytes with some of them changed or gone."""
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


def text_streams(rng: Random, count: int) -> Iterator[bytes]:
    """SSE streams of few events, some of them odd, some of them mutated."""
    encode = msgspec.json.Encoder().encode
    good = [b"data: " + encode(random_event(rng)) + b"\n\n" for _ in range(300)]
    for _ in range(count):
        parts = [
            rng.choice(good) if rng.random() < 0.7 else rng.choice(SSE_PIECES)
            for _ in range(rng.choice((1, 1, 2, 5)))
        ]
        stream = b"".join(parts)
        if rng.random() < 0.6:
            stream = spoil_text(stream, rng)
        if rng.random() < 0.1:
            stream = stream.replace(b"\n", b"\r\n")
        yield stream
