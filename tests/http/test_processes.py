"""Clients and servers in processes of their own: killed, and under load."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, TruncatedStream
from agui_wire.events import TextMessageContentEvent
from agui_wire.http import AgentClient

from .child_server import raise_file_limit
from .harness import RUN_INPUT, STARTED, running, silent_agent

ROOT = Path(__file__).resolve().parents[2]

CLIENT = """
import sys
from agui_wire.http import AgentClient
for event in AgentClient(sys.argv[1], wires=["sse"]).run_sync(
    {"threadId": "t", "runId": "r", "messages": []}
):
    print(event.type.value, flush=True)
"""


@asynccontextmanager
async def child(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def first_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip()


async def test_a_client_that_is_killed_in_mid_run() -> None:
    agent, closed = silent_agent()

    async with running(agent) as url, child("-c", CLIENT, url) as client:
        assert await first_line(client) == "RUN_STARTED"
        assert not closed.is_set()
        client.kill()
        await asyncio.wait_for(closed.wait(), 10)


@pytest.mark.parametrize("wire", [SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE])
async def test_a_server_that_is_killed_inside_a_frame(wire: str) -> None:
    # One event of 8 MB does not fit into the buffers between the processes.
    props = {"count": 10, "padding": 8_000_000, "pause_after": 9}
    async with child("-m", "tests.http.child_server") as server:
        client = AgentClient(await first_line(server), wires=[wire])
        async with client.run({**RUN_INPUT, "forwardedProps": props}) as run:
            assert await run.__anext__() == STARTED
            server.kill()
            with pytest.raises(TruncatedStream):
                async for _ in run:
                    pass
            assert run.outcome is None


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("wire", [SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE])
async def test_a_thousand_streams_at_once(wire: str) -> None:
    """200 events each: nothing lost, nothing doubled, nothing out of order."""
    streams, count = 1000, 196
    props = {"count": count}
    all_open = asyncio.Event()
    opened = 0

    async def one(client: AgentClient, n: int) -> int:
        nonlocal opened
        run_input = {**RUN_INPUT, "runId": f"r{n}", "forwardedProps": props}
        async with client.run(run_input) as run:
            opened += 1
            if opened == streams:
                all_open.set()
            await all_open.wait()
            seen = [event async for event in run]
        assert run.outcome == "success"
        deltas = [e.delta for e in seen if isinstance(e, TextMessageContentEvent)]
        assert deltas == [f"{n} " for n in range(count)]
        return len(seen)

    raise_file_limit()
    async with child("-m", "tests.http.child_server") as server:
        client = AgentClient(await first_line(server), wires=[wire])
        counts = await asyncio.gather(*(one(client, n) for n in range(streams)))
    assert counts == [200] * streams
