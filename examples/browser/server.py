"""A page and an agent, each on an origin of its own: python -m examples.browser.server [PORT]

The page is at http://localhost:8000/ or the port that is given, the agent at the next one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path

from aiohttp import web

from agui_wire import RunAgentInput
from agui_wire.events import (
    Event,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from agui_wire.http import agent_handler

Agent = Callable[[RunAgentInput], AsyncIterator[Event]]

PAGE = Path(__file__).with_name("page")

ANSWER = """\
Go to Kyoto in the first half of May. The cherry blossom is over and so are the crowds that came \
for it, the maples are in their first green, and the rains of June are still a month away. Stay \
near the Kamo river: in the evening the whole town sits on its banks.

Take one day for the moss gardens in the west, one for the long walk through the red gates of \
Fushimi Inari (start before seven), and one for doing nothing much. On the fifteenth the Aoi \
festival goes through the streets, five hundred people in the dress of a thousand years ago. 🌿"""


async def travel_agent(run_input: RunAgentInput) -> AsyncIterator[Event]:
    """Answers word by word. forwardedProps may set the number of `words` and the `pause` after
    each in seconds."""
    props = run_input.forwarded_props if isinstance(run_input.forwarded_props, dict) else {}
    words = ANSWER.split(" ")
    count, pause = props.get("words", len(words)), props.get("pause", 0.03)
    yield RunStartedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)
    yield TextMessageStartEvent(message_id="m1", role="assistant")
    for n in range(count):
        yield TextMessageContentEvent(message_id="m1", delta=words[n % len(words)] + " ")
        if pause:
            await asyncio.sleep(pause)
    yield TextMessageEndEvent(message_id="m1")
    yield RunFinishedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)


def agent_app(origins: Collection[str], agent: Agent = travel_agent) -> web.Application:
    """An agent that pages from these origins may call."""
    app = web.Application()
    handler = agent_handler(agent, cors=origins)
    app.router.add_post("/", handler)
    # Before it posts JSON to another origin, a browser asks whether it may.
    app.router.add_options("/", handler)
    return app


def page_app() -> web.Application:
    """The page, as `npm run build` left it."""

    async def index(request: web.Request) -> web.FileResponse:
        return web.FileResponse(PAGE / "index.html")

    app = web.Application()
    app.router.add_get("/", index)
    app.router.add_static("/", PAGE)
    return app


async def main(port: int) -> None:
    origins = [f"http://{host}:{port}" for host in ("localhost", "127.0.0.1")]
    for offset, app in enumerate((page_app(), agent_app(origins))):
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "localhost", port + offset).start()
    print(f"http://localhost:{port}/", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 8000))
