"""BinaryTransport: applications that write SSE, read by clients that ask for frames."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from typing import Any

import aiohttp
import pytest
from ag_ui.core import RunAgentInput, RunFinishedEvent, RunStartedEvent, TextMessageContentEvent
from ag_ui.encoder import EventEncoder as SdkEncoder
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, StreamDecoder
from agui_wire.events import RunErrorEvent
from agui_wire.http.asgi import BinaryTransport
from tests.http.asgi_server import serving

BINARY = (AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)
RUN_INPUT: dict[str, Any] = {
    **{"threadId": "t", "runId": "r", "messages": [], "tools": []},
    **{"context": [], "state": {}, "forwardedProps": {}},
}

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def delta(text: str) -> dict[str, Any]:
    """A piece of a text message."""
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text}


RUN = [
    STARTED,
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    delta("Grüße"),
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "STATE_SNAPSHOT", "snapshot": {"a": [1, None, 2.5]}},
    FINISHED,
]


def sse(*events: Any) -> bytes:
    """Events as an SSE body."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


class Answer:
    """A response as it was received."""

    def __init__(self, response: aiohttp.ClientResponse, body: bytes) -> None:
        self.status = response.status
        self.headers = response.headers
        self.content_type = response.headers.get("Content-Type", "")
        self.body = body

    @property
    def events(self) -> list[dict[str, Any]]:
        """The body's events, as JSON."""
        return [agui_wire.to_dict(e) for e in agui_wire.decode(self.body, self.content_type)]


async def ask(url: str, accept: str, method: str = "POST", **headers: str) -> Answer:
    """A whole answer."""
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.request(
            method, url, json=RUN_INPUT, headers={"Accept": accept, **headers}
        ) as response,
    ):
        return Answer(response, await response.read())


