"""A run's events on their way out: what a server promises about the stream as a whole."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from .._json import DEFAULT_MAX_DEPTH
from .._sdk import sdk_model, sdk_object
from .._warnings import StreamWarning, WarningLog
from ..decoder import EventReader, FrameReader
from ..encoder import EventEncoder
from ..errors import EncodeError
from ..events import EVENT_CLASSES, RunErrorEvent
from ..media_types import PROTOCOL_VERSION, SSE_MEDIA_TYPE
from ..pipeline.expand import ChunkExpander
from ..pipeline.retired import RETIRED_TYPES, RetiredShapes
from ..pipeline.verify import SequenceVerifier
from ._coalesce import MAX_MERGED, Merged, merge_key

__all__ = ["StreamWriter"]

logger = logging.getLogger("agui_wire")

# Where a delta's id stands, by event type; halves of a character meet in one such delta stream.
_MESSAGE_ID = ("message_id", "messageId")
_TOOL_CALL_ID = ("tool_call_id", "toolCallId")
_DELTA_IDS = {
    "TEXT_MESSAGE_CONTENT": _MESSAGE_ID,
    "TEXT_MESSAGE_CHUNK": _MESSAGE_ID,
    "TOOL_CALL_ARGS": _TOOL_CALL_ID,
    "TOOL_CALL_CHUNK": _TOOL_CALL_ID,
    "REASONING_MESSAGE_CONTENT": _MESSAGE_ID,
    "REASONING_MESSAGE_CHUNK": _MESSAGE_ID,
}
_DELTAS = frozenset(EVENT_CLASSES[name] for name in _DELTA_IDS)
_AFTER_TERMINAL = {"RUN_FINISHED": ("RUN_STARTED", "RUN_ERROR"), "RUN_ERROR": ("RUN_STARTED",)}


class StreamWriter:
    """Turns a run's events into bytes of one wire, and keeps the stream well-formed.

    It fills in RUN_STARTED.protocolVersion, translates THINKING_* for the binary wires, joins
    surrogate pairs that two deltas split, tells each kind of warning once, and writes nothing
    after a terminal event but what the protocol admits (page "processing", "HTTP").

    `accept` is the request's Accept header, `encoder_options` are those of EventEncoder. With
    `verify`, each event is held to the sequence rules before it is written. With `coalesce`,
    adjacent deltas of one kind and id become one event: `merging` is true while one is held
    back, and `flush` gives it.
    """

    def __init__(
        self,
        accept: str | None,
        *,
        verify: bool = False,
        coalesce: bool = False,
        **encoder_options: Any,
    ) -> None:
        self._warnings = WarningLog(encoder_options.pop("on_warning", None))
        self._encoder = EventEncoder(accept, on_warning=self._warn, **encoder_options)
        self._encode = self._encoder.encode_binary
        self.content_type = self._encoder.content_type
        max_depth = encoder_options.get("max_depth", DEFAULT_MAX_DEPTH)
        self._judge = _Judge(self.content_type, max_depth, self._warnings) if verify else None
        self._retired = RetiredShapes()
        self._terminal: str | None = None
        self._halves: dict[str, Any] = {}
        self._coalesce = coalesce
        self._merged: Merged | None = None
        self._is_plain = not (verify or coalesce)

    @property
    def ended(self) -> bool:
        """Whether the run has its terminal event."""
        return self._terminal is not None

    @property
    def merging(self) -> bool:
        """Whether `flush` would give a delta."""
        return self._merged is not None

    def write(self, event: Any) -> bytes:
        """The bytes to send for an event, empty where it is held back or not admitted.

        Raises EncodeError, and with `verify` also StreamError: ProtocolViolation.
        """
        if type(event) in _DELTAS and self._is_plain and not self._halves and not self.ended:
            text = event.delta
            if type(text) is str and text and not "\ud800" <= text[-1] <= "\udbff":
                return self._encode(event)
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
            if _member(event, "protocol_version", "protocolVersion") is None:
                event = _changed(event, protocol_version=PROTOCOL_VERSION)
        elif kind in RETIRED_TYPES and self.content_type != SSE_MEDIA_TYPE:
            event = self._retired.translate(_as_dict(event), self._warnings.warn)
        framed = self._encode(event)
        if self._judge is not None:
            self._judge.check(framed)
        if kind == "RUN_STARTED":
            self._terminal = None
        elif kind in _AFTER_TERMINAL:
            self._terminal = kind
        if self._coalesce:
            return self._merge(kind, event, before, framed)
        return before + framed

    def flush(self) -> bytes:
        """The delta that was held back to be merged with the next ones."""
        merged, self._merged = self._merged, None
        if merged is None:
            return b""
        if len(merged.deltas) == 1:
            return merged.framed
        return self._encode(_changed(merged.event, delta="".join(merged.deltas)))

    def fail(self, message: str, code: str | None = None) -> bytes:
        """The one RUN_ERROR that ends a run which has no terminal event; empty where it has."""
        if self._terminal is not None:
            return b""
        held = self.flush()
        self._halves.clear()
        self._terminal = "RUN_ERROR"
        try:
            return held + self._encode(RunErrorEvent(message=message, code=code))
        except EncodeError:
            message = message.encode("utf-8", "backslashreplace").decode()
            return held + self._encode(RunErrorEvent(message=message))

    def close(self) -> None:
        """The end of the stream: tells how often repeated warnings came."""
        self._warnings.close()

    def _warn(self, warning: StreamWarning) -> None:
        self._warnings.warn(warning.kind, warning.path, warning.message)

    def _merge(self, kind: str, event: Any, before: bytes, framed: bytes) -> bytes:
        key = merge_key(kind, event) if kind in _DELTA_IDS else None
        if key is None:
            return self.flush() + before + framed
        delta = _member(event, "delta")
        merged = self._merged
        if merged is not None and merged.key == key and merged.size + len(delta) <= MAX_MERGED:
            merged.add(delta)
            return before
        flushed = self.flush()
        self._merged = Merged(key, event, framed, delta)
        return flushed + before

    def _join_halves(self, kind: str, event: Any) -> tuple[bytes, Any]:
        """Bytes to send first, and the event with whole characters (None: wait for the rest)."""
        if kind not in _DELTA_IDS:
            before = b""
            if kind in _AFTER_TERMINAL or _member(event, "delta") is None:
                before = self._flush_halves(event, kind)
            return before, event
        name = _DELTA_IDS[kind]
        key = f"{name[0]}/{_member(event, *name)}"
        delta = _member(event, "delta")
        held = self._halves.pop(key, None)
        if type(delta) is not str or not delta:
            if held is not None:
                self._halves[key] = held
            return b"", event
        if held is not None:
            delta = _member(held, "delta") + delta
        if "\ud800" <= delta[-1] <= "\udbff":
            self._halves[key] = _changed(event, delta=delta[-1])
            delta = delta[:-1]
            if not delta:
                return b"", None
        if delta != _member(event, "delta"):
            event = _changed(event, delta=_whole(delta))
        return b"", event

    def _flush_halves(self, event: Any, kind: str) -> bytes:
        """Half characters that the event leaves alone: those of its id, or all at a run's end."""
        ids = {f"{name[0]}/{_member(event, *name)}" for name in (_MESSAGE_ID, _TOOL_CALL_ID)}
        ends_run = kind in _AFTER_TERMINAL
        lone = [key for key in self._halves if ends_run or key in ids]
        if not lone:
            return b""
        frames = [self._encode(self._halves.pop(key)) for key in lone]
        return self.flush() + b"".join(frames)


class _Judge:
    """Holds what is written to the rules that readers apply."""

    def __init__(self, content_type: str, max_depth: int, warnings: WarningLog) -> None:
        self._payload = FrameReader(content_type).payload
        self._reader = EventReader(content_type, max_depth, warnings)
        self._expander = ChunkExpander()
        self._verifier = SequenceVerifier(warnings)

    def check(self, framed: bytes) -> None:
        """Raises StreamError, with what is wrong with the event in one frame."""
        for event in self._reader.read(self._payload(framed)):
            for expanded in self._expander.expand(event):
                self._verifier.verify(expanded)


def _whole(text: str) -> str:
    """`text` with its surrogate pairs as characters; lone halves stay."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


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
