"""Serving an agent over ASGI, under asyncio."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Union

import msgspec

from ..errors import EncodeError, RunInputError
from ..media_types import SSE_MEDIA_TYPE
from ..pipeline.request import read_run_input
from ..run_input import RunAgentInput
from ._writer import StreamWriter
from .asgi import header, stream_headers

if TYPE_CHECKING:
    from .asgi import Receive, Scope, Send

__all__ = ["Agent", "AgentApp"]

logger = logging.getLogger("agui_wire")

Agent = Callable[[RunAgentInput], Union[AsyncIterator[Any], Awaitable[AsyncIterator[Any]]]]

_MAX_QUEUED = 64
_END = b""


class _Refused(Exception):
    """A request that opens no run, and the answer to it."""

    def __init__(self, status: int, problem: dict[str, Any], **headers: str) -> None:
        self.status = status
        self.problem = problem
        self.headers = headers


class AgentApp:
    """What `agent_app` gives."""

    def __init__(
        self,
        agent: Agent,
        max_body_size: int,
        error_message: str,
        keep_alive: float | None,
        encoder_options: dict[str, Any],
    ) -> None:
        self._agent = agent
        self._max_body_size = max_body_size
        self._error_message = error_message
        self._keep_alive = keep_alive
        self._encoder_options = encoder_options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI interface."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
        else:
            try:
                run_input = await self._read(scope, receive)
            except _Refused as refused:
                await _answer(send, refused)
                return
            if run_input is not None:
                await self._stream(scope, receive, send, run_input)

    async def _read(self, scope: Scope, receive: Receive) -> RunAgentInput | None:
        """The run input, None where the client is gone. Raises _Refused."""
        if scope["method"] != "POST":
            raise _Refused(405, _problem("a run is opened with POST"), allow="POST")
        content_type = header(scope, b"content-type").partition(";")[0].strip().lower()
        if content_type != "application/json":
            raise _Refused(415, _problem("a run input is sent as application/json"))
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_body_size:
                limit = f"a run input is limited to {self._max_body_size} bytes"
                raise _Refused(413, _problem(limit))
        try:
            return read_run_input(body)
        except RunInputError as error:
            raise _Refused(error.http_status, error.to_dict()) from None

    async def _stream(
        self, scope: Scope, receive: Receive, send: Send, run_input: RunAgentInput
    ) -> None:
        events = self._agent(run_input)
        if inspect.isawaitable(events):
            events = await events
        writer = StreamWriter(header(scope, b"accept"), **self._encoder_options)
        keep_alive = self._keep_alive if writer.content_type == SSE_MEDIA_TYPE else None
        headers = stream_headers(writer.content_type, [])
        queue: asyncio.Queue[bytes] = asyncio.Queue(_MAX_QUEUED)
        pump = asyncio.create_task(_pump(events, writer, queue, self._error_message))
        deliver = asyncio.create_task(_deliver(send, headers, queue, keep_alive))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({deliver, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # The pump goes first, so that the agent's clean-up is done when this returns.
            for task in (pump, gone, deliver):
                task.cancel()
            results = await asyncio.gather(pump, gone, deliver, return_exceptions=True)
            writer.close()
        for failure in results:
            # Servers since ASGI 2.4 tell by an OSError that the client is gone.
            if isinstance(failure, Exception) and not isinstance(failure, OSError):
                raise failure


async def _pump(
    events: AsyncIterator[Any],
    writer: StreamWriter,
    queue: asyncio.Queue[bytes],
    error_message: str,
) -> None:
    """Moves the agent's events into the queue, as bytes; it alone awaits the agent."""
    try:
        try:
            async for event in events:
                framed = writer.write(event)
                if framed:
                    await queue.put(framed)
            last = writer.fail("The agent ended the run without RUN_FINISHED or RUN_ERROR.")
        except EncodeError as error:
            logger.exception("an agent's event cannot be sent")
            last = writer.fail(f"An event of the agent cannot be sent: {error}")
        except Exception:
            logger.exception("an agent failed")
            last = writer.fail(error_message)
        if last:
            await queue.put(last)
    finally:
        await _close(events)
    await queue.put(_END)


async def _close(events: AsyncIterator[Any]) -> None:
    try:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
    except Exception:
        logger.exception("an agent failed as it was closed")


async def _deliver(
    send: Send,
    headers: list[tuple[bytes, bytes]],
    queue: asyncio.Queue[bytes],
    keep_alive: float | None,
) -> None:
    """Sends what is ready in one go, and a comment where nothing is for too long."""
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    more = True
    while more:
        try:
            ready = [await asyncio.wait_for(queue.get(), keep_alive)]
        except asyncio.TimeoutError:
            ready = [b": ping\n\n"]
        while not queue.empty():
            ready.append(queue.get_nowait())
        more = ready[-1] != _END
        await send({"type": "http.response.body", "body": b"".join(ready), "more_body": more})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _live(receive: Receive, send: Send) -> None:
    """There is nothing to start or to stop."""
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return


def _problem(message: str) -> dict[str, str]:
    return {"error": "bad request", "message": message}


async def _answer(send: Send, refused: _Refused) -> None:
    headers = [(b"content-type", b"application/json")]
    headers += [(name.encode(), value.encode()) for name, value in refused.headers.items()]
    body = msgspec.json.encode(refused.problem)
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