def raw_app(
    *pieces: bytes,
    content_type: str = "text/event-stream; charset=utf-8",
    headers: Iterable[tuple[bytes, bytes]] = (),
    status: int = 200,
) -> Any:
    """An application without a framework, that sends these pieces of a body."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        start = [(b"Content-Type", content_type.encode()), *headers]
        await send({"type": "http.response.start", "status": status, "headers": start})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return app


def starlette_app(events: Any, media_type: str = "text/event-stream") -> Starlette:
    """An application whose every answer is the stream `events()`."""

    async def run(request: Request) -> StreamingResponse:
        return StreamingResponse(events(), media_type=media_type)

    return Starlette(routes=[Route("/", run, methods=["GET", "POST"])])


@pytest.mark.parametrize("wire", BINARY)
async def test_fastapi_with_the_sdks_encoder(wire: str) -> None:
    app = FastAPI()
    app.add_middleware(BinaryTransport)
    seen: list[str | None] = []

    @app.post("/")
    async def run(run_input: RunAgentInput, request: Request) -> StreamingResponse:
        accept = request.headers.get("accept")
        seen.append(accept)
        encoder = SdkEncoder(accept=accept or "")

        async def stream() -> AsyncIterator[str]:
            ids: Any = {"thread_id": run_input.thread_id, "run_id": run_input.run_id}
            yield encoder.encode(RunStartedEvent(protocol_version="1.0", **ids))
            yield encoder.encode(TextMessageContentEvent(message_id="m", delta="é"))
            yield encoder.encode(RunFinishedEvent(**ids))

        return StreamingResponse(stream(), media_type=encoder.get_content_type())

    async with serving(app) as url:
        plain = await ask(url, SSE_MEDIA_TYPE)
        answer = await ask(url, f"{wire}, {SSE_MEDIA_TYPE}")
    assert plain.content_type.startswith(SSE_MEDIA_TYPE)
    assert answer.content_type == wire
    assert answer.events == plain.events == [STARTED, delta("é"), FINISHED]
    assert seen == [SSE_MEDIA_TYPE, SSE_MEDIA_TYPE]


@pytest.mark.parametrize("wire", BINARY)
async def test_sse_starlette(wire: str) -> None:
    async def events() -> AsyncIterator[dict[str, str]]:
        for event in RUN:
            yield {"event": "message", "data": json.dumps(event)}

    async def run(request: Request) -> EventSourceResponse:
        return EventSourceResponse(events())

    app = BinaryTransport(Starlette(routes=[Route("/", run, methods=["POST"])]))
    async with serving(app) as url:
        plain = await ask(url, SSE_MEDIA_TYPE)
        answer = await ask(url, wire)
    assert b"\r\n" in plain.body
    assert answer.content_type == wire
    assert answer.events == RUN


async def test_headers() -> None:
    inner = [
        (b"Content-Length", str(len(sse(*RUN))).encode()),
        (b"Cache-Control", b"no-store"),
        (b"X-Accel-Buffering", b"yes"),
        (b"Vary", b"Origin, Cookie"),
        (b"Set-Cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
    ]
    app = raw_app(sse(*RUN), headers=inner)
    async with serving(BinaryTransport(app), http="h11") as url:
        answer = await ask(url, AGUI_MEDIA_TYPE)
    assert answer.headers.getall("Content-Type") == [AGUI_MEDIA_TYPE]
    assert answer.headers.getall("Vary") == ["Origin, Cookie, Accept"]
    assert answer.headers.getall("Cache-Control") == ["no-cache, no-transform"]
    assert answer.headers.getall("X-Accel-Buffering") == ["no"]
    assert answer.headers.getall("Content-Encoding") == ["identity"]
    assert answer.headers.getall("Set-Cookie") == ["a=1", "b=2"]
    assert "Content-Length" not in answer.headers
    assert answer.events == RUN


@pytest.mark.parametrize("size", [1, 3, 17, 10_000])
async def test_any_pieces(size: int) -> None:
    body = b": hello\n\nretry: 5\n\ndata:\n\n" + sse(*RUN)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    async with serving(BinaryTransport(raw_app(*pieces))) as url:
        answer = await ask(url, AGUI_MEDIA_TYPE)
    assert answer.content_type == AGUI_MEDIA_TYPE
    assert answer.events == RUN


def behind_gzip(app: Starlette) -> Any:
    """GZipMiddleware between the client and the transport."""
    app.add_middleware(BinaryTransport)
    app.add_middleware(GZipMiddleware, minimum_size=1)
    return app


def before_gzip(app: Starlette) -> Any:
    """GZipMiddleware between the transport and the application, SSE not excepted."""
    app.add_middleware(GZipMiddleware, minimum_size=1, exclude_content_types=())
    app.add_middleware(BinaryTransport)
    return app


@pytest.mark.parametrize("wrap", [BinaryTransport, behind_gzip, before_gzip])
@pytest.mark.parametrize("wire", BINARY)
async def test_an_event_is_there_before_the_next_is_made(wrap: Any, wire: str) -> None:
    received = [asyncio.Event() for _ in RUN]

    async def events() -> AsyncIterator[bytes]:
        for event, arrived in zip(RUN, received):
            yield b": a comment\n\n" + sse(event)
            await arrived.wait()

    decoder = StreamDecoder(wire)
    count = 0
    async with (
        serving(wrap(starlette_app(events))) as url,
        aiohttp.ClientSession() as session,
        session.post(
            url, json=RUN_INPUT, headers={"Accept": wire, "Accept-Encoding": "gzip"}
        ) as response,
    ):
        assert response.headers["Content-Type"] == wire
        async for chunk in response.content.iter_any():
            for event in decoder.feed(chunk):
                assert agui_wire.to_dict(event) == RUN[count]
                received[count].set()
                count += 1
    assert count == len(RUN)


UNTOUCHED: dict[str, dict[str, Any]] = {
    "a client that does not ask": {"accept": "*/*, application/*"},
    "a client that refuses": {"accept": f"{AGUI_MEDIA_TYPE};q=0"},
    "a client without Accept": {"accept": ""},
    "HEAD": {"method": "HEAD"},
    "JSON": {"app": {"content_type": "application/json"}},
    "an error": {"app": {"status": 503}},
    "a body that has an encoding": {"app": {"headers": [(b"Content-Encoding", b"br")]}},
    "text": {"body": b"data: hello\n\ndata: world\n\n"},
    "another protocol": {"body": sse({"type": "response.created"}, *RUN)},
    "JSON of no type": {"body": sse({"choices": []}, "[DONE]")},
    "no event": {"body": b": ping\n\n: ping\n\n"},
    "nothing": {"body": b""},
    "half an event": {"body": b'data: {"type": "RUN_'},
    "an event over the limit": {"body": sse(delta("x" * 100_000))},
}


@pytest.mark.parametrize("case", UNTOUCHED.values(), ids=UNTOUCHED)
async def test_what_passes_untouched(case: dict[str, Any]) -> None:
    body = case.get("body", sse(*RUN))
    app = raw_app(body[:30], body[30:], **case.get("app", {}))
    accept, method = case.get("accept", AGUI_MEDIA_TYPE), case.get("method", "POST")
    async with serving(app) as url:
        expected = await ask(url, accept, method)
    async with serving(BinaryTransport(app, max_frame_size=50_000)) as url:
        answer = await ask(url, accept, method)
    assert (answer.status, answer.body) == (expected.status, expected.body)
    assert {**answer.headers, "Date": ""} == {**expected.headers, "Date": ""}


async def test_another_stream_stays_live() -> None:
    arrived = asyncio.Event()

    async def events() -> AsyncIterator[bytes]:
        yield b"data: one\n\n"
        await arrived.wait()
        yield b"data: two\n\n"

    async with (
        serving(BinaryTransport(starlette_app(events))) as url,
        aiohttp.ClientSession() as session,
        session.post(url, json=RUN_INPUT, headers={"Accept": AGUI_MEDIA_TYPE}) as response,
    ):
        assert await response.content.readuntil(b"\n\n") == b"data: one\n\n"
        arrived.set()
        assert await response.content.read() == b"data: two\n\n"


async def test_comments_are_not_held_for_ever() -> None:
    sent = asyncio.Event()

    async def events() -> AsyncIterator[bytes]:
        yield b": ping\n\n" * 100
        yield b": ping\n\n"
        await sent.wait()

    async with (
        serving(BinaryTransport(starlette_app(events), max_frame_size=800)) as url,
        aiohttp.ClientSession() as session,
        session.post(url, json=RUN_INPUT, headers={"Accept": AGUI_MEDIA_TYPE}) as response,
    ):
        assert await response.content.readexactly(808) == b": ping\n\n" * 101
        sent.set()


async def test_other_scopes_and_the_accept_header_inside() -> None:
    calls: list[Any] = []

    async def app(*call: Any) -> None:
        calls.append(call)

    async def receive() -> Any: ...

    async def send(message: Any) -> None: ...

    transport = BinaryTransport(app)
    for scope in ({"type": "lifespan"}, {"type": "websocket", "headers": [(b"accept", b"x")]}):
        await transport(scope, receive, send)
        inside, *rest = calls.pop()
        assert inside is scope
        assert rest == [receive, send]
    headers = [
        (b"accept", f'{AGUI_MEDIA_TYPE};q=0.5 , application/json;a="x,y"'.encode()),
        (b"host", b"h"),
        (b"accept-encoding", b"gzip"),
        (b"accept", f"{SSE_MEDIA_TYPE};q=0.1, text/html".encode()),
    ]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
    await transport(scope, receive, send)
    inside = calls.pop()[0]
    accept = b'text/event-stream, application/json;a="x,y", text/html'
    assert inside == {**scope, "headers": [(b"host", b"h"), (b"accept", accept)]}
    assert len(headers) == 4


def errors(answer: Answer) -> list[str]:
    """The messages of an answer's RUN_ERRORs; it holds nothing after the first."""
    found = [e["message"] for e in answer.events if e["type"] == "RUN_ERROR"]
    assert answer.events[-len(found) :] == [
        agui_wire.to_dict(RunErrorEvent(message=message)) for message in found
    ]
    return found


