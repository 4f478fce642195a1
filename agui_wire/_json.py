"""JSON values as the protocol sees them: depth, pointers, and msgspec's errors in those terms."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from .errors import DepthExceeded, MalformedEvent

DEFAULT_MAX_DEPTH = 100
"""JSON levels that are read and written; the event object is level 1 (protocol page "wire")."""

DEFAULT_MAX_FRAME_SIZE = 10 * 1024 * 1024
"""Bytes of one frame, its prefix included (protocol page "wire")."""

_CONTAINERS = (dict, list, msgspec.Struct)
_PLACE = re.compile(r" - at (?:`key` in )?`\$(.*)`$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]+|\.\.\.)\]")
_MISSING = re.compile(r"missing required field `([^`]*)`")


def escape(key: str) -> str:
    """One reference token of a JSON Pointer (RFC 6901 section 3)."""
    return key.replace("~", "~0").replace("/", "~1")


def deeper_than(value: Any, limit: int) -> bool:
    """Whether `value`, itself level 1, nests more than `limit` JSON levels. Never recurses."""
    level: list[Any] = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(limit):
        if not level:
            return False
        below: list[Any] = []
        for node in level:
            if type(node) is dict:
                children: Any = node.values()
            elif type(node) is list:
                children = node
            else:
                children = [getattr(node, name) for name in node.__struct_fields__]
            below.extend([child for child in children if isinstance(child, _CONTAINERS)])
        level = below
    return bool(level)


def too_deep(max_depth: int) -> DepthExceeded:
    """The error for JSON nested deeper than `max_depth` levels."""
    return DepthExceeded(f"JSON is nested deeper than {max_depth} levels")


def refusal(error: Exception) -> str:
    """What msgspec says of input that it cannot read, in the words of its newest version.

    Before 0.23 it left text that is not UTF-8 to Python.
    """
    return "Invalid UTF-8 encoded string" if isinstance(error, UnicodeDecodeError) else str(error)


def split_error(error: msgspec.ValidationError) -> tuple[str, str]:
    """What msgspec found wrong, as a sentence and a JSON Pointer."""
    text = str(error)
    place = _PLACE.search(text)
    path = ""
    if place is not None:
        text = text[: place.start()]
        for name, index in _STEP.findall(place.group(1)):
            path += "/" + (name or ("*" if index == "..." else index))
    missing = _MISSING.search(text)
    if missing is not None:
        path += "/" + missing.group(1)
    return text, path


def malformed(error: msgspec.ValidationError) -> MalformedEvent:
    """A strict decode's refusal as an error of this package."""
    reason, path = split_error(error)
    return MalformedEvent(reason, path)
