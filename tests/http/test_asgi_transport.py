"""BinaryTransport: applications that write SSE, read by clients that ask for frames."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import AsyncIterator
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
from agui_wire.http.asgi import BinaryTransport
from tests.http.asgi_server import serving
from tests.http.sse_apps import (
    BINARY,
    FINISHED,
    RUN,
    RUN_INPUT,
    STARTED,
    ask,
    delta,
    raw_app,
    sse,
    starlette_app,
)


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


BIG = {"type": "STATE_SNAPSHOT", "snapshot": [2**60 + 1]}


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
