"""FrameReader: bytes to frames. StreamDecoder: bytes to events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from ._framing import (
    PrefixedSplitter,
    Splitter,
    SseSplitter,
    prefixed_payload,
    sse_payload,
)
from ._json import DEFAULT_MAX_DEPTH, DEFAULT_MAX_FRAME_SIZE
from ._warnings import OnWarning, WarningLog
from .codecs import WIRES, native
from .errors import MalformedFrame, StreamError, TruncatedStream
from .events import Event, RunStartedEvent
from .media_types import SSE_MEDIA_TYPE, wire_of
from .pipeline.enforce import enforce, is_settled
from .pipeline.retired import RetiredShapes

__all__ = ["FrameReader", "StreamDecoder", "decode"]

Buffer = Union[bytes, bytearray, memoryview]
Rewrite = Callable[[dict[str, Any]], list[dict[str, Any]]]


class FrameReader:
    """Cuts a stream into whole wire frames without decoding them, for relays.

    `feed` takes any bytes-like chunk and gives the frames that it completes: length prefix and
    payload, or an SSE event's text with its blank line, to be written on unchanged. Time is
    linear in the bytes fed, for any chunking; a frame inside one chunk of `bytes` is a view of
    it, other buffers are copied once, so that views stay valid.

    `max_frame_size` bounds one frame in bytes, prefix included. On a fault, the frames before it
    are returned first; the error is raised by the next call, and by every call after that.
    Raises ValueError for a `media_type` that is no wire.
    """

    def __init__(self, media_type: str, *, max_frame_size: int = DEFAULT_MAX_FRAME_SIZE) -> None:
        wire = wire_of(media_type)
        self._splitter: Splitter = (
            SseSplitter(max_frame_size)
            if wire == SSE_MEDIA_TYPE
            else PrefixedSplitter(max_frame_size)
        )
        self._payload = sse_payload if wire == SSE_MEDIA_TYPE else prefixed_payload
        self._error: StreamError | None = None

    def feed(self, data: Buffer) -> list[memoryview]:
        """The frames that `data` completes. Raises FrameTooLarge."""
        if self._error is not None:
            raise self._error
        frames = self._splitter.split(_stable_view(data))
        self._error = self._splitter.fault
        if self._error is not None and not frames:
            raise self._error
        return frames

    def close(self) -> list[memoryview]:
        """The frame that the end of the stream completes, on SSE. Raises TruncatedStream where
        the stream ends inside a frame."""
        if self._error is not None:
            raise self._error
        try:
            return self._splitter.finish()
        except StreamError as error:
            self._error = error
            raise

    def payload(self, frame: Buffer) -> memoryview:
        """The inside of a frame: what follows the prefix, or the data of an SSE event."""
        return self._payload(memoryview(frame))

    @property
    def _starts(self) -> list[int]:
        return self._splitter.starts

    @property
    def _idle(self) -> bool:
        return self._splitter.idle

    @property
    def _offset(self) -> int:
        return self._splitter.offset

    def _skip(self, frames: int, size: int) -> None:
        self._splitter.skip(frames, size)


def _stable_view(data: Buffer) -> memoryview:
    """A view of `data` as bytes that nobody can change under it."""
    if type(data) is bytes:
        return memoryview(data)
    view = memoryview(data)
    # A read-only view may still show a buffer that its owner changes.
    if type(view.obj) is bytes and view.contiguous and view.format == "B" and view.ndim == 1:
        return view
    return memoryview(bytes(view))


class FrameLoop:
    """The loop that StreamDecoder and StreamConsumer share: frames in, events out, faults kept.

    `read` takes a payload and appends to the list it is given; what it appended before it raises
    StreamError is not lost.
    """

    def __init__(
        self,
        content_type: str,
        max_frame_size: int,
        warnings: WarningLog,
        read: Callable[[memoryview, list[Event]], None],
    ) -> None:
        self._reader = FrameReader(content_type, max_frame_size=max_frame_size)
        self._warnings = warnings
        self._read = read
        self._index = 0
        self._error: StreamError | None = None

    @property
    def failed(self) -> bool:
        """Whether every call raises from now on."""
        return self._error is not None

    def feed(self, data: Buffer) -> list[Event]:
        """The events whose frames `data` completes. Raises StreamError for a bad stream."""
        if self._error is not None:
            raise self._error
        events: list[Event] = []
        self._read_chunk(data, events)
        return events

    def _read_chunk(self, data: Buffer, events: list[Event]) -> None:
        try:
            self._read_frames(self._reader.feed(data), events)
            if not events and self._reader._error is not None:
                raise self._reader._error
        except StreamError as error:
            self._error = error
            if not events:
                raise

    def skip(self, frames: int, size: int) -> None:
        """Count `frames` frames of `size` bytes that the native engine read."""
        self._index += frames
        self._reader._skip(frames, size)

    def take_over(self, events: list[Event], frames: int, size: int, data: Buffer) -> bool:
        """Read `data`, which follows `frames` frames of `size` bytes that the native engine read
        since the last call. Returns whether it may go on behind it."""
        self.skip(frames, size)
        self._read_chunk(data, events)
        return self._error is None and self._reader._error is None and self._reader._idle

    def deliver(
        self,
        decoded: list[Event],
        read: Callable[[list[Event], int, list[Event]], None],
        sizes: Callable[[int], list[int]],
        events: list[Event],
    ) -> None:
        """Give `read` the events that the native engine decoded, one of each frame.

        `read` is told the index of the first and notes in the warnings at which one it is.
        `sizes` tells the first frames' sizes, for the place of an error.
        """
        try:
            read(decoded, self._index, events)
        except StreamError as error:
            index = self._warnings.event_index or 0
            offset = self._reader._offset + sum(sizes(index - self._index))
            self._error = error.located(index, offset)
            if not events:
                raise error from None

    def close(self) -> list[Event]:
        """What the end of the stream completes. Raises TruncatedStream inside a frame."""
        try:
            if self._error is not None:
                raise self._error
            return self._read_last()
        finally:
            self._warnings.close()

    def _read_last(self) -> list[Event]:
        events: list[Event] = []
        try:
            self._read_frames(self._reader.close(), events)
        except MalformedFrame as error:
            # Only SSE has a last frame here, and it lacked its end.
            self._error = TruncatedStream(
                f"the stream ended inside an event: {error.reason}",
                event_index=error.event_index,
                offset=error.offset,
            )
            raise self._error from None
        except StreamError as error:
            self._error = error
            raise
        return events

    def _read_frames(self, frames: list[memoryview], events: list[Event]) -> None:
        for frame, start in zip(frames, self._reader._starts):
            self._warnings.event_index = self._index
            try:
                self._read(self._reader.payload(frame), events)
            except StreamError as error:
                raise error.located(self._index, start) from None
            self._index += 1


class StreamDecoder:
    """Decodes a response body, chunk by chunk, into events.

    `content_type` is the response's Content-Type; it alone chooses the wire. Events come out
    enforced: retired shapes translated, unrecognised material removed with a warning. Nothing
    decoded is lost because of what follows it: on a fault, `feed` returns the events before it,
    and the next call raises. Limits: `max_frame_size` in bytes, `max_depth` in JSON levels.
    Raises ValueError for a content type that is no wire.
    """

    def __init__(
        self,
        content_type: str,
        *,
        max_frame_size: int = DEFAULT_MAX_FRAME_SIZE,
        max_depth: int = DEFAULT_MAX_DEPTH,
        on_warning: OnWarning | None = None,
    ) -> None:
        warnings = WarningLog(on_warning)
        reader = EventReader(content_type, max_depth, warnings)
        self._loop = FrameLoop(
            content_type,
            max_frame_size,
            warnings,
            lambda payload, events: events.extend(reader.read(payload)),
        )
        self._native = native.decoder(
            content_type, self._loop.take_over, self._loop.feed, max_frame_size, max_depth
        )
        if self._native is not None and type(self).feed is StreamDecoder.feed:
            # What callers call is the native callable itself: a method around it costs as much.
            self.__dict__["feed"] = self._native.feed

    def feed(self, data: Buffer) -> list[Event]:
        """The events whose frames `data` completes. Raises StreamError for a bad stream."""
        reader = self._loop if self._native is None else self._native
        return reader.feed(data)

    def close(self) -> list[Event]:
        """What the end of the stream completes. Raises TruncatedStream inside a frame."""
        if self._native is not None and not self._loop.failed:
            self._loop.take_over([], *self._native.finish())
        return self._loop.close()


class EventReader:
    """Payloads of one wire to enforced events; holds what a stream's translation remembers.

    `rewrite`, where given, sees every event as a JSON object between translation and
    enforcement.
    """

    def __init__(
        self,
        content_type: str,
        max_depth: int,
        warnings: WarningLog,
        rewrite: Rewrite | None = None,
    ) -> None:
        self._wire = WIRES[wire_of(content_type)]
        self._max_depth = max_depth
        self._warn = warnings.warn
        self._retired = RetiredShapes()
        self._rewrite = rewrite

    def read(self, payload: memoryview) -> list[Event]:
        """The events that one frame gives: one, or none where it is dropped with a warning.

        Raises MalformedEvent.
        """
        if not payload and self._wire is WIRES[SSE_MEDIA_TYPE]:
            self._warn("empty-data", "", "skipped an SSE event with empty data")
            return []
        if self._rewrite is None:
            decoded = self._wire.decode_event(payload, max_depth=self._max_depth, warn=self._warn)
            if decoded is None:
                return []
            if type(decoded) is not dict:
                if type(decoded) is RunStartedEvent:
                    self._retired.begin_run(decoded.run_id)
                if is_settled(decoded):
                    return [decoded]
                decoded = _patch_object(decoded)
        else:
            decoded = None
        if decoded is None:
            decoded = self._wire.decode_object(payload, max_depth=self._max_depth, warn=self._warn)
            if decoded is None:
                return []
        obj = self._retired.translate(decoded, self._warn)
        objects = [obj] if self._rewrite is None else self._rewrite(obj)
        enforced = [enforce(item, self._warn) for item in objects]
        return [event for event in enforced if event is not None]


def _patch_object(event: Event) -> dict[str, Any]:
    """The JSON object of a strictly decoded patch event: nothing in it is a Struct."""
    members = zip(event.__struct_fields__, event.__struct_encode_fields__)
    values = {key: getattr(event, name) for name, key in members}
    present = {key: value for key, value in values.items() if value is not None}
    return {"type": event.type.value, **present}


def decode(body: Buffer, media_type: str, *, max_depth: int = DEFAULT_MAX_DEPTH) -> list[Event]:
    """The events of a whole body.

    Raises StreamError where it is bad (a StreamDecoder keeps the events before that), ValueError
    where `media_type` is no wire.
    """
    decoder = StreamDecoder(media_type, max_depth=max_depth)
    events = decoder.feed(body)
    return events + decoder.close()
