"""StreamConsumer: a response body in, verified events and the assembled run out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Union

from .._json import DEFAULT_MAX_DEPTH, DEFAULT_MAX_FRAME_SIZE
from .._warnings import OnWarning, WarningLog
from ..codecs import native
from ..decoder import Buffer, EventReader, FrameLoop
from ..errors import TruncatedStream
from ..events import (
    Event,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from ..run_input import RunAgentInput
from ._message_events import MESSAGE_HANDLERS
from .assemble import MessageAssembler
from .expand import ChunkExpander
from .verify import SequenceVerifier

__all__ = ["Middleware", "StreamConsumer"]

Middleware = Callable[[dict[str, Any]], Union[dict[str, Any], list[dict[str, Any]], None]]
"""Sees each event as a JSON object; gives it back, changed or not, several, or None to drop it."""


# What most of a stream is, and which item it belongs to.
_CONTENTS: dict[type, str] = {
    TextMessageContentEvent: "message_id",
    ReasoningMessageContentEvent: "message_id",
    ToolCallArgsEvent: "tool_call_id",
}


class StreamConsumer:
    """Follows the protocol's processing model over one response body (page "processing").

    Bytes are decoded, retired shapes translated, `middleware` applied in order, unrecognised
    material removed, chunk events expanded, the sequence verified, and the result assembled:
    `feed` returns the events as they are delivered to an application, and `assembler` holds the
    messages and the state. It starts from the messages and the state of `run_input`.

    Limits: `max_frame_size` in bytes, `max_depth` in JSON levels. On a fault, `feed` returns the
    events before it, and the next call raises. With middleware, every event is decoded to plain
    objects first, which costs.
    """

    def __init__(
        self,
        content_type: str,
        *,
        run_input: RunAgentInput | None = None,
        middleware: Iterable[Middleware] = (),
        max_frame_size: int = DEFAULT_MAX_FRAME_SIZE,
        max_depth: int = DEFAULT_MAX_DEPTH,
        on_warning: OnWarning | None = None,
    ) -> None:
        warnings = self._warnings = WarningLog(on_warning)
        steps = tuple(middleware)
        self._reader = EventReader(
            content_type, max_depth, warnings, _chain(steps) if steps else None
        )
        self._loop = FrameLoop(content_type, max_frame_size, warnings, self._read)
        self._native = (
            None
            if steps
            else native.decoder(
                content_type, self._take_over, self._feed_on, max_frame_size, max_depth, sized=True
            )
        )
        self._events: list[Event] = []
        self._expander = ChunkExpander()
        self._verifier = SequenceVerifier(warnings)
        self.assembler = (
            MessageAssembler(warnings=warnings)
            if run_input is None
            else MessageAssembler(
                run_input.messages,
                {} if run_input.state is None else run_input.state,
                warnings=warnings,
            )
        )

    def feed(self, data: Buffer) -> list[Event]:
        """The events that `data` completes, expanded and verified.

        Raises StreamError: MalformedEvent, FrameTooLarge or ProtocolViolation.
        """
        if self._native is None or self._loop.failed:
            return self._loop.feed(data)
        events = self._events = []
        decoded = self._native.feed(data)
        self._deliver_all(decoded, *self._native.taken())
        return events

    def close(self) -> list[Event]:
        """What the end of the stream completes.

        Raises TruncatedStream where it ended inside a frame or without a terminal event; what
        arrived stays in `assembler`, and the last events in the error's `events`.
        """
        if self._native is not None and not self._loop.failed:
            self._loop.take_over([], *self._native.finish())
        events = self._loop.close()
        try:
            self._verifier.close()
        except TruncatedStream as error:
            error.events = events
            raise
        return events

    def _read(self, payload: memoryview, events: list[Event]) -> None:
        for event in self._reader.read(payload):
            self._deliver(event, events)

    def _deliver(self, event: Event, events: list[Event]) -> None:
        for expanded in self._expander.expand(event):
            self._verifier.verify(expanded)
            self.assembler.apply(expanded)
            events.append(expanded)

    def _deliver_each(self, decoded: list[Event], index: int, events: list[Event]) -> None:
        append, warnings = events.append, self._warnings
        # Straight to what assembles this kind of event: in a run of deltas, the way there costs
        # as much as the work.
        handler, transcript = MESSAGE_HANDLERS[TextMessageContentEvent], self.assembler._transcript
        last: type | None = None
        last_id: str | None = None
        id_name = ""
        event: Any
        for event in decoded:
            warnings.event_index = index
            index += 1
            cls = type(event)
            if cls is last and getattr(event, id_name) == last_id and event.subagent_run_id is None:
                # More of what the event before was of: nothing that was checked has changed.
                handler(transcript, event)
                append(event)
                continue
            last = None
            if cls in _CONTENTS and event.subagent_run_id is None:
                last, id_name, handler = cls, _CONTENTS[cls], MESSAGE_HANDLERS[cls]
                last_id = getattr(event, id_name)
            self._deliver(event, events)

    def _deliver_all(self, decoded: list[Event], frames: int, size: int) -> None:
        """What the native engine decoded, before anything behind it is looked at."""
        assert self._native is not None
        self._loop.deliver(decoded, self._deliver_each, self._native.frame_sizes, self._events)
        self._loop.skip(frames, size)
        decoded.clear()

    def _take_over(self, decoded: list[Event], frames: int, size: int, data: bytes) -> bool:
        self._deliver_all(decoded, frames, size)
        return not self._loop.failed and self._loop.take_over(self._events, 0, 0, data)

    def _feed_on(self, data: Buffer) -> list[Event]:
        self._events += self._loop.feed(data)
        return []


def _chain(middleware: tuple[Middleware, ...]) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    def rewrite(obj: dict[str, Any]) -> list[dict[str, Any]]:
        objects = [obj]
        for step in middleware:
            given = [step(item) for item in objects]
            objects = []
            for result in given:
                if isinstance(result, list):
                    objects.extend(result)
                elif result is not None:
                    objects.append(result)
        return objects

    return rewrite
