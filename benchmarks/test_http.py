"""HTTP: what a server of ours sends a second, and what a stream costs it in memory.

    python -m pytest benchmarks -k http

The server is a process of its own and the reader a bare socket that only counts, so that the
server is what is measured; `client` rows are read by AgentClient instead. Both run on one
machine, over the loopback interface: the ratios say something, the numbers only about here.
All events are ready from the start. Rows are seconds for one stream of EVENTS short deltas.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, RunAgentInput
from agui_wire.events import RunFinishedEvent, RunStartedEvent, TextMessageChunkEvent
from agui_wire.http import AgentClient, agent_handler

ROOT = Path(__file__).resolve().parents[1]
EVENTS = 20_000
STREAMS = 500
TEXT = "some words "
PIECE = 64 * 1024
RUN_INPUT = {"threadId": "t", "runId": "r", "messages": []}
HEADERS = {"Content-Type": SSE_MEDIA_TYPE}


def ours() -> list[Any]:
    chunk = TextMessageChunkEvent(message_id="m", delta=TEXT)
    run: Any = {"thread_id": "t", "run_id": "r"}
    return [RunStartedEvent(**run), *[chunk] * EVENTS, RunFinishedEvent(**run)]


def sdk() -> list[Any]:
    from ag_ui import core

    chunk = core.TextMessageChunkEvent(message_id="m", delta=TEXT)
    run: Any = {"thread_id": "t", "run_id": "r"}
    return [core.RunStartedEvent(**run), *[chunk] * EVENTS, core.RunFinishedEvent(**run)]


def agent_of(events: list[Any]) -> Any:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        for event in events:
            yield event

    return agent


async def silent(run_input: RunAgentInput) -> AsyncIterator[Any]:
    yield RunStartedEvent(thread_id="t", run_id="r")
    await asyncio.Event().wait()


def with_sdk_encoder(events: list[Any]) -> Any:
    """As the SDK's own examples serve with it."""
    from ag_ui.encoder import EventEncoder

    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        encoder = EventEncoder()
        response = web.StreamResponse(headers=HEADERS)
        await response.prepare(request)
        async for event in agent_of(events)(None):
            await response.write(encoder.encode(event).encode())
        return response

    return handle


def raw(pieces: list[bytes], pause: bool = False) -> Any:
    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers=HEADERS)
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        if pause:
            await asyncio.Event().wait()
        return response

    return handle


def routes() -> dict[str, Any]:
    frames = [agui_wire.encode(event, SSE_MEDIA_TYPE) for event in ours()]
    body = b"".join(frames)
    pieces = [body[n : n + PIECE] for n in range(0, len(body), PIECE)]
    return {
        "raw": raw(pieces),
        "raw-by-event": raw(frames),
        "ag-ui-encoder": with_sdk_encoder(sdk()),
        "ours": agent_handler(agent_of(ours()), compression="gzip"),
        "ours-from-sdk-models": agent_handler(agent_of(sdk())),
        "ours-coalesced": agent_handler(agent_of(ours()), coalesce=0.01),
        "silent-raw": raw(frames[:1], pause=True),
        "silent": agent_handler(silent, compression="auto"),
    }


