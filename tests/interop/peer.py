"""The published TypeScript packages, asked over the pipes of one Node process."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BRIDGE = Path(__file__).with_name("peer.mjs")

Object = dict[str, Any]


class PeerError(Exception):
    """The peer refused what it was given."""


class Peer:
    """`@ag-ui/proto` and `@ag-ui/client`, through peer.mjs."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests = requests
        self._answers = answers

    def _ask(self, **request: Any) -> Object:
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        line = self._answers.readline()
        if not line:
            raise RuntimeError("the peer's process ended")
        answer: Object = json.loads(line)
        return answer

    def _must(self, **request: Any) -> Object:
        answer = self._ask(**request)
        if not answer["ok"]:
            raise PeerError(answer["error"])
        return answer

    def encode(self, event: Object) -> bytes:
        """What `@ag-ui/proto` writes for `event`, without a length prefix. Raises PeerError."""
        return bytes.fromhex(self._must(op="encode", event=event)["hex"])

    def decode(self, payload: bytes) -> Object:
        """What `@ag-ui/proto` reads from a payload. Raises PeerError."""
        event: Object = self._must(op="decode", hex=payload.hex())["event"]
        return event

    def run(
        self,
        stream: list[Object] | bytes,
        content_type: str = "text/event-stream",
        run_input: Object | None = None,
    ) -> Object:
        """What `@ag-ui/client`'s HttpAgent makes of one whole response.

        `stream` is the response's body, or events to be written as SSE. The answer holds `ok`
        and `error` (did the client accept the stream), `delivered` events, `messages`, `state`,
        `outcome`, `pending` tool call ids, `runError`, `warnings` and the `request` it sent.
        """
        body = {"hex": stream.hex()} if isinstance(stream, bytes) else {"events": stream}
        return self._ask(op="run", body=body, contentType=content_type, input=run_input or {})


@pytest.fixture(scope="session")
def peer() -> Iterator[Peer]:
    """The peer, or a skip where Node.js or its packages are not installed."""
    node = shutil.which("node")
    if node is None or not (ROOT / "node_modules" / "@ag-ui").is_dir():
        pytest.skip("needs Node.js and `npm install`")
    with subprocess.Popen(
        [node, str(BRIDGE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Peer(process.stdin, process.stdout)
        process.stdin.close()
