"""Real servers and raw sockets on the loopback interface, in the loop of the test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import compression_utils, web

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, RunAgentInput
from agui_wire.events import (
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from agui_wire.http import agent_handler

__all__ = [
    "FINISHED",
    "RUN_INPUT",
    "STARTED",
    "TEXT_END",
    "TEXT_START",
    "WIRES",
    "ZSTD",
    "Head",
    "agent_of",
    "ask",
    "connecting",
    "delta",
    "events_of",
    "post",
    "read_head",
    "read_until",
    "running",
    "running_handler",
    "scripted",
    "silent_agent",
    "tcp_server",
    "text_run",
]

WIRES = (SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)
# As a test's parameter, where aiohttp's client reads the body.
ZSTD = pytest.param(
    "zstd",
    marks=pytest.mark.skipif(
        not getattr(compression_utils, "HAS_ZSTD", False), reason="this aiohttp reads no zstd"
    ),
)
RUN_INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
STARTED = RunStartedEvent(thread_id="t", run_id="r", protocol_version="1.0")
FINISHED = RunFinishedEvent(thread_id="t", run_id="r")
TEXT_START = TextMessageStartEvent(message_id="m", role="assistant")
TEXT_END = TextMessageEndEvent(message_id="m")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Head = tuple[int, dict[str, str]]


def delta(text: str, message_id: str = "m") -> TextMessageContentEvent:
    return TextMessageContentEvent(message_id=message_id, delta=text)


def text_run(*texts: str) -> list[Any]:
    """A whole run that says these texts in one message."""
    return [STARTED, TEXT_START, *map(delta, texts), TEXT_END, FINISHED]


def silent_agent() -> tuple[Callable[[RunAgentInput], AsyncIterator[Any]], asyncio.Event]:
    """An agent that starts a run and then says nothing, and what is set when it is closed."""
    closed = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        try:
            yield STARTED
            await asyncio.Event().wait()
        finally:
            closed.set()

    return agent, closed


def agent_of(*events: Any) -> Callable[[RunAgentInput], AsyncIterator[Any]]:
    """An agent that has all its events ready."""

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        for event in events:
            yield event

    return agent


@asynccontextmanager
async def running_handler(
    handler: Handler, *, method: str = "POST", host: str = "127.0.0.1", **runner_options: Any
) -> AsyncIterator[str]:
    """The URL of an aiohttp handler while the block runs; the options are AppRunner's."""
    app = web.Application()
    app.router.add_route(method, "/{path:.*}", handler)
    runner_options = {"shutdown_timeout": 0.1, "access_log": None, **runner_options}
    runner = web.AppRunner(app, **runner_options)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, 0)
        await site.start()
        address = runner.addresses[0]
        yield f"http://{address[0]}:{address[1]}/"
    finally:
        await runner.cleanup()


def running(agent: Any, *, method: str = "POST", **options: Any) -> Any:
    """The URL of an agent while the block runs; the options are agent_handler's."""
    return running_handler(agent_handler(agent, **options), method=method)


@asynccontextmanager
async def connecting(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A plain connection to the server of `url`."""
    host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()


def ask(
    writer: asyncio.StreamWriter,
    *headers: str,
    accept: str = SSE_MEDIA_TYPE,
    body: bytes | None = None,
    content_type: str = "application/json",
) -> None:
    """Sends the POST that opens a run."""
    body = json.dumps(RUN_INPUT).encode() if body is None else body
    lines = [
        "POST / HTTP/1.1",
        "Host: localhost",
        f"Accept: {accept}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)


async def read_head(reader: asyncio.StreamReader) -> Head:
    """The status and the headers of a response, the names in lower case."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in head[1:] if line)
    return int(head[0].split()[1]), {name.lower(): value.strip() for name, _, value in pairs}


async def read_until(reader: asyncio.StreamReader, wanted: bytes) -> bytes:
    """What comes, up to `wanted` and the rest of its chunk."""
    return await asyncio.wait_for(reader.readuntil(wanted), 10)


@asynccontextmanager
async def tcp_server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[str]:
    """A server of bytes, for answers that no well-behaved one gives."""
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}/"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await server.wait_closed()


def scripted(*parts: bytes) -> Any:
    """A server that reads the request's head, writes these bytes, and closes the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in parts:
            writer.write(part)
            await writer.drain()

    return tcp_server(serve)


async def post(url: str, accept: str = SSE_MEDIA_TYPE, **options: Any) -> tuple[int, bytes, Any]:
    headers = {"Accept": accept, **options.pop("headers", {})}
    options.setdefault("json", RUN_INPUT)
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, headers=headers, **options) as response,
    ):
        return response.status, await response.read(), response.headers


async def events_of(url: str, accept: str = SSE_MEDIA_TYPE, **options: Any) -> list[Any]:
    status, body, headers = await post(url, accept, **options)
    assert status == 200
    return agui_wire.decode(body, headers["Content-Type"])
