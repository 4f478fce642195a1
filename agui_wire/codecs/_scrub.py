"""Decoded values that a wire can carry but JSON cannot: refused, or read as JSON has them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import msgspec

from .._json import deeper_than, escape, too_deep
from ..errors import MalformedEvent

Warn = Callable[[str, str, str], None]

_FOREIGN = (bytes, bytearray, memoryview, datetime.datetime, msgspec.msgpack.Ext)


def ignore(kind: str, path: str, message: str) -> None:
    """A warning that nobody asked for."""


def scrub(value: Any, max_depth: int, warn: Warn) -> Any:
    """`value` as plain JSON: non-finite numbers become null, with a warning.

    Changes `value` in place, which nobody else holds yet. Raises DepthExceeded past `max_depth`
    levels, MalformedEvent for keys that are no strings, for binary and for extension values.
    """
    if deeper_than(value, max_depth):
        raise too_deep(max_depth)
    return _scrub(value, "", warn)


def _scrub(value: Any, path: str, warn: Warn) -> Any:
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise MalformedEvent(f"a key is a string, not {type(key).__name__}", path)
            if type(item) not in _PLAIN:
                value[key] = _scrub(item, f"{path}/{escape(key)}", warn)
    elif kind is list:
        for index, item in enumerate(value):
            if type(item) not in _PLAIN:
                value[index] = _scrub(item, f"{path}/{index}", warn)
    elif kind is float:
        if not math.isfinite(value):
            warn("non-finite", path, f"read {value} as null: JSON has no such number")
            return None
    elif isinstance(value, _FOREIGN):
        raise MalformedEvent(f"JSON has no {kind.__name__} values", path)
    return value


_PLAIN = (str, int, bool, type(None))
