"""Bytes between the task that awaits the agent and the one that awaits the socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["Outbox"]

# Bytes that may wait before the agent has to; one event more can come on top.
DEFAULT_LIMIT = 64 * 1024

# Seconds after which an agent that never pauses lets others run: the reader, to whom its events
# go while it computes, and whoever would stop it.
_PROMPT = 0.001


class Outbox:
    """A bounded buffer with one writer and one reader, which takes all that is ready at once.

    `flush` gives the bytes of what the writer still merges; the reader asks for it once
    `merge_for` seconds have passed since the writer said that there is some.
    """

    def __init__(
        self,
        flush: Callable[[], bytes],
        merge_for: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._flush = flush
        self._merge_for = merge_for
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._due: float | None = None
        self._gave_way_at = float("-inf")
        self._ended = False
        self.closed = False
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None

    def put(self, data: bytes, *, merging: bool = False) -> bool:
        """Adds bytes; whether the writer is to `give_way` before it goes on.

        `merging` says that the writer holds something which `flush` would give.
        """
        if not merging:
            self._due = None
        elif self._merge_for is not None and (data or self._due is None):
            self._due = self._loop.time() + self._merge_for
            self._wake_reader()
        if data and not self.closed:
            self._parts.append(data)
            self._size += len(data)
            self._wake_reader()
        return self._size >= self._limit or self._loop.time() - self._gave_way_at > _PROMPT

    async def give_way(self) -> None:
        """Lets the reader have its turn, and waits while it is behind."""
        self._gave_way_at = self._loop.time()
        if self._size < self._limit or self.closed:
            await asyncio.sleep(0)
        while self._size >= self._limit and not self.closed:
            self._writer = self._loop.create_future()
            try:
                await self._writer
            finally:
                self._writer = None

    def end(self) -> None:
        """No more will come."""
        self._ended = True
        self._due = None
        self._wake_reader()

    def close(self) -> None:
        """Nobody reads any more: what is here and what comes is dropped, and nobody waits."""
        self.closed = True
        self._parts.clear()
        self._size = 0
        self._wake_reader()
        self._wake_writer()

    async def take(self, timeout: float | None = None) -> bytes | None:
        """All that is ready; empty after `timeout` seconds without anything, None at the end.

        Raises ConnectionResetError once the outbox is closed.
        """
        give_up = None if timeout is None else self._loop.time() + timeout
        while True:
            if self.closed:
                raise ConnectionResetError("the reader is gone")
            data = self.take_nowait()
            if data:
                return data
            if self._ended:
                return None
            until = min((t for t in (give_up, self._due) if t is not None), default=None)
            if give_up is not None and until == give_up and self._loop.time() >= give_up:
                return b""
            await self._wait(until)

    def take_nowait(self) -> bytes:
        """All that is ready now."""
        if self._due is not None and self._loop.time() >= self._due:
            self._due = None
            self._parts.append(self._flush())
        parts, self._parts, self._size = self._parts, [], 0
        self._wake_writer()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _wait(self, until: float | None) -> None:
        self._reader = waiter = self._loop.create_future()
        timer = None if until is None else self._loop.call_at(until, self._wake_reader)
        try:
            await waiter
        finally:
            self._reader = None
            if timer is not None:
                timer.cancel()

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _wake_writer(self) -> None:
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)
