"""EventEncoder: events to bytes, on the wire that the Accept header asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Literal

import msgspec

from ._json import (
    DEFAULT_MAX_DEPTH,
    DEFAULT_MAX_FRAME_SIZE,
    deeper_than,
    split_error,
)
from ._plain import Policy, plain
from ._sdk import SdkModel, sdk_model, sdk_object, sdk_text
from ._spelling import camelise
from ._warnings import OnWarning, WarningLog
from .codecs import WIRES
from .codecs._nested import is_flat
from .errors import EncodeError, MalformedEvent
from .events import BaseEvent
from .media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, negotiate, wire_of
from .pipeline.enforce import EVENT_CLASSES, clean
from .pipeline.retired import RETIRED_TYPES, RetiredShapes

__all__ = ["EventEncoder", "encode"]

# Google's own runtimes read no deeper (protocol page "wire").
_PORTABLE_DEPTH = 32

_OPERATION_MEMBERS = {"op", "path", "from", "value"}
_PATCHES = {"STATE_DELTA": "delta", "ACTIVITY_DELTA": "patch"}

_CHOICES = {
    "lossy_int": ("raise", "round", "string"),
    "non_finite": ("null", "raise"),
    "surrogates": ("replace", "raise"),
}


def _fits_double(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _fits_msgpack(value: int) -> bool:
    return -(2**63) <= value < 2**64


_HOLDS_INT: dict[str, Callable[[int], bool] | None] = {
    SSE_MEDIA_TYPE: None,
    AGUI_MEDIA_TYPE: _fits_double,
    MSGPACK_MEDIA_TYPE: _fits_msgpack,
}


class EventEncoder:
    """Writes events on one wire; a drop-in for `ag_ui.encoder.EventEncoder`.

    `accept` is the request's Accept header; the wire is chosen once, by `negotiate`. Events are
    this package's Structs, dicts (camelCase or snake_case) and the models of `ag_ui`. The
    encoder keeps nothing between calls, so one may serve all requests.

    `max_frame_size` (bytes) is what peers read by default: a larger frame is written, with a
    warning. `max_depth` counts JSON levels, the event being level 1. `lossy_int` says what
    becomes of an integer that the wire cannot hold exactly: "raise", "round" (to a double) or
    "string". `non_finite` and `surrogates` do the same for NaN and infinities ("null", "raise")
    and for half a surrogate pair ("replace", "raise"). Whatever is lost is told to `on_warning`
    (a StreamWarning) and to the logger `agui_wire`.
    """

    def __init__(
        self,
        accept: str | None = None,
        *,
        wildcards: bool = False,
        max_frame_size: int = DEFAULT_MAX_FRAME_SIZE,
        max_depth: int = DEFAULT_MAX_DEPTH,
        lossy_int: Literal["raise", "round", "string"] = "raise",
        non_finite: Literal["null", "raise"] = "null",
        surrogates: Literal["replace", "raise"] = "replace",
        on_warning: OnWarning | None = None,
    ) -> None:
        self._content_type = negotiate(accept, wildcards=wildcards)
        self._max_frame_size = max_frame_size
        self._on_warning = on_warning
        for name, value in (
            ("lossy_int", lossy_int),
            ("non_finite", non_finite),
            ("surrogates", surrogates),
        ):
            if value not in _CHOICES[name]:
                raise ValueError(f"{name} is one of {_CHOICES[name]}, not {value!r}")
        self._policy = Policy(max_depth, lossy_int, non_finite, surrogates)

    @property
    def content_type(self) -> str:
        """The response's Content-Type, exactly as it has to be sent."""
        return self._content_type

    def get_content_type(self) -> str:
        """The same as `content_type`, under the SDK's name."""
        return self._content_type

    def encode(self, event: Any) -> Any:
        """One event: text on SSE, as `ag_ui` callers expect, bytes on a binary wire.

        Raises EncodeError with the JSON Pointer of what the wire cannot carry.
        """
        framed = self._encode(event, self._content_type)
        return framed.decode() if self._content_type == SSE_MEDIA_TYPE else framed

    def encode_binary(self, event: Any) -> bytes:
        """One event as bytes, whatever was negotiated. Raises EncodeError as `encode` does."""
        return self._encode(event, self._content_type)

    def encode_many(self, events: Iterable[Any]) -> bytes:
        """Events as the bytes of one write. Raises EncodeError for the first that fails."""
        media_type = self._content_type
        return b"".join([self._encode(event, media_type) for event in events])

    def _encode_sse(self, event: Any) -> str:
        """One event as SSE text, whatever was negotiated (the SDK's subclasses call this)."""
        return self._encode(event, SSE_MEDIA_TYPE).decode()

    def _encode(self, event: Any, media_type: str) -> bytes:
        wire = WIRES[media_type]
        payload = _encode_flat(event, wire)
        if payload is None:
            log = WarningLog(self._on_warning)
            policy = self._policy._replace(holds_int=_HOLDS_INT[media_type])
            payload = _encode_slowly(event, wire, media_type, policy, log)
        framed: bytes = wire.frame(payload)
        if len(framed) > self._max_frame_size:
            WarningLog(self._on_warning).warn(
                "frame-size",
                "",
                f"wrote a frame of {len(framed)} bytes; peers refuse more than "
                f"{self._max_frame_size} by default",
            )
        return framed


