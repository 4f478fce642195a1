"""BinaryTransport: applications, clients and streams that fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE
from agui_wire.events import RunErrorEvent
from agui_wire.http.asgi import BinaryTransport
from tests.http.asgi_server import serving
from tests.http.sse_apps import (
    FINISHED,
    RUN,
    RUN_INPUT,
    STARTED,
    Answer,
    ask,
    delta,
    raw_app,
    sse,
    starlette_app,
)


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
