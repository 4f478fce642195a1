"""`@ag-ui/client` under Node.js, calling a server of ours over a real connection."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, RunAgentInput
from agui_wire.events import RunErrorEvent, StateSnapshotEvent

from .harness import FINISHED, STARTED, agent_of, running, silent_agent, text_run

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("npm_client.mjs")
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(
    NODE is None or not (ROOT / "node_modules" / "@ag-ui").is_dir(),
    reason="needs Node.js and `npm install`",
)


class Client:
    """The client in its process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    async def call(
        self, url: str, accept: str, encoding: str = "identity", limit: int = 0
    ) -> dict[str, Any]:
        request = {"url": url, "accept": accept, "encoding": encoding, "limit": limit}
        line = await asyncio.to_thread(self._ask, json.dumps(request))
        result: dict[str, Any] = json.loads(line)
        return result

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


@pytest.fixture(scope="module")
def npm() -> Iterator[Client]:
    assert NODE is not None
    with subprocess.Popen(
        [NODE, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        yield Client(process)
        process.stdin.close()


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("accept", [SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE])
async def test_a_run_arrives_whole(npm: Client, accept: str, compression: Any) -> None:
    texts = [f"wörd {n} 😀 " for n in range(300)]
    state = {"list": [1, None, {"a": "b"}]}
    events = [*text_run(*texts)[:-1], StateSnapshotEvent(snapshot=state), FINISHED]
    async with running(agent_of(*events), compression=compression) as url:
        seen = await npm.call(url, accept, "gzip")
    assert seen["error"] is None
    assert seen["types"] == [event.type.value for event in events]
    assert seen["text"] == "".join(texts)
    assert seen["state"] == state
    assert seen["contentType"] == accept
    assert seen["contentEncoding"] == compression


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("accept", [SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE])
async def test_heartbeats_harm_no_one(npm: Client, accept: str, compression: Any) -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        for event in text_run("hi ", "there"):
            await asyncio.sleep(0.02)
            yield event

    async with running(agent, compression=compression, keep_alive=0.002) as url:
        seen = await npm.call(url, accept, "gzip")
    assert seen["error"] is None
    assert seen["text"] == "hi there"
    assert len(seen["types"]) == 6


@pytest.mark.parametrize("accept", [SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE])
async def test_a_failure_arrives_as_run_error(npm: Client, accept: str) -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        raise LookupError("secret")

    async with running(agent) as url:
        seen = await npm.call(url, accept)
    assert seen["types"] == ["RUN_STARTED", RunErrorEvent(message="").type.value]


@pytest.mark.parametrize("accept", [SSE_MEDIA_TYPE, AGUI_MEDIA_TYPE])
async def test_a_run_that_the_client_aborts_is_closed(npm: Client, accept: str) -> None:
    agent, closed = silent_agent()

    async with running(agent) as url:
        seen = await npm.call(url, accept, limit=1)
        # What the client makes of its own abort is no event of ours.
        assert seen["types"][0] == "RUN_STARTED"
        assert "RUN_FINISHED" not in seen["types"]
        await asyncio.wait_for(closed.wait(), 10)
