"""Noticing at once that the client is gone, whatever aiohttp's handler_cancellation says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["disconnection"]


class _Watch(asyncio.Protocol):
    """Stands before a transport's protocol and hears connection_lost first."""

    def __init__(self, protocol: Any, lost: asyncio.Event) -> None:
        self._protocol = protocol
        self._lost = lost

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
        self._lost.set()
        self._protocol.connection_lost(exc)


@contextmanager
def disconnection(transport: asyncio.BaseTransport | None) -> Iterator[asyncio.Event]:
    """An event that is set when the connection is lost, while the block runs."""
    lost = asyncio.Event()
    if transport is None or transport.is_closing():
        lost.set()
        yield lost
        return
    protocol = transport.get_protocol()
    transport.set_protocol(_Watch(protocol, lost))
    try:
        yield lost
    finally:
        if not lost.is_set():
            transport.set_protocol(protocol)
