"""What the codecs cost, as ratios to msgspec's JSON on the same Structs and to the SDK's encoder.

    python -m pytest benchmarks -k codec

Each ratio is bracketed, in one process (see _bracket.py); `must` and `aim` are the design's.
Nothing is asserted: a ratio over its `must` is printed as MISS, one over its `aim` as "over aim",
and one whose baseline never stood still as "unsteady", which then says little.

Caveats: one thread, warm caches, one machine. msgspec's decode of one event makes no list, feed
does. msgspec's JSON writes no frame; the frame is in our time.
"""

from __future__ import annotations

import logging
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from random import Random
from typing import Any, get_args
from uuid import UUID

import msgspec
import pytest

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    Event,
    EventEncoder,
    StreamConsumer,
    StreamDecoder,
    __version__,
    from_dict,
    protobuf_engine,
)
from agui_wire import events as ev
from agui_wire.bench.machine import machine
from benchmarks._bracket import Call, Ratio, bracket
from tests.generators import random_event

CHUNK = 64 * 1024

_VERSIONS = ("msgspec", "protobuf", "pydantic", "ag-ui-protocol")

json_encoder = msgspec.json.Encoder()
json_decoder = msgspec.json.Decoder(Event)

Say = Callable[[str], None]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Iterator[Say]:
    """Prints past pytest's capture; the engine's warnings are not what is measured."""
    logging.disable(logging.CRITICAL)

    def line(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(text + "\n")

    line("\n" + ", ".join(f"{key} {value}" for key, value in machine().items()))
    line(
        f"agui-wire {__version__} (protobuf engine: {protobuf_engine()}), "
        + ", ".join(f"{name} {version(name)}" for name in _VERSIONS if _is_installed(name))
    )
    yield line
    logging.disable(logging.NOTSET)


def _is_installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def header(say: Say, title: str) -> None:
    say(f"{title:<44}{'must':>6}{'aim':>6}{'seen':>7}{'ours':>12}{'theirs':>12}")


def row(
    say: Say, name: str, seen: Ratio, must: float | None = None, aim: float | None = None
) -> None:
    bounds = "".join(f"{'' if each is None else f'{each:.2f}':>6}" for each in (must, aim))
    mark = "  over aim" if aim is not None and seen.ratio > aim else ""
    if must is not None and seen.ratio > must:
        mark = "  MISS"
    unsteady = "" if seen.rounds else "  unsteady"
    say(
        f"{name:<44}{bounds}{seen.ratio:>7.2f}{seen.candidate / 1000:>9.2f} us"
        f"{seen.baseline / 1000:>9.2f} us{mark}{unsteady}"
    )


def one(media_type: str, event: Any) -> tuple[Call, Call]:
    """Encoding one event, ours and msgspec's."""
    return (EventEncoder(media_type).encode, event), (json_encoder.encode, event)


def feed_one(media_type: str, event: Any) -> tuple[Call, Call]:
    frame = EventEncoder(media_type).encode_binary(event)
    return (StreamDecoder(media_type).feed, frame), (
        json_decoder.decode,
        json_encoder.encode(event),
    )


def many(media_type: str, events: list[Any]) -> tuple[Call, Call]:
    return (EventEncoder(media_type).encode_many, events), (json_encoder.encode_lines, events)


def feed_many(media_type: str, events: list[Any]) -> tuple[Call, Call]:
    chunk = EventEncoder(media_type).encode_many(events)
    lines = json_encoder.encode_lines(events)
    return (StreamDecoder(media_type).feed, chunk), (json_decoder.decode_lines, lines)


def delta(n: int = 0, size: int = 9, **fields: Any) -> ev.TextMessageContentEvent:
    text = (f"word {n:<4}" * (size // 9 + 1))[:size]
    return ev.TextMessageContentEvent(**{"message_id": "msg-1234567890", "delta": text, **fields})


def uuid(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128)))


def chunk_of(make: Callable[[int], Any], media_type: str = AGUI_MEDIA_TYPE) -> list[Any]:
    """As many events as fill a chunk on this wire."""
    size = len(EventEncoder(media_type).encode_binary(make(0)))
    return [make(n) for n in range(max(2, CHUNK // size))]


def states(size: int) -> dict[str, Any]:
    """States of about `size` bytes as JSON."""
    rng = Random(1)
    record = {
        "id": 17,
        "name": "record 17",
        "done": False,
        "score": 8.5,
        "note": None,
        "tags": ["a"],
    }
    deep: Any = {}
    for level in range(28):
        deep = {f"level{level}": deep, "value": level}
    units: dict[str, Callable[[int], Any]] = {
        "records": lambda n: {**record, "id": n, "name": f"record {n}"},
        "numbers": lambda n: [n, rng.random(), n * 1000],
        "deep dicts": lambda n: deep,
        "long text": lambda n: "lorem ipsum dolor sit amet " * 20,
        "long text, not ASCII": lambda n: "größe 漢字 " * 40,
        "wide keys": lambda n: {f"key {n} {each}": each for each in range(20)},
    }
    found: dict[str, Any] = {}
    for name, unit in units.items():
        each = len(json_encoder.encode(unit(1)))
        found[name] = {"items": [unit(n) for n in range(max(1, size // each))]}
    return found


def consume(chunks: list[bytes]) -> None:
    consumer = StreamConsumer(AGUI_MEDIA_TYPE)
    for chunk in chunks:
        consumer.feed(chunk)
    consumer.close()


def feed_alone(chunks: list[bytes]) -> None:
    decoder = StreamDecoder(AGUI_MEDIA_TYPE)
    for chunk in chunks:
        decoder.feed(chunk)
    decoder.close()


def a_run(count: int) -> list[bytes]:
    """A run of text deltas in chunks."""
    events = [
        ev.RunStartedEvent(thread_id="t", run_id="r"),
        ev.TextMessageStartEvent(message_id="msg-1234567890", role="assistant"),
        *(delta(n) for n in range(count)),
        ev.TextMessageEndEvent(message_id="msg-1234567890"),
        ev.RunFinishedEvent(thread_id="t", run_id="r"),
    ]
    stream = EventEncoder(AGUI_MEDIA_TYPE).encode_many(events)
    return [stream[start : start + CHUNK] for start in range(0, len(stream), CHUNK)]


def table(say: Say) -> None:
    header(say, "small text delta")
    measured = partial(bracket, rounds=15)
    row(say, "encode one, framed", measured(*one(AGUI_MEDIA_TYPE, delta())), 0.75, 0.60)
    row(say, "feed of one frame", measured(*feed_one(AGUI_MEDIA_TYPE, delta())), 0.80, 0.65)
    deltas = chunk_of(delta)
    row(say, "feed of 64 KiB", measured(*feed_many(AGUI_MEDIA_TYPE, deltas)), 0.70, 0.56)
    row(say, "encode_many", measured(*many(AGUI_MEDIA_TYPE, deltas)), 0.80, 0.60)
    state = ev.StateSnapshotEvent(snapshot=states(100_000)["records"])
    row(say, "100 KB state, encode", measured(*one(AGUI_MEDIA_TYPE, state)), 1.25, 0.95)
    row(say, "100 KB state, decode", measured(*feed_one(AGUI_MEDIA_TYPE, state)), 1.20, 1.0)
    core = pytest.importorskip("ag_ui.core")
    from ag_ui.encoder import EventEncoder as TheirEncoder

    model = core.TextMessageContentEvent(message_id="msg-1234567890", delta="word 0   ")
    theirs: Call = (TheirEncoder().encode, model)
    row(say, "SDK event, SSE", measured((EventEncoder().encode, model), theirs), 0.25, 0.15)
    ours = EventEncoder(AGUI_MEDIA_TYPE).encode
    row(say, "SDK event, protobuf", measured((ours, model), theirs), 0.10, 0.06)
    run = a_run(5000)
    row(say, "pipeline, against feed alone", measured((consume, run), (feed_alone, run)), 6, 4)


def event_types(say: Say) -> None:
    say("\nsmall events of each type: encode one, feed of one frame")
    header(say, "")
    for cls in get_args(Event):
        rng = Random(cls.__name__)
        found = [from_dict(random_event(rng, cls.type.value)) for _ in range(30)]
        event: Any = min(found, key=lambda each: abs(len(json_encoder.encode(each)) - 250))
        row(say, f"encode {cls.type.value}", bracket(*one(AGUI_MEDIA_TYPE, event), rounds=5))
        row(say, f"feed   {cls.type.value}", bracket(*feed_one(AGUI_MEDIA_TYPE, event), rounds=5))


def texts_and_ids(say: Say) -> None:
    rng = Random(2)
    one_id = uuid(rng)
    say("\ntext deltas, chunks of 64 KiB")
    header(say, "")
    makes: dict[str, Callable[[int], Any]] = {
        "small": delta,
        "small, timestamps": lambda n: delta(n, timestamp=1_790_000_000_000 + n),
        "small, repeated UUID": lambda n: delta(n, message_id=one_id),
        "small, fresh UUIDs": lambda n: delta(n, message_id=uuid(rng)),
        "4 KB": lambda n: delta(n, 4096),
        "4 KB, not ASCII": lambda n: delta(delta="größe 漢字 " * 270),
        "tool arguments": lambda n: ev.ToolCallArgsEvent(tool_call_id=one_id, delta=f'"k{n}":'),
    }
    for name, make in makes.items():
        events = chunk_of(make)
        row(say, f"encode one, {name}", bracket(*one(AGUI_MEDIA_TYPE, events[0])))
        row(say, f"encode_many, {name}", bracket(*many(AGUI_MEDIA_TYPE, events)))
        row(say, f"feed of one, {name}", bracket(*feed_one(AGUI_MEDIA_TYPE, events[0])))
        row(say, f"feed, {name}", bracket(*feed_many(AGUI_MEDIA_TYPE, events)))


def other_wires(say: Say) -> None:
    say("\nthe other wires, small text delta")
    header(say, "")
    for name, media_type in (("SSE", SSE_MEDIA_TYPE), ("MessagePack", MSGPACK_MEDIA_TYPE)):
        events = chunk_of(delta, media_type)
        row(say, f"encode one, {name}", bracket(*one(media_type, events[0])))
        row(say, f"encode_many, {name}", bracket(*many(media_type, events)))
        row(say, f"feed of one, {name}", bracket(*feed_one(media_type, events[0])))
        row(say, f"feed of 64 KiB, {name}", bracket(*feed_many(media_type, events)))


def state_sizes(say: Say) -> None:
    for size in (1000, 100_000):
        say(f"\nstate of {size // 1000} KB")
        header(say, "")
        for name, state in states(size).items():
            event = ev.StateSnapshotEvent(snapshot=state)
            encoding, decoding = ((1.25, 0.95), (1.20, 1.0)) if size > 1000 else ((), ())
            row(say, f"encode {name}", bracket(*one(AGUI_MEDIA_TYPE, event)), *encoding)
            row(say, f"decode {name}", bracket(*feed_one(AGUI_MEDIA_TYPE, event)), *decoding)


def sdk_events(say: Say) -> None:
    core = pytest.importorskip("ag_ui.core")
    from ag_ui.encoder import EventEncoder as TheirEncoder
    from pydantic import TypeAdapter

    adapter = TypeAdapter(core.Event)
    say("\nSDK events through the encoder, against ag_ui.encoder")
    header(say, "")
    theirs = TheirEncoder().encode
    state = {"type": "STATE_SNAPSHOT", "snapshot": states(100_000)["records"]}
    objects = [state] + [
        random_event(Random(n), cls.type.value) for n, cls in enumerate(get_args(Event))
    ]
    for obj in objects:
        model = adapter.validate_python(obj)
        for name, media_type in (("SSE", SSE_MEDIA_TYPE), ("protobuf", AGUI_MEDIA_TYPE)):
            ours = EventEncoder(media_type).encode
            seen = bracket((ours, model), (theirs, model), rounds=3)
            bounds = (0.25, 0.15) if name == "SSE" else (0.10, 0.06)
            row(say, f"{obj['type']}, {name}", seen, *bounds)


def decoded_memory(say: Say) -> None:
    rng = Random(3)
    one_id = uuid(rng)
    say("\nbytes that one decoded text delta takes, ours and msgspec's")
    makes: dict[str, Callable[[int], Any]] = {
        "repeated UUID": lambda n: delta(n, message_id=one_id),
        "fresh UUIDs": lambda n: delta(n, message_id=uuid(rng)),
    }
    for name, make in makes.items():
        events = [make(n) for n in range(5000)]
        chunk = EventEncoder(AGUI_MEDIA_TYPE).encode_many(events)
        lines = json_encoder.encode_lines(events)
        decoder = StreamDecoder(AGUI_MEDIA_TYPE)
        sizes: list[float] = []
        for call in ((decoder.feed, chunk), (json_decoder.decode_lines, lines)):
            tracemalloc.start()
            kept = call[0](call[1])
            sizes.append(tracemalloc.get_traced_memory()[0] / len(events))
            tracemalloc.stop()
            del kept
        say(f"{name:<44}{sizes[0]:>8.0f}{sizes[1]:>8.0f}")


TABLES = (
    table,
    event_types,
    texts_and_ids,
    other_wires,
    state_sizes,
    sdk_events,
    decoded_memory,
)


@pytest.mark.parametrize("tell", TABLES, ids=lambda tell: tell.__name__)
def test_codec(benchmark: Any, say: Say, tell: Callable[[Say], None]) -> None:
    """The table is what counts; pytest-benchmark only times how long it takes to make."""
    benchmark.pedantic(tell, (say,), rounds=1)
