"""The relay between a real agent server and real clients."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest

import agui_wire
from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    RunAgentInput,
    TruncatedStream,
    UnexpectedResponse,
)
from agui_wire.http import AgentClient
from examples.relay import app as relay_module
from examples.relay.app import relay_app
from examples.relay.run import Run
from tests.examples.serving import serving
from tests.http.harness import (
    FINISHED,
    RUN_INPUT,
    STARTED,
    TEXT_START,
    WIRES,
    ask,
    connecting,
    delta,
    post,
    read_head,
    running,
    scripted,
    text_run,
)
from tests.snippets import ROOT, examples, execute

FOR_EVER = 3600.0


class Agent:
    """An agent that says one word after another, and stops before each until it may go on."""

    def __init__(self, *words: str, free: bool = False) -> None:
        self.words = words
        self.calls = 0
        self.closed = asyncio.Event()
        self._gate = asyncio.Semaphore(10**9 if free else 0)

    async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        self.calls += 1
        try:
            for event in text_run(*self.words):
                if event not in (STARTED, TEXT_START):
                    await self._gate.acquire()
                yield event
        finally:
            self.closed.set()

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            self._gate.release()

    def finish(self) -> None:
        self.go_on(len(self.words) + 2)


@asynccontextmanager
async def relaying(agent: Any, **options: Any) -> AsyncIterator[tuple[str, str]]:
    """The URLs of a relay and of the agent behind it."""
    async with running(agent) as url, serving(relay_app(url, **options)) as relay:
        yield relay, url


async def read(run: Any, count: int) -> list[Any]:
    """The next events of a run."""
    return [await asyncio.wait_for(run.__anext__(), 10) for _ in range(count)]


@pytest.mark.parametrize("wire", WIRES)
async def test_all_clients_get_every_event_from_one_run(wire: str) -> None:
    words = [f"wörd {n} 😀 " for n in range(20)]
    agent = Agent(*words)
    async with relaying(agent) as (relay, _), AsyncExitStack() as stack:
        client = AgentClient(relay, wires=[wire])
        early = [await stack.enter_async_context(client.run(RUN_INPUT)) for _ in range(3)]
        agent.go_on(10)
        for run in early:
            assert await read(run, 12) == text_run(*words)[:12]
        late = await stack.enter_async_context(client.run(RUN_INPUT))
        assert await read(late, 12) == text_run(*words)[:12]
        agent.finish()
        for run in (*early, late):
            assert [event async for event in run] == text_run(*words)[12:]
            assert (run.content_type, run.outcome) == (wire, "success")
            assert run.messages[-1].content == "".join(words)
        async with client.run(RUN_INPUT) as after_the_end:
            assert [event async for event in after_the_end] == text_run(*words)
    assert agent.calls == 1


@pytest.mark.parametrize("wire", WIRES)
async def test_the_bytes_are_those_of_the_agent_server(wire: str) -> None:
    agent = Agent(*(f"{n} " * n for n in range(300)), free=True)
    async with relaying(agent) as (relay, url):
        _, sent, _ = await post(url, wire)
        status, first, headers = await post(relay, wire)
        _, second, _ = await post(relay, wire)
    assert status == 200
    assert headers["Content-Type"] == wire
    assert sent == first == second
    assert agent.calls == 2


async def test_what_no_codec_can_read_is_relayed() -> None:
    frames = b"".join(len(junk).to_bytes(4, "big") + junk for junk in (b"\xff" * 9, b"", b"{nope"))
    answer = f"HTTP/1.1 200 OK\r\nContent-Type: {AGUI_MEDIA_TYPE}\r\n\r\n".encode()
    with pytest.raises(agui_wire.StreamError):
        agui_wire.decode(frames, AGUI_MEDIA_TYPE)
    async with scripted(answer, frames) as url, serving(relay_app(url)) as relay:
        _, body, _ = await post(relay, AGUI_MEDIA_TYPE)
    assert body == frames


async def test_the_relay_decodes_no_frame() -> None:
    words = [f"word {n} " for n in range(50)]
    async with running(Agent(*words, free=True)) as url:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.examples.counted_relay", url),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert process.stdin is not None
        assert process.stdout is not None

        async def answer(line: str) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{line}\n".encode())
            return int(await asyncio.wait_for(process.stdout.readline(), 30))

        try:
            relay = (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
            for wire in WIRES:
                client = AgentClient(relay, wires=[wire])
                for _ in range(2):
                    async with client.run({**RUN_INPUT, "runId": wire}) as run:
                        assert len([event async for event in run]) == len(text_run(*words))
            assert await answer("count") == 0
            assert await answer("decode") >= len(WIRES)
        finally:
            process.stdin.close()
            await process.wait()


@pytest.mark.parametrize("wire", [AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE])
@pytest.mark.parametrize("missing", [3, 0], ids=["inside-a-frame", "between-frames"])
async def test_a_run_whose_connection_is_lost_is_cut_short_for_all(wire: str, missing: int) -> None:
    frames = [agui_wire.encode(event, wire) for event in (STARTED, TEXT_START, delta("never"))]
    body = b"".join(frames)[: sum(map(len, frames)) - missing]
    whole = b"".join(frames[:-1] if missing else frames)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {wire}\r\nContent-Length: {len(body) + 1}\r\n\r\n"
    async with scripted(head.encode(), body) as url, serving(relay_app(url)) as relay:
        for _ in range(3):
            async with AgentClient(relay, wires=[wire]).run(RUN_INPUT) as run:
                with pytest.raises(TruncatedStream):
                    await read(run, 4)
            assert run.bytes_received == len(whole)
        with pytest.raises(aiohttp.ClientPayloadError):
            await post(relay, wire)


async def test_a_run_that_ends_inside_a_frame_is_cut_short_for_all() -> None:
    frames = [agui_wire.encode(event, AGUI_MEDIA_TYPE) for event in (STARTED, FINISHED)]
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {AGUI_MEDIA_TYPE}\r\n\r\n"
    async with (
        scripted(head.encode(), *frames[:-1], frames[-1][:-1]) as url,
        serving(relay_app(url)) as relay,
    ):
        for _ in range(3):
            with pytest.raises(aiohttp.ClientPayloadError):
                await post(relay, AGUI_MEDIA_TYPE)


@pytest.mark.parametrize("wire", [AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE])
async def test_whether_a_run_may_end_between_frames_is_for_who_decodes_it(wire: str) -> None:
    frame = agui_wire.encode(STARTED, wire)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {wire}\r\n\r\n"
    async with scripted(head.encode(), frame) as url, serving(relay_app(url)) as relay:
        assert (await post(relay, wire))[1] == frame
        async with AgentClient(relay, wires=[wire]).run(RUN_INPUT) as run:
            with pytest.raises(TruncatedStream):
                await read(run, 2)


async def test_a_client_that_does_not_read_holds_up_nobody() -> None:
    words = ["x" * 100_000] * 200  # more than the buffers of all the sockets on the way
    agent = Agent(*words, free=True)
    async with relaying(agent) as (relay, _), connecting(relay) as (reader, writer):
        ask(writer)
        await read_head(reader)
        async with AgentClient(relay).run(RUN_INPUT) as run:
            assert len([event async for event in run]) == len(text_run(*words))
            assert run.outcome == "success"
        body = await all_of(reader)
    assert body.count(b"TEXT_MESSAGE_CONTENT") == len(words)
    assert was_whole(body)
    assert agent.calls == 1


async def all_of(reader: asyncio.StreamReader) -> bytes:
    """A chunked body as it is on the connection, up to its last chunk or where it is cut."""
    body = bytearray()
    while not was_whole(body):
        data = await asyncio.wait_for(reader.read(1 << 20), 10)
        if not data:
            break
        body += data
    return bytes(body)


def was_whole(body: bytes | bytearray) -> bool:
    return body.endswith(b"\r\n0\r\n\r\n")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The runs that relays open."""
    opened: list[Run] = []

    class Recorded(Run):
        def __init__(self, max_log: int) -> None:
            super().__init__(max_log)
            opened.append(self)

    monkeypatch.setattr(relay_module, "Run", Recorded)
    return opened


