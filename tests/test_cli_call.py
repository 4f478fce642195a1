"""The commands `call` and `serve`, as they are run from a shell."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.console import Console

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, RunAgentInput
from agui_wire.cli import main
from agui_wire.cli.view import RunView
from agui_wire.events import (
    CustomEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from agui_wire.http.asgi import agent_app
from agui_wire.recording import shipped_recording
from tests.click_runner import click_runner
from tests.http.asgi_server import serving

WIRES = {"sse": SSE_MEDIA_TYPE, "protobuf": AGUI_MEDIA_TYPE, "msgpack": MSGPACK_MEDIA_TYPE}

STARTED = RunStartedEvent(thread_id="t", run_id="r", protocol_version="1.0")
FINISHED = RunFinishedEvent(thread_id="t", run_id="r")
RUN: list[Any] = [
    STARTED,
    TextMessageStartEvent(message_id="m", role="assistant"),
    TextMessageContentEvent(message_id="m", delta="Hello "),
    TextMessageContentEvent(message_id="m", delta="wörld \x1b[31m[red]"),
    TextMessageEndEvent(message_id="m"),
    ToolCallStartEvent(tool_call_id="c", tool_call_name="look_up"),
    ToolCallArgsEvent(tool_call_id="c", delta='{"a":'),
    ToolCallArgsEvent(tool_call_id="c", delta=" 1}"),
    ToolCallEndEvent(tool_call_id="c"),
    ToolCallResultEvent(message_id="r", tool_call_id="c", content="x" * 5000),
    StateSnapshotEvent(snapshot={"count": 1}),
    StateDeltaEvent(delta=[{"op": "replace", "path": "/count", "value": 2}]),
    CustomEvent(name="note", value=[1]),
    FINISHED,
]


class Result(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str


async def call_process(*arguments: str | Path) -> Result:
    """`agui-wire call ...` in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agui_wire", "call", *map(str, arguments)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return Result(process.returncode, out.decode(), err.decode())


async def call(*arguments: str | Path, stdin: str = "") -> Result:
    """The same in a thread of this process, which starts faster."""
    command = ["call", *map(str, arguments)]
    done = await asyncio.to_thread(click_runner().invoke, main, command, input=stdin)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return Result(done.exit_code, done.stdout, done.stderr)


class Agent:
    """An agent that yields some events, and what it was asked."""

    def __init__(self, *events: Any) -> None:
        self.events = events
        self.inputs: list[RunAgentInput] = []

    async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        return self._run(run_input)

    async def _run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        self.inputs.append(run_input)
        for event in self.events:
            yield event


def raw_app(body: bytes, content_type: str = SSE_MEDIA_TYPE, status: int = 200) -> Any:
    """An application that answers with `body`; one without an end is cut off."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", content_type.encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


@asynccontextmanager
async def served(recording: Path) -> AsyncIterator[str]:
    """The URL of `agui-wire serve RECORDING`."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agui_wire", "serve", str(recording)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


async def test_serve_and_call(tmp_path: Path) -> None:
    saved = tmp_path / "body"
    lines = [json.loads(line) for line in shipped_recording().read_text("utf-8").splitlines()]
    async with served(shipped_recording()) as url:
        for wire, media_type in WIRES.items():
            result = await call_process(url, "--json", "--wire", wire, "--save", saved)
            assert (result.code, result.err) == (0, "")
            assert [json.loads(line) for line in result.out.splitlines()] == lines
            events = agui_wire.decode(saved.read_bytes(), media_type)
            assert [agui_wire.to_dict(event) for event in events] == lines


async def test_the_view() -> None:
    async with serving(agent_app(Agent(*RUN))) as url:
        result = await call_process(url, "-m", "hi")
    assert (result.code, result.err) == (0, "")
    assert "\x1b" not in result.out
    rows = [" ".join(line.split()) for line in result.out.splitlines()]
    assert rows[:3] == [
        "run r of thread t",
        "assistant Hello wörld \ufffd[31m[red]",
        'call look_up {"a": 1}',
    ]
    assert result.out.count("x") < 700
    assert "(5,000 characters)" in result.out
    wanted = ["state replace /count", "custom note [1]", "finished success", 'state {"count":2}']
    assert [row for row in rows if row in wanted] == wanted
    assert rows[-1].startswith("14 events, ")
    assert rows[-1].endswith("/s")


def test_the_view_of_what_grows() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=60, height=12)
    view = RunView(console)

    def shown() -> str:
        with console.capture() as capture:
            console.print(view)
        return re.sub(r"\x1b\[[0-9;]*m", "", capture.get())

    view.received(1000, RUN[:3])
    assert "assistant  Hello \n3 events, 1.0 kB, " in shown()
    view.received(1, [TextMessageContentEvent(message_id="m", delta="line\n" * 50 + "last")])
    assert shown().count("line") == 7
    assert "last\n4 events" in shown()
    view.received(1, [RunErrorEvent(message="no")])
    assert shown().startswith("5 events")
    with view:
        pass
    assert "Hello line" in console.file.getvalue()  # type: ignore[attr-defined]


