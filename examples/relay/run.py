"""One agent run: read once, kept once, watched by many."""

from __future__ import annotations

import asyncio
import logging

import aiohttp

from agui_wire import FrameReader, StreamError

WRITE_SIZE = 64 * 1024  # the most that a client is given at once

logger = logging.getLogger("relay")


class Run:
    """The agent's answer so far: whole frames in one buffer, in which each client has an offset."""

    def __init__(self, max_log: int) -> None:
        self.status = 502
        self.content_type: str | None = None  # None unless the answer is an event stream
        self.log = bytearray()
        self.log_start = 0  # the offset in the stream of what the log begins with
        self.ended = False
        self.whole = False
        self.clients = 0
        self.forgetting: asyncio.TimerHandle | None = None
        self._max_log = max_log
        self._news = asyncio.Event()

    async def pump(
        self, session: aiohttp.ClientSession, url: str, accept: str, body: bytes
    ) -> None:
        """Reads the agent's answer as fast as it comes, however slow the clients are."""
        headers = {"Accept": accept, "Content-Type": "application/json"}
        try:
            async with session.post(url, data=body, headers=headers) as answer:
                if answer.status != 200:
                    self.status = answer.status
                    self._append(await answer.content.read(WRITE_SIZE))
                    return
                media_type = answer.headers.get("Content-Type", "").partition(";")[0].lower()
                reader = FrameReader(media_type)
                self.content_type = media_type
                self._tell()
                async for chunk in answer.content.iter_any():
                    self._append(*reader.feed(chunk))
                self._append(*reader.close())
                self.whole = True
        except (aiohttp.ClientError, asyncio.TimeoutError, StreamError, ValueError) as error:
            logger.warning("a run was cut short: %r", error)
        finally:
            self.ended = True
            self._tell()

    @property
    def failed(self) -> bool:
        """Whether the agent answered, or did not, without an event stream."""
        return self.ended and self.content_type is None

    async def begun(self) -> None:
        """Waits until it is known what the agent answers."""
        while self.content_type is None and not self.ended:
            await self._news.wait()

    async def read(self, offset: int) -> bytes:
        """What follows `offset` in the stream, as soon as there is some; empty at its end.

        Raises LookupError where the log does not reach back so far any more.
        """
        while offset == self.log_start + len(self.log) and not self.ended:
            await self._news.wait()
        if offset < self.log_start:
            raise LookupError("too far behind")
        position = offset - self.log_start
        return bytes(self.log[position : position + WRITE_SIZE])

    def _append(self, *frames: bytes | memoryview) -> None:
        for frame in frames:
            self.log += frame
        excess = max(0, len(self.log) - self._max_log)
        del self.log[:excess]
        self.log_start += excess
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
