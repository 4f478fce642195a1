"""Calling an AG-UI agent with aiohttp."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import aiohttp

from .._warnings import StreamWarning
from ..errors import TruncatedStream, UnexpectedResponse
from ..events import Event
from ..media_types import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, wire_of
from ..messages import Message
from ..pipeline.assemble import MessageAssembler
from ..pipeline.consumer import StreamConsumer
from ..pipeline.request import read_run_input, write_run_input
from ..run_input import RunAgentInput

__all__ = ["AgentClient", "Run"]

_MAX_EXCERPT = 2048


class AgentClient:
    """An agent behind a URL.

    `wires` are the media types to ask for, the best first; SSE is always named, and the answer's
    Content-Type alone decides how it is read. `session` is used and not closed; without one each
    run has its own. `connect_timeout` and `stall_timeout` (between two reads) are in seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        session: aiohttp.ClientSession | None = None,
        headers: Mapping[str, str] | None = None,
        wires: Sequence[str] = (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE),
        connect_timeout: float | None = 30.0,
        stall_timeout: float | None = None,
    ) -> None:
        self.url = url
        self._session = session
        names = dict.fromkeys([*map(wire_of, wires), SSE_MEDIA_TYPE])
        self._headers = {
            **(headers or {}),
            "Accept": ", ".join(names),
            "Content-Type": "application/json",
        }
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=connect_timeout, sock_read=stall_timeout
        )

    def run(self, run_input: RunAgentInput | dict[str, Any]) -> Run:
        """A run to be entered with `async with` and read with `async for`.

        Raises EncodeError where the run input is malformed: it is not sent.
        """
        return Run(self, write_run_input(run_input))


class Run:
    """One run: an async iterator of its events, and what they have come to so far.

    Entering sends the request and raises UnexpectedResponse where the answer is no event
    stream. Iterating raises StreamError for a bad stream and TruncatedStream where it ends
    without a terminal event; what was assembled stays. Leaving closes the connection.
    """

    def __init__(self, client: AgentClient, body: bytes) -> None:
        self._client = client
        self._body = body
        self._own_session: aiohttp.ClientSession | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._consumer: StreamConsumer | None = None
        self._events: AsyncGenerator[Event, None] | None = None
        self.bytes_received = 0
        self.content_type = ""
        self.warnings: list[StreamWarning] = []

    async def __aenter__(self) -> Run:
        client = self._client
        session = client._session
        if session is None:
            session = self._own_session = aiohttp.ClientSession()
        try:
            self._response = response = await session.post(
                client.url, data=self._body, headers=client._headers, timeout=client._timeout
            )
            self.content_type = response.headers.get("Content-Type", "")
            try:
                wire_of(self.content_type)
                if not 200 <= response.status < 300:
                    raise ValueError
            except ValueError:
                excerpt = await response.content.read(_MAX_EXCERPT)
                raise UnexpectedResponse(
                    response.status, self.content_type, excerpt.decode("utf-8", "replace")
                ) from None
        except BaseException:
            await self._close()
            raise
        self._consumer = StreamConsumer(
            self.content_type,
            run_input=read_run_input(self._body),
            on_warning=self.warnings.append,
        )
        self._events = self._read(response, self._consumer)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._close()

    def __aiter__(self) -> AsyncIterator[Event]:
        if self._events is None:
            raise RuntimeError("enter the run with `async with` before reading it")
        return self._events

    async def _read(
        self, response: aiohttp.ClientResponse, consumer: StreamConsumer
    ) -> AsyncGenerator[Event, None]:
        try:
            async for chunk in response.content.iter_any():
                self.bytes_received += len(chunk)
                for event in consumer.feed(chunk):
                    yield event
        except aiohttp.ClientError as error:
            raise TruncatedStream(f"the connection was lost: {error}") from error
        try:
            last = consumer.close()
        except TruncatedStream as error:
            for event in error.events:
                yield event
            raise
        for event in last:
            yield event

    async def _close(self) -> None:
        if self._events is not None:
            await self._events.aclose()
        if self._response is not None:
            self._response.close()
        if self._own_session is not None:
            await self._own_session.close()

    @property
    def assembler(self) -> MessageAssembler:
        """The messages, the state and the outcome as they stand."""
        if self._consumer is None:
            raise RuntimeError("the run has not begun")
        return self._consumer.assembler

    @property
    def messages(self) -> list[Message]:
        """The conversation so far, the run input's messages included."""
        return self.assembler.messages

    @property
    def state(self) -> Any:
        """The shared state so far."""
        return self.assembler.state

    @property
    def outcome(self) -> str | None:
        """How the run ended, or None while it has not."""
        return self.assembler.outcome

    @property
    def pending_tool_call_ids(self) -> list[str]:
        """The tool calls that the front end has to answer."""
        return self.assembler.pending_tool_call_ids