async def test_the_log_is_bounded_and_who_falls_behind_it_is_cut_off(runs: list[Run]) -> None:
    limit = 1_000_000
    sizes: list[int] = []

    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        for event in text_run(*["x" * 100_000] * 200):
            yield event
            sizes.append(len(runs[0].log))

    async with (
        relaying(agent, max_log=limit) as (relay, _),
        connecting(relay) as (reader, writer),
    ):
        ask(writer)
        await read_head(reader)
        while not runs[0].ended:
            await asyncio.sleep(0)
        with pytest.raises(UnexpectedResponse) as refused:
            async with AgentClient(relay).run(RUN_INPUT):
                pass
        assert not was_whole(await all_of(reader))
    assert refused.value.status == 410
    assert limit / 2 < max(sizes) <= limit


async def test_a_client_that_reads_nothing_for_too_long_is_cut_off(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "STALL", 0.05)
    agent = Agent(*["x" * 100_000] * 200, free=True)
    async with relaying(agent) as (relay, _), connecting(relay) as (reader, writer):
        ask(writer)
        await read_head(reader)
        while runs[0].clients > 0:
            await asyncio.sleep(0)
        assert not was_whole(await all_of(reader))


async def test_a_run_is_closed_when_all_clients_are_gone() -> None:
    agent = Agent("hi")
    async with relaying(agent, linger=0) as (relay, _):
        client = AgentClient(relay)
        async with client.run(RUN_INPUT) as first:
            async with client.run(RUN_INPUT) as second:
                await read(second, 2)
            await read(first, 2)
            assert not agent.closed.is_set()
        await asyncio.wait_for(agent.closed.wait(), 10)
        agent.finish()
        async with client.run(RUN_INPUT) as anew:
            assert [event async for event in anew] == text_run("hi")
    assert agent.calls == 2


