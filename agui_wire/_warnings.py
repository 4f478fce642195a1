"""Warnings about a stream: told once, counted after that."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["OnWarning", "StreamWarning", "WarningLog"]

logger = logging.getLogger("agui_wire")

# A peer can invent property names without end; past this many the log only counts.
MAX_DISTINCT_WARNINGS = 256
# And it can make a name as long as a frame: this many characters of it are kept.
MAX_TEXT = 256

# Told once per event type, which their message names.
_PER_MESSAGE = ("unknown-event", "retired")

_INDEX = re.compile(r"/[0-9]+(?=/|$)")


@dataclass(frozen=True)
class StreamWarning:
    """Something in a stream that was tolerated, and what was done about it.

    `kind` is a short stable name, `path` the JSON Pointer of the value in its event,
    `event_index` the frame's number from 0 (None outside a stream), `count` how often it was
    seen: 1 when it is first told, the total in the summary at the end of a stream.
    """

    kind: str
    path: str
    event_index: int | None
    message: str
    count: int = 1


OnWarning = Callable[[StreamWarning], None]


class WarningLog:
    """The warnings of one stream, or of one call.

    Each is logged (logger `agui_wire`) and given to `on_warning` when its kind and path are
    first seen, list indexes apart (for event types: the type); `close` tells the total of those
    that came again.
    """

    def __init__(self, on_warning: OnWarning | None = None) -> None:
        self.event_index: int | None = None
        self._on_warning = on_warning
        self._seen: dict[tuple[str, str, str], tuple[StreamWarning, int]] = {}
        self._suppressed = 0

    def warn(self, kind: str, path: str, message: str) -> None:
        """Tell of one thing that was tolerated, or count it where it was told before."""
        path, message = _clip(path), _clip(message)
        key = (kind, _INDEX.sub("/*", path), message if kind in _PER_MESSAGE else "")
        if key in self._seen:
            first, count = self._seen[key]
            self._seen[key] = (first, count + 1)
        elif len(self._seen) >= MAX_DISTINCT_WARNINGS:
            self._suppressed += 1
        else:
            warning = StreamWarning(kind, path, self.event_index, message)
            self._seen[key] = (warning, 1)
            self._tell(warning)

    def close(self) -> None:
        """Tell how often the repeated ones came; a second call tells nothing."""
        for first, count in self._seen.values():
            if count > 1:
                self._tell(
                    StreamWarning(first.kind, first.path, first.event_index, first.message, count)
                )
        if self._suppressed:
            message = f"{self._suppressed} more warnings of new kinds or paths were not shown"
            self._tell(StreamWarning("suppressed", "", None, message, self._suppressed))
        self._seen.clear()
        self._suppressed = 0

    def _tell(self, warning: StreamWarning) -> None:
        place = "" if warning.event_index is None else f"event {warning.event_index}: "
        path = warning.path if warning.path.isprintable() else repr(warning.path)
        where = f" (at {path})" if path else ""
        times = f" ({warning.count} times)" if warning.count > 1 else ""
        logger.warning("%s%s%s%s", place, warning.message, where, times)
        if self._on_warning is not None:
            self._on_warning(warning)


def _clip(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
