"""Agent frameworks as they are published, served on every wire, against two clients."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE
from agui_wire.http import AgentClient
from tests.interop.peer import ROOT

from .agents.script import CALL_ID, answer
from .examples import DOC, EXAMPLES
from .install import python_of
from .servers import NAMES, Server, run_input, serving

WIRES = [AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE]

# What a framework answers once its encoder is ours, by what the client asks for.
ALL = dict(zip(WIRES, WIRES))
NONE = dict.fromkeys(WIRES, SSE_MEDIA_TYPE)
SWAPPED = {
    "adk": ALL,
    "agent_framework": NONE,  # makes its encoder without Accept
    "langgraph": ALL,
    "llama_index": NONE,  # makes its encoder without Accept
    "pydantic_ai": ALL,
    "strands": {**ALL, MSGPACK_MEDIA_TYPE: SSE_MEDIA_TYPE},  # passes Accept on for protobuf only
}

# What differs from run to run.
IDS = re.compile(r"thread-\d+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
TIMES = re.compile(r'(?<="timestamp":)\d+')


def settled(text: str) -> str:
    """`text` with each id replaced by its place in the order of appearance, and no times."""
    seen: dict[str, str] = {}
    text = TIMES.sub(lambda match: "0" * len(match[0]), text)
    return IDS.sub(lambda match: seen.setdefault(match[0], f"#{len(seen)}"), text)


def transcript(messages: Any, state: Any) -> Any:
    """What a client has in the end, comparable from run to run."""
    return json.loads(settled(json.dumps([messages, state])))


@pytest.fixture(scope="module", params=NAMES)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    name: str = request.param
    if not python_of(name).exists():
        pytest.skip(f"needs `python tests/frameworks/install.py {name}`")
    with serving(name) as running:
        yield running


async def ours(url: str, wire: str) -> tuple[str, Any]:
    """The content type of a run, and what our client makes of it."""
    async with AgentClient(url, wires=[wire]).run(run_input()) as run:
        events = [event async for event in run]
    assert (run.outcome, run.warnings, events != []) == ("success", [], True)
    messages = [agui_wire.to_dict(message) for message in run.messages]
    return run.content_type.partition(";")[0], transcript(messages, run.state)


async def failing(url: str, wire: str) -> tuple[str, list[Any], str]:
    """The content type, the types of the events and the error of a run whose model fails."""
    async with AgentClient(url, wires=[wire]).run(run_input("fail after 5 words")) as run:
        types = [event.type async for event in run]
    assert run.error is not None
    return run.content_type.partition(";")[0], types, run.error.message


async def published(url: str, wire: str) -> tuple[str, Any]:
    """The content type of a run, and what `@ag-ui/client` makes of it."""
    node = shutil.which("node")
    if node is None or not (ROOT / "node_modules" / "@ag-ui").is_dir():
        pytest.skip("needs Node.js and `npm install`")
    script = str(ROOT / "tests" / "interop" / "http_agent.mjs")
    process = await asyncio.create_subprocess_exec(
        *(node, script, url, wire, run_input()["threadId"]), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    seen = json.loads(out)
    assert seen["error"] is None
    content_type: str = seen["contentType"]
    return content_type.partition(";")[0], transcript(seen["messages"], seen["state"])


async def expected(server: Server) -> Any:
    """What the framework's own server comes to, and that it did what the script says."""
    content_type, seen = await ours(server.url("plain"), SSE_MEDIA_TYPE)
    assert content_type == SSE_MEDIA_TYPE
    messages, _ = seen
    said = [str(message.get("content")).strip() for message in messages]
    assert "".join(answer("")).strip() in said
    assert [call["id"] for each in messages for call in each.get("toolCalls", ())] == [CALL_ID]
    return seen


async def test_binary_transport(server: Server) -> None:
    same = await expected(server)
    url = server.url("transport")
    assert await published(url, "sse") == (SSE_MEDIA_TYPE, same)
    assert await published(url, "protobuf") == (AGUI_MEDIA_TYPE, same)
    for wire in WIRES:
        assert await ours(url, wire) == (wire, same)


@contextmanager
def swapped(server: Server) -> Iterator[None]:
    """The server with our encoder in the SDK's class."""
    replaced = server.control("install")
    try:
        assert "ag_ui.encoder.encoder.EventEncoder.encode" in replaced
        assert server.control("install") == []
        yield
    finally:
        assert server.control("uninstall") == replaced


async def test_the_encoder_swapped(server: Server) -> None:
    same = await expected(server)
    answers = SWAPPED[server.name]
    url = server.url("plain")
    with swapped(server):
        assert await published(url, "sse") == (SSE_MEDIA_TYPE, same)
        assert await published(url, "protobuf") == (answers[AGUI_MEDIA_TYPE], same)
        for wire in WIRES:
            assert await ours(url, wire) == (answers[wire], same)
        assert await ours(server.url("transport"), AGUI_MEDIA_TYPE) == (AGUI_MEDIA_TYPE, same)
    assert await ours(url, AGUI_MEDIA_TYPE) == (SSE_MEDIA_TYPE, same)


def test_the_text_is_the_same_to_the_byte(server: Server) -> None:
    def text() -> str:
        content_type, body = server.body("plain", SSE_MEDIA_TYPE, run_input())
        return settled(f"{content_type}\n{body.decode()}")

    before = text()
    with swapped(server):
        assert text() == before


async def test_a_run_that_fails(server: Server) -> None:
    plain, transport = server.url("plain"), server.url("transport")
    content_type, *same = await failing(plain, SSE_MEDIA_TYPE)
    assert content_type == SSE_MEDIA_TYPE
    assert await failing(transport, AGUI_MEDIA_TYPE) == (AGUI_MEDIA_TYPE, *same)
    with swapped(server):
        wire = SWAPPED[server.name][AGUI_MEDIA_TYPE]
        assert await failing(plain, AGUI_MEDIA_TYPE) == (wire, *same)


def test_every_python_block_of_the_documentation_is_an_example() -> None:
    assert DOC.read_text(encoding="utf-8").count("```python") == len(EXAMPLES)
    assert EXAMPLES.keys() == {"dropin", *NAMES}
