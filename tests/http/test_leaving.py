"""Runs that are left before their end."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

import agui_wire
from agui_wire import (
    SSE_MEDIA_TYPE,
    RunAgentInput,
)
from agui_wire.http import AgentClient

from .harness import (
    RUN_INPUT,
    STARTED,
    running,
    tcp_server,
)


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    writer.write(agui_wire.encode(STARTED, SSE_MEDIA_TYPE))
    await asyncio.Event().wait()


def sockets() -> int:
    def is_socket(fd: str) -> bool:
        try:
            return os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
        except OSError:
            return False

    return sum(map(is_socket, os.listdir("/proc/self/fd")))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts sockets as Linux lists them")
@pytest.mark.parametrize("how", ["abort", "leave", "leave-early", "cancel"])
async def test_runs_that_are_left_leave_no_sockets(how: str) -> None:
    """250 of each of four kinds: a thousand, and warnings are errors here."""
    opened = closed = 0

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        nonlocal opened, closed
        opened += 1
        try:
            yield STARTED
            await asyncio.Event().wait()
        finally:
            closed += 1

    async def one(client: AgentClient) -> None:
        async with client.run(RUN_INPUT) as run:
            if how == "leave-early":
                return
            assert await run.__anext__() == STARTED
            if how == "abort":
                run.abort()
                assert [event async for event in run] == []
            elif how == "cancel":
                await run.__anext__()

    async with running(agent) as url:
        client = AgentClient(url)
        await _cancelled_or_done(one(client), how)
        before = sockets()
        for _ in range(250):
            await _cancelled_or_done(one(client), how)
        while closed < opened:
            await asyncio.sleep(0)
        gc.collect()
        assert sockets() <= before + 1
    assert closed == opened


async def _cancelled_or_done(coroutine: Any, how: str) -> None:
    task = asyncio.ensure_future(coroutine)
    if how == "cancel":
        while not task.get_stack() or not _is_reading(task):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
    else:
        await task


def _is_reading(task: asyncio.Task[Any]) -> bool:
    """Whether a task waits for the second event."""
    frame = task.get_coro().cr_frame  # type: ignore[union-attr]
    run = frame.f_locals.get("run") if frame is not None else None
    return run is not None and run.bytes_received > 0


async def test_abort_wakes_who_reads_and_who_enters() -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with tcp_server(silent) as url, AgentClient(url).run(RUN_INPUT) as run:
        assert await run.__anext__() == STARTED
        asyncio.get_running_loop().call_soon(run.abort)
        assert [event async for event in run] == []
        assert run.outcome is None
    async with tcp_server(mute) as url:
        run = AgentClient(url).run(RUN_INPUT)
        asyncio.get_running_loop().call_later(0.05, run.abort)
        async with run:
            assert [event async for event in run] == []
        assert (run.outcome, run.messages) == (None, [])
    run = AgentClient(url).run(RUN_INPUT)
    run.abort()
    async with run:
        assert [event async for event in run] == []
