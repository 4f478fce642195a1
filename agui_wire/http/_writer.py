"""A run's events on their way out: what a server promises about the stream as a whole."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from .._sdk import sdk_model, sdk_object
from .._warnings import StreamWarning, WarningLog
from ..encoder import EventEncoder
from ..events import RunErrorEvent
from ..media_types import PROTOCOL_VERSION, SSE_MEDIA_TYPE
from ..pipeline.retired import RETIRED_TYPES, RetiredShapes

__all__ = ["StreamWriter"]

logger = logging.getLogger("agui_wire")

# Where a delta's id stands, by event type; halves of a character meet in one such delta stream.
_DELTA_IDS = {
    "TEXT_MESSAGE_CONTENT": "message_id",
    "TEXT_MESSAGE_CHUNK": "message_id",
    "TOOL_CALL_ARGS": "tool_call_id",
    "TOOL_CALL_CHUNK": "tool_call_id",
    "REASONING_MESSAGE_CONTENT": "message_id",
    "REASONING_MESSAGE_CHUNK": "message_id",
}
_AFTER_TERMINAL = {"RUN_FINISHED": ("RUN_STARTED", "RUN_ERROR"), "RUN_ERROR": ("RUN_STARTED",)}


class StreamWriter:
    """Turns a run's events into bytes of one wire, and keeps the stream well-formed.

    It fills in RUN_STARTED.protocolVersion, translates THINKING_* for the binary wires, joins
    surrogate pairs that two deltas split, tells each kind of warning once, and writes nothing
    after a terminal event but what the protocol admits (page "processing", "HTTP").
    """

    def __init__(self, accept: str | None, **encoder_options: Any) -> None:
        self._warnings = WarningLog(encoder_options.pop("on_warning", None))
        self._encoder = EventEncoder(accept, on_warning=self._warn, **encoder_options)
        self.content_type = self._encoder.content_type
        self._retired = RetiredShapes()
        self._terminal: str | None = None
        self._halves: dict[str, Any] = {}

    @property
    def ended(self) -> bool:
        """Whether the run has its terminal event."""
        return self._terminal is not None

    def write(self, event: Any) -> bytes:
        """The bytes to send for an event, empty where it is held back or not admitted.

        Raises EncodeError.
        """
        kind = _member(event, "type")
        kind = getattr(kind, "value", kind)
        if self._terminal is not None and kind not in _AFTER_TERMINAL[self._terminal]:
            logger.warning("an agent sent %s after %s; it is not written", kind, self._terminal)
            return b""
        before = b""
        if kind in _DELTA_IDS or self._halves:
            before, event = self._join_halves(kind, event)
            if event is None:
                return before
        if kind == "RUN_STARTED":
            self._terminal = None
            if _member(event, "protocol_version", "protocolVersion") is None:
                event = _changed(event, protocol_version=PROTOCOL_VERSION)
        elif kind in RETIRED_TYPES and self.content_type != SSE_MEDIA_TYPE:
            event = self._retired.translate(_as_dict(event), self._warnings.warn)
        framed = self._encoder.encode_binary(event)
        if kind in _AFTER_TERMINAL:
            self._terminal = kind
        return before + framed

    def fail(self, message: str, code: str | None = None) -> bytes:
        """The one RUN_ERROR that ends a run which has no terminal event; empty where it has."""
        if self._terminal is not None:
            return b""
        self._halves.clear()
        self._terminal = "RUN_ERROR"
        return self._encoder.encode_binary(RunErrorEvent(message=message, code=code))

    def close(self) -> None:
        """The end of the stream: tells how often repeated warnings came."""
        self._warnings.close()

    def _warn(self, warning: StreamWarning) -> None:
        self._warnings.warn(warning.kind, warning.path, warning.message)

    def _join_halves(self, kind: str, event: Any) -> tuple[bytes, Any]:
        """Bytes to send first, and the event with whole characters (None: wait for the rest)."""
        before = b""
        if kind not in _DELTA_IDS:
            if kind in ("RUN_FINISHED", "RUN_ERROR") or _member(event, "delta") is None:
                before = self._flush_halves(event, kind)
            return before, event
        name = _DELTA_IDS[kind]
        key = f"{name}/{_member(event, name, _camel(name))}"
        delta = _member(event, "delta")
        held = self._halves.pop(key, None)
        if type(delta) is not str or not delta:
            if held is not None:
                self._halves[key] = held
            return before, event
        if held is not None:
            delta = _member(held, "delta") + delta
        if "\ud800" <= delta[-1] <= "\udbff":
            self._halves[key] = _changed(event, delta=delta[-1])
            delta = delta[:-1]
            if not delta:
                return before, None
        if delta != _member(event, "delta"):
            event = _changed(event, delta=delta)
        return before, event

    def _flush_halves(self, event: Any, kind: str) -> bytes:
        """Half characters that the event leaves alone: those of its id, or all at a run's end."""
        ids = {
            f"{name}/{_member(event, name, _camel(name))}"
            for name in ("message_id", "tool_call_id")
        }
        ends_run = kind in _AFTER_TERMINAL
        lone = [key for key in self._halves if ends_run or key in ids]
        return b"".join([self._encoder.encode_binary(self._halves.pop(key)) for key in lone])


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))


def _member(event: Any, *names: str) -> Any:
    """An event's member under any of its spellings, or None."""
    for name in names:
        value = event.get(name) if isinstance(event, dict) else getattr(event, name, None)
        if value is not None:
            return value
    return None


def _as_dict(event: Any) -> dict[str, Any]:
    if isinstance(event, dict):
        return {**event, "type": getattr(event["type"], "value", event["type"])}
    cls: type = type(event)
    model = sdk_model(cls)
    return {} if model is None else sdk_object(event, model, 10**6)


def _changed(event: Any, **members: Any) -> Any:
    """A copy of an event with other members; the caller's own is never changed."""
    if isinstance(event, msgspec.Struct):
        return msgspec.structs.replace(event, **members)
    if isinstance(event, dict):
        camel = {_camel(name): value for name, value in members.items()}
        return {key: value for key, value in event.items() if key not in members} | camel
    return {**_as_dict(event), **{_camel(name): value for name, value in members.items()}}