BIG = {"type": "STATE_SNAPSHOT", "snapshot": [2**60 + 1]}
BAD_ENDS = {
    "no JSON": (sse(STARTED) + b"data: oops\n\n" + sse(FINISHED), "no JSON"),
    "no event": (sse(STARTED, {"type": 1}, FINISHED), "/type"),
    "malformed": (sse(STARTED, {**delta(""), "messageId": 1}, FINISHED), "/messageId"),
    "too large": (sse(STARTED, delta("x" * 3000), FINISHED), "over the limit of 2000"),
    "no terminal event": (sse(STARTED), "without RUN_FINISHED"),
    "cut inside an event": (sse(STARTED) + b'data: {"ty', "ended inside an event"),
    "not for this wire": (sse(STARTED, BIG), "/snapshot/0"),
}


@pytest.mark.parametrize(("body", "says"), BAD_ENDS.values(), ids=BAD_ENDS)
async def test_a_body_that_goes_wrong_ends_in_one_error(body: bytes, says: str) -> None:
    for pieces in ([body], [body[:-7], body[-7:]]):
        async with serving(BinaryTransport(raw_app(*pieces), max_frame_size=2000)) as url:
            answer = await ask(url, AGUI_MEDIA_TYPE)
        assert answer.events[0] == STARTED
        (message,) = errors(answer)
        assert says in message