def encode(event: Any, media_type: str, **options: Any) -> bytes:
    """One event as one frame of the wire `media_type`; `options` are EventEncoder's.

    Raises EncodeError for what the wire cannot carry, ValueError where `media_type` is no wire.
    """
    return EventEncoder(wire_of(media_type), **options).encode_binary(event)


def _encode_flat(event: Any, wire: ModuleType) -> bytes | None:
    """The payload of a Struct that holds no open JSON, or None where there is more to look at.

    What was written is read back strictly: a Struct does not check what it is given.
    """
    if not isinstance(event, BaseEvent) or not is_flat(event):
        return None
    try:
        payload: bytes = wire.encode_flat(event)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError):
        return None
    return payload


def _encode_slowly(
    event: Any, wire: ModuleType, media_type: str, policy: Policy, log: WarningLog
) -> bytes:
    cls: type = type(event)
    model = None if isinstance(event, (dict, msgspec.Struct)) else sdk_model(cls)
    payload: bytes | None
    if model is not None and media_type == SSE_MEDIA_TYPE:
        payload = sdk_text(event, model, policy.max_depth)
        if payload is not None:
            return payload
    obj = _plain_object(event, model, policy, log)
    upgraded = RetiredShapes().translate(obj, _ignore)
    if media_type != SSE_MEDIA_TYPE and obj["type"] in RETIRED_TYPES:
        raise EncodeError(
            f"{obj['type']} has no form on a binary wire since protocol 1.0: send "
            f"{RETIRED_TYPES[obj['type']][0]}, or write through a response of agui_wire.http",
            "/type",
        )
    valid, extras = _validate(upgraded, log)
    if media_type == SSE_MEDIA_TYPE:
        # Retired shapes leave as they came: SSE peers may be as old as the application.
        payload = wire.encode_object(obj)
    elif media_type == MSGPACK_MEDIA_TYPE:
        payload = wire.encode_object(upgraded)
    else:
        _warn_of_losses(valid, extras, log)
        payload = wire.encode_object(valid)
    assert payload is not None
    return payload


def _ignore(kind: str, path: str, message: str) -> None:
    pass


def _plain_object(
    event: Any, model: SdkModel | None, policy: Policy, log: WarningLog
) -> dict[str, Any]:
    """The event as a plain JSON object in camelCase; nothing is judged but its being an event."""
    is_struct = isinstance(event, BaseEvent)
    if model is not None:
        event = sdk_object(event, model, policy.max_depth)
    elif not is_struct and not isinstance(event, dict):
        raise EncodeError(f"{type(event).__name__} is no event")
    obj: dict[str, Any] = plain(event, policy, log.warn)
    kind = obj.get("type")
    if type(kind) is not str:
        raise EncodeError("an event has a string type", "/type")
    cls = EVENT_CLASSES.get(kind)
    if cls is None:
        if kind in RETIRED_TYPES:
            return obj
        raise EncodeError(f"{kind!r} is no event type of protocol 1.0", "/type")
    return obj if is_struct else camelise(cls, obj)


def _validate(obj: dict[str, Any], log: WarningLog) -> tuple[dict[str, Any], list[str]]:
    """The described part of a valid event, and the paths of what is not described."""
    extras: list[str] = []

    def judge(kind: str, path: str, message: str) -> None:
        if kind == "unknown-property":
            extras.append(path)
        elif kind == "unknown-member" and "'binary'" in message:
            log.warn(kind, path, f"{message}: it has only an id")
        elif kind != "null":
            raise EncodeError(message, path)

    try:
        valid = clean(obj, judge)
        assert valid is not None
        msgspec.convert(valid, EVENT_CLASSES[valid["type"]])
    except MalformedEvent as error:
        raise EncodeError(error.reason, error.path) from None
    except msgspec.ValidationError as error:
        raise EncodeError(*split_error(error)) from None
    return valid, extras


def _warn_of_losses(valid: dict[str, Any], extras: list[str], log: WarningLog) -> None:
    for path in extras:
        log.warn("lost-property", path, "protobuf has no place for this property")
    patch = _PATCHES.get(valid["type"])
    operations: list[dict[str, Any]] = [] if patch is None else valid[patch]
    for index, operation in enumerate(operations):
        for member in operation.keys() - _OPERATION_MEMBERS:
            log.warn(
                "lost-property",
                f"/{patch}/{index}/{member}",
                "protobuf has no place for this member of a patch operation",
            )
    if deeper_than(valid, _PORTABLE_DEPTH):
        log.warn(
            "depth",
            "",
            f"JSON nests deeper than {_PORTABLE_DEPTH} levels, which some runtimes refuse",
        )
