"""What a worker holds ready: one contender, one workload, one thing to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["CHUNK", "Context", "Prepare", "Prepared", "chunks"]

CHUNK = 64 * 1024


class Context(NamedTuple):
    """What a contender is prepared for; which of these it reads depends on the axis."""

    path: Path = Path()
    """The workload, as a recording of JSON lines."""
    url: str = ""
    """The server to call, for HTTP."""
    value: int = 0
    """The size of what grows, for scaling."""

    def lines(self) -> list[bytes]:
        """The workload's events, each as JSON."""
        return self.path.read_bytes().splitlines()


class Prepared(NamedTuple):
    """Work that can be repeated. `run` does it once, over `events` events.

    `size` is the bytes of the stream that is written or read, 0 where there are none.
    """

    run: Callable[[], Any]
    events: int
    size: int
    elsewhere: Callable[[], float] | None = None
    """Processor seconds that another process has spent on it."""


Prepare = Callable[[Context], Prepared]


def chunks(body: bytes, size: int = CHUNK) -> list[bytes]:
    """A body as it comes from a socket, `size` bytes at a time."""
    return list(_pieces(body, size))


def _pieces(body: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]
