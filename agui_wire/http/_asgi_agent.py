"""Serving an agent over ASGI, under asyncio."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Union

import msgspec

from ..errors import RunInputError
from ..media_types import SSE_MEDIA_TYPE
from ..pipeline.request import read_run_input
from ..run_input import RunAgentInput
from ._outbox import Outbox
from ._pump import ErrorMessage, Pump, message_for
from ._writer import StreamWriter
from .asgi import header, stream_headers

if TYPE_CHECKING:
    from .asgi import Receive, Scope, Send

__all__ = ["Agent", "AgentApp"]

logger = logging.getLogger("agui_wire")

Agent = Callable[[RunAgentInput], Union[AsyncIterator[Any], Awaitable[AsyncIterator[Any]]]]

_COMMENT = b": ping\n\n"


class _Refused(Exception):
    """A request that opens no run, and the answer to it."""

    def __init__(self, status: int, message: str, error: str = "bad request", **more: Any) -> None:
        super().__init__(status, message)
        self.status = status
        self.problem = {"error": error, "message": message, **more}


class _Gone(Exception):
    """The client is gone before the run has begun."""


class AgentApp:
    """What `agent_app` gives; the options are its."""

    def __init__(
        self,
        agent: Agent,
        *,
        max_body_size: int,
        error_message: ErrorMessage,
        keep_alive: float | None,
        on_disconnect: Literal["cancel", "detach"],
        coalesce: float | None,
        **writer_options: Any,
    ) -> None:
        if on_disconnect not in ("cancel", "detach"):
            raise ValueError(f"on_disconnect is 'cancel' or 'detach', not {on_disconnect!r}")
        self._agent = agent
        self._max_body_size = max_body_size
        self._error_message = error_message
        self._keep_alive = keep_alive
        self._on_disconnect = on_disconnect
        self._coalesce = coalesce
        self._writer_options = {"coalesce": coalesce is not None, **writer_options}
        StreamWriter(None, **self._writer_options)  # refuses what is no option of an encoder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI interface."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone: asyncio.Task[None] | None = None
        try:
            run_input = await self._read(scope, receive)
            gone = asyncio.create_task(_disconnected(receive))
            events = await self._open(run_input, gone)
            await self._stream(scope, send, events, gone)
        except _Refused as refused:
            await _refuse(send, refused)
        except _Gone:
            pass
        finally:
            if gone is not None:
                gone.cancel()
                await asyncio.wait({gone})

    async def _read(self, scope: Scope, receive: Receive) -> RunAgentInput:
        """The run input. Raises _Refused, and _Gone where the client is gone."""
        if scope["method"] != "POST":
            raise _Refused(405, "a run is opened with POST")
        content_type = header(scope, b"content-type").partition(";")[0].strip().lower()
        if content_type != "application/json":
            raise _Refused(415, "a run input is sent as application/json")
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_body_size:
                raise _Refused(413, f"a run input is limited to {self._max_body_size} bytes")
        try:
            return read_run_input(body)
        except RunInputError as error:
            raise _Refused(error.http_status, **error.to_dict()) from None

    async def _open(self, run_input: RunAgentInput, gone: asyncio.Task[None]) -> AsyncIterator[Any]:
        """What the agent gives for a run. Raises _Refused where it fails before its first event."""
        try:
            events = self._agent(run_input)
            if not inspect.isawaitable(events):
                return events
            opening = asyncio.ensure_future(events)
            try:
                await asyncio.wait({opening, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                opening.cancel()
                await asyncio.wait({opening})
            if opening.cancelled():
                raise _Gone
            return opening.result()
        except _Gone:
            raise
        except Exception as error:
            logger.exception("an agent failed before its run")
            message = message_for(error, self._error_message)
            raise _Refused(500, message, error="agent failed") from None

    async def _stream(
        self, scope: Scope, send: Send, events: AsyncIterator[Any], gone: asyncio.Task[None]
    ) -> None:
        writer = StreamWriter(header(scope, b"accept"), **self._writer_options)
        outbox = Outbox(writer.flush, self._coalesce)
        pump = Pump(events, writer, outbox, self._error_message)
        keep_alive = self._keep_alive if writer.content_type == SSE_MEDIA_TYPE else None
        headers = stream_headers(writer.content_type, [])
        deliver = asyncio.create_task(_deliver(send, headers, outbox, keep_alive))
        lost = False
        try:
            await asyncio.wait({deliver, gone}, return_when=asyncio.FIRST_COMPLETED)
            lost = not deliver.done() or isinstance(deliver.exception(), OSError)
        finally:
            outbox.close()
            if lost and self._on_disconnect == "detach":
                pump.detach()
            else:
                await pump.stop()
            deliver.cancel()
            await asyncio.wait({deliver})
        # Servers since ASGI 2.4 tell by an OSError that the client is gone.
        if not lost:
            deliver.result()


async def _deliver(
    send: Send, headers: list[tuple[bytes, bytes]], outbox: Outbox, keep_alive: float | None
) -> None:
    """Sends what is ready in one go, and a comment where nothing is for too long."""
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while True:
        data = await outbox.take(keep_alive)
        if data is None:
            break
        await send({"type": "http.response.body", "body": data or _COMMENT, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


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


async def _refuse(send: Send, refused: _Refused) -> None:
    body = msgspec.json.encode(refused.problem)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if refused.status == 405:
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
