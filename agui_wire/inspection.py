"""What `agui-wire inspect` prints."""

from __future__ import annotations

import sys
from typing import BinaryIO

import msgspec

from ._warnings import StreamWarning
from .convert import to_dict
from .errors import StreamError
from .recording import read_recording

__all__ = ["inspect_recording"]

_DROPPED = "(dropped)"


def inspect_recording(stream: BinaryIO, media_type: str | None, *, stats: bool) -> int:
    """Print a recording's events as JSON lines, or with `stats` a table of its event types.

    Warnings and the fault of a broken recording go to standard error. Returns the exit code.
    """
    sizes: dict[str, list[int]] = {}
    code = 0
    try:
        for recorded in read_recording(stream, media_type, on_warning=_tell):
            names = [event.type.value for event in recorded.events] or [_DROPPED]
            for name in names:
                sizes.setdefault(name, []).append(recorded.size)
            if not stats:
                for event in recorded.events:
                    sys.stdout.write(msgspec.json.encode(to_dict(event)).decode() + "\n")
    except StreamError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 1
    if stats:
        print(_table(sizes), end="")
    return code


def _tell(warning: StreamWarning) -> None:
    place = "" if warning.event_index is None else f"event {warning.event_index}: "
    times = f" ({warning.count} times)" if warning.count > 1 else ""
    print(f"warning: {place}{warning.message}{times}", file=sys.stderr)


def _table(sizes: dict[str, list[int]]) -> str:
    rows = [(name, len(each), sum(each)) for name, each in sorted(sizes.items())]
    rows.append(("total", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    width = max(len(row[0]) for row in rows)
    lines = [f"{'event type':<{width}}  {'events':>8}  {'bytes':>10}  {'mean':>8}"]
    for name, count, size in rows:
        mean = size / count if count else 0.0
        lines.append(f"{name:<{width}}  {count:>8}  {size:>10}  {mean:>8.1f}")
    return "\n".join(lines) + "\n"
