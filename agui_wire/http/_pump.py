"""The one task that awaits an agent, from its first event to its clean-up."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any, Union

from ..errors import EncodeError, StreamError
from ._outbox import Outbox
from ._writer import StreamWriter

__all__ = ["ErrorMessage", "Pump", "close_iterator", "message_for"]

logger = logging.getLogger("agui_wire")

ErrorMessage = Union[str, Callable[[BaseException], str]]
"""What a RUN_ERROR says about a failed agent: a text, or what makes one of the exception."""

_DEFAULT_MESSAGE = "The agent failed."
_NO_END = "The agent ended the run without RUN_FINISHED or RUN_ERROR."

# The loop keeps only weak references to its tasks.
_detached: set[asyncio.Task[None]] = set()


class Pump:
    """Moves an agent's events into an outbox, as bytes.

    However the agent ends, its iterator is closed, once, and the stream has its terminal event.
    """

    def __init__(
        self,
        events: AsyncIterator[Any],
        writer: StreamWriter,
        outbox: Outbox,
        error_message: ErrorMessage,
    ) -> None:
        self._events = events
        self._writer = writer
        self._outbox = outbox
        self._error_message = error_message
        self._stopping = False
        self._closed = False
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Cancels the agent where it is, and waits until it has cleaned up."""
        self._stopping = True
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})
        # A task that is cancelled before its first step runs nothing.
        await self._close()

    def detach(self) -> None:
        """Lets the agent run to its end in the background."""
        if not self._task.done():
            _detached.add(self._task)
            self._task.add_done_callback(_detached.discard)

    async def _run(self) -> None:
        try:
            try:
                last = await self._failure()
            finally:
                await self._close()
            self._outbox.put(self._writer.flush() + last)
            self._outbox.end()
        finally:
            self._writer.close()

    async def _failure(self) -> bytes:
        """Writes the agent's events; the bytes that end a run which it did not end itself."""
        writer, outbox = self._writer, self._outbox
        fail = writer.fail
        try:
            async for event in self._events:
                if self._stopping:
                    return b""
                data = writer.write(event)
                if outbox.put(data, merging=writer.merging):
                    await outbox.give_way()
            return fail(_NO_END)
        except EncodeError as error:
            logger.exception("an agent's event cannot be sent")
            return fail(f"An event of the agent cannot be sent: {error}")
        except StreamError as error:
            logger.error("an agent broke the protocol: %s", error)
            return fail(f"The agent broke the protocol: {error}")
        except asyncio.CancelledError as error:
            if self._stopping or _is_cancelled():
                raise
            # One of the agent's own awaits was cancelled, and nobody asked this task to stop.
            logger.exception("an agent failed")
            return fail(message_for(error, self._error_message))
        except Exception as error:
            logger.exception("an agent failed")
            return fail(message_for(error, self._error_message))

    async def _close(self) -> None:
        if not self._closed:
            self._closed = True
            await close_iterator(self._events)


def _is_cancelled() -> bool:
    if sys.version_info < (3, 11):
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def close_iterator(events: Any) -> None:
    """Runs an agent's clean-up, where it has any; what fails in it goes to the log."""
    aclose = getattr(events, "aclose", None)
    if aclose is None:
        return
    try:
        await aclose()
    except Exception:
        logger.exception("an agent failed as it was closed")


def message_for(error: BaseException, policy: ErrorMessage) -> str:
    """What the client is told about a failure; nothing of its internals, unless `policy` does."""
    if isinstance(policy, str):
        return policy
    try:
        return policy(error)
    except Exception:
        logger.exception("no error message could be made")
        return _DEFAULT_MESSAGE
