"""One run as a client sees it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from types import TracebackType
from typing import Any, Literal

import aiohttp
import msgspec

from .._json import DEFAULT_MAX_DEPTH, DEFAULT_MAX_FRAME_SIZE
from .._plain import Policy, plain
from .._spelling import camelise
from .._warnings import StreamWarning
from ..codecs import sse
from ..errors import StreamError, TruncatedStream, UnexpectedResponse
from ..events import Event, RunErrorEvent
from ..media_types import SSE_MEDIA_TYPE, wire_of
from ..messages import Interrupt, Message, TokenUsage
from ..pipeline.assemble import MessageAssembler
from ..pipeline.consumer import Middleware, StreamConsumer
from ..pipeline.request import read_run_input, write_run_input
from ..run_input import RunAgentInput

__all__ = ["Endpoint", "Run", "SyncRun"]

# aiohttp warns of larger bodies, unless they come as a file.
_MAX_PLAIN_BODY = 2**20

# Bytes of an error's body that are shown, and the seconds it has to come.
_MAX_EXCERPT = 2048
_EXCERPT_SECONDS = 5.0


@dataclass(frozen=True)
class Endpoint:
    """Where runs are sent, and how their answers are read."""

    url: str
    headers: Mapping[str, str]
    timeout: aiohttp.ClientTimeout
    session: aiohttp.ClientSession | None = None
    max_frame_size: int = DEFAULT_MAX_FRAME_SIZE
    max_depth: int = DEFAULT_MAX_DEPTH
    middleware: Iterable[Middleware] = ()


class Run:
    """One run: an async iterator of its events, and what they have come to so far.

        async with client.run(run_input) as run:
            async for event in run:
                ...
        print(run.outcome, run.messages)

    Entering sends the request. It raises UnexpectedResponse where the answer is no event stream,
    aiohttp.ClientError where there is no answer, TimeoutError where it takes too long. Iterating
    raises StreamError for a bad stream, and TruncatedStream where the stream ends, stalls or is
    cut before its terminal event; what was assembled stays. RUN_ERROR is an event like any
    other. Leaving the block closes the connection.

    - `content_type`: that of the response
    - `bytes_received`: of the body, decompressed
    - `warnings`: what was tolerated (StreamWarning)
    - `closed`: whether the block has been left
    """

    def __init__(self, endpoint: Endpoint, run_input: RunAgentInput | dict[str, Any]) -> None:
        self._endpoint = endpoint
        self._body = write_run_input(run_input)
        self._run_input = _held(run_input)
        self._own_session: aiohttp.ClientSession | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._consumer: StreamConsumer | None = None
        self._ready: deque[Event] = deque()
        self._error: StreamError | None = None
        self._entered = False
        self._posting: asyncio.Future[aiohttp.ClientResponse] | None = None
        self._at_end = False
        self._aborted = False
        self.closed = False
        self.bytes_received = 0
        self.content_type = ""
        self.warnings: list[StreamWarning] = []

    async def __aenter__(self) -> Run:
        if self._entered:
            raise RuntimeError("a run is entered once")
        self._entered = True
        if self._aborted:
            await self._close()
            self._begin(SSE_MEDIA_TYPE)
            return self
        session = self._endpoint.session
        if session is None:
            # One of its own for each run: no cookie and no connection outlives it.
            session = self._own_session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        try:
            self._posting = asyncio.ensure_future(self._post(session))
            self._response = await self._posting
            await self._accept(self._response)
        except asyncio.CancelledError:
            await self._close()
            if not self._aborted:
                raise
            self._begin(SSE_MEDIA_TYPE)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._close()

    def __aiter__(self) -> Run:
        if self._consumer is None:
            raise RuntimeError("enter the run with `async with` before reading it")
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            await self._read()
        return self._ready.popleft()

    def abort(self) -> None:
        """Close the connection now, or while the run is being entered; before that, send nothing.

        Who reads sees the end of the stream; `outcome` stays None where the run had not ended.
        """
        self._at_end = self._aborted = True
        self._ready.clear()
        if self._response is not None:
            self._response.close()
        elif self._posting is not None:
            self._posting.cancel()

    async def _post(self, session: aiohttp.ClientSession) -> aiohttp.ClientResponse:
        endpoint = self._endpoint
        body = self._body if len(self._body) < _MAX_PLAIN_BODY else BytesIO(self._body)
        return await session.post(
            endpoint.url, data=body, headers=endpoint.headers, timeout=endpoint.timeout
        )

    async def _accept(self, response: aiohttp.ClientResponse) -> None:
        """Begins to read the answer. Raises UnexpectedResponse where it is no event stream."""
        self.content_type = response.headers.get("Content-Type", "")
        try:
            wire_of(self.content_type)
            is_stream = 200 <= response.status < 300
        except ValueError:
            is_stream = False
        if not is_stream:
            excerpt = await _excerpt(response.content)
            raise UnexpectedResponse(response.status, self.content_type, excerpt)
        self._begin(self.content_type)

    def _begin(self, content_type: str) -> None:
        self._consumer = StreamConsumer(
            content_type,
            run_input=self._run_input,
            middleware=self._endpoint.middleware,
            max_frame_size=self._endpoint.max_frame_size,
            max_depth=self._endpoint.max_depth,
            on_warning=self.warnings.append,
        )

    async def _read(self) -> None:
        """Waits for more of the body. Raises StopAsyncIteration at its end, StreamError."""
        if self._error is not None:
            raise self._error
        if self._at_end or self._consumer is None or self._response is None:
            raise StopAsyncIteration
        cut: Exception | None = None
        chunk = b""
        try:
            chunk = await self._response.content.readany()
        except (aiohttp.ClientError, ConnectionError, asyncio.TimeoutError) as error:
            cut = error
        if self._at_end:  # aborted meanwhile
            raise StopAsyncIteration
        self.bytes_received += len(chunk)
        try:
            if chunk:
                self._ready.extend(self._consumer.feed(chunk))
            else:
                self._at_end = True
                self._finish(self._consumer, cut)
        except StreamError as error:
            self._error = error
            self._response.close()
            if not self._ready:
                raise

    def _finish(self, consumer: StreamConsumer, cut: Exception | None) -> None:
        """The body has ended, or the connection was `cut`."""
        try:
            self._ready.extend(consumer.close())
        except TruncatedStream as error:
            self._ready.extend(error.events)
            if cut is None:
                raise
            raise TruncatedStream(
                f"{_described(cut)}: {error.reason}",
                event_index=error.event_index,
                offset=error.offset,
            ) from cut
        if cut is not None:
            message = f"{_described(cut)}, after the run had ended"
            self.warnings.append(StreamWarning("connection", "", None, message))

    async def _close(self) -> None:
        self._at_end = self.closed = True
        if self._response is not None:
            self._response.close()
        if self._own_session is not None:
            await self._own_session.close()

    @property
    def begun(self) -> bool:
        """Whether the server has answered with an event stream."""
        return self._consumer is not None

    @property
    def assembler(self) -> MessageAssembler:
        """What the events have come to. Raises RuntimeError before the run is entered."""
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
    def outcome(self) -> Literal["success", "interrupt", "cancelled", "error"] | None:
        """How the run ended, or None while it has not."""
        return self.assembler.outcome

    @property
    def result(self) -> Any:
        """What RUN_FINISHED carried, or None."""
        return self.assembler.result

    @property
    def error(self) -> RunErrorEvent | None:
        """The RUN_ERROR that ended the run, or None."""
        return self.assembler.error

    @property
    def pending_tool_call_ids(self) -> list[str]:
        """The tool calls that the front end has to answer."""
        return self.assembler.pending_tool_call_ids

    @property
    def interrupts(self) -> list[Interrupt]:
        """What an interrupted run waits for."""
        return self.assembler.interrupts

    @property
    def usage(self) -> list[TokenUsage]:
        """The tokens that the run reported."""
        return self.assembler.usage


def _held(run_input: RunAgentInput | dict[str, Any]) -> RunAgentInput:
    """The run input as it is now, with the activity messages that are not sent."""
    if isinstance(run_input, RunAgentInput):
        return msgspec.structs.replace(run_input, messages=list(run_input.messages))
    obj = camelise(RunAgentInput, plain(run_input, Policy(), lambda *_: None))
    return read_run_input(sse.encode_object(obj))


async def _excerpt(content: aiohttp.StreamReader) -> str:
    """How an error's body begins; what there is of it where the rest does not come."""
    body = bytearray()

    async def read() -> None:
        while len(body) < _MAX_EXCERPT:
            chunk = await content.read(_MAX_EXCERPT - len(body))
            if not chunk:
                break
            body.extend(chunk)

    with suppress(aiohttp.ClientError, ConnectionError, asyncio.TimeoutError):
        await asyncio.wait_for(read(), _EXCERPT_SECONDS)
    return body.decode("utf-8", "replace")


def _described(cut: Exception) -> str:
    if isinstance(cut, asyncio.TimeoutError):
        return "the server took too long"
    return "the connection was lost"


class SyncRun(Iterator[Event]):
    """A run read without `async`, by an event loop of its own: an iterator of its events.

    The request is sent by the first `next`, which raises what entering a Run raises. The
    connection closes at the end, with `close()`, and when the iterator is dropped. `run` has the
    messages, the state and the outcome.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._events = _events(run)

    def __next__(self) -> Event:
        return next(self._events)

    def close(self) -> None:
        """Close the connection now."""
        self._events.close()


def _events(run: Run) -> Generator[Event, None, None]:
    loop = asyncio.new_event_loop()

    def wait_for(step: Callable[[], Any]) -> None:
        loop.run_until_complete(step())

    try:
        wait_for(run.__aenter__)
        while True:
            while run._ready:
                yield run._ready.popleft()
            try:
                wait_for(run._read)
            except StopAsyncIteration:
                return
    finally:
        try:
            wait_for(run._close)
            wait_for(loop.shutdown_asyncgens)
        finally:
            loop.close()
