"""The SDK's own `ag_ui.encoder.EventEncoder`, made to write with this package's.

For servers whose code is not theirs to change: frameworks that use the SDK's encoder. Methods of
the class are replaced, so that whoever imported it earlier follows.
"""

from __future__ import annotations

import logging
import sys
from functools import lru_cache
from types import CodeType
from typing import Any, Literal

from ._sdk import sdk_model
from .encoder import EventEncoder
from .errors import EncodeError
from .media_types import SSE_MEDIA_TYPE, negotiate

__all__ = ["install", "uninstall"]

logger = logging.getLogger("agui_wire")

_SSE = EventEncoder()

# What stood in the SDK's class where a method of ours is; None where nothing did.
_originals: dict[str, Any] = {}

# Code that asks the encoders it makes for their content type, and code that was told it does not.
_asking: set[CodeType] = set()
_told: set[CodeType] = set()

_options: dict[str, Any] = {}


def install(*, lossy_int: Literal["raise", "round", "string"] = "raise") -> tuple[str, ...]:
    """Make `ag_ui.encoder.EventEncoder` write with this package's encoder.

    On SSE the text stays what the SDK writes; what ours refuses is left to the SDK. An encoder
    made with an Accept header that names a binary wire gives bytes from `encode`, and
    `get_content_type` says so. On SSE stay, because else the answer would not be what its
    Content-Type says or what the application wants:

    - encoders made without Accept;
    - encoders of code that writes before it asks for the content type, as code does that has
      `text/event-stream` spelt out (a warning names it);
    - subclasses with an `encode`, `_encode_sse` or `get_content_type` of their own.

    `lossy_int` is EventEncoder's, for the binary wires: some frameworks break an answer off
    where an event raises EncodeError.

    Returns the names of what was replaced, none where it is installed already; the logger
    `agui_wire` says the same. Raises ImportError where there is no `ag_ui`, ValueError for an
    option that there is not.
    """
    cls = _sdk_encoder()
    if _originals:
        return ()
    EventEncoder(lossy_int=lossy_int)
    _options["lossy_int"] = lossy_int
    _binary.cache_clear()
    for name, method in _METHODS.items():
        _originals[name] = cls.__dict__.get(name)
        setattr(cls, name, method)
    names = _names(cls)
    logger.info("installed: replaced %s", ", ".join(names))
    return names


def uninstall() -> tuple[str, ...]:
    """Give the SDK's class back what `install` replaced.

    An encoder that was made for a binary wire goes on with it, so that no answer changes its
    wire in the middle. Returns the names of what was given back, none where nothing is
    installed; the logger `agui_wire` says the same.
    """
    if not _originals:
        return ()
    cls = _sdk_encoder()
    for name, original in _originals.items():
        if original is None:
            delattr(cls, name)
        else:
            setattr(cls, name, original)
    for memory in (_originals, _asking, _told):
        memory.clear()
    _writes_text.cache_clear()
    names = _names(cls)
    logger.info("uninstalled: restored %s", ", ".join(names))
    return names


def _sdk_encoder() -> Any:
    try:
        from ag_ui.encoder import EventEncoder as cls
    except ImportError:
        raise ImportError(
            "dropin replaces methods of ag_ui.encoder.EventEncoder, and there is none: "
            "install ag-ui-protocol"
        ) from None
    return cls


def _names(cls: Any) -> tuple[str, ...]:
    return tuple(f"{cls.__module__}.{cls.__qualname__}.{name}" for name in _METHODS)


@lru_cache(maxsize=512)
def _binary(accept: str) -> dict[str, Any] | None:
    """What an encoder holds that writes on the wire `accept` names; None for SSE.

    Held by the encoder, not its class: that makes it keep its wire, and costs least per event.
    """
    if negotiate(accept) == SSE_MEDIA_TYPE:
        return None
    ours = EventEncoder(accept, **_options)
    names = ("encode", "encode_binary", "get_content_type")
    return {name: getattr(ours, name) for name in names}


@lru_cache(maxsize=1024)
def _writes_text(cls: type) -> bool:
    """Whether a class has a say in its text, which would be lost on another wire."""
    return any(
        getattr(cls, name) is not _METHODS[name]
        for name in ("encode", "_encode_sse", "get_content_type")
    )


def _init(self: Any, accept: Any = None) -> None:
    # The SDK takes anything here. Frameworks make an encoder per event, so this has to be quick.
    if not accept or type(accept) is not str:
        return
    methods = _binary(accept)
    cls: type = type(self)
    if methods is None or _writes_text(cls):
        return
    code = sys._getframe(1).f_code
    if code in _asking:
        self.__dict__.update(methods)
    else:
        self._agui_wire = (methods, code)


def _get_content_type(self: Any) -> str:
    methods, code = self.__dict__.pop("_agui_wire", (None, None))
    if methods is None:
        return SSE_MEDIA_TYPE
    _asking.add(code)
    self.__dict__.update(methods)
    content_type: str = self.get_content_type()
    return content_type


def _encode(self: Any, event: Any) -> str:
    if "_agui_wire" in self.__dict__:
        _stay_on_sse(self.__dict__.pop("_agui_wire")[1])
    text: str = self._encode_sse(event)
    return text


def _encode_sse(self: Any, event: Any) -> str:
    cls: type = type(event)
    model = sdk_model(cls)
    if model is not None and model.fields is None:
        # Only its own serialiser knows its text, and the SDK calls that with fewer steps.
        own: str = _originals["_encode_sse"](self, event)
        return own
    try:
        text: str = _SSE.encode(event)
    except EncodeError:
        text = _originals["_encode_sse"](self, event)
    return text


def _encode_binary(self: Any, event: Any) -> bytes:
    text: str = self.encode(event)
    return text.encode()


def _stay_on_sse(code: CodeType) -> None:
    if code not in _told:
        _told.add(code)
        logger.warning(
            "%s (%s, line %d) writes events before it asks for their content type: they stay SSE",
            code.co_name,
            code.co_filename,
            code.co_firstlineno,
        )


_METHODS = {
    "__init__": _init,
    "get_content_type": _get_content_type,
    "encode": _encode,
    "_encode_sse": _encode_sse,
    "encode_binary": _encode_binary,
}