async def test_nothing_is_added_to_a_run_that_has_ended() -> None:
    for rest in (b": bye\n\n", b'data: {"t', sse(delta("x"))):
        body = sse(STARTED, FINISHED) + rest
        async with serving(BinaryTransport(raw_app(body))) as url:
            answer = await ask(url, AGUI_MEDIA_TYPE)
        assert answer.events == [STARTED, FINISHED]


@pytest.mark.parametrize("bad", [b"data: oops\n\n", b"data: " + b"x" * 3000])
async def test_a_bad_stream_stops_the_application(bad: bytes) -> None:
    closed = asyncio.Event()

    async def events() -> AsyncIterator[bytes]:
        try:
            yield sse(STARTED) + bad
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with serving(BinaryTransport(starlette_app(events), max_frame_size=2000)) as url:
        answer = await ask(url, AGUI_MEDIA_TYPE)
        await closed.wait()
    assert len(errors(answer)) == 1


async def test_a_bad_stream_stops_the_application_under_a_newer_server() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "headers": [(b"accept", AGUI_MEDIA_TYPE.encode())]}
    app = BinaryTransport(raw_app(sse(STARTED) + b"data: oops\n\n", sse(FINISHED)))
    await app(scope, receive, send)
    assert [message.get("more_body") for message in sent] == [None, False]
    with pytest.raises(OSError, match="has ended"):
        await app({**scope, "asgi": {"spec_version": "2.4"}}, receive, send)
    assert [message.get("more_body") for message in sent] == [None, False] * 2


async def test_an_application_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    async def late() -> AsyncIterator[bytes]:
        yield sse(STARTED)
        raise LookupError("secret")

    async def early() -> AsyncIterator[bytes]:
        yield b": hello\n\n"
        raise LookupError("secret")

    async with serving(BinaryTransport(starlette_app(late))) as url:
        answer = await ask(url, AGUI_MEDIA_TYPE)
    assert answer.events[0] == STARTED
    assert errors(answer) == ["The agent failed."]
    assert "LookupError: secret" in caplog.text
    async with serving(BinaryTransport(starlette_app(early))) as url:
        assert (await ask(url, AGUI_MEDIA_TYPE)).status == 500


