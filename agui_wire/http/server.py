"""Serving AG-UI runs with aiohttp."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Literal, Union

from aiohttp import web

from ..errors import RunInputError
from ..media_types import SSE_MEDIA_TYPE
from ..pipeline.request import read_run_input
from ..run_input import RunAgentInput
from ._compress import Compression, Compressor, acceptable_codings, choose_coding, compressor
from ._cors import Origins, cors_headers, preflight
from ._disconnect import calling_when_lost
from ._outbox import Outbox
from ._pump import ErrorMessage, Pump, message_for
from ._writer import StreamWriter

__all__ = ["Agent", "agent_handler", "event_stream_response"]

logger = logging.getLogger("agui_wire")

Agent = Callable[[RunAgentInput], Union[AsyncIterator[Any], Awaitable[AsyncIterator[Any]]]]

_DEFAULT_MESSAGE = "The agent failed."
_ON_DISCONNECT = ("cancel", "detach")
_COMMENT = b": ping\n\n"
# Seconds that a cancelled response has for its last words.
_LAST_WORDS = 1.0


def agent_handler(
    agent: Agent,
    *,
    max_body_size: int = 10 * 1024 * 1024,
    error_message: ErrorMessage = _DEFAULT_MESSAGE,
    cors: Origins = None,
    **options: Any,
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """An aiohttp handler for the POST that opens a run.

    `agent(run_input)` is an async generator, or a coroutine that returns an async iterator of
    events. Before the run starts, failures are HTTP statuses with a JSON body: 400 for a body
    that is no run input (it names the path), 415 for another content type than
    application/json, 413 for more than `max_body_size` bytes (10 MiB), 500 where `agent` raises
    before it gives an iterator; an aiohttp HTTPException that it raises is the answer. With
    `cors`, OPTIONS is answered too: route it here as well.

    `error_message`, `cors` and the other `options` are those of `event_stream_response`. Raises
    TypeError and ValueError for options that it would refuse, ImportError for
    `compression="zstd"` without its library.
    """
    _check(**options)

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "OPTIONS" and cors is not None:
            return preflight(request, cors)
        try:
            run_input = await _read(request, max_body_size)
            events = await _open(agent, run_input, request, error_message)
        except _Refused as refused:
            headers = _vary(cors_headers(request, cors), [] if cors in (None, "*") else ["Origin"])
            return web.json_response(refused.problem, status=refused.status, headers=headers)
        return await event_stream_response(
            request, events, error_message=error_message, cors=cors, **options
        )

    return handle


async def event_stream_response(
    request: web.Request,
    events: AsyncIterator[Any],
    *,
    error_message: ErrorMessage = _DEFAULT_MESSAGE,
    keep_alive: float | None = 15.0,
    on_disconnect: Literal["cancel", "detach"] = "cancel",
    write_timeout: float | None = None,
    coalesce: float | None = None,
    compression: Compression | None = None,
    cors: Origins = None,
    verify: bool = False,
    **encoder_options: Any,
) -> web.StreamResponse:
    """Stream a run's events as the answer to `request`, on the wire its Accept header names.

    Headers leave at once, and each event as soon as it is there; those that are ready together
    leave in one write. A reader that is slow makes the agent wait. Returns when the run has
    ended and `events` is closed.

    Where `events` raises, yields what cannot be encoded or stops without a terminal event, the
    stream ends with one RUN_ERROR; the details go to the logger `agui_wire`. After a terminal
    event nothing is written but what the protocol admits (page "processing").

    - `error_message`: what that RUN_ERROR says, or a function of the exception that gives it.
    - `keep_alive`: idle seconds before a sign of life is sent (15), None for never. On SSE it is
      a comment. The binary wires have no frame that stock clients survive: a compressed response
      sends an empty block, which no reader sees, an uncompressed one sends nothing.
    - `on_disconnect`: "cancel" closes `events` at once when the client is gone, also while it is
      silent, and waits for its clean-up; "detach" reads it to its end in the background.
    - `write_timeout`: seconds that a client may read nothing before its connection is cut; None
      (the default) leaves that to TCP.
    - `coalesce`: adjacent deltas of one kind and id are merged while the socket is busy, or for
      at most so many seconds. Never reordered: any other event lets them go first. None (the
      default) merges nothing.
    - `compression`: "gzip", "zstd" or "auto", as far as Accept-Encoding admits it; None (the
      default) for none. Every write is flushed through the compressor.
    - `cors`: origins whose pages may read the answer, "*" for all, None (the default) for none.
    - `verify`: a violation of the sequence rules becomes a RUN_ERROR that names it (off).
    - `encoder_options`: those of EventEncoder.
    """
    if on_disconnect not in _ON_DISCONNECT:
        raise ValueError(f"on_disconnect is one of {_ON_DISCONNECT}, not {on_disconnect!r}")
    accept = ",".join(request.headers.getall("Accept", ()))
    accept_encoding = ",".join(request.headers.getall("Accept-Encoding", ()))
    writer = StreamWriter(accept, verify=verify, coalesce=coalesce is not None, **encoder_options)
    coding = choose_coding(accept_encoding, compression)
    headers = {
        "Content-Type": writer.content_type,
        "Cache-Control": "no-cache, no-transform",
        "X-Accel-Buffering": "no",
        **cors_headers(request, cors),
    }
    vary = ["Accept"]
    if compression is not None:
        vary.append("Accept-Encoding")
    if cors not in (None, "*"):
        vary.append("Origin")
    if coding is not None:
        headers["Content-Encoding"] = coding
    response = web.StreamResponse(headers=_vary(headers, vary))
    body = _Body(
        request,
        response,
        Outbox(writer.flush, coalesce),
        None if coding is None else compressor(coding),
        write_timeout,
    )
    idle = _COMMENT if writer.content_type == SSE_MEDIA_TYPE else b""
    if not idle and coding is None:
        keep_alive = None
    with calling_when_lost(request.transport, body.outbox.close):
        pump = Pump(events, writer, body.outbox, error_message)
        try:
            await body.send(keep_alive, idle)
        except ConnectionError:
            pass
        except asyncio.CancelledError:
            if not body.outbox.closed:
                await pump.stop()
                await body.last_words(writer.flush() + writer.fail("The run was cancelled."))
            raise
        finally:
            if on_disconnect == "detach" and body.outbox.closed:
                pump.detach()
            else:
                await pump.stop()
    return response


class _Body:
    """The body of one response, from the outbox to the socket."""

    def __init__(
        self,
        request: web.Request,
        response: web.StreamResponse,
        outbox: Outbox,
        compress: Compressor | None,
        write_timeout: float | None,
    ) -> None:
        self._request = request
        self._response = response
        self._compress = compress
        self._write_timeout = write_timeout
        self.outbox = outbox

    async def send(self, keep_alive: float | None, idle: bytes) -> None:
        """Writes what is ready in one go, and a sign of life where nothing is for too long.

        Raises ConnectionError when the client is gone.
        """
        await self._response.prepare(self._request)
        while True:
            data = await self.outbox.take(keep_alive)
            if data is None:
                break
            await self._write(data or idle)
        await self._finish()

    async def last_words(self, data: bytes) -> None:
        """Writes the end of a body that is cut short, if that can be done quickly."""
        if self._response.prepared:
            with suppress(ConnectionError, asyncio.TimeoutError):
                await asyncio.wait_for(self._finish(self.outbox.take_nowait() + data), _LAST_WORDS)

    async def _write(self, data: bytes) -> None:
        if self._compress is not None:
            data = self._compress.write(data) if data else self._compress.heartbeat()
        await self._guarded(self._response.write(data))

    async def _finish(self, data: bytes = b"") -> None:
        if data:
            await self._write(data)
        end = b"" if self._compress is None else self._compress.finish()
        await self._guarded(self._response.write_eof(end))

    async def _guarded(self, writing: Awaitable[None]) -> None:
        """Awaits a write; a client that reads nothing for too long is as good as gone."""
        transport = self._request.transport
        if self._write_timeout is None or transport is None:
            await writing
            return
        timer = asyncio.get_running_loop().call_later(self._write_timeout, transport.abort)
        try:
            await writing
        finally:
            timer.cancel()


class _Refused(Exception):
    """A request that opens no run, and the answer to it."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(status)
        self.status = status
        self.problem = problem