async def serve() -> None:
    app = web.Application()
    for name, handler in routes().items():
        app.router.add_post(f"/{name}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


class Server:
    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._pid = process.pid
        self.port = port

    def cpu_seconds(self) -> float:
        ticks = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        pages = int(Path(f"/proc/{self._pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def ask(self, path: str, accept: str, encoding: str = "identity") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port))
        body = json.dumps(RUN_INPUT)
        connection.sendall(
            f"POST /{path} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\nConnection: close\r\n"
            f"Accept-Encoding: {encoding}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        return connection

    def read(self, path: str, accept: str, encoding: str = "identity") -> int:
        """The bytes of a whole response, its framing included."""
        size = 0
        with self.ask(path, accept, encoding) as connection:
            buffer = bytearray(1 << 20)
            while got := connection.recv_into(buffer):
                size += got
        return size


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # The package may not be installed.
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with subprocess.Popen(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        try:
            yield Server(process, int(process.stdout.readline()))
        finally:
            process.kill()


@pytest.fixture(scope="module")
def report(request: pytest.FixtureRequest) -> Iterator[Callable[[str], None]]:
    lines: list[str] = []
    yield lines.append
    capture: Any = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print("\n" + "\n".join(lines))


CASES = [
    ("raw", SSE_MEDIA_TYPE, "identity"),
    ("raw-by-event", SSE_MEDIA_TYPE, "identity"),
    ("ag-ui-encoder", SSE_MEDIA_TYPE, "identity"),
    ("ours", SSE_MEDIA_TYPE, "identity"),
    ("ours", AGUI_MEDIA_TYPE, "identity"),
    ("ours", SSE_MEDIA_TYPE, "gzip"),
    ("ours-coalesced", SSE_MEDIA_TYPE, "identity"),
    ("ours-from-sdk-models", SSE_MEDIA_TYPE, "identity"),
    ("ours-from-sdk-models", AGUI_MEDIA_TYPE, "identity"),
]
SHORT = {SSE_MEDIA_TYPE: "sse", AGUI_MEDIA_TYPE: "protobuf"}


def tell(report: Any, benchmark: Any, name: str, size: int, cpu: float | None = None) -> None:
    best = benchmark.stats.stats.min
    figures = {
        "events/s": round(EVENTS / best),
        "MB/s": round(size / best / 1e6, 1),
        "server CPU, us/event": None if cpu is None else round(cpu / EVENTS * 1e6, 2),
    }
    benchmark.extra_info.update(figures)
    report(f"{name:44}" + "  ".join(f"{k} {v:>9,}" for k, v in figures.items() if v is not None))


@pytest.mark.benchmark(group="http server")
@pytest.mark.parametrize(
    ("path", "accept", "encoding"), CASES, ids=lambda value: SHORT.get(value, value)
)
def test_http_server(
    benchmark: Any, server: Server, report: Any, path: str, accept: str, encoding: str
) -> None:
    before, rounds = server.cpu_seconds(), 4
    size = benchmark.pedantic(server.read, (path, accept, encoding), rounds=3, warmup_rounds=1)
    cpu = (server.cpu_seconds() - before) / rounds
    assert size > (1000 if encoding == "gzip" else EVENTS * len(TEXT))
    name = f"server {path} {SHORT[accept]}" + (" gzip" if encoding == "gzip" else "")
    tell(report, benchmark, name, size, cpu)


@pytest.mark.benchmark(group="http client")
@pytest.mark.parametrize("wire", ["sse", "protobuf"])
def test_http_client(benchmark: Any, server: Server, report: Any, wire: str) -> None:
    sizes = []

    def read() -> None:
        events = AgentClient(f"http://127.0.0.1:{server.port}/ours", wires=[wire]).run_sync(
            RUN_INPUT
        )
        assert sum(1 for _ in events) >= EVENTS
        sizes.append(events.run.bytes_received)

    benchmark.pedantic(read, rounds=2, warmup_rounds=1)
    tell(report, benchmark, f"client {wire}", sizes[0])


@pytest.mark.parametrize(
    ("path", "encoding"),
    [("silent-raw", "identity"), ("silent", "identity"), ("silent", "gzip"), ("silent", "zstd")],
)
def test_http_memory_per_stream(
    benchmark: Any, server: Server, report: Any, path: str, encoding: str
) -> None:
    """Resident memory of the server for each of many open streams that are silent."""
    each = benchmark.pedantic(memory_per_stream, (server, path, encoding), rounds=1)
    report(f"memory {path} {encoding:28} KiB per stream {each / 1024:,.1f}")


def memory_per_stream(server: Server, path: str, encoding: str) -> float:
    warm = [server.ask(path, SSE_MEDIA_TYPE, encoding) for _ in range(20)]
    for connection in warm:
        connection.recv(4096)
    before = server.memory()
    connections = [server.ask(path, SSE_MEDIA_TYPE, encoding) for _ in range(STREAMS)]
    for connection in connections:
        assert connection.recv(4096)
    each = (server.memory() - before) / STREAMS
    for connection in [*warm, *connections]:
        connection.close()
    return each


if __name__ == "__main__":
    asyncio.run(serve())
