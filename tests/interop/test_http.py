"""Over real sockets: the published client against our servers, our client against the SDK's."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import ag_ui.core
import pytest
from ag_ui.encoder import EventEncoder as SdkEncoder
from aiohttp.test_utils import TestServer
from aiohttp.web import Application
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, Event, RunAgentInput
from agui_wire.http import AgentClient, agent_handler
from agui_wire.http.asgi import BinaryTransport, agent_app
from agui_wire.messages import UserMessage
from agui_wire.recording import shipped_recording
from tests.http.asgi_server import serving
from tests.interop.peer import ROOT

HERE = Path(__file__).resolve().parent
LINES = shipped_recording().read_text(encoding="utf-8").splitlines()
EVENTS = [agui_wire.from_dict(json.loads(line)) for line in LINES]
RUN_INPUT = RunAgentInput(
    thread_id="t", run_id="r", messages=[UserMessage(id="u1", content="Where to in May?")]
)


async def replay(run_input: RunAgentInput) -> AsyncIterator[Event]:
    """The shipped recording, as an agent."""
    for event in EVENTS:
        yield event


async def published_client(url: str, wire: str) -> Any:
    """What the published client makes of a run."""
    node = shutil.which("node")
    if node is None or not (ROOT / "node_modules" / "@ag-ui").is_dir():
        pytest.skip("needs Node.js and `npm install`")
    process = await asyncio.create_subprocess_exec(
        *(node, str(HERE / "http_agent.mjs"), url, wire), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return json.loads(out)


class Seen:
    """What our client makes of a run."""

    def __init__(self, events: list[Event], run: Any) -> None:
        self.content_type = run.content_type.partition(";")[0]
        self.events = events
        self.messages = [agui_wire.to_dict(message) for message in run.messages]
        self.state = run.state
        self.outcome = run.outcome
        self.warnings = run.warnings


async def our_client(url: str, *wires: str) -> Seen:
    """What our client makes of a run."""
    async with AgentClient(url, wires=wires).run(RUN_INPUT) as run:
        events = [event async for event in run]
    return Seen(events, run)


async def test_the_published_client_over_protobuf() -> None:
    app = Application()
    app.router.add_post("/", agent_handler(replay))
    async with TestServer(app) as server:
        url = str(server.make_url("/"))
        binary = await published_client(url, "protobuf")
        text = await published_client(url, "sse")
        ours = await our_client(url, AGUI_MEDIA_TYPE)
    assert binary["error"] is None
    assert binary.pop("contentType") == ours.content_type == AGUI_MEDIA_TYPE
    assert text.pop("contentType") == SSE_MEDIA_TYPE
    assert binary == text
    assert binary["delivered"] == [event.type.value for event in ours.events]
    assert binary["messages"] == ours.messages
    assert binary["state"] == ours.state
    assert (len(ours.events), ours.outcome, ours.warnings) == (2041, "success", [])


async def test_the_published_client_against_asgi() -> None:
    async with serving(agent_app(replay)) as url:
        binary = await published_client(url, "protobuf")
        ours = await our_client(url, MSGPACK_MEDIA_TYPE)
    assert (binary["error"], binary["contentType"]) == (None, AGUI_MEDIA_TYPE)
    assert binary["messages"] == ours.messages


def sdk_app() -> FastAPI:
    """A server as the SDK's documentation has it, on the shipped recording."""
    app = FastAPI()
    adapter: Any = TypeAdapter(ag_ui.core.Event)
    events = [adapter.validate_json(line) for line in LINES]

    @app.post("/")
    async def run(run_input: ag_ui.core.RunAgentInput, request: Request) -> StreamingResponse:
        encoder = SdkEncoder(accept=request.headers.get("accept") or "")

        async def stream() -> AsyncIterator[str]:
            assert run_input.messages[0].content == "Where to in May?"
            for event in events:
                yield encoder.encode(event)

        return StreamingResponse(stream(), media_type=encoder.get_content_type())

    return app


async def test_our_client_against_the_sdks_server() -> None:
    async with serving(sdk_app()) as url:
        seen = await our_client(url, AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE)
    assert seen.content_type == SSE_MEDIA_TYPE
    assert seen.events == EVENTS
    assert (seen.outcome, seen.warnings) == ("success", [])


@pytest.mark.parametrize("wire", [AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE])
async def test_our_client_against_the_sdks_server_behind_binary_transport(wire: str) -> None:
    async with serving(BinaryTransport(sdk_app())) as url:
        seen = await our_client(url, wire)
    assert seen.content_type == wire
    assert seen.events == EVENTS
    assert (seen.outcome, seen.warnings) == ("success", [])
