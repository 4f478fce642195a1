"""What an aiohttp server of ours sends: statuses, headers, and each event when it is there."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web

import agui_wire
from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    RunAgentInput,
)
from agui_wire.events import RunErrorEvent, RunStartedEvent, TextMessageContentEvent
from agui_wire.http import AgentClient, event_stream_response

from .harness import (
    FINISHED,
    RUN_INPUT,
    STARTED,
    TEXT_END,
    TEXT_START,
    WIRES,
    ZSTD,
    agent_of,
    ask,
    connecting,
    delta,
    events_of,
    post,
    read_head,
    read_until,
    running,
    running_handler,
    text_run,
)


@pytest.mark.parametrize("accept", WIRES)
async def test_the_headers_that_leave_the_socket(accept: str) -> None:
    async with running(agent_of(*text_run("hi"))) as url, connecting(url) as (reader, writer):
        ask(writer, accept=accept)
        status, headers = await read_head(reader)
    assert status == 200
    assert headers["content-type"] == accept
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert headers["vary"] == "Accept"
    assert "content-encoding" not in headers
    assert "content-length" not in headers


async def test_repeated_accept_lines_are_one_header() -> None:
    async with running(agent_of(*text_run("hi"))) as url, connecting(url) as (reader, writer):
        ask(writer, f"Accept: {AGUI_MEDIA_TYPE}", accept="text/html")
        _, headers = await read_head(reader)
    assert headers["content-type"] == AGUI_MEDIA_TYPE


@pytest.mark.parametrize("compression", [None, "gzip", ZSTD])
@pytest.mark.parametrize("accept", WIRES)
async def test_event_1_is_there_before_event_2_is_produced(accept: str, compression: Any) -> None:
    seen = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        await seen.wait()
        yield FINISHED

    client = AgentClient
    async with (
        running(agent, compression=compression) as url,
        client(url, wires=[accept], compression=compression).run(RUN_INPUT) as run,
    ):
        assert await asyncio.wait_for(run.__anext__(), 10) == STARTED
        seen.set()
        assert [event async for event in run] == [FINISHED]
        assert run.content_type == accept


async def test_headers_leave_before_the_first_event() -> None:
    go = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        await go.wait()
        for event in text_run("hi"):
            yield event

    async with running(agent) as url, connecting(url) as (reader, writer):
        ask(writer)
        status, _ = await asyncio.wait_for(read_head(reader), 10)
        assert status == 200
        go.set()
        assert b"RUN_FINISHED" in await read_until(reader, b"0\r\n\r\n")


async def test_an_event_is_not_held_while_the_agent_computes() -> None:
    """Events that follow one another without an await, with work between them."""
    reader_saw: list[bytes] = []

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        time.sleep(0.05)  # the loop stands still, and what was written is on its way
        reader_saw.append(sock.recv(65536))
        yield FINISHED

    async with running(agent) as url, connecting(url) as (_, writer):
        ask(writer)
        # The test's own reader lives in the loop that stands still.
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        sock = socket.socket(fileno=writer.get_extra_info("socket").fileno())
        try:
            while not reader_saw:
                await asyncio.sleep(0)
        finally:
            sock.detach()
    assert b"RUN_STARTED" in reader_saw[0]


async def test_events_that_are_ready_leave_in_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first, as long as they come within the time that an agent may take for itself."""
    monkeypatch.setattr("agui_wire.http._outbox._PROMPT", 3600.0)
    texts = [f"word {n} " for n in range(200)]
    async with running(agent_of(*text_run(*texts))) as url:
        chunks = []
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, json=RUN_INPUT) as response,
        ):
            async for data, end_of_chunk in response.content.iter_chunks():
                if end_of_chunk and data:
                    chunks.append(data)
    assert len(chunks) == 2
    assert agui_wire.decode(b"".join(chunks), SSE_MEDIA_TYPE) == text_run(*texts)


