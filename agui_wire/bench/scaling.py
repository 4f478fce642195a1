"""What grows: the cost of one event as the message, the history, the chunks and so on get larger.

Each case is prepared for one size (`Context.value`) of what grows. Setting up is not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..codecs.protobuf import protobuf_engine
from ..decoder import StreamDecoder
from ..encoder import EventEncoder
from ..events import (
    Event,
    RunFinishedEvent,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from ..media_types import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE
from ..messages import UserMessage
from ..pipeline.consumer import StreamConsumer
from ..run_input import RunAgentInput
from .prepared import Context, Prepare, Prepared, chunks

__all__ = ["PREPARE"]

_START: list[Event] = [
    RunStartedEvent(thread_id="t", run_id="r"),
    TextMessageStartEvent(message_id="m", role="assistant"),
]
_END: list[Event] = [
    TextMessageEndEvent(message_id="m"),
    RunFinishedEvent(thread_id="t", run_id="r"),
]
_DELTA = TextMessageContentEvent(message_id="m", delta=" word")
_DELTAS = 1000


def _wire() -> str:
    """The wire that is the fastest here: protobuf needs its native engine for that."""
    return AGUI_MEDIA_TYPE if protobuf_engine() == "native" else SSE_MEDIA_TYPE


def _body(events: list[Event]) -> bytes:
    return EventEncoder(_wire()).encode_many(events)


def _message_length(context: Context) -> Prepared:
    body = _body([*_START, *[_DELTA] * context.value, *_END])
    pieces = chunks(body)

    def run() -> None:
        consumer = StreamConsumer(_wire())
        for piece in pieces:
            consumer.feed(piece)
        consumer.close()
        assert consumer.assembler.messages

    return Prepared(run, context.value + 4, len(body))


def _history(context: Context) -> Prepared:
    history = [UserMessage(id=f"u{n}", content="hello") for n in range(context.value)]
    run_input = RunAgentInput(thread_id="t", run_id="r", messages=list(history))
    consumer = StreamConsumer(_wire(), run_input=run_input)
    consumer.feed(_body(_START))
    body = _body([_DELTA] * _DELTAS)

    def run() -> None:
        consumer.feed(body)

    return Prepared(run, _DELTAS, len(body))


def _chunk_size(context: Context) -> Prepared:
    body = _body([*_START, *[_DELTA] * _DELTAS, *_END])
    pieces = chunks(body, context.value)

    def run() -> None:
        decoder = StreamDecoder(_wire())
        for piece in pieces:
            decoder.feed(piece)
        decoder.close()

    return Prepared(run, _DELTAS + 4, len(body))


def _streams(context: Context) -> Prepared:
    """Open streams that each get one frame in turn."""
    start, delta = _body(_START), _body([_DELTA])
    consumers = [StreamConsumer(_wire()) for _ in range(context.value)]
    for consumer in consumers:
        consumer.feed(start)
    turns = max(1, _DELTAS // context.value)

    def run() -> None:
        for _ in range(turns):
            for consumer in consumers:
                consumer.feed(delta)

    return Prepared(run, turns * context.value, turns * context.value * len(delta))


def _nested(levels: int) -> Any:
    """200 numbers in objects that nest so deep."""
    value: Any = {f"k{n}": n for n in range(200)}
    for _ in range(levels - 1):
        value = {"inner": value}
    return value


def _depth(context: Context) -> Prepared:
    snapshots: list[Event] = [StateSnapshotEvent(snapshot=_nested(context.value))] * 10
    body = b"".join(map(EventEncoder(_wire()).encode_binary, snapshots))

    def run() -> None:
        decoder = StreamDecoder(_wire())
        decoder.feed(body)
        decoder.close()

    return Prepared(run, len(snapshots), len(body))


_CASES: dict[str, Callable[[Context], Prepared]] = {
    "message length": _message_length,
    "history length": _history,
    "chunk size": _chunk_size,
    "streams": _streams,
    "depth": _depth,
}

PREPARE: dict[tuple[str, str], Prepare] = {
    (f"scaling: {name}", "ours"): prepare for name, prepare in _CASES.items()
}
