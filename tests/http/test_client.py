"""AgentClient against real servers, the well-behaved and the others."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from typing import Any

import aiohttp
import pytest
from aiohttp import web

import agui_wire
from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    EncodeError,
    FrameTooLarge,
    MalformedEvent,
    ProtocolViolation,
    RunAgentInput,
    TruncatedStream,
    UnexpectedResponse,
)
from agui_wire.events import RunErrorEvent, StateSnapshotEvent
from agui_wire.http import AgentClient, Run
from agui_wire.messages import ActivityMessage, AssistantMessage, UserMessage

from .harness import (
    FINISHED,
    RUN_INPUT,
    STARTED,
    TEXT_START,
    WIRES,
    ZSTD,
    agent_of,
    delta,
    running,
    running_handler,
    scripted,
    tcp_server,
    text_run,
)

SAID = AssistantMessage(id="m", content="hi there")


def answer(
    *parts: bytes, status: str = "200 OK", content_type: str = SSE_MEDIA_TYPE, **headers: str
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + b"".join(parts)


def frames(*events: Any, wire: str = SSE_MEDIA_TYPE) -> bytes:
    return b"".join(agui_wire.encode(event, wire) for event in events)


async def read_into(events: list[Any], run: Run) -> None:
    async for event in run:
        events.append(event)


@pytest.mark.parametrize("compression", [None, "gzip", ZSTD, "auto"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_run_over_each_wire(wire: str, compression: Any) -> None:
    events = [*text_run("hi ", "there")[:-1], StateSnapshotEvent(snapshot={"a": 1}), FINISHED]
    async with running(agent_of(*events), compression="auto") as url:
        client = AgentClient(url, wires=[wire], compression=compression)
        async with client.run(RUN_INPUT) as run:
            assert [event async for event in run] == events
    assert run.content_type == wire
    assert run.bytes_received == len(frames(*events, wire=wire))
    assert (run.messages, run.state, run.outcome) == ([SAID], {"a": 1}, "success")
    assert (run.error, run.warnings, run.interrupts, run.usage) == (None, [], [], [])
    assert run.pending_tool_call_ids == []


async def test_what_a_client_asks_for() -> None:
    seen: list[Any] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append((request.method, dict(request.headers), await request.json()))
        return web.Response(body=frames(*text_run("hi")), content_type=SSE_MEDIA_TYPE)

    async with running_handler(handle) as url:
        variants: list[dict[str, Any]] = [
            {},
            {"wires": "msgpack", "compression": "gzip"},
            {"wires": ["sse"], "headers": {"Authorization": "Bearer x", "accept": "text/html"}},
            {"wires": ["msgpack", AGUI_MEDIA_TYPE]},
        ]
        for options in variants:
            async with AgentClient(url, **options).run(RUN_INPUT) as run:
                assert [event async for event in run] == text_run("hi")
    method, headers, body = seen[0]
    assert (method, headers["Content-Type"]) == ("POST", "application/json")
    assert headers["Accept"] == f"{AGUI_MEDIA_TYPE}, {SSE_MEDIA_TYPE}"
    assert headers["Accept-Encoding"] == "identity"
    assert body["protocolVersion"] == agui_wire.PROTOCOL_VERSION
    assert seen[1][1]["Accept"] == f"{MSGPACK_MEDIA_TYPE}, {SSE_MEDIA_TYPE}"
    assert seen[1][1]["Accept-Encoding"] == "gzip"
    assert seen[2][1]["Accept"] == SSE_MEDIA_TYPE
    assert seen[2][1]["Authorization"] == "Bearer x"
    assert seen[3][1]["Accept"] == f"{MSGPACK_MEDIA_TYPE}, {AGUI_MEDIA_TYPE}, {SSE_MEDIA_TYPE}"


def test_wires_and_compressions_that_there_are_not() -> None:
    with pytest.raises(ValueError, match="wire"):
        AgentClient("http://localhost/", wires=["json"])
    with pytest.raises(ValueError, match="compression"):
        AgentClient("http://localhost/", compression="br")  # type: ignore[arg-type]


def test_codings_are_offered_as_far_as_aiohttp_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aiohttp.compression_utils.HAS_ZSTD", False, raising=False)
    client = AgentClient("http://localhost/", compression="auto")
    assert client._endpoint.headers["Accept-Encoding"] == "gzip"
    with pytest.raises(ImportError, match="zstd"):
        AgentClient("http://localhost/", compression="zstd")


async def test_a_malformed_run_input_is_not_sent() -> None:
    async with running(agent_of()) as url:
        for bad in ({"threadId": "t"}, {**RUN_INPUT, "messages": [{"role": "user"}]}, 7):
            with pytest.raises(EncodeError):
                AgentClient(url).run(bad)  # type: ignore[arg-type]


async def test_the_content_type_of_the_answer_alone_decides() -> None:
    for wire in WIRES:
        body = frames(*text_run("hi"), wire=wire)
        content_type = f"{wire.upper()}; charset=utf-8"
        async with (
            scripted(answer(body, content_type=content_type)) as url,
            AgentClient(url, wires=[SSE_MEDIA_TYPE]).run(RUN_INPUT) as run,
        ):
            assert [event async for event in run] == text_run("hi")
            assert run.content_type == content_type


@pytest.mark.parametrize(
    ("status", "content_type"),
    [
        ("200 OK", "text/html"),
        ("200 OK", ""),
        ("204 No Content", "text/plain"),
        ("404 Not Found", "text/plain"),
        ("500 Internal Server Error", SSE_MEDIA_TYPE),
        ("304 Not Modified", SSE_MEDIA_TYPE),
    ],
)
async def test_an_answer_that_is_no_stream(status: str, content_type: str) -> None:
    body = b"" if status[:3] in ("204", "304") else b"<p>sorry \xff"
    async with scripted(answer(body, status=status, content_type=content_type)) as url:
        with pytest.raises(UnexpectedResponse) as caught:
            await AgentClient(url).run(RUN_INPUT).__aenter__()
    error = caught.value
    assert (error.status, error.content_type) == (int(status[:3]), content_type)
    assert error.body == body.decode("utf-8", "replace")
    assert status[:3] in str(error)


async def test_an_error_body_is_capped_and_not_waited_for() -> None:
    endless = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(status="500 Oh No", content_type="text/plain"))
        try:
            while True:
                writer.write(b"sorry " * 1000)
                await writer.drain()
        except ConnectionError:
            endless.set()

    async with tcp_server(serve) as url:
        with pytest.raises(UnexpectedResponse) as caught:
            await AgentClient(url).run(RUN_INPUT).__aenter__()
        assert caught.value.body == ("sorry " * 1000)[:2048]
        await asyncio.wait_for(endless.wait(), 10)


async def test_an_error_body_that_does_not_come_is_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_wire.http._run._EXCERPT_SECONDS", 0.05)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(b"half a", status="500 Oh No", content_type="text/plain"))
        await asyncio.Event().wait()

    async with tcp_server(serve) as url:
        with pytest.raises(UnexpectedResponse, match="half a"):
            await AgentClient(url).run(RUN_INPUT).__aenter__()


async def test_no_server_at_all() -> None:
    async with scripted(b"") as url:
        pass
    with pytest.raises(aiohttp.ClientConnectorError):
        await AgentClient(url).run(RUN_INPUT).__aenter__()


@pytest.mark.skipif(sys.platform != "linux", reason="what a full backlog does is the system's")
async def test_a_host_that_does_not_answer_at_all() -> None:
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        host, port = listener.getsockname()
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            with suppress(BlockingIOError):
                client.connect((host, port))
        with pytest.raises(aiohttp.ConnectionTimeoutError):
            await (
                AgentClient(f"http://{host}:{port}/", connect_timeout=0.2)
                .run(RUN_INPUT)
                .__aenter__()
            )


async def test_run_error_is_an_event_and_no_exception() -> None:
    error = RunErrorEvent(message="out of luck", code="X")
    async with (
        running(agent_of(STARTED, error)) as url,
        AgentClient(url).run(RUN_INPUT) as run,
    ):
        assert [event async for event in run] == [STARTED, error]
    assert (run.outcome, run.error) == ("error", error)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("inside", [False, True])
async def test_a_server_that_is_killed(wire: str, inside: bool) -> None:
    """What came is delivered and assembled; then the stream counts as truncated, for good."""
    whole = frames(STARTED, TEXT_START, delta("hi there"), wire=wire)
    cut = frames(delta("never"), wire=wire)[:-3] if inside else b""
    chunk = whole + cut
    body = b"%x\r\n%b\r\n" % (len(chunk), chunk)
    head = answer(content_type=wire, Transfer_Encoding="chunked")
    events: list[Any] = []
    async with (
        scripted(head, body) as url,
        AgentClient(url, wires=[wire]).run(RUN_INPUT) as run,
    ):
        with pytest.raises(TruncatedStream) as caught:
            await read_into(events, run)
        with pytest.raises(TruncatedStream):
            await run.__anext__()
    assert events == [STARTED, TEXT_START, delta("hi there")]
    assert "connection was lost" in str(caught.value)
    assert (run.outcome, run.messages) == (None, [SAID])


async def test_a_body_that_just_ends_is_truncated_too() -> None:
    async with (
        scripted(answer(frames(STARTED))) as url,
        AgentClient(url).run(RUN_INPUT) as run,
    ):
        with pytest.raises(TruncatedStream, match="without RUN_FINISHED"):
            async for _ in run:
                pass


async def test_a_connection_lost_behind_the_end_is_a_warning() -> None:
    chunk = frames(*text_run("hi there"))
    body = b"%x\r\n%b\r\n" % (len(chunk), chunk)
    async with (
        scripted(answer(Transfer_Encoding="chunked"), body) as url,
        AgentClient(url).run(RUN_INPUT) as run,
    ):
        assert [event async for event in run] == text_run("hi there")
    assert run.outcome == "success"
    assert [warning.kind for warning in run.warnings] == ["connection"]


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (b"data: {nonsense}\n\n", MalformedEvent),
        (b'data: {"type":"TEXT_MESSAGE_END","messageId":"m"}\n\n', ProtocolViolation),
        (b"data: " + b"x" * 20_000, FrameTooLarge),
    ],
)
async def test_a_bad_stream(bad: bytes, error: type[Exception]) -> None:
    events: list[Any] = []
    body = frames(STARTED) + bad + frames(FINISHED)
    async with (
        scripted(answer(body)) as url,
        AgentClient(url, max_frame_size=10_000).run(RUN_INPUT) as run,
    ):
        with pytest.raises(error):
            await read_into(events, run)
    assert events == [STARTED]
    assert run.outcome is None


async def test_a_large_event_on_one_line_is_read() -> None:
    big = StateSnapshotEvent(snapshot={"text": "x" * 600_000})
    async with (
        running(agent_of(STARTED, big, FINISHED)) as url,
        AgentClient(url, wires=[SSE_MEDIA_TYPE]).run(RUN_INPUT) as run,
    ):
        assert [event async for event in run] == [STARTED, big, FINISHED]


async def test_crlf_and_one_byte_at_a_time() -> None:
    body = b": hello\r\n\r\n" + frames(*text_run("hé ", "😀")).replace(b"\n", b"\r\n")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer())
        for n in range(len(body)):
            writer.write(body[n : n + 1])
            await asyncio.sleep(0)

    async with tcp_server(serve) as url, AgentClient(url).run(RUN_INPUT) as run:
        assert [event async for event in run] == text_run("hé ", "😀")


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(answer(frames(STARTED)))
    await asyncio.Event().wait()


@pytest.mark.parametrize("which", ["stall_timeout", "total_timeout"])
async def test_a_server_that_falls_silent(which: str) -> None:
    limit: dict[str, Any] = {which: 0.2}
    async with tcp_server(silent) as url, AgentClient(url, **limit).run(RUN_INPUT) as run:
        assert await run.__anext__() == STARTED
        with pytest.raises(TruncatedStream, match="too long") as caught:
            await run.__anext__()
    assert isinstance(caught.value.__cause__, asyncio.TimeoutError)


async def test_a_server_that_never_answers() -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with tcp_server(mute) as url:
        with pytest.raises(asyncio.TimeoutError):
            await AgentClient(url, stall_timeout=0.1).run(RUN_INPUT).__aenter__()


async def test_heartbeats_keep_a_stall_timeout_quiet() -> None:
    go = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        await go.wait()
        yield FINISHED

    async with running(agent, keep_alive=0.01) as url:
        client = AgentClient(url, wires=["sse"], stall_timeout=0.5)
        async with client.run(RUN_INPUT) as run:
            assert await run.__anext__() == STARTED
            asyncio.get_running_loop().call_later(1.0, go.set)
            assert [event async for event in run] == [FINISHED]


async def test_a_run_is_entered_once_and_read_inside() -> None:
    async with running(agent_of(*text_run("hi"))) as url:
        run = AgentClient(url).run(RUN_INPUT)
        with pytest.raises(RuntimeError):
            run.__aiter__()
        with pytest.raises(RuntimeError):
            _ = run.messages
        async with run:
            pass
        with pytest.raises(RuntimeError):
            await run.__aenter__()


async def test_nothing_sticks_between_runs() -> None:
    cookies = []

    async def handle(request: web.Request) -> web.Response:
        cookies.append(dict(request.cookies))
        response = web.Response(body=frames(*text_run("hi")), content_type=SSE_MEDIA_TYPE)
        response.set_cookie("session", "1")
        return response

    async with running_handler(handle) as url:
        client = AgentClient(url)
        for _ in range(2):
            async with client.run(RUN_INPUT) as run:
                assert [event async for event in run] == text_run("hi")
    assert cookies == [{}, {}]


async def test_a_session_of_the_applications_own_is_used_and_left_open() -> None:
    async with (
        running(agent_of(*text_run("hi"))) as url,
        aiohttp.ClientSession(headers={"X-App": "1"}) as session,
    ):
        client = AgentClient(url, session=session)
        for _ in range(2):
            async with client.run(RUN_INPUT) as run:
                assert [event async for event in run] == text_run("hi")
        assert not session.closed
        with pytest.raises(RuntimeError, match="session"):
            client.run_sync(RUN_INPUT)


async def test_a_redirect_keeps_the_request() -> None:
    seen = []

    async def handle(request: web.Request) -> web.Response:
        if request.path == "/":
            return web.Response(status=307, headers={"Location": "/agent/"})
        seen.append((request.method, len(await request.text())))
        return web.Response(body=frames(*text_run("hi")), content_type=SSE_MEDIA_TYPE)

    message = {"role": "user", "id": "u", "content": "x" * 100_000}
    async with (
        running_handler(handle) as url,
        AgentClient(url).run({**RUN_INPUT, "messages": [message]}) as run,
    ):
        assert [event async for event in run] == text_run("hi")
    assert seen[0][0] == "POST"
    assert seen[0][1] > 100_000


async def test_the_run_starts_from_what_the_input_holds() -> None:
    activity = ActivityMessage(id="a", activity_type="plan", content={})
    user = UserMessage(id="u", content="hi")
    received = []

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        received.append(run_input)
        for event in text_run("hi there"):
            yield event

    as_struct = RunAgentInput(thread_id="t", run_id="r", messages=[user, activity], state=[1])
    as_dict = agui_wire.to_dict(as_struct)
    async with running(agent) as url:
        for run_input in (as_struct, as_dict):
            async with AgentClient(url).run(run_input) as run:
                assert run.messages == [user, activity]
                assert [event async for event in run] == text_run("hi there")
            assert run.messages == [user, activity, SAID]
            assert run.state == [1]
    assert [run_input.messages for run_input in received] == [[user], [user]]


async def test_warnings_and_middleware() -> None:
    def rename(event: dict[str, Any]) -> dict[str, Any] | None:
        return None if event["type"] == "CUSTOM" else event

    body = frames(STARTED, {"type": "CUSTOM", "name": "n", "value": 1})
    body += b'data: {"type":"NEWER_THAN_US"}\n\n' + frames(FINISHED)
    async with (
        scripted(answer(body)) as url,
        AgentClient(url, middleware=[rename]).run(RUN_INPUT) as run,
    ):
        assert [event async for event in run] == [STARTED, FINISHED]
    assert [warning.kind for warning in run.warnings] == ["unknown-event"]
