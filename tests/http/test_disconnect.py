"""Clients that leave, stop reading or vanish, and agents that are silent or stubborn."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, RunAgentInput, TruncatedStream
from agui_wire.events import TextMessageContentEvent
from agui_wire.http import AgentClient, agent_handler
from agui_wire.http._compress import compressor

from .harness import (
    FINISHED,
    RUN_INPUT,
    STARTED,
    TEXT_END,
    TEXT_START,
    WIRES,
    ZSTD,
    ask,
    connecting,
    delta,
    read_head,
    read_until,
    running,
    running_handler,
)

# Linux: a socket in this mode goes without a word to its peer.
_TCP_REPAIR = 19


@pytest.fixture(autouse=True)
def no_errors_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A client that leaves is no error; asyncio and aiohttp log what nobody caught."""
    yield
    assert not [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR]


class Agent:
    """Says that it has started, is then silent for ever, and tells how it was closed."""

    def __init__(self) -> None:
        self.silent = asyncio.Event()
        self.closed = asyncio.Event()
        self.cleaned_up = 0
        self.produced = 0

    async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        try:
            yield STARTED
            self.silent.set()
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            self.cleaned_up += 1
            self.closed.set()


@asynccontextmanager
async def watched(
    agent: Any, handler_cancellation: bool = False, **options: Any
) -> AsyncIterator[tuple[str, asyncio.Future[int]]]:
    """The URL of an agent, and a future with what had been cleaned up as its handler returned."""
    handle = agent_handler(agent, **options)
    returned: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def handler(request: web.Request) -> web.StreamResponse:
        try:
            return await handle(request)
        finally:
            returned.set_result(getattr(agent, "cleaned_up", 0))

    async with running_handler(handler, handler_cancellation=handler_cancellation) as url:
        yield url, returned


@pytest.mark.parametrize("handler_cancellation", [False, True])
@pytest.mark.parametrize("leaving", ["close", "abort", "half-close"])
async def test_a_silent_agent_is_closed_at_once_and_awaited(
    handler_cancellation: bool, leaving: str
) -> None:
    agent = Agent()
    async with (
        watched(agent, handler_cancellation) as (url, returned),
        connecting(url) as (_, writer),
    ):
        ask(writer)
        await agent.silent.wait()
        if leaving == "close":
            writer.close()
        elif leaving == "abort":
            writer.transport.abort()
        else:
            writer.write_eof()
        assert await asyncio.wait_for(returned, 10) == 1
    assert agent.cleaned_up == 1


@pytest.mark.parametrize("wire", WIRES)
async def test_a_client_that_leaves_while_events_come(wire: str) -> None:
    class Talker(Agent):
        async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
            try:
                yield STARTED
                yield TEXT_START
                while True:
                    await asyncio.sleep(0)
                    yield delta("word ")
            finally:
                self.cleaned_up += 1

    agent = Talker()
    async with watched(agent) as (url, returned):
        async with AgentClient(url, wires=[wire]).run(RUN_INPUT) as run:
            seen = 0
            async for _ in run:
                seen += 1
                if seen == 20:
                    break
        assert await asyncio.wait_for(returned, 10) == 1


async def test_a_client_that_leaves_before_the_agent_has_started() -> None:
    entered = asyncio.Event()
    cancelled = []

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        raise AssertionError

    async with watched(agent) as (url, returned):
        async with connecting(url) as (_, writer):
            ask(writer)
            await entered.wait()
            writer.transport.abort()
        await asyncio.wait_for(returned, 10)
    assert cancelled == [True]


async def test_an_agent_that_swallows_its_cancellation_is_closed_all_the_same() -> None:
    class Stubborn(Agent):
        async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
            try:
                yield STARTED
                self.silent.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    yield delta("I go on")
                    self.produced += 1
            finally:
                self.cleaned_up += 1

    agent = Stubborn()
    async with watched(agent) as (url, returned):
        async with connecting(url) as (_, writer):
            ask(writer)
            await agent.silent.wait()
        assert await asyncio.wait_for(returned, 10) == 1
    assert agent.produced == 0


