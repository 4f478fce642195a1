"""Proxies in front, as docs/deploying.md sets them up, and nginx as it is without that.

Needs the programs: `apt-get install nginx haproxy caddy` or the like; those that are not there
are skipped. Run with `pytest -m slow`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, RunAgentInput, TruncatedStream
from agui_wire.events import StateSnapshotEvent
from agui_wire.http import AgentClient

from .harness import FINISHED, RUN_INPUT, STARTED, WIRES, agent_of, running, silent_agent, text_run
from .proxies import DOCUMENTED, PROXIES, READ_TIMEOUT, Proxy, behind

pytestmark = pytest.mark.slow


@pytest.fixture(params=PROXIES)
def proxy(request: pytest.FixtureRequest) -> Proxy:
    found = PROXIES[request.param]
    if found.path is None:
        pytest.skip(f"needs {found.program}")
    return found


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("wire", WIRES)
async def test_the_first_event_is_through_at_once(
    wire: str, compression: Any, proxy: Proxy, tmp_path: Path
) -> None:
    seen = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        await seen.wait()
        yield FINISHED

    async with (
        running(agent, compression=compression) as upstream,
        behind(proxy, tmp_path, upstream) as url,
        AgentClient(url, wires=[wire], compression="gzip").run(RUN_INPUT) as run,
    ):
        assert await asyncio.wait_for(run.__anext__(), 10) == STARTED
        seen.set()
        assert [event async for event in run] == [FINISHED]
        assert run.content_type == wire


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
@pytest.mark.parametrize("wire", WIRES)
async def test_large_and_small_events_arrive_intact(
    wire: str, compression: Any, proxy: Proxy, tmp_path: Path
) -> None:
    state = {"every byte": "".join(map(chr, range(0x2000))), "long": "x" * 300_000}
    events = [*text_run(*["word "] * 5000)[:-1], StateSnapshotEvent(snapshot=state), FINISHED]
    async with (
        running(agent_of(*events), compression=compression) as upstream,
        behind(proxy, tmp_path, upstream) as url,
        AgentClient(url, wires=[wire], compression="auto").run(RUN_INPUT) as run,
    ):
        assert [event async for event in run] == events


@pytest.mark.parametrize(
    ("wire", "compression"),
    [(SSE_MEDIA_TYPE, None), (SSE_MEDIA_TYPE, "gzip"), (AGUI_MEDIA_TYPE, "gzip")],
)
async def test_a_silence_survives_where_a_heartbeat_is_promised(
    wire: str, compression: Any, proxy: Proxy, tmp_path: Path
) -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        await asyncio.sleep(READ_TIMEOUT * 2.5)
        yield FINISHED

    async with (
        running(agent, compression=compression, keep_alive=READ_TIMEOUT / 4) as upstream,
        behind(proxy, tmp_path, upstream) as url,
        AgentClient(url, wires=[wire], compression=compression).run(RUN_INPUT) as run,
    ):
        assert [event async for event in run] == [STARTED, FINISHED]


async def test_a_silence_without_one_does_not_and_says_so(proxy: Proxy, tmp_path: Path) -> None:
    if not proxy.gives_up:
        pytest.skip("waits for ever")
    agent, closed = silent_agent()

    async with (
        running(agent, keep_alive=READ_TIMEOUT / 4) as upstream,
        behind(proxy, tmp_path, upstream) as url,
        AgentClient(url, wires=[AGUI_MEDIA_TYPE]).run(RUN_INPUT) as run,
    ):
        assert await run.__anext__() == STARTED
        with pytest.raises(TruncatedStream):
            await run.__anext__()
        await asyncio.wait_for(closed.wait(), 10)


async def test_a_client_that_leaves_is_noticed_through_the_proxy(
    proxy: Proxy, tmp_path: Path
) -> None:
    agent, closed = silent_agent()

    async with running(agent) as upstream, behind(proxy, tmp_path, upstream) as url:
        async with AgentClient(url).run(RUN_INPUT) as run:
            assert await run.__anext__() == STARTED
        await asyncio.wait_for(closed.wait(), 10)


@pytest.mark.parametrize("proxy", DOCUMENTED, indirect=True)
async def test_a_large_conversation_is_passed_on(proxy: Proxy, tmp_path: Path) -> None:
    message = {"role": "user", "id": "u", "content": "x" * 5_000_000}
    async with (
        running(agent_of(STARTED, FINISHED)) as upstream,
        behind(proxy, tmp_path, upstream) as url,
        AgentClient(url).run({**RUN_INPUT, "messages": [message]}) as run,
    ):
        assert [event async for event in run] == [STARTED, FINISHED]
