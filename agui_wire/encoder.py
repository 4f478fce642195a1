"""EventEncoder: events to bytes, on the wire that the Accept header asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, Literal

import msgspec
from msgspec.structs import astuple

from ._json import DEFAULT_MAX_DEPTH, DEFAULT_MAX_FRAME_SIZE, deeper_than, escape
from ._plain import Policy, Warn, plain
from ._sdk import sdk_model, sdk_object, sdk_text
from ._spelling import camelise
from ._warnings import OnWarning, WarningLog
from .codecs import WIRES, native
from .codecs.protobuf.shapes import has_place
from .errors import EncodeError, MalformedEvent
from .events import EVENT_CLASSES, BaseEvent
from .media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, negotiate, wire_of
from .pipeline.enforce import clean, convert
from .pipeline.retired import RETIRED_TYPES, RetiredShapes

__all__ = ["EventEncoder", "encode"]

# Google's own runtimes read no deeper (protocol page "wire").
_PORTABLE_DEPTH = 32

# The digits that Python turns into text: 4300, in bits.
_MAX_TEXT_BITS = 14284

_PART = re.compile(r"/messages/[0-9]+/content/[0-9]+$")
_STRUCTS = frozenset(EVENT_CLASSES.values())
# As most of a stream holds; msgspec writes other values in its own way.
_ATOMS = frozenset((str, int, bool, type(None)))

_PATCHES = {"STATE_DELTA": "delta", "ACTIVITY_DELTA": "patch"}

_CHOICES = {
    "lossy_int": ("raise", "round", "string"),
    "non_finite": ("null", "raise"),
    "surrogates": ("replace", "raise"),
}


def _fits_text(value: int) -> bool:
    return value.bit_length() <= _MAX_TEXT_BITS


def _fits_double(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _fits_msgpack(value: int) -> bool:
    return -(2**63) <= value < 2**64


_HOLDS_INT: dict[str, Callable[[int], bool]] = {
    SSE_MEDIA_TYPE: _fits_text,
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
        settings = (self._content_type, max_frame_size, self._policy, on_warning)
        methods = _native_methods(*settings) if on_warning is None else _methods(*settings)
        if methods:
            # What callers call is the native callable itself: a method around it costs as much.
            self.__dict__.update(methods if type(self) is EventEncoder else _own(self, methods))

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
        if self._content_type == SSE_MEDIA_TYPE:
            return self._encode_sse(event)
        return self._encode(event, self._content_type)

    def encode_binary(self, event: Any) -> bytes:
        """One event as bytes, whatever was negotiated. Raises EncodeError as `encode` does."""
        framed: str | bytes = self.encode(event)
        return framed.encode() if isinstance(framed, str) else framed

    def encode_many(self, events: Iterable[Any]) -> bytes:
        """Events as the bytes of one write. Raises EncodeError for the first that fails."""
        return b"".join([self.encode_binary(event) for event in events])

    def _encode_sse(self, event: Any) -> str:
        """One event as SSE text, whatever was negotiated: `ag_ui` callers override it."""
        return self._encode(event, SSE_MEDIA_TYPE).decode()

    def _encode(self, event: Any, media_type: str) -> bytes:
        return _framed(media_type, self._max_frame_size, self._policy, self._on_warning, event)


def _framed(
    media_type: str,
    max_frame_size: int,
    policy: Policy,
    on_warning: OnWarning | None,
    event: Any,
) -> bytes:
    wire = WIRES[media_type]
    payload = _encode_flat(event, wire)
    if payload is None:
        payload = _encode_slowly(event, media_type, policy, WarningLog(on_warning).warn)
    framed: bytes = wire.frame(payload)
    if len(framed) > max_frame_size:
        WarningLog(on_warning).warn(
            "frame-size",
            "",
            f"wrote a frame of {len(framed)} bytes; peers refuse more than {max_frame_size}",
        )
    return framed


def _methods(
    media_type: str, max_frame_size: int, policy: Policy, on_warning: OnWarning | None
) -> dict[str, Callable[[Any], Any]]:
    """The native engine's `encode`, `encode_binary` and `encode_many`, where it has this wire."""
    framed = partial(_framed, media_type, max_frame_size, policy, on_warning)
    return native.encoder_methods(media_type, max_frame_size, policy.max_depth, framed)


# Encoders keep nothing between calls, so those of one kind may share a native one.
_native_methods = lru_cache(maxsize=64)(_methods)

# What each method calls, and so what a subclass must have left alone for the native one.
_CALLS = {
    "encode": ("encode", "_encode_sse", "_encode"),
    "encode_binary": ("encode_binary", "encode", "_encode_sse", "_encode"),
    "encode_many": ("encode_many", "encode_binary", "encode", "_encode_sse", "_encode"),
}


