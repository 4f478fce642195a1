"""HTTP end to end over the loopback interface: a server in one process, a client in another.

    python -m agui_wire.bench.loopback ours|sdk WORKLOAD   prints a URL, serves until its input ends

The events are all ready, so that the two libraries are what is measured. The floor is bytes that
were encoded before, written in large pieces and read without a look at them.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

from .ours import WIRES
from .prepared import Context, Prepare, Prepared, chunks
from .workloads import load

__all__ = ["PREPARE", "PREPARE_SDK"]

_RUN_INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
_CODINGS = ("raw", "gzip", "zstd")

Handler = Callable[[Any], Awaitable[Any]]
T = TypeVar("T")


def _floor(path: Path) -> Handler:
    from aiohttp import web

    from ..encoder import EventEncoder
    from ..media_types import SSE_MEDIA_TYPE

    pieces = chunks(EventEncoder(SSE_MEDIA_TYPE).encode_many(load(path)))

    async def handle(request: Any) -> Any:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": SSE_MEDIA_TYPE})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        return response

    return handle


def _ours(path: Path) -> Handler:
    from ..http.server import agent_handler

    events = load(path)

    async def agent(run_input: Any) -> AsyncIterator[Any]:
        for event in events:
            yield event

    return agent_handler(agent, compression="auto")


def _sdk(path: Path) -> Handler:
    """As the SDK's examples serve: its models, its encoder, a write for each event."""
    from ag_ui.core import Event
    from ag_ui.encoder import EventEncoder
    from aiohttp import web
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(Event)
    models = [adapter.validate_json(line) for line in path.read_bytes().splitlines()]

    async def handle(request: Any) -> Any:
        await request.read()
        encoder = EventEncoder()
        headers = {"Content-Type": encoder.get_content_type()}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        for model in models:
            await response.write(encoder.encode(model).encode())
        return response

    return handle


_SIDES: dict[str, dict[str, Callable[[Path], Handler]]] = {
    "ours": {"floor": _floor, "ours": _ours},
    "sdk": {"sdk": _sdk},
}


async def _serve(side: str, path: Path) -> None:
    from aiohttp import web

    async def spent(request: Any) -> Any:
        return web.Response(text=repr(process_time()))

    app = web.Application()
    app.router.add_get("/spent", spent)
    for name, make in _SIDES[side].items():
        app.router.add_post(f"/{name}", make(path))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    # Whoever started the server holds its standard input, and ends with it.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


class _Calls:
    """Calls on one connection, in an event loop of their own that only runs while they do."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._session: Any = None

    def call(self, make: Callable[[Any], Awaitable[int]]) -> int:
        return self._loop.run_until_complete(self._with_session(make))

    def spent(self, url: str) -> float:
        """Processor seconds that the server has used."""

        async def ask(session: Any) -> float:
            async with session.get(f"{url}/spent") as response:
                return float(await response.text())

        return self._loop.run_until_complete(self._with_session(ask))

    async def _with_session(self, make: Callable[[Any], Awaitable[T]]) -> T:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession()
        return await make(self._session)


def _reading_bytes(context: Context) -> Prepared:
    async def once(session: Any) -> int:
        size = 0
        async with session.post(f"{context.url}/floor", json=_RUN_INPUT) as response:
            async for piece in response.content.iter_any():
                size += len(piece)
        return size

    return _prepared(context, once)


def _reading_events(wire: str, coding: str) -> Prepare:
    def prepare(context: Context) -> Prepared:
        from ..http._compress import acceptable_codings
        from ..http.client import AgentClient

        compression: Any = None if coding == "raw" else coding
        acceptable_codings(compression)  # says what is missing

        async def once(session: Any) -> int:
            client = AgentClient(
                f"{context.url}/ours", session=session, wires=[WIRES[wire]], compression=compression
            )
            async with client.run(_RUN_INPUT) as run:
                async for _ in run:
                    pass
            assert run.content_type == WIRES[wire]
            return run.bytes_received

        return _prepared(context, once)

    return prepare


def _reading_sdk(context: Context) -> Prepared:
    """A reader as one writes it for the SDK: SSE lines, validated one by one, nothing assembled."""
    from ag_ui.core import Event
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(Event)

    async def once(session: Any) -> int:
        size = 0
        held = b""
        async with session.post(f"{context.url}/sdk", json=_RUN_INPUT) as response:
            async for piece in response.content.iter_any():
                size += len(piece)
                *complete, held = (held + piece).split(b"\n\n")
                for event in complete:
                    adapter.validate_json(event[len("data: ") :])
        return size

    return _prepared(context, once)


def _prepared(context: Context, once: Callable[[Any], Awaitable[int]]) -> Prepared:
    calls = _Calls()
    size = calls.call(once)
    events = context.path.read_bytes().count(b"\n")
    return Prepared(lambda: calls.call(once), events, size, lambda: calls.spent(context.url))


PREPARE: dict[tuple[str, str], Prepare] = {
    ("http", "bytes"): _reading_bytes,
    **{
        ("http", f"{wire} {coding}"): _reading_events(wire, coding)
        for wire in WIRES
        for coding in _CODINGS
    },
}
PREPARE_SDK: dict[tuple[str, str], Prepare] = {("http", "ag_ui"): _reading_sdk}


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], Path(sys.argv[2])))