async def test_what_is_asked(tmp_path: Path) -> None:
    agent = Agent(STARTED, FINISHED)
    given = {"threadId": "T", "messages": [{"id": "1", "role": "user", "content": "a"}]}
    file = tmp_path / "input.json"
    file.write_text(json.dumps({**given, "state": {"x": 1}}))
    async with serving(agent_app(agent)) as url:
        for arguments, stdin in (
            (["--json"], ""),
            (["--json", "-m", "b", "--input", str(file)], ""),
            (["--json", "--input", "-"], json.dumps(given)),
        ):
            assert (await call(url, *arguments, stdin=stdin)).code == 0
    bare, both, piped = agent.inputs
    assert bare.messages == []
    assert bare.thread_id
    assert bare.run_id
    assert [message.content for message in both.messages] == ["a", "b"]
    assert (both.thread_id, both.state) == ("T", {"x": 1})
    assert [message.id for message in piped.messages] == ["1"]


async def test_headers_and_the_wire() -> None:
    seen: list[dict[bytes, bytes]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dict(scope["headers"]))
        await raw_app(b"", status=204)(scope, receive, send)

    async with serving(app) as url:
        for arguments in (["-H", "Authorization: Bearer x:y"], ["--wire", "sse"]):
            await call(url, *arguments)
    assert seen[0][b"authorization"] == b"Bearer x:y"
    assert seen[0][b"accept"] == f"{AGUI_MEDIA_TYPE}, {SSE_MEDIA_TYPE}".encode()
    assert seen[1][b"accept"] == SSE_MEDIA_TYPE.encode()


@pytest.mark.parametrize("option", [[], ["--json"]], ids=["view", "json"])
async def test_exit_code_1_where_the_run_fails(option: list[str]) -> None:
    opened = TextMessageStartEvent(message_id="m", role="assistant")
    content = TextMessageContentEvent(message_id="m", delta="half")
    agent = Agent(STARTED, opened, content, RunErrorEvent(message="no more", code="E7"))
    async with serving(agent_app(agent)) as url:
        result = await call(url, *option)
    assert (result.code, result.err) == (1, "")
    assert "no more" in result.out
    assert "E7" in result.out
    assert "half" in result.out


GOOD = agui_wire.encode(STARTED, SSE_MEDIA_TYPE)
BAD_STREAMS = {
    "no terminal event": (GOOD, "without RUN_FINISHED"),
    "no blank line": (GOOD.rstrip(), "without RUN_FINISHED"),
    "cut inside an event": (GOOD + b'data: {"type"', "ended inside an event"),
    "no JSON": (GOOD + b"data: oops\n\n" + GOOD, "no JSON"),
    "out of sequence": (GOOD + GOOD, "is open"),
}


@pytest.mark.parametrize(("body", "says"), BAD_STREAMS.values(), ids=BAD_STREAMS)
async def test_exit_code_2_for_a_bad_stream(body: bytes, says: str, tmp_path: Path) -> None:
    saved = tmp_path / "body"
    async with serving(raw_app(body)) as url:
        result = await call(url, "--save", saved, "--json")
    assert result.code == 2
    assert json.loads(result.out)["type"] == "RUN_STARTED"
    assert result.err.startswith("error: ")
    assert says in result.err
    assert saved.read_bytes() == body


@pytest.mark.parametrize("ended", [False, True])
async def test_where_the_connection_is_lost(ended: bool) -> None:
    body = GOOD + (agui_wire.encode(FINISHED, SSE_MEDIA_TYPE) if ended else b"")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", SSE_MEDIA_TYPE.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})

    async with serving(app) as url:
        result = await call(url)
    assert "run  r of thread t" in result.out
    if ended:
        assert (result.code, result.err) == (0, "")
    else:
        assert result.code == 2
        assert result.err.startswith("error: the connection was lost: the stream ended without")


async def test_exit_code_3_where_http_fails() -> None:
    async with serving(raw_app(b"sorry \x1b[2J", "text/plain", 503)) as url:
        failed = await call(url)
    async with serving(raw_app(GOOD, status=500)) as url:
        assert (await call(url)).code == 3
    async with serving(raw_app(b"{}", "application/json")) as url:
        other = await call(url)
    refused = await call_process(url)
    assert [result.code for result in (failed, other, refused)] == [3, 3, 3]
    assert [result.out for result in (failed, other, refused)] == ["", "", ""]
    assert failed.err == "error: HTTP 503 with content type 'text/plain': sorry \ufffd[2J\n"
    assert "HTTP 200 with content type 'application/json': {}" in other.err
    assert "Cannot connect" in refused.err


async def test_what_cannot_be_asked() -> None:
    url = "http://127.0.0.1:9/"
    for arguments, stdin in (
        (["--input", "-"], "no JSON"),
        (["--input", "-", "-m", "x"], '{"messages": null}'),
        (["-H", "nothing"], ""),
    ):
        result = await call(url, *arguments, stdin=stdin)
        assert (result.code, result.out) == (2, "")
        assert "Usage:" in result.err


async def test_warnings_go_to_standard_error_once() -> None:
    body = b'data: {"type":"NEW"}\n\n' + GOOD + agui_wire.encode(FINISHED, SSE_MEDIA_TYPE)
    async with serving(raw_app(body)) as url:
        result = await call_process(url)
    assert result.code == 0
    assert result.err == ("warning: event 0: dropped an event of unknown type 'NEW' (at /type)\n")