def _refuse(status: int, message: str, error: str = "bad request") -> _Refused:
    return _Refused(status, {"error": error, "message": message})


async def _read(request: web.Request, max_body_size: int) -> RunAgentInput:
    """The run input of a request. Raises _Refused."""
    if request.content_type.lower() != "application/json":
        raise _refuse(415, "a run input is sent as application/json")
    body = bytearray()
    too_large = _refuse(413, f"a run input is limited to {max_body_size} bytes")
    if (request.content_length or 0) > max_body_size:
        raise too_large
    try:
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > max_body_size:
                raise too_large
    except (ConnectionError, web.RequestPayloadError) as error:
        raise _refuse(400, "the body could not be read") from error
    try:
        return read_run_input(body)
    except RunInputError as error:
        raise _Refused(error.http_status, error.to_dict()) from None


async def _open(
    agent: Agent, run_input: RunAgentInput, request: web.Request, error_message: ErrorMessage
) -> AsyncIterator[Any]:
    """What the agent gives for a run. Raises _Refused where it fails before its first event."""
    try:
        events = agent(run_input)
        if not inspect.isawaitable(events):
            return events
        opening = asyncio.ensure_future(events)
        try:
            with calling_when_lost(request.transport, opening.cancel):
                await asyncio.wait({opening})
        finally:
            opening.cancel()
        if opening.cancelled():
            raise _refuse(500, "the agent did not start")
        return opening.result()
    except (web.HTTPException, _Refused):
        raise
    except Exception as error:
        logger.exception("an agent failed before its run")
        raise _refuse(500, message_for(error, error_message), "agent failed") from None


def _check(
    *,
    keep_alive: float | None = None,
    on_disconnect: str = "cancel",
    write_timeout: float | None = None,
    coalesce: float | None = None,
    compression: str | None = None,
    verify: bool = False,
    **encoder_options: Any,
) -> None:
    """Raises for options that `event_stream_response` does not take."""
    if on_disconnect not in _ON_DISCONNECT:
        raise ValueError(f"on_disconnect is one of {_ON_DISCONNECT}, not {on_disconnect!r}")
    acceptable_codings(compression)
    StreamWriter(None, **encoder_options)


def _vary(headers: dict[str, str], names: list[str]) -> dict[str, str]:
    return {**headers, "Vary": ", ".join(names)} if names else headers
