"""The demo: a recorded run through a real server and a real client, over each wire."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

from .errors import TruncatedStream
from .events import Event
from .http.client import AgentClient
from .http.server import Agent, agent_handler
from .media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE
from .messages import Message, UserMessage
from .recording import read_recording
from .run_input import RunAgentInput

__all__ = ["Passage", "are_equal", "play", "replay_agent", "serve"]


class Passage(NamedTuple):
    """One run of the recording over one wire."""

    content_type: str
    bytes_received: int
    events: list[Event]
    messages: list[Message]
    state: Any
    seconds: float


def replay_agent(path: Path) -> Agent:
    """An agent that answers every run with the events of a recording.

    Raises OSError, and StreamError where the recording is broken or holds no event.
    """
    with path.open("rb") as stream:
        events = [event for recorded in read_recording(stream) for event in recorded.events]
    if not events:
        raise TruncatedStream(f"{path} holds no event")

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Event]:
        for event in events:
            yield event

    return agent


async def serve(agent: Agent, host: str, port: int) -> None:
    """Serve an agent on every path until cancelled; the URL goes to standard output."""
    app = web.Application()
    app.router.add_post("/{path:.*}", agent_handler(agent))
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        address = runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        print(f"http://{shown}:{address[1]}/", flush=True)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def are_equal(passages: list[Passage]) -> bool:
    """Whether the same events, messages and state arrived over every wire."""
    results = [(each.events, each.messages, each.state) for each in passages]
    return all(result == results[0] for result in results)


async def play(recording: Path) -> list[Passage]:
    """The recording, served by a process of its own, as it arrives over each wire: SSE first.

    Raises OSError where the server does not start (it says why on standard error), and what
    AgentClient raises.
    """
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agui_wire", "serve", str(recording)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        url = (await server.stdout.readline()).decode().strip()
        if not url:
            raise OSError("the server did not start")
        await _run(url, SSE_MEDIA_TYPE)  # warms both sides up
        wires = (SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)
        return [await _run(url, wire) for wire in wires]
    finally:
        if server.returncode is None:
            server.terminate()
        await server.wait()


async def _run(url: str, wire: str) -> Passage:
    run_input = RunAgentInput(
        thread_id="demo", run_id=f"demo-{wire}", messages=[UserMessage(id="u1", content="go")]
    )
    events: list[Event] = []
    start = time.perf_counter()
    async with AgentClient(url, wires=[wire]).run(run_input) as run:
        async for event in run:
            events.append(event)
    seconds = time.perf_counter() - start
    return Passage(run.content_type, run.bytes_received, events, run.messages, run.state, seconds)
