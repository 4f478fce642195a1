"""agent_app under uvicorn."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, RunAgentInput
from agui_wire.events import (
    RunFinishedEvent,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
)
from agui_wire.http.asgi import agent_app
from tests.http.asgi_server import serving

WIRES = (SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)
RUN_INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}

STARTED = RunStartedEvent(thread_id="t", run_id="r")
FINISHED = RunFinishedEvent(thread_id="t", run_id="r")


def delta(text: str) -> TextMessageContentEvent:
    """A piece of a text message."""
    return TextMessageContentEvent(message_id="m", delta=text)


def agent_of(*events: Any) -> Any:
    """An agent that yields these events; exceptions among them are raised."""

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        for event in events:
            if isinstance(event, Exception):
                raise event
            yield event

    return agent


async def run(url: str, wire: str = AGUI_MEDIA_TYPE) -> list[dict[str, Any]]:
    """The events of one run, as JSON."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json=RUN_INPUT, headers={"Accept": wire}) as response,
    ):
        assert response.status == 200
        assert response.headers["Content-Type"] == wire
        body = await response.read()
    return [agui_wire.to_dict(event) for event in agui_wire.decode(body, wire)]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_run(wire: str) -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        ids: Any = {"thread_id": run_input.thread_id, "run_id": run_input.run_id}
        yield RunStartedEvent(**ids)
        yield {"type": "TEXT_MESSAGE_CONTENT", "message_id": "m", "delta": "a\ud83d"}
        yield delta("\ude00")
        yield RunFinishedEvent(**ids)
        yield delta("late")

    async with serving(agent_app(agent)) as url:
        events = await run(url + "any/path", wire)
    assert events == [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "\U0001f600"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]


async def test_an_agent_that_is_awaited_first() -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        return agent_of(STARTED, FINISHED)(run_input)  # type: ignore[no-any-return]

    async with serving(agent_app(agent)) as url:
        assert [event["type"] for event in await run(url)] == ["RUN_STARTED", "RUN_FINISHED"]


async def test_headers() -> None:
    async with serving(agent_app(agent_of(STARTED, FINISHED))) as url, aiohttp.ClientSession() as s:
        for wire, encoding in ((AGUI_MEDIA_TYPE, "identity"), (SSE_MEDIA_TYPE, None)):
            async with s.post(url, json=RUN_INPUT, headers={"Accept": wire}) as response:
                assert response.headers.getall("Content-Type") == [wire]
                assert response.headers["Vary"] == "Accept"
                assert response.headers["Cache-Control"] == "no-cache, no-transform"
                assert response.headers["X-Accel-Buffering"] == "no"
                assert response.headers.get("Content-Encoding") == encoding


REFUSED: dict[str, tuple[dict[str, Any], int, dict[str, str]]] = {
    "not POST": ({"method": "PUT", "json": RUN_INPUT}, 405, {}),
    "not JSON": ({"data": b"{}", "headers": {"Content-Type": "text/plain"}}, 415, {}),
    "no content type": ({"data": b"{}", "skip_auto_headers": ["Content-Type"]}, 415, {}),
    "too large": ({"json": {**RUN_INPUT, "state": "x" * 2000}}, 413, {}),
    "no object": ({"json": []}, 400, {"path": ""}),
    "missing": ({"json": {"threadId": "t", "messages": []}}, 400, {"path": "/runId"}),
    "wrong": ({"json": {**RUN_INPUT, "runId": 1}}, 400, {"path": "/runId"}),
}


@pytest.mark.parametrize(("request_", "status", "says"), REFUSED.values(), ids=REFUSED)
async def test_requests_that_open_no_run(
    request_: dict[str, Any], status: int, says: dict[str, str]
) -> None:
    called = []

    def agent(run_input: RunAgentInput) -> Any:
        called.append(run_input)

    async with (
        serving(agent_app(agent, max_body_size=1000)) as url,
        aiohttp.ClientSession() as session,
        session.request(**{"method": "POST", "url": url, **request_}) as response,
    ):
        problem = await response.json()
        allowed = response.headers.get("Allow")
    assert response.status == status
    assert problem["message"]
    assert problem.items() >= says.items()
    assert allowed == ("POST" if status == 405 else None)
    assert not called


