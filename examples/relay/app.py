"""A relay between one agent server and any number of clients.

    python -m examples.relay.app http://127.0.0.1:8000/

The first POST with a threadId and a runId opens that run at the agent; every later one with the
same two joins it and gets every frame from the start. No frame is decoded.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from agui_wire import SSE_MEDIA_TYPE, negotiate

from .run import Run

STALL = 60.0  # seconds that a client may read nothing before it is cut off

SESSION = web.AppKey("session", aiohttp.ClientSession)


def relay_app(
    url: str, *, linger: float = 30.0, max_log: int = 64 * 1024 * 1024
) -> web.Application:
    """The relay in front of the agent at `url`.

    A run whose last client has left is closed and forgotten `linger` seconds later. `max_log`
    bounds the bytes that are kept of each run.
    """
    runs: dict[tuple[str, str], Run] = {}
    pumps: dict[Run, asyncio.Task[None]] = {}

    async def watch(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        key = run_key(body)
        run = runs.get(key)
        if run is None:
            run = runs[key] = Run(max_log)
            pump = run.pump(request.app[SESSION], url, accept_of(request), body)
            pumps[run] = asyncio.create_task(pump)
        run.clients += 1
        if run.forgetting is not None:
            run.forgetting.cancel()
        try:
            await run.begun()
            return await send(run, request)
        finally:
            run.clients -= 1
            if run.clients == 0:
                # What is no event stream is not kept: the next client tries again.
                delay = 0 if run.failed else linger
                loop = asyncio.get_running_loop()
                run.forgetting = loop.call_later(delay, forget, key)

    def forget(key: tuple[str, str]) -> None:
        pumps.pop(runs.pop(key)).cancel()

    async def upstream(app: web.Application) -> AsyncIterator[None]:
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
        ) as session:
            app[SESSION] = session
            yield
            for pump in pumps.values():
                pump.cancel()
            await asyncio.gather(*pumps.values(), return_exceptions=True)

    # A client that leaves ends its handler at once, also while the agent is silent.
    options = {"handler_cancellation": True}
    app = web.Application(handler_args=options, client_max_size=10 * 1024 * 1024)
    app.cleanup_ctx.append(upstream)
    app.router.add_post("/", watch)
    return app


async def send(run: Run, request: web.Request) -> web.StreamResponse:
    """Answers a client with a run from its start."""
    if run.content_type is None:
        return web.Response(status=run.status, body=bytes(run.log))
    if run.content_type not in (SSE_MEDIA_TYPE, negotiate(accept_of(request))):
        raise web.HTTPNotAcceptable(text=f"this run is sent as {run.content_type}")
    if run.log_start > 0:
        raise web.HTTPGone(text="the start of this run is not kept any more")
    headers = {"Content-Type": run.content_type, "Cache-Control": "no-cache, no-transform"}
    response = web.StreamResponse(headers={**headers, "X-Accel-Buffering": "no", "Vary": "Accept"})
    await response.prepare(request)
    assert request.transport is not None
    offset = 0
    try:
        while data := await run.read(offset):
            await asyncio.wait_for(response.write(data), STALL)
            offset += len(data)
    except (LookupError, asyncio.TimeoutError):
        request.transport.abort()
    if not run.whole:
        # A chunked body without its last chunk: the client sees that it was cut short.
        request.transport.close()
    return response


def run_key(body: bytes) -> tuple[str, str]:
    """The thread id and the run id of a run input; the agent judges the rest of it."""
    try:
        run_input = json.loads(body)
        key = run_input["threadId"], run_input["runId"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise web.HTTPBadRequest(text="a run input has a threadId and a runId") from None
    if not all(isinstance(part, str) for part in key):
        raise web.HTTPBadRequest(text="threadId and runId are strings")
    return key


def accept_of(request: web.Request) -> str:
    """The request's Accept header, its lines joined."""
    return ",".join(request.headers.getall("Accept", ()))


if __name__ == "__main__":
    web.run_app(relay_app(sys.argv[1]), host="127.0.0.1", port=8080)
