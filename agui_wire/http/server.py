"""Serving AG-UI runs with aiohttp."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any, Union

from aiohttp import web

from ..errors import EncodeError, RunInputError
from ..media_types import SSE_MEDIA_TYPE
from ..pipeline.request import read_run_input
from ..run_input import RunAgentInput
from ._disconnect import disconnection
from ._writer import StreamWriter

__all__ = ["agent_handler", "event_stream_response"]

logger = logging.getLogger("agui_wire")

Agent = Callable[[RunAgentInput], Union[AsyncIterator[Any], Awaitable[AsyncIterator[Any]]]]

STREAM_HEADERS = {
    "Vary": "Accept",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}
"""What every streaming response says, so that no proxy holds events back or rewrites them."""

_MAX_QUEUED = 64
_END = object()


def agent_handler(
    agent: Agent, *, max_body_size: int = 10 * 1024 * 1024, **options: Any
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """An aiohttp handler for the POST that opens a run.

    `agent(run_input)` gives an async iterator of events. A body that is no run input is answered
    with 400 and a JSON body that names the path, another content type with 415, one over
    `max_body_size` bytes with 413. `options` are those of `event_stream_response`.
    """

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.content_type != "application/json":
            return _problem(415, "a run input is sent as application/json")
        body = bytearray()
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > max_body_size:
                return _problem(413, f"a run input is limited to {max_body_size} bytes")
        try:
            run_input = read_run_input(body)
        except RunInputError as error:
            return web.json_response(error.to_dict(), status=error.http_status)
        events = agent(run_input)
        if inspect.isawaitable(events):
            events = await events
        return await event_stream_response(request, events, **options)

    return handle


def _problem(status: int, message: str) -> web.Response:
    return web.json_response({"error": "bad request", "message": message}, status=status)


async def event_stream_response(
    request: web.Request,
    events: AsyncIterator[Any],
    *,
    error_message: str = "The agent failed.",
    keep_alive: float | None = 15.0,
    **encoder_options: Any,
) -> web.StreamResponse:
    """Stream a run's events as the answer to `request`, on the wire its Accept header names.

    Returns when the run has ended. Where `events` raises, or cannot be encoded, the stream ends
    with one RUN_ERROR that says `error_message`; the traceback goes to the logger `agui_wire`.
    Where it stops without a terminal event, the RUN_ERROR says so. When the client is gone, the
    iterator is closed at once and awaited. `keep_alive` is how many idle seconds pass before a
    comment is sent on SSE; the binary wires have no heartbeat that stock clients survive.
    `encoder_options` are those of EventEncoder.
    """
    accept = ",".join(request.headers.getall("Accept", ()))
    writer = StreamWriter(accept, **encoder_options)
    response = web.StreamResponse(headers={"Content-Type": writer.content_type, **STREAM_HEADERS})
    if writer.content_type != SSE_MEDIA_TYPE:
        keep_alive = None
    with disconnection(request.transport) as lost:
        queue: asyncio.Queue[Any] = asyncio.Queue(_MAX_QUEUED)
        pump = asyncio.create_task(_pump(events, writer, queue, error_message))
        send = asyncio.create_task(_send(request, response, queue, keep_alive))
        gone = asyncio.create_task(lost.wait())
        try:
            await asyncio.wait({send, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # The pump goes first, so that the agent's clean-up is done when this returns.
            for task in (gone, pump, send):
                task.cancel()
            await asyncio.wait({gone, pump, send})
        failure = None if send.cancelled() else send.exception()
    writer.close()
    if failure is not None and not isinstance(failure, ConnectionError):
        raise failure
    return response


async def _pump(
    events: AsyncIterator[Any],
    writer: StreamWriter,
    queue: asyncio.Queue[Any],
    error_message: str,
) -> None:
    """Moves the agent's events into the queue, as bytes; it alone awaits the agent."""
    try:
        try:
            async for event in events:
                framed = writer.write(event)
                if framed:
                    await queue.put(framed)
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        last = writer.fail("The agent ended the run without RUN_FINISHED or RUN_ERROR.")
    except asyncio.CancelledError:
        raise
    except EncodeError as error:
        logger.exception("an agent's event cannot be sent")
        last = writer.fail(f"An event of the agent cannot be sent: {error}")
    except Exception:
        logger.exception("an agent failed")
        last = writer.fail(error_message)
    if last:
        await queue.put(last)
    await queue.put(_END)


async def _send(
    request: web.Request,
    response: web.StreamResponse,
    queue: asyncio.Queue[Any],
    keep_alive: float | None,
) -> None:
    """Writes what is ready in one go, and a comment where nothing is for too long."""
    await response.prepare(request)
    while True:
        try:
            item = await asyncio.wait_for(queue.get(), keep_alive)
        except asyncio.TimeoutError:
            await response.write(b": ping\n\n")
            continue
        ready = [item]
        while not queue.empty():
            ready.append(queue.get_nowait())
        ended = ready[-1] is _END
        data = b"".join(ready[:-1] if ended else ready)
        if data:
            await response.write(data)
        if ended:
            await response.write_eof()
            return