@pytest.mark.parametrize("wire", WIRES)
async def test_an_event_is_there_before_the_next_is_made(wire: str) -> None:
    received = [asyncio.Event() for _ in range(3)]

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        for event, arrived in zip((STARTED, delta("x"), FINISHED), received):
            yield event
            await arrived.wait()

    decoder = agui_wire.StreamDecoder(wire)
    count = 0
    async with (
        serving(agent_app(agent)) as url,
        aiohttp.ClientSession() as session,
        session.post(url, json=RUN_INPUT, headers={"Accept": wire}) as response,
    ):
        async for chunk in response.content.iter_any():
            for _ in decoder.feed(chunk):
                received[count].set()
                count += 1
    assert count == 3


async def test_an_agent_that_fails_before_its_run(caplog: pytest.LogCaptureFixture) -> None:
    def at_once(run_input: RunAgentInput) -> Any:
        raise LookupError("secret")

    async def awaited(run_input: RunAgentInput) -> Any:
        raise LookupError("secret")

    for agent in (at_once, awaited):
        async with (
            serving(agent_app(agent, error_message=lambda error: type(error).__name__)) as url,
            aiohttp.ClientSession() as session,
            session.post(url, json=RUN_INPUT) as response,
        ):
            assert response.status == 500
            assert await response.json() == {"error": "agent failed", "message": "LookupError"}
        assert "secret" in caplog.text
        caplog.clear()


FAILURES: dict[str, tuple[list[Any], str]] = {
    "it raises": ([STARTED, LookupError("secret")], "Sorry."),
    "it raises at once": ([LookupError("secret")], "Sorry."),
    "it just stops": ([STARTED], "The agent ended the run without RUN_FINISHED or RUN_ERROR."),
    "it yields no event": ([STARTED, object()], "An event of the agent cannot be sent: "),
    "not for this wire": ([STARTED, StateSnapshotEvent(snapshot=[2**60 + 1])], "An event of the "),
}