async def test_a_request_per_connection_and_several_on_one() -> None:
    async with running(agent_of(*text_run("hi"))) as url, aiohttp.ClientSession() as session:
        for _ in range(3):
            async with session.post(url, json=RUN_INPUT) as response:
                body = await response.read()
            assert agui_wire.decode(body, SSE_MEDIA_TYPE) == text_run("hi")


async def test_http_1_0_gets_an_unchunked_body() -> None:
    async with running(agent_of(*text_run("hi"))) as url, connecting(url) as (reader, writer):
        body = json.dumps(RUN_INPUT).encode()
        writer.write(
            b"POST / HTTP/1.0\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        _, headers = await read_head(reader)
        assert "transfer-encoding" not in headers
        answer = await asyncio.wait_for(reader.read(), 10)
    assert agui_wire.decode(answer, SSE_MEDIA_TYPE) == text_run("hi")


@pytest.mark.parametrize("accept", WIRES)
async def test_protocol_version_is_filled_in_and_split_emoji_leave_whole(accept: str) -> None:
    events = [
        RunStartedEvent(thread_id="t", run_id="r"),
        TEXT_START,
        delta("smile \ud83d"),
        delta("\ude00!"),
        TEXT_END,
        FINISHED,
    ]
    async with running(agent_of(*events)) as url:
        got = await events_of(url, accept)
    assert got[0].protocol_version == "1.0"
    text = "".join(e.delta for e in got if isinstance(e, TextMessageContentEvent))
    assert text == "smile 😀!"


@pytest.mark.parametrize("accept", WIRES)
@pytest.mark.parametrize("before", [0, 1, 3])
async def test_an_agent_that_raises_ends_in_one_run_error(
    accept: str, before: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        for event in text_run("hi")[:before]:
            yield event
        raise LookupError("the password is 1234")

    async with running(agent) as url:
        events = await events_of(url, accept)
    assert events == [*text_run("hi")[:before], RunErrorEvent(message="The agent failed.")]
    assert "1234" in caplog.text


async def test_the_error_message_is_settable() -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        raise LookupError("it \ud800 broke")

    async with running(agent, error_message="Sorry.") as url:
        assert (await events_of(url))[-1] == RunErrorEvent(message="Sorry.")
    async with running(agent, error_message=lambda error: f"{type(error).__name__}") as url:
        assert (await events_of(url))[-1] == RunErrorEvent(message="LookupError")
    async with running(agent, error_message=lambda error: 1 // 0) as url:
        assert (await events_of(url))[-1] == RunErrorEvent(message="The agent failed.")
    async with running(agent, error_message=str, surrogates="raise") as url:
        assert "broke" in (await events_of(url))[-1].message


@pytest.mark.parametrize("count", [0, 2])
async def test_an_agent_that_just_stops_gets_a_run_error_that_says_so(count: int) -> None:
    async with running(agent_of(*text_run("hi")[:count])) as url:
        events = await events_of(url)
    assert len(events) == count + 1
    assert "without RUN_FINISHED" in events[-1].message


@pytest.mark.parametrize("accept", WIRES)
async def test_what_cannot_be_encoded_becomes_a_run_error(accept: str) -> None:
    for bad in (object(), {"type": "STATE_SNAPSHOT", "snapshot": object()}, {"type": "NO_EVENT"}):
        async with running(agent_of(STARTED, bad, FINISHED)) as url:
            events = await events_of(url, accept)
        assert events[:-1] == [STARTED]
        assert "cannot be sent" in events[-1].message


async def test_a_cancelled_await_inside_the_agent_is_a_failure_like_any_other() -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        inner = asyncio.ensure_future(asyncio.sleep(3600))
        asyncio.get_running_loop().call_soon(inner.cancel)
        await inner

    async with running(agent) as url:
        events = await asyncio.wait_for(events_of(url), 10)
    assert events == [STARTED, RunErrorEvent(message="The agent failed.")]


async def test_nothing_follows_a_terminal_event_but_what_the_protocol_admits() -> None:
    error = RunErrorEvent(message="late")
    async with running(agent_of(STARTED, FINISHED, TEXT_START, error, TEXT_END, STARTED)) as url:
        events = await events_of(url)
    assert events[:4] == [STARTED, FINISHED, error, STARTED]
    assert len(events) == 5
    assert "without RUN_FINISHED" in events[4].message


async def test_a_failure_after_the_end_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        for event in text_run("hi"):
            yield event
        raise LookupError("too late")

    async with running(agent) as url:
        assert await events_of(url) == text_run("hi")
    assert "too late" in caplog.text


@pytest.mark.parametrize("accept", WIRES)
async def test_verify_names_the_violation(accept: str) -> None:
    closed = []

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        try:
            for event in (STARTED, delta("x", "never-opened"), FINISHED):
                yield event
        finally:
            closed.append(True)

    async with running(agent) as url:
        assert len(await events_of(url, accept)) == 3
    async with running(agent, verify=True) as url:
        events = await events_of(url, accept)
    assert events[:-1] == [STARTED]
    assert isinstance(events[-1], RunErrorEvent)
    assert "TEXT_MESSAGE_CONTENT" in events[-1].message
    assert "never-opened" in events[-1].message
    assert closed == [True, True]


async def test_verify_follows_chunks_dicts_and_open_items() -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "hi"}
    async with running(agent_of(STARTED, chunk, chunk, FINISHED), verify=True) as url:
        assert len(await events_of(url)) == 4
    async with running(agent_of(STARTED, TEXT_START, FINISHED), verify=True) as url:
        events = await events_of(url)
    assert [e.type for e in events] == ["RUN_STARTED", "TEXT_MESSAGE_START", "RUN_ERROR"]


async def test_cors_is_off_unless_asked_for() -> None:
    async with running(agent_of(*text_run("hi")), method="*") as url:
        _, _, headers = await post(url, headers={"Origin": "https://a.example"})
        assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    ("cors", "origin", "allowed"),
    [
        ("*", "https://a.example", "*"),
        (["https://a.example"], "https://a.example", "https://a.example"),
        ("https://a.example", "https://a.example", "https://a.example"),
        (["https://a.example"], "https://b.example", None),
        (["https://a.example"], None, None),
    ],
)
async def test_cors_and_its_preflight(cors: Any, origin: str | None, allowed: str | None) -> None:
    sent = {} if origin is None else {"Origin": origin}
    name = "Access-Control-Allow-Origin"
    async with running(agent_of(*text_run("hi")), method="*", cors=cors) as url:
        status, _, headers = await post(url, headers=sent)
        assert status == 200
        assert headers.get(name) == allowed
        assert headers["Vary"] == ("Accept" if cors == "*" else "Accept, Origin")
        status, _, headers = await post(url, json=None, data=b"{}", headers=sent)
        assert status == 415
        assert headers.get(name) == allowed
        asked = {**sent, "Access-Control-Request-Headers": "content-type,authorization"}
        async with (
            aiohttp.ClientSession() as session,
            session.options(url, headers=asked) as response,
        ):
            assert response.status == 204
            assert response.headers.get(name) == allowed
            if allowed is not None:
                assert response.headers["Access-Control-Allow-Methods"] == "POST"
                granted = response.headers["Access-Control-Allow-Headers"]
                assert granted == "content-type,authorization"


async def test_a_response_can_be_made_without_the_handler() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await event_stream_response(request, agent_of(*text_run("hi"))(None))  # type: ignore[arg-type]

    async with running_handler(handle) as url:
        assert await events_of(url, MSGPACK_MEDIA_TYPE) == text_run("hi")


async def test_sdk_models_are_served() -> None:
    core = pytest.importorskip("ag_ui.core")
    events = [
        core.RunStartedEvent(thread_id="t", run_id="r"),
        core.TextMessageChunkEvent(message_id="m", delta="hi"),
        core.RunFinishedEvent(thread_id="t", run_id="r"),
    ]
    async with running(agent_of(*events), verify=True, coalesce=10) as url:
        for accept in WIRES:
            got = await events_of(url, accept)
            assert [e.type for e in got] == ["RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"]
            assert got[0].protocol_version == "1.0"
