"""Applications that write SSE, and a client that keeps whole answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import aiohttp
from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.applications import Starlette
from starlette.routing import Route

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE

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