async def test_a_run_waits_for_clients_that_come_back(runs: list[Run]) -> None:
    agent = Agent("hi")
    async with relaying(agent, linger=FOR_EVER) as (relay, _):
        client = AgentClient(relay)
        for _ in range(3):
            async with client.run(RUN_INPUT) as run:
                assert await read(run, 2) == [STARTED, TEXT_START]
                assert runs[0].forgetting is None or runs[0].forgetting.cancelled()
        agent.finish()
        async with client.run(RUN_INPUT) as run:
            assert [event async for event in run] == text_run("hi")
        assert agent.calls == 1


async def test_a_relay_that_stops_closes_its_runs() -> None:
    agent = Agent("hi")
    async with running(agent) as url:
        async with (
            serving(relay_app(url, linger=FOR_EVER)) as relay,
            AgentClient(relay).run(RUN_INPUT) as run,
        ):
            await read(run, 2)
        await asyncio.wait_for(agent.closed.wait(), 10)


async def test_runs_are_told_apart_by_both_ids() -> None:
    agent = Agent("hi", free=True)
    async with relaying(agent) as (relay, _):
        for thread, run_id in (("t", "r"), ("t", "r2"), ("t2", "r"), ("t", "r2")):
            async with AgentClient(relay).run(
                {"threadId": thread, "runId": run_id, "messages": []}
            ) as run:
                assert len([event async for event in run]) == len(text_run("hi"))
    assert agent.calls == 3


async def test_a_refusal_is_passed_on_and_not_kept() -> None:
    agent = Agent("hi", free=True)
    invalid = {"threadId": "t", "runId": "r", "messages": 5}
    async with relaying(agent) as (relay, url):
        refused = await post(url, json=invalid)
        assert (await post(relay, json=invalid))[:2] == refused[:2]
        assert refused[0] == 400
        assert (await post(relay))[0] == 200


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>", b"HTTP/1.1 200 OK\r\n\r\n", b"no"],
)
async def test_what_is_no_event_stream_is_a_bad_gateway(answer: bytes) -> None:
    async with scripted(answer) as url, serving(relay_app(url)) as relay:
        assert (await post(relay))[0] == 502


async def test_an_agent_server_that_is_not_there_is_a_bad_gateway() -> None:
    async with scripted() as url:
        pass
    async with serving(relay_app(url)) as relay:
        assert (await post(relay))[0] == 502


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, 406),
        (AGUI_MEDIA_TYPE, f"{AGUI_MEDIA_TYPE}, {SSE_MEDIA_TYPE}", 200),
        (MSGPACK_MEDIA_TYPE, AGUI_MEDIA_TYPE, 406),
        (SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE, 200),
    ],
)
async def test_a_run_has_the_wire_of_its_first_client(first: str, second: str, status: int) -> None:
    agent = Agent("hi", free=True)
    async with relaying(agent) as (relay, _):
        _, body, _ = await post(relay, first)
        answer = await post(relay, second)
    assert answer[0] == status
    if status == 200:
        assert (answer[1], answer[2]["Content-Type"]) == (body, first)
    assert agent.calls == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff", b"5", b"[]", b'{"threadId":"t"}', b'{"threadId":[],"runId":"r"}', b"[" * 9**6],
)
async def test_a_body_without_ids_is_refused(body: bytes) -> None:
    agent = Agent()
    async with relaying(agent) as (relay, _):
        assert (await post(relay, json=None, data=body))[0] == 400
    assert agent.calls == 0


async def test_the_documented_clients(capsys: pytest.CaptureFixture[str]) -> None:
    agent = Agent("Kyoto", free=True)
    async with relaying(agent) as (relay, _):
        await execute(examples(ROOT / "docs" / "relay.md")["watch"]).main(relay)
    assert capsys.readouterr().out.splitlines() == [str(["success: Kyoto"] * 3)]
    assert agent.calls == 1
