"""The errors of agui_wire.

    AguiWireError
      EncodeError                 local: the event cannot be carried; the encoder stays usable
      StreamError                 remote: the peer's stream is bad
        MalformedEvent
          MalformedFrame          the bytes are no frame, or no event of this wire
          DepthExceeded           JSON nested deeper than the limit
        FrameTooLarge
        ProtocolViolation         the sequence rules
        TruncatedStream           ended inside a frame, or without a terminal event
      RunInputError               a request body that is no run input (HTTP 400)
      UnexpectedResponse          an HTTP answer that is no event stream

Paths are JSON Pointers (RFC 6901) into the event's JSON shape; `""` is the event itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .events import Event

__all__ = [
    "AguiWireError",
    "DepthExceeded",
    "EncodeError",
    "FrameTooLarge",
    "MalformedEvent",
    "MalformedFrame",
    "ProtocolViolation",
    "RunInputError",
    "StreamError",
    "TruncatedStream",
    "UnexpectedResponse",
]


class AguiWireError(Exception):
    """The root of every error that agui_wire raises on purpose."""


class EncodeError(AguiWireError):
    """An event that cannot be carried on the chosen wire.

    `path` is the JSON Pointer of the offending value, `reason` says what was expected.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        return f"{self.reason} (at {self.path})" if self.path else self.reason


class StreamError(AguiWireError):
    """A bad stream from the peer.

    `event_index` counts the frames of the stream from 0; `offset` is the byte at which that
    frame begins. Both are None until a stream reader has seen the error.
    """

    def __init__(
        self, reason: str, *, event_index: int | None = None, offset: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.event_index = event_index
        self.offset = offset

    def located(self, event_index: int, offset: int) -> StreamError:
        """The same error, with its place in the stream filled in where it is not yet known."""
        if self.event_index is None:
            self.event_index = event_index
        if self.offset is None:
            self.offset = offset
        return self

    def _details(self) -> list[str]:
        place: list[str] = []
        if self.event_index is not None:
            place.append(f"event {self.event_index}")
        if self.offset is not None:
            place.append(f"byte {self.offset}")
        return place

    def __str__(self) -> str:
        details = self._details()
        return f"{self.reason} ({', '.join(details)})" if details else self.reason


class MalformedEvent(StreamError):
    """A frame that holds no valid event; `path` points at the value that is wrong."""

    def __init__(
        self,
        reason: str,
        path: str = "",
        *,
        event_index: int | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(reason, event_index=event_index, offset=offset)
        self.path = path

    def _details(self) -> list[str]:
        return ([f"at {self.path}"] if self.path else []) + super()._details()


class MalformedFrame(MalformedEvent):
    """Bytes that are no frame, or that no event can be read from."""


class DepthExceeded(MalformedEvent):
    """JSON nested deeper than `max_depth` levels, the event object being level 1."""


class FrameTooLarge(StreamError):
    """A frame whose `size` in bytes, prefix included, is over the `limit`."""

    def __init__(
        self,
        size: int,
        limit: int,
        hint: str = "",
        *,
        event_index: int | None = None,
        offset: int | None = None,
    ) -> None:
        reason = f"a frame of {size} bytes is over the limit of {limit} bytes{hint}"
        super().__init__(reason, event_index=event_index, offset=offset)
        self.args = (size, limit, hint)
        self.size = size
        self.limit = limit


class ProtocolViolation(StreamError):
    """An event out of sequence; `event_type` and `id` name it (`id` is None where it has none)."""

    def __init__(
        self,
        reason: str,
        event_type: str = "",
        id: str | None = None,
        *,
        event_index: int | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(reason, event_index=event_index, offset=offset)
        self.event_type = event_type
        self.id = id


class TruncatedStream(StreamError):
    """The stream ended inside a frame, or before RUN_FINISHED or RUN_ERROR.

    `events` are those that the end of the stream still completed.
    """

    events: Sequence[Event] = ()


class RunInputError(AguiWireError):
    """A request body that is no RunAgentInput; `path` points at the value that is wrong."""

    http_status = 400

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        return f"{self.reason} (at {self.path})" if self.path else self.reason

    def to_dict(self) -> dict[str, Any]:
        """The JSON body of the HTTP answer."""
        return {"error": "invalid run input", "message": self.reason, "path": self.path}


class UnexpectedResponse(AguiWireError):
    """An HTTP answer that is no event stream: its status, content type and how its body begins."""

    def __init__(self, status: int, content_type: str, body: str = "") -> None:
        super().__init__(status, content_type, body)
        self.status = status
        self.content_type = content_type
        self.body = body

    def __str__(self) -> str:
        excerpt = f": {self.body}" if self.body else ""
        return f"HTTP {self.status} with content type {self.content_type!r}{excerpt}"
