"""Encoders and decoders of one engine, whatever the environment says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agui_wire import AGUI_MEDIA_TYPE, StreamDecoder, StreamWarning, encoder
from agui_wire.codecs import native
from agui_wire.errors import StreamError

__all__ = [
    "ENGINE",
    "Refused",
    "build",
    "native_encoder",
    "outcome",
    "reference",
    "sieve",
    "without_native",
]

if native.load() is None:
    pytest.skip("the native engine was not built, or is switched off", allow_module_level=True)

ENGINE: Any = native.load()


class Refused(Exception):
    """The native engine hands an event back."""


@contextmanager
def without_native() -> Iterator[None]:
    """Within it, what is made is served by the pure engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "load", lambda: None)
        encoder._native_methods.cache_clear()
        yield
    encoder._native_methods.cache_clear()


def build(cls: Any, *args: Any, **options: Any) -> Any:
    """An encoder or decoder as a caller makes it."""
    return cls(*args, **options)


def reference(cls: Any, *args: Any, **options: Any) -> Any:
    """An encoder or decoder that the pure engine serves."""
    with without_native():
        return cls(*args, **options)


def native_encoder(media_type: str) -> Any:
    """A native encoder that raises Refused instead of handing back."""

    def refuse(event: Any) -> bytes:
        raise Refused

    return ENGINE.Encoder(refuse, 2**20, 100, native._WIRES[media_type])


def sieve() -> Callable[[bytes], list[Any] | None]:
    """Gives what the native engine alone reads from one whole frame, or None where it hands it
    back."""
    handed: list[bytes] = []

    def hand_back(events: list[Any], frames: int, size: int, data: bytes) -> bool:
        handed.append(data)
        return True

    decoder = ENGINE.Decoder(hand_back, hand_back, 2**24, 100, False, None, False)

    def read(frame: bytes) -> list[Any] | None:
        events: list[Any] = decoder.feed(frame)
        if not handed:
            return events
        assert handed == [frame]
        assert events == []
        handed.clear()
        return None

    return read


def _next_error(decoder: Any) -> str:
    try:
        return repr(decoder.feed(b""))
    except StreamError as error:
        return f"{type(error)} {error}"


def outcome(make: Callable[..., Any], chunks: list[bytes], **options: Any) -> Any:
    """Everything that a caller can see of one stream: events, warnings, and the error with its
    place, each as text, so that 1 and 1.0 differ."""
    warnings: list[StreamWarning] = []
    media_type = options.pop("media_type", AGUI_MEDIA_TYPE)
    decoder = make(StreamDecoder, media_type, on_warning=warnings.append, **options)
    seen: list[Any] = []
    try:
        for chunk in chunks:
            seen.append(repr(decoder.feed(chunk)))
        seen.append(repr(decoder.close()))
    except StreamError as error:
        seen.append((type(error), str(error), error.event_index, error.offset))
        seen.append(_next_error(decoder))
    return seen, warnings
