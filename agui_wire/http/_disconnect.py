"""Noticing at once that the client is gone, whatever aiohttp's handler_cancellation says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["calling_when_lost"]


class _Watch(asyncio.Protocol):
    """Stands before a transport's protocol and hears connection_lost first."""

    def __init__(self, protocol: Any, lost: Callable[[], object]) -> None:
        self._protocol = protocol
        self._lost = lost
        self.is_lost = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    def data_received(self, data: bytes) -> None:
        self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        result: bool | None = self._protocol.eof_received()
        return result

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self._lost()
        self._protocol.connection_lost(exc)


@contextmanager
def calling_when_lost(
    transport: asyncio.BaseTransport | None, lost: Callable[[], object]
) -> Iterator[None]:
    """Calls `lost` when the connection is lost while the block runs, or at once if it is."""
    if transport is None or transport.is_closing():
        lost()
        yield
        return
    watch = _Watch(transport.get_protocol(), lost)
    transport.set_protocol(watch)
    try:
        yield
    finally:
        if not watch.is_lost:
            transport.set_protocol(watch._protocol)