def _own(
    encoder: EventEncoder, methods: dict[str, Callable[[Any], Any]]
) -> dict[str, Callable[[Any], Any]]:
    """Those of `methods` that take the place of nothing that a subclass overrides."""
    cls = type(encoder)
    return {
        name: method
        for name, method in methods.items()
        if all(getattr(cls, each) is getattr(EventEncoder, each) for each in _CALLS[name])
    }


def encode(event: Any, media_type: str, **options: Any) -> bytes:
    """One event as one frame of the wire `media_type`; `options` are EventEncoder's.

    Raises EncodeError for what the wire cannot carry, ValueError where `media_type` is no wire.
    """
    return EventEncoder(wire_of(media_type), **options).encode_binary(event)


def _encode_flat(event: Any, wire: ModuleType) -> bytes | None:
    """The payload of a Struct that holds only atoms, or None where there is more to look at.

    What was written is read back strictly: a Struct does not check what it is given.
    """
    if type(event) not in _STRUCTS or not _ATOMS.issuperset(map(type, astuple(event))):
        return None
    try:
        payload: bytes = wire.encode_flat(event)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError):
        return None
    return payload


def _encode_slowly(event: Any, media_type: str, policy: Policy, warn: Warn) -> bytes:
    cls: type = type(event)
    model = sdk_model(cls)
    if model is not None and model.is_event:
        if media_type == SSE_MEDIA_TYPE:
            text = sdk_text(event, model, policy, warn)
            if text is not None:
                return text
        event = sdk_object(event, model, policy.max_depth)
    elif not isinstance(event, (dict, BaseEvent)):
        raise EncodeError(f"{cls.__name__} is no event")
    obj = _spelled(plain(event, policy, warn, _HOLDS_INT[media_type]))
    upgraded = RetiredShapes().translate(obj, _ignore)
    payload: bytes
    if media_type == SSE_MEDIA_TYPE:
        # Retired shapes leave as they came: SSE peers may be as old as the application.
        _validate(upgraded, _ignore)
        payload = WIRES[media_type].encode_object(obj)
        return payload
    if obj["type"] in RETIRED_TYPES:
        raise EncodeError(
            f"{obj['type']} has no form on a binary wire since protocol 1.0: send "
            f"{upgraded['type']}, or write through a response of agui_wire.http",
            "/type",
        )
    valid, extras = _validate(upgraded, warn)
    if media_type == AGUI_MEDIA_TYPE:
        _warn_of_losses(valid, extras, warn)
        upgraded = valid
    payload = WIRES[media_type].encode_object(upgraded)
    return payload


def _ignore(kind: str, path: str, message: str) -> None:
    pass


def _spelled(obj: dict[str, Any]) -> dict[str, Any]:
    """A plain object in the protocol's spelling; nothing is judged but its being an event."""
    kind = obj.get("type")
    if type(kind) is not str:
        raise EncodeError("an event has a string type", "/type")
    if kind in RETIRED_TYPES:
        successor = EVENT_CLASSES[RETIRED_TYPES[kind][0]]
        return camelise(successor, {k: v for k, v in obj.items() if v is not None})
    if kind not in EVENT_CLASSES:
        raise EncodeError(f"{kind!r} is no event type of protocol 1.0", "/type")
    return camelise(EVENT_CLASSES[kind], obj)


def _validate(obj: dict[str, Any], warn: Warn) -> tuple[dict[str, Any], list[str]]:
    """The described part of a valid event, and the paths of what is not described."""
    extras: list[str] = []

    def judge(kind: str, path: str, message: str) -> None:
        if kind == "unknown-property":
            extras.append(path)
        elif _PART.search(path) and "'binary'" in message:
            warn(kind, path, f"{message}: it has only an id")
        elif kind != "null":
            # What enforcement would do about it is no matter here.
            raise EncodeError(message.partition(": ")[2] or message, path)

    try:
        valid = clean(obj, judge)
        assert valid is not None
        convert(valid, EVENT_CLASSES[valid["type"]])
    except MalformedEvent as error:
        raise EncodeError(error.reason, error.path) from None
    return valid, extras


def _warn_of_losses(valid: dict[str, Any], extras: list[str], warn: Warn) -> None:
    patch = _PATCHES.get(valid["type"])
    operations: list[dict[str, Any]] = [] if patch is None else valid[patch]
    for index, operation in enumerate(operations):
        extras += [
            f"/{patch}/{index}/{escape(member)}"
            for member, value in operation.items()
            if not has_place(member, value)
        ]
    for path in extras:
        warn("lost-property", path, "protobuf has no place for this property")
    if deeper_than(valid, _PORTABLE_DEPTH):
        warn(
            "depth",
            "",
            f"JSON nests deeper than {_PORTABLE_DEPTH} levels, which some runtimes refuse",
        )