async def test_a_clean_up_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Clumsy(Agent):
        async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
            try:
                yield STARTED
                self.silent.set()
                await asyncio.Event().wait()
            finally:
                raise LookupError("the tidy house")

    agent = Clumsy()
    async with watched(agent) as (url, returned):
        async with connecting(url) as (_, writer):
            ask(writer)
            await agent.silent.wait()
        await asyncio.wait_for(returned, 10)
    assert "the tidy house" in caplog.text
    assert {record.name for record in caplog.records} == {"agui_wire"}
    caplog.clear()


@pytest.mark.parametrize("handler_cancellation", [False, True])
async def test_a_detached_agent_runs_to_its_end(handler_cancellation: bool) -> None:
    go = asyncio.Event()
    silent = asyncio.Event()
    ended = asyncio.Event()
    produced = []

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        silent.set()
        await go.wait()
        # More than would ever fit between here and a client.
        for n in range(200):
            produced.append(n)
            yield delta("x" * 10_000)
        yield FINISHED
        ended.set()

    async with watched(agent, handler_cancellation, on_disconnect="detach") as (url, returned):
        async with connecting(url) as (_, writer):
            ask(writer)
            await silent.wait()
        await asyncio.wait_for(returned, 10)
        assert not produced
        go.set()
        await asyncio.wait_for(ended.wait(), 10)
    assert len(produced) == 200


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("coalesce", [None, 0.001])
async def test_a_slow_reader_stops_the_agent(wire: str, coalesce: float | None) -> None:
    """What waits for the reader is bounded in bytes, however much the agent has to say."""
    total = 1500
    text = "x" * 10_000

    class Talker(Agent):
        async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
            yield STARTED
            yield TEXT_START
            for _ in range(total):
                self.produced += 1
                yield delta(text)
            yield TEXT_END
            yield FINISHED

    agent = Talker()
    async with running(agent, coalesce=coalesce) as url, connecting(url) as (reader, writer):
        peer = writer.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 * 1024)
        ask(writer, accept=wire)
        _, headers = await read_head(reader)
        before = -1
        while agent.produced > before:
            before = agent.produced
            for _ in range(200):
                await asyncio.sleep(0)
        # Kernel buffers hold a few MiB at most; the whole run is 15 MB.
        assert 0 < agent.produced < total / 2
        got = 0
        decoder = agui_wire.StreamDecoder(wire)
        chunks = _Unchunked()
        while not chunks.ended:
            data = await asyncio.wait_for(reader.read(65536), 10)
            assert data
            for event in decoder.feed(chunks.feed(data)):
                if isinstance(event, TextMessageContentEvent):
                    got += len(event.delta)
        decoder.close()
    assert headers["content-type"] == wire
    assert got == total * len(text)
    assert agent.produced == total


class _Unchunked:
    """Takes the chunked coding (RFC 9112 section 7.1) off a body."""

    def __init__(self) -> None:
        self._held = b""
        self.ended = False

    def feed(self, data: bytes) -> bytes:
        self._held += data
        out: list[bytes] = []
        while True:
            size, end, rest = self._held.partition(b"\r\n")
            if not end or len(rest) < int(size, 16) + 2:
                return b"".join(out)
            length = int(size, 16)
            out.append(rest[:length])
            self._held = rest[length + 2 :]
            self.ended = length == 0
            if self.ended:
                return b"".join(out)


async def test_a_reader_that_stops_for_good_is_cut_off() -> None:
    class Talker(Agent):
        async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
            try:
                yield STARTED
                yield TEXT_START
                while True:
                    yield delta("x" * 50_000)
            finally:
                self.cleaned_up += 1

    agent = Talker()
    async with watched(agent, write_timeout=0.1) as (url, returned):
        host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1)
        try:
            ask(writer)
            assert await asyncio.wait_for(returned, 30) == 1
        finally:
            writer.transport.abort()


async def test_a_client_that_vanished_is_found_by_the_keep_alive() -> None:
    """No FIN, no RST, as when its machine loses power: only a write can tell."""
    agent = Agent()
    async with watched(agent, keep_alive=0.01) as (url, returned):
        host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
        sock = socket.create_connection((host, int(port)))
        try:
            try:
                sock.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
                sock.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 0)
            except OSError:
                pytest.skip("needs Linux and the right to make a socket vanish")
            body = json.dumps(RUN_INPUT).encode()
            head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            sock.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            await asyncio.wait_for(agent.silent.wait(), 10)
            sock.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
        finally:
            sock.close()
        assert await asyncio.wait_for(returned, 10) == 1


