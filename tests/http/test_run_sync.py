"""AgentClient.run_sync, against a server in another thread."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import pytest

from agui_wire import (
    EncodeError,
    RunAgentInput,
    UnexpectedResponse,
)
from agui_wire.http import AgentClient
from agui_wire.messages import AssistantMessage

from .harness import (
    RUN_INPUT,
    STARTED,
    agent_of,
    running,
    text_run,
)

SAID = AssistantMessage(id="m", content="hi there")


@contextmanager
def in_a_thread(agent: Any) -> Iterator[str]:
    """The URL of an agent that a thread serves."""
    loop = asyncio.new_event_loop()
    started, urls = threading.Event(), []
    stop = asyncio.Event()

    async def serve() -> None:
        async with running(agent) as url:
            urls.append(url)
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert started.wait(10)
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def test_run_sync_is_a_plain_iterator() -> None:
    with in_a_thread(agent_of(*text_run("hi ", "there"))) as url:
        events = AgentClient(url).run_sync(RUN_INPUT)
        assert list(events) == text_run("hi ", "there")
        assert (events.run.messages, events.run.outcome) == ([SAID], "success")
        assert list(events) == []


def test_run_sync_closes_its_connection_however_it_is_left() -> None:
    left = threading.Semaphore(0)

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        try:
            yield STARTED
            await asyncio.Event().wait()
        finally:
            left.release()

    with in_a_thread(agent) as url:
        events = AgentClient(url).run_sync(RUN_INPUT)
        assert next(events) == STARTED
        events.close()
        assert left.acquire(timeout=10)
        for event in AgentClient(url).run_sync(RUN_INPUT):
            assert event == STARTED
            break
        gc.collect()
        assert left.acquire(timeout=10)
        unread = AgentClient(url).run_sync(RUN_INPUT)
        unread.close()


def test_run_sync_raises_what_a_run_raises() -> None:
    with in_a_thread(agent_of()) as url:
        with pytest.raises(EncodeError):
            AgentClient(url).run_sync({})
        with pytest.raises(UnexpectedResponse):
            next(AgentClient(url, headers={"Expect": "x"}).run_sync(RUN_INPUT))
    with pytest.raises(aiohttp.ClientConnectorError):
        next(AgentClient(url).run_sync(RUN_INPUT))


async def test_run_sync_refuses_to_block_a_loop() -> None:
    with pytest.raises(RuntimeError, match="event loop"):
        AgentClient("http://127.0.0.1:1/").run_sync(RUN_INPUT)
