"""What a request has to be, and what it is answered before a run begins."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from agui_wire import (
    RunAgentInput,
)
from agui_wire.http import AgentClient, agent_handler

from .harness import (
    RUN_INPUT,
    agent_of,
    ask,
    connecting,
    events_of,
    post,
    running,
    running_handler,
    text_run,
)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"", ""),
        (b"{", ""),
        (b"[]", ""),
        (b'"text"', ""),
        (b"\xff", ""),
        (b'{"threadId": "t", "messages": []}', "/runId"),
        (b'{"threadId": 1, "runId": "r", "messages": []}', "/threadId"),
        (b'{"threadId": "t", "runId": "r", "messages": [{"role": "user", "id": "u"}]}', None),
        (b'{"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "2.0"}', None),
        (b'{"a":' * 200 + b"1" + b"}" * 200, None),
    ],
)
async def test_a_bad_run_input_is_400_and_names_the_path(body: bytes, path: str | None) -> None:
    started = []

    def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        started.append(run_input)
        return agent_of(*text_run("hi"))(run_input)

    async with running(agent) as url:
        status, answer, headers = await post(
            url, json=None, data=body, headers={"Content-Type": "application/json"}
        )
    assert status == 400
    assert headers["Content-Type"].startswith("application/json")
    problem = json.loads(answer)
    assert set(problem) == {"error", "message", "path"}
    if path is not None:
        assert problem["path"] == path
    assert not started


@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream", "nonsense"])
async def test_another_content_type_is_415(content_type: str) -> None:
    async with running(agent_of(*text_run("hi"))) as url:
        status, answer, _ = await post(
            url, json=None, data=b"{}", headers={"Content-Type": content_type}
        )
    assert status == 415
    assert json.loads(answer)["message"]


@pytest.mark.parametrize(
    "content_type", ["Application/JSON", "application/json; charset=utf-8", "application/json"]
)
async def test_json_by_any_spelling_is_read(content_type: str) -> None:
    async with running(agent_of(*text_run("hi"))) as url:
        status, _, _ = await post(
            url,
            json=None,
            data=json.dumps(RUN_INPUT).encode(),
            headers={"Content-Type": content_type},
        )
    assert status == 200


async def _pieces(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 1000):
        yield b" " * 1000


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_large_body_is_413(chunked: bool) -> None:
    body: Any = _pieces(20_000) if chunked else b" " * 20_000
    async with running(agent_of(*text_run("hi")), max_body_size=10_000) as url:
        status, answer, _ = await post(
            url, json=None, data=body, headers={"Content-Type": "application/json"}
        )
    assert status == 413
    assert "10000" in json.loads(answer)["message"]


async def test_a_body_over_aiohttps_own_limit_is_read() -> None:
    """client_max_size is 1 MiB unless it is set; conversations with images are larger."""
    message = {"role": "user", "id": "u", "content": "x" * 3_000_000}
    client = AgentClient
    async with (
        running(agent_of(*text_run("hi"))) as url,
        client(url).run({**RUN_INPUT, "messages": [message]}) as run,
    ):
        assert [event async for event in run] == text_run("hi")


async def test_the_limit_counts_what_a_compressed_body_holds() -> None:
    body = gzip.compress(b" " * 1_000_000)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    async with running(agent_of(*text_run("hi")), max_body_size=10_000) as url:
        status, _, _ = await post(url, json=None, data=body, headers=headers)
        assert status == 413
        status, _, _ = await post(url, json=None, data=b"no gzip at all", headers=headers)
        assert status == 400


async def test_a_client_that_leaves_in_its_body_leaves_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handled = asyncio.Event()
    handle = agent_handler(agent_of(*text_run("hi")))

    async def watched(request: web.Request) -> web.StreamResponse:
        entered.set()
        try:
            return await handle(request)
        finally:
            handled.set()

    entered = asyncio.Event()
    async with running_handler(watched) as url:
        async with connecting(url) as (_, writer):
            ask(writer, body=b"{", content_type="application/json")
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n")
            writer.write(b"Content-Type: application/json\r\n\r\n{")
            await asyncio.wait_for(entered.wait(), 10)
            writer.transport.abort()
        await asyncio.wait_for(handled.wait(), 10)
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]


@pytest.mark.parametrize("kind", ["generator", "coroutine"])
async def test_an_agent_is_a_generator_or_a_coroutine_that_gives_one(kind: str) -> None:
    seen = []

    async def generator(run_input: RunAgentInput) -> AsyncIterator[Any]:
        seen.append(run_input.thread_id)
        for event in text_run("hi"):
            yield event

    async def coroutine(run_input: RunAgentInput) -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        return generator(run_input)

    async with running({"generator": generator, "coroutine": coroutine}[kind]) as url:
        assert await events_of(url) == text_run("hi")
    assert seen == ["t"]


async def test_a_failure_before_the_run_is_a_status(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(run_input: RunAgentInput) -> AsyncIterator[Any]:
        raise LookupError("the password is 1234")

    async def refusing(run_input: RunAgentInput) -> AsyncIterator[Any]:
        raise web.HTTPUnauthorized

    async with running(broken) as url:
        status, answer, _ = await post(url)
    assert status == 500
    assert b"1234" not in answer
    assert "1234" in caplog.text
    async with running(refusing) as url:
        status, _, _ = await post(url)
    assert status == 401


def test_options_are_checked_when_the_handler_is_made() -> None:
    agent = agent_of()
    with pytest.raises(ValueError, match="on_disconnect"):
        agent_handler(agent, on_disconnect="ignore")
    with pytest.raises(ValueError, match="compression"):
        agent_handler(agent, compression="br")
    with pytest.raises(TypeError):
        agent_handler(agent, keepalive=1)
    with pytest.raises(ValueError, match="lossy_int"):
        agent_handler(agent, lossy_int="maybe")