async def test_comments_keep_an_idle_sse_stream_alive_and_lose_nothing() -> None:
    """The wait for the next event is not given up at a timeout: the agent is never cancelled."""
    go = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        await go.wait()
        yield FINISHED

    async with running(agent, keep_alive=0.005) as url, connecting(url) as (reader, writer):
        ask(writer)
        await read_head(reader)
        for _ in range(5):
            await read_until(reader, b": ping\n\n")
        go.set()
        body = await read_until(reader, b"RUN_FINISHED")
        assert b"RUN_ERROR" not in body


@pytest.mark.parametrize("coding", ["gzip", ZSTD])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("first", ["event", "heartbeat"])
async def test_empty_blocks_keep_a_compressed_stream_alive(
    coding: Any, wire: str, first: str
) -> None:
    go, seen = asyncio.Event(), asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        if first == "event":
            yield STARTED
        await go.wait()
        if first == "heartbeat":
            yield STARTED
        yield FINISHED

    options: dict[str, Any] = {"compression": coding, "keep_alive": 0.005}
    async with running(agent, **options) as url:
        async with connecting(url) as (reader, writer):
            ask(writer, f"Accept-Encoding: {coding}", accept=wire)
            _, headers = await read_head(reader)
            assert headers["content-encoding"] == coding
            assert headers["vary"] == "Accept, Accept-Encoding"
            # Whole chunks on the wire, one after the other, of a stream that is silent.
            for _ in range(5):
                size = int(await asyncio.wait_for(reader.readline(), 10), 16)
                await reader.readexactly(size + 2)
                assert size
        client = AgentClient(url, wires=[wire], compression=coding)
        async with client.run(RUN_INPUT) as run:

            async def read() -> list[Any]:
                return [event async for event in run]

            reading = asyncio.create_task(read())
            for _ in range(50):
                await asyncio.sleep(0.001)
            seen.set()
            go.set()
            assert await asyncio.wait_for(reading, 10) == [STARTED, FINISHED]


async def test_an_uncompressed_binary_stream_stays_silent() -> None:
    agent = Agent()
    async with (
        watched(agent, keep_alive=0.001, compression="gzip") as (url, _),
        connecting(url) as (reader, writer),
    ):
        ask(writer, "Accept-Encoding: identity", accept=AGUI_MEDIA_TYPE)
        await read_head(reader)
        await agent.silent.wait()
        frame = agui_wire.encode(STARTED, AGUI_MEDIA_TYPE)
        assert await reader.readexactly(len(frame) + 6) == b"%x\r\n%b\r\n" % (len(frame), frame)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.05)


def test_a_heartbeat_is_not_nothing() -> None:
    for coding in ("gzip", "zstd"):
        assert compressor(coding).heartbeat()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("coalesce", [None, 3600.0])
async def test_a_cancelled_handler_says_so_in_its_last_words(
    wire: str, coalesce: float | None
) -> None:
    """As when the server shuts down, or a middleware of the application limits the time."""
    agent_is_silent = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        yield TEXT_START
        yield delta("held ")
        yield delta("back")
        agent_is_silent.set()
        await asyncio.Event().wait()

    handle = agent_handler(agent, coalesce=coalesce)

    async def limited(request: web.Request) -> web.StreamResponse:
        task = asyncio.ensure_future(handle(request))
        await agent_is_silent.wait()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        raise asyncio.CancelledError

    async with (
        running_handler(limited) as url,
        AgentClient(url, wires=[wire]).run(RUN_INPUT) as run,
    ):
        events = [event async for event in run]
    text = "".join(event.delta for event in events if isinstance(event, TextMessageContentEvent))
    assert text == "held back"
    assert events[-1].type == "RUN_ERROR"
    assert run.outcome == "error"


async def test_a_server_that_shuts_down_ends_its_runs() -> None:
    agent = Agent()
    async with running(agent) as url:
        run = AgentClient(url, wires=[SSE_MEDIA_TYPE]).run(RUN_INPUT)
        await run.__aenter__()
        assert await run.__anext__() == STARTED
    await asyncio.wait_for(agent.closed.wait(), 10)
    assert agent.cleaned_up == 1
    with pytest.raises(TruncatedStream):
        await run.__anext__()
    await run.__aexit__(None, None, None)
