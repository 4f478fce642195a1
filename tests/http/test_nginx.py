"""nginx in front, with the buffering and the compression that it has by default or commonly.

Needs the program: `apt-get install nginx` or the like. Run with `pytest -m slow`.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, RunAgentInput, TruncatedStream
from agui_wire.events import StateSnapshotEvent
from agui_wire.http import AgentClient

from .harness import FINISHED, RUN_INPUT, STARTED, WIRES, agent_of, running, text_run

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx"),
]

# Seconds without a byte after which nginx gives a server up; 60 unless it is set.
READ_TIMEOUT = 1

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_proxied any;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {upstream};
            proxy_http_version {version};
            proxy_read_timeout {read_timeout}s;
        }}
    }}
}}
"""


@asynccontextmanager
async def behind_nginx(folder: Path, upstream: str, version: str = "1.1") -> AsyncIterator[str]:
    """The URL of an nginx that passes everything on to `upstream`."""
    assert NGINX is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(
            folder=folder,
            port=port,
            upstream=upstream.rstrip("/"),
            version=version,
            read_timeout=READ_TIMEOUT,
        )
    )
    process = await asyncio.create_subprocess_exec(
        *(NGINX, "-p", str(folder), "-c", str(configuration)), stderr=asyncio.subprocess.PIPE
    )
    try:
        for _ in range(500):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                assert process.returncode is None, "nginx did not start"
                await asyncio.sleep(0.01)
            else:
                writer.close()
                break
        yield f"http://127.0.0.1:{port}/"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("wire", WIRES)
async def test_the_first_event_is_through_at_once(
    wire: str, compression: Any, version: str, tmp_path: Path
) -> None:
    seen = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        await seen.wait()
        yield FINISHED

    async with (
        running(agent, compression=compression) as upstream,
        behind_nginx(tmp_path, upstream, version) as url,
        AgentClient(url, wires=[wire], compression="gzip").run(RUN_INPUT) as run,
    ):
        assert await asyncio.wait_for(run.__anext__(), 10) == STARTED
        seen.set()
        assert [event async for event in run] == [FINISHED]
        assert run.content_type == wire


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
@pytest.mark.parametrize("wire", WIRES)
async def test_large_and_small_events_arrive_intact(
    wire: str, compression: Any, tmp_path: Path
) -> None:
    state = {"every byte": "".join(map(chr, range(0x2000))), "long": "x" * 300_000}
    events = [*text_run(*["word "] * 5000)[:-1], StateSnapshotEvent(snapshot=state), FINISHED]
    async with (
        running(agent_of(*events), compression=compression) as upstream,
        behind_nginx(tmp_path, upstream) as url,
        AgentClient(url, wires=[wire], compression="auto").run(RUN_INPUT) as run,
    ):
        assert [event async for event in run] == events


@pytest.mark.parametrize(
    ("wire", "compression"),
    [(SSE_MEDIA_TYPE, None), (SSE_MEDIA_TYPE, "gzip"), (AGUI_MEDIA_TYPE, "gzip")],
)
async def test_a_silence_survives_where_a_heartbeat_is_promised(
    wire: str, compression: Any, tmp_path: Path
) -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        await asyncio.sleep(READ_TIMEOUT * 2.5)
        yield FINISHED

    async with (
        running(agent, compression=compression, keep_alive=READ_TIMEOUT / 4) as upstream,
        behind_nginx(tmp_path, upstream) as url,
        AgentClient(url, wires=[wire], compression=compression).run(RUN_INPUT) as run,
    ):
        assert [event async for event in run] == [STARTED, FINISHED]


async def test_a_silence_without_one_does_not_and_says_so(tmp_path: Path) -> None:
    closed = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        try:
            yield STARTED
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with (
        running(agent, keep_alive=READ_TIMEOUT / 4) as upstream,
        behind_nginx(tmp_path, upstream) as url,
        AgentClient(url, wires=[AGUI_MEDIA_TYPE]).run(RUN_INPUT) as run,
    ):
        assert await run.__anext__() == STARTED
        with pytest.raises(TruncatedStream):
            await run.__anext__()
        await asyncio.wait_for(closed.wait(), 10)


async def test_a_client_that_leaves_is_noticed_through_the_proxy(tmp_path: Path) -> None:
    closed = asyncio.Event()

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        try:
            yield STARTED
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with running(agent) as upstream, behind_nginx(tmp_path, upstream) as url:
        async with AgentClient(url).run(RUN_INPUT) as run:
            assert await run.__anext__() == STARTED
        await asyncio.wait_for(closed.wait(), 10)
