"""An SSE body that an application writes, read and written again on a binary wire."""

from __future__ import annotations

import logging
from typing import Any

from .._json import DEFAULT_MAX_DEPTH
from .._warnings import OnWarning, WarningLog
from ..decoder import EventReader, FrameReader
from ..errors import EncodeError, StreamError, TruncatedStream
from ..media_types import SSE_MEDIA_TYPE
from ._writer import StreamWriter

__all__ = ["SseTranscoder"]

logger = logging.getLogger("agui_wire")


class SseTranscoder:
    """Takes an SSE body in pieces of any size and gives the frames of the events in each.

    The first event decides: where it is one of AG-UI, the body is (`is_agui` True), and whatever
    is wrong with it later becomes one RUN_ERROR, after which nothing is written (`ended`).
    Where it is anything else, the body is none of ours (`is_agui` False).
    """

    def __init__(
        self,
        accept: str,
        *,
        max_frame_size: int,
        on_warning: OnWarning | None,
        **encoder_options: Any,
    ) -> None:
        self._writer = StreamWriter(
            accept, max_frame_size=max_frame_size, on_warning=on_warning, **encoder_options
        )
        self.content_type = self._writer.content_type
        self._warnings = WarningLog(on_warning)
        self._frames = FrameReader(SSE_MEDIA_TYPE, max_frame_size=max_frame_size)
        self._events = EventReader(SSE_MEDIA_TYPE, DEFAULT_MAX_DEPTH, self._warnings)
        self._index = 0
        self.is_agui: bool | None = None
        self.ended = False

    def feed(self, data: bytes) -> bytes:
        """The frames of the events that `data` completes."""
        return self._guarded(data, at_end=False)

    def close(self) -> bytes:
        """The frame of an event that the end of the body completes, and a RUN_ERROR where the
        run has no terminal event."""
        last = self._guarded(b"", at_end=True)
        return last + self.fail("The agent ended the run without RUN_FINISHED or RUN_ERROR.")

    def fail(self, message: str) -> bytes:
        """The RUN_ERROR that ends the run, empty where it has ended."""
        if self.ended or not self.is_agui:
            return b""
        self.ended = True
        return self._writer.fail(message)

    def tell(self) -> None:
        """Tell how often repeated warnings came."""
        self._warnings.close()
        self._writer.close()

    def _guarded(self, data: bytes, *, at_end: bool) -> bytes:
        written: list[bytes] = []
        if self.ended or self.is_agui is False:
            return b""
        try:
            for frame in self._frames.close() if at_end else self._frames.feed(data):
                self._write(self._frames.payload(frame), written)
            if not at_end:
                self._frames.feed(b"")  # raises what comes after the last good frame
        except EncodeError as error:
            logger.warning("an event cannot be carried on the client's wire: %s", error)
            written.append(self.fail(f"An event of the agent cannot be sent: {error}"))
        except StreamError as error:
            if self.is_agui is None:
                self.is_agui = False
                return b""
            if at_end and not isinstance(error, TruncatedStream):
                error = TruncatedStream(f"the stream ended inside an event: {error}")
            logger.warning("the application's event stream is bad: %s", error)
            written.append(self.fail(f"The agent's event stream is bad: {error}"))
        return b"".join(written)

    def _write(self, payload: memoryview, written: list[bytes]) -> None:
        if self.is_agui is False:
            return
        self._warnings.event_index = self._index
        try:
            events = self._events.read(payload)
        except StreamError as error:
            error.event_index = self._index
            raise
        self._index += 1
        if self.is_agui is None and payload:
            self.is_agui = bool(events)
        written += [self._writer.write(event) for event in events]