async def test_an_application_that_leaves_its_body_without_an_end() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", SSE_MEDIA_TYPE.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": sse(STARTED), "more_body": True})

    async with serving(BinaryTransport(app)) as url:
        answer = await ask(url, AGUI_MEDIA_TYPE)
    assert errors(answer) == ["The agent ended the run without RUN_FINISHED or RUN_ERROR."]


async def test_a_client_that_leaves_stops_the_application(caplog: pytest.LogCaptureFixture) -> None:
    closed = asyncio.Event()

    async def events() -> AsyncIterator[bytes]:
        try:
            yield sse(STARTED)
            await asyncio.Event().wait()
        finally:
            closed.set()

    caplog.set_level(logging.WARNING)
    async with serving(BinaryTransport(starlette_app(events))) as url:
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, json=RUN_INPUT, headers={"Accept": AGUI_MEDIA_TYPE}) as response,
        ):
            await response.content.readany()
            response.close()
        await closed.wait()
    assert not caplog.records


async def test_a_slow_client_holds_the_application_back() -> None:
    let_go = asyncio.Event()
    sent: list[Any] = []
    made = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal made
        headers = [(b"content-type", SSE_MEDIA_TYPE.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for event in RUN:
            made += 1
            await send({"type": "http.response.body", "body": sse(event), "more_body": True})

    async def receive() -> Any: ...

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) == 3:
            await let_go.wait()

    scope = {"type": "http", "method": "POST", "headers": [(b"accept", AGUI_MEDIA_TYPE.encode())]}
    task = asyncio.create_task(BinaryTransport(app)(scope, receive, send))
    for _ in range(100):
        await asyncio.sleep(0)
    assert made == 2
    let_go.set()
    await task
    assert made == len(RUN)
    body = b"".join(message.get("body", b"") for message in sent)
    assert [e.type for e in agui_wire.decode(body, AGUI_MEDIA_TYPE)] == [e["type"] for e in RUN]


async def test_options_and_what_a_writer_mends() -> None:
    halves = [delta("a\ud83d"), delta("\ude00b")]
    body = sse({**STARTED, "new": 1}, BIG, *halves, FINISHED)
    warnings: list[agui_wire.StreamWarning] = []
    app = BinaryTransport(raw_app(body), lossy_int="string", on_warning=warnings.append)
    async with serving(app) as url:
        answer = await ask(url, AGUI_MEDIA_TYPE)
        packed = await ask(url, MSGPACK_MEDIA_TYPE)
    text = {"type": "STATE_SNAPSHOT", "snapshot": [str(2**60 + 1)]}
    assert answer.events == [STARTED, text, delta("a"), delta("\U0001f600b"), FINISHED]
    assert packed.events == [STARTED, BIG, delta("a"), delta("\U0001f600b"), FINISHED]
    assert {(w.kind, w.path) for w in warnings} >= {("unknown-property", "/new")}


async def test_other_routes_of_the_application() -> None:
    app = FastAPI()
    app.add_middleware(GZipMiddleware, minimum_size=1)
    app.add_middleware(BinaryTransport)

    @app.get("/")
    async def root() -> Response:
        return JSONResponse({"a": "b" * 1000})

    async with serving(app) as url:
        answer = await ask(url, "application/json", "GET", **{"Accept-Encoding": "gzip"})
        missing = await ask(url + "missing", AGUI_MEDIA_TYPE, "GET")
    assert json.loads(gzip.decompress(answer.body)) == {"a": "b" * 1000}
    assert missing.status == 404


def test_it_loads_no_framework() -> None:
    code = (
        "import sys, agui_wire.http.asgi as a; a.BinaryTransport(None); "
        "print(sorted({'aiohttp', 'asyncio', 'starlette', 'pydantic'} & sys.modules.keys()))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("[]\n", "")