@pytest.mark.parametrize(("events", "says"), FAILURES.values(), ids=FAILURES)
async def test_an_agent_that_fails(
    events: list[Any], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(agent_app(agent_of(*events), error_message="Sorry.")) as url:
        received = await run(url)
    errors = [event for event in received if event["type"] == "RUN_ERROR"]
    assert errors == received[-1:]
    assert errors[0]["message"].startswith(says)
    assert "secret" not in str(received)
    assert ("LookupError: secret" in caplog.text) == ("Sorry." in says)


async def test_a_failure_after_the_end_adds_nothing() -> None:
    async with serving(agent_app(agent_of(STARTED, FINISHED, LookupError()))) as url:
        assert [event["type"] for event in await run(url)] == ["RUN_STARTED", "RUN_FINISHED"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_client_that_leaves_stops_a_silent_agent(
    wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    closed = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        try:
            yield STARTED
            await asyncio.Event().wait()
        finally:
            closed.set()

    caplog.set_level(logging.WARNING)
    async with serving(agent_app(agent)) as url:
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, json=RUN_INPUT, headers={"Accept": wire}) as response,
        ):
            await response.content.readany()
            response.close()
        await closed.wait()
    assert not caplog.records


class Server:
    """The other end of the ASGI interface, as far as a test needs to hold it in its hands."""

    def __init__(self, *, blocks_at: int = -1, fails_at: int = -1) -> None:
        content_type = (b"content-type", b"application/json; charset=utf-8")
        self.scope = {"type": "http", "method": "POST", "headers": [content_type]}
        self.sent: list[Any] = []
        self.gone = asyncio.Event()
        self.blocked = asyncio.Event()
        self._blocks_at = blocks_at
        self._fails_at = fails_at
        self._body: list[Any] = [{"type": "http.request", "body": json.dumps(RUN_INPUT).encode()}]

    async def receive(self) -> Any:
        if self._body:
            return self._body.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if len(self.sent) == self._fails_at:
            raise OSError("gone")
        if len(self.sent) == self._blocks_at:
            self.blocked.set()
            await asyncio.Event().wait()
        self.sent.append(message)


async def test_a_slow_client_holds_the_agent_back_and_is_let_go(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = 0

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        nonlocal made
        try:
            yield STARTED
            while True:
                yield delta("x" * 1000)
                made += 1
        finally:
            raise LookupError("in the clean-up")

    server = Server(blocks_at=2)
    task = asyncio.ensure_future(agent_app(agent)(server.scope, server.receive, server.send))
    await server.blocked.wait()
    for _ in range(1000):
        await asyncio.sleep(0)
    assert made < 200
    server.gone.set()
    await task
    assert "in the clean-up" in caplog.text


async def test_a_client_that_leaves_before_the_agent_gives_an_iterator() -> None:
    started, closed = asyncio.Event(), asyncio.Event()

    async def agent(run_input: RunAgentInput) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()

    server = Server()
    app = agent_app(agent)
    task = asyncio.ensure_future(app(server.scope, server.receive, server.send))
    await started.wait()
    server.gone.set()
    await task
    assert closed.is_set()
    assert server.sent == []


@pytest.mark.parametrize("policy", ["cancel", "detach"])
async def test_what_becomes_of_an_agent_without_a_client(policy: Any) -> None:
    begun, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    seen: list[str] = []

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        try:
            yield STARTED
            begun.set()
            await go_on.wait()
            for _ in range(5000):
                yield delta("x" * 1000)
            seen.append("all")
        finally:
            ended.set()

    server = Server()
    app = agent_app(agent, on_disconnect=policy)
    task = asyncio.ensure_future(app(server.scope, server.receive, server.send))
    await begun.wait()
    server.gone.set()
    await task
    go_on.set()
    await ended.wait()
    assert seen == (["all"] if policy == "detach" else [])


async def test_a_server_that_stops_cancels_the_agent() -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        try:
            yield STARTED
            begun.set()
            await asyncio.Event().wait()
        finally:
            closed.set()

    server = Server()
    app = agent_app(agent, on_disconnect="detach")
    task = asyncio.ensure_future(app(server.scope, server.receive, server.send))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()


async def test_options() -> None:
    deltas = [delta("a"), delta("b"), delta("c")]
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    end = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
    agent = agent_of(STARTED, start, *deltas, end, FINISHED)
    async with serving(agent_app(agent, coalesce=5.0, verify=True)) as url:
        events = await run(url)
    assert [event.get("delta") for event in events] == [None, None, "abc", None, None]
    async with serving(agent_app(agent_of(STARTED, *deltas, FINISHED), verify=True)) as url:
        events = await run(url)
    assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert "TEXT_MESSAGE_CONTENT" in events[1]["message"]
    for wrong in ({"on_disconnect": "ignore"}, {"lossy_int": "guess"}):
        with pytest.raises(ValueError, match="is "):
            agent_app(agent, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        agent_app(agent, no_such_option=1)


async def test_a_server_that_tells_by_an_error_that_the_client_is_gone() -> None:
    closed = False

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        nonlocal closed
        try:
            yield STARTED
            await asyncio.Event().wait()
        finally:
            closed = True

    server = Server(fails_at=1)
    await agent_app(agent)(server.scope, server.receive, server.send)
    assert closed
    assert len(server.sent) == 1


async def test_a_client_that_leaves_inside_the_request_body() -> None:
    server = Server()
    server._body = []
    server.gone.set()
    await agent_app(agent_of(STARTED))(server.scope, server.receive, server.send)
    assert server.sent == []


async def test_keep_alive_is_for_sse() -> None:
    release = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        await release.wait()
        yield FINISHED

    async with (
        serving(agent_app(agent, keep_alive=0.01)) as url,
        aiohttp.ClientSession() as session,
        session.post(url, json=RUN_INPUT, headers={"Accept": AGUI_MEDIA_TYPE}) as binary,
        session.post(url, json=RUN_INPUT) as response,
    ):
        pings = b""
        while pings.count(b": ping\n\n") < 2:
            pings += await response.content.readany()
        release.set()
        rest = await response.read()
        frames = await binary.read()
    assert b"RUN_FINISHED" in rest
    assert len(agui_wire.decode(frames, AGUI_MEDIA_TYPE)) == 2


async def test_lifespan_and_websockets() -> None:
    app = agent_app(agent_of(STARTED, FINISHED))
    async with serving(app, lifespan="on") as url:
        assert len(await run(url)) == 2
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "websocket"}, receive, send)
    assert sent == [{"type": "websocket.close"}]
